// The page that computes. All numbers come from `formulas`, which is our Java; here they are asked for and drawn.

const known = JSON.parse(element('data').textContent);
const START = {
  optimizer: 'muon', rate: 0.02, decay: 0.1, momentum: 0.95, beta1: 0.9, factor: 'none', coefficients: 'jordan',
  network: 'demo', norm: 'M1', matrices: known[0].matrices, steps: 400, warmup: 0.05, shape: 'linear', final: 0,
  to: 'muonh', toDecay: 0.1, toFactor: 'none', toWidth: '', hide: '', log: '',
};
const names = (...all) => all.map(name => [name, name]), optimizers = Object.entries(OPTIMIZERS);
const either = (s, test) => test(s.optimizer) || test(s.to);

/** Every entry: where it stands, its label, what it may be. A slider has ends, and is logarithmic where the first is above zero. */
const ENTRIES = {
  optimizer: { at: 'tuned', label: 'Optimizer', choice: optimizers },
  rate: { at: 'tuned', label: 'Peak rate', slider: [1e-4, 1], above: true, most: 1e6, text: s => (isBall(s.optimizer) ? 'Peak angle (radians)' : 'Peak rate') },
  decay: { at: 'tuned', label: 'Weight decay', slider: [1e-3, 10], zero: true, most: 1e6, shown: s => !isBall(s.optimizer) },
  momentum: { at: 'tuned', label: 'Momentum', slider: [0, 0.99], below: 1, shown: s => either(s, name => !isAdam(name)) },
  beta1: { at: 'tuned', label: 'Adam’s first beta', slider: [0, 0.99], below: 1, shown: s => either(s, isAdam) },
  factor: { at: 'tuned', label: 'Shape factor of Muon', choice: [['none', 'none (the paper’s)'], ['tall', 'tall: √max(1, rows/cols), torch’s'], ['spectral', 'spectral: √(rows/cols)'], ['rms', 'rms: 0.2 √max(rows, cols)']], shown: s => s.optimizer === 'muon' },
  coefficients: { at: 'tuned', label: 'Newton-Schulz', choice: [['jordan', 'jordan: five steps, Muon’s own'], ['convergent', 'convergent: twelve'], ['polar-express', 'polar-express']], shown: s => either(s, name => !isAdam(name)) },
  network: { at: 'run', label: 'Network', choice: [...known.map(({ name, width, steps }) => [name, `${name}: width ${width}, ${whole(steps)} steps`]), ['own', 'your own matrices']] },
  matrices: { at: 'run', label: 'Hidden matrices: kind, rows x columns, how many', rows: 6 },
  norm: { at: 'run', label: 'Norms', choice: [['M1', 'M1: one after every matrix'], ['M2', 'M2: of queries and keys only']] },
  steps: { at: 'run', label: 'Steps', slider: [10, 2e5], whole: true, least: 1, most: 1e6 },
  shape: { at: 'run', label: 'Schedule', text: () => 'Schedule: linear, cosine, constant, trapezoid:0.2, 1-sqrt:0.2, power:2', word: true },
  final: { at: 'run', label: 'Final ratio', slider: [0, 1], most: 1, shown: s => s.shape !== 'constant' },
  warmup: { at: 'run', label: 'Warm-up, part of the steps', slider: [0, 0.5], below: 1 },
  to: { at: 'other', label: 'Optimizer', choice: optimizers },
  toDecay: { at: 'other', label: 'Weight decay', slider: [1e-3, 10], zero: true, most: 1e6, shown: s => !isBall(s.to) },
  toFactor: { at: 'other', label: 'Shape factor of Muon', choice: names(...FACTORS), shown: s => s.to === 'muon' },
  toWidth: { at: 'other', label: 'Width', slider: [32, 16384], whole: true, least: 1, most: 1e6, empty: true, text: s => `Width (empty: the same, ${widthOf(s)})` },
};
/** Schedules that people name. */
const SCHEDULES = { 'to zero': { shape: 'linear', final: 0 }, 'to a tenth': { shape: 'linear', final: 0.1 }, cosine: { shape: 'cosine', final: 0 }, 'stable, then down': { shape: 'trapezoid:0.2', final: 0 }, constant: { shape: 'constant', final: 1 } };

let state = { ...START }, wrong = {}, now = null, drawn = {}, late;

