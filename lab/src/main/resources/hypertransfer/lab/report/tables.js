// The tables: summary, configuration, provenance. A cell that shows a rounded number has all of it in data-value.

/** Columns that paper and a phone leave out, and those that only a phone does. */
const room = key => (['optimizer', 'engine'].includes(key) ? ' wide' : ['steps', 'training', 'trainingLargest', 'speed'].includes(key) ? ' roomy' : '');
const sorting = { key: null, down: false };
const number = (key, value, format, mark) => html`<td class="number${mark ? ' best' : ''}${room(key)}" data-key="${key}" data-value="${value}" title="${mark ? 'the lowest of all' : value}">${mark ? '★ ' : ''}${format(value)}</td>`;

/** The columns of the first table; those in which no run has a value are left out. */
function summaryColumns() {
  const winner = best();
  const sizes = swept().map(({ key }) => ({
    key, head: short(key), title: key, of: run => Number(run.config[key]),
    cell: run => html`<td class="number" data-key="${key}" title="${run.config[key]}">${plain(run.config[key])}</td>`,
  }));
  const value = (key, head, title, format) => ({ key, head, title, of: run => summary(run)[key], cell: run => number(key, summary(run)[key], format, key === 'validation' && run === winner) });
  return [
    { key: 'run', head: 'Run', title: '', text: true, of: run => run.name, cell: runCell },
    { key: 'optimizer', head: 'Optimizer', title: 'direction and mode of the hidden matrices', text: true, of: optimizer, cell: run => html`<td class="wide">${optimizer(run)}</td>` },
    ...sizes,
    { key: 'engine', head: 'Engine', title: '', text: true, of: run => run.engine ?? '', cell: run => html`<td class="wide">${run.engine ?? '–'}</td>` },
    { key: 'steps', head: 'Steps', title: 'taken, of those planned', of: run => summary(run).steps, cell: stepsCell },
    value('training', 'Training loss', 'of the last step', show),
    value('validation', 'Validation loss', 'the last one measured', show),
    value('gap', 'Gap', 'last validation loss minus the target’s at the same step', signed),
    value('largest', 'Largest gap', 'over all common validations, without sign', gap),
    value('trainingLargest', 'Largest, training', 'largest gap of the training loss over all common steps, without sign', gap),
    value('speed', 'Tokens/s', 'over the whole run without its first step', whole),
    { key: 'state', head: 'State', title: '', text: true, of: run => run.state.state, cell: run => html`<td>${badge(run)}</td>` },
  ].filter(column => column.text || column.key === 'steps' || runs().some(run => finite(column.of(run))));
}

const optimizer = run => [run.direction, run.mode].filter(Boolean).join(' · ');

function runCell(run) {
  const target = follows(run);
  const note = run.config.target && run.config.target !== 'null' ? html`<small>${target ? 'follows ' + target.name : 'its target is not on this page'}</small>` : '';
  return html`<th scope="row" title="${run.name}"><span class="named">${swatch(run)}<span>${run.label}</span></span>${note}</th>`;
}

function stepsCell(run) {
  const { steps } = summary(run), planned = run.state.steps ?? Number(run.config.steps);
  return html`<td class="number roomy" data-key="steps" data-value="${steps}">${whole(steps)}${planned && planned !== steps ? html`<small>of ${whole(planned)}</small>` : ''}</td>`;
}

function summaryTable() {
  const columns = summaryColumns(), by = columns.find(column => column.key === sorting.key);
  let rows = ordered();
  if (by) {
    const empty = run => by.of(run) === undefined || by.of(run) === null || Number.isNaN(by.of(run));
    rows = [...d3.sort(rows.filter(run => !empty(run)), (a, b) => (sorting.down ? d3.descending : d3.ascending)(by.of(a), by.of(b))), ...rows.filter(empty)];
  }
  const head = ({ key, head, title, text }) => {
    const order = sorting.key !== key ? 'none' : sorting.down ? 'descending' : 'ascending';
    return html`<th scope="col" class="${text ? '' : 'number'}${room(key)}" title="${title}" aria-sort="${order}"><button type="button" data-sort="${key}">${head}${{ ascending: ' ↑', descending: ' ↓' }[order]}</button></th>`;
  };
  return html`<thead><tr>${columns.map(head)}</tr></thead><tbody>${rows.map(run => html`<tr data-run="${run.name}">${columns.map(column => column.cell(run))}</tr>`)}</tbody>`;
}

