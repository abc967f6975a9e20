// Puts the page together, and keeps it up to date while runs are written.

const element = id => document.getElementById(id);
const all = (x, y) => ({ x, y });
const lines = get => visible().map(run => ({ run, ...get(run) }));

const QUANTITIES = {
  target_norm: { text: 'norm in the target’s space', note: 'The target’s |w|, and the norm s (or R) by which the follower keeps track of it: the curves should coincide.', column: run => (follows(run) ? 'target_norm' : 'norm') },
  effective: { text: 'effective rate', note: 'The angular step of every matrix.', column: () => 'effective' },
  rate: { text: 'nominal rate', note: 'The learning rate that the carrier applied.', column: () => 'rate' },
  norm: { text: 'norm |w|', note: 'The norm of the weights as they are.', column: () => 'norm' },
  angle: { text: 'angle moved (radians)', note: 'The angle between the weights before and after a step.', column: () => 'angle' },
  implied_decay: { text: 'implied decay', note: '(1 − keep) / effective rate.', column: () => 'implied_decay' },
};
const filter = { quantity: 'target_norm', kinds: null, layers: null };

function lossCells(part, label) {
  return [
    { label, series: lines(run => all(run[part].step, run[part].loss)) },
    { label: 'difference to target', zero: true, series: lines(run => difference(run, part)).filter(series => series.x.length) },
  ];
}

function throughput(run) {
  const { step, tokens, seconds } = run.training;
  return all(step, step.map((_, i) => (seconds[i] > 0 ? (tokens[i] - (i ? tokens[i - 1] : 0)) / seconds[i] : null)));
}

function matrixCells() {
  const shown = visible();
  const column = QUANTITIES[filter.quantity].column;
  const order = kindsOf(runs()[0]?.matrices ?? []);
  return (runs()[0]?.matrices ?? [])
    .map((matrix, m) => ({ matrix, m }))
    .filter(({ matrix }) => filter.kinds.has(matrix.kind) && filter.layers.has(matrix.layer))
    .sort((a, b) => a.matrix.layer - b.matrix.layer || order.indexOf(a.matrix.kind) - order.indexOf(b.matrix.kind))
    .map(({ matrix, m }) => ({
      title: `layer ${matrix.layer} ${matrix.kind}`,
      series: shown.filter(run => run.logged.step.length).map(run => ({ run, ...all(run.logged.step, track(run, column(run), m)) })),
    }));
}

/** As many columns as there are kinds where they fit, else a divisor of that. */
function matrixColumns(width) {
  const kinds = filter.kinds?.size || 1;
  for (let columns = kinds; columns > 1; columns--) if (kinds % columns === 0 && width / columns >= 168) return columns;
  return kinds === 1 ? Math.max(2, Math.min(4, Math.floor(width / 220))) : width >= 336 ? 2 : 1;
}

const one = () => 1;
const figures = [
  new Chart(figureHost('figures'), { title: 'Validation loss', file: 'validation-loss', columns: one, height: 250, second: 0.45, cells: () => lossCells('validation', 'loss (nats per token)') }),
  new Chart(figureHost('figures'), { title: 'Training loss', file: 'training-loss', columns: one, height: 250, second: 0.45, cells: () => lossCells('training', 'loss (nats per token)') }),
  new Chart(figureHost('figures'), {
    title: 'Learning rates', file: 'rates', columns: one, height: 130,
    cells: () => [
      { label: 'hidden matrices', series: lines(run => all(run.training.step, run.training.rate)) },
      { label: 'AdamW', series: lines(run => all(run.training.step, run.training.adam_rate)) },
    ],
  }),
  new Chart(figureHost('figures'), { title: 'Throughput', file: 'throughput', columns: one, height: 284, cells: () => [{ label: 'tokens per second', series: lines(throughput) }] }),
  new Chart(element('multiples'), { title: 'Every matrix', file: 'matrices', note: ' ', columns: matrixColumns, height: 96, cells: matrixCells }),
  new Heat(element('heat'), { title: 'Last effective rate over the largest', file: 'final-to-peak', note: 'Rows are kinds of matrices, columns layers. One colour scale for all runs.' }),
];

