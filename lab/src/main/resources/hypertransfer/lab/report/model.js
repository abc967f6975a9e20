// What the page knows: runs, built up from messages, and what follows from their numbers.

const COLUMNS = ['norm', 'target_norm', 'rate', 'effective', 'angle', 'implied_decay', 'radial'];
const KINDS = ['q', 'k', 'v', 'o', 'gate', 'fc', 'proj'];
const model = { runs: new Map(), hidden: new Set(), damaged: new Map(), notices: [], shape: null, query: '' };

function apply(message) {
  const run = model.runs.get(message.run);
  switch (message.type) {
    case 'run':
      model.damaged.delete(message.run);
      model.runs.set(message.run, begin(message));
      break;
    case 'lines':
      for (const key of ['step', 'loss', 'rate', 'adam_rate', 'tokens', 'elapsed']) extend(run.training[key], message.training[key]);
      for (const key of ['step', 'loss', 'scales']) extend(run.validation[key], message.validation[key]);
      for (const key of ['step', 'mean']) extend(run.logged[key], message.matrices[key]);
      if (message.matrices.step.length) run.logged.parts.push({ ...message.matrices, decoded: new Map() });
      Object.assign(run, { peak: message.matrices.peak, end: message.matrices.last });
      run.cache = {};
      for (const other of model.runs.values()) if (other.target === run.name) other.cache = {};
      break;
    case 'gap':
      run.gap = message;
      if (message.training.step) run.apart = message; // comes once, with what was written before
      run.cache = {};
      break;
    case 'state':
      run.state = message;
      break;
    case 'gone':
      model.runs.delete(message.run);
      model.damaged.delete(message.run);
      break;
    case 'notice':
      model.notices = message.messages;
      break;
    case 'damaged':
      model.damaged.set(message.run, message.message);
      break;
  }
}

function extend(array, more) {
  for (const value of more) array.push(value);
}

function begin(message) {
  return {
    ...message,
    name: message.run,
    state: { state: 'running' },
    training: { step: [], loss: [], rate: [], adam_rate: [], tokens: [], elapsed: [] },
    validation: { step: [], loss: [], scales: [] },
    logged: { step: [], mean: [], parts: [] },
    cache: {},
  };
}

const cut = run => run.matrices.some(matrix => matrix.part !== undefined);

/** What one panel shows: a matrix with all its parts, or each part on its own. Runs that cut it in other ways are laid over each other. */
function panels(among) {
  const order = kindsOf(among.flatMap(run => run.matrices)), found = new Map();
  const alike = (a, b) => a.layer === b.layer && a.kind === b.kind && (!view.apart || a.part === undefined || b.part === undefined || a.part === b.part);
  for (const run of among) {
    const word = run.config['matrices.view'] === 'heads' ? 'head' : 'part';
    for (const { layer, kind, part } of run.matrices) {
      const own = view.apart && part !== undefined ? part : undefined;
      if (own === undefined && view.apart && among.some(other => other.matrices.some(m => m.layer === layer && m.kind === kind && m.part !== undefined))) continue;
      const key = [layer, kind, own].join(' ');
      if (!found.has(key)) found.set(key, { key, layer, kind, part: own, title: `layer ${layer} ${kind}` + (own === undefined ? '' : `, ${word} ${own}`), of: other => d3.range(other.matrices.length).filter(m => alike(other.matrices[m], { layer, kind, part: own })) });
    }
  }
  return d3.sort(found.values(), (a, b) => a.layer - b.layer || order.indexOf(a.kind) - order.indexOf(b.kind) || (a.part ?? 0) - (b.part ?? 0));
}

/** The kinds there are, the usual ones in their usual order. */
function kindsOf(matrices) {
  const found = new Set(matrices.map(matrix => matrix.kind));
  return [...KINDS.filter(kind => found.has(kind)), ...[...found].filter(kind => !KINDS.includes(kind)).sort()];
}