/** A click sorts, another turns the order round, a third gives targets and followers back. */
function sortBy(key) {
  if (sorting.key !== key) Object.assign(sorting, { key, down: false });
  else if (!sorting.down) sorting.down = true;
  else sorting.key = null;
  put(element('table'), summaryTable());
  element('table').querySelector(`[data-sort="${CSS.escape(key)}"]`)?.focus();
}

function badge(run) {
  const { state, updated, message } = run.state;
  const when = updated && state === 'running' ? html`<small>last line ${new Date(updated).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })}</small>` : '';
  const short = message?.replace(/\d+\.\d{6,}/g, digits => d3.format('.6~r')(digits));
  return html`<span class="badge ${state}" title="${message}">${state}</span>${when}${short ? html`<small class="message">${short}</small>` : ''}`;
}

/** One card for each run that follows another: how well it does. */
function transferCards() {
  return html`${runs().filter(run => follows(run) && !placebo(run)).map(run => {
    const floor = placeboOf(run);
    const s = summary(run);
    const fact = (label, value, format, title) => html`<div title="${title}"><dt>${label}</dt><dd data-value="${value}">${format(value)}</dd></div>`;
    return html`<article class="card transfer" data-run="${run.name}"><h3>${swatch(run)}<span>${run.name}</span> follows ${swatch(follows(run))}<span>${follows(run).name}</span></h3><dl>
      ${fact('final gap', s.gap, signed, 'validation loss minus the target’s, at the last common validation')}
      ${fact('largest gap', s.largest, gap, 'of the validation loss, over all common validations')}
      ${floor ? fact('placebo’s largest gap', summary(floor).largest, gap, `of ${floor.name}, which differs from the target by roundings only: a gap no larger costs nothing`) : ''}
      ${fact('norm error', run.gap?.norm, ratio, `largest relative error of the target norm, over all matrices and ${run.gap?.logged ?? 0} common logged steps`)}
      ${fact('rate error', run.gap?.rate, ratio, `largest relative error of the effective rate, over all matrices and ${run.gap?.logged ?? 0} common logged steps`)}
      ${finite(run.gap?.matrices) ? fact('largest angle', run.gap.matrices, gap, 'between a matrix and its target’s, in radians, over all hidden matrices and common checkpoints') : ''}
      ${finite(run.gap?.momenta) ? fact('of momenta', run.gap.momenta, gap, 'the largest angle between a momentum and its target’s, in radians') : ''}
      </dl></article>`;
  })}`;
}

/** Keys down and runs across; of many runs, what all have in common first, then the runs down and what differs across. */
function comparison(rows) {
  const all = ordered(), text = value => (value === undefined || value === 'null' ? '–' : value);
  const cell = value => html`<td class="value">${text(value)}</td>`;
  const name = (run, scope) => html`<th scope="${scope}"><span class="named">${swatch(run)}<span>${run.label}</span></span></th>`;
  const key = (text, scope) => html`<th scope="${scope}"><code>${text}</code></th>`;
  if (all.length <= 6) {
    return html`<thead><tr><th scope="col"></th>${all.map(run => name(run, 'col'))}</tr></thead><tbody>${rows.map(([k, values]) => html`<tr>${key(k, 'row')}${values.map(cell)}</tr>`)}</tbody>`;
  }
  const [same, differing] = [true, false].map(equal => rows.filter(([, values]) => (new Set(values).size === 1) === equal));
  const across = Math.max(1, differing.length);
  return html`<tbody>${same.map(([k, [value]]) => html`<tr>${key(k, 'row')}<td class="value" colspan="${across}">${text(value)}</td></tr>`)}</tbody>
    ${differing.length ? html`<thead><tr><th scope="col"></th>${differing.map(([k]) => key(k, 'col'))}</tr></thead><tbody>${all.map((run, i) => html`<tr>${name(run, 'row')}${differing.map(([, values]) => cell(values[i]))}</tr>`)}</tbody>` : ''}`;
}

function rowsOf(field) {
  const all = ordered();
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
