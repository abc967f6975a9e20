// Line charts as SVG: cells that share x, one below the other or in a grid. What is on the page is what is saved.

/** How all charts are looked at: the x axis, its zoom, smoothing as a part of x, the run that is subtracted, and the setting that colours the runs. */
const view = { x: 'step', zoom: null, smooth: 0, focus: true, shared: false, seeds: null, apart: false, all: false, paper: 'screen', baseline: '', colour: '', pick: null };
const HEAD = 0.15; // of the steps, in which a loss falls by more than in all that follow
const X_LABEL = { step: 'step', tokens: 'tokens', hours: 'hours of training', angle: 'accumulated angle (radians)' };
const NAME = 14; // pixels that a name at a line's end needs

const stroke = (run, width) => html`stroke="${run.colour}" stroke-width="${width}" stroke-dasharray="${run.dash || 'none'}"`;
const swatch = run => html`<svg class="swatch" width="26" height="10" aria-hidden="true"><line x2="26" y1="5" y2="5" ${stroke(run, 2.4)}/></svg>`;

class Chart {
  /** spec: title, file, note, rare (shown only where it has a line), named (at the lines' ends), grid, columns(width), height, second, cells(): [{key, title, label, caption, zero, pairs, focus, smooth, marks, series: [{run, x, y}]}] */
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.log = false;
    this.y = new Map(); // zoomed y ranges by the cell's key
    this.canvas = frame(host, this, true);
    watchPointer(this);
  }

  render() {
    this.host.hidden = Boolean(this.spec.rare) && !this.spec.cells().some(cell => cell.series.length);
    if (this.host.hidden) return;
    put(this.canvas, this.svg(this.canvas.clientWidth));
    this.host.querySelector('.reset').hidden = !view.zoom && !this.y.size;
    values(this);
  }

  /** The picture; with legend, and perhaps a title, where it has to stand alone. */
  svg(width, alone) {
    const { grid, second = 1 } = this.spec, squeeze = alone?.squeeze ?? (document.documentElement.classList.contains('paper') && !grid ? 0.65 : 1);
    const height = Math.round(this.spec.height * squeeze);
    const cells = this.spec.cells().filter(cell => cell.series.length), breaks = [];
    this.range = this.domain(cells);
    const named = this.named(cells[0], width, height);
    const parts = [heading(this.spec, alone)], names = alone && !named ? this.legend(width, alone.title ? 34 : 0) : { svg: '', height: 0 };
    parts.push(names.svg);
    const top = alone ? (alone.title ? 36 : 4) + names.height : 2;
    const columns = grid ? Math.min(this.spec.columns(width), Math.max(1, cells.length)) : 1;
    const rows = Math.ceil(cells.length / columns);
    const shared = grid && view.shared ? this.extent(cells.flatMap(cell => cell.series), cells[0] ?? {}) : null;
    this.cells = [];
    let y = top;
    for (let row = 0; row < rows; row++) {
      const bottom = row === rows - 1, high = !grid && row > 0 ? Math.round(height * second) : height;
      const head = grid ? 22 : 14, foot = grid ? (bottom ? 40 : 24) : bottom ? 42 : 10;
      for (let column = 0; column < columns && row * columns + column < cells.length; column++) {
        const cell = cells[row * columns + column];
        const left = grid ? 46 : 64, wide = width / columns;
        cell.box = { x: wide * column + left, y: y + head, w: wide - left - (named || (grid ? 16 : 14)), h: high };
        if (named && row === 0) cell.named = true;
        parts.push(this.cell(cell, { bottom, last: row * columns + column + columns >= cells.length, shared }));
        this.cells.push(cell);
      }
      y += head + high + foot;
      breaks.push(y);
    }
    if (!cells.length) {
      parts.push(html`<text x="${width / 2}" y="${top + 60}" class="empty" text-anchor="middle">nothing to show yet</text>`);
      y = top + 110;
    }
    return picture(width, y, this.spec.title, html`${parts}<g class="over"></g>`, grid ? breaks : []);
  }

  legend(width, top) {
    let x = 4, y = top + 14;
    const parts = ordered().map(side => side.lead).filter(run => !model.hidden.has(run.name)).map(run => {
      const size = 38 + textWidth(run.label, 13);
      if (x > 4 && x + size > width) {
        x = 4;
        y += 22;
      }
      const at = x;
      x += size + 14;
      return html`<line x1="${at}" x2="${at + 26}" y1="${y - 4}" y2="${y - 4}" ${stroke(run, 2.4)}/><text x="${at + 32}" y="${y}" class="name">${run.label}</text>`;
    });
    return { svg: html`${parts}`, height: y + 6 - top };
  }

  /** The room for names at the ends of the first panel's lines; none where they do not fit, or where lines end early. */
  named(cell, width, height) {
    if (!this.spec.named || !cell) return 0;
    const [lo, hi] = this.range, wide = 34 + d3.max(cell.series, ({ run }) => textWidth(run.side.brief, 11.5));
    const early = cell.series.some(({ x }) => !(last(x) >= hi - 0.03 * (hi - lo)));
    if (early || wide > 0.35 * width || cell.series.length * NAME > height) return 0;
    const scale = (this.log ? d3.scaleLog : d3.scaleLinear)(this.y.get(cell.key) ?? this.extent(cell.series, cell), [height, 0]);
    return this.ends(cell.series, scale, 0, height).some(({ y, at }) => Math.abs(at - y) > 3 * NAME) ? 0 : wide;
  }

  /** Where the lines end, and where their names stand, pushed apart where they would cover each other. */
  ends(series, py, top, bottom) {
    const usable = v => finite(v) && finite(py(v)), hi = this.range[1];
    const ends = series.map(({ run, x, y }) => ({ run, v: between(x, y, hi) ?? y.findLast(usable) })).filter(({ v }) => usable(v)).map(({ run, v }) => ({ run, y: Math.max(top, Math.min(bottom, py(v))) }));
    ends.sort((a, b) => a.y - b.y).forEach((end, i) => (end.at = Math.max(end.y, i ? ends[i - 1].at + NAME : top)));
    ends.forEach((end, i) => (end.at = Math.min(end.at, bottom - NAME * (ends.length - 1 - i))));
    return ends;
  }

  names({ box, series, py }) {
    const right = box.x + box.w;
    const name = ({ run, y, at }) => html`<path d="M${right + 2} ${y.toFixed(1)}L${right + 12} ${at.toFixed(1)}h8" fill="none" ${stroke(run, 1.6)}/>
      <text x="${right + 24}" y="${at.toFixed(1)}" dy="0.35em" class="end">${run.side.brief}</text>`;
    return html`<g class="ends">${this.ends(series, py, box.y, box.y + box.h).map(name)}</g>`;
  }

  /** The common x range: what was zoomed to, or all there is. */
  domain(cells) {
    if (view.zoom) return view.zoom;
    const ends = cells.flatMap(cell => cell.series).filter(({ x }) => x.length).flatMap(({ x }) => [x[0], last(x)]);
    const [lo, hi] = d3.extent(ends);
    return lo < hi ? [lo, hi] : finite(lo) ? [lo - 0.5, lo + 0.5] : [0, 1];
  }

  cell(cell, place) {
    const { box } = cell, { grid } = this.spec, log = this.log, [lo, hi] = this.range;
    const size = cell.zero && log ? Math.abs : v => v;
    cell.drawable = v => finite(v) && (!log || size(v) > 0);
    cell.x = d3.scaleLinear([lo, hi], [box.x, box.x + box.w]);
    const domain = this.y.get(cell.key) ?? place.shared ?? this.extent(cell.series, cell);
    cell.scale = (log ? d3.scaleLog : d3.scaleLinear)(domain, [box.y + box.h, box.y]);
    cell.py = v => cell.scale(size(v));

    const axis = axisTicks(cell.scale, Math.max(2, Math.round(box.h / (grid ? 30 : 38))), log);
    const parts = axis.at.map(t => {
      const y = cell.scale(t.v).toFixed(1);
      return html`<line x1="${box.x}" x2="${box.x + box.w}" y1="${y}" y2="${y}" class="${cell.zero && !log && t.v === 0 ? 'zero' : 'grid'}"/>
        <text x="${box.x - 8}" y="${y}" dy="0.35em" text-anchor="end" class="tick">${t.text}</text>`;
    });
    if (cell.caption && !log) parts.push(html`<text x="${box.x + box.w}" y="${box.y - 4}" class="tick" text-anchor="end">${cell.caption}</text>`);
    if (axis.factor) parts.push(html`<text x="${box.x}" y="${box.y - 5}" class="tick" text-anchor="start">${axis.factor}</text>`);
    const labelled = grid || place.bottom, across = Math.max(2, Math.round(box.w / (grid ? 52 : 90)));
    for (const v of d3.ticks(lo, hi, across).filter(v => view.x !== 'step' || Number.isInteger(v))) {
      const x = cell.x(v).toFixed(1);
      parts.push(html`<line x1="${x}" x2="${x}" y1="${box.y}" y2="${box.y + box.h}" class="grid"/>`);
      if (labelled) parts.push(html`<text x="${x}" y="${box.y + box.h + 16}" text-anchor="middle" class="tick">${xTick(v, lo, hi, across)}</text>`);
    }
    parts.push(html`<path d="M${box.x} ${box.y}V${box.y + box.h}H${box.x + box.w}" class="axis"/>`);
    const middle = box.x + box.w / 2;
    if (grid) parts.push(html`<text x="${middle}" y="${box.y - 8}" class="cell" text-anchor="middle">${fitting(cell.title, box.w + 50)}</text>`);
    else parts.push(html`<text transform="translate(${box.x - 50} ${box.y + box.h / 2}) rotate(-90)" text-anchor="middle" class="label">${cell.zero && log ? '|' + cell.label + '|' : cell.label}</text>`);
    if (grid ? place.last : place.bottom) parts.push(html`<text x="${middle}" y="${box.y + box.h + (grid ? 32 : 34)}" class="label" text-anchor="middle">${X_LABEL[view.x]}</text>`);
    const clip = 'clip' + ++Chart.clips;
    parts.push(html`<clipPath id="${clip}"><rect x="${box.x}" y="${box.y - 2}" width="${box.w + 1}" height="${box.h + 4}"/></clipPath>
      <g clip-path="url(#${clip})">${this.smooth(cell) ? cell.series.map(({ run, x, y }) => html`<path d="${this.path(cell, x, y)}" class="raw" stroke="${run.colour}" stroke-opacity="${cell.series.length > 3 ? 0.4 : 1}"/>`) : ''}${cell.series.map(series => this.line(cell, series))}${(cell.marks ?? []).map((mark, row) => this.mark(cell, mark, row))}</g>`);
    if (cell.named) parts.push(this.names(cell));
    if (cell.none) parts.push(html`<text x="${middle}" y="${box.y + 14}" class="label halo" text-anchor="middle">zero at every common step</text>`);
    if (cell.beyond > domain[1] && !this.y.has(cell.key)) parts.push(html`<text x="${box.x + box.w}" y="${box.y + 9}" class="tick halo" text-anchor="end">↑ to ${show(cell.beyond)}</text>`);
    return html`${parts}`;
  }

  /** A step that deserves a name. */
  mark(cell, { at, text }, row) {
    const x = cell.x(at), right = x > cell.box.x + cell.box.w * 0.6;
    return html`<line x1="${x}" x2="${x}" y1="${cell.box.y}" y2="${cell.box.y + cell.box.h}" class="mark"/>
      <text x="${right ? x - 5 : x + 5}" y="${cell.box.y + 12 + 13 * row}" text-anchor="${right ? 'end' : 'start'}" class="tick halo">${text}</text>`;
  }

  /**
   * The y range: all that is drawn, the lines' values at both edges too, so that no line leaves through the top. With focus,
   * the steep beginning and single points two ranges away from the others do not count.
   */
  extent(series, cell) {
    const [lo, hi] = this.range, log = this.log, size = cell.zero && log ? Math.abs : v => v;
    const usable = v => finite(v) && (!log || size(v) > 0);
    const from = cell.focus && view.focus && !view.zoom ? lo + HEAD * (hi - lo) : lo;
    const inside = series.flatMap(({ x, y, low = [], high = [] }) => {
      const at = [y, low, high].flatMap(ys => ys.slice(d3.bisectLeft(x, from), d3.bisectRight(x, hi)));
      at.push(between(x, y, from), between(x, y, hi));
      return at.filter(usable).map(size);
    });
    let [bottom, top] = d3.extent(inside);
    if (cell.focus) cell.beyond = d3.max(series, s => d3.max(s.y, v => (usable(v) ? v : undefined)));
    if (bottom === undefined) return log ? [0.1, 1] : cell.zero ? [-1, 1] : [0, 1];
    if (cell.focus && view.focus) {
      const sorted = Float64Array.from(inside).sort();
      const low = d3.quantileSorted(sorted, 0.01), high = d3.quantileSorted(sorted, 0.99), room = 2 * (high - low);
      if (room > 0) [bottom, top] = [Math.max(bottom, low - room), Math.min(top, high + room)];
    }
    if (log) return bottom < top ? [bottom / (top / bottom) ** 0.04, top * (top / bottom) ** 0.04] : [bottom / 2, top * 2];
    if (cell.zero) [bottom, top] = [Math.min(bottom, 0), Math.max(top, 0)];
    cell.none = cell.zero && bottom === 0 && top === 0;
    if (cell.none) return [-1e-8, 1e-8];
    // Rounding noise of a constant must not be blown up to the height of the picture.
    const room = Math.max((top - bottom) * 0.06, cell.zero ? 1e-16 : Math.max(Math.abs(top), Math.abs(bottom)) * 5e-4, 1e-300);
    return [bottom - room, top + room];
  }

  smooth(cell) {
    return cell.smooth && view.smooth > 0;
  }

  path(cell, x, ys) {
    const [lo, hi] = this.range;
    return d3.line(i => cell.x(x[i]), i => cell.py(ys[i])).defined(i => cell.drawable(ys[i])).digits(1)(thin(x, ys, lo, hi, Math.ceil(cell.box.w)));
  }

  /** A target is a broad, pale band with its follower as dark dashes inside, so that two lines can be seen where they coincide. */
  line(cell, { run, x, y, low, high }) {
    const [lo, hi] = this.range, scale = this.spec.grid ? 0.8 : 1;
    const only = y.findIndex(cell.drawable);
    if (only >= 0 && y.findLastIndex(cell.drawable) === only) {
      return html`<circle cx="${cell.x(x[only])}" cy="${cell.py(y[only])}" r="3" fill="${run.colour}" data-run="${run.name}"/>`;
    }
    const smooth = this.smooth(cell);
    const many = cell.series.length > 8 ? 0.65 : 1, under = !cell.fine && cell.series.some(other => follows(other.run) === run);
    const style = cell.zero && !cell.pairs ? stroke({ colour: run.colour }, 1.4 * scale) : under ? html`${stroke(run, 6 * scale * many)} class="under"` : stroke(run, (cell.fine ? 1 : follows(run) ? 1.9 : 2.4) * scale * many);
    const area = low ? d3.area(i => cell.x(x[i]), i => cell.py(low[i]), i => cell.py(high[i])).defined(i => cell.drawable(low[i]) && cell.drawable(high[i])).digits(1)(thin(x, low, lo, hi, Math.ceil(cell.box.w))) : null;
    return html`${area ? html`<path d="${area}" class="band" fill="${run.colour}"/>` : ''}
      <path d="${this.path(cell, x, smooth ? smoothed(x, y, view.smooth * (last(x) - x[0])) : y)}" fill="none" stroke-linejoin="round" ${style} data-run="${run.name}"/>`;
  }

  /** All points of what is shown, whatever the zoom. */
  csv() {
    const rows = this.spec.cells().flatMap(cell => cell.series.flatMap(({ run, x, y }) => Array.from(x, (at, i) => [cell.title ?? cell.label, fileName(run), at, y[i] ?? ''])));
    return d3.csvFormatRows([['panel', 'run', view.x, 'value'], ...rows]) + '\n';
  }
}
Chart.clips = 0;

/** What a run is called in a table that is saved: its own name, but a mean has its seeds'. */
const fileName = run => (run.side.runs.length > 1 ? run.label : run.name);
const xTick = (v, lo, hi, count) => (hi >= 1e5 ? d3.formatPrefix(',.3~', hi)(v).replace('G', 'B') : d3.tickFormat(lo, hi, count)(v));
const ruler = document.createElement('canvas').getContext('2d');

function textWidth(text, size, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

const heading = ({ title }, alone) => (alone?.title ? html`<text x="4" y="20" class="title">${title}</text>` : '');

/** A picture. On paper a picture of its own between any two of these breaks, so that a sheet can end there. */
function picture(width, height, title, inside, breaks = []) {
  const cuts = document.documentElement.classList.contains('paper') ? [0, ...breaks.filter(at => at < height), height] : [0, height];
  return html`${d3.pairs(cuts, (from, to) => html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${to - from}" viewBox="0 ${from} ${width} ${to - from}" role="img" aria-label="${title}">${inside}</svg>`)}`;
}
