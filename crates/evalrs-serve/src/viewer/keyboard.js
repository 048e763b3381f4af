// Keys: which are listened to, when, and the dialog that lists them. What they do belongs to the page that is shown.

import { button, element } from './dom.js'
import { prefer, preference } from './preferences.js'

const KEYS = [
  ['j, k', 'next and previous row or case'],
  ['Enter', 'opens the row'],
  ['Esc', 'back: from a case to its list, from a run to all runs'],
  ['/', 'search'],
  ['o', 'in a case: its other models, trials and runs beside it'],
  ['f, e', 'in a long conversation: find, the next failed call'],
  ['m', 'in a case: texts as Markdown, or as they were written'],
  ['c', 'in answers: changes word by word, or whole texts'],
  ['y, n', 'label: pass, fail'],
  ['0 to 9', 'label with a score: the digit itself, 0 for 10 on a scale from 1 to 10, else tenths of the scale'],
  ['!', 'label with the top of a scale of tenths'],
  ['x', 'removes your label'],
  ['u', 'in a case: takes back the label that was given last'],
  ['t', 'in a case: a comment to go with the label'],
  ['?', 'this list'],
]

let areOff = preference('keys') === 'off'

/** Calls the page's own function for a key, by name. `keysOf` gives those of the page that is shown. */
export function startKeyboard(keysOf, helpButton) {
  const dialog = helpDialog()
  document.body.append(dialog)
  const help = () => dialog.showModal()
  helpButton.addEventListener('click', help)
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector('dialog[open]') || event.defaultPrevented) return
    const { target, key } = event
    if (isField(target)) {
      if (key === 'Escape') target.blur()
      return
    }
    if (key === 'Enter' && target.closest?.('a, button, summary')) return
    if (areOff && key !== 'Escape' && key !== 'Enter') return
    const act = key === '?' ? help : keysOf()[key]
    if (!act) return
    event.preventDefault()
    act()
  })
}

function isField(node) {
  return node.isContentEditable || node.tagName === 'SELECT' || node.tagName === 'TEXTAREA'
    || (node.tagName === 'INPUT' && !['checkbox', 'radio', 'button'].includes(node.type))
}

function helpDialog() {
  const control = element('input', { type: 'checkbox', onchange: () => {
    areOff = !control.checked
    prefer('keys', areOff ? 'off' : null)
  } })
  control.checked = !areOff
  const dialog = element('dialog', { class: 'help', 'aria-labelledby': 'help-title' }, element('h2', { id: 'help-title' }, 'Keys'),
    element('dl', null, KEYS.map(([key, text]) => [element('dt', null, element('kbd', null, key)), element('dd', null, text)])),
    element('label', { class: 'check' }, control, 'Keys without Ctrl or Alt are on'),
    button('Close', () => dialog.close(), { class: 'primary' }))
  return dialog
}
