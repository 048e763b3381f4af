// Texts beside the page: visible messages, sentences for screen readers, and failures with a way out.

import { button, element, refill } from './dom.js'

/** Tells screen readers. */
export function announce(text) {
  refill(document.getElementById('announcer'), text)
}

/** How long a message stays, in milliseconds. */
const STAY = 8000

/** Shows a message for a while. */
export function notify(text, { isFailure = false } = {}) {
  const close = () => note.remove()
  const note = element('div', { class: isFailure ? 'notice failure' : 'notice' }, element('p', null, text),
    button('×', close, { class: 'quiet', 'aria-label': 'Close the message' }))
  document.getElementById('notices').append(note)
  if (!isFailure) setTimeout(close, STAY)
}

/** A request that failed, where its answer would stand. */
export function failureBox(what, failure, retry) {
  return element('div', { class: 'failed-request', role: 'alert' },
    element('p', null, element('strong', null, `${what}: `), failure.message), retry && button('Try again', retry))
}
