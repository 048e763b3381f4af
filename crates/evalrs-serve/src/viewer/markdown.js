// Markdown as people read it: headings, lists, tables, code, links and pictures. It makes elements and never markup, fetches nothing, and leaves
// what it does not know as the text that it is. Every loop looks at a character a bounded number of times.

import { element, longText } from './dom.js'
import { prefer, preference } from './preferences.js'

/** How deep lists, quotes and marks of emphasis go into one another. */
const DEEPEST = 8
/** The most characters between the brackets of a link, and the most ends of an emphasis that are tried. */
const MOST_LINK_TEXT = 2000
const MOST_ENDS = 16

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)/
const HEADING = /^ {0,3}(#{1,6})[ \t]+(?=\S)/
const RULE = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/
const DELIMITER_ROW = /^ {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*$/
const WORTH_A_LOOK = /[*_`#>|[\]~\\]|^ {0,3}(?:[-+]|\d{1,9}[.)])[ \t]|^ {0,3}-{3,}|https?:\/\//m
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif|bmp);base64,[A-Za-z0-9+/=\s]+$/
const OUTWARD = /^(?:https?:\/\/|mailto:)/i
const ESCAPED = /[!-/:-@[-`{-~]/

/** A longer text is shown as it is. */
const MOST_FORMATTED = 500_000

/** Whether a reader wants texts as they were written. */
export function showsRaw() {
  return preference('raw') === 'on'
}

/** Texts as they were written from now on, or as Markdown again. */
export function toggleRaw() {
  prefer('raw', showsRaw() ? null : 'on')
}

/** What somebody wrote: as Markdown, or as it is. */
export function writtenText(value, properties, most = 4000) {
  if (showsRaw()) return longText(value, properties, most)
  return longText(value, { class: 'foreign prose written', ...properties }, beyondPictures(String(value), most), markdownNodes)
}

/** How many characters are shown at once, so that pictures do not count, and none is cut. */
function beyondPictures(text, most) {
  let end = most
  for (const { index, 0: data } of text.matchAll(/\(data:[^)]*\)/g)) {
    if (index >= end) break
    end += data.length
  }
  return end
}

/** Nodes of a text; the text itself where there is no Markdown in it. */
export function markdownNodes(text) {
  return text.length <= MOST_FORMATTED && WORTH_A_LOOK.test(text) ? blockNodes(text.split('\n'), 0) : [text]
}

function blockNodes(lines, depth) {
  const nodes = []
  let at = 0
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1
      continue
    }
    const [node, next] = blockAt(lines, at, depth)
    nodes.push(node)
    at = next
  }
  return nodes
}

/** The block that begins at a line, and the line after it. */
function blockAt(lines, at, depth) {
  const line = lines[at]
  const fence = FENCE.exec(line)
  if (fence) return codeBlock(lines, at, fence)
  const heading = HEADING.exec(line)
  if (heading) return [element('p', { class: `md-heading md-${heading[1].length}` }, inlineNodes(headingText(line.slice(heading[0].length)), 0)), at + 1]
  if (RULE.test(line)) return [element('hr'), at + 1]
  if (depth < DEEPEST && QUOTE.test(line)) {
    const end = endOf(lines, at, (one) => QUOTE.test(one))
    return [element('blockquote', null, blockNodes(lines.slice(at, end).map((one) => one.replace(QUOTE, '')), depth + 1)), end]
  }
  if (depth < DEEPEST && ITEM.test(line)) return listBlock(lines, at, depth)
  if (isTable(lines, at)) return tableBlock(lines, at)
  let end = at + 1
  while (end < lines.length && lines[end].trim() && !beginsBlock(lines, end)) end += 1
  return [element('p', null, inlineNodes(lines.slice(at, end).join('\n'), 0)), end]
}

function endOf(lines, from, belongs) {
  let end = from
  while (end < lines.length && belongs(lines[end])) end += 1
  return end
}

function beginsBlock(lines, at) {
  const line = lines[at]
  return FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || ITEM.test(line) || RULE.test(line) || isTable(lines, at)
}

/** Without the marks that may close it. */
function headingText(text) {
  let end = text.trimEnd().length
  while (end > 0 && text[end - 1] === '#') end -= 1
  return end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trimEnd() : text.trimEnd()
}

