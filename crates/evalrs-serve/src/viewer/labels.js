// Human labels: those of each reviewer, and the buttons and keys of the user. Shown at once, removed again if the server refuses.

import { decimal, percent } from './text.js'
import { announce, notify } from './notices.js'
import { button, element, foreign, refill } from './dom.js'
import { disputeMark, labelMark, labelText, labelValue } from './states.js'
import { LabelNote } from './label_note.js'
import { UNKNOWN } from './labeller.js'

/** How far a grader agrees with people, in one line. */
export function agreementText(agreement) {
  if (!agreement?.n) return ''
  const interval = agreement.kappa_interval ? ` (95 %: ${agreement.kappa_interval.map((value) => decimal(value, 2)).join(' to ')})` : ''
  const kappa = typeof agreement.kappa === 'number' ? `, kappa ${decimal(agreement.kappa, 2)}${interval}` : ''
  return `agrees with ${percent(agreement.accuracy)} of ${agreement.n}${kappa}`
}

/** The title of the button of a key. */
function keyTitle({ key, value, shown }) {
  return value === null ? `Remove your label (${key})` : `Label: ${typeof value === 'boolean' ? shown.toLowerCase() : shown} (${key})`
}

function isSame(one, other) {
  return one === other || (typeof one === 'number' && typeof other === 'number' && Math.abs(one - other) < 1e-9)
}

/** The labels of one grade, with the keys that the server gives its grader. `save(label)` asks the server. */
export class LabelControl {
  constructor({ name, grade, agreement, keys, labeller, save, canSave, fixed, categories = [] }) {
    Object.assign(this, { name, grade, agreement, keys, labeller, save, fixed, sequence: 0, saving: 0 })
    this.state = element('p', { class: 'label-state' })
    this.people = element('ul', { class: 'label-people', 'aria-label': 'Human labels' })
    this.kappa = element('p', { class: 'muted figures agreement' })
    this.who = element('p', { class: 'muted small labeller' })
    this.buttons = canSave ? keys.map((key) => this.makeButton(key)) : []
    this.note = canSave && !fixed ? new LabelNote({ name, categories, changed: () => this.noted() }) : null
    const isScore = ({ labelKey }) => typeof labelKey.value === 'number'
    this.node = element('div', { class: 'labels', role: 'group', 'aria-label': `Label of ${name}` }, this.state, this.people,
      canSave && [element('div', { class: 'label-buttons' }, this.buttons.filter((one) => !isScore(one))),
        element('div', { class: 'scale' }, this.buttons.filter(isScore)), this.note?.node, fixed ? element('p', { class: 'muted small' }, 'Labelling is off here: ', foreign(fixed)) : this.who], this.kappa)
    if (canSave) labeller.listen(name, () => this.show())
    this.show()
  }

  makeButton(labelKey) {
    const title = keyTitle(labelKey)
    const sign = { true: '✓ ', false: '✗ ' }[labelKey.value] ?? ''
    return Object.assign(button(sign + labelKey.shown, () => this.set(labelKey.value), { 'aria-label': title, title }), { labelKey })
  }

  /** What the person says who labels here. */
  own() {
    return this.grade.people?.find(this.labeller.isOf) ?? null
  }

  show() {
    const { label, people = [], disputed } = this.grade
    refill(this.state, labelMark(label), disputeMark(this.grade), ' ', disputed && !label ? 'disputed, and no majority' : labelText(label, this.keys, people), disputed && label && ', disputed')
    // One label without a name is told by the line above.
    const isTold = people.length > 1 || people.some((one) => one.who || one.comment || one.category)
    refill(this.people, isTold && people.map((one) => element('li', null, foreign(one.who ?? UNKNOWN), `: ${labelValue(one.label, this.keys)}`,
      one.category && [' ', element('span', { class: 'tag' }, foreign(one.category))], one.comment && [' ', foreign(one.comment, { class: 'foreign muted' })])))
    this.people.hidden = !isTold
    this.node.classList.toggle('unlabelled', !label && !people.length)
    refill(this.kappa, agreementText(this.agreement))
    this.labeller.fill(this.who)
    const own = this.own()
    this.note?.show(own)
    for (const one of this.buttons) {
      one.disabled = Boolean(this.fixed) || (one.labelKey.value === null && !own)
      if (one.labelKey.value !== null) one.setAttribute('aria-pressed', isSame(own?.label, one.labelKey.value))
    }
  }

  /** Whether people say another thing of this grade by now. */
  isOther(grade) {
    const said = ({ label, people = [] }) => JSON.stringify([label?.label ?? null, people.map(({ who, label: own, comment, category }) => [who, own, comment, category])])
    return Boolean(grade) && !this.saving && said(grade) !== said(this.grade)
  }

  /** Shows what people say by now. */
  learn(grade, agreement) {
    if (!this.isOther(grade)) return
    const { label, people, disputed } = grade
    Object.assign(this.grade, { label, people, disputed })
    this.agreement = agreement ?? null
    this.show()
    announce(`${this.name}: ${labelText(label, this.keys, people)}`)
  }

  /** A comment or a category goes with the label that is there; else with the next one. */
  noted() {
    const own = this.own()
    if (own && Object.keys(this.note.news).length > 0) this.set(own.label)
  }

  /** Shows the label, then asks the server; on a failure all is as it was. Answers whether it was kept. */
  async set(value) {
    if (!await this.labeller.isKnown()) return false
    const seen = this.own()?.label ?? null
    if (value === null && seen === null) return false
    const { label, people = [], disputed } = this.grade
    const others = people.filter((one) => !this.labeller.isOf(one))
    this.sequence += 1
    const { sequence } = this
    const news = value === null ? {} : this.note?.news ?? {}
    const own = { ...this.own(), who: this.labeller.name, label: value, passes: null, ...news }
    this.grade.people = value === null ? others : [...others, own]
    if (!others.length) this.grade.label = value === null ? null : { label: value, passes: null, agrees: null }
    this.show()
    this.saving += 1
    try {
      // One after the other: each says what the one before made of the label.
      const before = this.saved
      this.saved = (async () => {
        await before?.catch(() => {})
        return this.save(value, seen, news)
      })()
      const answer = await this.saved
      if (sequence !== this.sequence) return true
      Object.assign(this.grade, { label: answer.label, people: answer.people, disputed: answer.disputed })
      this.agreement = answer.agreement?.[this.name] ?? null
      announce(`${this.name}: ${labelText(answer.label, this.keys)} ${answer.disputed ? 'disputed ' : ''}${agreementText(this.agreement)}`)
    } catch (failure) {
      if (sequence === this.sequence) Object.assign(this.grade, { label, people, disputed })
      notify(`The label was not saved: ${failure.message}`, { isFailure: true })
      this.show()
      return false
    } finally {
      this.saving -= 1
    }
    this.show()
    return true
  }
}
