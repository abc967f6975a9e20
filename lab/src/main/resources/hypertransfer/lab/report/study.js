// What the runs on show are together: seeds of one configuration, a sweep, an experiment under several schedules.

/** What may differ between the seeds of one configuration, and what is no axis of a sweep. */
const OWN = new Set(['seed', 'target', 'engine', 'from.run']), PLANNED = new Set(['steps', 'preset']);
const optimizer = run => [run.direction, run.mode].filter(Boolean).join(' · ');
const numeric = value => value !== undefined && value !== '' && finite(Number(value));
const anySeed = text => text.replace(/(^|\/)seed-\d+(?=\/)/, '$1seed');
const configured = (run, key) => (key === 'matrices.final_ratio' && model.ratios.has(run.config[key]) ? 'measured' : run.config[key]);
const seedless = run => Object.entries(run.config).filter(([key]) => !OWN.has(key)).map(([key, value]) => key + '=' + (key === 'matrices.recorded' ? anySeed(value) : configured(run, key) === 'measured' ? anySeed(run.name) : value)).join(';') + (follows(run)?.mode ?? '');

/** Looks at the runs once for each drawing; gives every run its side and the name that it is shown by. */
function study() {
  const all = runs(), free = all.filter(run => !follows(run)), values = (key, among) => [...new Set(among.map(run => configured(run, key)))];
  // A final ratio that differs between the seeds of one place was measured for each of them.
  const ratios = d3.groups(all, run => anySeed(run.name)).map(([, same]) => [...new Set(same.map(run => run.config['matrices.final_ratio']))]);
  model.ratios = new Set(ratios.filter(({ length }) => length > 1).flat());
  const varying = [...new Set(free.flatMap(run => Object.keys(run.config)))].filter(key => !OWN.has(key) && !PLANNED.has(key) && values(key, free).length > 1);
  // Settings in words, the optimizer's mode above all, are no axes: each of their combinations is a sweep of its own, or none.
  const words = varying.filter(key => !values(key, free).every(numeric)), numbers = varying.filter(key => !words.includes(key));
  if (values('steps', free).length > 1) words.push('steps'); // losses of different lengths are not compared
  const groups = d3.groups(free, run => words.map(key => configured(run, key)).join('\n')).map(([, same]) => ({ runs: same, label: facetName(same[0], words) }));
  const grids = least => groups.filter(({ runs }) => new Set(runs.map(seedless)).size > least && numbers.some(key => values(key, runs).length > Math.min(least, 2)));
  const facets = grids(3).length ? grids(1) : []; // beside a sweep, two points are one too
  const points = facets.flatMap(facet => facet.runs);
  const settings = numbers.filter(key => facets.some(facet => values(key, facet.runs).length > 1))
    .map(key => ({ key, values: values(key, points).map(Number).sort(d3.ascending), effect: effect(key, points) }))
    .sort((a, b) => b.effect - a.effect || b.values.length - a.values.length);
  // A setting that rises or falls with another in every sweep, as AdamW's rate may with the matrices', is no axis beside it.
  const fixes = (a, b) => facets.every(({ runs }) => {
    const at = d3.sort(runs.map(({ config }) => [Number(config[a.key]), Number(config[b.key])]), pair => pair[0]);
    return [1, -1].some(sign => d3.pairs(at).every(([p, q]) => (p[0] === q[0] ? p[1] === q[1] : sign * (q[1] - p[1]) >= 0)));
  });
  const leader = (axis, i) => settings.find((other, j) => other !== axis && fixes(other, axis) && (j < i || !fixes(axis, other)));
  const axes = settings.filter((axis, i) => !leader(axis, i)).slice(0, 3), along = settings.map((axis, i) => [axis.key, leader(axis, i)?.key]).filter(pair => pair[1]);
  const sides = sidesOf(all);
  model.study = { seeds: sides.length < all.length, facets, axes, along, sides, rows: model.standings ? standingRows() : facets.length ? [] : schedules(free, varying) };
  for (const side of sides) {
    for (const run of side.runs) run.side = side;
    side.name = sideName(side.runs);
  }
  for (const side of sides) {
    const taken = sides.some(other => other !== side && other.name === side.name), facet = facets.find(f => f.runs.includes(side.lead));
    const point = facet && [...(facets.length > 1 ? [facet.label] : []), ...axes.map(({ key }) => short(key) + '=' + plain(side.lead.config[key]))].join(', ');
    const name = point?.length <= 40 ? point : taken ? side.lead.name : side.name; // more would not fit beside a line
    const alike = facet && sides.some(other => other !== side && facet.runs.includes(other.lead) && axes.every(({ key }) => other.lead.config[key] === side.lead.config[key]));
    side.brief = alike ? side.lead.name : name;
    side.label = side.brief + (side.runs.length > 1 ? ` (${side.runs.length} seeds)` : '');
    for (const run of side.runs) run.label = side.label;
  }
}

