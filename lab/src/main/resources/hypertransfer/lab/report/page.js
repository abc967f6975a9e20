// Puts the page together, and keeps it up to date while runs are written.

const data = JSON.parse(element('data').textContent);

/** Values at steps, at their places on the x axis; a run that logged no matrices has no accumulated angle. */
const curve = (run, steps, y) => (view.x === 'angle' && !run.logged.step.length ? { steps: [], x: [], y: [] } : { steps, x: position(run, steps, view.x), y });

const QUANTITIES = {
  effective: { text: 'effective rate', note: 'The angular step of every matrix.', column: () => 'effective' },
  target_norm: { text: 'norm in the target’s space', note: 'The target’s |w|, and the norm s (or R) by which the follower keeps track of it: the curves should coincide.', column: run => (follows(run) ? 'target_norm' : 'norm') },
  rate: { text: 'nominal rate', note: 'The learning rate that the carrier applied.', column: () => 'rate' },
  norm: { text: 'norm |w|', note: 'The norm of the weights as they are.', column: () => 'norm' },
  angle: { text: 'angle moved (radians)', note: 'The angle between the weights before and after a step.', column: () => 'angle' },
  implied_decay: { text: 'implied decay', note: '(1 − keep) / effective rate.', column: () => 'implied_decay' },
  radial: { text: 'radial part of the gradient', note: '⟨g,w⟩ / (|g| |w|), the cosine between gradient and matrix: zero where the loss does not depend on the matrix’s scale, so that a rescaled gradient is exact.', column: () => 'radial' },
};
const filter = { quantity: 'effective', kinds: null, layers: null };

function lossCells(part, label) {
  const base = runs().find(run => run.name === view.baseline)?.side;
  const differences = lines(run => minus(run, base ? partner(run, base) : follows(run), part)).filter(series => series.x.length && series.run.side !== base);
  return [
    { key: 'loss', label, focus: true, smooth: part === 'training', series: lines(run => curve(run, run[part].step, run[part].loss)) },
    ...(base ? [] : contrast(part)),
    { key: 'difference', pairs: Boolean(base), label: base ? 'minus ' + fitting(base.label, 100) : 'gap to target', caption: base ? '' : 'each transfer minus its target', zero: true, smooth: part === 'training', series: differences, marks: base ? crossovers(differences.filter(({ run }) => follows(run)?.side !== base), part) : [] }, // a follower's gap is noise
  ];
}

function minus(run, other, part) {
  const { x, y } = difference(run, other, part);
  return curve(run, x, y);
}

/** Two optimizers, and the two that follow them: how far one is from the other, which every gap has to be measured by. */
function contrast(part) {
  const shown = sides().filter(side => !model.hidden.has(side.lead.name)), two = shown.filter(side => !follows(side.lead));
  if (two.length !== 2) return [];
  const [a, b] = two, [c, d] = two.map(({ lead }) => shown.find(side => follows(side.lead) === lead && !placebo(side.lead)));
  const series = [[b, a], [d, c]].filter(pair => pair[0] && pair[1]).flatMap(([side, other]) => lines(run => minus(run, partner(run, other), part), side.runs));
  return series[0]?.x.length && series.length > 1 ? [{ key: 'contrast', pairs: true, focus: true, zero: true, label: 'difference', caption: `${b.label} minus ${a.label}`, smooth: part === 'training', series }] : [];
}