/** The runs of the network on show that pass the filter, every target before those that follow it. */
function runs() {
  const all = [...model.runs.values()];
  const shape = model.shape ?? all[0]?.shape;
  const shown = all.filter(run => run.shape === shape && passes(run));
  const order = [];
  const add = run => {
    if (order.includes(run)) return;
    order.push(run);
    shown.filter(other => follows(other) === run).forEach(add);
  };
  shown.filter(run => !shown.includes(follows(run))).forEach(add);
  shown.forEach(add); // runs that follow each other in a circle
  return order;
}

/** Every word of the filter is in the run's name, optimizer or state, or is one of its settings: rate=0.02. */
function passes(run) {
  return model.query.toLowerCase().split(/\s+/).filter(Boolean).every(word => {
    const [key, value] = word.split('=');
    return value === undefined
      ? [run.name, run.direction, run.mode, run.engine, run.state.state].join(' ').toLowerCase().includes(word)
      : Object.entries(run.config).some(([k, v]) => k.endsWith(key) && v.toLowerCase() === value);
  });
}

const visible = () => runs().filter(run => !model.hidden.has(run.name));

/** The run that this one follows, where the page has it. */
function follows(run) {
  const target = run.target === null ? undefined : model.runs.get(run.target);
  return target && target !== run && target.shape === run.shape ? target : undefined;
}

/** A run that differs from its target by roundings only: how far those lead is the least that any gap can be expected to be. */
const placebo = run => Boolean(follows(run)) && ![undefined, '1', '1.0', 'null'].includes(run.config['matrices.placebo']);

/** The placebo beside a run that follows. */
const placeboOf = run => runs().find(other => placebo(other) && follows(other) === follows(run) && other !== run);

/** Settings with several numbers among the runs that follow none: what a sweep went through. The one with most values first. */
function swept(among = runs()) {
  const free = among.filter(run => !follows(run));
  const keys = [...new Set(free.flatMap(run => Object.keys(run.config)))].filter(key => key !== 'seed' && key !== 'steps');
  return keys.map(key => ({ key, values: [...new Set(free.map(run => run.config[key]))] }))
    .filter(({ values }) => values.length > 1 && values.every(v => v !== undefined && v !== '' && finite(Number(v))))
    .map(({ key, values }) => ({ key, values: values.map(Number).sort(d3.ascending) }))
    .sort((a, b) => b.values.length - a.values.length)
    .filter((axis, i, all) => all[0].values.length > 2 && free.length > 3 && i < 3);
}

/** The runs in the order of tables and legends: a sweep's by what it went through, which the names' alphabet does not know. */
function ordered() {
  const axes = swept();
  return axes.length ? d3.sort(runs(), ...axes.map(({ key }) => run => Number(run.config[key]))) : runs();
}

/** Gives every run the name that it is shown by: in a sweep its values, unless another run has the same ones. */
function label() {
  const axes = swept(), all = runs(), at = run => axes.map(({ key }) => run.config[key]).join();
  const alike = d3.rollup(all, same => same.length, at), key = axes.map(axis => short(axis.key));
  for (const run of all) run.label = !axes.length || follows(run) || alike.get(at(run)) > 1 ? run.name : axes.map((axis, i) => key[i] + '=' + plain(run.config[axis.key])).join(', ');
}

/** Run minus another at the steps both have. Of a long run the page has not all of them; those to its target came as they are. */
function difference(run, other, part) {
  if (!other) return { x: [], y: [] };
  return (run.cache[part + ' minus ' + other.name] ??= rest(join(run[part], other[part]), other === follows(run) ? run.apart?.[part] : undefined));
}

function rest(joined, known) {
  if (!known) return joined;
  const from = d3.bisectRight(joined.x, last(known.step) ?? -1);
  return { x: [...known.step, ...joined.x.slice(from)], y: [...known.loss, ...joined.y.slice(from)] };
}

function join(a, b) {
  const x = [], y = [];
  for (let i = 0, j = 0; i < a.step.length && j < b.step.length;) {
    if (a.step[i] === b.step[j]) {
      x.push(a.step[i]);
      y.push(finite(a.loss[i]) && finite(b.loss[j]) ? a.loss[i] - b.loss[j] : null);
      i++;
      j++;
    } else if (a.step[i] < b.step[j]) i++; else j++;
  }
  return { x, y };
}

