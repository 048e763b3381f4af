// Whose labels are given on a page: those of the person who runs the server, or of a name that is entered once and kept here.

import { button, element, field, foreign, refill } from './dom.js'
import { prefer, preference } from './preferences.js'

/** Whom labels are called that name nobody. */
export const UNKNOWN = 'unknown'

/** The most characters of a name. */
const MOST_NAME = 100

/** The name that was given. Where the browser keeps nothing it holds until the page is left. */
let givenName = preference('who')

/** The person who labels. `own` is that of the server; where it `asks`, each says who they are. */
export class Labeller {
  constructor({ own, asks }) {
    Object.assign(this, { own, asks, listeners: new Map() })
  }

  /** The name; null where it is not known. */
  get name() {
    return this.asks ? givenName : this.own ?? null
  }

  /** Whether a person said this. */
  isOf = (one) => (one.who ?? UNKNOWN) === (this.name ?? UNKNOWN)

  /** Calls `changed` after there is another name; one function for each `place`. */
  listen(place, changed) {
    this.listeners.set(place, changed)
  }

  /** Asks for a name where one is needed. Answers whether labels can be given. */
  async isKnown() {
    if (this.asks && !givenName) await this.ask()
    return !this.asks || Boolean(givenName)
  }

  /** Asks for a name in a dialog, until one is given or the dialog is closed. */
  ask() {
    const before = document.activeElement
    const input = element('input', { type: 'text', maxlength: MOST_NAME, autocomplete: 'name', value: givenName ?? '' })
    const dialog = element('dialog', { class: 'help labeller-name', 'aria-labelledby': 'labeller-title' }, element('h2', { id: 'labeller-title' }, 'Who labels?'),
      element('p', null, 'Several people label here. Your labels are kept under this name, and those of others stay as they are.'), field('Name', input),
      button('Label under this name', () => keep(), { class: 'primary' }))
    const keep = () => {
      const name = input.value.trim()
      if (!name) return input.focus()
      givenName = name
      prefer('who', name)
      dialog.close()
    }
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.isComposing) return
      // Else the button that gets the focus is pressed as well.
      event.preventDefault()
      keep()
    })
    document.body.append(dialog)
    dialog.showModal()
    return new Promise((done) => dialog.addEventListener('close', () => {
      dialog.remove()
      before?.focus?.({ preventScroll: true })
      for (const changed of this.listeners.values()) changed()
      done()
    }))
  }

  /** Fills a line that says whose labels are given here, with a button for another name. */
  fill(line) {
    refill(line, this.name ? ['You label as ', foreign(this.name, { class: 'foreign strong' }), '.'] : this.asks ? 'No name is set for labels here.' : 'Labels given here have no name.',
      this.asks && [' ', button(this.name ? 'Change' : 'Set a name', () => this.ask(), { class: 'quiet' })])
  }
}
