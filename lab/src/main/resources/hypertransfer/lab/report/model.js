// What the page knows: runs, built up from messages, and what follows from their numbers.

const COLUMNS = ['norm', 'target_norm', 'rate', 'effective', 'angle', 'implied_decay', 'radial'];
const KINDS = ['q', 'k', 'v', 'o', 'gate', 'fc', 'proj'];
const model = { runs: new Map(), hidden: new Set(), ratios: new Set(), damaged: new Map(), notices: [], shape: null, query: '', study: { sides: [], facets: [], axes: [], rows: [] } };

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
      for (const key of ['step', 'turned', 'mean', 'nominal']) extend(run.logged[key], message.matrices[key]);
      if (message.matrices.step.length) run.logged.parts.push({ ...message.matrices, decoded: new Map() });
      Object.assign(run, { peak: message.matrices.peak, end: message.matrices.last, turning: message.turning });
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
    case 'standings':
      model.standings = message;
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
  const run = {
    ...message,
    name: message.run,
    label: message.run,
    state: { state: 'running' },
    training: { step: [], loss: [], rate: [], adam_rate: [], tokens: [], elapsed: [] },
    validation: { step: [], loss: [], scales: [] },
    logged: { step: [], turned: [], mean: [], nominal: [], parts: [] },
    turning: {},
    cache: {},
  };
  run.side = { lead: run, runs: [run], brief: run.name, label: run.name }; // until the runs are looked at together
  return run;
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

/** The runs of the network on show: the one that was chosen, once it is there, else the first. */
function ofNetwork() {
  const all = [...model.runs.values()], chosen = all.filter(run => run.shape === model.shape);
  return chosen.length ? chosen : all.filter(run => run.shape === all[0].shape);
}

/** The runs of the network on show that pass the filter, every target before those that follow it. */
function runs() {
  const shown = ofNetwork().filter(passes);
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
    normError: gaps?.norm ?? undefined,
    rateError: gaps?.rate ?? undefined,
    angleError: gaps?.matrices ?? undefined,
    momentaError: gaps?.momenta ?? undefined,
    peak: run.turning.peak ?? undefined,
    mean: run.turning.mean ?? undefined,
    finalToPeak: run.turning.finalToPeak ?? undefined,
    speed: speed(t),
  });
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
function measured({ steps, x, y, low, high }) {
  const at = d3.range(x.length).filter(i => !Number.isNaN(y[i] ?? NaN)), some = values => values && at.map(i => values[i]);
  return { steps: some(steps), x: some(x), y: some(y), low: some(low), high: some(high) };
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

/** Where a step stands on the x axis: steps, or what was before it of tokens, hours or accumulated angle. */
function position(run, steps, unit) {
  if (unit === 'step') return steps;
  const [starts, after] = (run.cache['after ' + unit] ??= progress(run, unit));
  const known = (run.cache['positions ' + unit] ??= new Map()); // by the array itself
  if (!known.has(steps)) known.set(steps, steps.map(s => between(starts, after, s) ?? last(after)));
  return known.get(steps);
}

/** Steps, and what was before each of them. */
function progress({ training: { step, tokens, elapsed }, logged, turning }, unit) {
  if (unit === 'angle') return [[...logged.step, (last(logged.step) ?? -1) + 1], [...logged.turned, turning.angle ?? 0]];
  return [[0, ...step.map(s => s + 1)], [0, ...(unit === 'tokens' ? tokens : elapsed.map(s => s / 3600))]];
}
