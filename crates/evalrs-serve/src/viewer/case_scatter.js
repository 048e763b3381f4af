// Two numbers of each case against each other. A point leads to its case; of very many cases, how many lie in each cell.

import { choice, element, refill, svg } from './dom.js'
import { counted, decimal, money } from './text.js'
import { caseReference } from './address.js'
import { columnTitle } from './case_columns.js'
import { failureBox } from './notices.js'
import { listQuery, serverQuery } from './case_filters.js'

const WIDTH = 460
const HEIGHT = 300
/** The margins: for the scale on the left and below. */
const LEFT = 46
const BELOW = 34
const EDGE = 12
/** The margin above, for the title of the scale. */
const ABOVE = 24
/** The cells of a side of the grid. */
const GRID = 40

/** A part of the page that opens: which numbers it shows stands in the address, as `scatter=a,b`. */
export class CaseScatter {
  constructor(run, change, source) {
    Object.assign(this, { run, change, source, query: {}, sequence: 0 })
    this.body = element('div')
    this.node = element('details', { ontoggle: () => this.toggled() }, element('summary', null, 'Scatter'), this.body)
  }

  toggled() {
    if (!this.node.open && this.query.scatter) this.change({ scatter: '' })
    if (this.node.open && !this.query.scatter) this.begin()
  }

  async begin() {
    try {
      const [first, second] = (await this.axes()).map(([name]) => name)
      if (second) this.change({ scatter: `${encodeURIComponent(first)},${encodeURIComponent(second)}` })
      else refill(this.body, element('p', { class: 'muted' }, 'There are no two numbers.'))
    } catch (failure) {
      refill(this.body, failureBox('Numbers could not be fetched', failure, () => this.begin()))
    }
  }

  /** The numbers that there are, with their titles: graders, then columns. */
  async axes() {
    const graders = this.run.graders.map(({ name, label }) => [name, label ?? name])
    const { columns } = await this.source.columns(this.run.id)
    return [...graders, ...columns.filter((one) => one.is_number && !graders.some(([name]) => name === one.name)).map(({ name }) => [name, columnTitle(name)])]
  }

  /** Shows what an address says: of the cases that are listed. */
  show(query) {
    const before = JSON.stringify([serverQuery({ ...this.query, columns: '', sort: '', order: '' }), this.query.scatter])
    this.query = listQuery(query)
    this.node.open = Boolean(query.scatter)
    if (query.scatter && before !== JSON.stringify([serverQuery({ ...this.query, columns: '', sort: '', order: '' }), this.query.scatter])) this.fetch()
  }

  async fetch() {
    if (!this.query.scatter) return
    this.sequence += 1
    const { sequence } = this
    const [x, y = x] = this.query.scatter.split(',').map(decodeURIComponent)
    try {
      const [axes, found] = await Promise.all([this.axes(), this.source.scatter(this.run.id, x, y, serverQuery({ ...this.query, columns: '', sort: '', order: '' }))])
      if (sequence === this.sequence) this.build(axes, found, { x, y })
    } catch (failure) {
      if (sequence === this.sequence) refill(this.body, failureBox('The numbers could not be fetched', failure, () => this.fetch()))
    }
  }

  build(axes, found, chosen) {
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.axis : null
    const told = (name) => (axes.find(([own]) => own === name) ?? [name, name])[1]
    const pick = (axis) => {
      const { node, control } = choice(axis === 'x' ? 'Across' : 'Up', axes, chosen[axis], (value) => {
        const { x, y } = { ...chosen, [axis]: value }
        this.change({ scatter: `${encodeURIComponent(x)},${encodeURIComponent(y)}` })
      })
      control.dataset.axis = axis
      return node
    }
    const chart = found.known ? scatterChart(found, { x: told(chosen.x), y: told(chosen.y) }, chosen, (point) => caseReference(this.run.id, point, this.query)) : element('p', { class: 'muted' }, 'No case has both.')
    refill(this.body, element('div', { class: 'scatter-axes' }, pick('x'), pick('y')), chart,
      found.known > 0 && element('p', { class: 'muted small' }, found.cells.length ? `${counted(found.known, 'case')}, as density.` : `${counted(found.known, 'case')}. Left and right arrows go from point to point.`))
    if (focused) this.body.querySelector(`[data-axis="${focused}"]`)?.focus()
  }
}

