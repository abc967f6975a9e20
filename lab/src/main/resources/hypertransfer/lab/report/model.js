// What the page knows: runs, built up from messages, and what follows from their numbers.

const COLUMNS = ['norm', 'target_norm', 'rate', 'effective', 'angle', 'implied_decay'];
const KINDS = ['q', 'k', 'v', 'o', 'fc', 'proj'];
const model = { runs: new Map(), hidden: new Set(), damaged: new Map(), notices: [], zoom: null, shape: null };

function apply(message) {
  const run = model.runs.get(message.run);
  switch (message.type) {
    case 'run':
      model.damaged.delete(message.run);
      model.runs.set(message.run, begin(message));
      paint();
      break;
    case 'lines':
      for (const key of ['step', 'loss', 'rate', 'adam_rate', 'tokens', 'seconds']) extend(run.training[key], message.training[key]);
      for (const key of ['step', 'loss']) extend(run.validation[key], message.validation[key]);
      for (const key of ['step', ...COLUMNS]) extend(run.logged[key], message.matrices[key]);
      run.cache = {};
      for (const other of model.runs.values()) if (other.target === run.name) other.cache = {};
      break;
    case 'gap':
      run.gap = message;
      break;
    case 'state':
      run.state = message;
      break;
    case 'gone':
      model.runs.delete(message.run);
      model.damaged.delete(message.run);
      paint();
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
    name: message.run,
    target: message.target,
    network: message.network,
    shape: message.shape,
    direction: message.direction,
    mode: message.mode,
    engine: message.engine,
    config: message.config,
    provenance: message.provenance,
    matrices: message.matrices.map(part),
    state: { state: 'running' },
    training: { step: [], loss: [], rate: [], adam_rate: [], tokens: [], seconds: [] },
    validation: { step: [], loss: [] },
    logged: Object.fromEntries(['step', ...COLUMNS].map(key => [key, []])),
    cache: {},
  };
}

/** blocks.3.attn.q.weight is layer 3, kind q. */
function part(name) {
  const found = /^blocks\.(\d+)\.(?:attn|mlp)\.(\w+)\.weight$/.exec(name);
  return found ? { name, layer: Number(found[1]), kind: found[2] } : { name, layer: 0, kind: name };
}

/** The runs of the network on show, every target before those that follow it. */
function runs() {
  const all = [...model.runs.values()];
  const shape = model.shape ?? all[0]?.shape;
  const shown = all.filter(run => run.shape === shape);
  const leads = shown.filter(run => !follows(run));
  return leads.flatMap(lead => [lead, ...followers(lead, shown)]);
}

function followers(lead, shown) {
  return shown.filter(run => run !== lead && follows(run) === lead).flatMap(run => [run, ...followers(run, shown)]);
}

const visible = () => runs().filter(run => !model.hidden.has(run.name));

/** The run that this one follows, where the page has it. */
function follows(run) {
  const target = run.target === null ? undefined : model.runs.get(run.target);
  return target && target !== run && target.shape === run.shape ? target : undefined;
}

/** Targets are solid, those that follow them dashed, as in the paper. Colours repeat with another dash. */
function paint() {
  const count = new Map();
  for (const run of model.runs.values()) {
    const dashed = Boolean(follows(run)), key = run.shape + dashed;
    const i = count.get(key) ?? 0;
    count.set(key, i + 1);
    run.colour = `var(--${dashed ? 'dashed' : 'solid'}-${i % 4})`;
    run.dash = dashed ? ['6 5', '2 3', '12 4 2 4'][Math.floor(i / 4) % 3] : ['', '16 3', '3 2'][Math.floor(i / 4) % 3];
  }
}

/** Run minus target, at the steps both have. */
function difference(run, part) {
  const target = follows(run);
  if (!target) return { x: [], y: [] };
  return (run.cache[part] ??= join(run[part], target[part], (a, b) => a - b));
}

function join(a, b, combine) {
  const x = [], y = [];
  for (let i = 0, j = 0; i < a.step.length && j < b.step.length;) {
    if (a.step[i] === b.step[j]) {
      const known = finite(a.loss[i]) && finite(b.loss[j]);
      x.push(a.step[i]);
      y.push(known ? combine(a.loss[i], b.loss[j]) : null);
      i++;
      j++;
    } else if (a.step[i] < b.step[j]) i++; else j++;
  }
  return { x, y };
}

const last = array => array[array.length - 1];
const largest = array => array.reduce((most, v) => (finite(v) && Math.abs(v) > most ? Math.abs(v) : most), 0);

/** The numbers of a run's row in the first table. */
function summary(run) {
  const gaps = follows(run) ? { validation: difference(run, 'validation').y, training: difference(run, 'training').y } : null;
  const t = run.training;
  return {
    steps: t.step.length ? last(t.step) + 1 : 0,
    training: last(t.loss),
    validation: last(run.validation.loss),
    gap: gaps?.validation.length ? last(gaps.validation) : undefined,
    largest: gaps?.validation.length ? largest(gaps.validation) : undefined,
    trainingGap: gaps?.training.length ? last(gaps.training) : undefined,
    trainingLargest: gaps?.training.length ? largest(gaps.training) : undefined,
    speed: speed(t),
  };
}

/** Tokens a second; the first step, which compiles and warms up, is left out where there are more. */
function speed(t) {
  const first = t.step.length > 1 ? 1 : 0;
  const seconds = t.seconds.slice(first).reduce((sum, s) => sum + s, 0);
  return seconds > 0 ? (last(t.tokens) - (first ? t.tokens[0] : 0)) / seconds : undefined;
}

/** One number of one matrix over the logged steps. */
function track(run, column, matrix) {
  return run.logged[column].map(row => row[matrix]);
}

/** The last effective rate over the largest, for every matrix. */
function ratios(run) {
  return run.matrices.map((matrix, m) => {
    const rates = track(run, 'effective', m).filter(finite);
    const peak = Math.max(...rates);
    return { ...matrix, final: last(rates), peak, ratio: rates.length ? (peak === 0 ? 0 : last(rates) / peak) : null };
  });
}