/** The step from which on one curve stays on its side of the other; undefined where it always was there. */
function crossover({ x, y }) {
  const known = d3.range(x.length).filter(i => finite(y[i]) && y[i] !== 0);
  if (!known.length) return undefined;
  const side = Math.sign(y[last(known)]);
  const before = known.findLast(i => Math.sign(y[i]) !== side);
  return before === undefined ? undefined : x[known[known.indexOf(before) + 1]];
}

/** The numbers of a run's row in the first table. */
function summary(run) {
  const t = run.training, gaps = follows(run) ? run.gap : undefined;
  return (run.cache.summary ??= {
    steps: t.step.length ? last(t.step) + 1 : 0,
    training: last(t.loss),
    validation: last(run.validation.loss),
    gap: gaps?.validation.last ?? undefined,
    largest: gaps?.validation.largest ?? undefined,
    trainingLargest: gaps?.training.largest ?? undefined,
    speed: speed(t),
  });
}

/** The run with the lowest last validation loss of those that took all their steps. */
function best() {
  const done = runs().filter(run => run.state.state === 'finished' && finite(summary(run).validation));
  return done.length > 1 ? d3.least(done, run => summary(run).validation) : undefined;
}

/** Tokens per second; the first step, which compiles and warms up, is left out where there are more. */
function speed(t) {
  const first = t.step.length > 1, seconds = last(t.elapsed) - (first ? t.elapsed[0] : 0);
  return seconds > 0 ? (last(t.tokens) - (first ? t.tokens[0] : 0)) / seconds : undefined;
}

/** One number of one matrix over the logged steps. */
const track = (run, column, matrix) => (run.cache[column + matrix] ??= rowsIn(run, column).map(row => row[matrix]));

/** The same with the extremes between the steps, where steps were left out. */
function band(run, column, matrix) {
  const y = track(run, column, matrix);
  if (!run.logged.parts.some(part => part.low)) return { y };
  const side = key => (run.cache[key + column + matrix] ??= rowsIn(run, column, key).map(row => row[matrix]));
  return { y, low: side('low'), high: side('high') };
}

/** The mean over some matrices, between the lowest and the highest of them. */
function bands(run, column, matrices) {
  if (matrices.length < 2) return matrices.length ? band(run, column, matrices[0]) : { y: [] };
  return (run.cache[column + matrices] ??= (all => {
    const over = (how, pick) => d3.range(all[0].y.length).map(i => how(all, one => pick(one)[i]));
    return { y: over(d3.mean, one => one.y), low: over(d3.min, one => one.low ?? one.y), high: over(d3.max, one => one.high ?? one.y) };
  })(matrices.map(m => band(run, column, m))));
}

/** Without the steps at which the number was not measured: most lines have no radial part. */
function measured({ run, x, y, low, high }) {
  const at = d3.range(y.length).filter(i => !Number.isNaN(y[i] ?? NaN)), some = values => values && at.map(i => values[i]);
  return at.length === y.length ? { run, x, y, low, high } : { run, x: some(x), y: some(y), low: some(low), high: some(high) };
}

/** A row of numbers over the matrices for each logged step; {@code side} is low or high. */
function rowsIn(run, column, side) {
  return run.logged.parts.flatMap(part => {
    const text = (side && part[side] ? part[side] : part)[column], count = run.matrices.length;
    const all = part.decoded.get(text) ?? floats(text);
    part.decoded.set(text, all);
    return part.step.map((_, i) => all.subarray(i * count, (i + 1) * count));
  });
}