/** What a network brings with it: its matrices, steps and shape factor. */
function brought(network) {
  const preset = known.find(({ name }) => name === network);
  return preset ? { matrices: preset.matrices, steps: preset.steps, factor: preset.factor, toFactor: preset.factor, toWidth: '' } : {};
}
const visible = key => ENTRIES[key]?.shown?.(state) ?? true;

/** `fc 512x128 x4`, a line or a comma for each kind. */
function matricesOf(text) {
  const lines = text.split(/[\n,;]/).map(line => line.trim()).filter(Boolean);
  if (!lines.length) throw new Error('there is no matrix here; write one as fc 512x128 x4');
  return lines.map(line => {
    const [, kind = 'matrix', rows, cols, count = 1] = /^(?:([A-Za-z_][\w.]*)[\s:]+)?(\d+)\s*[x×*]\s*(\d+)(?:\s+[x×*]?\s*(\d+))?$/.exec(line) ?? [];
    if (!rows) throw new Error(`'${line}' is no matrix; write it as fc 512x128 x4, or 512x128`);
    if (![rows, cols, count].every(n => n >= 1 && n <= 1e6)) throw new Error(`'${line}' has a number out of range; each must be from 1 to 1,000,000`);
    return { kind, rows: Number(rows), cols: Number(cols), count: Number(count) };
  });
}

/** A network's own, or of matrices their usual shorter side. */
function widthOf({ network, matrices }) {
  const preset = known.find(({ name }) => name === network);
  if (preset) return preset.width;
  const sides = matricesOf(matrices).map(({ rows, cols }) => Math.min(rows, cols)).sort(d3.ascending);
  return sides[sides.length >> 1];
}

/** What the formulas take, made of what was chosen; a worker has this function too, so it uses nothing around it. */
function setup(s) {
  const space = (name, decay) => (name.endsWith('h') ? formulas.hyperball() : formulas.base(decay));
  const expected = ({ kind, rows, cols }, name, factor, width, scale) => {
    const [r, c] = [rows, cols].map(side => Math.max(1, Math.round(side * scale)));
    if (name.startsWith('adam')) return formulas.adam(r, c, s.beta1);
    const normed = s.norm === 'M1' || ['q', 'k', 'v', 'o'].includes(kind);
    return formulas.early(formulas.muon(kind, r, c, formulas.factor(factor, s.coefficients === 'jordan', r, c), s.momentum), kind, width, normed, s.momentum);
  };
  const schedule = formulas.schedule(s.rate, s.steps, s.warmup, s.final, s.shape), from = space(s.optimizer, s.decay), to = space(s.to, s.toDecay);
  const kinds = s.list.map(matrix => ({ ...matrix, from: expected(matrix, s.optimizer, s.factor, s.width, 1), to: expected(matrix, s.to, s.toFactor, s.otherWidth, s.otherWidth / s.width) }));
  const carry = some => {
    const all = formulas.matrices();
    some.forEach(kind => formulas.add(all, kind.from, kind.to, kind.count));
    const [rate, final, error] = formulas.carry(all, from, schedule, to, schedule);
    return { rate, final, error };
  };
  return { schedule, from, to, kinds, carry };
}

/** The search for the pair takes a while for long runs; beside the page it keeps no slider waiting. Only the last question counts. */
const helper = {
  ask(question) {
    if (this.asked && performance.now() - this.since > 400) {
      this.worker.terminate();
      this.worker = this.asked = null;
    }
    this.next = question;
    if (!this.asked) this.send();
  },
  send() {
    if (!this.worker) {
      const own = `${setup}\nonmessage = ({ data }) => { const made = setup(data.question); postMessage({ id: data.id, all: made.carry(made.kinds) }); postMessage({ id: data.id, each: made.kinds.map(kind => made.carry([kind])) }); };`;
      this.worker = new Worker(policy.createScriptURL(URL.createObjectURL(new Blob([element('formulas').textContent, own], { type: 'text/javascript' }))));
      this.worker.onmessage = ({ data: { id, all, each } }) => {
        if (each) {
          this.asked = null;
          if (this.next) this.send();
        }
        if (now?.id !== id) return;
        Object.assign(now, all ? { pair: all } : { each });
        if (all) answered();
        else put(element('table'), table()); // the answer stays as it is: somebody may be selecting in it
      };
    }
    [this.asked, this.next, this.since] = [this.next, null, performance.now()];
    this.worker.postMessage(this.asked);
  },
};

