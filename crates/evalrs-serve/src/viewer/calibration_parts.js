// The parts of a calibration that a grader has: its trend beside people, each person, how labels were picked, and disputes.

import { breakText, trend } from './charts.js'
import { caseReference, reference } from './address.js'
import { counted, decimal, moment, percent } from './text.js'
import { disputeMark, labelValue, hiddenSign } from './states.js'
import { element, folded, foreign, table } from './dom.js'
import { heldOutText, kappaWithin, shareWithin } from './people_figures.js'
import { UNKNOWN } from './labeller.js'

function number(value) {
  return element('span', { class: 'figures' }, value)
}

/** The agreement of a grader over runs as a line with its interval, and the same as a table. */
export function agreementOverTime({ name, over_time: points }) {
  if (!points.length) return element('p', { class: 'muted' }, 'No run with labels is in the history yet.')
  const shown = points.map(({ run, started, recorded, agreement, breaks }) => ({ run: { id: run, started, recorded },
    metric: { mean: agreement.agreement, low: agreement.agreement_interval?.[0], high: agreement.agreement_interval?.[1] }, breaks: breaks.map((text) => ({ text })) }))
    .filter((point) => typeof point.metric.mean === 'number')
  const breaks = shown.filter((point) => point.breaks.length)
  const chart = shown.length > 0 && trend(shown, name, { width: 480, height: 130, large: true, what: 'agreement', hrefOf: (run) => (run.recorded ? reference(['runs', run.id]) : null) })
  return element('figure', { class: 'chart-figure' },
    element('figcaption', null, 'Agreement over runs', element('span', { class: 'muted small' }, 'share, 95 % interval, newest right')), chart,
    breaks.length > 0 && element('ul', { class: 'breaks' }, breaks.map((point) => element('li', null, '◆ ', foreign(breakText(point))))),
    folded(`Runs (${counted(points.length)})`, () => pointTable(points)))
}

function pointTable(points) {
  const rows = points.toReversed().map((point) => {
    const { agreement, people, held_out: heldOut } = point
    const when = moment(point.started)
    return [point.recorded ? element('a', { href: reference(['runs', point.run]), title: point.run }, when) : when, number(counted(agreement.n)), shareWithin(agreement.agreement, agreement.agreement_interval),
      number(decimal(agreement.kappa, 2)), number(counted(agreement.false_pass)), number(counted(agreement.false_fail)), number(percent(point.pass_rate)),
      people?.pass_rate ? shareWithin(people.pass_rate.mean, people.pass_rate.interval) : '–', heldOut ? heldOutText(heldOut) : '–', point.breaks.length > 0 ? foreign(point.breaks.join('; ')) : '']
  })
  return table('Agreement over runs', ['Run', '#Labels', '#Agrees [95 %]', '#Kappa', '#False passes', '#False fails', '#Passes', '#Human pass rate, estimated', 'Held out', 'Changed'], rows)
}

/** How far a grader agrees with each person. */
export function labellerTable({ name, labels }) {
  if (!labels?.labellers.length) return null
  const rows = labels.labellers.map(({ who, agreement }) => [foreign(who ?? UNKNOWN), number(counted(agreement.n)), shareWithin(agreement.agreement, agreement.agreement_interval), kappaWithin(agreement),
    number(counted(agreement.false_pass)), number(counted(agreement.false_fail))])
  return table(`Reviewers and ${name}`, ['Reviewer', '#Labels', '#Grader agrees [95 %]', '#Kappa (95 %)', '#False passes', '#False fails'], rows)
}

/** How far people agree among themselves. */
export function reviewersText({ annotators }) {
  if (!annotators) return null
  const people = annotators.people > 1 ? counted(annotators.people, 'reviewer') : 'reviewers'
  const ofScores = typeof annotators.alpha_of_scores === 'number' ? `, of scores ${decimal(annotators.alpha_of_scores, 2)}` : ''
  return `${people} agree in ${percent(annotators.agreement)} of ${counted(annotators.pairs, 'pair')} on ${counted(annotators.cases, 'case')}; Krippendorff's alpha ${typeof annotators.alpha === 'number' ? decimal(annotators.alpha, 2) : 'not defined'}${ofScores}`
}

const PICKS = { random: 'sampled at random', unknown: 'not known how, counted as random', disagreement: 'because judges disagree', threshold: 'because the score is near the threshold', chosen: 'chosen by a person' }

/** How labelled cases were picked: those at random first, of which estimates may be made. */
export function picksText({ picks, people }) {
  const known = Object.entries(PICKS).filter(([pick]) => picks[pick] > 0)
  const early = (people?.labels ?? 0) - picks.random - picks.unknown
  return known.map(([pick, words]) => `${counted(picks[pick])} ${words}`).join(', ') + (early > 0 ? `; ${counted(early)} of the others count as random, as their turn had come` : '')
}

/** The cases on which people differ, with what each says, to be settled. */
export function disputeTable({ name, labels, label_keys: keys }, run) {
  const rows = labels.disputed.map((one) => {
    const title = [one.sample_id, one.model, one.trial > 0 && `trial ${one.trial}`].filter(Boolean).join(' · ')
    return [element('a', { href: caseReference(run, one, { grader: name, state: 'disputed' }) }, foreign(title)), personList(one.people.filter((person) => person.passes), keys), personList(one.people.filter((person) => !person.passes), keys),
      typeof one.passed === 'boolean' ? element('span', { class: 'score' }, hiddenSign(one.passed ? '✓' : '✗'), ' ', one.passed ? 'pass' : 'fail') : '–']
  })
  const { disputed_total: total } = labels
  const all = element('a', { href: reference(['runs', run], { grader: name, state: 'disputed' }) }, 'all in the list of cases')
  return [element('h3', null, disputeMark({ disputed: true }), ` Reviewers differ on ${counted(total, 'case')}`), element('p', { class: 'muted small' }, total > rows.length && `The first ${counted(rows.length)}; `, all),
    table(`Disputes of ${name}`, ['Case', 'Pass', 'Fail', 'Grader'], rows, { class: 'wide disputes' })]
}

/** People; of scores with the score, on the scale of the keys. */
function personList(people, keys) {
  return people.map((one, at) => [at > 0 && ', ', foreign(one.who ?? UNKNOWN), typeof one.label === 'number' && ` ${labelValue(one.label, keys)}`])
}