function codeBlock(lines, at, [, fence, language]) {
  const isEnd = (line) => {
    const end = FENCE.exec(line)
    return end && end[1][0] === fence[0] && end[1].length >= fence.length && !line.trim().slice(end[1].length).trim()
  }
  const end = endOf(lines, at + 1, (line) => !isEnd(line))
  const code = element('code', null, lines.slice(at + 1, end).join('\n'))
  return [element('pre', { class: 'md-code', dir: 'ltr', tabindex: '0', role: 'region', 'aria-label': language ? `Code: ${language}` : 'Code' }, code), end + 1]
}

function listBlock(lines, at, depth) {
  const [, , first] = ITEM.exec(lines[at])
  const isNumbered = /\d/.test(first)
  const items = []
  let next = at
  while (next < lines.length) {
    const own = ITEM.exec(lines[next])
    if (!own || /\d/.test(own[2]) !== isNumbered) break
    const indent = Math.max(2, Math.min(own[0].length, own[1].length + own[2].length + 4))
    const inside = [lines[next].slice(own[0].length)]
    next += 1
    while (next < lines.length && belongsToItem(lines, next, indent)) {
      inside.push(lines[next].slice(Math.min(indent, indentOf(lines[next]))))
      next += 1
    }
    items.push(element('li', null, itemNodes(inside, depth)))
  }
  const start = isNumbered ? Number.parseInt(first, 10) : 1
  return [element(isNumbered ? 'ol' : 'ul', { start: start === 1 ? null : String(start) }, items), next]
}

/** An item of one paragraph is that line, as tight lists are. */
function itemNodes(lines, depth) {
  const end = endOf(lines, 1, (line) => line.trim() && !ITEM.test(line) && !FENCE.test(line))
  const first = lines[0].trim() && !FENCE.test(lines[0]) && !QUOTE.test(lines[0]) ? inlineNodes(lines.slice(0, end).map((line) => line.trim()).join('\n'), 0) : null
  return first ? [...first, ...blockNodes(lines.slice(end), depth + 1)] : blockNodes(lines, depth + 1)
}

function belongsToItem(lines, at, indent) {
  if (lines[at].trim()) return indentOf(lines[at]) >= indent || (lines[at - 1].trim() && !beginsBlock(lines, at))
  const next = lines[at + 1]
  return next !== undefined && next.trim() !== '' && indentOf(next) >= indent
}

function indentOf(line) {
  return line.length - line.trimStart().length
}

function isTable(lines, at) {
  return lines[at].includes('|') && at + 1 < lines.length && lines[at + 1].includes('-') && DELIMITER_ROW.test(lines[at + 1]) && cellsOf(lines[at]).length === cellsOf(lines[at + 1]).length
}

function cellsOf(line) {
  const cells = ['']
  const text = line.trim().replace(/^\|/, '')
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\' && text[at + 1] === '|') cells[cells.length - 1] += text[++at]
    else if (text[at] === '|') cells.push('')
    else cells[cells.length - 1] += text[at]
  }
  if (cells.length > 1 && !cells.at(-1).trim()) cells.pop()
  return cells.map((cell) => cell.trim())
}

function tableBlock(lines, at) {
  const end = endOf(lines, at + 2, (line) => line.includes('|') && line.trim() !== '')
  const sides = cellsOf(lines[at + 1]).map((cell) => (cell.endsWith(':') ? cell.startsWith(':') ? 'md-middle' : 'md-right' : null))
  const row = (line, tag) => element('tr', null, sides.map((side, column) => element(tag, { class: side }, inlineNodes(cellsOf(line)[column] ?? '', 0))))
  const node = element('table', null, element('thead', null, row(lines[at], 'th')), element('tbody', null, lines.slice(at + 2, end).map((line) => row(line, 'td'))))
  return [element('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table' }, node), end]
}

/** The text of one block with its emphasis, code, links and pictures. */
function inlineNodes(text, depth) {
  const nodes = []
  let plain = ''
  const flush = () => {
    if (plain) nodes.push(plain)
    plain = ''
  }
  // Ends that were looked for and are nowhere after here.
  const missing = new Set()
  let at = 0
  while (at < text.length) {
    const found = depth < DEEPEST ? inlineAt(text, at, depth, missing) : null
    if (found) {
      if (found.node !== null) {
        flush()
        nodes.push(found.node)
      } else plain += found.text
      at = found.end
    } else plain += text[at++]
  }
  flush()
  return nodes
}

