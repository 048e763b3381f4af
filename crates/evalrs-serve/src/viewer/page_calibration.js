// The calibration of a suite: how far its graders agree with people, now, held out, when calibrated, and over time.

import { agreementOverTime, disputeTable, labellerTable, picksText, reviewersText } from './calibration_parts.js'
import { badge } from './states.js'
import { bounds95, counted, decimal, moment } from './text.js'
import { element, foreign, refill, table } from './dom.js'
import { estimateNote, heldOutText, kappaWithin, shareWithin } from './people_figures.js'
import { reference } from './address.js'

export async function calibrationPage({ source, address, go }) {
  const name = address.path[1]
  const root = element('div')
  const fill = (found) => refill(root, pageParts(found, source))
  fill(await source.calibration(name))
  return { title: `Calibration · ${name}`, trail: [['Runs', []], [name, ['suites', name]], ['Calibration']], node: root,
    keys: { Escape: () => go(reference(['suites', name])) },
    // A page that is read by keyboard stays as it is.
    learn: () => !root.contains(document.activeElement) && source.calibration(name).then(fill, () => {}) }
}

function pageParts(found, source) {
  const known = found.graders.filter((one) => one.labels || one.calibration || one.over_time.length)
  const others = found.graders.filter((one) => !known.includes(one))
  const run = found.run && element('a', { href: reference(['runs', found.run]) }, `run of ${moment(found.started)}`)
  return [element('h1', null, 'Calibration of ', foreign(found.suite)),
    element('p', { class: 'lead' }, 'How far the graders agree with people.', run && [' Verdicts are those of the ', run, ', labels those of now.']),
    found.problems.length > 0 && element('ul', { class: 'warnings' }, found.problems.map((text) => element('li', null, foreign(text)))),
    known.length > 0 ? [element('p', { class: 'links' }, element('span', { class: 'downloads' }, 'Labels: ', ['jsonl', 'csv'].map((format) => [element('a', { href: source.labelsFile(found.suite, format), download: true }, format), ' ']))),
      overview(known, found), known.map((grader) => graderSection(grader, found))] : emptyState(found),
    known.length > 0 && others.length > 0 && element('p', { class: 'muted' }, 'Without labels: ', others.map((one, at) => [at > 0 && ', ', foreign(one.label ?? one.name)]), '.')]
}

/** How to get labels, and where they go. */
function emptyState({ suite, path, run, labels_path: labels }) {
  const command = (text) => element('li', null, element('code', null, text))
  return element('section', { class: 'missing', 'aria-labelledby': 'no-labels' }, element('h2', { id: 'no-labels' }, 'Nobody has labelled an answer yet'),
    element('p', null, 'A label says whether an answer is good, as a person sees it. Beside verdicts it shows how far a grader can be trusted.'),
    run ? element('p', null, 'Open a ', element('a', { href: reference(['runs', run], { state: 'unlabelled' }) }, 'case without a label'), ' and press ', element('kbd', null, 'y'), ' or ', element('kbd', null, 'n'), '; or in a terminal:')
      : element('p', null, 'First evaluate ', foreign(suite), ', then label:'),
    element('ul', null, !run && command(`evalrs run ${path}`), command(`evalrs watch ${path}`)),
    element('p', { class: 'muted' }, 'Labels are kept in ', element('code', null, foreign(labels)), '. From 30 random labels on, the human pass rate of everything is estimated.'))
}

/** All graders beside each other. Errors lead to their cases. */
function overview(graders, { run }) {
  const cases = (grader, state, count) => element('span', { class: 'figures' }, count > 0 && run ? element('a', { href: reference(['runs', run], { grader: grader.name, state }) }, counted(count)) : counted(count))
  const rows = graders.map((one) => {
    const agreement = one.labels?.agreement
    const anchor = element('a', { href: `#${anchorOf(one)}`, onclick: (event) => jump(event, one) }, foreign(one.label ?? one.name, { class: 'foreign grader-name' }))
    return [anchor, element('span', { class: 'figures' }, counted(agreement?.n ?? 0)), agreement ? shareWithin(agreement.agreement, agreement.agreement_interval) : '–', agreement ? kappaWithin(agreement) : '–',
      agreement ? cases(one, 'false_pass', agreement.false_pass) : '–', agreement ? cases(one, 'false_fail', agreement.false_fail) : '–',
      one.labels?.disputed_total > 0 ? cases(one, 'disputed', one.labels.disputed_total) : element('span', { class: 'figures' }, '0'), calibrationBadge(one.calibration)]
  })
  return table('Agreement with people', ['Grader', '#Labels', '#Agrees [95 %]', '#Kappa (95 %)', '#False passes', '#False fails', '#Disputed', 'Calibration'], rows, { class: 'wide calibrated' })
}