function figureHost(id) {
  return element(id).appendChild(document.createElement('div'));
}

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
  const matrices = runs()[0]?.matrices ?? [];
  const kinds = kindsOf(matrices), layers = [...new Set(matrices.map(m => m.layer))].sort((a, b) => a - b);
  const key = kinds + '|' + layers;
  if (filter.key !== key) {
    filter.key = key;
    filter.kinds = new Set(kinds);
    // Of a deep network first, middle and last are shown to begin with.
    filter.layers = new Set(layers.length <= 6 ? layers : [layers[0], layers[layers.length >> 1], last(layers)]);
  }
  const change = () => {
    filters();
    figures[4].render();
  };
  chips(element('kinds'), kinds, filter.kinds, kind => kind, change);
  chips(element('layers'), layers, filter.layers, layer => 'layer ' + layer, change);
  const { text, note } = QUANTITIES[filter.quantity];
  element('multiples').querySelector('h3').textContent = figures[4].spec.title = 'Every matrix: ' + text;
  element('multiples').querySelector('.note').textContent = note;
}

function networks() {
  const shapes = new Map([...model.runs.values()].map(run => [run.shape, run.network]));
  const host = element('networks');
  host.hidden = shapes.size < 2;
  if (host.hidden) return;
  model.shape ??= shapes.keys().next().value;
  put(host, html`${[...shapes].map(([shape, name]) => html`<button type="button" data-value="${shape}" title="${shape}" aria-pressed="${shape === model.shape}">${name}</button>`)}`);
  host.onclick = event => {
    model.shape = event.target.closest('button')?.dataset.value ?? model.shape;
    model.zoom = null;
    redraw();
  };
}

/** Everything anew; figures out of sight wait until they are seen. */
function redraw() {
  networks();
  const shown = runs(), first = shown[0];
  const parameters = Number(first?.provenance.parameters);
  element('about').textContent = first
    ? [`${shown.length} ${shown.length === 1 ? 'run' : 'runs'}`, 'network ' + first.network, finite(parameters) ? whole(parameters) + ' parameters' : '',
      data.written ? 'written ' + data.written.replace('T', ' ').replace('Z', ' UTC') : ''].filter(Boolean).join(' · ')
    : 'waiting for the first run';
  document.title = 'HyperTransfer' + (first ? ': ' + shown.map(run => run.name).join(', ') : '');
  put(element('damaged'), html`${[...model.notices.map(text => ['', text]), ...model.damaged].map(([run, message]) => html`<p class="card"><b>${run}</b> ${message}</p>`)}`);
  put(element('transfers'), transferCards());
  put(element('table'), summaryTable());
  put(element('settings'), settingsTable(element('everything').checked));
  put(element('origin'), originTable());
  filters();
  for (const figure of figures) {
    figure.stale = true;
    if (figure.seen) draw(figure);
  }
}

function draw(figure) {
  if (!figure.stale) return;
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

function theme(name) {
  document.documentElement.dataset.theme = name;
}

function start() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  theme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => {
    theme(dark.matches ? 'dark' : 'light');
    redraw();
  });
  element('theme').addEventListener('click', () => {
    theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    redraw();
  });
  put(element('quantity'), html`${Object.entries(QUANTITIES).map(([key, { text }]) => html`<option value="${key}">${text}</option>`)}`);
  element('quantity').addEventListener('change', event => {
    filter.quantity = event.target.value;
    filters();
    figures[4].render();
  });
  element('everything').addEventListener('change', redraw);
  let width = innerWidth;
  addEventListener('resize', () => {
    if (width !== innerWidth) {
      width = innerWidth;
      redraw();
    }
  });
  data.messages.forEach(apply);
  redraw();
  figures.forEach(draw); // once, seen or not: a link to a section must know how high those above it are
  figures.forEach(figure => sight.observe(figure.host));
  if (data.live) listen();
}

/** The server sends everything anew to each connection, so a lost one starts from nothing. */
function listen() {
  const live = element('live');
  const say = (text, lost) => {
    live.hidden = false;
    live.textContent = text;
    live.classList.toggle('lost', lost);
  };
  say('connecting', true);
  const source = new EventSource('events');
  let changed = false, waiting = false;
  source.onopen = () => {
    model.runs.clear();
    model.damaged.clear();
    say('live', false);
    changed = true;
  };
  source.onerror = () => say('connection lost, trying again', true);
  source.onmessage = event => {
    const message = JSON.parse(event.data);
    if (message.type !== 'tick') {
      apply(message);
      changed = true;
    } else if (changed && !waiting && tip.hidden) { // a redraw under the pointer would take away what is being read
      waiting = true;
      changed = false;
      requestAnimationFrame(() => {
        waiting = false;
        redraw();
      });
    }
  };
}

const data = JSON.parse(element('data').textContent);
start();
