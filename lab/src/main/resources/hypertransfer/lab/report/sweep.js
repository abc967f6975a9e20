// The figures of sweeps: the last validation loss against the swept settings, a panel for each optimizer.

/** The sides of all sweeps with their values and losses, the mean over the seeds that all points of a sweep have, if there are any; one without a finite loss has none. */
function sweepPoints() {
  const { facets, axes } = model.study, seeds = side => side.runs.map(run => run.config.seed);
  const shared = facets.map(facet => sides().filter(side => facet.runs.includes(side.lead)).map(seeds).reduce((kept, own) => kept.filter(seed => own.includes(seed))));
  return sides().filter(({ lead }) => !model.hidden.has(lead.name) && facets.some(facet => facet.runs.includes(lead))).map(({ lead, runs }) => {
    const own = shared[facets.findIndex(facet => facet.runs.includes(lead))], losses = runs.filter(run => !own.length || own.includes(run.config.seed)).map(lastLoss);
    return { run: lead, at: axes.map(({ key }) => Number(lead.config[key])), loss: losses.includes(null) ? null : d3.mean(losses), part: losses.length < runs.length };
  });
}

const atSeeds = points => (points.some(p => p.part) ? ' (at common seeds)' : '');

/** The best of some points, at common seeds; undefined where that cannot be told. */
function bestPoint(points) {
  const known = points.filter(p => p.loss !== null), best = lowest(known.map(p => p.run.side));
  return d3.least(known.filter(p => best.includes(p.run.side)), p => p.loss);
}

/** Loss against the setting that matters most, one line for each value of the others. */
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
    const [first, ...others] = swept(), { facets } = model.study, points = sweepPoints(), known = points.filter(p => p.loss !== null);
    const name = p => others.map((axis, i) => `${short(axis.key)} ${plain(p.at[i + 1])}`).join(', ');
    const groups = [...new Set(d3.sort(points, ...others.map((_, i) => p => p.at[i + 1])).map(name))];
    const longest = 52 + d3.max(groups, text => textWidth(text, 11.5)), above = longest > width / 2, names = groups.length > 1 && !above ? longest : 14;
    const across = Math.max(1, Math.min(facets.length, Math.floor((width - names) / 250))), wide = (width - names) / across;
    const [lo, hi] = d3.extent(first.values), log = lo > 0 && hi / lo >= 4;
    // One diverged point must not press the others into a line.
    const ends = among => {
      const losses = among.map(p => p.loss).sort(d3.ascending), floor = losses[0], middle = d3.quantileSorted(losses, 0.75);
      return [floor, Math.min(last(losses), floor + 3 * Math.max(middle - floor, 1e-9))];
    };
    const steps = p => p.run.config.steps, alike = new Set(known.map(steps)).size === 1; // losses of different lengths have no common range
    const colour = i => (groups.length > 1 ? d3.color(ramp(i / (groups.length - 1))).formatHex() : 'var(--solid-0)');
    const parts = [heading(this.spec, alone)], high = Math.round((facets.length > 1 ? 200 : 260) * (alone?.squeeze ?? 1));
    let top = alone?.title ? 44 : 18;
    if (groups.length > 1) {
      const x = above ? 4 : width - names + 14, y = i => top + 8 + 18 * i;
      groups.forEach((text, i) => parts.push(html`<line x1="${x}" x2="${x + 20}" y1="${y(i)}" y2="${y(i)}" stroke="${colour(i)}" stroke-width="2"/><text x="${x + 26}" y="${y(i) + 4}" class="tick">${text}</text>`));
      if (above) top = y(groups.length) + 10;
    }
    for (let row = 0; row * across < facets.length; row++) {
      const words = facets.slice(row * across, (row + 1) * across).map((facet, column) => {
        const box = { x: wide * column + 64, y: top + (facets.length > 1 ? 14 : 0), w: wide - 64, h: high };
        const scales = { x: (log ? d3.scaleLog : d3.scaleLinear)([lo, hi], [box.x + 14, box.x + box.w - 14]), y: d3.scaleLinear(ends(known.filter(p => alike || facet.runs.includes(p.run))), [box.y + box.h - 10, box.y + 6]).nice() };
        const own = points.filter(p => facet.runs.includes(p.run)), lowest = bestPoint(own);
        parts.push(this.panel(facet, box, scales, first), groups.map((text, i) => this.line(own.filter(p => name(p) === text), box, scales, colour(i))));
        if (lowest) parts.push(html`<circle cx="${scales.x(lowest.at[0])}" cy="${scales.y(lowest.loss)}" r="7" class="ring"/>`);
        const said = lowest ? [[`${facets.length > 1 ? facet.label + ': ' : ''}best ${show(lowest.loss)} at ${setting(swept(), lowest)}${atSeeds(own)}`], alone && !alone.title ? [] : edge(swept(), lowest)] : [];
        return said.flatMap((texts, warn) => texts.flatMap(text => folded(text, width - 8, 13).map(line => ({ line, kind: warn ? 'name edge' : 'name' }))));
      }).flat();
      top += high + (facets.length > 1 ? 14 : 0) + 46;
      parts.push(words.map(({ line, kind }, i) => html`<text x="4" y="${top + 10 + 18 * i}" class="${kind}">${line}</text>`));
      top += 18 * words.length + (facets.length > across ? 14 : 0);
    }
    return picture(width, top, this.spec.title, html`${parts}`);
  }

  /** The axes of one optimizer's panel. */
  panel({ label }, box, { x, y }, first) {
    const room = (a, b) => x(b) - x(a) > 8 + (textWidth(plain(a), 11.5) + textWidth(plain(b), 11.5)) / 2;
    const ticks = first.values.reduce((kept, v) => (!kept.length || room(last(kept), v) ? [...kept, v] : kept), []);
    return html`${axisTicks(y, 6, false).at.map(t => html`<line x1="${box.x}" x2="${box.x + box.w}" y1="${y(t.v)}" y2="${y(t.v)}" class="grid"/><text x="${box.x - 8}" y="${y(t.v)}" dy="0.35em" text-anchor="end" class="tick">${t.text}</text>`)}
      ${ticks.map(v => html`<text x="${x(v)}" y="${box.y + box.h + 16}" text-anchor="middle" class="tick">${plain(v)}</text>`)}
      ${model.study.facets.length > 1 ? html`<text x="${box.x + box.w / 2}" y="${box.y - 6}" text-anchor="middle" class="cell facet">${fitting(label, box.w + 50)}</text>` : ''}
      <path d="M${box.x} ${box.y}V${box.y + box.h}H${box.x + box.w}" class="axis"/>
      <text x="${box.x + box.w / 2}" y="${box.y + box.h + 34}" text-anchor="middle" class="label">${first.key}</text>
      <text transform="translate(${box.x - 50} ${box.y + box.h / 2}) rotate(-90)" text-anchor="middle" class="label">last validation loss</text>`;
  }

  line(members, box, { x, y }, colour) {
    const line = d3.sort(members.filter(p => p.loss !== null), p => p.at[0]), clamp = v => Math.max(box.y, y(v));
    return html`<path d="${d3.line(p => x(p.at[0]), p => clamp(p.loss)).digits(1)(line)}" fill="none" stroke="${colour}" stroke-width="1.8"/>
      ${line.map(p => html`<circle cx="${x(p.at[0])}" cy="${clamp(p.loss)}" r="3.5" fill="${colour}" data-run="${p.run.name}"><title>${p.run.label}: ${show(p.loss)}${atSeeds([p])}</title></circle>`)}
      ${line.filter(p => y(p.loss) < box.y).map(p => html`<text x="${x(p.at[0]) - 7}" y="${box.y + 4}" text-anchor="end" class="label halo">↑ ${show(p.loss)}</text>`)}
      ${members.filter(p => p.loss === null).map(p => html`<text x="${x(p.at[0])}" y="${box.y + 8}" text-anchor="middle" class="cell" data-run="${p.run.name}">×<title>${p.run.label}: no finite loss</title></text>`)}`;
  }

  csv() {
    return d3.csvFormatRows([['run', 'optimizer', ...swept().map(axis => axis.key), 'validation'], ...sweepPoints().map(p => [fileName(p.run), optimizer(p.run), ...p.at, p.loss ?? ''])]) + '\n';
  }
}

