// How the rows of an experiment stand: a panel for each way of training, the lowest loss on top, and lines between the panels for rows that change places.

const LINE = 26;

/** The parts with the runs that the page has of each. */
function standingRows() {
  return model.standings.parts.map(({ name, title, rows }) => ({ label: name, title, runs: runs().filter(run => rows.some(row => run.name.split('/').pop() === row.folder)) }));
}

/** Which row of the experiment a run belongs to; undefined where it belongs to none. */
function standingHue(run) {
  const names = model.standings?.parts[0].rows.map(row => row.row) ?? [];
  const found = model.standings?.parts.flatMap(part => part.rows).find(row => row.folder === run.name.split('/').pop());
  return found && names.indexOf(found.row);
}

class Standing {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.canvas = frame(host, this, false);
  }

  render() {
    if (!model.standings) return;
    put(this.canvas, this.svg(this.canvas.clientWidth));
    values(this);
  }

  svg(width, alone) {
    const { parts } = model.standings, between = 44, top = alone?.title ? 34 : 4;
    const beside = (width - between * (parts.length - 1)) / parts.length >= 300, wide = beside ? (width - between * (parts.length - 1)) / parts.length : width;
    const names = parts[0].rows.map(row => row.row), colour = row => `var(--solid-${names.indexOf(row.row) % SOLID})`;
    const ends = [0, ...parts.flatMap(part => part.rows.flatMap(row => [row.mean, row.low, row.high].filter(finite)))];
    const name = 34 + d3.max(names, text => textWidth(text, 12)), told = d3.max(parts, part => d3.max(part.rows, row => textWidth(this.told(row), 11.5))) + 14;
    const inner = wide - name - told >= 110, high = 76 + LINE * names.length;
    const plot = wide - name - (inner ? told : 8), scale = d3.scaleLinear(d3.extent(ends), [name + 8, name + plot - 8]).nice();
    const place = (part, row) => 52 + LINE * (part.rows.indexOf(row) + 0.5);
    const drawn = parts.map((part, i) => {
      const [x, y] = beside ? [i * (wide + between), top] : [0, top + i * (high + 34)];
      return html`<g transform="translate(${x} ${y})">${this.panel(part, { wide, name, plot, scale, inner, place, colour })}</g>`;
    });
    const links = !beside ? [] : d3.pairs(parts).flatMap(([a, b], i) => b.rows.map(row => {
      const before = a.rows.find(other => other.row === row.row), x = (i + 1) * wide + i * between;
      return before ? html`<path d="M${x + 6} ${top + place(a, before)}C${x + between / 2} ${top + place(a, before)} ${x + between / 2} ${top + place(b, row)} ${x + between} ${top + place(b, row)}" fill="none" stroke="${colour(row)}" stroke-width="1.6"/>` : '';
    }));
    return picture(width, top + (beside ? high : parts.length * (high + 34)), this.spec.title, html`${heading(this.spec, alone)}${drawn}${links}`);
  }

  panel({ title, reference, rows }, { wide, name, plot, scale, inner, place, colour }) {
    const shares = rows.some(row => finite(row.share_mean)), bottom = 52 + LINE * rows.length, ticks = axisTicks(scale, Math.max(2, Math.floor(plot / 80)), false);
    return html`${folded(title, wide, 13).slice(0, 2).map((text, i) => html`<text x="0" y="${13 + 16 * i}" class="cell">${text}</text>`)}
      <text x="${name + 8}" y="44" class="label">minus ${reference}</text>${inner ? html`<text x="${wide}" y="44" text-anchor="end" class="label">${shares ? 'share of the schedule' : 'tuned'}</text>` : ''}
      ${ticks.at.map(t => html`<line x1="${scale(t.v)}" x2="${scale(t.v)}" y1="52" y2="${bottom}" class="${t.v === 0 ? 'zero' : 'grid'}"/><text x="${scale(t.v)}" y="${bottom + 16}" text-anchor="middle" class="tick">${t.text}${t.v === last(ticks.at).v ? ticks.factor : ''}</text>`)}
      ${rows.map(row => {
        const y = place({ rows }, row), sure = row.row === reference || row.holm < 0.05, at = finite(row.validation) ? row.mean ?? 0 : null;
        return html`<g data-row="${row.run}"><title>${this.said(row)}</title><text x="16" y="${y}" dy="0.35em" text-anchor="end" class="tick">${row.rank ?? ''}</text><text x="26" y="${y}" dy="0.35em" class="name">${row.row}</text>
          ${finite(row.low) ? html`<line x1="${scale(row.low)}" x2="${scale(row.high)}" y1="${y}" y2="${y}" stroke="${colour(row)}" stroke-width="2"/>` : ''}
          ${at === null ? html`<text x="${name + 8}" y="${y}" dy="0.35em" class="tick">diverged</text>` : html`<circle cx="${scale(at)}" cy="${y}" r="5" fill="${sure ? colour(row) : 'var(--card)'}" stroke="${colour(row)}" stroke-width="2"/>`}
          ${inner && !(shares && !finite(row.share_mean)) ? html`<text x="${wide}" y="${y}" dy="0.35em" text-anchor="end" class="tick">${this.told(row)}</text>` : ''}</g>`;
      })}`;
  }

  /** What stands at the end of a row: its values from the grid, or which share of a difference the schedule makes. */
  told(row) {
    const percent = v => d3.format('.0f')(100 * v);
    if (finite(row.share_mean)) return finite(row.share_low) ? `${percent(row.share_mean)} % (${percent(row.share_low)} to ${percent(row.share_high)})` : row.pairs === 1 ? percent(row.share_mean) + ' %' : 'unclear';
    return Object.entries(row.tuned).map(([key, value]) => key.replace(/^matrices\./, '') + '=' + value + (row.edges.includes(key) ? ', the grid’s end' : '')).join(', ');
  }

  said(row) {
    return `${row.run}: validation ${show(row.validation)}` + (finite(row.mean) ? `, minus the reference ${signed(row.mean)}` : '') + (finite(row.low) ? ` (${signed(row.low)} to ${signed(row.high)}), p by Holm ${d3.format('.2r')(row.holm)}` : '');
  }

  csv() {
    const keys = ['rank', 'validation', 'angle', 'mean', 'low', 'high', 'p', 'holm', 'share_mean', 'share_low', 'share_high'];
    return d3.csvFormatRows([['row', 'part', 'run', 'tuned', ...keys], ...model.standings.parts.flatMap(part => part.rows.map(row => [row.row, part.name, row.run, this.told({ tuned: row.tuned, edges: row.edges }), ...keys.map(key => row[key] ?? '')]))]) + '\n';
  }
}
