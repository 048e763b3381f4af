// Judgments that are made again: one of a case, or those of a list, each time with the price before.

import { answersReference, reference } from './address.js'
import { button, element, field, foreign, refill } from './dom.js'
import { counted } from './text.js'
import { ended } from './live.js'
import { notify } from './notices.js'
import { priceText } from './rubric_tries.js'

/** A dialog that says what repeating would cost, and does it. `wanted` is the body of the request; `done(id)` is called once the trial has ended. */
export async function repeatJudgments(source, { title, wanted, done }) {
  const before = document.activeElement
  const price = element('p', { class: 'figures', role: 'status' }, 'The price is looked up…')
  const most = element('input', { type: 'number', min: '0', step: '0.01', inputmode: 'decimal', placeholder: 'no limit' })
  const start = button('Call the judge again', () => run(), { class: 'primary', disabled: true })
  const dialog = element('dialog', { class: 'help repeat', 'aria-labelledby': 'repeat-title' }, element('h2', { id: 'repeat-title' }, title),
    element('p', null, 'The new replies replace the cached ones. A trial has the new verdicts; the next run has them, too.'), price, field('Costs at most, $', most),
    element('div', { class: 'rubric-buttons' }, start, button('Cancel', () => dialog.close())))
  const body = { trial: true, refresh: true, ...wanted }
  const fail = (failure) => refill(price, element('span', { class: 'error-text' }, foreign(failure.message)))
  const run = async () => {
    start.disabled = true
    try {
      const { id } = await source.start({ ...body, ...(most.value !== '' && { max_cost: Number(most.value) }) })
      const { error } = await ended(source, id, (words) => refill(price, foreign(words)))
      if (error) throw new Error(error)
      dialog.close()
      done(id)
    } catch (failure) {
      start.disabled = false
      fail(failure)
    }
  }
  document.body.append(dialog)
  dialog.addEventListener('close', () => {
    dialog.remove()
    before?.focus?.({ preventScroll: true })
  })
  dialog.showModal()
  try {
    const told = await source.start({ ...body, preview: true })
    refill(price, priceText(told))
    start.disabled = told.to_ask === 0
  } catch (failure) {
    fail(failure)
  }
}

/** Repeats the judgment of one case, and shows both beside one another. */
export function repeatCase(source, go, { run, place, grader }) {
  return repeatJudgments(source, { title: `Repeat the judgment of ${grader}`, wanted: { suite: run.suite, graders: [grader], samples: [place.sample_id] },
    done: (id) => go(answersReference(run.id, place, [{ ...place, run: run.id }, { ...place, run: id }], { grader })) })
}

/** Repeats the judgments of a list of samples, and compares both runs. */
export function repeatList(source, go, { run, graders, samples }) {
  if (!samples.length) return notify('The list is empty.')
  return repeatJudgments(source, { title: `Repeat the judgments of ${counted(samples.length, 'sample')}`, wanted: { suite: run.suite, graders, samples },
    done: (id) => go(reference(['diff'], { old: run.id, new: id })) })
}
