// What helps to find something in a long conversation: search, failed calls, an outline, and opening all that is folded.

import { beginning, counted } from './text.js'
import { button, element, field, folded, foreign } from './dom.js'
import { isFailed, taskOf } from './conversation.js'
import { timeline } from './conversation_time.js'

/** The most lines of an outline. */
const MOST_LINES = 3000
/** How long nothing is typed before the search begins, in milliseconds. */
const TYPING_HERE = 250

/** The tools above a conversation. */
export class ConversationTools {
  constructor(talk) {
    Object.assign(this, { talk, found: [], at: -1, failedAt: -1 })
    this.failed = talk.steps.flatMap((step, at) => (isFailed(step) ? [at] : []))
    this.search = element('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'Find', 'aria-keyshortcuts': 'f', oninput: () => this.typed(), onkeydown: (event) => this.pressed(event) })
    this.count = element('span', { class: 'count figures', role: 'status' })
    const open = button('Open all', () => {
      talk.setOpen(!talk.isOpen)
      open.setAttribute('aria-pressed', talk.isOpen)
    }, { 'aria-pressed': 'false' })
    this.node = element('div', { class: 'talk-tools' }, field('Find in the conversation', this.search, { class: 'field search' }), this.count,
      this.failed.length > 0 && button(['Failed calls ', element('span', { class: 'figures' }, counted(this.failed.length)), ' ', element('kbd', null, 'e')], () => this.nextFailed()), open)
    this.outline = [timeline(talk), folded('Outline', () => outline(talk), { class: 'outline' })]
    this.keys = { f: () => this.search.focus(), e: () => this.nextFailed() }
  }

  typed() {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.find(), TYPING_HERE)
  }

  pressed(event) {
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (this.words !== this.search.value.toLowerCase()) this.find()
    else this.step(event.shiftKey ? -1 : 1)
  }

  find() {
    clearTimeout(this.timer)
    this.words = this.search.value.toLowerCase()
    this.found = this.words ? this.talk.steps.flatMap((step, at) => (textOf(step).includes(this.words) ? [at] : [])) : []
    this.at = -1
    this.step(1)
  }

  step(by) {
    const { found } = this
    if (found.length) {
      this.at = (this.at + by + found.length) % found.length
      this.talk.show(found[this.at])
    }
    this.count.textContent = !this.words ? '' : found.length ? `${this.at + 1} of ${counted(found.length)}` : 'not found'
  }

  nextFailed() {
    if (!this.failed.length) return
    this.failedAt = (this.failedAt + 1) % this.failed.length
    this.talk.show(this.failed[this.failedAt])
  }
}

/** All that a step says, in small letters. */
function textOf({ message, answer }) {
  const args = message.arguments
  const parts = [message.name, message.text, typeof args === 'string' ? args : args && JSON.stringify(args), answer?.text]
  return parts.filter(Boolean).join('\n').toLowerCase()
}

const SHORT_ROLES = { system: 'system', user: 'user', assistant: 'says', reasoning: 'thinks', tool_return: 'returned', other: 'other' }

/** A line for each step. A press brings it into view. */
function outline(talk) {
  let last = null
  const lines = talk.steps.slice(0, MOST_LINES).map((step, at) => {
    const { message } = step
    const isCall = message.role === 'tool_call'
    const name = isCall ? foreign(message.name ?? 'tool', { class: 'foreign tool' }) : element('span', { class: 'muted' }, SHORT_ROLES[message.role] ?? message.role)
    const starter = message.started_by !== last && talk.steps[talk.calls.get(message.started_by)]
    last = message.started_by
    const text = isCall ? beginning(message.arguments ?? '', 60) : beginning(message.text ?? '', 80)
    const kind = [message.subagent && 'of-subagent', message.role === 'user' && 'of-user', isFailed(step) && 'is-failed'].filter(Boolean).join(' ')
    return element('li', { class: kind || null }, button([element('span', { class: 'muted figures' }, `#${step.number}`), ' ', starter && element('strong', null, foreign(taskOf(starter.message)), ': '), name, ' ', foreign(text), isFailed(step) && element('span', { class: 'failed-mark' }, ' ✗ failed')], () => talk.show(at), { class: 'quiet' }))
  })
  const left = talk.steps.length - lines.length
  return [element('ol', { class: 'outline-lines' }, lines), left > 0 && element('p', { class: 'muted small' }, `The first ${counted(lines.length)} of ${counted(talk.steps.length, 'step')}.`)]
}

const CITED = /\[M(\d{1,6})\]|\b(?:message|msg\.?|step) #?(\d{1,6})\b/gi

/** Makes links of what a rationale says of messages: `[M12]`, `message 12`. */
export function linkCitations(node, talk) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT)
  const texts = []
  while (walker.nextNode()) texts.push(walker.currentNode)
  for (const text of texts.filter((one) => !one.parentNode.closest('a, button, code'))) {
    const parts = []
    let from = 0
    for (const cited of text.data.matchAll(CITED)) {
      const at = talk.stepOf(Number(cited[1] ?? cited[2]))
      if (at < 0) continue
      parts.push(text.data.slice(from, cited.index), button(cited[0], () => talk.show(at), { class: 'citation', title: 'Show this message' }))
      from = cited.index + cited[0].length
    }
    if (parts.length) text.replaceWith(...parts, text.data.slice(from))
  }
}
