// Numbers as text, axis ticks, and which points of a long series are worth drawing.

const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };
const finite = v => typeof v === 'number' && Number.isFinite(v);
const minus = text => text.replace('-', '−');
const power = e => '10' + [...String(e)].map(c => SUPERSCRIPT[c]).join('');

function scientific(v, digits) {
  const [mantissa, exponent] = v.toExponential(digits - 1).split('e');
  return minus(mantissa) + '×' + power(Number(exponent));
}

/** A value for people: five digits, or a power of ten where those would be zeros. */
function show(v) {
  if (!finite(v)) return '–';
  const size = Math.abs(v);
  if (size === 0) return '0';
  if (size >= 1e7 || size < 1e-3) return scientific(v, 3);
  if (size >= 1000) return minus(Math.round(v).toLocaleString('en-US'));
  return minus(size >= 1 ? v.toFixed(4) : v.toPrecision(4));
}

/** A difference of losses: as many places for a large one as for a small one, so that a column of them can be compared. */
const gap = v => (finite(v) && Math.abs(v) >= 1e-5 ? minus(v.toFixed(5)) : show(v));
const signed = v => (finite(v) && v > 0 ? '+' : '') + gap(v);
const whole = v => (finite(v) ? Math.round(v).toLocaleString('en-US') : '–');

/** Round numbers from lo to hi, about n of them. */
function ticks(lo, hi, n) {
  const raw = (hi - lo) / Math.max(1, n);
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find(m => m * unit >= raw * 0.75);
  const out = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) out.push(i * step + 0); // + 0: no minus zero
  return { at: out, step };
}

function linearAxis(lo, hi, n) {
  const { at, step } = ticks(lo, hi, n);
  const largest = Math.max(...at.map(Math.abs), step);
  // One power of ten for the whole axis reads better than one a tick.
  const exponent = largest < 1e-2 || largest >= 1e5 ? Math.floor(Math.log10(largest)) : 0;
  const unit = 10 ** exponent;
  const digits = Math.max(0, -Math.floor(Math.log10((step / unit) * 1.001)));
  return {
    at: at.map(v => ({ v, text: largest >= 1000 && !exponent ? minus(v.toLocaleString('en-US')) : minus((v / unit).toFixed(digits)) })),
    factor: exponent ? '×' + power(exponent) : '',
  };
}

function logAxis(lo, hi, n) {
  const decades = Math.log10(hi / lo);
  if (decades < 0.7) {
    const axis = linearAxis(lo, hi, n);
    axis.at = axis.at.filter(t => t.v > 0);
    return axis;
  }
  const every = Math.max(1, Math.round(decades / n));
  const inside = decades < 2.5 ? [1, 2, 5] : [1];
  const at = [];
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) {
    for (const m of inside) {
      const v = m * 10 ** e;
      if (v < lo || v > hi || (m === 1 && e % every !== 0)) continue;
      at.push({ v, text: v >= 1e-2 && v < 1e6 ? Number(v.toPrecision(2)).toLocaleString('en-US') : (m === 1 ? '' : m + '×') + power(e) });
    }
  }
  return { at, factor: '' };
}

/** The first index whose x is at least value. */
function lowerBound(xs, value) {
  let lo = 0, hi = xs.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (xs[mid] < value) lo = mid + 1; else hi = mid;
  }
  return lo;
}

/** The index whose x is nearest to value. */
function nearest(xs, value) {
  const i = lowerBound(xs, value);
  return i > 0 && (i === xs.length || value - xs[i - 1] <= xs[i] - value) ? i - 1 : i;
}

/**
 * Indices to draw between x = lo and hi on so many pixels: a pixel keeps its first, smallest, largest and last point,
 * so that no spike is lost. One point beyond each edge lets the line run out of the picture.
 */
function thin(xs, ys, lo, hi, pixels) {
  const from = Math.max(0, lowerBound(xs, lo) - 1), to = Math.min(xs.length, lowerBound(xs, hi) + 1);
  const out = [];
  if (to - from <= 3 * pixels) {
    for (let i = from; i < to; i++) out.push(i);
    return out;
  }
  for (let i = from; i < to;) {
    const bucket = Math.floor(((xs[i] - lo) / (hi - lo)) * pixels);
    let min = i, max = i, j = i;
    for (; j < to && Math.floor(((xs[j] - lo) / (hi - lo)) * pixels) === bucket; j++) {
      if (!(ys[j] >= ys[min])) min = j;
      if (!(ys[j] <= ys[max])) max = j;
    }
    out.push(...new Set([i, min, max, j - 1].sort((a, b) => a - b)));
    i = j;
  }
  return out;
}