const setting = (axes, { at }) => axes.map((axis, i) => short(axis.key) + '=' + plain(at[i])).join(', ');

/** The last part of a key, or all of it where another swept key ends alike. */
const short = key => (swept().filter(axis => axis.key.endsWith(key.replace(/^.*(?=\.)/, ''))).length > 1 ? key : key.replace(/^.*\./, ''));

/** Where 'ht sweep' puts more points of the sweep that a run is of. */
const sweepOf = ({ folder: path }) => (/[/][^/=]+=[^/]*$/.test(path) ? ' --out ' + word(path.replace(/[/][^/]*$/, '')) : '');

/** A best value on the border of the grid may not be the best there is. */
function edge(axes, lowest) {
  const own = model.study.facets.find(facet => facet.runs.includes(lowest.run)).runs;
  const grid = axes.map(({ key }, i) => ({ key, at: lowest.at[i], values: [...new Set(own.map(run => Number(run.config[key])))].sort(d3.ascending) }));
  const ends = grid.filter(({ at, values }) => values.length > 2 && d3.extent(values).includes(at));
  const beyond = ({ key, at, values }) => {
    const [from, before] = values[0] === at ? values : values.slice(-2).reverse();
    return `--grid ${word(key)}=${[1, 2].map(i => plain(from * (from / before) ** i)).sort((a, b) => a - b).join(',')}`;
  };
  return ends.length ? [`The best lies on the edge of ${ends.map(({ key }) => short(key)).join(' and ')}: extend the grid.`, `Next: ht sweep ${folder(lowest.run)}/config.yaml ${ends.map(beyond).join(' ')}${sweepOf(lowest.run)}`] : [];
}

/** A map for each optimizer; what is no axis of it is left to its best value, and the map says so. */
function sweepMaps() {
  const { axes: [columns, rows, ...others], facets } = model.study;
  if (!rows) return [];
  const points = sweepPoints(), left = others.length ? `; ${others.map(({ key }) => key).join(' and ')} at its best` : '';
  return facets.map(facet => {
    const own = points.filter(p => facet.runs.includes(p.run)), lowest = bestPoint(own);
    const cells = d3.rollups(own, group => d3.least(group, p => p.loss ?? Infinity), p => p.at[1] + '|' + p.at[0]).map(([, p]) => p);
    const taken = (axis, i) => axis.values.filter(value => own.some(p => p.at[i] === value)).map(plain);
    return {
      title: facets.length > 1 ? facet.label : 'last validation loss', across: columns.key + left, down: rows.key, rows: taken(rows, 1), columns: taken(columns, 0),
      cells: cells.map(p => ({ row: plain(p.at[1]), column: plain(p.at[0]), value: p.loss, name: p.run.name, best: p.run === lowest?.run })),
    };
  });
}
