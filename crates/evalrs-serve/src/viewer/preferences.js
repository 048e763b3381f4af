// What a reader prefers: light or dark, and keys. Kept in the browser where it lets us.

import { refill } from './dom.js'

/** The value that is kept under this name. */
export function preference(name) {
  try {
    return localStorage.getItem(`evalrs.${name}`)
  } catch {
    return null
  }
}

/** Keeps a value; null forgets it. */
export function prefer(name, value) {
  try {
    if (value === null) localStorage.removeItem(`evalrs.${name}`)
    else localStorage.setItem(`evalrs.${name}`, value)
  } catch {
    // It holds until the page is left.
  }
}

const THEMES = [[null, '◐', 'as the system'], ['light', '○', 'light'], ['dark', '●', 'dark']]

/** Makes the button that goes through light, dark, and as the system is set. */
export function startTheme(button) {
  let at = Math.max(0, THEMES.findIndex(([name]) => name === preference('theme')))
  const show = () => {
    const [name, sign, text] = THEMES[at]
    if (name) document.documentElement.dataset.theme = name
    else delete document.documentElement.dataset.theme
    refill(button, sign)
    button.setAttribute('aria-label', `Colours: ${text}`)
    button.title = `Colours: ${text}`
  }
  button.addEventListener('click', () => {
    at = (at + 1) % THEMES.length
    prefer('theme', THEMES[at][0])
    show()
  })
  show()
}
