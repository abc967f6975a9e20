'use strict';
// The one way of making HTML and SVG: whatever is put into a template is escaped, unless it is markup already.

class Markup {
  constructor(text) {
    this.text = text;
  }
}

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const esc = text => String(text).replace(/[&<>"']/g, c => ESCAPES[c]);
const piece = value => (value instanceof Markup ? value.text : Array.isArray(value) ? value.map(piece).join('') : esc(value ?? ''));
const html = (strings, ...values) => new Markup(strings.reduce((text, part, i) => text + piece(values[i - 1]) + part));

// The page's policy refuses every other way to set an element's inside.
const rules = { createHTML: text => text, createScriptURL: address => (address.startsWith('blob:') ? address : '') };
const policy = globalThis.trustedTypes?.createPolicy('page', rules) ?? rules;

function put(host, markup) {
  if (!(markup instanceof Markup)) throw new TypeError('not markup: ' + markup);
  host.innerHTML = policy.createHTML(markup.text);
}
