// When the steps of a conversation happened and what they used: beside each step, and as a timeline with a lane for each agent.

import { counted, decimal, money } from './text.js'
import { element, folded, foreign, svg } from './dom.js'
import { isFailed, taskOf } from './conversation.js'

/** Columns of a timeline, and lanes that it has at most. */
const COLUMNS = 500
const MOST_LANES = 16
const LANE_HEIGHT = 14

function timeOf(message) {
  const time = message?.at ? Date.parse(message.at) : NaN
  return Number.isFinite(time) ? time : null
}

/** How long a step took, in seconds: from the end of the step before it of the same agent. A call ends with its return. */
function secondsOf(step, before) {
  const from = stepEnd(before)
  const to = stepEnd(step)
  return from === null || to === null || to < from ? null : (to - from) / 1000
}

function stepEnd(step) {
  return timeOf(step?.answer) ?? timeOf(step?.message)
}

/** Seconds as they are said: 0.4 s, 3 min 5 s. */
function secondsText(seconds) {
  return seconds < 60 ? `${decimal(seconds, seconds < 10 ? 1 : 0)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

function tokensText({ input_tokens: input, output_tokens: output }) {
  return [input > 0 && `${counted(input)} in`, output > 0 && `${counted(output)} out`].filter(Boolean).join(', ')
}

/** The step before one that is of the same agent, if it is near. */
export function stepBefore(steps, at) {
  const { subagent, started_by: call } = steps[at].message
  for (let other = at - 1; other >= Math.max(0, at - 100); other -= 1) {
    const { message } = steps[other]
    if (message.subagent === subagent && message.started_by === call) return steps[other]
  }
  return null
}

/** What is recorded of a step: seconds, tokens, cost; nothing where nothing is. */
export function stepUse(steps, at) {
  const step = steps[at]
  const { message } = step
  const seconds = message.role === 'user' || message.role === 'system' ? null : secondsOf(step, stepBefore(steps, at))
  const parts = [seconds !== null && secondsText(seconds), tokensText(message), typeof message.cost === 'number' && money(message.cost)].filter(Boolean)
  return parts.length > 0 && element('span', { class: 'step-use figures', title: message.at ?? null }, parts.map((part, at) => [at > 0 && ' · ', part]))
}

/** The lanes of a conversation: the agent itself, then each sub-agent in the order in which they begin. */
export function lanesOf(talk) {
  const lanes = new Map([['', { title: 'Agent', steps: [] }]])
  for (const [at, step] of talk.steps.entries()) {
    const { subagent, started_by: call } = step.message
    const key = subagent ? call ?? '?' : ''
    if (!lanes.has(key)) {
      const starter = talk.steps[talk.calls.get(call)]
      lanes.set(key, { title: starter ? taskOf(starter.message) : 'Sub-agent', steps: [] })
    }
    lanes.get(key).steps.push(at)
  }
  return [...lanes.values()].filter((lane) => lane.steps.length > 0)
}

/** Where each step stands from 0 to 1: by time where nearly all have one, else by number. */
function positions(steps) {
  const times = steps.map((step) => timeOf(step.message))
  const known = times.filter((time) => time !== null)
  const first = known.reduce((one, other) => Math.min(one, other), Infinity)
  const span = known.reduce((one, other) => Math.max(one, other), -Infinity) - first
  if (known.length < steps.length * 0.8 || !(span > 0)) return { at: (index) => index / steps.length, seconds: null }
  let last = first
  const filled = times.map((time) => (last = time ?? last))
  return { at: (index) => (filled[index] - first) / span * (1 - 1 / COLUMNS), seconds: span / 1000 }
}

/** What an agent used in all. */
function laneUse(talk, lane) {
  const sum = (name) => lane.steps.reduce((total, at) => total + (talk.steps[at].message[name] ?? 0), 0)
  const cost = sum('cost')
  const failed = lane.steps.filter((at) => isFailed(talk.steps[at])).length
  return [counted(lane.steps.length, 'step'), failed > 0 && `${counted(failed)} failed`, tokensText({ input_tokens: sum('input_tokens'), output_tokens: sum('output_tokens') }), cost > 0 && money(cost)].filter(Boolean).join(' · ')
}

/** A lane: marks of its steps, those of one column together; a press brings the first of them into view. */
function laneMarks(talk, lane, place) {
  const columns = new Map()
  for (const at of lane.steps) {
    const column = Math.floor(place.at(at) * COLUMNS)
    const mark = columns.get(column) ?? { at, failed: null, calls: 0 }
    if (mark.failed === null && isFailed(talk.steps[at])) mark.failed = at
    mark.calls += talk.steps[at].message.role === 'tool_call' ? 1 : 0
    columns.set(column, mark)
  }
  const sorted = [...columns].sort(([one], [other]) => one - other)
  return sorted.map(([column, { at, failed, calls }], index) => {
    const next = sorted[index + 1]?.[0] ?? column + 2
    const kind = failed !== null ? 'failed' : talk.steps[at].message.role === 'user' ? 'of-user' : calls > 0 ? 'of-call' : ''
    return svg('rect', { x: column, y: 1, width: Math.max(1, Math.min(next - column - 0.4, 12)), height: LANE_HEIGHT - 2, class: `mark ${kind}`, onclick: () => talk.show(failed ?? at) })
  })
}

/** The timeline, folded; nothing for few steps of one agent. */
export function timeline(talk) {
  const lanes = lanesOf(talk)
  const place = positions(talk.steps)
  const rows = () => lanes.slice(0, MOST_LANES).map((lane) => element('li', null,
    element('span', { class: 'lane-title' }, foreign(lane.title)),
    svg('svg', { class: 'lane', viewBox: `0 0 ${COLUMNS} ${LANE_HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${lane.title}: ${laneUse(talk, lane)}` }, laneMarks(talk, lane, place)),
    element('span', { class: 'lane-use muted figures' }, laneUse(talk, lane))))
  const left = lanes.length - MOST_LANES
  const scale = place.seconds === null ? 'From the first step to the last; times are not recorded.' : `${secondsText(place.seconds)} from the first step to the last.`
  return folded(['Timeline ', element('span', { class: 'muted' }, lanes.length > 1 && counted(lanes.length, 'agent'), lanes.length > 1 && place.seconds !== null && ' · ', place.seconds !== null && secondsText(place.seconds))],
    () => [element('ol', { class: 'lanes' }, rows()), element('p', { class: 'muted small' }, scale, ' Red: failed calls. The outline has the same steps as a list.', left > 0 && ` ${counted(left, 'more agent')}.`)], { class: 'outline timeline', open: lanes.length > 1 })
}