const swept = () => model.study.axes;
const sides = () => model.study.sides;
const finished = side => side.runs.every(run => run.state.state === 'finished');
const leads = () => sides().filter(side => !follows(side.lead));
const facetName = (run, words) => words.filter(key => run.config[key] !== 'null').map(key => (/\.(direction|mode)$/.test(key) ? '' : key.replace(/^.*\./, '') + '=') + configured(run, key)).join(', ');

/** How far the losses of a setting's values lie apart: what matters comes first. */
function effect(key, points) {
  const middles = d3.rollups(points, same => d3.median(same, lastLoss), run => run.config[key]).map(([, middle]) => middle);
  return (d3.max(middles) ?? 0) - (d3.min(middles) ?? 0);
}

/** The last validation loss; none of a run that failed. */
const lastLoss = run => (run.state.state !== 'failed' && finite(summary(run).validation) ? summary(run).validation : null);

/** Runs that differ in their seed and in nothing else are one side; a seed that is there twice is another one. */
function mergeSeeds(all) {
  const found = new Map();
  for (const run of all) {
    const key = seedless(run), same = found.get(key) ?? [];
    const side = same.find(({ runs }) => runs.every(other => other.config.seed !== run.config.seed));
    if (side) side.runs.push(run);
    else found.set(key, [...same, { lead: run, runs: [run] }]);
  }
  return [...found.values()].flat();
}

/** Seeds are taken together unless somebody wants them apart, or there is nothing else to compare. */
function sidesOf(all) {
  return view.seeds ?? mergeSeeds(ofNetwork()).length > 1 ? mergeSeeds(all) : all.map(run => ({ lead: run, runs: [run] }));
}

/** What the names of some runs have in common, without the number of a seed. */
function sideName(same) {
  const [first, ...others] = same.map(run => run.name);
  if (!others.length) return first;
  const count = at => d3.range(first.length).find(i => others.some(name => at(name, i) !== at(first, i))) ?? first.length;
  const start = count((name, i) => name[i]), end = Math.min(count((name, i) => name[name.length - 1 - i]), first.length - start);
  const before = first.slice(0, start).replace(/\d+$/, '').replace(/(^|[-_./ ])s(eed)?[-_=]?$/i, '').replace(/[-_./ ]+$/, '');
  const after = first.slice(first.length - end).replace(/^\d+/, '').replace(/^[-_./ ]+/, '');
  return [before, after].filter(Boolean).join('/') || optimizer(same[0]);
}

/** Several optimizers under several schedules: rows of a grid, as in the paper. */
function schedules(free, varying) {
  const keys = ['matrices.schedule', 'matrices.final_ratio', 'matrices.warmup'].filter(key => varying.includes(key));
  const end = ratio => (Number(ratio) === 0 ? 'zero' : plain(ratio) + ' of the peak');
  const name = run => keys.map(key => (key.endsWith('final_ratio') ? 'to ' + end(run.config[key]) : key.endsWith('warmup') ? 'warm-up ' + plain(run.config[key]) : run.config[key])).join(', ');
  const rows = d3.groups(free, name).map(([label, runs]) => ({ label, runs })).filter(row => new Set(row.runs.map(optimizer)).size > 1); // a schedule of one optimizer's own is no row
  return keys.length && rows.length > 1 ? d3.sort(rows, ({ runs: [run] }) => Number(run.config['matrices.final_ratio'])) : [];
}

