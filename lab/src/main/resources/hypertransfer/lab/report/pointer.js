// Pointer and keyboard over a chart: the values of all series, and a drag that zooms.

const tip = document.getElementById('tip');
const MOST = 12;

function watchPointer(chart) {
  const { canvas } = chart;
  const cellAt = ([x, y]) => (chart.cells ?? []).find(({ box }) => x >= box.x - 4 && x <= box.x + box.w + 4 && y >= box.y - 8 && y <= box.y + box.h + 8);
  let start = null, spot = null;

  canvas.tabIndex = 0;
  canvas.addEventListener('pointermove', event => {
    const p = d3.pointer(event, canvas), cell = cellAt(p);
    if (start) return;
    if (cell) hover(chart, cell, cell.x.invert(p[0]), event.clientY);
    else leave(chart);
  });
  canvas.addEventListener('pointerleave', () => leave(chart));
  canvas.addEventListener('blur', () => leave(chart));
  canvas.addEventListener('keydown', event => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === 'Escape') return reset(chart);
    if (!move || !chart.cells.length) return;
    event.preventDefault();
    spot ??= { cell: 0, x: chart.range[0] };
    spot.cell = Math.max(0, Math.min(chart.cells.length - 1, spot.cell + move[1]));
    const cell = chart.cells[spot.cell], xs = [...new Set(cell.series.flatMap(s => [...s.x]))].sort(d3.ascending);
    spot.x = xs[Math.max(0, Math.min(xs.length - 1, d3.bisectCenter(xs, spot.x) + move[0]))];
    const box = canvas.getBoundingClientRect();
    hover(chart, cell, spot.x, box.top + cell.box.y);
  });

  // A drag along x zooms x everywhere, along y the one panel, across both. Touches scroll the page.
  d3.select(canvas).call(d3.drag().container(canvas).touchable(false)
    .filter(event => !event.button && !event.ctrlKey && cellAt(d3.pointer(event, canvas)))
    .on('start', event => (start = { x: event.x, y: event.y, cell: cellAt([event.x, event.y]) }))
    .on('drag', event => {
      const { box } = start.cell, { x, y } = dragged(start, event);
      const columns = chart.cells.filter(c => (x ? c.box.x === box.x : c === start.cell));
      over(chart, columns.map(c => {
        const [left, right] = x ?? [box.x, box.x + box.w], [top, bottom] = y && c === start.cell ? y : [c.box.y, c.box.y + c.box.h];
        return x || y ? html`<rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" class="drag"/>` : '';
      }));
      tip.hidden = true;
    })
    .on('end', event => {
      const { cell } = start, { x, y } = dragged(start, event);
      start = null;
      if (y) chart.y.set(cell.key, y.map(cell.scale.invert).sort(d3.ascending));
      if (x) view.zoom = x.map(cell.x.invert);
      if (x) redraw();
      else if (y) chart.render();
      else leave(chart);
    }));
  canvas.addEventListener('dblclick', () => reset(chart));
}

/** The two ends of a drag in each direction in which it went far enough to be meant. */
function dragged({ x, y, cell: { box } }, event) {
  const ends = (from, to, low, size) => (Math.abs(to - from) < 14 ? undefined : [from, to].map(v => Math.max(low, Math.min(low + size, v))).sort(d3.ascending));
  return { x: ends(x, event.x, box.x, box.w), y: ends(y, event.y, box.y, box.h) };
}

function reset(chart) {
  chart.y.clear();
  const zoomed = view.zoom;
  view.zoom = null;
  if (zoomed) redraw();
  else chart.render();
}

function over(chart, parts) {
  const group = chart.canvas.querySelector('.over');
  if (group) put(group, html`${parts}`);
}

function leave(chart) {
  over(chart, []);
  tip.hidden = true;
}

/** The values nearest to x; of many runs those nearest to the pointer. */
function hover(chart, cell, x, top) {
  const [lo, hi] = chart.range;
  const points = cell.series.map(series => series.x[d3.bisectCenter(series.x, x)]).filter(v => v >= lo && v <= hi);
  const best = d3.least(points, v => Math.abs(v - x));
  if (best === undefined) return leave(chart);
  const { grid } = chart.spec;
  const height = top - chart.canvas.getBoundingClientRect().top;
  const marks = [], rows = [];
  for (const c of chart.cells) {
    const px = c.x(best).toFixed(1);
    marks.push(html`<line x1="${px}" x2="${px}" y1="${c.box.y}" y2="${c.box.y + c.box.h}" class="cross"/>`);
    if (grid && c !== cell) continue;
    // Runs share steps and tokens, but no hours and angles: there, what lies between two points counts.
    let found = c.series.map(({ run, x, y }) => ({ run, y: (view.x === 'step' ? y[x.indexOf(best)] : between(x, y, best)) ?? null }));
    const left = found.length - MOST;
    if (left > 0) {
      const chosen = new Set(d3.sort(found, p => (c.drawable(p.y) ? Math.abs(c.py(p.y) - height) : Infinity)).slice(0, MOST));
      found = found.filter(p => chosen.has(p));
    }
    rows.push(html`<tr><th colspan="3">${grid ? c.title : c.label}</th></tr>`);
    for (const { run, y } of found) {
      rows.push(html`<tr><td>${swatch(run)}</td><td>${run.label}</td><td class="number" data-value="${y}">${c.zero ? signed(y) : show(y)}</td></tr>`);
      if (c.drawable(y)) marks.push(html`<circle cx="${px}" cy="${c.py(y).toFixed(1)}" r="3.5" class="dot" fill="${run.colour}"/>`);
    }
    if (left > 0) rows.push(html`<tr><td></td><td class="more" colspan="2">and ${left} more</td></tr>`);
  }
  over(chart, marks);
  const at = { hours: () => d3.format('.3f')(best) + ' hours', angle: () => `accumulated angle ${show(best)}` }[view.x]?.() ?? `${X_LABEL[view.x]} ${whole(best)}`;
  put(tip, html`<b>${at}</b><table>${rows}</table>`);
  tip.hidden = false;
  beside(chart, cell);
}

/** Puts the values where they do not cover what is read: right or left of the figure (of many panels, of the panel), else below or above it. */
function beside(chart, { box }) {
  const { width, height } = tip.getBoundingClientRect(), canvas = chart.canvas.getBoundingClientRect();
  const own = { left: canvas.left + box.x, right: canvas.left + box.x + box.w, top: canvas.top + box.y - 8, bottom: canvas.top + box.y + box.h + 20 };
  const { left, right, top, bottom } = chart.spec.grid ? own : chart.host.getBoundingClientRect();
  const inside = (v, size, all) => Math.max(4, Math.min(v, all - size - 4));
  const side = right + width + 10 <= innerWidth ? right + 6 : left - width - 10 >= 0 ? left - width - 6 : undefined;
  const level = bottom + height + 10 <= innerHeight || top - height - 10 < 0 ? bottom + 6 : top - height - 6;
  tip.style.left = (side ?? inside(own.left, width, innerWidth)) + 'px';
  tip.style.top = (side === undefined ? level : inside(top, height, innerHeight)) + 'px';
}
