// Labels of people: buttons and keys, shown at once and taken back if the server refuses.

import { decimal, percent } from './text.js'
import { announce, notify } from './notices.js'
import { button, element, refill } from './dom.js'
import { labelMark, labelText } from './states.js'

/** The values of the keys 1 to 9. */
export const SCALE = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1]

/** How far a grader agrees with people, in one line. */
export function agreementText(agreement) {
  if (!agreement?.n) return ''
  const interval = agreement.kappa_interval ? ` (95 %: ${agreement.kappa_interval.map((value) => decimal(value, 2)).join(' to ')})` : ''
  const kappa = typeof agreement.kappa === 'number' ? `, kappa ${decimal(agreement.kappa, 2)}${interval}` : ''
  return `agrees with ${percent(agreement.accuracy)} of ${agreement.n}${kappa}`
}

/** The labels of one grade. `save(label)` asks the server and answers `{label, agreement}`. */
export class LabelControl {
  constructor({ name, grade, agreement, save, canSave }) {
    Object.assign(this, { name, grade, agreement, save, sequence: 0 })
    this.state = element('p', { class: 'label-state' })
    this.kappa = element('p', { class: 'muted figures agreement' })
    this.buttons = canSave ? this.makeButtons() : []
    this.node = element('div', { class: 'labels', role: 'group', 'aria-label': `Label of ${name}` }, this.state,
      canSave && [element('div', { class: 'label-buttons' }, this.buttons.slice(0, 2), this.buttons.at(-1)),
        element('div', { class: 'scale' }, this.buttons.slice(2, -1))], this.kappa)
    this.show()
  }

  makeButtons() {
    const make = (value, text, title) => Object.assign(button(text, () => this.set(value), { 'aria-label': title, title, 'aria-pressed': 'false' }), { labelValue: value })
    return [make(true, '✓ Pass', 'Label: pass (y)'), make(false, '✗ Fail', 'Label: fail (n)'),
      ...SCALE.map((value, at) => make(value, String(value).replace(/^0\./, '.'), `Label: ${value} (${at + 1})`)), make(null, 'Remove', 'Remove the label (0)')]
  }

  show() {
    refill(this.state, labelMark(this.grade.label), ' ', labelText(this.grade.label))
    refill(this.kappa, agreementText(this.agreement))
    for (const one of this.buttons.slice(0, -1)) one.setAttribute('aria-pressed', this.grade.label?.label === one.labelValue)
    if (this.buttons.length) this.buttons.at(-1).disabled = !this.grade.label
  }

  /** Shows the label, then asks the server; on a failure the label is as it was. Answers whether it was kept. */
  async set(value) {
    const before = this.grade.label
    if (value === null && !before) return false
    this.sequence += 1
    const { sequence } = this
    this.grade.label = value === null ? null : { label: value, passes: null, agrees: null, who: null, when: null }
    this.show()
    try {
      const answer = await this.save(value)
      if (sequence !== this.sequence) return true
      this.grade.label = answer.label
      this.agreement = answer.agreement?.[this.name] ?? null
      announce(`${this.name}: ${labelText(answer.label)} ${agreementText(this.agreement)}`)
    } catch (failure) {
      if (sequence === this.sequence) this.grade.label = before
      notify(`The label was not kept: ${failure.message}`, { isFailure: true })
      this.show()
      return false
    }
    this.show()
    return true
  }
}