/** Checks every entry, asks the formulas, and draws. */
function redraw() {
  wrong = Object.fromEntries(Object.entries(wrong).filter(([key]) => key === 'line' || typeof state[key] === 'string' && ENTRIES[key].slider));
  const check = (key, action) => {
    try {
      return action();
    } catch (e) {
      wrong[key] ??= e.message;
    }
  };
  const list = check('matrices', () => matricesOf(state.matrices));
  const width = list && widthOf(state);
  check('shape', () => formulas.schedule(1, 1, 0, 0, state.shape));
  const id = (now?.id ?? 0) + 1, refused = () => Object.keys(wrong).find(key => key !== 'line' && visible(key));
  now = refused() ? null : check('rate', () => ({ ...predicted({ ...state, list, width, otherWidth: state.toWidth || width }), id }));
  now ??= { id, refused: wrong[refused()] };
  if (!now.refused) helper.ask({ id, question: now.question });
  entries();
  answered();
  clearTimeout(late);
  late = setTimeout(() => now.refused || now.pair || draw(), 250); // a long search: half of the picture is better than none
  keep();
}

/** The tuned run, kind by kind. */
function predicted(question) {
  const made = setup(question), s = question;
  const runs = made.kinds.map(kind => curves(kind.from, made.from, made.schedule));
  const some = all => d3.range(9).map(k => all[Math.floor((k * (s.steps - 1)) / 8)]), others = made.kinds.map((kind, i) => formulas.follow(kind.to, made.to, runs[i].effective));
  const groups = d3.groups(d3.range(runs.length), i => [s.list[i].rows, s.list[i].cols, ...[runs[i].norm, runs[i].effective, formulas.nominal(others[i])].flatMap(some)].join());
  const resting = !isBall(s.optimizer) && s.decay > 0 ? made.kinds.map(({ from }) => formulas.rest(from, s.rate, s.decay)) : null;
  return { question, made, runs, resting, toRest: resting && formulas.stepsToRest(s.rate, s.decay, 0.05), groups: groups.map(([, alike], i) => group(alike, i, s)) };
}

function curves(matrix, space, schedule) {
  const run = formulas.predict(matrix, space, schedule);
  return { norm: formulas.norm(run), nominal: formulas.nominal(run), effective: formulas.effective(run), decay: formulas.impliedDecay(run, matrix, space), summary: formulas.summary(run) };
}

/** Both sides' names: where they have one optimizer, with what differs. */
function titles(q) {
  if (q.optimizer !== q.to) return [OPTIMIZERS[q.optimizer], OPTIMIZERS[q.to]];
  const parts = [isBall(q.to) ? [] : ['decay', q.decay, q.toDecay], q.to === 'muon' ? ['factor', q.factor, q.toFactor] : [], ['width', q.width, q.otherWidth]].filter(([, a, b]) => a !== b);
  return [1, 2].map(side => [OPTIMIZERS[q.to], ...parts.map(part => `${part[0]} ${part[side]}`)].join(', '));
}

const named = run => Object.assign(run, { side: { brief: run.label, label: run.label, lead: run, runs: [run] } });
const TUNED = { colour: 'var(--axis)', dash: '' }, OTHER = { colour: 'var(--ink)', dash: '7 5' }, REST = { colour: 'var(--axis)', dash: '2 3', target: {} };

/** Kinds that the prediction cannot tell apart share a colour: the tuned run is a band, the other one dashes on it. */
function group(some, i, s) {
  const label = some.map(k => s.list[k].kind).join(', '), [from, to] = titles(s), line = (side, name, look) => named({ name: `${side} ${label}`, label: `${name}: ${label}`, target: null, ...look });
  const tuned = line('tuned', from, { ...TUNED, colour: `var(--solid-${i % 8})` }), other = line('other', to, { ...OTHER, colour: i < 3 ? `var(--dashed-${i})` : `var(--solid-${i % 8})`, target: tuned });
  return { label, first: some[0], tuned, other };
}

/** The other run, once its pair is known; then everything that shows both. */
function answered() {
  const { pair, made, question } = now;
  if (pair && !now.others) {
    const schedule = formulas.schedule(pair.rate, question.steps, question.warmup, pair.final, question.shape);
    now.others = made.kinds.map(kind => curves(kind.to, made.to, schedule));
  }
  put(element('answer'), answer());
  element('content').classList.toggle('empty', Boolean(now.refused) && !drawn.made);
  element('answer').classList.toggle('waiting', !now.refused && !pair);
  put(element('brief'), html`${now.refused ?? `${titles(question)[1]}: ${pair ? `${written(pair.rate)}, final ratio ${ratio4(pair.final)}` : '…'}`}`);
  if (pair || (!now.refused && !drawn.made)) draw(); // else the last picture stays
}

