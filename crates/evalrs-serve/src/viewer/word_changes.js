// The changes from one text to another, word by word: of rationales, and of rubrics whole.

import { element, longText } from './dom.js'
import { wordDiff } from './words.js'

/** The longest text that is compared word by word. */
const MAX_TEXT = 40_000

function marked(before, now, properties) {
  const tags = { same: 'span', out: 'del', in: 'ins' }
  return element('div', { class: 'foreign prose', dir: 'auto', ...properties }, wordDiff(before, now).map(({ kind, text }) => element(tags[kind], null, text)))
}

/** What changed in the words of a rationale; where one side has none, the other. */
export function rationaleDiff(before, now) {
  if (!before && !now) return null
  if (!before || !now || before === now) return longText(now ?? before)
  if (before.length > MAX_TEXT || now.length > MAX_TEXT) {
    return [element('p', { class: 'muted' }, 'Too long to compare word by word.'), longText(before), longText(now)]
  }
  return marked(before, now)
}

/** The whole of a text with what changed in it, in a box that scrolls; `title` names it. */
export function textChange(title, before, now) {
  const box = { class: 'foreign prose text-change', tabindex: '0', role: 'region', 'aria-label': title }
  const isLong = before.length > MAX_TEXT || now.length > MAX_TEXT
  return isLong ? [element('p', { class: 'muted' }, 'Too long to compare word by word: before, then now.'), element('div', box, before), element('div', { ...box, 'aria-label': `${title} now` }, now)]
    : marked(before, now, box)
}

/** Scrolls each box below `node` to its first change. */
export function showFirstChanges(node) {
  for (const box of node.querySelectorAll('.text-change')) {
    const first = box.querySelector('del, ins')
    if (first) box.scrollTop = Math.max(0, first.offsetTop - box.clientHeight / 3)
  }
}