function inlineAt(text, at, depth, missing) {
  const character = text[at]
  if (character === '\\') return ESCAPED.test(text[at + 1] ?? '') ? { node: null, text: text[at + 1], end: at + 2 } : null
  if (character === '`') return codeSpan(text, at, missing)
  if (character === '!' && text[at + 1] === '[') return linkAt(text, at + 1, depth, true)
  if (character === '[') return linkAt(text, at, depth, false)
  if (character === '*' || character === '_' || character === '~') return emphasis(text, at, depth, missing)
  if (character === 'h' && text.startsWith('http', at)) return bareAddress(text, at)
  return null
}

function codeSpan(text, at, missing) {
  let end = at
  while (text[end] === '`') end += 1
  const fence = text.slice(at, end)
  const raw = { node: null, text: fence, end }
  if (missing.has(fence)) return raw
  let close = text.indexOf(fence, end)
  while (close >= 0 && (text[close - 1] === '`' || text[close + fence.length] === '`')) {
    while (text[close] === '`') close += 1
    close = text.indexOf(fence, close)
  }
  if (close >= 0) return { node: element('code', null, text.slice(end, close).trim()), end: close + fence.length }
  missing.add(fence)
  return raw
}

function emphasis(text, at, depth, missing) {
  const character = text[at]
  const mark = text[at + 1] === character ? character + character : character
  const inside = at + mark.length
  const isWord = (one) => one !== undefined && /[\p{L}\p{N}_]/u.test(one)
  const opens = mark !== '~' && /\S/.test(text[inside] ?? '') && !(character === '_' && isWord(text[at - 1]))
  if (!opens || missing.has(mark)) return { node: null, text: mark, end: inside }
  let close = text.indexOf(mark, inside + 1)
  for (let tried = 0; close >= 0 && tried < MOST_ENDS; tried += 1) {
    const isLonger = mark.length === 1 && (text[close + 1] === character || text[close - 1] === character)
    if (/\S/.test(text[close - 1]) && text[close - 1] !== '\\' && !isLonger && !(character === '_' && isWord(text[close + mark.length]))) {
      const tag = character === '~' ? 's' : mark.length === 2 ? 'strong' : 'em'
      return { node: element(tag, null, inlineNodes(text.slice(inside, close), depth + 1)), end: close + mark.length }
    }
    close = text.indexOf(mark, close + (isLonger ? 2 : 1))
  }
  if (close < 0) missing.add(mark)
  return { node: null, text: mark, end: inside }
}

/** `[text](address)`, and with a mark of exclamation before it a picture. */
function linkAt(text, open, depth, isPicture) {
  let level = 0
  let close = open
  const most = Math.min(text.length, open + MOST_LINK_TEXT)
  for (; close < most; close += 1) {
    if (text[close] === '\\') close += 1
    else if (text[close] === '[') level += 1
    else if (text[close] === ']' && (level -= 1) === 0) break
  }
  if (close >= most || text[close + 1] !== '(') return null
  const isData = text.startsWith('data:', close + 2)
  const end = text.indexOf(')', close + 2)
  if (end < 0 || (!isData && end - close > MOST_LINK_TEXT)) return null
  const said = text.slice(open + 1, close)
  // A title may follow the address.
  const address = isData ? text.slice(close + 2, end) : text.slice(close + 2, end).trim().replace(/^<|>$/g, '').split(/\s+["'(]/)[0]
  return { node: isPicture ? picture(address, said) : link(address, inlineNodes(said, depth + 1)), end: end + 1 }
}

function link(address, children) {
  if (!OUTWARD.test(address)) return element('span', { title: address }, children)
  return element('a', { href: address, title: address, rel: 'noreferrer noopener', target: '_blank' }, children)
}

/** A picture that is part of the record. One that stands elsewhere is not fetched: its address is shown. */
export function picture(address, said) {
  if (PICTURE.test(address)) return element('img', { class: 'picture', src: address, alt: said || 'picture', loading: 'lazy' })
  const name = [said ? `Picture: ${said}` : 'Picture', address.startsWith('data:') ? ' (of a kind that is not shown)' : '']
  return element('span', { class: 'picture-note' }, OUTWARD.test(address) ? link(address, [...name, ' (not fetched)']) : name)
}

function bareAddress(text, at) {
  const found = /^https?:\/\/[^\s<>"'`\\]+/.exec(text.slice(at, at + MOST_LINK_TEXT))
  if (!found || /[\p{L}\p{N}]/u.test(text[at - 1] ?? '')) return null
  const address = found[0].replace(/[.,;:!?*_~\])}]+$/, '')
  return { node: link(address, [address]), end: at + address.length }
}
