// The frame around a figure: its title, its switches, and the ways to take it along.

function frame(host, figure, curves) {
  host.className = 'card figure';
  put(host, html`<div class="head"><h3>${figure.spec.title}</h3><div class="tools">
    ${curves ? html`<button type="button" class="reset" hidden>Reset zoom</button><label class="switch"><input type="checkbox" class="log"> log</label>` : ''}
    <span class="group"><button type="button" data-as="svg">SVG</button><button type="button" data-as="png">PNG</button><button type="button" data-as="csv">CSV</button></span>
    </div></div>${figure.spec.note ? html`<p class="note">${figure.spec.note}</p>` : ''}<div class="canvas"></div>`);
  for (const button of host.querySelectorAll('[data-as]')) {
    button.title = 'Download as ' + button.dataset.as.toUpperCase();
    button.addEventListener('click', () => save(figure, button.dataset.as));
  }
  host.querySelector('.reset')?.addEventListener('click', () => {
    model.zoom = null;
    redraw();
  });
  host.querySelector('.log')?.addEventListener('change', event => {
    figure.log = event.target.checked;
    figure.render();
  });
  return host.querySelector('.canvas');
}

/** The figure as a document of its own: the page's rules for pictures inside, its variables resolved, its ground painted. */
function standalone(figure) {
  const rules = [...document.styleSheets[0].cssRules].filter(rule => rule.selectorText?.startsWith('svg ')).map(rule => rule.cssText.slice(4));
  const style = getComputedStyle(document.documentElement);
  const svg = figure.svg(Math.max(720, Math.min(1400, figure.canvas.clientWidth)), true).text;
  figure.render(); // drawing for the file moved the cells that the pointer looks at
  return svg
    .replace('>', html`><style>${rules.join('')}</style><rect width="100%" height="100%" fill="var(--card)"/>`.text)
    .replace(/width="([\d.]+)" height="([\d.]+)" viewBox="[^"]*"/, (_, w, h) => {
      const [wide, high] = [Number(w) + 32, Number(h) + 16]; // a margin
      return `width="${wide}" height="${high}" viewBox="-16 -8 ${wide} ${high}"`;
    })
    .replace('<rect width="100%" height="100%"', '<rect x="-16" y="-8" width="100%" height="100%"')
    .replace(/var\((--[\w-]+)\)/g, (_, name) => esc(style.getPropertyValue(name).trim()));
}

async function save(figure, as) {
  const name = figure.spec.file + '.' + as;
  if (as === 'csv') return offer(new Blob([figure.csv()], { type: 'text/csv' }), name);
  const svg = standalone(figure);
  if (as === 'svg') return offer(new Blob([svg], { type: 'image/svg+xml' }), name);
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg);
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob(blob => offer(blob, name));
}

function offer(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
