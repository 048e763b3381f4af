// A table of any length of which only the rows on the screen exist. It scrolls with the page; all rows have one height.

import { button, element, refill } from './dom.js'
import { counted } from './text.js'
import { isOnPaper } from './printing.js'

/** Rows beyond the screen that are drawn ahead. */
const AHEAD = 10
/** The most rows on paper. */
const PRINTED = 1000
/** Rows that stand in until the number is known. */
const STAND_IN = 12

/** `cells(row, index)` makes the cells of a row; the first link in them is where the row leads. */
export class VirtualRows {
  constructor({ label, heads, widths, cells, pages, empty }) {
    Object.assign(this, { pages, cells, slots: [], current: -1, awaited: -1, drawn: -1 })
    this.head = element('div', { role: 'row', class: 'row head', 'aria-rowindex': 1 })
    this.body = element('div', { role: 'rowgroup', class: 'body' })
    this.message = element('div', { class: 'list-message', role: 'status' })
    this.empty = empty ?? 'Nothing here.'
    this.table = element('div', { role: 'table', class: 'rows', 'aria-label': label },
      element('div', { role: 'rowgroup', class: 'head-group' }, this.head), this.body)
    this.probe = element('div', { class: 'row probe', 'aria-hidden': 'true' })
    this.node = element('div', { class: 'list' }, this.probe, this.table, this.message)
    this.setColumns(heads, widths)
    this.frame = 0
    this.ask = () => {
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0
        this.draw()
      })
    }
    addEventListener('scroll', this.ask, { passive: true })
    addEventListener('resize', this.ask)
    this.print = () => this.draw()
    addEventListener('beforeprint', this.print)
    addEventListener('afterprint', this.print)
    this.table.addEventListener('focusin', (event) => {
      const slot = this.slots.find((one) => one.node.contains(event.target))
      if (slot && slot.index !== this.current) this.setCurrent(slot.index, false)
    })
  }

  /** Stops following the page. */
  end() {
    removeEventListener('scroll', this.ask)
    removeEventListener('resize', this.ask)
    removeEventListener('beforeprint', this.print)
    removeEventListener('afterprint', this.print)
    cancelAnimationFrame(this.frame)
    this.frame = -1
  }

  /** Heads are nodes or texts; `widths` is a grid template. */
  setColumns(heads, widths) {
    this.table.setAttribute('aria-colcount', heads.length)
    this.table.style.setProperty('--columns', widths)
    refill(this.head, heads.map((head) => element('div', { role: 'columnheader', 'aria-sort': head.sort ?? null, class: head.kind ?? null }, head.node ?? head)))
    this.slots.forEach((slot) => { slot.version = -1 })
  }

  get height() {
    return this.probe.offsetHeight || 32
  }

  /** Draws what is seen, at the latest in the next frame. */
  changed() {
    this.ask()
  }

  draw() {
    const { pages } = this
    const total = pages.total ?? (pages.failure ? 0 : STAND_IN)
    const height = this.height
    if (this.drawn !== total * height) {
      this.drawn = total * height
      this.body.style.height = `${this.drawn}px`
      this.table.setAttribute('aria-rowcount', pages.total === null ? -1 : total + 1)
    }
    this.table.setAttribute('aria-busy', pages.isBusy)
    this.say()
    if (isOnPaper()) {
      this.place(0, this.here(total), height)
      return
    }
    const top = this.body.getBoundingClientRect().top
    const first = Math.max(0, Math.min(total, Math.floor(-top / height) - AHEAD))
    const last = Math.max(Math.min(first + 1, total), Math.min(total, Math.ceil((innerHeight - top) / height) + AHEAD))
    this.place(first, last, height)
    pages.want(first, last)
  }

  /** How many of the first rows are here. */
  here(total) {
    let count = 0
    while (count < Math.min(total, PRINTED) && this.pages.at(count) !== undefined) count += 1
    return count
  }

  /** What there is instead of rows, or of the rest on paper. The text changes only when it says something else, so that it is read once. */
  say() {
    const { failure, total, isBusy } = this.pages
    const printed = isOnPaper() ? this.here(total ?? 0) : Infinity
    const text = failure ? `Rows could not be fetched: ${failure.message}` : total === 0 && !isBusy ? this.empty : printed < total ? `The first ${counted(printed)} of ${counted(total)} rows.` : ''
    if (this.said === text) return
    this.said = text
    refill(this.message, text && element('p', null, text), failure && button('Try again', () => this.pages.retry()))
  }

  place(first, last, height) {
    const free = []
    const kept = new Map()
    for (const slot of this.slots) {
      if (slot.index >= first && slot.index < last) kept.set(slot.index, slot)
      else free.push(slot)
    }
    for (const slot of free) slot.node.remove()
    this.slots = []
    const steady = Math.min(Math.max(this.current, first), last - 1)
    let next = this.body.firstChild
    for (let index = first; index < last; index += 1) {
      const slot = kept.get(index) ?? free.pop() ?? { node: element('div', { role: 'row', class: 'row' }), index: -1 }
      if (slot.node === next) next = next.nextSibling
      else this.body.insertBefore(slot.node, next)
      this.fill(slot, index, height, index === steady)
      this.slots.push(slot)
    }
  }

  fill(slot, index, height, isSteady) {
    const isCurrent = index === this.current
    const { version } = this.pages
    if (slot.index === index && slot.version === version && slot.isCurrent === isCurrent && slot.isSteady === isSteady && slot.height === height) return
    if (slot.index !== index || slot.height !== height) slot.node.style.transform = `translateY(${index * height}px)`
    const row = this.pages.at(index)
    if (slot.index !== index || slot.version !== version || slot.row !== row) {
      const hadFocus = slot.index === index && slot.node.contains(document.activeElement)
      refill(slot.node, row === undefined ? element('div', { role: 'cell', class: 'stand-in' }, ' ') : this.cells(row, index))
      slot.node.setAttribute('aria-rowindex', index + 2)
      slot.link = slot.node.querySelector('a')
      if (hadFocus || (this.awaited === index && slot.link)) this.focusLink(slot)
    }
    slot.node.classList.toggle('current', isCurrent)
    if (slot.link) slot.link.tabIndex = isSteady ? 0 : -1
    Object.assign(slot, { index, version, row, isCurrent, isSteady, height })
  }

  /** Goes on by so many rows, with the focus. */
  move(by) {
    const { total } = this.pages
    if (!total) return
    const start = this.current < 0 ? (by > 0 ? -1 : 0) : this.current
    this.setCurrent(Math.min(total - 1, Math.max(0, start + by)), true)
  }

  setCurrent(index, withFocus) {
    this.current = index
    if (withFocus) this.reveal(index)
    this.draw()
    this.awaited = withFocus ? index : -1
    if (withFocus) this.focusLink(this.slots.find((slot) => slot.index === index))
  }

  /** The focus goes to a row, now or as soon as it is here. */
  focusLink(slot) {
    if (!slot?.link) return
    slot.link.focus({ preventScroll: true })
    this.awaited = -1
  }

  /** Scrolls so that a row is seen, below the head that stays on top. */
  reveal(index) {
    const height = this.height
    const top = this.body.getBoundingClientRect().top + index * height
    const upper = this.head.getBoundingClientRect().bottom
    if (top < upper) scrollBy(0, top - upper)
    else if (top + 2 * height > innerHeight) scrollBy(0, top + 2 * height - innerHeight)
  }

  /** The link of the row that was moved to. */
  currentLink() {
    return this.slots.find((slot) => slot.index === this.current)?.link
  }
}
