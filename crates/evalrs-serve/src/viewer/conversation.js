// A conversation as it is read: roles, tool calls folded with their return inside, sub-agents set in.

import { beginning, counted, readable } from './text.js'
import { badge } from './states.js'
import { button, code, element, folded, foreign, longText } from './dom.js'
import { picture, writtenText } from './markdown.js'

/** Messages that are shown before a button shows more. */
const FIRST = 200

const ROLES = { system: 'System', user: 'User', assistant: 'Assistant', reasoning: 'Reasoning', tool_call: 'Tool', tool_return: 'Return', other: 'Other' }

/** The messages, in their order. */
export function conversation(messages) {
  const steps = paired(messages)
  const node = element('div', { class: 'conversation' })
  showFrom(node, steps, 0)
  return node
}

function showFrom(node, steps, from) {
  let block = null
  for (const step of steps.slice(from, from + FIRST)) {
    const parent = step.message.subagent ? (block ??= node.appendChild(subagent())) : node
    if (!step.message.subagent) block = null
    parent.append(stepNode(step))
  }
  const left = steps.length - from - FIRST
  if (left <= 0) return
  const more = button(`Show more: ${counted(left, 'message')} left`, () => {
    more.remove()
    showFrom(node, steps, from + FIRST)
  }, { class: 'more' })
  node.append(more)
}

function subagent() {
  return element('div', { class: 'subagent', role: 'group', 'aria-label': 'Sub-agent' }, element('p', { class: 'subagent-title' }, 'Sub-agent'))
}

/** Each call with the first return after it that names it; other messages alone. */
export function paired(messages) {
  const open = new Map()
  const steps = []
  for (const message of messages) {
    const waiting = message.role === 'tool_return' && message.call !== null ? open.get(message.call) : undefined
    if (waiting) {
      waiting.answer = message
      open.delete(message.call)
      continue
    }
    const step = { message, answer: null }
    if (message.role === 'tool_call' && message.call !== null) open.set(message.call, step)
    steps.push(step)
  }
  return steps
}

function stepNode({ message, answer }) {
  if (message.role === 'tool_call') return callNode(message, answer)
  if (message.role === 'tool_return') return returnNode(message)
  const role = ROLES[message.role] ?? message.role
  const isQuiet = message.role === 'reasoning' || message.role === 'system'
  const text = message.text ?? ''
  const pictures = (message.pictures ?? []).map((address) => element('p', null, picture(address, '')))
  const body = isQuiet && text.length > 300 ? folded(beginning(text, 160), () => writtenText(text)) : (text || !pictures.length) && writtenText(text || '(empty)')
  return element('div', { class: `message ${message.role}` }, element('div', { class: 'role' }, pictures.length > 0 && message.role === 'other' ? 'Picture' : role), element('div', { class: 'said' }, body, pictures))
}

function callNode(message, answer) {
  const isError = message.is_error || answer?.is_error
  const summary = [element('span', { class: 'tool' }, foreign(message.name ?? 'tool')), ' ', foreign(beginning(message.arguments ?? '', 90), { class: 'foreign arguments' }),
    isError && badge('failed', 'error')]
  const inside = () => [
    element('h3', { class: 'minor' }, 'Arguments'), code(readable(message.arguments) ?? '(none)'), message.text && longText(message.text),
    answer && [element('h3', { class: 'minor' }, answer.is_error ? 'Returned an error' : 'Returned'), code(pretty(answer.text)), (answer.pictures ?? []).map((address) => picture(address, ''))],
    !answer && element('p', { class: 'muted' }, 'No return is recorded for this call.')]
  return element('div', { class: 'message tool_call' }, element('div', { class: 'role' }, 'Tool'),
    element('div', { class: 'said' }, folded(summary, inside, { class: 'call', open: isError })))
}

function returnNode(message) {
  const summary = [element('span', { class: 'tool' }, foreign(message.name ?? 'tool')), ' returned ', foreign(beginning(message.text ?? '', 90), { class: 'foreign arguments' }),
    message.is_error && badge('failed', 'error')]
  return element('div', { class: 'message tool_return' }, element('div', { class: 'role' }, 'Return'),
    element('div', { class: 'said' }, folded(summary, () => code(pretty(message.text)), { class: 'call', open: message.is_error })))
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
