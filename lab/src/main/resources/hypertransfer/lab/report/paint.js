// Colours and dashes of the runs.

const SOLID = 9, DASHED = 6, PAIRS = 3;

/** Colours that a swept value can have: both ends keep a contrast of 3:1 to the ground. */
const ramp = t => (document.documentElement.dataset.theme === 'dark' ? d3.interpolatePlasma(0.42 + 0.55 * t) : d3.interpolatePlasma(0.6 * t));

/**
 * Targets are solid, those that follow them dashed, as in the paper. An optimizer has one hue, and so have its seeds; where
 * there is only one optimizer, every side has. The first that follows a target has the target's own hue, darker or lighter
 * than it, so that a pair can be seen as one; hues repeat with another dash. A filter changes no colour.
 */
function paint() {
  const count = new Map(), next = key => count.set(key, (count.get(key) ?? -1) + 1).get(key);
  const all = sidesOf(ofNetwork());
  const at = run => model.study.rows.findIndex(({ runs }) => runs.includes(run)), row = run => (at(run) < 0 ? Infinity : at(run));
  const first = d3.sort(all.filter(({ lead }) => !follows(lead)), ({ lead }) => row(lead)), kinds = [...new Set(first.map(({ lead }) => optimizer(lead)))];
  for (const { lead, runs } of [...first, ...d3.sort(all.filter(({ lead }) => follows(lead)), ({ lead }) => row(follows(lead)))]) {
    const target = follows(lead);
    if (!target) {
      const i = standingHue(lead) ?? (kinds.length > 1 ? kinds.indexOf(optimizer(lead)) : next('side')), again = model.standings ? next('row ' + i) : kinds.length > 1 ? next(optimizer(lead)) : 0;
      runs.forEach(run => Object.assign(run, { hue: i, colour: `var(--solid-${i % SOLID})`, dash: ['', '16 3', '3 2', '10 3 2 3'][(Math.floor(i / SOLID) + again) % 4] }));
    } else if (placebo(lead)) runs.forEach(run => Object.assign(run, { colour: 'var(--axis)', dash: '2 2' }));
    else {
      const pair = target.hue < PAIRS && !next('first of ' + target.name), i = pair ? target.hue : PAIRS + next('others');
      const again = pair ? next('hue ' + i) : Math.floor(i / DASHED);
      runs.forEach(run => Object.assign(run, { colour: `var(--dashed-${i % DASHED})`, dash: ['7 5', '2 3', '12 4 2 4'][again % 3] }));
    }
  }
  const scale = colourScale();
  if (!scale) return;
  for (const run of runs()) {
    const value = Number(run.config[view.colour]);
    run.colour = finite(value) ? d3.color(ramp(scale(value))).formatHex() : 'var(--axis)';
    run.dash = follows(run) ? '6 5' : '';
  }
}

/** From the swept value that colours the runs to 0..1; undefined where every run has a colour of its own. */
function colourScale() {
  const axis = swept().find(({ key }) => key === view.colour);
  if (!axis) return undefined;
  const [lo, hi] = d3.extent(axis.values);
  return (lo > 0 && hi / lo >= 4 ? d3.scaleLog() : d3.scaleLinear()).domain([lo, hi]).range([0, 1]);
}

/** One legend for all figures: click hides or shows a run, with Alt only that one stays. Arrow keys go from name to name. */
function legend() {
  const host = element('legend');
  const scale = colourScale();
  const focused = host.contains(document.activeElement) ? document.activeElement.dataset.run : null;
  put(host, html`${scale ? bar(scale) : ''}${ordered().map(({ lead, label }, i) => html`<button type="button" class="key" data-run="${lead.name}" tabindex="${i ? -1 : 0}" aria-pressed="${!model.hidden.has(lead.name)}">${swatch(lead)}${label}</button>`)}`);
  host.classList.toggle('many', Boolean(scale) && sides().length > FOLDED);
  const header = document.querySelector('header'), sticks = what => getComputedStyle(what).position === 'sticky';
  const top = sticks(header) ? header.offsetHeight : 0, sticky = sticks(host);
  host.style.top = top + 'px';
  document.documentElement.style.scrollPaddingTop = top + (sticky ? host.offsetHeight : 0) + 12 + 'px';
  const keys = [...host.querySelectorAll('.key')];
  keys.find(key => key.dataset.run === focused)?.focus();
  host.onclick = event => {
    const name = event.target.closest('.key')?.dataset.run;
    if (name === undefined) return;
    const own = model.runs.get(name).side.runs.map(run => run.name), hidden = model.hidden.has(name);
    if (event.altKey) {
      const alone = visible().length === own.length && !hidden;
      model.hidden = new Set(alone ? [] : runs().map(run => run.name).filter(other => !own.includes(other)));
    } else own.forEach(other => (hidden ? model.hidden.delete(other) : model.hidden.add(other)));
    redraw();
  };
  host.onkeydown = event => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = keys.indexOf(document.activeElement);
    if (!move || at < 0) return;
    event.preventDefault();
    keys[(at + move + keys.length) % keys.length].focus();
  };
  const light = event => {
    const name = event.type === 'pointerover' ? event.target.closest('.key')?.dataset.run : undefined;
    d3.selectAll('.canvas path[data-run]').classed('dim', function () {
      return name !== undefined && this.dataset.run !== name;
    });
  };
  host.onpointerover = host.onpointerout = light;
}

function bar(scale) {
  const [lo, hi] = scale.domain();
  return html`<span class="bar-legend">${view.colour} ${show(lo)} <svg width="120" height="10" aria-hidden="true">${d3.range(24).map(i => html`<rect x="${i * 5}" width="5" height="10" fill="${d3.color(ramp(i / 23)).formatHex()}"/>`)}</svg> ${show(hi)}</span>`;
}