function draw() {
  drawn = now;
  legend();
  put(element('table'), table());
  figures.forEach(figure => figure.render());
}

// What the figures are drawn with, where a report has its runs.
const model = { hidden: new Set() }, paint = () => {};
const follows = run => run.target;
const shownGroups = () => (drawn.groups ?? []).filter(({ label }) => !state.hide.split('|').includes(label));
const ordered = () => shownGroups().flatMap(({ tuned, other }) => [{ lead: tuned }, { lead: other }]);

/** The steps that are drawn: all, or of long runs some thousands and the last. */
const stepsOf = ({ nominal: { length } }) => [...new Set([...d3.range(0, length, Math.ceil(length / 4000)), length - 1])];
const series = (run, values, part, scale = 1) => {
  const x = stepsOf(values);
  return { run, x, y: x.map(t => values[part][t] / scale) };
};
const both = (part, scale = () => 1) => shownGroups().flatMap(({ first, tuned, other }) => [[tuned, drawn.runs[first]], [other, drawn.others?.[first]]].filter(([, values]) => values).map(([run, values]) => series(run, values, part, scale(values))));

/** Where the tuned run would settle if each step's rate stayed, of the first matrices shown: what its curve runs after. */
function atRest(part, index, scale = () => 1) {
  const { resting, made, runs, question } = drawn, shown = shownGroups()[0];
  if (!resting || !shown) return [];
  const values = runs[shown.first], [low, high] = d3.extent(values[part]), x = stepsOf(values);
  const near = t => values.nominal[t] > 0 && (v => (v > 0.6 * low && v < 1.5 * high ? v / scale(values) : null))(formulas.rest(made.kinds[shown.first].from, values.nominal[t], question.decay)[index]);
  return [{ run: named({ name: 'rest', label: `at rest: ${shown.label}`, ...REST }), x, y: x.map(t => near(t) || null) }];
}

const restMark = () => (drawn.toRest && drawn.toRest < drawn.question.steps ? [{ at: drawn.toRest, text: 'at rest, at the peak rate' }] : []);
function nominals() {
  const shown = shownGroups()[0], { question, runs, others } = drawn, plain = { colour: 'var(--ink)', target: null };
  const cell = (run, i, name, values) => ({ key: run.name, label: isBall(name) ? 'angle' : 'rate', caption: titles(question)[i], series: [series(named({ ...run, ...plain, label: titles(question)[i] }), values, 'nominal')] });
  return shown ? [cell(shown.tuned, 0, question.optimizer, runs[shown.first]), ...(others ? [cell(shown.other, 1, question.to, others[shown.first])] : [])] : [];
}
const first = ({ norm }) => norm[0];
const host = () => element('figures').appendChild(document.createElement('div'));
const figures = [
  new Chart(host(), { title: 'Effective rate', file: 'effective-rate', height: 250, about: 'The angle, in radians, by which a step turns a matrix.', note: 'The angle of each step. Dashes lie on the band where one pair of numbers serves.', cells: () => [{ key: 'effective', label: 'effective rate (radians)', series: [...both('effective'), ...atRest('effective', 1)], marks: restMark() }] }),
  new Chart(host(), { title: 'Norm', file: 'norm', height: 250, about: '|w| over its value at the start.', note: '|w| over its value at the start; a Hyperball keeps it.', cells: () => [{ key: 'norm', label: 'norm / norm at the start', series: [...both('norm', first), ...atRest('norm', 0, first)], marks: restMark() }] }),
  new Chart(host(), { title: 'Nominal rate', file: 'nominal-rate', height: 113, about: 'What the optimizer multiplies its direction by.', note: 'What each optimizer is told.', cells: nominals }),
  new Chart(host(), { title: 'Implied decay', file: 'implied-decay', height: 250, about: '(1 − keep) / effective rate: what shrinks the matrix, per radian.', note: 'What shrinks the matrix, per radian: decay in one space, the way back to the norm in the other.', cells: () => [{ key: 'decay', label: 'implied decay', series: both('decay') }] }),
];