/** Several schedules, each a row: of every optimizer that others follow a panel with these, and the effective rates. */
function rowCells() {
  const own = run => run.side.brief.replace(/^.*\//, ''), followers = (shown, target) => [...new Set(shown.filter(run => follows(run)?.side === target.side).map(run => run.side.lead))];
  const shown = visible(), loss = run => curve(run, run.validation.step, run.validation.loss);
  const rows = model.study.rows.map(({ label, runs: row }) => {
    const top = shown.filter(run => row.includes(run));
    return { label, top, followed: [...new Set(shown.map(follows).filter(target => top.includes(target)).map(target => target.side.lead))] };
  });
  const alike = new Set(rows.map(({ followed }) => followed.length)).size === 1; // else a row would end in another's columns
  return rows.flatMap(({ label, top, followed }) => {
    const panel = (key, title, series) => ({ key: label + key, title: `${label}: ${title}`, focus: key !== 'rate', series });
    const losses = alike && followed.length && !model.standings
      ? followed.map(target => panel(target.name, followers(shown, target).map(own).join(' and ') + ' follows ' + own(target), lines(loss, [...top, ...shown.filter(run => follows(run)?.side === target.side)])))
      : [panel('loss', 'validation loss', lines(loss, model.standings ? top : [...top, ...shown.filter(run => top.includes(follows(run)))]))];
    return [...losses, panel('rate', 'effective rate', lines(run => curve(run, run.logged.step, run.logged.mean), top))];
  });
}

/** Where a run gets ahead of the subtracted one, or falls behind it, for good; only a few can be read in one panel. */
function crossovers(differences, part) {
  if (differences.length > 3) return [];
  return differences.map(({ run, steps, y }) => {
    const step = crossover({ x: steps, y: part === 'training' ? smoothed(steps, y, 0.02 * (last(steps) - steps[0])) : y });
    return step === undefined ? null : { at: position(run, [step], view.x)[0], text: `crossover at step ${whole(step)}` };
  }).filter(Boolean);
}

function throughput(run) {
  const { step, tokens, elapsed } = run.training;
  const since = (array, i) => array[i] - (i ? array[i - 1] : 0);
  return curve(run, step, step.map((_, i) => (since(elapsed, i) > 0 ? since(tokens, i) / since(elapsed, i) : null)));
}

function matrixCells() {
  const shown = visible().filter(run => run.logged.step.length), { column } = QUANTITIES[filter.quantity];
  return panels(shown).filter(({ kind, layer }) => filter.kinds.has(kind) && filter.layers.has(layer)).map(({ key, title, of }) => ({
    key, title,
    series: lines(run => measured({ ...curve(run, run.logged.step), ...bands(run, column(run), of(run)) }), shown.filter(run => of(run).length)),
  }));
}

/** As many columns as there are kinds where they fit, else a divisor of that. */
function matrixColumns(width) {
  const kinds = view.apart ? 1 : filter.kinds?.size || 1;
  for (let columns = kinds; columns > 1; columns--) if (kinds % columns === 0 && width / columns >= 168) return columns;
  return kinds === 1 ? Math.max(2, Math.min(4, Math.floor(width / 220))) : width >= 336 ? 2 : 1;
}

const host = id => element(id).appendChild(document.createElement('div'));
const matrices = new Chart(element('multiples'), { title: 'Every matrix', file: 'matrices', about: 'One number of every hidden matrix over training.', note: ' ', grid: true, columns: matrixColumns, height: 96, paper: 1120, cells: matrixCells });
const figures = [
  new Standing(element('standing'), { title: 'Every row at its own rates, and once more', file: 'standings', about: TERMS.standings, note: 'Validation loss minus that of the reference: the mean over seeds with its 95 % interval. A full dot is more than noise (Holm, 5 %). Lines show which rows change places.' }),
  new Sweep(element('sweep-curve'), { title: 'Sweep: last validation loss', file: 'sweep', about: TERMS.sweep + ' The setting that matters most lies along x.' }),
  new Heat(element('sweep-map'), { title: 'Sweep: every point', file: 'sweep-map', about: TERMS.sweep, maps: sweepMaps, text: d3.format('.4f'), csv: () => [['run', 'validation'], ...sweepMaps().flatMap(map => map.cells.map(cell => [cell.name, cell.value]))] }),
  new Chart(element('rows'), {
    title: 'By schedule', file: 'by-schedule', about: 'Validation losses and effective rates, a row for each schedule, as in the paper.', grid: true, rare: true, height: 170, paper: 1120,
    columns: width => (across => (width / across >= 215 ? across : 1))(rowCells().length / model.study.rows.length), cells: rowCells,
  }),
  new Chart(host('figures'), { title: 'Validation loss', file: 'validation-loss', about: 'The loss on text that is not trained on.', named: true, height: 250, second: 0.45, cells: () => lossCells('validation', 'loss (nats per token)') }),
  new Chart(host('figures'), { title: 'Training loss', file: 'training-loss', about: 'The loss of each step’s own tokens.', named: true, height: 250, second: 0.45, cells: () => lossCells('training', 'loss (nats per token)') }),
  new Chart(host('figures'), {
    title: 'Mean effective rate', file: 'effective-rate', about: TERMS['effective rate'], named: true, height: 284, note: 'The mean over all hidden matrices.',
    cells: () => [{ key: 'mean', label: 'effective rate', series: lines(run => curve(run, run.logged.step, run.logged.mean)) }],
  }),
  new Chart(host('figures'), {
    title: 'Nominal rates', file: 'rates', about: TERMS['nominal rate'], height: 140, note: 'What each optimizer applied: the mean over all hidden matrices, and AdamW’s.',
    cells: () => [
      { key: 'matrices', label: 'hidden matrices', series: lines(run => curve(run, run.logged.step, run.logged.nominal)) },
      { key: 'adamw', label: 'AdamW', series: lines(run => curve(run, run.training.step, run.training.adam_rate)) },
    ],
  }),
  new Chart(host('figures'), {
    title: 'Loss at the carrier’s own scale', file: 'both-scales', about: TERMS.carrier, height: 200, rare: true,
    note: 'The loss with the matrices as the carrier has them, minus the loss where the network is evaluated (the target’s scale, or the radius). First validation micro-batch.',
    cells: () => [{ key: 'scales', label: 'carrier minus evaluated', zero: true, series: lines(run => curve(run, run.validation.step, run.validation.scales)).filter(({ y }) => y.some(finite)) }],
  }),
  matrices,
  new Geometry(element('step'), { title: 'One step', file: 'step', about: TERMS['one step'], note: 'The weights w turn by the angle of the step, in the carrier and in the target alike: both stay on one ray.' }),
  new Heat(element('heat'), { title: 'Last effective rate over the largest', file: 'final-to-peak', about: TERMS['final-to-peak'], note: 'Rows are kinds of matrices, columns layers.', from0: true, paper: 1120, maps: ratioMaps, csv: ratioRows }),
  new Chart(element('speed'), {
    title: 'Throughput', file: 'throughput', about: 'Tokens per second of each step: noise of the machine included.', height: 160,
    cells: () => [{ key: 'speed', label: 'tokens per second', focus: true, smooth: true, fine: true, series: lines(throughput) }],
  }),
];

function chips(host, values, chosen, label, change) {
  put(host, html`<button type="button" data-all aria-pressed="${values.every(v => chosen.has(v))}">all</button>
    ${values.map(v => html`<button type="button" data-value="${v}" aria-pressed="${chosen.has(v)}">${label(v)}</button>`)}`);
  host.onclick = event => {
    const button = event.target.closest('button');
    if (!button) return;
    const value = values.find(v => String(v) === button.dataset.value);
    const every = values.every(v => chosen.has(v));
    if (button.dataset.all !== undefined) values.forEach(v => chosen.add(v));
    else if (every) { // from all, a click picks one
      chosen.clear();
      chosen.add(value);
    } else if (!chosen.delete(value)) chosen.add(value);
    if (!chosen.size) values.forEach(v => chosen.add(v));
    change();
  };
}

function filters() {
  const all = runs().flatMap(run => run.matrices);
  element('apart').parentNode.hidden = !runs().some(cut);
  const kinds = kindsOf(all), layers = [...new Set(all.map(m => m.layer))].sort(d3.ascending);
  const key = kinds + '|' + layers;
  if (filter.key !== key) {
    filter.key = key;
    filter.kinds = new Set(kinds);
    // Of a deep network first, middle and last are shown to begin with.
    filter.layers = new Set(layers.length <= 6 ? layers : [layers[0], layers[layers.length >> 1], last(layers)]);
  }
  const change = () => {
    filters();
    matrices.render();
  };
  chips(element('kinds'), kinds, filter.kinds, kind => kind, change);
  chips(element('layers'), layers, filter.layers, layer => 'layer ' + layer, change);
  const { text, note } = QUANTITIES[filter.quantity];
  element('multiples').querySelector('h3').textContent = matrices.spec.title = 'Every matrix: ' + text;
  element('multiples').querySelector('.note').textContent = note + (runs().some(cut) && !view.apart ? ' Of a matrix in parts: their mean, between the lowest and the highest.' : '');
}

/** A button for each network; two of one name are told apart by what differs. */
function networks() {
  const shapes = new Map([...model.runs.values()].map(run => [run.shape, run.network]));
  const box = element('networks');
  box.hidden = shapes.size < 2;
  if (box.hidden) return;
  const parts = [...shapes.keys()].map(shape => shape.split(/ with |, /));
  const differs = parts[0].map((_, i) => new Set(parts.map(part => part[i])).size > 1);
  const label = (name, part) => [name.trim(), ...part.filter((_, i) => i > 0 && differs[i])].join(', ');
  put(box, html`${[...shapes].map(([shape, name], i) => html`<button type="button" data-value="${shape}" title="${shape}" aria-pressed="${shape === ofNetwork()[0].shape}">${label(name, parts[i])}</button>`)}`);
  box.onclick = event => {
    model.shape = event.target.closest('button')?.dataset.value ?? model.shape;
    view.zoom = null;
    redraw();
  };
}

/** The switches above the curves; what they offer depends on the runs. */
function controls() {
  const options = (id, all, value) => {
    put(element(id), html`${all.map(([key, text]) => html`<option value="${key}">${text}</option>`)}`);
    element(id).value = value;
    element(id).closest('label').hidden = all.length < 2;
  };
  const shown = sides(), offered = swept().map(({ key }) => key);
  view.colour = offered.includes(view.pick) ? view.pick : view.pick === '' || shown.length <= 8 ? '' : offered[0] ?? '';
  element('seeds').closest('label').hidden = mergeSeeds(runs()).length === runs().length;
  element('seeds').checked = model.study.seeds;
  options('colour', [['', 'optimizer'], ...offered.map(key => [key, key])], view.colour);
  options('baseline', [['', 'its target'], ...shown.filter(() => shown.length > 1).map(side => [side.lead.name, side.label])], shown.some(side => side.lead.name === view.baseline) ? view.baseline : '');
}

/** Of many runs the figures come before the table. */
function arrange() {
  const many = sides().length > FOLDED, place = many ? element('curves') : element('sweep');
  if (place.nextElementSibling !== element('runs')) place.after(element('runs'));
  element('runs').querySelector('h2').hidden = !many;
}

/** Everything again; figures out of sight wait until they are seen. */
function redraw() {
  networks();
  study();
  controls();
  paint();
  arrange();
  const shown = runs(), first = shown[0];
  const parameters = Number(first?.provenance.parameters);
  element('about').title = element('about').textContent = first // which may be cut
    ? [`${shown.length} ${shown.length === 1 ? 'run' : 'runs'}`, 'network ' + first.network, finite(parameters) ? whole(parameters) + ' parameters' : '',
      data.written ? 'written ' + data.written.replace('T', ' ').replace('Z', ' UTC') : ''].filter(Boolean).join(' · ')
    : model.query ? 'no run passes the filter' : 'waiting for the first run';
  document.title = element('title').textContent = data.title ?? title();
  element('claim').textContent = data.note ?? claim();
  element('warning').textContent = warning();
  put(element('damaged'), html`${[...model.notices.map(text => ['', text]), ...model.damaged].map(([run, message]) => html`<p class="card"><b>${run}</b> ${message}</p>`)}`);
  put(element('transfers'), transferCards());
  put(element('table'), summaryTable());
  put(element('settings'), settingsTable(element('everything').checked));
  put(element('origin'), originTable());
  for (const part of document.querySelectorAll('#standings, nav [href="#standings"]')) part.hidden = !model.standings;
  element('sweep').hidden = !swept().length;
  element('sweep-map').hidden = swept().length < 2;
  for (const drawing of document.querySelectorAll('#network [data-network]')) drawing.classList.toggle('off', first && !first.network.startsWith(drawing.dataset.network));
  legend();
  filters();
  for (const figure of figures) {
    figure.stale = true;
    if (figure.seen) draw(figure);
  }
  keep();
}

function draw(figure) {
  if (!figure.stale || figure.host.closest('[hidden]')) return;
  figure.stale = false;
  figure.render();
}

const sight = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const figure = figures.find(f => f.host === entry.target);
    figure.seen = entry.isIntersecting;
    if (figure.seen) draw(figure);
  }
}, { rootMargin: '600px' });