function anchorOf({ name }) {
  return `of-${encodeURIComponent(name)}`
}

/** To the part of a grader, without another address: that would be another page. */
function jump(event, grader) {
  event.preventDefault()
  const title = document.getElementById(anchorOf(grader))
  title.scrollIntoView()
  title.focus()
}

function calibrationBadge(calibration) {
  if (!calibration) return element('span', { class: 'muted' }, 'none')
  if (calibration.stale.length) return badge('undecided', 'stale')
  return calibration.below?.length ? badge('failed', 'too low') : badge('passed', 'current')
}

/** Everything of one grader. */
function graderSection(grader, found) {
  const id = anchorOf(grader)
  const { labels } = grader
  return element('section', { class: 'calibration', 'aria-labelledby': id }, element('h2', { id, tabindex: '-1' }, foreign(grader.label ?? grader.name)),
    element('div', { class: 'calibration-columns' }, element('div', { class: 'calibration-left' }, agreementOverTime(grader), labellerTable(grader)),
      element('dl', { class: 'figure-list' }, calibrationFacts(grader, found).filter(Boolean).map(([name, value, note]) => element('div', null, element('dt', null, name), element('dd', { class: 'figures' }, value, note && element('div', { class: 'muted small' }, note))))),
      found.run && labels?.disputed.length > 0 && element('div', { class: 'calibration-disputes' }, disputeTable(grader, found.run))))
}

function calibrationFacts(grader, found) {
  const { labels, metric } = grader
  const estimate = labels?.people
  return [
    labels?.agreement && ['Agreement now', [shareWithin(labels.agreement.agreement, labels.agreement.agreement_interval), ', kappa ', kappaWithin(labels.agreement)],
      `on ${counted(labels.agreement.n, 'label')}: ${counted(labels.agreement.false_pass, 'false pass', 'false passes')}, ${counted(labels.agreement.false_fail, 'false fail')}`],
    heldOut(grader, found),
    metric && ['Pass rate by the grader', shareWithin(metric.pass_rate, metric.pass_rate_interval)],
    estimate && ['Pass rate by people, estimated', estimate.pass_rate ? shareWithin(estimate.pass_rate.mean, estimate.pass_rate.interval) : '–', estimateNote(estimate)],
    estimate?.mean && ['Mean by people, estimated', [decimal(estimate.mean.mean), element('span', { class: 'muted small' }, bounds95(estimate.mean.interval))], metric && `the grader's own: ${decimal(metric.mean)}${bounds95(metric.interval)}`],
    labels && picksText(labels) && ['Labels', counted(labels.agreement?.n ?? 0), picksText(labels)],
    labels?.annotators && ['Reviewers with each other', reviewersText(labels)],
    calibrated(grader, found)]
}

/** What runs reported of held-out labels. Nothing is asked of them here. */
function heldOut({ labels, held_out: told }, { holdout }) {
  if (!told && !holdout) return null
  const share = holdout ? `${Math.round(holdout * 100)}% of labels are held out, by sample and answer` : 'the suite holds out no labels now'
  const count = labels?.held_out_labels > 0 ? `: ${counted(labels.held_out_labels)} now` : ''
  const untold = labels?.held_out_labels < 10 ? '. At least 10 are needed' : '. A run of all rows reports it'
  return ['Held-out agreement', told ? heldOutText(told) : 'not reported', `${share}${count}${told ? '. This page makes no query' : untold}`]
}

/** The file of `evalrs calibrate`: whether it is of the grader as it is now. */
function calibrated({ calibration }, { path }) {
  const again = element('code', null, `evalrs calibrate --suite ${path}`)
  if (!calibration) return ['Calibration', 'none', [again, ' writes one']]
  const { calibration: then, stale, below = [] } = calibration
  const why = stale.length > 0 && [`${stale.join(' and ')} changed since; `, again, ' writes it anew']
  return ['Calibration', [calibrationBadge(calibration), ' ', shareWithin(then.agreement, then.agreement_interval), ', kappa ', kappaWithin(then), ` on ${counted(then.n, 'label')}`],
    [why, below.length > 0 && [why && '. ', below.join(', ')], then.held_out && [(why || below.length > 0) && '. ', `Held out: ${heldOutText(then.held_out)}`]]]
}
