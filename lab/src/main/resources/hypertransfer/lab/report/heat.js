// Heat maps with numbers in their cells, one notation and one colour scale with its bar for all maps of a figure.

class Heat {
  /** spec: title, file, note, from0, maps(): [{run, title, rows, columns, across, down, mean, cells: [{row, column, value, name}]}], csv() */
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.canvas = frame(host, this, false);
    this.canvas.classList.add('scroll');
  }

  render() {
    put(this.canvas, this.svg(this.canvas.clientWidth));
    values(this);
  }

  svg(width, alone) {
    const maps = this.spec.maps();
    const known = maps.flatMap(map => map.cells.map(cell => cell.value)).filter(finite);
    const text = this.spec.text ?? notation(known);
    const shade = shades(known, this.spec.from0);
    const left = Math.max(46, ...maps.flatMap(map => map.rows.map(row => 16 + textWidth(row, 11.5))), ...maps.map(map => 16 + textWidth(map.down ?? '', 12)));
    const paper = document.documentElement.classList.contains('paper'), least = paper || (alone && !alone.title) ? 42 : 52;
    const gap = 10, high = paper ? 22 : 30, across = d3.max(maps, map => map.columns.length + (map.mean ? 1 : 0)) ?? 1;
    const fit = Math.max(1, Math.min(maps.length, Math.floor((width + 28) / (left + across * (least + 8) + gap + 28))));
    const columns = Math.ceil(maps.length / Math.ceil(maps.length / fit)) || 1;
    const room = (width + 28) / columns - 28;
    const wide = Math.max(least, Math.min(112, (room - left - gap) / across));
    const total = Math.max(width, left + gap + across * wide);
    const height = 58 + (d3.max(maps, map => map.rows.length) ?? 0) * high + 28;
    const top = alone?.title ? 30 : 0;
    const parts = [heading(this.spec, alone)];
    maps.forEach((map, i) => {
      const x = (i % columns) * (room + 28), y = top + Math.floor(i / columns) * height;
      const at = c => x + left + c * wide + (map.mean && c === map.columns.length ? gap : 0);
      const box = (c, r, value, name, strong, ring) => {
        const { fill, ink } = shade(value);
        return html`<g data-cell="${name}" data-value="${value}"><rect x="${at(c) + 1}" y="${y + 45 + r * high}" width="${wide - 2}" height="${high - 2}" rx="3" fill="${fill}" class="${ring ? 'best' : ''}"/>
          <text x="${at(c) + wide / 2}" y="${y + 44 + (r + 0.5) * high}" dy="0.35em" text-anchor="middle" class="${strong ? 'cell' : 'tick'} ${ink}">${finite(value) ? text(value) : '–'}</text></g>`;
      };
      const inside = map.run ? [html`<line x1="${x}" x2="${x + 26}" y1="${y + 11}" y2="${y + 11}" ${stroke(map.run, 2.4)}/>`] : [];
      const mean = map.mean ? ', mean ' + text(d3.mean(map.cells, c => c.value)) : '', indent = map.run ? 32 : 0;
      inside.push(html`<text x="${x + indent}" y="${y + 15}" class="cell">${fitting(map.title, room - indent - textWidth(mean, 13))}<tspan class="name">${mean}</tspan></text>`);
      [...map.columns, ...(map.mean ? ['mean'] : [])].forEach((column, c) => inside.push(html`<text x="${at(c) + wide / 2}" y="${y + 38}" text-anchor="middle" class="tick">${column}</text>`));
      map.rows.forEach((row, r) => {
        inside.push(html`<text x="${x + left - 8}" y="${y + 44 + (r + 0.5) * high}" dy="0.35em" text-anchor="end" class="tick">${row}</text>`);
        const cells = map.cells.filter(cell => cell.row === row);
        for (const cell of cells) inside.push(box(map.columns.indexOf(cell.column), r, cell.value, cell.name, cell.best, cell.best));
        if (map.mean && cells.length) inside.push(box(map.columns.length, r, d3.mean(cells, c => c.value), 'mean', true));
      });
      const foot = y + 44 + map.rows.length * high + 18;
      inside.push(html`<text x="${x + left + (map.columns.length * wide) / 2}" y="${foot}" text-anchor="middle" class="label">${map.across}</text>`);
      if (map.down) inside.push(html`<text x="${x + left - 8}" y="${y + 38}" text-anchor="end" class="label">${map.down}</text>`);
      parts.push(map.run ? html`<g data-run="${map.run.name}">${inside}</g>` : html`<g>${inside}</g>`);
    });
    if (!maps.length) parts.push(html`<text x="${width / 2}" y="60" class="empty" text-anchor="middle">nothing to show yet</text>`);
    const below = top + Math.max(1, Math.ceil(maps.length / columns)) * height;
    if (known.length) parts.push(this.bar(shade, below, text));
    const breaks = d3.range(1, Math.ceil(maps.length / columns)).map(row => top + row * height);
    return picture(total, below + (known.length ? 36 : 0), this.spec.title, html`${parts}`, breaks);
  }

  /** What the colours mean. */
  bar({ scale }, y, text) {
    const [lo, hi] = scale.domain(), n = 48;
    return html`<g class="scale">${d3.range(n).map(i => html`<rect x="${46 + i * 5}" y="${y}" width="5" height="10" fill="${scale(lo + ((hi - lo) * i) / (n - 1))}"/>`)}
      ${[lo, (lo + hi) / 2, hi].map((v, i) => html`<text x="${46 + i * 120}" y="${y + 24}" text-anchor="${['start', 'middle', 'end'][i]}" class="tick">${text(v)}</text>`)}</g>`;
  }

  csv() {
    return d3.csvFormatRows(this.spec.csv()) + '\n';
  }
}

