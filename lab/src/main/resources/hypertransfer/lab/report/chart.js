// Line charts as SVG: cells that share x, one below the other or in a grid. What is on the page is what is saved.

class Chart {
  /** spec: title, file, columns(width), height, cells(): [{title, label, zero, series: [{run, x, y}]}] */
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.log = false;
    this.canvas = frame(host, this, true);
    watchPointer(this);
  }

  render() {
    put(this.canvas, this.svg(this.canvas.clientWidth, false));
    this.host.querySelector('.reset').hidden = !model.zoom;
  }

  /** The picture; with its title where it has to stand alone. */
  svg(width, alone) {
    const parts = [];
    let top = alone ? 34 : 0;
    if (alone) parts.push(html`<text x="4" y="20" class="title">${this.spec.title}</text>`);
    const legend = this.legend(width, top);
    parts.push(legend.svg);
    top += legend.height + 2;
    const cells = this.spec.cells().filter(cell => cell.series.length);
    const columns = Math.min(this.spec.columns(width), Math.max(1, cells.length));
    const grid = this.spec.columns(10000) > 1;
    this.range = this.domain(cells);
    const rows = Math.ceil(cells.length / columns);
    this.cells = [];
    let y = top;
    for (let row = 0; row < rows; row++) {
      const bottom = row === rows - 1;
      const head = grid ? 22 : 14, foot = grid ? (bottom ? 40 : 24) : bottom ? 42 : 10;
      for (let column = 0; column < columns && row * columns + column < cells.length; column++) {
        const cell = cells[row * columns + column];
        const left = grid ? 46 : 64, x = (width / columns) * column;
        const height = grid ? this.spec.height : row === 0 ? this.spec.height : Math.round(this.spec.height * (this.spec.second ?? 1));
        const box = { x: x + left, y: y + head, w: width / columns - left - (grid ? 16 : 14), h: height };
        parts.push(this.cell(cell, box, { grid, bottom, last: row * columns + column + columns >= cells.length }));
        cell.box = box;
        this.cells.push(cell);
      }
      y += head + (grid || row === 0 ? this.spec.height : Math.round(this.spec.height * (this.spec.second ?? 1))) + foot;
    }
    if (!cells.length) {
      parts.push(html`<text x="${width / 2}" y="${top + 60}" class="empty" text-anchor="middle">nothing to show yet</text>`);
      y = top + 110;
    }
    return picture(width, y, this.spec.title, html`${parts}<g class="over"></g>`);
  }

  legend(width, top) {
    let x = 4, y = top + 14;
    const parts = runs().map(run => {
      const size = 38 + textWidth(run.name, 13);
      if (x > 4 && x + size > width) {
        x = 4;
        y += 22;
      }
      const off = model.hidden.has(run.name);
      const at = x;
      x += size + 14;
      return html`<g class="key${off ? ' off' : ''}" data-run="${run.name}" role="button" tabindex="0" aria-pressed="${!off}">
        <rect x="${at - 4}" y="${y - 14}" width="${size + 4}" height="20" rx="4" class="hit"/>
        <line x1="${at}" x2="${at + 26}" y1="${y - 4}" y2="${y - 4}" ${stroke(run, 2.4)}/>
        <text x="${at + 32}" y="${y}" class="name">${run.name}</text></g>`;
    });
    return { svg: html`${parts}`, height: y + 6 - top };
  }

  /** The common x range: what was zoomed to, or all there is. */
  domain(cells) {
    if (model.zoom) return model.zoom;
    let lo = Infinity, hi = -Infinity;
    for (const { series } of cells) {
      for (const { x } of series) {
        if (x.length) {
          lo = Math.min(lo, x[0]);
          hi = Math.max(hi, last(x));
        }
      }
    }
    return lo < hi ? [lo, hi] : finite(lo) ? [lo - 0.5, lo + 0.5] : [0, 1];
  }

  cell(cell, box, place) {
    const [lo, hi] = this.range;
    const log = this.log;
    const value = cell.zero && log ? v => (finite(v) ? Math.abs(v) : v) : v => v;
    cell.px = x => box.x + ((x - lo) / (hi - lo)) * box.w;
    cell.drawn = cell.series.map(series => ({ ...series, at: thin(series.x, series.y, lo, hi, Math.ceil(box.w)) }));
    const inside = cell.drawn.flatMap(s => s.at.filter(i => s.x[i] >= lo && s.x[i] <= hi).map(i => value(s.y[i])))
      .filter(v => finite(v) && (!log || v > 0));
    const [bottom, ceiling] = this.span(inside, cell.zero, log);
    const scale = log ? Math.log : v => v;
    cell.py = v => box.y + box.h - ((scale(value(v)) - scale(bottom)) / (scale(ceiling) - scale(bottom))) * box.h;
    cell.drawable = v => finite(v) && (!log || value(v) > 0);

    const count = Math.max(2, Math.round(box.h / (place.grid ? 30 : 38)));
    const axis = (log ? logAxis : linearAxis)(bottom, ceiling, count);
    const parts = axis.at.filter(t => t.v >= bottom && t.v <= ceiling).map(t => {
      const y = cell.py(t.v).toFixed(1);
      return html`<line x1="${box.x}" x2="${box.x + box.w}" y1="${y}" y2="${y}" class="${cell.zero && !log && t.v === 0 ? 'zero' : 'grid'}"/>
        <text x="${box.x - 8}" y="${y}" dy="0.35em" text-anchor="end" class="tick">${t.text}</text>`;
    });
    if (axis.factor) parts.push(html`<text x="${box.x}" y="${box.y - 5}" class="tick" text-anchor="end">${axis.factor}</text>`);
    const labelled = place.grid || place.bottom;
    for (const v of ticks(lo, hi, Math.max(2, Math.round(box.w / (place.grid ? 48 : 90)))).at) {
      const x = cell.px(v).toFixed(1);
      parts.push(html`<line x1="${x}" x2="${x}" y1="${box.y}" y2="${box.y + box.h}" class="grid"/>`);
      if (labelled && Number.isInteger(v)) {
        parts.push(html`<text x="${x}" y="${box.y + box.h + 16}" text-anchor="middle" class="tick">${v.toLocaleString('en-US')}</text>`);
      }
    }
    parts.push(html`<path d="M${box.x} ${box.y}V${box.y + box.h}H${box.x + box.w}" class="axis"/>`);
    if (place.grid) {
      parts.push(html`<text x="${box.x + box.w / 2}" y="${box.y - 8}" class="cell" text-anchor="middle">${cell.title}</text>`);
      if (place.last) parts.push(html`<text x="${box.x + box.w / 2}" y="${box.y + box.h + 32}" class="label" text-anchor="middle">step</text>`);
    } else {
      const label = cell.zero && log ? '|' + cell.label + '|' : cell.label;
      parts.push(html`<text transform="translate(${box.x - 50} ${box.y + box.h / 2}) rotate(-90)" text-anchor="middle" class="label">${label}</text>`);
      if (place.bottom) parts.push(html`<text x="${box.x + box.w / 2}" y="${box.y + box.h + 34}" text-anchor="middle" class="label">step</text>`);
    }
    const clip = 'clip' + ++Chart.clips;
    parts.push(html`<clipPath id="${clip}"><rect x="${box.x}" y="${box.y - 2}" width="${box.w + 1}" height="${box.h + 4}"/></clipPath>
      <g clip-path="url(#${clip})">${cell.drawn.map(series => this.line(cell, series, place.grid ? 0.8 : 1))}</g>`);
    return html`${parts}`;
  }

  span(values, zero, log) {
    let lo = Infinity, hi = -Infinity;
    for (const v of values) {
      lo = Math.min(lo, v);
      hi = Math.max(hi, v);
    }
    if (!(lo <= hi)) return log ? [0.1, 1] : zero ? [-1, 1] : [0, 1];
    if (log) return lo < hi ? [lo / (hi / lo) ** 0.04, hi * (hi / lo) ** 0.04] : [lo / 2, hi * 2];
    if (zero) {
      lo = Math.min(lo, 0);
      hi = Math.max(hi, 0);
    }
    // Rounding noise of a constant must not be blown up to the height of the picture.
    const room = Math.max((hi - lo) * 0.06, zero ? 1e-12 : Math.max(Math.abs(hi), Math.abs(lo)) * 5e-4, 1e-300);
    return [lo - room, hi + room];
  }

  /** A target is broad, so that it can be seen under the one that follows it; differences have nothing under them. */
  line(cell, series, scale) {
    let d = '', open = false, points = 0;
    for (const i of series.at) {
      const y = series.y[i];
      if (!cell.drawable(y)) {
        open = false;
        continue;
      }
      d += `${open ? 'L' : 'M'}${cell.px(series.x[i]).toFixed(1)} ${cell.py(y).toFixed(1)}`;
      open = true;
      points++;
    }
    if (points === 1) {
      const [x, y] = d.slice(1).split(' ');
      return html`<circle cx="${x}" cy="${y}" r="3" fill="${series.run.colour}" data-run="${series.run.name}"/>`;
    }
    return html`<path d="${d}" fill="none" stroke-linejoin="round" ${cell.zero ? stroke({ colour: series.run.colour }, 1.4 * scale) : stroke(series.run, (follows(series.run) ? 1.9 : 2.6) * scale)} data-run="${series.run.name}"/>`;
  }

  /** All points of what is shown, whatever the zoom. */
  csv() {
    const lines = ['panel,run,step,value'];
    for (const cell of this.spec.cells()) {
      for (const { run, x, y } of cell.series) {
        x.forEach((step, i) => lines.push([quoted(cell.title ?? cell.label), quoted(run.name), step, y[i] ?? ''].join(',')));
      }
    }
    return lines.join('\n') + '\n';
  }
}
Chart.clips = 0;

const stroke = (run, width) => html`stroke="${run.colour}" stroke-width="${width}" stroke-dasharray="${run.dash || 'none'}"`;
const quoted = text => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
const ruler = document.createElement('canvas').getContext('2d');

function textWidth(text, size) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

function picture(width, height, title, inside) {
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">${inside}</svg>`;
}
