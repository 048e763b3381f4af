// How far two runs agree with people: the first part of a comparison, as `evalrs diff` does in a terminal.

import { counted, decimal, percent, probability, signed } from './text.js'
import { element, foreign, table } from './dom.js'
import { hiddenSign } from './states.js'
import { reference } from './address.js'

/** Whether people labelled verdicts of this grader that both runs have. */
export function isLabelled(grader) {
  return grader?.agreement?.n > 0
}

/** Whether it says less often what people say. */
export function agreesLess(grader) {
  return isLabelled(grader) && grader.agreement.difference < 0
}

/** The agreement of all graders that have labels; a sentence where there is none. */
export function agreementChanges(diff) {
  const all = Object.entries(diff.graders)
  const labelled = all.filter(([, grader]) => isLabelled(grader))
  const remarks = all.map(([name, { agreement }]) => agreement && coverage(name, agreement)).filter(Boolean)
  const title = element('h2', null, 'Agreement with people')
  const notes = remarks.length > 0 && element('ul', { class: 'muted' }, remarks.map((words) => element('li', null, words)))
  if (!labelled.length) {
    return element('section', { 'aria-label': 'Agreement with people' }, title, element('p', { class: 'no-labels muted' },
      'No labels: nothing shows which of these verdicts are right. A new pass is not yet an improvement.'), notes)
  }
  return element('section', { 'aria-label': 'Agreement with people' }, title, labelled.map(([name, { agreement }]) => agreementHeadline(name, agreement)),
    agreementFigures(labelled, diff.now.run), notes)
}

/** Up, down, or as before; nothing else on the page may be louder. */
function agreementHeadline(name, { before, now, difference, now_agree: better, no_longer_agree: worse }) {
  const [sign, word, kind] = difference < 0 ? ['▼', 'agrees less', 'agrees-less'] : difference > 0 ? ['▲', 'agrees more', 'agrees-more'] : ['=', 'agrees equally', '']
  const kappa = typeof before.kappa === 'number' || typeof now.kappa === 'number' ? `, kappa ${decimal(before.kappa, 2)} → ${decimal(now.kappa, 2)}` : ''
  return element('p', { class: `agreement-change ${kind}` }, hiddenSign(sign), ' ', foreign(name), ` ${word} with people: `,
    element('span', { class: 'figures' }, `${percent(before.accuracy)} → ${percent(now.accuracy)}${kappa}, false passes ${counted(before.false_pass)} → ${counted(now.false_pass)}`),
    element('span', { class: 'agreement-moves' }, ` ${counted(better.length)} now ${better.length === 1 ? 'agrees' : 'agree'}, ${counted(worse.length)} no longer ${worse.length === 1 ? 'agrees' : 'agree'}`))
}

function agreementFigures(labelled, run) {
  const plain = (text) => element('span', { class: 'figures' }, text)
  const points = (share) => typeof share === 'number' ? signed(share * 100, 1) : '–'
  const within = (interval, shown) => Array.isArray(interval) ? interval.map(shown).join(' to ') : '–'
  const two = (value) => signed(value, 2)
  const rows = labelled.map(([name, { agreement }]) => {
    const { n, before, now, difference, interval, p_value: p, kappa_difference: kappa, kappa_interval: kappas } = agreement
    const worse = difference < 0 ? 'figures agrees-less' : 'figures'
    const against = (count) => count > 0 ? element('a', { href: reference(['runs', run], { grader: name, state: 'disagrees' }) }, counted(count)) : '0'
    return [foreign(name), plain(counted(n)), element('span', { class: worse }, `${percent(before.accuracy)} → ${percent(now.accuracy)}`), element('span', { class: worse }, points(difference)), plain(within(interval, points)), plain(probability(p)),
      plain(`${decimal(before.kappa, 2)} → ${decimal(now.kappa, 2)}`), plain(two(kappa)), plain(within(kappas, two)),
      element('span', { class: now.false_pass > before.false_pass ? 'figures agrees-less' : 'figures' }, `${counted(before.false_pass)} → `, against(now.false_pass)),
      element('span', { class: now.false_fail > before.false_fail ? 'figures agrees-less' : 'figures' }, `${counted(before.false_fail)} → `, against(now.false_fail))]
  })
  return table('Agreement, before and now', ['Grader', '#Labels', '#Agreement', '#Points', '#95 % interval', '#p', '#Kappa', '#Change', '#95 % interval', '#False passes', '#False fails'], rows)
}

/** Which labelled cases are compared, where those are not all of them. */
function coverage(name, { n, labelled, judged_before: before, judged_now: now, other_answers: others }) {
  if (n === labelled) return null
  const why = [before < labelled && `the older run judged ${counted(before)}`, now < labelled && `the newer ${counted(now)}`, others > 0 && `${counted(others)} with another answer now left out`].filter(Boolean)
  return [foreign(name), `: ${counted(n)} of ${counted(labelled, 'labelled case')} compared: ${why.join(', ')}`]
}
