// What is printed: what is folded is open, long texts are whole, and lists have all rows that are here.

/** How often what opening has brought is opened in turn. */
const ROUNDS = 4
/** What stays folded on paper: how a judgment was made, and where things stand on a screen. */
const KEPT = '.judgments details, .outline'

let isPrinting = false

/** Whether the page is being printed. */
export function isOnPaper() {
  return isPrinting
}

/** Opens what is folded before the page is printed, and closes it afterwards. */
export function startPrinting(main) {
  let opened = []
  addEventListener('beforeprint', () => {
    isPrinting = true
    for (let round = 0; round < ROUNDS; round += 1) {
      const folded = [...main.querySelectorAll('details:not([open])')].filter((part) => !part.matches(KEPT))
      const more = [...main.querySelectorAll('button.more')]
      if (!folded.length && !more.length) break
      for (const part of folded) {
        part.open = true
        // The event of the browser comes after the page is printed.
        part.dispatchEvent(new Event('toggle'))
      }
      for (const one of more) one.click()
      opened.push(...folded)
    }
  })
  addEventListener('afterprint', () => {
    isPrinting = false
    for (const part of opened) part.open = false
    opened = []
  })
}
