// The figures of a sweep: the last validation loss against the swept settings.

/** The runs of the sweep with their values and losses; a run without a finite loss has none. */
function sweepPoints(axes) {
  return visible().filter(run => !follows(run)).map(run => {
    const loss = summary(run).validation;
    return { run, at: axes.map(({ key }) => Number(run.config[key])), loss: run.state.state === 'failed' || !finite(loss) ? null : loss };
  });
}

/** Loss against the first setting, one line for each value of the second. */
class Sweep {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.canvas = frame(host, this, false);
  }

  render() {
    this.host.hidden = !swept().length;
    if (this.host.hidden) return;
    put(this.canvas, this.svg(this.canvas.clientWidth));
    values(this);
  }

  svg(width, alone) {
    const axes = swept(), [first, ...others] = axes;
    const points = sweepPoints(axes), known = points.filter(p => p.loss !== null);
    const groups = d3.groups(points, p => others.map((axis, i) => `${short(axis.key)} ${plain(p.at[i + 1])}`).join(', '));
    const names = groups.length > 1 ? 52 + d3.max(groups, ([name]) => textWidth(name, 11.5)) : 14;
    const top = alone?.title ? 44 : 18, box = { x: 64, y: top, w: width - 64 - Math.min(names, width / 2), h: Math.round(260 * (alone?.squeeze ?? 1)) };
    const [lo, hi] = d3.extent(first.values), log = lo > 0 && hi / lo >= 4;
    const x = (log ? d3.scaleLog : d3.scaleLinear)([lo, hi], [box.x + 14, box.x + box.w - 14]);
    // One diverged point must not press the others into a line.
    const losses = known.map(p => p.loss).sort(d3.ascending), floor = losses[0], middle = d3.quantileSorted(losses, 0.75);
    const y = d3.scaleLinear([floor, Math.min(last(losses), floor + 3 * Math.max(middle - floor, 1e-9))], [box.y + box.h - 10, box.y + 6]).nice();
    const parts = [heading(this.spec, alone)];
    for (const t of axisTicks(y, 6, false).at) {
      parts.push(html`<line x1="${box.x}" x2="${box.x + box.w}" y1="${y(t.v)}" y2="${y(t.v)}" class="grid"/><text x="${box.x - 8}" y="${y(t.v)}" dy="0.35em" text-anchor="end" class="tick">${t.text}</text>`);
    }
    const every = Math.ceil(first.values.length / Math.max(2, Math.floor(box.w / 64)));
    for (const v of first.values.filter((_, i) => i % every === 0)) parts.push(html`<text x="${x(v)}" y="${box.y + box.h + 16}" text-anchor="middle" class="tick">${plain(v)}</text>`);
    parts.push(html`<path d="M${box.x} ${box.y}V${box.y + box.h}H${box.x + box.w}" class="axis"/>
      <text x="${box.x + box.w / 2}" y="${box.y + box.h + 34}" text-anchor="middle" class="label">${first.key}</text>
      <text transform="translate(${box.x - 50} ${box.y + box.h / 2}) rotate(-90)" text-anchor="middle" class="label">last validation loss</text>`);
    groups.forEach(([name, members], i) => {
      const colour = groups.length > 1 ? d3.color(ramp(groups.length > 1 ? i / (groups.length - 1) : 0)).formatHex() : 'var(--solid-0)';
      const line = d3.sort(members.filter(p => p.loss !== null), p => p.at[0]), clamp = v => Math.max(box.y, y(v));
      parts.push(html`<path d="${d3.line(p => x(p.at[0]), p => clamp(p.loss)).digits(1)(line)}" fill="none" stroke="${colour}" stroke-width="1.8"/>
        ${line.map(p => html`<circle cx="${x(p.at[0])}" cy="${clamp(p.loss)}" r="3.5" fill="${colour}" data-run="${p.run.name}"><title>${p.run.name}: ${show(p.loss)}</title></circle>`)}
        ${members.filter(p => p.loss === null).map(p => html`<text x="${x(p.at[0])}" y="${box.y + 8}" text-anchor="middle" class="cell" data-run="${p.run.name}">×<title>${p.run.name}: no finite loss</title></text>`)}`);
      if (groups.length > 1) parts.push(html`<line x1="${box.x + box.w + 14}" x2="${box.x + box.w + 34}" y1="${box.y + 8 + i * 18}" y2="${box.y + 8 + i * 18}" stroke="${colour}" stroke-width="2"/><text x="${box.x + box.w + 40}" y="${box.y + 12 + i * 18}" class="tick">${name}</text>`);
    });
    const lowest = d3.least(known, p => p.loss);
    const said = lowest ? [[`best ${show(lowest.loss)} at ${setting(axes, lowest)}`], alone && !alone.title ? [] : edge(axes, lowest)] : [];
    const words = said.flatMap((texts, warn) => texts.flatMap(text => folded(text, width - 4, 13).map(line => ({ text: line, kind: warn ? 'name edge' : 'name' }))));
    if (lowest) parts.push(html`<circle cx="${x(lowest.at[0])}" cy="${y(lowest.loss)}" r="7" class="ring"/>
      ${words.map(({ text, kind }, i) => html`<text x="4" y="${box.y + box.h + 56 + 18 * i}" class="${kind}">${text}</text>`)}`);
    return picture(width, box.y + box.h + 46 + 18 * words.length, this.spec.title, html`${parts}`);
  }

  csv() {
    const axes = swept();
    return d3.csvFormatRows([['run', ...axes.map(axis => axis.key), 'validation'], ...sweepPoints(axes).map(p => [p.run.name, ...p.at, p.loss ?? ''])]) + '\n';
  }
}

const setting = (axes, { at }) => axes.map((axis, i) => short(axis.key) + '=' + plain(at[i])).join(', ');

/** The last part of a key, or all of it where another swept key ends alike. */
const short = key => (swept().filter(axis => axis.key.endsWith(key.replace(/^.*(?=\.)/, ''))).length > 1 ? key : key.replace(/^.*\./, ''));

/** A best value on the border of the grid may not be the best there is. */
function edge(axes, lowest) {
  const at = axes.filter((axis, i) => axis.values.length > 2 && d3.extent(axis.values).includes(lowest.at[i]));
  const beyond = ({ key, values }) => {
    const low = values[0] === lowest.at[axes.findIndex(axis => axis.key === key)];
    const [from, before] = low ? values : values.slice(-2).reverse();
    return `--grid ${key}=${[1, 2].map(i => plain(from * (from / before) ** i)).sort((a, b) => a - b).join(',')}`;
  };
  return at.length ? [`The best lies on the edge of ${at.map(axis => short(axis.key)).join(' and ')}: extend the grid.`, `Next: ht sweep FILE ${at.map(beyond).join(' ')}`] : [];
}

function sweepMaps() {
  const axes = swept();
  if (axes.length < 2) return [];
  const [columns, rows] = axes, points = sweepPoints(axes), lowest = d3.least(points, p => p.loss ?? Infinity);
  // A third setting is left to its best value.
  const cells = d3.rollups(points, group => d3.least(group, p => p.loss ?? Infinity), p => p.at[1] + '|' + p.at[0]).map(([, p]) => p);
  return [{
    title: 'last validation loss', across: columns.key, down: rows.key, rows: rows.values.map(plain), columns: columns.values.map(plain),
    cells: cells.map(p => ({ row: plain(p.at[1]), column: plain(p.at[0]), value: p.loss, name: p.run.name, best: p.run === lowest.run })),
  }];
}
