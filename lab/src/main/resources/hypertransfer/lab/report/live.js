// The page while runs are written.

/** The server sends everything again to each connection, so a lost one starts from nothing. */
function listen() {
  const live = element('live');
  const say = (text, lost) => {
    live.hidden = false;
    live.textContent = text;
    live.classList.toggle('lost', lost);
  };
  say('connecting', true);
  const source = new EventSource('events');
  let changed = false, waiting = false, drawn = 0;
  source.onopen = () => {
    model.runs.clear();
    model.damaged.clear();
    model.notices = [];
    say('live', false);
    changed = true;
  };
  source.onerror = () => say('connection lost, trying again', true);
  source.onmessage = event => {
    const message = JSON.parse(event.data), tick = message.type === 'tick';
    if (!tick) {
      apply(message);
      changed = true;
    }
    // A long run is drawn while it is read. A redraw under the pointer would take away what is being read.
    if (changed && !waiting && tip.hidden && (tick || performance.now() - drawn > 1000)) {
      waiting = true;
      changed = false;
      requestAnimationFrame(() => {
        waiting = false;
        redraw();
        drawn = performance.now();
      });
    }
  };
}
