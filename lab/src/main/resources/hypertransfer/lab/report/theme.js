// Light or dark: as the system has it, until the reader chooses.

const element = id => document.getElementById(id);
const theme = name => (document.documentElement.dataset.theme = name);

/** The theme that the reader chose last, for all pages; some browsers keep nothing for a page of a file. */
function remembered(chosen) {
  try {
    if (chosen) localStorage.setItem('theme', chosen);
    return localStorage.getItem('theme');
  } catch {
    return null;
  }
}

function themed() {
  const dark = matchMedia('(prefers-color-scheme: dark)'), change = name => {
    theme(name);
    redraw();
  };
  theme(remembered() ?? (dark.matches ? 'dark' : 'light'));
  dark.addEventListener('change', () => change(dark.matches ? 'dark' : 'light'));
  element('theme').addEventListener('click', () => {
    change(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    remembered(document.documentElement.dataset.theme);
  });
}
