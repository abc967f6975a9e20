// The tables: summary, configuration, provenance. A cell that shows a rounded number has all of it in data-value.

/** Columns that paper and a phone leave out, and those that only a phone does. */
const room = key => (['optimizer', 'engine', 'speed'].includes(key) ? ' wide' : ['steps', 'training', 'trainingLargest', 'mean'].includes(key) ? ' roomy' : '');
const sorting = { key: null, down: false };
const number = (key, value, format, mark, more = '') => html`<td class="number${mark ? ' best' : ''}${room(key)}" data-key="${key}" data-value="${value}" title="${mark ? 'the lowest of all, at common seeds' : value}">${mark ? '★ ' : ''}${format(value)}${more}</td>`;

/** The columns of the first table; those in which no side has a value, or all the same engine, are left out. */
function summaryColumns() {
  const winners = best(), engines = new Set(runs().map(run => run.engine));
  const sizes = swept().map(({ key }) => ({
    key, head: short(key), title: key, of: ({ lead }) => Number(lead.config[key]),
    cell: ({ lead }) => html`<td class="number" data-key="${key}" title="${lead.config[key]}">${plain(lead.config[key])}</td>`,
  }));
  const value = (key, head, title, format, more = () => '') => ({ key, head, title, of: side => valueOf(side, key), cell: side => number(key, valueOf(side, key), format, key === 'validation' && winners.includes(side), more(side)) });
  const spread = side => {
    const { half } = interval(side.runs.map(run => summary(run).validation).filter(finite));
    return half === undefined ? '' : html`<small title="${TERMS['±']}">± ${gap(half)}</small>`;
  };
  return [
    { key: 'run', head: 'Run', title: 'A run, or all seeds of one configuration.', text: true, of: side => side.label, cell: runCell },
    ...(model.study.facets.length ? [] : [{ key: 'optimizer', head: 'Optimizer', title: 'Direction and mode of the hidden matrices.', text: true, of: ({ lead }) => optimizer(lead), cell: ({ lead }) => html`<td class="wide">${lead.direction} · <span>${lead.mode}</span></td>` }]),
    ...sizes,
    ...(engines.size > 1 ? [{ key: 'engine', head: 'Engine', title: 'What computed it.', text: true, of: ({ lead }) => lead.engine ?? '', cell: ({ lead }) => html`<td class="wide"><span>${lead.engine ?? '–'}</span></td>` }] : []),
    { key: 'steps', head: 'Steps', title: 'Taken, of those planned.', of: side => valueOf(side, 'steps'), cell: stepsCell },
    value('training', 'Training loss', 'Of the last step.', show),
    value('validation', 'Validation loss', 'The last one measured; of seeds the mean, ± half of its 95 % interval.', show, spread),
    value('peak', 'Peak rate', term('peak rate'), rate),
    value('mean', 'Mean rate', term('mean rate'), rate),
    value('finalToPeak', 'Final-to-peak', term('final-to-peak'), rate),
    value('gap', 'Gap', term('gap'), signed),
    value('largest', 'Largest gap', term('largest gap'), gap),
    value('trainingLargest', 'Largest, training', term('largest, training'), gap),
    { key: 'state', head: 'State', title: 'Running, finished, interrupted, killed or failed.', text: true, of: ({ lead }) => lead.state.state, cell: side => html`<td>${states(side)}</td>` },
    value('speed', 'Tokens/s', 'Over the whole run without its first step.', whole),
  ].filter(column => column.text || column.key === 'steps' || sides().some(side => finite(column.of(side))));
}

const followed = ({ lead, runs }, target = follows(lead)) => (runs.length < target.side.runs.length ? target.name : target.label); // one seed, or all of them

function runCell(side) {
  const { lead, label, runs } = side, target = follows(lead);
  const note = target || (lead.config.target ?? 'null') !== 'null' ? html`<small>${target ? 'follows ' + followed(side) : 'its target is not on this page'}</small>` : '';
  return html`<th scope="row" title="${runs.map(run => run.name).join(', ')}"><span class="named">${swatch(lead)}<span>${label}</span></span>${note}</th>`;
}

function stepsCell({ lead, runs }) {
  const steps = d3.min(runs, run => summary(run).steps), planned = lead.state.steps ?? Number(lead.config.steps);
  return html`<td class="number roomy" data-key="steps" data-value="${steps}">${whole(steps)}${planned && planned !== steps ? html`<small>of ${whole(planned)}</small>` : ''}</td>`;
}

const FOLDED = 12;

function summaryTable() {
  const columns = summaryColumns(), by = columns.find(column => column.key === sorting.key);
  let rows = ranked();
  if (by) {
    const empty = side => by.of(side) === undefined || by.of(side) === null || Number.isNaN(by.of(side));
    rows = [...d3.sort(rows.filter(side => !empty(side)), (a, b) => (sorting.down ? d3.descending : d3.ascending)(by.of(a), by.of(b))), ...rows.filter(empty)];
  }
  const head = ({ key, head, title, text }) => {
    const order = sorting.key !== key ? 'none' : sorting.down ? 'descending' : 'ascending';
    return html`<th scope="col" class="${text ? '' : 'number'}${room(key)}" title="${title}" aria-sort="${order}"><button type="button" data-sort="${key}">${head}${{ ascending: ' ↑', descending: ' ↓' }[order]}</button></th>`;
  };
  element('fold').hidden = rows.length <= FOLDED;
  element('fold').textContent = view.all ? `Show the first ${FOLDED}` : `Show all ${rows.length}`;
  return html`<thead><tr>${columns.map(head)}</tr></thead><tbody>${rows.map((side, i) => html`<tr data-run="${side.lead.name}" class="${!view.all && i >= FOLDED ? 'more' : ''}">${columns.map(column => column.cell(side))}</tr>`)}</tbody>`;
}

