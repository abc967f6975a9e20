// The heat map of final-to-peak effective rates: kinds by layers, a map a run, one colour scale for all.

class Heat {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.canvas = frame(host, this, false);
    this.canvas.classList.add('scroll');
  }

  render() {
    put(this.canvas, this.svg(this.canvas.clientWidth, false));
  }

  maps() {
    return visible().map(run => ({ run, cells: ratios(run).filter(cell => cell.ratio !== null) })).filter(map => map.cells.length);
  }

  svg(width, alone) {
    const maps = this.maps();
    const layers = [...new Set(maps.flatMap(map => map.cells.map(cell => cell.layer)))].sort((a, b) => a - b);
    const kinds = kindsOf(maps.flatMap(map => map.cells));
    const values = maps.flatMap(map => map.cells.map(cell => cell.ratio));
    const lo = Math.min(...values), hi = Math.max(...values);
    const shade = shades(lo, hi);
    const left = 46, gap = 10, high = 30;
    const natural = left + (layers.length + 1) * 56 + gap;
    const fit = Math.max(1, Math.min(maps.length, Math.floor((width + 28) / (natural + 28))));
    const columns = Math.ceil(maps.length / Math.ceil(maps.length / fit)) || 1;
    const room = (width + 28) / columns - 28;
    const wide = Math.max(48, Math.min(112, (room - left - gap) / (layers.length + 1)));
    const total = Math.max(width, left + gap + (layers.length + 1) * wide);
    const height = 58 + kinds.length * high + 26;
    const all = alone ? [html`<text x="4" y="20" class="title">${this.spec.title}</text>`] : [];
    maps.forEach(({ run, cells }, i) => {
      const parts = [];
      const x = (i % columns) * (room + 28), y = Math.floor(i / columns) * height + (alone ? 30 : 0);
      const box = (c, r, value, strong) => {
        const { fill, ink } = shade(value);
        const at = x + left + c * wide + (c === layers.length ? gap : 0), top = y + 44 + r * high;
        return html`<g data-cell="${strong ? 'mean' : kinds[r] + layers[c]}" data-value="${value}"><rect x="${at + 1}" y="${top + 1}" width="${wide - 2}" height="${high - 2}" rx="3" fill="${fill}"/>
          <text x="${at + wide / 2}" y="${top + high / 2}" dy="0.35em" text-anchor="middle" class="${strong ? 'cell' : 'tick'} ${ink}">${ratio(value)}</text></g>`;
      };
      parts.push(html`<line x1="${x}" x2="${x + 26}" y1="${y + 11}" y2="${y + 11}" ${stroke(run, 2.4)}/>
        <text x="${x + 32}" y="${y + 15}" class="cell">${run.name}<tspan class="name">, mean ${ratio(mean(cells))}</tspan></text>`);
      layers.forEach((layer, c) => parts.push(html`<text x="${x + left + (c + 0.5) * wide}" y="${y + 38}" text-anchor="middle" class="tick">${layer}</text>`));
      parts.push(html`<text x="${x + left + gap + (layers.length + 0.5) * wide}" y="${y + 38}" text-anchor="middle" class="tick">mean</text>`);
      kinds.forEach((kind, r) => {
        parts.push(html`<text x="${x + left - 8}" y="${y + 44 + (r + 0.5) * high}" dy="0.35em" text-anchor="end" class="tick">${kind}</text>`);
        const row = cells.filter(cell => cell.kind === kind);
        for (const cell of row) parts.push(box(layers.indexOf(cell.layer), r, cell.ratio, false));
        if (row.length) parts.push(box(layers.length, r, mean(row), true));
      });
      parts.push(html`<text x="${x + left + (layers.length * wide) / 2}" y="${y + 44 + kinds.length * high + 18}" text-anchor="middle" class="label">layer</text>`);
      all.push(html`<g data-run="${run.name}">${parts}</g>`);
    });
    if (!maps.length) all.push(html`<text x="${width / 2}" y="60" class="empty" text-anchor="middle">nothing to show yet</text>`);
    return picture(total, Math.max(1, Math.ceil(maps.length / columns)) * height + (alone ? 30 : 0), this.spec.title, html`${all}`);
  }

  csv() {
    const lines = ['run,matrix,layer,kind,final,peak,ratio'];
    for (const { run, cells } of this.maps()) {
      for (const c of cells) lines.push([quoted(run.name), quoted(c.name), c.layer, quoted(c.kind), c.final, c.peak, c.ratio].join(','));
    }
    return lines.join('\n') + '\n';
  }
}

const mean = cells => cells.reduce((sum, cell) => sum + cell.ratio, 0) / cells.length;
const ratio = v => (v === 0 ? '0' : v < 0.00995 ? minus(v.toExponential(1)) : v.toFixed(3));

/** The kinds there are, the usual ones in their usual order. */
function kindsOf(matrices) {
  const found = new Set(matrices.map(matrix => matrix.kind));
  return [...KINDS.filter(kind => found.has(kind)), ...[...found].filter(kind => !KINDS.includes(kind)).sort()];
}

/** From a value to a colour between the theme's two ends, and an ink that can be read on it. */
function shades(lo, hi) {
  const style = getComputedStyle(document.documentElement);
  const ends = ['--heat-low', '--heat-high'].map(name => style.getPropertyValue(name).trim().match(/\w\w/g).map(h => parseInt(h, 16)));
  return value => {
    // Equal values share one middling shade: there is no difference to show.
    const t = hi - lo > 1e-9 * hi ? (value - lo) / (hi - lo) : 0.4;
    const rgb = ends[0].map((from, i) => Math.round(from + t * (ends[1][i] - from)));
    const light = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    return { fill: `rgb(${rgb.join(',')})`, ink: light > 118 ? 'on-light' : 'on-dark' };
  };
}
