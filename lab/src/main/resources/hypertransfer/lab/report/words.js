// The page's own words: its title, what it found, what speaks against it, and what its terms mean.

const rate = v => (!finite(v) ? '–' : v > 0 && v < 1e-3 ? scientific(v, 3) : d3.format('.3r')(v));
const signedEnds = ({ mean, half }) => `${signed(mean - half)} to ${signed(mean + half)}`;

/** What the page is called where nobody gave it a title. */
function title() {
  const shown = sides(), pairs = shown.filter(side => follows(side.lead)), axes = swept(), names = among => among.map(side => side.label).join(', ');
  const { facets } = model.study, many = facets.length > 2;
  if (axes.length) return (many ? facets.length + ' sweeps of ' : 'Sweep of ') + axes.map(axis => short(axis.key)).join(' and ') + (facets.length > 1 && !many ? ', ' + facets.map(facet => facet.label).join(' and ') : '');
  if (pairs.length === 1 && shown.length === 2) return `${pairs[0].label} follows ${follows(pairs[0].lead).label}`;
  if (leads().length === 2 && pairs.length > 1) return leads().map(side => side.label).join(' and ') + ', and the runs that follow them';
  return !shown.length ? 'HyperTransfer' : shown.length <= 4 ? names(shown) : `${shown.length} ${model.study.seeds ? 'configurations' : 'runs'} of ${shown[0].lead.network}`;
}

/** What a sweep found. */
function found({ runs, label }) {
  const axes = swept(), all = sweepPoints().filter(p => runs.includes(p.run)), points = all.filter(p => p.loss !== null), lowest = bestPoint(points);
  const name = model.study.facets.length > 1 ? label + ': ' : '';
  if (!lowest) return name + (points.length ? 'Which point is best cannot be told: they have no seeds in common.' : 'No run has a finite loss yet.');
  const worst = d3.max(points, p => apart(p.run.side, lowest.run.side).mean), failed = all.length - points.length;
  return `${name}${setting(axes, lowest)} is the best of ${points.length} points, with a last validation loss of ${show(lowest.loss)}${atSeeds(points)}; the worst ends ${gap(worst)} above it${failed ? `, and ${failed} without a loss` : ''}.`
    + (edge(axes, lowest).length ? ' The best lies on the edge of the grid.' : '') + ` Its effective rate: ${turning(lowest.run.side)}.`;
}

/** How fast a side turns its matrices. */
const turning = side => `peak ${rate(valueOf(side, 'peak'))}, mean ${rate(valueOf(side, 'mean'))}, final-to-peak ${rate(valueOf(side, 'finalToPeak'))}`;

/** What the page shows: how far the optimizers are from each other, how near each transfer is to its target, and the effective rates. */
function claim() {
  const { facets, rows, along } = model.study;
  const lone = facets.length ? best().filter(({ lead }) => !follows(lead) && !facets.some(facet => facet.runs.includes(lead))) : [];
  if (facets.length) return [...facets.map(found), ...lone.map(side => `${side.label}, which is no point of a sweep, has the lowest loss of all, ${show(valueOf(side, 'validation'))}.`), ...along.map(([key, leader]) => `Where ${key} changes, it changes with ${leader}.`)].join('\n');
  const texts = rows.length ? rows.map(row => (row.title ? row.title[0].toUpperCase() + row.title.slice(1) : 'Schedule ' + row.label) + ': ' + says(sides().filter(side => row.runs.includes(follows(side.lead) ?? side.lead)))) : [says(sides()).replace(/^each /, 'Each ')];
  return [...texts.filter(Boolean).map(text => text + '.'), rates()].filter(Boolean).join(rows.length ? '\n' : ' ');
}

function says(among) {
  const measured = among.filter(side => side.runs.some(run => finite(summary(run).validation))), done = measured.filter(finished);
  const all = d3.sort(done.length ? done : measured, side => valueOf(side, 'validation'));
  const leading = all.filter(side => !follows(side.lead)), best = lowest(leading), tops = d3.sort(leading, side => !best.includes(side)), pairs = all.filter(side => finite(valueOf(side, 'largest')) && !placebo(side.lead));
  const far = tops.length > 1 ? valueOf(last(leading), 'validation') - valueOf(leading[0], 'validation') : undefined;
  const near = pairs.length ? d3.max(pairs, side => valueOf(side, 'largest')) : undefined, parts = [];
  const lengths = d3.extent(tops, side => Number(side.lead.config.steps));
  if (tops.length > 1) parts.push(ahead(tops, far) + (lengths[0] < lengths[1] ? ` (these runs have ${lengths.map(whole).join(' to ')} steps)` : ''));
  const who = pairs.length > 1 ? 'each transfer' : pairs[0]?.label;
  if (near === 0) parts.push(`${who} has exactly its target’s loss at every validation`);
  else if (pairs.length) parts.push(`${who} is within ${gap(near)} of its target at every validation` + (far / near >= 2 ? `, ${d3.format(',.2~r')(far / near)} times closer` : ''));
  return parts.join('; ');
}