/** The text in as many lines as it needs. */
function folded(text, width, size) {
  return text.split(' ').reduce((lines, word) => {
    const longer = [last(lines), word].filter(Boolean).join(' ');
    return textWidth(longer, size) <= 0.97 * width || !last(lines) ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, ['']);
}

/** A title, cut where it does not fit. */
function fitting(text, width) {
  const wide = part => textWidth(part, 12, 600) > width;
  if (!wide(text)) return text;
  let kept = text.length;
  while (kept > 4 && wide(text.slice(0, kept) + '…')) kept--;
  return text.slice(0, kept) + '…';
}

/** From a value to a colour, and the ink that can be read on it: black or white, whichever stands out more (at least 4.5:1). */
function shades(values, from0) {
  const dark = document.documentElement.dataset.theme === 'dark';
  const [lo, hi] = d3.extent(values);
  const low = from0 ? 0 : lo, high = hi > low ? hi : low + 1;
  const scale = d3.scaleSequential([low, high], dark ? t => d3.interpolateBlues(0.95 - 0.75 * t) : t => d3.interpolateBlues(0.05 + 0.9 * t));
  const shade = value => {
    const fill = finite(value) ? d3.color(scale(value)).formatHex() : 'var(--grid)';
    return { fill, ink: finite(value) ? (luminance(fill) > 0.179 ? 'on-light' : 'on-dark') : '' };
  };
  return Object.assign(shade, { scale });
}

/** As the accessibility guidelines define it. */
function luminance(colour) {
  const { r, g, b } = d3.rgb(colour);
  const [x, y, z] = [r, g, b].map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

function ratioMaps() {
  return ordered().filter(({ lead }) => !model.hidden.has(lead.name)).map(({ lead: run, runs: seeds }) => {
    const cells = panels([run]).map(({ layer, kind, part, of }) => ({ row: kind + (part === undefined ? '' : ' ' + part), column: layer, value: d3.mean(seeds, seed => d3.mean(of(seed), m => ratios(seed)[m].ratio ?? NaN)), name: kind + layer + (part === undefined ? '' : '-' + part) })).filter(cell => finite(cell.value));
    return { run, title: run.label, across: 'layer', mean: true, rows: [...new Set(cells.map(cell => cell.row))], columns: [...new Set(cells.map(cell => cell.column))].sort(d3.ascending), cells };
  }).filter(map => map.cells.length);
}

const ratioRows = () => [['run', 'matrix', 'layer', 'kind', 'final', 'peak', 'ratio'],
  ...visible().flatMap(run => ratios(run).filter(c => c.ratio !== null).map(c => [run.name, c.name, c.layer, c.kind, c.final, c.peak, c.ratio]))];
