// How a grade came about: its votes, what the key of each is made of, what was sent and what came back.

import { decimal } from './text.js'
import { badge } from './states.js'
import { code, element, folded, foreign, longText } from './dom.js'
import { pretty } from './conversation.js'

/** The judgments of a grade, folded. */
export function judgmentList(judgments) {
  return element('ol', { class: 'judgments' }, judgments.map((judgment) => element('li', null, folded(headline(judgment), () => inside(judgment)))))
}

function headline(judgment) {
  const words = [`Vote ${judgment.vote + 1}`, typeof judgment.turn === 'number' && `turn ${judgment.turn + 1}`, judgment.reversed && 'reversed'].filter(Boolean)
  return [words.join(', '), judgment.model && [' · ', foreign(judgment.model)], ' · ',
    judgment.error ? badge('errored') : judgment.reply === null ? badge('pending') : element('span', { class: 'figures' }, scoreSaid(judgment.reply))]
}

/** The score in a reply, on the judge's own scale; a dash where the reply is not JSON that has one. */
function scoreSaid(reply) {
  try {
    return decimal(JSON.parse(reply)?.score)
  } catch {
    return '–'
  }
}

function inside(judgment) {
  return [
    judgment.error && longText(judgment.error, { class: 'foreign prose error-text' }),
    judgment.reply !== null && folded('Reply', () => code(pretty(judgment.reply)), { open: true }),
    (judgment.system !== null || judgment.user !== null) && folded('Prompt', () => [
      judgment.system !== null && [element('h4', null, 'System'), code(judgment.system)],
      judgment.user !== null && [element('h4', null, 'User'), code(judgment.user)]]),
    folded('What the key is made of', () => ingredients(judgment))]
}

function ingredients(judgment) {
  return [element('p', { class: 'muted' }, 'Key ', element('code', null, judgment.key)),
    element('dl', { class: 'ingredients' }, judgment.ingredients.map((one) => [element('dt', null, one.name),
      element('dd', null, typeof one.preview === 'string' && longText(one.preview), one.digest && element('code', { class: 'muted', title: one.digest }, one.digest.slice(0, 16)))]))]
}
