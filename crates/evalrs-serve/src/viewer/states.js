// What a state looks like: a sign, a word and a colour, never the colour alone.

import { decimal, gateNumbers } from './text.js'
import { element } from './dom.js'

const STATES = {
  passed: ['✓', 'passed'],
  failed: ['✗', 'failed'],
  errored: ['!', 'error'],
  pending: ['…', 'pending'],
  skipped: ['–', 'skipped'],
  not_applicable: ['–', 'not applicable'],
  undecided: ['?', 'undecided'],
  none: ['–', 'no gate'],
}

/** A state as sign and word. */
export function badge(state, word) {
  const [sign, own] = STATES[state] ?? ['', state ?? '–']
  return element('span', { class: `badge ${state in STATES ? state : ''}` }, hiddenSign(sign), word ?? own)
}

/** A sign beside a word that says the same. */
export function hiddenSign(sign) {
  return element('span', { class: 'sign', 'aria-hidden': 'true' }, sign)
}

/** What the gate says, and its numbers. */
export function gateBadge(gate, { numbers = true } = {}) {
  const text = numbers ? gateNumbers(gate) : ''
  return element('span', { class: 'gate', title: gate?.rule ?? null }, badge(gate?.status ?? 'none'), text && element('span', { class: 'figures' }, text))
}

/** How a run stands: its gate, or that it is under way. A session that is watched has a gate after each save. */
export function runBadge(run, options) {
  return run.under_way && !(run.session && run.gate?.status) ? badge('pending', 'running') : gateBadge(run.gate, options)
}

/** Whether the sign says it all: the best score passes, the worst fails. */
function isPlain({ state, score }) {
  return (state === 'passed' && score === 1) || (state === 'failed' && score === 0)
}

/** A grade in a row: sign and score; the word for screen readers. */
export function scoreCell(grade) {
  if (!grade) return element('span', { class: 'score' }, '–')
  const [sign, word] = STATES[grade.state] ?? ['', grade.state]
  const agrees = grade.label?.agrees
  const shownSign = element('span', { class: 'sign', role: 'img', 'aria-label': word }, sign)
  const content = grade.state === 'errored' ? [hiddenSign(sign), word] : isPlain(grade) ? shownSign : [shownSign, ' ', decimal(grade.score)]
  return element('span', { class: `score ${grade.state}${agrees === true ? ' agrees' : agrees === false ? ' disagrees' : ''}`, title: isPlain(grade) ? `${word}, ${decimal(grade.score)}` : word }, content,
    labelMark(grade.label), disputeMark(grade))
}

/** That some people pass what others fail. */
export function disputeMark(grade) {
  return grade.disputed ? element('span', { class: 'mark disputed', role: 'img', 'aria-label': 'disputed: reviewers disagree', title: 'reviewers disagree' }, '⇄') : null
}

/** Whether a person agrees. */
export function labelMark(label) {
  if (!label) return null
  const sign = label.agrees === false ? '≠' : label.agrees ? '=' : '○'
  const text = labelText(label)
  return element('span', { class: label.agrees === false ? 'mark disagrees' : 'mark', role: 'img', 'aria-label': text, title: text }, sign)
}

/** What a label says: a number on the scale of the keys, where they are known. */
export function labelValue(value, keys = []) {
  if (typeof value !== 'number') return value ? 'pass' : 'fail'
  const end = (wanted) => keys.find((one) => one.value === wanted)?.shown
  const [min, max] = [end(0), end(1)].map(Number)
  return Number.isFinite(min) && Number.isFinite(max) ? String(Number((min + value * (max - min)).toFixed(3))) : decimal(value)
}

/** Whether a verdict got worse: by what people say where somebody labelled it, else by pass and fail. */
export function isWorse(before, now) {
  const label = now?.label
  return label ? before?.label?.agrees === true && label.agrees === false : before?.state === 'passed' && now?.state === 'failed'
}

/** A label in words, and how many of these people say so. */
export function labelText(label, keys, people = []) {
  if (!label) return 'no label'
  // Nobody need have given the score that several people come to.
  const votes = typeof label.label === 'number' ? `${people.length} people together` : `${people.filter((one) => one.passes === label.passes).length} of ${people.length} people`
  const value = labelValue(label.label, keys) + (people.length > 1 ? ` by ${votes}` : '')
  const verdict = label.agrees === false ? ', the grader disagrees' : label.agrees ? ', the grader agrees' : ''
  return `labelled ${value}${verdict}`
}

/** The name of a grader as the suite shows it. */
export function graderTitle(name, label) {
  return label ?? name
}