function legend() {
  const { groups, question, resting } = drawn, hidden = state.hide.split('|'), sample = (look, text) => html`<span class="bar-legend">${swatch(look)}${text}</span>`;
  put(element('legend'), html`${groups.map(({ label, tuned }) => html`<button type="button" class="key" data-label="${label}" aria-pressed="${!hidden.includes(label)}">${swatch(tuned)}${label}</button>`)}
    <span class="styles">${titles(question).map((title, i) => sample([TUNED, OTHER][i], title))}${resting ? sample(REST, 'at rest, if a step’s rate stayed') : ''}</span>`);
}

/** A rate as it is written into a file: four digits. */
const written = v => Number(v.toPrecision(4));
const ratio4 = v => Number(v.toFixed(4));
const percent = v => `${d3.format(v < 0.1 ? '.1f' : '.0f')(100 * v)} %`;

/** The other side, as the lines to copy have it. */
function otherSide() {
  const { question: q, pair } = now;
  return { ...q, optimizer: q.to, decay: q.toDecay, factor: isBall(q.to) ? 'none' : q.toFactor, rate: written(pair.rate), final: ratio4(pair.final), network: q.network === 'own' ? '' : q.network, width: q.toWidth };
}

function answer() {
  if (now.refused) return html`<h2>No answer yet</h2><p class="refused">${now.refused}</p>`;
  const { question: q, pair, toRest, resting } = now, [tuned, name] = titles(q), directions = [...new Set([q.optimizer, q.to].map(isAdam))];
  const errors = directions.map(adam => ({ adam, found: formulas.measured(adam, q.norm, q.width, q.steps) })), worst = d3.greatest(errors, ({ found }) => found[0]), [own, , width, steps, distance] = worst.found;
  const notes = [];
  if (tuned === name) notes.push(['', 'Both sides are the same: change the optimizer, the decay, the shape factor or the width.']);
  if (directions.length > 1) notes.push(['warn', 'Another direction at the same effective rates: a place to start a search, not a tuned rate.']);
  if (q.optimizer === 'muon' && q.to === 'muonh') notes.push(['', 'Checked by training: over 5,723 steps at 50M, carried rates ended 0.002 below to 0.004 above those of a grid (docs/RESULTS.md).']);
  if (resting) notes.push(['', `${OPTIMIZERS[q.optimizer]} at its peak rate is at rest within 5 % after ${whole(toRest)} steps${toRest > q.steps ? `, more than this run’s ${whole(q.steps)}` : ''}; there a step turns ${q.list[0].kind} by ${show(resting[0][1])}.`]);
  if (!pair) notes.push(['', `Searching, over ${whole(q.steps)} steps …`]);
  const value = (term, number, more, exact) => html`<div><dt>${term}</dt><dd data-value="${exact}">${number}<small>${more}</small></dd></div>`;
  const side = pair && otherSide();
  return html`<h2>${name}${name.includes(',') ? ',' : ''} needs</h2>
    <dl>${value(isBall(q.to) ? 'peak angle (radians)' : 'peak rate', side ? side.rate : '…', `where ${tuned} has ${q.rate}`, pair?.rate)}${value('final ratio', side ? side.final : '…', `where ${tuned} has ${q.final}`, pair?.final)}
    ${value('error of one pair', pair ? percent(pair.error) : '…', 'of the effective rates, rms', pair?.error)}${value('error of the prediction', percent(own), `measured: ${worst.adam ? 'AdamW' : 'Muon'}, width ${width}, ${whole(steps)} steps${distance > 2 ? '; no run like this one was measured, so expect more' : ''}`)}</dl>
    ${notes.map(([kind, text]) => html`<p class="note ${kind}">${text}</p>`)}
    ${side ? html`<div class="copies">${copy('PyTorch', 'python', pythonLines(side))}${copy('Configuration of ht train', 'yaml', yamlLines(side))}</div>` : ''}`;
}

const copy = (title, id, text) => html`<div class="copy"><div>${title}<button type="button" data-copy="${id}">Copy</button></div><pre id="${id}" tabindex="0">${text}</pre></div>`;

