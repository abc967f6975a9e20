// The view in the address: who opens the link sees what its sender saw. Only what differs from the start is kept.

const KEPT = {
  x: { get: () => view.x, set: v => (view.x = v in X_LABEL ? v : view.x), start: 'step' },
  zoom: { get: () => view.zoom?.join(' ') ?? '', set: v => (view.zoom = /^[-\d.e]+ [-\d.e]+$/.test(v) ? v.split(' ').map(Number) : null) },
  smooth: { get: () => element('smooth').value, set: v => smoothing(Number(v)) },
  focus: { get: () => String(view.focus), set: v => (view.focus = v === 'true'), start: 'true' },
  seeds: { get: () => String(view.seeds ?? ''), set: v => (view.seeds = v === 'true') },
  apart: { get: () => String(view.apart), set: v => (view.apart = v === 'true'), start: 'false' },
  minus: { get: () => view.baseline, set: v => (view.baseline = v) },
  colour: { get: () => view.pick ?? 'auto', set: v => (view.pick = v), start: 'auto' },
  show: { get: () => filter.quantity, set: v => (filter.quantity = v in QUANTITIES ? v : filter.quantity), start: 'effective' },
  network: { get: () => (model.shape === [...model.runs.values()][0]?.shape ? '' : model.shape ?? ''), set: v => (model.shape = v) },
  find: { get: () => model.query, set: v => (model.query = v) },
  sort: { get: () => (sorting.key ? sorting.key + (sorting.down ? ' down' : '') : ''), set: v => Object.assign(sorting, { key: v.replace(/ down$/, ''), down: v.endsWith(' down') }) },
  all: { get: () => String(view.all), set: v => (view.all = v === 'true'), start: 'false' },
  log: { get: () => figures.filter(figure => figure.log).map(figure => figure.spec.file).join(' '), set: v => figures.forEach(figure => (figure.log = v.split(' ').includes(figure.spec.file))) },
  hide: { get: () => (model.hidden.size ? JSON.stringify([...model.hidden]) : ''), set: v => (model.hidden = new Set(JSON.parse(v))) },
};

/** Writes the view into the address; a link to a section stays until there is something to write. */
function keep() {
  const kept = new URLSearchParams();
  for (const [key, { get, start = '' }] of Object.entries(KEPT)) if (get() !== (keep.start?.[key] ?? start)) kept.set(key, get());
  const text = kept.toString();
  if (text ? '#' + text !== location.hash : location.hash.includes('=')) history.replaceState(null, '', '#' + text);
}

/** Takes the view from the address; what cannot be read there is left out. */
function restore() {
  for (const [key, value] of new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '')) {
    try {
      KEPT[key]?.set(value);
    } catch (e) {
      if (!(e instanceof SyntaxError)) throw e;
    }
  }
  for (const [id, value] of [['axis', view.x], ['quantity', filter.quantity], ['search', model.query]]) element(id).value = value;
  for (const id of ['focus', 'apart']) element(id).checked = view[id];
  for (const { log, host } of figures) if (log) host.querySelector('.log').checked = true;
}
