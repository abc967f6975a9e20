// One step of one matrix, drawn to scale from the logged numbers: the plane of the weights w and the update u.

class Geometry {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.canvas = frame(host, this, false);
    this.choice = element('geometry-choice');
    this.boxes = [...this.choice.querySelectorAll('select, input')];
    this.choice.addEventListener('input', ({ target }) => {
      const [run, matrix, step] = this.boxes;
      this.wish = { run: run.value, matrix: matrix.value, step: target === run ? undefined : Number(step.value) };
      this.render();
    });
  }

  /** The run, matrix and logged step that somebody chose, while they are shown; else a follower, and the step that turned most. */
  chosen() {
    const all = visible().filter(run => run.logged.step.length), [runBox, matrixBox, stepBox] = this.boxes, { wish } = this;
    const run = all.find(r => r.name === wish?.run) ?? all.find(follows) ?? all[0];
    if (!run) return undefined;
    const m = Math.max(0, run.matrices.findIndex(matrix => matrix.name === wish?.matrix));
    const steps = run.logged.step, step = run.name === wish?.run ? wish.step : undefined;
    const i = step === undefined ? d3.maxIndex(track(run, 'angle', m)) : Math.min(step, steps.length - 1);
    const options = (box, names, value) => {
      if ([...box.options].map(o => o.value).join('\n') !== names.join('\n')) put(box, html`${names.map(name => html`<option>${name}</option>`)}`);
      box.value = value;
    };
    options(runBox, all.map(r => r.name), run.name);
    options(matrixBox, run.matrices.map(matrix => matrix.name), run.matrices[m].name);
    Object.assign(stepBox, { max: steps.length - 1, value: i });
    return (this.at = finite(track(run, 'angle', m)[i]) ? { run, m, i } : undefined);
  }

  render() {
    put(this.canvas, this.svg(this.canvas.clientWidth));
    values(this);
  }

  svg(width, alone) {
    const at = alone ? this.at : this.chosen();
    if (!at) return picture(width, 110, this.spec.title, html`<text x="${width / 2}" y="60" class="empty" text-anchor="middle">no angle of a step is logged</text>`);
    const { run, m, i } = at;
    const [norm, target, effective, angle, implied] = ['norm', 'target_norm', 'effective', 'angle', 'implied_decay'].map(column => track(run, column, m)[i]);
    const top = alone?.title ? 30 : 0, wide = width >= 640;
    const parts = [heading(this.spec, alone)];
    const stretch = this.stretch(run, m, i, implied, effective) ?? turned(effective, angle);
    const spaces = [{ name: 'carrier', radius: norm, stretch, colour: 'var(--dashed-0)' }];
    if (Math.abs(target - norm) > 1e-4 * norm) spaces.unshift({ name: 'target', radius: target, stretch, colour: 'var(--solid-0)' });
    const overview = wide ? width * 0.5 : width, detail = wide ? (width - overview - 20) / spaces.length : width / spaces.length;
    const far = d3.max(spaces, s => s.radius) * 1.12;
    parts.push(this.whole(spaces, angle, far, { x: 0, y: top, w: overview, h: 250 }));
    spaces.forEach((space, k) => parts.push(this.near(space, angle, { x: (wide ? overview + 20 : 0) + k * detail, y: top + (wide ? 0 : 262), w: detail - 12, h: 250 }, implied * effective, (overview - 40) / far)));
    const facts = `${run.name}, ${run.matrices[m].name}, step ${whole(run.logged.step[i])}: |w| ${show(norm)}, target norm ${show(target)}, effective rate ${show(effective)}, angle ${show(angle)}`;
    const lines = folded(facts, width - 8, 12), foot = top + (wide ? 274 : 536);
    parts.push(html`${lines.map((line, k) => html`<text x="4" y="${foot + 16 * k}" class="label">${line}</text>`)}`);
    return picture(width, foot + 16 * lines.length - 4, this.spec.title, html`${parts}`);
  }

  /** |w − a|w|û| / |w|: from the ball's shrinking back, or from the next norm where it was logged; undefined where neither is known. */
  stretch(run, m, i, implied, effective) {
    const keep = 1 - implied * effective, norms = track(run, 'norm', m);
    const next = run.logged.step[i + 1] === run.logged.step[i] + 1 ? norms[i + 1] / norms[i] : undefined;
    const ball = /^(hyperball|hypertransfer)/.test(run.mode ?? '');
    return ball ? 1 / keep : next === undefined ? undefined : next / keep;
  }

  /** The whole plane: the origin, both radii, the ray before and after. */
  whole(spaces, angle, far, box) {
    const unit = (box.w - 40) / far;
    const at = (r, t) => [box.x + 12 + unit * r * Math.cos(t), box.y + box.h - 40 - unit * r * Math.sin(t)];
    const arc = r => d3.line().digits(1)(d3.range(-0.05, Math.max(0.35, 1.4 * angle), 0.005).map(t => at(r, t)).filter(([, y]) => y > box.y + 18));
    const parts = [html`<text x="${box.x + 4}" y="${box.y + 12}" class="cell">the plane of w and u, to scale</text>`];
    for (const [t, name] of [[0, 'before'], [angle, 'after']]) {
      const [x, y] = at(far, t);
      parts.push(html`<line x1="${at(0, 0)[0]}" y1="${at(0, 0)[1]}" x2="${x}" y2="${y}" class="ray"/><text x="${x}" y="${name === 'after' ? y - 7 : y + 14}" text-anchor="end" class="tick">${name}</text>`);
    }
    for (const { radius, colour } of spaces) {
      parts.push(html`<path d="${arc(radius)}" fill="none" stroke="${colour}" stroke-dasharray="3 3"/>
        ${[0, angle].map(t => html`<circle cx="${at(radius, t)[0]}" cy="${at(radius, t)[1]}" r="3.5" fill="${colour}"/>`)}`);
    }
    spaces.forEach(({ name, radius }, k) => parts.push(html`<text x="${at(radius, 0)[0]}" y="${at(radius, 0)[1] + 28 + 15 * k}" text-anchor="end" dx="-8" class="tick halo">${name} ${show(radius)}</text>`));
    parts.push(html`<circle cx="${at(0, 0)[0]}" cy="${at(0, 0)[1]}" r="2.5" class="origin"/><text x="${at(0, 0)[0]}" y="${at(0, 0)[1] + 16}" text-anchor="middle" class="tick">0</text>`);
    return html`${parts}`;
  }

  /** The step itself, enlarged alike in both directions: w, minus the update, and along the new ray to where the matrix ends. */
  near({ name, radius, colour, stretch }, angle, box, shrink, overview) {
    const to = [radius * stretch * Math.cos(angle), radius * stretch * Math.sin(angle)];
    const end = stretch * (1 - shrink) * radius; // the carrier's; decay and projection both shrink
    const finish = [end * Math.cos(angle), end * Math.sin(angle)];
    const points = name === 'carrier' ? [[radius, 0], to, finish] : [[radius, 0], to];
    const [left, right] = d3.extent(points, p => p[0]), [low, high] = d3.extent(points, p => p[1]);
    const unit = 0.62 * Math.min(box.w / Math.max(right - left, (high - low) * 0.3), (box.h - 40) / (high - low));
    const x = v => box.x + box.w / 2 + unit * (v - (left + right) / 2), y = v => box.y + 20 + (box.h - 20) / 2 - unit * (v - (low + high) / 2);
    const clip = 'clip' + ++Chart.clips, reach = box.h / unit;
    const arc = d3.line(t => x(radius * Math.cos(t)), t => y(radius * Math.sin(t))).digits(1)(d3.range(-20, 41).map(k => (k / 20) * (reach / radius)));
    const ray = t => html`<line x1="${x((radius - 3 * reach) * Math.cos(t))}" y1="${y((radius - 3 * reach) * Math.sin(t))}" x2="${x((radius + 3 * reach) * Math.cos(t))}" y2="${y((radius + 3 * reach) * Math.sin(t))}" class="ray"/>`;
    const arrow = (from, till, kind) => html`<line x1="${x(from[0])}" y1="${y(from[1])}" x2="${x(till[0])}" y2="${y(till[1])}" stroke="${colour}" stroke-width="2" stroke-dasharray="${kind}"/><circle cx="${x(till[0])}" cy="${y(till[1])}" r="3" fill="${colour}"/>`;
    return html`<text x="${box.x + 4}" y="${box.y + 12}" class="cell">${fitting(`${name}, ×${whole(unit / overview)}`, box.w)}</text>
      <clipPath id="${clip}"><rect x="${box.x}" y="${box.y + 20}" width="${box.w}" height="${box.h - 20}"/></clipPath>
      <rect x="${box.x}" y="${box.y + 20}" width="${box.w}" height="${box.h - 20}" class="pane"/>
      <g clip-path="url(#${clip})">${ray(0)}${ray(angle)}<path d="${arc}" fill="none" stroke="${colour}" stroke-dasharray="3 3"/>
      <circle cx="${x(radius)}" cy="${y(0)}" r="3.5" fill="${colour}"/>${arrow([radius, 0], to, 'none')}${name === 'carrier' ? arrow(to, finish, '2 3') : ''}
      <text x="${x(radius) + 7}" y="${y(0) + 14}" class="tick">w</text><text x="${x((radius + to[0]) / 2) + 7}" y="${y(to[1] / 2)}" class="tick">−a|w|û</text>
      <text x="${x(name === 'carrier' ? finish[0] : to[0]) - 7}" y="${y(to[1]) - 8}" text-anchor="end" class="tick">${name === 'carrier' ? 'new w' : ''}</text></g>`;
  }

  csv() {
    if (!this.at) return '';
    const { run, m, i } = this.at;
    return d3.csvFormatRows([['run', 'matrix', 'step', ...COLUMNS], [run.name, run.matrices[m].name, run.logged.step[i], ...COLUMNS.map(column => track(run, column, m)[i])]]) + '\n';
  }
}

/**
 * The length of a unit vector after a step of length a that turned it by this angle. Two updates turn alike; the one that
 * lengthens is the usual one.
 */
const turned = (a, angle) => Math.cos(angle) + Math.sqrt(Math.max(0, a * a - Math.sin(angle) ** 2));