function floats(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/** The last effective rate over the largest, for every matrix. */
function ratios(run) {
  return (run.cache.ratios ??= run.matrices.map((matrix, m) => {
    const final = run.end?.[m], peak = run.peak?.[m];
    return { ...matrix, final, peak, ratio: finite(final) ? (peak === 0 ? 0 : final / peak) : null };
  }));
}

/** What a run is apart from its seed. */
const seedless = run => Object.entries(run.config).filter(([key]) => key !== 'seed' && key !== 'target').map(entry => entry.join('=')).join(';') + (follows(run)?.mode ?? '');

/** The mean of several lines where all have a value, between the lowest and the highest. */
function together([first, ...others]) {
  const known = others.map(({ x, y }) => new Map(x.map((at, i) => [at, y[i]])));
  const at = d3.range(first.x.length).filter(i => known.every(map => map.has(first.x[i])));
  const values = at.map(i => [first.y[i], ...known.map(map => map.get(first.x[i]))].filter(finite));
  return { run: first.run, x: at.map(i => first.x[i]), y: values.map(v => d3.mean(v) ?? null), low: values.map(v => d3.min(v) ?? null), high: values.map(v => d3.max(v) ?? null) };
}

/** Where a step stands on the x axis: steps, tokens after so many steps, or hours. */
function position(run, steps, unit) {
  if (unit === 'step') return steps;
  const { step, tokens, elapsed } = run.training;
  const after = (run.cache['after ' + unit] ??= [0, ...(unit === 'tokens' ? tokens : elapsed.map(s => s / 3600))]);
  const starts = (run.cache.starts ??= [0, ...step.map(s => s + 1)]);
  const known = (run.cache['positions ' + unit] ??= new Map()); // by the array itself
  if (!known.has(steps)) known.set(steps, steps.map(s => between(starts, after, s) ?? last(after)));
  return known.get(steps);
}

/** What the page is called where nobody gave it a title. */
function title() {
  const shown = runs(), axes = swept(), pairs = shown.filter(follows);
  if (axes.length) return 'Sweep of ' + axes.map(axis => short(axis.key)).join(' and ');
  if (pairs.length === 1 && shown.length === 2) return `${pairs[0].name} follows ${follows(pairs[0]).name}`;
  const leads = shown.filter(run => !follows(run));
  if (leads.length === 2 && pairs.length > 1) return leads.map(run => run.name).join(' and ') + ', and the runs that follow them';
  return !shown.length ? 'HyperTransfer' : shown.length <= 4 ? shown.map(run => run.name).join(', ') : `${shown.length} runs of ${shown[0].network}`;
}

/** What a sweep found. */
function found(axes) {
  const points = sweepPoints(axes).filter(p => p.loss !== null), lowest = d3.least(points, p => p.loss);
  if (!lowest) return 'No run has a finite loss yet.';
  const worst = d3.max(points, p => p.loss), failed = runs().length - points.length;
  return `${setting(axes, lowest)} is the best of ${points.length} points, with a last validation loss of ${show(lowest.loss)}; the worst ends ${gap(worst - lowest.loss)} above it${failed ? `, and ${failed} without a loss` : ''}.` + (edge(axes, lowest).length ? ' The best lies on the edge of the grid.' : '');
}

/** What the page shows, in one sentence: how far the optimizers are from each other, and how near each transfer is to its target. */
function claim() {
  const axes = swept();
  if (axes.length) return found(axes);
  const measured = runs().filter(run => finite(summary(run).validation)), done = measured.filter(run => run.state.state === 'finished');
  const all = done.length ? done : measured;
  const leads = all.filter(run => !follows(run)), pairs = all.filter(run => finite(summary(run).largest) && !placebo(run));
  const ends = leads.map(run => summary(run).validation);
  const apart = leads.length > 1 ? d3.max(ends) - d3.min(ends) : undefined;
  const near = pairs.length ? d3.max(pairs, run => summary(run).largest) : undefined;
  const winner = best();
  const parts = [];
  if (leads.length === 2) parts.push(`${leads[0].name} and ${leads[1].name} end ${gap(apart)} apart`);
  else if (leads.length > 2 && winner) parts.push(`${winner.name} ends lowest, at ${show(summary(winner).validation)}; the runs are up to ${gap(apart)} apart`);
  const who = pairs.length > 1 ? 'each transfer' : pairs[0]?.name;
  if (near === 0) parts.push(`${who} has the very losses of its target, at every validation`);
  else if (pairs.length) parts.push(`${who} is within ${gap(near)} of its target at every validation` + (apart / near >= 2 ? `, ${d3.format(',.2~r')(apart / near)} times closer` : ''));
  return parts.length ? parts.join('; ') + '.' : '';
}
