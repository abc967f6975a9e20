// The frame around a figure: its title, its switches, its values as a table, and the ways to take it along.

function frame(host, figure, curves) {
  const { title, note, grid } = figure.spec;
  host.className = 'card figure';
  put(host, html`<div class="head"><h3>${title}</h3><div class="tools">
    ${curves ? html`<button type="button" class="reset" hidden>Reset zoom</button>
    ${grid ? html`<label class="switch"><input type="checkbox" class="shared"> same y</label>` : ''}<label class="switch"><input type="checkbox" class="log"> log</label>` : ''}
    <span class="group">${['svg', 'png', 'csv'].map(as => html`<button type="button" data-as="${as}" title="Download as ${as.toUpperCase()}" aria-label="Download ${title} as ${as.toUpperCase()}">${as.toUpperCase()}</button>`)}</span>
    </div></div>${note ? html`<p class="note">${note}</p>` : ''}<div class="canvas"></div>
    ${curves && !grid ? html`<details class="values"><summary>Values</summary><div class="scroll"></div></details>` : ''}`);
  const on = (selector, event, action) => host.querySelector(selector)?.addEventListener(event, action);
  host.querySelectorAll('[data-as]').forEach(button => button.addEventListener('click', () => save(figure, button.dataset.as)));
  on('.reset', 'click', () => reset(figure));
  on('.log', 'change', event => {
    figure.log = event.target.checked;
    figure.y.clear();
    figure.render();
  });
  on('.shared', 'change', event => {
    view.shared = event.target.checked;
    figure.render();
  });
  on('.values', 'toggle', () => values(figure));
  return host.querySelector('.canvas');
}

/** The chart's numbers for those who do not see it: of every line the first, the lowest, the highest and the last. */
function values(chart) {
  const details = chart.host.querySelector('.values');
  if (!details?.open) return;
  const row = (cell, { run, x, y }) => {
    const known = d3.range(x.length).filter(i => finite(y[i]));
    const at = i => html`<td class="number">${i === undefined ? '–' : html`${cell.zero ? signed(y[i]) : show(y[i])}<small>${whole(x[i])}</small>`}</td>`;
    return html`<tr><th scope="row">${swatch(run)}${run.name}</th><td>${cell.label}</td>${at(known[0])}${at(d3.least(known, i => y[i]))}${at(d3.greatest(known, i => y[i]))}${at(last(known))}</tr>`;
  };
  put(details.querySelector('div'), html`<table><thead><tr><th scope="col">Run</th><th scope="col">Panel</th>${['First', 'Lowest', 'Highest', 'Last'].map(text => html`<th scope="col" class="number">${text}</th>`)}</tr></thead>
    <tbody>${chart.cells.flatMap(cell => cell.series.map(series => row(cell, series)))}</tbody></table>`);
}

/** The figure as a document of its own, always light: the page's rules for pictures inside, its variables resolved, its ground painted. */
function standalone(figure) {
  const shown = document.documentElement.dataset.theme;
  theme('light');
  paint();
  const rules = [...document.styleSheets[0].cssRules].filter(rule => rule.selectorText?.startsWith('svg ')).map(rule => rule.cssText.slice(4));
  const style = getComputedStyle(document.documentElement);
  const svg = figure.svg(figure.spec.paper ?? 760, true).text
    .replace('>', html`><style>${rules.join('')}</style><rect x="-16" y="-8" width="100%" height="100%" fill="var(--card)"/>`.text)
    .replace(/width="([\d.]+)" height="([\d.]+)" viewBox="[^"]*"/, (_, w, h) => {
      const [wide, high] = [Number(w) + 32, Number(h) + 16]; // a margin
      return `width="${wide}" height="${high}" viewBox="-16 -8 ${wide} ${high}"`;
    })
    .replace(/var\((--[\w-]+)\)/g, (_, name) => esc(style.getPropertyValue(name).trim()));
  theme(shown);
  paint();
  figure.render(); // drawing for the file moved the cells that the pointer looks at
  return svg;
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
  canvas.width = image.width * 3; // 300 dots per inch at the width of a printed column
  canvas.height = image.height * 3;
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