/** The sides in the order of legends: a sweep's by what it went through, which the names' alphabet does not know. */
const ordered = () => (swept().length ? d3.sort(sides(), side => model.study.facets.findIndex(facet => facet.runs.includes(side.lead)), ...swept().map(({ key }) => side => Number(side.lead.config[key]))) : sides());

/** The same in the order of the table: the lowest loss first, unless runs follow others. */
const ranked = () => (runs().some(follows) ? ordered() : d3.sort(ordered(), side => valueOf(side, 'validation') ?? Infinity));

/** A number of a side: the mean over its seeds, or of an error the largest. */
const valueOf = (side, key) => (/largest|Largest|Error/.test(key) ? d3.max : d3.mean)(side.runs, run => summary(run)[key]);

/** The mean of some values, and half of its 95 % interval by Student's t where there are several. */
function interval(values) {
  const n = values.length;
  return { n, mean: d3.mean(values), half: n > 1 ? ((data.student[n - 2] ?? last(data.student)) * d3.deviation(values)) / Math.sqrt(n) : undefined };
}

/** The run of a side that has this run's seed, else its first. */
const partner = (run, side) => side.runs.find(other => other.config.seed === run.config.seed) ?? side.lead;

/** The runs of two sides that have a seed in common, as 'ht compare' takes them. */
const common = (side, other) => side.runs.map(run => [run, partner(run, other)]).filter(([a, b]) => a.config.seed === b.config.seed && finite(summary(a).validation - summary(b).validation));

/** Sides with the seeds that all of them have; as they are where there is no such seed. */
function alike(among) {
  const kept = among.map(side => side.runs.filter(run => among.every(other => partner(run, other).config.seed === run.config.seed)));
  return among.map((side, i) => (kept[i].length ? { ...side, lead: kept[i][0], runs: kept[i] } : side));
}

/** One side's last validation loss minus another's, seed by seed where they have common ones. */
function apart(side, other) {
  const pairs = common(side, other);
  return pairs.length ? interval(pairs.map(([a, b]) => summary(a).validation - summary(b).validation)) : { n: 0, mean: valueOf(side, 'validation') - valueOf(other, 'validation') };
}

/** The sides that end with no higher loss, as it is shown, than any other at their common seeds; none where one has no common seed. */
function lowest(among) {
  const level = (side, other) => {
    const [own, others] = [0, 1].map(i => d3.mean(common(side, other), pair => summary(pair[i]).validation));
    return own <= others || (finite(own) && show(own) === show(others));
  };
  return among.filter(side => among.every(other => level(side, other)));
}

/** The lowest of those that took all their steps. */
function best() {
  const done = sides().filter(side => finished(side) && side.runs.every(run => finite(summary(run).validation)));
  return done.length > 1 ? lowest(done) : [];
}

/** One line for each side that is shown: of several seeds their mean, between the lowest and the highest. */
function lines(get, among = visible()) {
  return d3.groups(among, run => run.side).map(([, same]) => together(same.map(run => ({ run, ...get(run) })))).filter(Boolean);
}

/** At the steps that all have a value for. */
function together([first, ...others]) {
  if (!others.length || !first.x) return first;
  const known = others.map(({ steps, x, y }) => new Map(steps.map((step, i) => [step, [x[i], y[i]]])));
  const at = d3.range(first.steps.length).filter(i => known.every(map => map.has(first.steps[i])));
  const all = at.map(i => [[first.x[i], first.y[i]], ...known.map(map => map.get(first.steps[i]))]), over = (how, k) => all.map(points => how(points.filter(p => finite(p[k])), p => p[k]) ?? null);
  return { run: first.run, steps: at.map(i => first.steps[i]), x: over(d3.mean, 0), y: over(d3.mean, 1), low: over(d3.min, 1), high: over(d3.max, 1) };
}
