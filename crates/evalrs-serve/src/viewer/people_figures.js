// What human labels say beyond agreement, in words and tables: held-out labels, and the estimated human verdict on everything.

import { bounds95, counted, decimal, percent } from './text.js'
import { element, foreign } from './dom.js'
import { reference } from './address.js'

/** A share, and its bounds in a quieter voice. */
export function shareWithin(share, interval) {
  const shown = Array.isArray(interval) ? { low: interval[0], high: interval[1] } : interval
  return element('span', { class: 'figures' }, percent(share), element('span', { class: 'muted small' }, bounds95(shown, (value) => (value * 100).toFixed(1))))
}

/** Kappa and its bounds. */
export function kappaWithin({ kappa, kappa_interval: bounds }) {
  return element('span', { class: 'figures' }, decimal(kappa, 2), bounds && element('span', { class: 'muted small' }, ` (${bounds.map((value) => decimal(value, 2)).join(' to ')})`))
}

/** What a run reported of held-out labels. The bound leads, and is never rounded up. */
export function heldOutText({ n, at_least: bound, agreement, query, budget }) {
  return `at least ${Math.floor(bound * 100)}% (about ${Math.round(agreement * 100)}%; query ${query} of about ${budget}) on ${counted(n, 'label')}`
}

/** What the labels beside an estimate are, and what the judge saves of them. */
export function estimateNote(people) {
  const { labels, chosen, pass_rate: rate } = people
  const left = chosen > 0 ? `, ${counted(chosen)} chosen ones left out` : ''
  if (!rate) return `${counted(labels, 'random label')}${left}: 30 are needed`
  const side = rate.bias < 0 ? 'lower' : 'higher'
  const saved = rate.tuning > 0 ? `; the grader saves ${Math.round(rate.saved * 100)}% of the labels` : '; the grader saves no labels'
  return `from ${counted(labels, 'random label')}${left}; on those the grader is ${(Math.abs(rate.bias) * 100).toFixed(1)} points ${side}${saved}`
}

/** What `summary.json` says of people beyond agreement: estimates and held-out labels; nothing where it says nothing. */
export function peopleOfRun(run) {
  const { people, held_out: heldOut } = run.summary ?? {}
  const estimates = Object.entries(people ?? {}).filter(([, one]) => one?.pass_rate).map(([name, one]) => ['Human pass rate of ', foreign(name), ', estimated: ', shareWithin(one.pass_rate.mean, one.pass_rate.interval),
    one.mean && [', mean ', decimal(one.mean.mean), element('span', { class: 'muted small' }, bounds95(one.mean.interval))], element('span', { class: 'muted small' }, ` ${estimateNote(one)}`)])
  const told = Object.entries(heldOut ?? {}).filter(([, one]) => typeof one?.at_least === 'number').map(([name, one]) => ['Held-out agreement of ', foreign(name), `: ${heldOutText(one)}`])
  return estimates.concat(told).map((line) => element('p', { class: 'of-people figures' }, line))
}

/** From a run with labels to the calibration of its suite, and to the labels as a file, where a server has them. */
export function calibrationLinks(run, source) {
  if (!source.suitesServed?.includes(run.suite)) return null
  return element('p', { class: 'links' }, element('a', { href: reference(['suites', run.suite, 'calibration']) }, 'Calibration'),
    element('span', { class: 'downloads' }, 'Labels: ', ['jsonl', 'csv'].map((format) => [element('a', { href: source.labelsFile(run.suite, format, { run: run.id }), download: true }, format), ' '])))
}