function table() {
  const { question: q, runs, resting, each } = drawn, name = OPTIMIZERS[q.to];
  const cell = (v, format = show) => html`<td class="number" data-value="${v}">${v === undefined ? '–' : format(v)}</td>`;
  const heads = ['Shape', 'Norm at the start', 'At the end', 'Peak effective rate', 'At step', 'End over peak', 'Norm at rest', 'Effective at rest', `${name} on its own: rate`, 'Final ratio', 'Error'];
  return html`<thead><tr><th scope="col">Kind</th>${heads.map(head => html`<th scope="col" class="number">${head}</th>`)}</tr></thead><tbody>${q.list.map(({ kind, rows, cols, count }, i) => {
    const { norm, summary: [peak, step, ratio] } = runs[i];
    return html`<tr><th scope="row">${kind}<small>${count} ${count === 1 ? 'matrix' : 'matrices'}</small></th><td class="number">${rows} × ${cols}</td>${cell(norm[0])}${cell(norm[norm.length - 1])}${cell(peak)}${cell(step, whole)}${cell(ratio)}${cell(resting?.[i][0])}${cell(resting?.[i][1])}${cell(each?.[i].rate)}${cell(each?.[i].final, ratio4)}${cell(each?.[i].error, percent)}</tr>`;
  })}</tbody>`;
}

/** A slider's place of a value, and back. */
function slide({ slider: [lo, hi], zero, whole: integer }, place) {
  if (zero && place <= 0) return 0;
  const v = lo > 0 ? lo * (hi / lo) ** place : lo + (hi - lo) * place;
  return integer ? Math.round(Number(v.toPrecision(3))) : Number(lo > 0 ? v.toPrecision(3) : v.toFixed(3));
}
const placeOf = ({ slider: [lo, hi] }, v) => (lo > 0 ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo));

/** A number of an entry, or a sentence that says what it must be. */
function checked(key, text) {
  const { label, above, below, least = 0, most = Infinity, whole: integer, empty } = ENTRIES[key];
  if (empty && !text.trim()) return '';
  const v = numberOf(label.toLowerCase(), text.trim());
  const fine = v >= least && v <= most && !(above && v === 0) && !(v >= below) && !(integer && !Number.isInteger(v));
  if (!fine) throw new Error(`${label.toLowerCase()} is ${text.trim()}; it must be ${integer ? 'a whole number ' : ''}${above ? `above 0 and at most ${whole(most)}` : below ? `from ${least} to less than ${below}` : `from ${least} to ${whole(most)}`}`);
  return v;
}

/** Takes settings; the other side goes along with what was the same on both. */
function take(changes) {
  const all = { ...(changes.network && changes.network !== state.network ? brought(changes.network) : {}), ...changes };
  for (const [key, other] of [['decay', 'toDecay'], ['factor', 'toFactor']]) if (key in all && !(other in all) && state[other] === state[key]) all[other] = all[key];
  for (const key of Object.keys(all)) delete wrong[key];
  Object.assign(state, all);
  if ('matrices' in changes && !('network' in changes)) state.network = known.find(one => one.matrices === state.matrices)?.name ?? 'own';
}

/** One entry's value as it was typed, chosen or slid. */
function set(key, text) {
  try {
    take({ [key]: ENTRIES[key].slider ? checked(key, text) : text });
  } catch (e) {
    wrong[key] = e.message;
    state[key] = text;
  }
}

function entry(key) {
  const { label, choice, slider, rows } = ENTRIES[key];
  const box = choice ? html`<select id="${key}">${choice.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select>` : rows ? html`<textarea id="${key}" rows="${rows}" spellcheck="false"></textarea>` : html`<input id="${key}" type="text" ${slider ? html`inputmode="decimal"` : ''} aria-describedby="${key}-said">`;
  return html`<div class="entry" data-entry="${key}"><label for="${key}">${label}</label><div class="${slider ? '' : 'whole'}">${slider ? html`<input type="range" min="0" max="1000" id="${key}-slider" aria-label="${label}">` : ''}${box}</div><p class="said bad" id="${key}-said" role="alert"></p></div>`;
}