/** Paper has a width of its own, and is white. */
function print(on) {
  if (document.documentElement.classList.contains('only-sheet')) return;
  print.before ??= document.documentElement.dataset.theme;
  document.documentElement.classList.toggle('paper', on);
  theme(on ? 'light' : print.before);
  if (!on) print.before = undefined;
  redraw();
  if (on) figures.forEach(draw);
}

const SMOOTH = [0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

function smoothing(i) {
  view.smooth = SMOOTH[i] ?? 0;
  element('smooth').value = i;
  element('smooth-text').textContent = i > 0 ? d3.format('.1~%')(view.smooth) + ' of the run' : 'none';
}

function start() {
  const change = (id, event, action) => element(id).addEventListener(event, e => {
    action(e.target);
    redraw();
  });
  themed();
  put(element('quantity'), html`${Object.entries(QUANTITIES).map(([key, { text }]) => html`<option value="${key}">${text}</option>`)}`);
  change('quantity', 'change', box => (filter.quantity = box.value));
  change('everything', 'change', () => {});
  change('apart', 'change', box => (view.apart = box.checked));
  change('search', 'input', box => (model.query = box.value));
  change('axis', 'change', box => Object.assign(view, { x: box.value, zoom: null }));
  change('colour', 'change', box => (view.pick = box.value));
  change('baseline', 'change', box => (view.baseline = box.value));
  change('focus', 'change', box => (view.focus = box.checked));
  element('paper').addEventListener('change', event => (view.paper = event.target.value));
  change('seeds', 'change', box => (view.seeds = box.checked));
  change('smooth', 'input', box => smoothing(Number(box.value)));
  change('fold', 'click', () => (view.all = !view.all));
  element('table').addEventListener('click', event => {
    const key = event.target.closest('[data-sort]')?.dataset.sort;
    if (key !== undefined) sortBy(key);
  });
  let width = innerWidth;
  addEventListener('resize', () => {
    if (width !== innerWidth && !document.documentElement.classList.contains('paper')) {
      width = innerWidth;
      tip.hidden = true;
      redraw();
    }
  });
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
  data.messages.forEach(apply);
  if (model.standings) view.x = 'angle'; // rows that turn at different rates are compared by how far they have turned
  smoothing(d3.max([...model.runs.values()], run => run.training.step.length) > 1000 ? 3 : 0); // noise of long runs hides the curves
  keep.start = { smooth: element('smooth').value };
  put(element('terms'), html`${Object.entries(TERMS).map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}`);
  for (const named of document.querySelectorAll('[data-term]')) named.title = term(named.dataset.term);
  // A link to a section must not take the view out of the address.
  document.addEventListener('click', event => {
    const section = event.target.closest('a[href^="#"]')?.hash;
    if (!section || !location.hash.includes('=')) return;
    event.preventDefault();
    document.querySelector(section).scrollIntoView();
    document.querySelector(section).focus();
  });
  addEventListener('hashchange', () => {
    restore();
    redraw();
  });
  restore();
  redraw();
  figures.forEach(figure => sight.observe(figure.host));
  soon([...figures]);
  if (data.live) listen();
}

/** Draws the others one by one while nothing else is to do: a link to a section must know how high those above it are. */
function soon(waiting) {
  const figure = waiting.shift();
  if (!figure) return;
  draw(figure);
  setTimeout(() => soon(waiting), 0);
}

start();
