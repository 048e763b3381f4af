// The one way in which parts of the page are made. All text goes through `visible`; nothing is ever parsed as markup.

import { visible } from './text.js'

/** An HTML element. `on…` are listeners; null, undefined and false leave an attribute or a child out. */
export function element(tag, properties, ...children) {
  return furnish(document.createElement(tag), properties, children)
}

/** An SVG element. */
export function svg(tag, properties, ...children) {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children)
}

function furnish(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
    else node.setAttribute(name, value === true ? '' : visible(value))
  }
  node.append(...nodesOf(children))
  return node
}

function nodesOf(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(child))))
}

/** Puts these in place of all that is in `node`. */
export function refill(node, ...children) {
  node.replaceChildren(...nodesOf(children))
  return node
}

/** Text that somebody else wrote, in a line of ours: it cannot turn what stands around it. */
export function foreign(value, properties) {
  return element('bdi', { class: 'foreign', ...properties }, value)
}

/** A button. */
export function button(text, press, properties) {
  return element('button', { type: 'button', onclick: press, ...properties }, text)
}

/** A part that opens and closes. Its inside is made when it opens for the first time. */
export function folded(summary, inside, { open = false, ...properties } = {}) {
  const part = element('details', properties, element('summary', null, summary))
  let isMade = false
  const make = () => {
    if (isMade) return
    isMade = true
    part.append(...nodesOf([inside()]))
  }
  part.addEventListener('toggle', () => part.open && make())
  if (open) {
    make()
    part.open = true
  }
  return part
}

/** The most characters of a text that are shown at once. */
const MAX_SHOWN = 4000

/** A long text with its line breaks; one that is very long is cut, with a button for the rest. */
export function longText(value, properties, most = MAX_SHOWN, nodesFor = (text) => [text]) {
  const text = String(value)
  const node = element('div', { class: 'foreign prose', dir: 'auto', ...properties })
  if (text.length <= most * 1.2) return refill(node, nodesFor(text))
  const rest = button(`Show all ${text.length.toLocaleString('en')} characters`, () => refill(node, nodesFor(text)), { class: 'more' })
  return refill(node, nodesFor(`${text.slice(0, most)}…`), element('div', null, rest))
}

/** JSON, a program's reply and the like. */
export function code(value) {
  return longText(value, { class: 'foreign prose code', dir: 'ltr' })
}

/** A label before a field. */
export function field(label, control, properties) {
  return element('label', { class: 'field', ...properties }, element('span', null, label), control)
}

/** A list of choices `[value, text]`. */
export function choice(label, options, value, change) {
  const control = element('select', { onchange: () => change(control.value) })
  for (const [own, text] of options) control.append(element('option', { value: own }, text))
  for (const [at, [own]] of options.entries()) control.options[at].value = own
  control.value = value ?? ''
  return { node: field(label, control), control }
}

/** A table with a caption that only screen readers read. */
export function table(caption, heads, rows, properties) {
  const head = heads.map((text) => element('th', { scope: 'col', class: columnClass(text) }, text.replace(/^[#~]/, '')))
  const body = rows.map((cells) => element('tr', null, cells.map((cell, at) => {
    const own = columnClass(heads[at])
    return at === 0 ? element('th', { scope: 'row' }, cell) : element('td', { class: own }, cell)
  })))
  return element('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': `Table: ${caption}`, ...properties },
    element('table', null, element('caption', { class: 'unseen' }, caption),
      element('thead', null, element('tr', null, head)), element('tbody', null, body)))
}

/** A head that begins with `#` is one of numbers. */
function columnClass(head) {
  return head.startsWith('#') ? 'number' : null
}