/** The form shows what was chosen, except where somebody is typing. */
function entries() {
  for (const [key, one] of Object.entries(ENTRIES)) {
    const box = element(key), slider = element(key + '-slider'), value = String(state[key]);
    if (box !== document.activeElement || one.choice) box.value = value;
    if (slider && slider !== document.activeElement) slider.value = Math.round(1000 * Math.max(0, Math.min(1, placeOf(one, Number(state[key] || (key === 'toWidth' && now.question ? now.question.width : 0)))))) || 0;
    box.closest('.entry').hidden = one.shown ? !one.shown(state) : false;
    if (one.text && !wrong.matrices) box.closest('.entry').querySelector('label').textContent = one.text(state);
    element(key + '-said').textContent = wrong[key] ?? '';
    box.setAttribute('aria-invalid', String(Boolean(wrong[key])));
  }
  document.querySelectorAll('[data-schedule]').forEach(chip => chip.setAttribute('aria-pressed', String(Object.entries(SCHEDULES[chip.dataset.schedule]).every(([key, value]) => state[key] === value))));
  const line = element('line'), said = element('line-said');
  if (line !== document.activeElement && !wrong.line && !now.refused) line.value = pythonLine(state);
  said.textContent = wrong.line ?? `Read as ${OPTIMIZERS[state.optimizer]}: ${isBall(state.optimizer) ? 'angle' : 'rate'} ${state.rate}${isBall(state.optimizer) ? '' : `, decay ${state.decay}`}, ${isAdam(state.optimizer) ? `beta ${state.beta1}` : `momentum ${state.momentum}`}${state.optimizer === 'muon' ? `, shape factor ${state.factor}` : ''}`;
  said.classList.toggle('bad', Boolean(wrong.line));
  line.setAttribute('aria-invalid', String(Boolean(wrong.line)));
}

/** Writes what was chosen into the address: who opens the link sees the same. Only what differs from the start is kept. */
function keep() {
  state.log = figures.filter(figure => figure.log).map(figure => figure.spec.file).join(' ');
  const plain = { ...START, ...brought(state.network), network: START.network };
  const text = new URLSearchParams(Object.entries(state).filter(([key, value]) => value !== plain[key] && !wrong[key])).toString();
  if (text ? '#' + text !== location.hash : location.hash.includes('=')) history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
}

/** Takes what the address keeps; what cannot be read there is refused as if it were typed. */
function restore() {
  const kept = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
  state = { ...START, ...brought(kept.get('network')) };
  wrong = {};
  for (const [key, value] of kept) {
    const { choice, slider } = ENTRIES[key] ?? {};
    if (!(key in START) || (choice && !choice.some(([name]) => name === value))) continue;
    try {
      state[key] = slider ? checked(key, value) : value;
    } catch (e) {
      [state[key], wrong[key]] = [value, e.message];
    }
  }
  for (const figure of figures) figure.host.querySelector('.log').checked = figure.log = state.log.split(' ').includes(figure.spec.file);
}

function start() {
  for (const at of ['tuned', 'run', 'other']) put(element(at), html`${Object.keys(ENTRIES).filter(key => ENTRIES[key].at === at).map(key => html`${key === 'shape' ? html`<div class="chips" role="group" aria-label="Schedules">${Object.keys(SCHEDULES).map(name => html`<button type="button" data-schedule="${name}">${name}</button>`)}</div>` : ''}${entry(key)}`)}`);
  themed();
  const form = element('controls');
  form.addEventListener('submit', event => event.preventDefault());
  form.addEventListener('input', ({ target }) => {
    const key = target.id.replace(/-slider$/, '');
    if (key === 'line') {
      delete wrong.line;
      try {
        take(readLine(target.value));
      } catch (e) {
        wrong.line = e.message;
      }
    } else {
      delete wrong.line;
      set(key, target.type === 'range' ? String(slide(ENTRIES[key], target.value / 1000)) : target.value);
    }
    redraw();
  });
  document.addEventListener('click', async ({ target }) => {
    const { schedule, copy } = target.dataset, label = target.closest('.key')?.dataset.label;
    if (schedule) take(SCHEDULES[schedule]);
    if (label) {
      const hidden = new Set(state.hide.split('|').filter(Boolean));
      if (!hidden.delete(label)) hidden.add(label);
      state.hide = [...hidden].join('|');
    }
    if (schedule || label) redraw();
    if (!copy) return;
    getSelection().selectAllChildren(element(copy)); // whoever cannot be given the clipboard has it selected
    await navigator.clipboard?.writeText(element(copy).textContent).catch(() => {});
    target.textContent = 'Copied';
    setTimeout(() => (target.textContent = 'Copy'), 1500);
  });
  addEventListener('hashchange', () => {
    restore();
    redraw();
  });
  let width = innerWidth;
  addEventListener('resize', () => {
    if (width !== innerWidth && innerWidth > 200 && drawn.made) figures.forEach(figure => figure.render());
    width = innerWidth;
  });
  restore();
  redraw();
}

start();