/** A click sorts, another turns the order round, a third gives targets and followers back. */
function sortBy(key) {
  if (sorting.key !== key) Object.assign(sorting, { key, down: false });
  else if (!sorting.down) sorting.down = true;
  else sorting.key = null;
  put(element('table'), summaryTable());
  keep();
  element('table').querySelector(`[data-sort="${CSS.escape(key)}"]`)?.focus();
}

function badge(run) {
  const { state, updated, message } = run.state;
  const when = updated && state === 'running' ? html`<small>last line ${new Date(updated).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })}</small>` : '';
  const short = message?.replace(/\d+\.\d{6,}/g, digits => d3.format('.6~r')(digits));
  return html`<span class="badge ${state}" title="${message}">${state}</span>${when}${short ? html`<small class="message">${short}</small>` : ''}`;
}

/** How the seeds of a side stand: one word where they agree. */
function states({ runs }) {
  const groups = d3.groups(runs, run => run.state.state);
  return groups.length === 1 ? badge(runs.find(run => run.state.message) ?? runs[0]) : html`${groups.map(([, same]) => html`<div>${same.length} × ${badge(same[0])}</div>`)}`;
}

/** One card for each side that follows another: how well it does. */
function transferCards() {
  return html`${sides().filter(({ lead }) => follows(lead) && !placebo(lead)).map(side => {
    const run = side.lead, floor = placeboOf(run), s = key => valueOf(side, key);
    const fact = (label, value, format) => html`<div title="${term(label)}"><dt>${label}</dt><dd data-value="${value}">${format(value)}</dd></div>`;
    return html`<article class="card transfer" data-run="${run.name}"><h3><span class="named">${swatch(run)}${run.label}</span> follows <span class="named">${swatch(follows(run))}${followed(side)}</span></h3><dl>
      ${fact('gap', s('gap'), signed)}${fact('largest gap', s('largest'), gap)}
      ${floor ? fact('placebo’s largest gap', summary(floor).largest, gap) : ''}
      ${fact('norm error', s('normError'), ratio)}${fact('rate error', s('rateError'), ratio)}
      ${finite(s('angleError')) ? fact('largest angle', s('angleError'), gap) : ''}${finite(s('momentaError')) ? fact('of momenta', s('momentaError'), gap) : ''}
      </dl></article>`;
  })}`;
}

/** Keys down and runs across; of many runs, what all have in common first, then the runs down and what differs across. */
function comparison(rows, all, label) {
  const text = value => (value === undefined || value === 'null' ? '–' : value);
  const cell = value => html`<td class="value">${text(value)}</td>`;
  const name = (run, scope) => html`<th scope="${scope}"><span class="named">${swatch(run)}<span>${run[label]}</span></span></th>`;
  const key = (text, scope) => html`<th scope="${scope}"><code>${text}</code></th>`;
  if (all.length <= 6) {
    return html`<thead><tr><th scope="col"></th>${all.map(run => name(run, 'col'))}</tr></thead><tbody>${rows.map(([k, values]) => html`<tr>${key(k, 'row')}${values.map(cell)}</tr>`)}</tbody>`;
  }
  const [same, differing] = [true, false].map(equal => rows.filter(([, values]) => (new Set(values).size === 1) === equal));
  const across = Math.max(1, differing.length);
  return html`<tbody>${same.map(([k, [value]]) => html`<tr>${key(k, 'row')}<td class="value" colspan="${across}">${text(value)}</td></tr>`)}</tbody>
    ${differing.length ? html`<thead><tr><th scope="col"></th>${differing.map(([k]) => key(k, 'col'))}</tr></thead><tbody>${all.map((run, i) => html`<tr>${name(run, 'row')}${differing.map(([, values]) => cell(values[i]))}</tr>`)}</tbody>` : ''}`;
}

const rowsOf = (all, field) => [...new Set(all.flatMap(run => Object.keys(run[field])))].map(key => [key, all.map(run => run[field][key])]);

/** Seeds of one configuration are one column, or one row, of it. */
function settingsTable(everything) {
  const all = ordered().map(side => side.lead), rows = rowsOf(all, 'config').filter(([key]) => key !== 'seed' || !model.study.seeds);
  const differing = rows.filter(([, values]) => new Set(values).size > 1);
  if (!everything && !differing.length) {
    return html`<tbody><tr><td>${runs().length > 1 ? 'The configurations are equal.' : 'One run: there is nothing to compare it with.'}</td></tr></tbody>`;
  }
  return comparison(everything ? rows : differing, all, 'label');
}

function originTable() {
  const all = ordered().flatMap(side => side.runs);
  return comparison(rowsOf(all, 'provenance'), all, 'name');
}
