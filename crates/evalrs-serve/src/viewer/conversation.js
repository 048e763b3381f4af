// A conversation as it is read: roles, tool calls folded with their return inside, sub-agents set in. Every message has a number and a link.

import { beginning, counted, readable } from './text.js'
import { badge } from './states.js'
import { button, code, element, folded, foreign, longText, refill } from './dom.js'
import { picture, writtenText } from './markdown.js'

/** Messages that are shown before a button shows more, and before one that was looked for. */
const FIRST = 200
const BEFORE = 20

const ROLES = { system: 'System', user: 'User', assistant: 'Assistant', reasoning: 'Reasoning', tool_call: 'Tool', tool_return: 'Return', other: 'Other' }

/** The messages, in their order. */
export function conversation(messages) {
  return new Conversation(messages).node
}

/** A conversation of which a part is in the page: any message can be brought there. `linkTo(number)` is the address of one, `useOf(steps, at)` what a step used. */
export class Conversation {
  constructor(messages, linkTo = null, useOf = null) {
    this.useOf = useOf
    this.steps = paired(messages)
    /** Where the step with a message of this number stands, and the call of this id. */
    this.places = new Map(this.steps.flatMap((step, at) => [[step.number, at], [step.answerNumber, at]]))
    this.calls = new Map(this.steps.flatMap(({ message }, at) => (message.role === 'tool_call' && message.call ? [[message.call, at]] : [])))
    this.linkTo = linkTo
    this.node = element('div', { class: 'conversation' })
    this.isOpen = false
    this.showFrom(0)
  }

  /** Puts the steps from one on in the place of all that is shown. */
  showFrom(from) {
    this.from = from
    this.to = from
    this.nodes = new Map()
    this.blocks = new Map()
    this.block = null
    const earlier = from > 0 && button(`Show earlier: ${counted(from, 'message')}`, () => this.showFrom(Math.max(0, from - FIRST)), { class: 'more' })
    refill(this.node, earlier)
    this.showMore()
  }

  showMore() {
    const { steps } = this
    for (const [offset, step] of steps.slice(this.to, this.to + FIRST).entries()) {
      const parent = this.placeOf(step)
      const node = stepNode(step, this.linkTo && ((number) => this.linkOf(number)), this.useOf?.(steps, this.to + offset))
      this.nodes.set(this.to + offset, node)
      parent.append(node)
    }
    this.to = Math.min(steps.length, this.to + FIRST)
    if (this.isOpen) this.setOpen(true)
    const left = steps.length - this.to
    if (left <= 0) return
    const more = button(`Show more: ${counted(left, 'message')} left`, () => {
      more.remove()
      this.showMore()
    }, { class: 'more' })
    this.node.append(more)
  }

  /** Where a step stands: those of one sub-agent together, also where several worked at the same time. */
  placeOf({ message: { subagent: isOfSubagent, started_by: call } }) {
    if (!isOfSubagent) {
      this.block = null
      return this.node
    }
    if (!call) return this.block ??= this.node.appendChild(subagent('Sub-agent'))
    if (!this.blocks.has(call)) this.blocks.set(call, this.node.appendChild(subagent(this.titleOf(call))))
    return this.blocks.get(call)
  }

  /** What a sub-agent was started for, with a link to the call. */
  titleOf(call) {
    const at = this.calls.get(call)
    if (at === undefined) return 'Sub-agent'
    const { message, number } = this.steps[at]
    return ['Sub-agent: ', foreign(taskOf(message)), ' ', button(`from #${number}`, () => this.show(at), { class: 'quiet from-call' })]
  }

