// What a person says beside a label: why, in their words, and the kind of failure.

import { element, field } from './dom.js'

let lists = 0

/** The fields of a comment and a category. `changed()` is called after one of them is another. */
export class LabelNote {
  constructor({ name, categories, changed }) {
    lists += 1
    const list = `categories-${lists}`
    this.known = { comment: '', category: '' }
    this.fields = {
      category: element('input', { type: 'text', maxlength: 100, autocomplete: 'off', list, placeholder: 'kind of failure', 'aria-label': `Category of ${name}`, onchange: changed }),
      comment: element('input', { type: 'text', maxlength: 4000, autocomplete: 'off', placeholder: 'why', 'aria-label': `Comment on ${name}`, onchange: changed }),
    }
    this.node = element('div', { class: 'label-note' }, field('Category', this.fields.category), field('Comment', this.fields.comment),
      element('datalist', { id: list }, categories.map((one) => element('option', { value: one }))))
  }

  /** Shows what the person has said; what they are just writing stays. */
  show(own) {
    for (const [name, input] of Object.entries(this.fields)) {
      const said = own?.[name] ?? ''
      if (input.value === this.known[name]) input.value = said
      this.known[name] = said
    }
  }

  /** What is not kept yet. */
  get news() {
    const isNew = ([name, input]) => input.value.trim() !== this.known[name]
    return Object.fromEntries(Object.entries(this.fields).filter(isNew).map(([name, input]) => [name, input.value.trim()]))
  }

  disable(isOff) {
    for (const input of Object.values(this.fields)) input.disabled = isOff
  }
}