/** A number of a scale. */
function tickText(name, value) {
  return name === 'cost' ? money(value) : Number.isInteger(value) ? counted(value) : decimal(value, Math.abs(value) < 10 ? 2 : 0)
}

/** Cases with the same two numbers as one mark. */
function marksOf(points) {
  const marks = new Map()
  for (const point of points) {
    const name = `${point.x} ${point.y}`
    if (!marks.has(name)) marks.set(name, { point, count: 0 })
    marks.get(name).count += 1
  }
  return [...marks.values()].sort((one, other) => one.point.x - other.point.x || one.point.y - other.point.y)
}

function scatterChart({ known, x, y, points, cells }, titles, names, hrefOf) {
  const place = (range, from, to) => (value) => range.max > range.min ? from + (value - range.min) / (range.max - range.min) * (to - from) : (from + to) / 2
  const across = place(x, LEFT + EDGE, WIDTH - EDGE)
  const up = place(y, HEIGHT - BELOW - EDGE, ABOVE)
  const ticks = (range) => (range.max > range.min ? [0, 0.5, 1].map((share) => range.min + share * (range.max - range.min)) : [range.min])
  const parts = [svg('line', { class: 'axis', x1: LEFT, x2: WIDTH, y1: HEIGHT - BELOW, y2: HEIGHT - BELOW }), svg('line', { class: 'axis', x1: LEFT, x2: LEFT, y1: ABOVE - EDGE / 2, y2: HEIGHT - BELOW }),
    ticks(x).map((value, at, all) => svg('text', { class: 'tick', x: across(value), y: HEIGHT - BELOW + 14, 'text-anchor': all.length > 1 ? ['start', 'middle', 'end'][at] : 'middle' }, tickText(names.x, value))),
    ticks(y).map((value) => svg('text', { class: 'tick', x: LEFT - 6, y: up(value) + 3.5, 'text-anchor': 'end' }, tickText(names.y, value))),
    svg('text', { class: 'tick', x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, 'text-anchor': 'middle' }, `${titles.x} →`), svg('text', { class: 'tick', x: 0, y: 9 }, `↑ ${titles.y}`)]
  const label = `${titles.y} against ${titles.x}, ${counted(known, 'case')}`
  if (cells.length) {
    const most = Math.max(...cells.map((cell) => cell.count))
    const [wide, tall] = [(WIDTH - EDGE * 2 - LEFT) / GRID, (HEIGHT - BELOW - EDGE - ABOVE) / GRID]
    parts.push(cells.map((cell) => svg('rect', { class: 'density', x: LEFT + EDGE + cell.column * wide, y: HEIGHT - BELOW - EDGE - (cell.line + 1) * tall, width: wide, height: tall, 'fill-opacity': (0.15 + 0.85 * Math.log1p(cell.count) / Math.log1p(most)).toFixed(2) },
      svg('title', null, counted(cell.count, 'case')))))
    return svg('svg', { class: 'scatter', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label }, parts)
  }
  const marks = marksOf(points)
  const links = marks.map(({ point, count }, at) => {
    const told = `${point.sample_id}${count > 1 ? ` and ${counted(count - 1, 'other')}` : ''}: ${titles.x} ${tickText(names.x, point.x)}, ${titles.y} ${tickText(names.y, point.y)}`
    return svg('a', { href: hrefOf(point), 'aria-label': told, tabindex: at === 0 ? 0 : -1 }, svg('circle', { class: 'target', cx: across(point.x), cy: up(point.y), r: 12 }),
      svg('circle', { class: 'point', cx: across(point.x), cy: up(point.y), r: Math.min(11, 2.5 + Math.sqrt(count)) }, svg('title', null, told)))
  })
  const step = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = links.indexOf(event.target)
    const next = links[at + by]
    if (!by || at < 0 || !next) return
    event.preventDefault()
    links[at].setAttribute('tabindex', -1)
    next.setAttribute('tabindex', 0)
    next.focus()
  }
  return svg('svg', { class: 'scatter', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group', 'aria-label': label, onkeydown: step }, parts, links)
}
