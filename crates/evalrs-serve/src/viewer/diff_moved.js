// The verdicts that moved between two runs: their human labels, the scores, and why, word by word.

import { counted } from './text.js'
import { button, choice, element, foreign, refill } from './dom.js'
import { answersReference, caseReference } from './address.js'
import { hiddenSign, scoreCell } from './states.js'
import { isLabelled } from './diff_agreement.js'
import { rationaleDiff } from './word_changes.js'

/** Verdicts that are shown at once. */
const AT_ONCE = 50

const MOVEMENTS = { broken: ['✗', 'failed'], errored: ['!', 'errored'], fixed: ['✓', 'passed'], answered: ['→', ''], lowered: ['↓', ''], raised: ['↑', ''] }

/** What a filter of verdicts beside labels is called, and which it lets through. */
const PEOPLE = {
  no_longer: ['no longer agrees', ({ label }) => label?.agreed === true && label.agrees === false],
  now: ['now agrees', ({ label }) => label?.agreed === false && label.agrees === true],
  false_pass: ['false pass now', ({ label, now }) => label?.agrees === false && now.pass],
  false_fail: ['false fail now', ({ label, now }) => label?.agrees === false && !now.pass],
  unlabelled: ['without a label', ({ label }) => !label],
}

/** The verdicts that moved, a part of them at a time. `change` sets members of the query. */
export class MovedList {
  constructor(diff, query, change) {
    Object.assign(this, { diff, count: AT_ONCE, at: -1 })
    const has = ({ grader, movement, people }) => diff.moved.filter((one) => (!grader || one.grader === grader) && (!movement || one.movement === movement) && (PEOPLE[people]?.[1](one) ?? true))
    this.moved = has(query)
    const numbered = (part, text) => `${text} (${counted(has({ ...query, ...part }).length)})`
    const graderOptions = [['', 'any grader'], ...Object.keys(diff.graders).map((name) => [name, name])]
    const movements = [['', 'any movement'], ...Object.keys(MOVEMENTS).map((movement) => [movement, numbered({ movement }, movement)])]
    const people = [['', 'any label'], ...Object.entries(PEOPLE).map(([name, [text]]) => [name, numbered({ people: name }, text)])]
    const hasLabels = diff.moved.some((one) => one.label)
    this.list = element('div', { class: 'moved-list' })
    this.node = element('section', { 'aria-label': 'Verdicts that moved' }, element('h2', null, `${counted(this.moved.length, 'verdict')} moved`), diff.moved.length > 0 && element('div', { class: 'filters' },
      choice('Grader', graderOptions, query.grader ?? '', (grader) => change({ grader })).node, hasLabels && choice('People', people, query.people ?? '', (name) => change({ people: name })).node,
      choice('Movement', movements, query.movement ?? '', (movement) => change({ movement })).node), this.list)
    this.show()
  }

  show() {
    const left = this.moved.length - this.count
    refill(this.list, this.moved.slice(0, this.count).map((one) => this.item(one)), left > 0 && button(`Show more: ${counted(left)} left`, () => {
      this.count += AT_ONCE
      this.show()
    }, { class: 'more' }))
  }

  item(one) {
    const { case: place, grader, movement, label, before, now } = one
    const isOfPeople = isLabelled(this.diff.graders[grader])
    // What passes now is not thereby fixed: the label says so.
    const remark = label && [`people: ${label.passes ? 'pass' : 'fail'}`, movement !== 'fixed' && movement !== 'broken' && movement].filter(Boolean).join(' · ')
    const state = (grade, agrees) => ({ score: grade.score, state: grade.error ? 'errored' : grade.pass ? 'passed' : 'failed',
      label: label && typeof agrees === 'boolean' ? { label: label.score ?? label.passes, passes: label.passes, agrees } : null })
    return element('article', { class: label || isOfPeople ? 'moved by-people' : 'moved' }, element('h3', null, movementBadge(one, isOfPeople), ' ',
      element('a', { href: caseReference(this.diff.now.run, place, { grader }) }, foreign(place.sample_id)),
      place.model && [' · ', foreign(place.model)], place.trial > 0 && ` · trial ${place.trial}`, ' ', foreign(grader, { class: 'foreign muted' }),
      remark && element('span', { class: 'muted' }, remark),
      element('a', { class: 'beside-link', href: this.answers(place, grader) }, 'Side by side'),
      element('span', { class: 'moved-scores' }, scoreCell(state(before, label?.agreed)), ' → ', scoreCell(state(now, label?.agrees)))), rationaleDiff(before.rationale, now.rationale))
  }

  /** The answers of both sides: of two runs, or of two models of one. */
  answers(place, grader) {
    const { before, now } = this.diff
    const pick = (side) => ({ run: side.run, model: place.model ?? side.model ?? null, trial: place.trial })
    return answersReference(now.run, { ...place, model: place.model ?? now.model }, [pick(before), pick(now)], { grader })
  }

  move(by) {
    const items = this.list.querySelectorAll('h3 a')
    if (!items.length) return
    this.at = Math.min(items.length - 1, Math.max(0, this.at + by))
    items[this.at].focus()
    items[this.at].closest('article').scrollIntoView({ block: 'nearest' })
  }
}

/** How a verdict moved. Colours say whether it is better: by its label, or by pass and fail where nobody labels this grader's verdicts. */
function movementBadge({ label, movement }, hasLabels) {
  const [sign, kind] = MOVEMENTS[movement] ?? ['', '']
  const shown = PEOPLE.now[1]({ label }) ? ['=', 'passed', 'now agrees'] : PEOPLE.no_longer[1]({ label }) ? ['≠', 'failed', 'no longer agrees'] : [sign, hasLabels ? '' : kind, movement]
  return element('span', { class: `badge ${shown[1]}` }, hiddenSign(shown[0]), shown[2])
}
