// Columns of a list of cases beside grades: which there are, which are chosen, and the ranges that they are filtered by.

import { button, element, field, foreign, refill } from './dom.js'
import { counted, money } from './text.js'
import { failureBox } from './notices.js'

/** The columns that every run may have: their heads, and what these mean. */
const COLUMN_TITLES = { tokens: ['Tokens', 'of the judges'], cost: ['Cost', 'US dollars of the judges'], latency: ['Seconds', 'that the answer took'], tool_calls: ['Calls', 'of tools'],
  tags: ['Tags', 'of the sample'], input: ['Input', 'its beginning'], ground_truth: ['Reference', 'the beginning of the answer that is right'] }
/** Those that have a range. */
const RANGED = ['tokens', 'cost', 'latency', 'tool_calls']
/** The widths of columns, in rem; those that grow have a share. */
const COLUMN_WIDTHS = { tokens: 5, cost: 5.5, latency: 5, tool_calls: 4, tags: 7, input: 10, ground_truth: 8 }
const METADATA = 'metadata.'

/** The members of a query that filter by columns. */
export const COLUMN_FILTERS = [...RANGED.flatMap((name) => [`${name}_min`, `${name}_max`]), 'where']

/** The names of the columns that a query chooses. */
export function columnsOf(query) {
  return (query.columns ?? '').split(',').filter(Boolean)
}

/** What stands above a column. */
export function columnTitle(name) {
  return COLUMN_TITLES[name]?.[0] ?? (name.startsWith(METADATA) ? name.slice(METADATA.length) : name)
}

/** How wide a column is at least, in rem. */
export function columnWidth(name) {
  return COLUMN_WIDTHS[name] ?? 6.5
}

/** How wide a column is in a grid. */
export function columnTrack(name) {
  const isLong = ['input', 'ground_truth'].includes(name)
  return isLong ? `minmax(${columnWidth(name)}rem, 1fr)` : `${columnWidth(name)}rem`
}

/** A value of a column as nodes. */
export function columnValue(name, value) {
  if (value === null || value === undefined) return element('span', { class: 'muted' }, '–')
  if (name === 'cost') return money(value)
  if (name === 'latency') return `${value.toFixed(value < 10 ? 2 : 1)} s`
  if (typeof value === 'number') return name.startsWith(METADATA) ? String(value) : counted(value)
  if (Array.isArray(value)) return value.map((tag) => [foreign(tag, { class: 'foreign tag' }), ' '])
  return foreign(value)
}

/** Whether numbers stand in a column. */
export function isNumberColumn(name) {
  return RANGED.includes(name)
}

/** The filters by columns that a query has, in words, each with what takes it away. */
function columnChips(query) {
  const ranges = RANGED.flatMap((name) => [['min', '≥'], ['max', '≤']].map(([end, sign]) => [`${name}_${end}`, `${columnTitle(name)} ${sign} ${query[`${name}_${end}`]}`]))
  const [key, value] = splitCondition(query.where ?? '')
  return [...ranges, ['where', `${columnTitle(key)} = ${value}`]].filter(([name]) => query[name])
}

/** The column and the value of a condition. */
function splitCondition(text) {
  const at = text.indexOf(':')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** The condition that a key of metadata has a value. */
export function conditionOf(column, value) {
  return `${column}:${value}`
}

/** The control that chooses columns, and what filters by them. */
export class ColumnChooser {
  constructor(run, change, source) {
    Object.assign(this, { run, change, source, query: {} })
    this.panel = element('div', { class: 'column-panel', role: 'group', 'aria-label': 'Columns' })
    this.node = element('details', { class: 'column-chooser', ontoggle: () => this.node.open && this.fill(), onkeydown: (event) => this.pressed(event) }, element('summary', { class: 'button' }, 'Columns'), this.panel)
    this.chips = element('div', { class: 'column-chips' })
    // A press elsewhere closes it; it goes with its page.
    this.elsewhere = (event) => {
      if (this.node.isConnected && !this.node.contains(event.target)) this.node.open = false
    }
    addEventListener('pointerdown', this.elsewhere)
  }

  end() {
    removeEventListener('pointerdown', this.elsewhere)
  }

  pressed(event) {
    if (event.key !== 'Escape' || !this.node.open) return
    event.stopPropagation()
    this.node.open = false
    this.node.querySelector('summary').focus()
  }

  /** Shows what an address says. */
  show(query) {
    this.query = query
    const chips = columnChips(query)
    this.chips.hidden = chips.length === 0
    refill(this.chips, chips.map(([name, text]) => button([foreign(text), ' ', element('span', { 'aria-hidden': 'true' }, '×')], () => this.change({ [name]: '' }), { class: 'chip', 'aria-label': `Remove the filter ${text}` })))
    for (const [name, box] of this.boxes ?? []) box.checked = columnsOf(query).includes(name)
    for (const [name, bound] of this.inputs ?? []) if (document.activeElement !== bound) bound.value = this.inputValue(name)
  }

  /** What a field has: a bound, or the value that a key is to have. */
  inputValue(name) {
    if (!name.startsWith(METADATA)) return this.query[name] ?? ''
    const [key, value] = splitCondition(this.query.where ?? '')
    return key === name ? value : ''
  }

  /** Which columns there are is asked for when somebody wants to know. */
  async fill() {
    if (this.boxes) return
    refill(this.panel, element('p', { class: 'muted', role: 'status' }, 'Fetching…'))
    try {
      const { columns, note } = await this.source.columns(this.run.id)
      this.build(columns, note)
    } catch (failure) {
      refill(this.panel, failureBox('Columns could not be fetched', failure, () => this.fill()))
    }
  }

  build(columns, note) {
    this.boxes = new Map()
    this.inputs = new Map()
    const lines = columns.map((column) => this.line(column))
    refill(this.panel, columns.length ? lines : element('p', { class: 'muted' }, 'Nothing else is recorded.'), note && element('p', { class: 'muted small' }, foreign(note)))
    this.show(this.query)
  }

  line({ name, rows }) {
    const box = element('input', { type: 'checkbox', onchange: () => this.chosen() })
    this.boxes.set(name, box)
    const title = columnTitle(name)
    const input = (member, label, properties, told) => {
      const bound = element('input', { class: 'bound', 'aria-label': `${title} ${label}`, onchange: () => this.change({ [member]: told ? told(bound.value) : bound.value }), ...properties })
      this.inputs.set(told ? name : member, bound)
      return field(label, bound)
    }
    const fields = RANGED.includes(name) ? [input(`${name}_min`, 'from', { type: 'number', step: 'any', min: '0' }), input(`${name}_max`, 'to', { type: 'number', step: 'any', min: '0' })]
      : name.startsWith(METADATA) ? [input('where', 'is', { type: 'text', class: 'bound wanted-value' }, (value) => value && conditionOf(name, value))] : null
    return element('div', { class: 'column-line' }, element('label', { class: 'check' }, box, element('span', null, foreign(title), element('span', { class: 'muted small' }, ` ${COLUMN_TITLES[name]?.[1] ?? 'metadata'}, of ${counted(rows, 'case')}`))), fields)
  }

  /** The columns in the order in which they were chosen. */
  chosen() {
    const before = columnsOf(this.query).filter((name) => this.boxes.get(name)?.checked ?? true)
    const added = [...this.boxes].filter(([name, box]) => box.checked && !before.includes(name)).map(([name]) => name)
    this.change({ columns: [...before, ...added].join(',') })
  }
}
