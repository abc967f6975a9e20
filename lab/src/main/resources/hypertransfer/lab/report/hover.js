// The pointer over a chart: values of all series, a drag that zooms, a click in the legend.

function watchPointer(chart) {
  const canvas = chart.canvas;
  let start = null;

  const at = event => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const cellAt = p => (chart.cells ?? []).find(({ box }) => p.x >= box.x - 4 && p.x <= box.x + box.w + 4 && p.y >= box.y - 8 && p.y <= box.y + box.h + 8);
  const step = (cell, x) => chart.range[0] + ((x - cell.box.x) / cell.box.w) * (chart.range[1] - chart.range[0]);

  canvas.addEventListener('pointermove', event => {
    const p = at(event);
    const cell = start ? start.cell : cellAt(p);
    if (!cell) return leave(chart);
    if (start && Math.abs(p.x - start.x) > 4) {
      const x = Math.max(cell.box.x, Math.min(p.x, cell.box.x + cell.box.w));
      const from = Math.min(start.x, x), width = Math.abs(x - start.x);
      over(chart, chart.cells.filter(c => c.box.x === cell.box.x).map(({ box }) =>
        html`<rect x="${from}" y="${box.y}" width="${width}" height="${box.h}" class="drag"/>`));
      tip.hidden = true;
    } else if (!start) {
      hover(chart, cell, step(cell, p.x), event);
    }
  });
  canvas.addEventListener('pointerleave', () => leave(chart));
  canvas.addEventListener('pointerdown', event => {
    const p = at(event), cell = cellAt(p);
    if (cell && event.button === 0) {
      start = { ...p, cell };
      canvas.setPointerCapture(event.pointerId);
    }
  });
  canvas.addEventListener('pointerup', event => {
    if (!start) return;
    const p = at(event), cell = start.cell, from = start.x;
    start = null;
    if (Math.abs(p.x - from) < 5) return;
    const ends = [step(cell, from), step(cell, p.x)].sort((a, b) => a - b);
    const zoom = [Math.max(chart.range[0], ends[0]), Math.min(chart.range[1], ends[1])];
    if (zoom[1] - zoom[0] > 1e-3) {
      model.zoom = zoom;
      redraw();
    }
  });
  canvas.addEventListener('pointercancel', () => (start = null));
  canvas.addEventListener('dblclick', () => {
    model.zoom = null;
    redraw();
  });
  const toggle = event => {
    const key = event.target.closest?.('.key');
    if (!key) return;
    event.preventDefault();
    const name = key.dataset.run;
    if (!model.hidden.delete(name)) model.hidden.add(name);
    redraw();
    // The picture was drawn anew: the keyboard stays where it was.
    if (event.type === 'keydown') [...canvas.querySelectorAll('.key')].find(k => k.dataset.run === name)?.focus();
  };
  canvas.addEventListener('click', toggle);
  canvas.addEventListener('keydown', event => (event.key === 'Enter' || event.key === ' ') && toggle(event));
}

const tip = document.getElementById('tip');

function over(chart, parts) {
  const group = chart.canvas.querySelector('.over');
  if (group) put(group, html`${parts}`);
}

function leave(chart) {
  over(chart, []);
  tip.hidden = true;
}

function hover(chart, cell, x, event) {
  const [lo, hi] = chart.range;
  let best = null;
  for (const series of cell.series) {
    const i = nearest(series.x, x);
    const candidate = series.x[i];
    if (i < series.x.length && candidate >= lo && candidate <= hi && (best === null || Math.abs(candidate - x) < Math.abs(best - x))) best = candidate;
  }
  if (best === null) return leave(chart);
  const grid = cell.title !== undefined;
  const marks = [], rows = [];
  for (const c of chart.cells) {
    const px = c.px(best).toFixed(1);
    marks.push(html`<line x1="${px}" x2="${px}" y1="${c.box.y}" y2="${c.box.y + c.box.h}" class="cross"/>`);
    if (grid && c !== cell) continue;
    rows.push(html`<tr><th colspan="3">${(grid ? c.title : c.label)}</th></tr>`);
    for (const series of c.series) {
      const i = lowerBound(series.x, best);
      const y = series.x[i] === best ? series.y[i] : null;
      rows.push(html`<tr><td><svg width="24" height="8"><line x2="24" y1="4" y2="4" ${stroke(series.run, 2.4)}/></svg></td>
        <td>${series.run.name}</td><td class="number" data-value="${y}">${c.zero ? signed(y) : show(y)}</td></tr>`);
      if (c.drawable(y)) marks.push(html`<circle cx="${px}" cy="${c.py(y).toFixed(1)}" r="3.5" class="dot" fill="${series.run.colour}"/>`);
    }
  }
  over(chart, marks);
  put(tip, html`<b>step ${whole(best)}</b><table>${rows}</table>`);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = event.clientX + 18 + box.width > innerWidth ? event.clientX - 18 - box.width : event.clientX + 18;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + 'px';
}