/** Who ends lowest, by how much, and whether that is more than noise. */
function ahead(tops, far) {
  const [first] = tops, other = tops.findIndex(side => valueOf(side, 'validation') !== valueOf(first, 'validation')), level = other < 0 ? tops.length - 1 : other, second = tops[level];
  const { n, mean, half } = apart(second, first);
  const test = !n ? ' (they have no seed in common)' : half === undefined ? (first.runs.length + second.runs.length > 2 ? ' at their common seed' : '') : ` (95 % interval ${signedEnds({ mean, half })}, ${n} common seeds${Math.abs(mean) > half ? '' : ': within noise'})`;
  const beside = `${gap(Math.abs(mean))} ${mean < 0 ? 'below' : 'above'}`, inOrder = d3.sort([first, second], side => sides().indexOf(side)).map(side => side.label).join(' and ');
  if (tops.length === 2) return test ? `${second.label} ends ${beside} ${first.label}${test}` : `${inOrder} end ${gap(far)} apart`;
  const own = interval(first.runs.map(run => summary(run).validation));
  const lowest = level > 1 ? tops.slice(0, level).map(side => side.label).join(' and ') + ' end' : first.label + ' ends';
  return `${lowest} lowest, at ${show(own.mean)}${own.half === undefined ? '' : ` ± ${gap(own.half)}`}; next ${second.label}, ${test && (mean < 0 || half === undefined) ? `at ${show(valueOf(second, 'validation'))} ${mean < 0 ? 'but' : 'and'} ` : ''}${beside} ${level > 1 ? 'them' : 'it'}${test}; ${model.study.seeds ? 'the means' : 'the runs'} are up to ${gap(far)} apart`;
}

const moved = () => leads().filter(side => valueOf(side, 'peak') > 0);

function rates() {
  const all = moved(), known = all.length > 3 && all.some(finished) ? all.filter(finished) : all;
  if (!known.length) return '';
  if (known.length <= 3) return 'Effective rates: ' + known.map(side => `${side.label} ${turning(side)}${finished(side) ? '' : ' so far'}`).join('; ') + '.';
  const ends = key => d3.extent(known, side => valueOf(side, key)).map(rate).join(' to ');
  return `Effective rates: peak ${ends('peak')}, mean ${ends('mean')}, final-to-peak ${ends('finalToPeak')}.`;
}

/** Speaks up where optimizers, each in its best run, turn their matrices at very different rates; of a run that is not finished they are of other steps. */
function warning() {
  const { facets, rows } = model.study, known = moved().filter(finished), groups = rows.length ? rows.map(row => known.filter(side => row.runs.includes(side.lead))) : facets.length ? [] : [known];
  const keys = new RegExp(`^(${data.task})$`), task = ({ lead: { config } }) => Object.entries(config).filter(([key]) => keys.test(key)).join(); // “ht fair” refuses others
  const folds = groups.filter(group => new Set(group.map(task)).size === 1).map(group => {
    const best = d3.rollups(alike(group), same => d3.least(same, side => valueOf(side, 'validation')), side => optimizer(side.lead)).map(([, side]) => side);
    const mean = side => valueOf(side, 'mean'), slow = d3.least(best, mean), fast = d3.greatest(best, mean);
    return { slow, fast, fold: mean(fast) / mean(slow), ends: `mean effective rate ${rate(mean(slow))} of ${slow.label}, ${rate(mean(fast))} of ${fast.label}` };
  });
  const { slow, fast, fold, ends } = d3.greatest(folds, ({ fold }) => fold) ?? {};
  if (!(fold >= data.apart) || model.standings) return ''; // which has them at one schedule, too
  return `These runs turn their matrices at rates that differ ${fold < 10 ? d3.format('.2~r')(fold) : whole(fold)}-fold (${ends}): they compare rates as well as optimizers. “ht fair ${folder(slow.lead)} ${folder(fast.lead)}” trains them at the same effective rates.`;
}

/** A path or a setting as a shell takes it. */
const word = text => (/^[\w./=:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Where a run is, the same. */
const folder = run => word(run.folder);

/** What every term on the page means: shown where a term is pointed at, and listed at the end. */
const TERMS = {
  'effective rate': 'The step’s length over the norm of what it is added to, η|u| / ((1 − ηλ)|w|): the angle, in radians, by which a step turns a matrix. Here the mean over all hidden matrices.',
  'peak rate': 'The largest effective rate of any step.',
  'mean rate': 'The mean effective rate over all steps.',
  'final-to-peak': 'The last effective rate of a matrix over its largest, the mean over all hidden matrices: what became of the schedule’s final ratio.',
  'accumulated angle': 'The sum of the effective rates of all steps so far: how far the matrices have turned.',
  'nominal rate': 'The learning rate that the optimizer multiplies its direction by; its effect depends on the norms.',
  'side': 'Runs that differ in nothing but their seed. Curves show their mean, and a band from the lowest to the highest.',
  '±': 'Half of the 95 % interval of a mean over seeds, by Student’s t. Two sides are compared seed by seed.',
  'carrier': 'The optimizer that moves the weights.',
  'target': 'The run whose trajectory a transfer reproduces with another optimizer.',
  'gap': 'The validation loss of a transfer minus its target’s, at the last common validation.',
  'largest gap': 'The largest difference to the target’s validation loss, over all common validations, without sign.',
  'largest, training': 'The largest difference to the target’s training loss, over all common steps, without sign.',
  'norm error': 'The largest relative error of the target’s norm, over all matrices and common logged steps.',
  'rate error': 'The largest relative error of the effective rate, over all matrices and common logged steps.',
  'largest angle': 'Between a matrix and its target’s, in radians, over all hidden matrices and common checkpoints.',
  'of momenta': 'The largest angle between a momentum and its target’s, in radians.',
  'placebo’s largest gap': 'Of a run that differs from the target by roundings only: a gap no larger costs nothing.',
  'implied decay': '(1 − keep) / effective rate: the weight decay that a projection onto a sphere amounts to.',
  'one step': 'One logged step of one matrix, drawn to scale: the weights before and after, in the space of the carrier and of the target.',
  'standings': 'The runs of an experiment over its seeds, as they were tuned and once more with the effective rates of others. The share is how far these rates take a run from the one whose settings it has (0 %) to the one whose rates it has (100 %); unclear if the difference between those two is within noise.',
  'sweep': 'Runs of one optimizer that differ in numbers of their configuration.',
};
const term = name => TERMS[name.toLowerCase()] ?? '';
