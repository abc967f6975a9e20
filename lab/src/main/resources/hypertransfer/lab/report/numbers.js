// Numbers as text, axis ticks, and which points of a long series are worth drawing.

const finite = Number.isFinite;
const last = array => array[array.length - 1];
const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };
const power = e => '10' + [...String(e)].map(c => SUPERSCRIPT[c]).join('');
const whole = v => (finite(v) ? d3.format(',.0f')(v) : '–');

function scientific(v, digits) {
  const [mantissa, exponent] = d3.format(`.${digits - 1}e`)(v).split('e');
  return mantissa + '×' + power(Number(exponent));
}

/** A value for people: five digits, or a power of ten where those would be zeros. */
function show(v) {
  if (!finite(v)) return '–';
  const size = Math.abs(v);
  if (size === 0) return '0';
  if (size >= 1e7 || size < 1e-3) return scientific(v, 3);
  return size >= 1000 ? whole(v) : d3.format(size >= 1 ? '.4f' : '.4')(v);
}

/** A difference of losses: as many places for a large one as for a small one, so that a column of them can be compared. */
const gap = v => (finite(v) && Math.abs(v) >= 1e-5 ? d3.format('.5f')(v) : show(v));
const signed = v => (finite(v) && v > 0 ? '+' : '') + gap(v);
/** A relative error: a plain ratio, since a percentage with a power of ten is hard to read. */
const ratio = v => (!finite(v) ? '–' : v === 0 ? '0' : scientific(v, 2));

/** A setting as people write it: 0.0151, not 0.015063129. */
const plain = v => (finite(Number(v)) && v !== '' ? String(Number(Number(v).toPrecision(4))) : v ?? '–');

/** One way of writing for all of these values: fixed places where two digits of the smallest fit into five, else powers of ten. */
function notation(values) {
  const smallest = d3.min(values, v => (v > 0 ? v : undefined)) ?? 1;
  const places = Math.max(2, 1 - Math.floor(Math.log10(smallest)));
  return places <= 5 ? d3.format(`.${places}f`) : v => (v === 0 ? '0' : d3.format('.1e')(v));
}

/** An axis' ticks as text. One power of ten for the whole axis reads better than one for each tick. */
function axisTicks(scale, count, log) {
  const [lo, hi] = scale.domain();
  if (log && hi / lo > 5) {
    const label = scale.tickFormat(count, v => (v >= 1e-2 && v < 1e6 ? d3.format(',~r')(v) : d3.format('.0e')(v).replace(/^1e/, 'e').replace(/(.*)e(.*)/, (_, m, e) => (m ? m + '×' : '') + power(Number(e)))));
    return { at: scale.ticks(count).map(v => ({ v, text: label(v) })).filter(t => t.text), factor: '' };
  }
  const at = d3.ticks(lo, hi, count);
  const largest = Math.max(Math.abs(lo), Math.abs(hi));
  const exponent = largest < 1e-2 || largest >= 1e7 ? Math.floor(Math.log10(largest)) : 0;
  const unit = 10 ** exponent, format = d3.tickFormat(lo / unit, hi / unit, count, largest >= 1e4 && !exponent ? 's' : undefined);
  return { at: at.map(v => ({ v, text: v === 0 && largest >= 1e4 ? '0' : format(v / unit) })), factor: exponent ? '×' + power(exponent) : '' };
}

/**
 * Indices to draw between x = lo and hi on so many pixels: a pixel keeps its first, smallest, largest and last point,
 * so that no spike is lost. One point beyond each edge lets the line run out of the picture.
 */
function thin(xs, ys, lo, hi, pixels) {
  const from = Math.max(0, d3.bisectLeft(xs, lo) - 1), to = Math.min(xs.length, d3.bisectRight(xs, hi) + 1);
  if (to - from <= 3 * pixels) return d3.range(from, to);
  const out = [], bucket = i => Math.floor(((xs[i] - lo) / (hi - lo)) * pixels);
  for (let i = from; i < to;) {
    const here = bucket(i);
    let min = i, max = i, j = i;
    for (; j < to && bucket(j) === here; j++) {
      if (!(ys[j] >= ys[min])) min = j;
      if (!(ys[j] <= ys[max])) max = j;
    }
    out.push(...new Set([i, min, max, j - 1].sort((a, b) => a - b)));
    i = j;
  }
  return out;
}

/** The value at x of the line through the points, where it has one. */
function between(xs, ys, x) {
  const i = d3.bisectLeft(xs, x);
  if (xs[i] === x) return ys[i];
  if (i === 0 || i === xs.length || !finite(ys[i - 1]) || !finite(ys[i])) return undefined;
  return ys[i - 1] + ((ys[i] - ys[i - 1]) * (x - xs[i - 1])) / (xs[i] - xs[i - 1]);
}

/** A running mean whose memory fades over so much of x, whatever the distance of the points. */
function smoothed(xs, ys, memory) {
  let sum = 0, weight = 0, before = xs[0];
  return ys.map((y, i) => {
    const fade = Math.exp((before - xs[i]) / memory);
    before = xs[i];
    sum *= fade;
    weight *= fade;
    if (finite(y)) {
      sum += y;
      weight += 1;
    }
    return finite(y) ? sum / weight : y;
  });
}
