// The frame around a figure: its title, its switches, its values as a table, and the ways to take it along.

function frame(host, figure, curves) {
  const { title, note, about, grid } = figure.spec;
  host.className = 'card figure';
  put(host, html`<div class="head"><h3 title="${about ?? note}">${title}</h3><div class="tools">
    ${curves ? html`<button type="button" class="reset" hidden>Reset zoom</button>
    ${grid ? html`<label class="switch"><input type="checkbox" class="shared"> same y</label>` : ''}<label class="switch"><input type="checkbox" class="log"> log</label>` : ''}
    <span class="group">${['svg', 'pdf', 'png', 'csv'].map(as => html`<button type="button" data-as="${as}" title="${as === 'pdf' ? 'Print this figure; choose “save as PDF”' : 'Download as ' + as.toUpperCase()}" aria-label="${as === 'pdf' ? 'Print' : 'Download'} ${title} as ${as.toUpperCase()}">${as.toUpperCase()}</button>`)}</span>
    </div></div>${note ? html`<p class="note">${note}</p>` : ''}<div class="canvas"></div>
    <details class="values"><summary>Values</summary><div class="scroll"></div></details>`);
  const on = (selector, event, action) => host.querySelector(selector)?.addEventListener(event, action);
  host.querySelectorAll('[data-as]').forEach(button => button.addEventListener('click', () => save(figure, button.dataset.as)));
  on('.reset', 'click', () => reset(figure));
  on('.log', 'change', event => {
    figure.log = event.target.checked;
    figure.y.clear();
    figure.render();
    keep();
  });
  on('.shared', 'change', event => {
    view.shared = event.target.checked;
    figure.render();
  });
  on('.values', 'toggle', () => values(figure));
  return host.querySelector('.canvas');
}

/** The figure's numbers for those who do not see it: of every line the first, the lowest, the highest and the last; else all. */
function values(chart) {
  const details = chart.host.querySelector('.values');
  if (!details?.open) return;
  if (!chart.cells) {
    const [head, ...rows] = d3.csvParseRows(chart.csv()), text = value => (value !== '' && finite(Number(value)) ? show(Number(value)) : value);
    put(details.querySelector('div'), html`<table><thead><tr>${head.map(name => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row">${first}</th>${others.map(value => html`<td>${text(value)}</td>`)}</tr>`)}</tbody></table>`);
    return;
  }
  const row = (cell, { run, x, y }) => {
    const known = d3.range(x.length).filter(i => finite(y[i]));
    const at = i => html`<td class="number">${i === undefined ? '–' : html`${cell.zero ? signed(y[i]) : show(y[i])}<small>${whole(x[i])}</small>`}</td>`;
    return html`<tr><th scope="row">${swatch(run)}${run.label}</th><td>${cell.title ?? cell.label}</td>${at(known[0])}${at(d3.least(known, i => y[i]))}${at(d3.greatest(known, i => y[i]))}${at(last(known))}</tr>`;
  };
  put(details.querySelector('div'), html`<table><thead><tr><th scope="col">Run</th><th scope="col">Panel</th>${['First', 'Lowest', 'Highest', 'Last'].map(text => html`<th scope="col" class="number">${text}</th>`)}</tr></thead>
    <tbody>${chart.cells.flatMap(cell => cell.series.map(series => row(cell, series)))}</tbody></table>`);
}

const DOTS = 96; // pixels of an inch
/** Widths of saved figures in inches. On paper the caption is the title, and type has 8 points. */
const SIZES = { column: { inches: 3.3, title: false, squeeze: 0.55 }, page: { inches: 6.9, title: false, squeeze: 0.8 }, screen: { title: true, squeeze: 1 } };

/** Draws under the light theme, whatever is shown, and puts everything back. */
function lightly(figure, action) {
  const shown = document.documentElement.dataset.theme;
  theme('light');
  paint();
  const made = action();
  theme(shown);
  paint();
  figure.render(); // drawing for the file moved the cells that the pointer looks at
  return made;
}

/** The figure as it is saved: its markup, and how large it is in inches. What has many panels takes the page's width. */
function sized(figure) {
  const size = view.paper === 'column' && figure.spec.paper ? SIZES.page : SIZES[view.paper], room = size.title ? 16 : 3;
  let inches;
  const text = figure.svg(size.inches ? size.inches * DOTS - 2 * room : figure.spec.paper ?? 760, size).text.replace(/width="([\d.]+)" height="([\d.]+)" viewBox="[^"]*"/, (_, w, h) => {
    const wide = Number(w) + 2 * room, high = Number(h) + room;
    const [across, down] = (inches = size.inches ? [size.inches, (size.inches * high) / wide] : [wide / DOTS, high / DOTS]).map(v => v.toFixed(3));
    return `width="${across}in" height="${down}in" viewBox="${-room} ${-room / 2} ${wide} ${high}"${size.inches ? ' class="paper-size"' : ''}`;
  });
  return { text, inches };
}

/** The figure as a document of its own, always light: the page's rules for pictures inside, its variables resolved, its ground painted. */
function standalone(figure) {
  return lightly(figure, () => {
    const rules = [...document.styleSheets[0].cssRules].filter(rule => /^svg[ .]/.test(rule.selectorText ?? '')).map(rule => rule.cssText.replace(/^svg /, ''));
    const style = getComputedStyle(document.documentElement), { text, inches } = sized(figure);
    const svg = text.replace('>', html`><style>${rules.join('')}</style><rect x="-16" y="-8" width="100%" height="100%" fill="var(--card)"/>`.text)
      .replace(/var\((--[\w-]+)\)/g, (_, name) => esc(style.getPropertyValue(name).trim()));
    return { svg, inches };
  });
}

/** Prints the figure on a sheet of its own size, which browsers save as a PDF of lines and letters. */
function sheet(figure) {
  lightly(figure, () => {
    const { text, inches } = sized(figure), page = new CSSStyleSheet(), host = element('sheet'), title = document.title;
    page.replaceSync(`@page { size: ${inches.map(v => v.toFixed(3) + 'in').join(' ')}; margin: 0 }`);
    document.adoptedStyleSheets = [page];
    put(host, new Markup(text));
    document.documentElement.classList.add('only-sheet');
    document.title = figure.spec.file; // browsers propose it as the file's name
    window.print(); // returns when the dialog is closed
    document.title = title;
    document.documentElement.classList.remove('only-sheet');
    put(host, html``);
    document.adoptedStyleSheets = [];
  });
}

async function save(figure, as) {
  const name = figure.spec.file + '.' + as;
  if (as === 'csv') return offer(new Blob([figure.csv()], { type: 'text/csv' }), name);
  if (as === 'pdf') return sheet(figure);
  const { svg, inches } = standalone(figure);
  if (as === 'svg') return offer(new Blob([svg], { type: 'image/svg+xml' }), name);
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg);
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = inches.map(v => Math.round(v * 300)); // dots, as printers ask for
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