  linkOf(number) {
    const href = this.linkTo(number)
    return element('a', { class: 'message-number', href, 'aria-label': `Link to message ${number}`, onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return
      event.preventDefault()
      history.replaceState(history.state, '', href)
      this.show(this.stepOf(number))
    } }, `#${number}`)
  }

  /** The step with the message of this number. */
  stepOf(number) {
    return this.places.get(number) ?? -1
  }

  /** Brings a step into view, opened. */
  show(at) {
    if (!this.steps[at]) return
    if (at < this.from || at >= this.to) this.showFrom(Math.max(0, at - BEFORE))
    const node = this.nodes.get(at)
    this.shown?.classList.remove('found')
    this.shown = node
    node.classList.add('found')
    const details = node.querySelector('details')
    if (details) details.open = true
    node.scrollIntoView({ block: 'center' })
  }

  /** Opens or closes all that is folded. */
  setOpen(isOpen) {
    this.isOpen = isOpen
    for (const details of this.node.querySelectorAll('details')) details.open = isOpen
  }
}

function subagent(title) {
  return element('div', { class: 'subagent', role: 'group', 'aria-label': 'Sub-agent' }, element('p', { class: 'subagent-title' }, title))
}

/** What a call asks a sub-agent for. */
export function taskOf({ name, arguments: args }) {
  const said = typeof args === 'object' && args ? args.description ?? args.task ?? args.prompt : args
  return beginning(said || name || 'task', 80)
}

/** Each call with the first return after it that names it; other messages alone. Numbers are those of messages, from 1. */
export function paired(messages) {
  const open = new Map()
  const steps = []
  for (const [at, message] of messages.entries()) {
    const waiting = message.role === 'tool_return' && message.call !== null ? open.get(message.call) : undefined
    if (waiting) {
      waiting.answer = message
      waiting.answerNumber = at + 1
      open.delete(message.call)
      continue
    }
    const step = { message, answer: null, number: at + 1 }
    if (message.role === 'tool_call' && message.call !== null) open.set(message.call, step)
    steps.push(step)
  }
  return steps
}

/** Whether a tool failed in it. */
export function isFailed({ message, answer }) {
  return Boolean(message.is_error || answer?.is_error)
}

function stepNode(step, linkOf, use) {
  const { message } = step
  const said = message.role === 'tool_call' ? callNode(step) : message.role === 'tool_return' ? returnNode(message) : textNode(message)
  const isPicture = message.role === 'other' && message.pictures?.length > 0
  return element('div', { class: `message ${message.role}` }, element('div', { class: 'role' }, isPicture ? 'Picture' : ROLES[message.role] ?? message.role, ' ', linkOf?.(step.number), use), element('div', { class: 'said' }, said))
}

function textNode(message) {
  const isQuiet = message.role === 'reasoning' || message.role === 'system'
  const text = message.text ?? ''
  const pictures = (message.pictures ?? []).map((address) => element('p', null, picture(address, '')))
  const body = isQuiet && text.length > 300 ? folded(beginning(text, 160), () => writtenText(text)) : (text || !pictures.length) && writtenText(text || '(empty)')
  return [body, pictures]
}

function callNode({ message, answer }) {
  const isError = isFailed({ message, answer })
  const summary = [element('span', { class: 'tool' }, foreign(message.name ?? 'tool')), ' ', foreign(beginning(message.arguments ?? '', 90), { class: 'foreign arguments' }),
    isError && badge('failed', 'error')]
  const inside = () => [
    element('h3', { class: 'minor' }, 'Arguments'), code(readable(message.arguments) ?? '(none)'), message.text && longText(message.text),
    answer && [element('h3', { class: 'minor' }, answer.is_error ? 'Returned an error' : 'Returned'), code(pretty(answer.text)), (answer.pictures ?? []).map((address) => picture(address, ''))],
    !answer && element('p', { class: 'muted' }, 'No return is recorded for this call.')]
  return folded(summary, inside, { class: 'call', open: isError })
}

function returnNode(message) {
  const summary = [element('span', { class: 'tool' }, foreign(message.name ?? 'tool')), ' returned ', foreign(beginning(message.text ?? '', 90), { class: 'foreign arguments' }),
    message.is_error && badge('failed', 'error')]
  return folded(summary, () => code(pretty(message.text)), { class: 'call', open: message.is_error })
}

/** JSON with indentation where the text is JSON, else the text. */
export function pretty(text) {
  if (!/^\s*[[{]/.test(text ?? '') || text.length > 500_000) return text ?? ''
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
