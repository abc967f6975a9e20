// The tables: summary, configuration, provenance. A cell that shows a rounded number has all of it in data-value.

const swatch = run => html`<svg class="swatch" width="26" height="10" aria-hidden="true"><line x2="26" y1="5" y2="5" ${stroke(run, 2.4)}/></svg>`;
const number = (key, value, format) => html`<td class="number" data-key="${key}" data-value="${value ?? ''}" title="${value ?? ''}">${format(value)}</td>`;

function summaryTable() {
  const heads = [
    ['Run', ''], ['Network', ''], ['Optimizer', 'direction and mode of the hidden matrices'], ['Engine', ''], ['Steps', 'taken, of those planned'],
    ['Training loss', 'of the last step'], ['Validation loss', 'the last one measured'],
    ['Gap', 'last validation loss minus the target’s at the same step'], ['Largest gap', 'over all validations, without sign'],
    ['Largest, training', 'largest gap of the training loss over all steps, without sign'],
    ['Tokens/s', 'over the whole run but its first step'], ['State', ''],
  ];
  const numeric = new Set([4, 5, 6, 7, 8, 9, 10]);
  const body = runs().map(run => {
    const s = summary(run);
    const planned = run.state.steps ?? Number(run.config.steps);
    const target = follows(run);
    return html`<tr data-run="${run.name}"><th scope="row">${swatch(run)}${run.name}
      ${run.config.target && run.config.target !== 'null' ? html`<small>${target ? 'follows ' + target.name : 'its target is not on this page'}</small>` : ''}</th>
      <td>${run.network}</td><td>${([run.direction, run.mode].filter(Boolean).join(' · '))}</td><td>${(run.engine ?? '–')}</td>
      <td class="number" data-key="steps" data-value="${s.steps}">${whole(s.steps)}${planned ? html`<small>of ${whole(planned)}</small>` : ''}</td>
      ${number('training', s.training, show)}${number('validation', s.validation, show)}
      ${number('gap', s.gap, signed)}${number('largest', s.largest, gap)}${number('trainingLargest', s.trainingLargest, gap)}
      ${number('speed', s.speed, whole)}<td>${badge(run)}</td></tr>`;
  });
  return html`<thead><tr>${heads.map(([text, title], i) => html`<th scope="col" class="${numeric.has(i) ? 'number' : ''}" title="${title}">${text}</th>`)}</tr></thead><tbody>${body}</tbody>`;
}

function badge(run) {
  const { state, updated, message } = run.state;
  const since = state === 'running' && updated ? html`<small>last line ${new Date(updated).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })}</small>` : '';
  return html`<span class="badge ${state}" title="${(message ?? '')}">${state}</span>${since}${message ? html`<small>${message}</small>` : ''}`;
}

/** One card for each run that follows another: how well it does. */
function transferCards() {
  return html`${runs().filter(follows).map(run => {
    const s = summary(run);
    const fact = (label, value, format, title) => html`<div title="${title}"><dt>${label}</dt><dd data-value="${value ?? ''}">${format(value)}</dd></div>`;
    const percent = v => (finite(v) ? (v * 100 >= 0.01 || v === 0 ? Number((v * 100).toPrecision(2)) + ' %' : scientific(v * 100, 2) + ' %') : '–');
    return html`<article class="card transfer" data-run="${run.name}"><h3>${swatch(run)}<span>${run.name}</span> follows ${swatch(follows(run))}<span>${(follows(run).name)}</span></h3><dl>
      ${fact('final gap', s.gap, signed, 'validation loss minus the target’s, at the last common validation')}
      ${fact('largest gap', s.largest, gap, 'of the validation loss')}
      ${fact('norm error', run.gap?.norm, percent, `largest relative error of the target norm, over all matrices and ${run.gap?.logged ?? 0} common logged steps`)}
      ${fact('rate error', run.gap?.rate, percent, `largest relative error of the effective rate, over all matrices and ${run.gap?.logged ?? 0} common logged steps`)}
      </dl></article>`;
  })}`;
}

function comparison(rows) {
  const all = runs();
  const head = html`<thead><tr><th scope="col"></th>${all.map(run => html`<th scope="col">${swatch(run)}${run.name}</th>`)}</tr></thead>`;
  return html`${head}<tbody>${rows.map(([key, values]) => html`<tr><th scope="row"><code>${key}</code></th>
    ${values.map(value => html`<td class="value">${value === undefined || value === 'null' ? '–' : value}</td>`)}</tr>`)}</tbody>`;
}

function rowsOf(field) {
  const all = runs();
  return [...new Set(all.flatMap(run => Object.keys(run[field])))].map(key => [key, all.map(run => run[field][key])]);
}

function settingsTable(everything) {
  const rows = rowsOf('config');
  const differing = rows.filter(([, values]) => new Set(values).size > 1);
  if (!everything && !differing.length) {
    return html`<tbody><tr><td>${runs().length > 1 ? 'The configurations are equal.' : 'One run: there is nothing to compare it with.'}</td></tr></tbody>`;
  }
  return comparison(everything ? rows : differing);
}

const originTable = () => comparison(rowsOf('provenance'));
