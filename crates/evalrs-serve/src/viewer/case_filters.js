// The filters of a list of cases. What is chosen is the query of the address and nothing else.

import { button, choice, element, field, refill } from './dom.js'
import { counted } from './text.js'
import { COLUMN_FILTERS, ColumnChooser, columnsOf, columnTitle } from './case_columns.js'

/** The members of a query that are about the list. */
export const LIST_QUERY = ['grader', 'state', 'tag', 'model', 'q', 'min', 'max', 'category', ...COLUMN_FILTERS, 'columns', 'sort', 'order', 'view', 'only', 'groups', 'scatter']
/** Those that say how the list is shown, and not which cases are in it. */
const SHOWING = ['view', 'columns', 'groups', 'scatter']

/** How long nothing is typed before the search begins, in milliseconds. */
const TYPING = 200

const STATE_CHOICES = [['', 'any state'], ['passed', '✓ passed'], ['failed', '✗ failed'], ['errored', '! error'], ['pending', '… pending'], ['not_applicable', '– not applicable'],
  ['disagrees', '≠ disagrees with people'], ['false_pass', '≠ false pass'], ['false_fail', '≠ false fail'], ['labelled', 'labelled'], ['unlabelled', 'unlabelled'], ['disputed', '⇄ disputed: reviewers disagree']]
const SORTS = [['', 'as in the dataset'], ['id', 'by sample'], ['score', 'lowest score first'], ['score desc', 'highest score first'], ['queue', 'what to label next']]

/** The part of a query that is about the list. */
export function listQuery(query) {
  return Object.fromEntries(LIST_QUERY.filter((name) => query[name]).map((name) => [name, query[name]]))
}

/** What the server is asked for: the query without what only the page knows. */
export function serverQuery(query) {
  const { view, only, groups, scatter, ...asked } = listQuery(query)
  return asked
}

/** Search and choices; `change(query)` is called with members that are another now. */
export class CaseFilters {
  constructor(run, change, source, repeat = null) {
    Object.assign(this, { run, change, source })
    this.exports = element('span', { class: 'exports muted' })
    this.search = element('input', { type: 'search', placeholder: 'Search', autocomplete: 'off', spellcheck: 'false', oninput: () => this.typed(), 'aria-keyshortcuts': '/', title: 'Words; /a pattern/ is a regular expression; - before either leaves out what has it' })
    const bound = (name, placeholder) => element('input', { type: 'number', step: 'any', min: '0', max: '1', placeholder, class: 'bound', oninput: (event) => this.bounded(name, event.target.value) })
    this.bounds = { min: bound('min', '0'), max: bound('max', '1') }
    const graders = [['', 'any grader'], ...run.graders.map((one) => [one.name, one.label ?? one.name])]
    this.choices = {
      grader: choice('Grader', graders, '', (grader) => change({ grader })),
      state: choice('State', STATE_CHOICES, '', (state) => change({ state })),
      tag: run.tags?.length ? choice('Tag', [['', 'any tag'], ...run.tags.map((tag) => [tag, tag])], '', (tag) => change({ tag })) : null,
      model: run.models?.length > 1 ? choice('Model', [['', 'any model'], ...run.models.map((model) => [model, model])], '', (model) => change({ model })) : null,
      category: Object.keys(run.categories ?? {}).length && source.abilities.server ? choice('Category', [['', 'any category'], ...Object.entries(run.categories).map(([name, count]) => [name, `${name} (${counted(count)})`])], '', (category) => change({ category })) : null,
      sort: choice('Order', SORTS.filter(([name]) => name !== 'queue' || source.takesLabels(run.suite)), '', (value) => {
        const [sort, order] = value.split(' ')
        change({ sort, order })
      }),
    }
    this.count = element('span', { class: 'count figures', role: 'status' })
    this.view = button('Matrix', () => change({ view: this.isMatrix ? '' : 'matrix' }), { 'aria-pressed': 'false' })
    this.clear = button('Clear', () => change(Object.fromEntries(LIST_QUERY.filter((name) => !SHOWING.includes(name)).map((name) => [name, '']))), { class: 'quiet' })
    this.columns = new ColumnChooser(run, change, source)
    const { grader, state, tag, model, category, sort } = this.choices
    this.node = element('div', { class: 'filters', role: 'search', 'aria-label': 'Cases' },
      element('div', { class: 'filter-head' }, element('h2', { id: 'cases-title' }, 'Cases'), element('div', { class: 'filter-end' }, this.count, this.clear, this.columns.node, this.view, repeat && button('Repeat…', repeat, { class: 'quiet', title: 'Call the judge again for the cases of this list, after a look at the price' }), this.exports)),
      field('Search', this.search, { class: 'field search' }), [grader, state].map((one) => one.node), field('Score from', this.bounds.min), field('to', this.bounds.max), [tag, model, category, sort].map((one) => one?.node), this.columns.chips)
  }

  typed() {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.change({ q: this.search.value }), TYPING)
  }

  bounded(name, value) {
    clearTimeout(this.boundTimer)
    this.boundTimer = setTimeout(() => this.change({ [name]: value }), TYPING)
  }

  /** Shows what an address says. */
  show(query) {
    this.isMatrix = query.view === 'matrix'
    this.view.setAttribute('aria-pressed', this.isMatrix)
    if (document.activeElement !== this.search) this.search.value = query.q ?? ''
    this.columns.show(query)
    this.showOrders(query)
    for (const [name, one] of Object.entries(this.bounds)) if (document.activeElement !== one) one.value = query[name] ?? ''
    for (const [name, one] of Object.entries(this.choices)) {
      if (!one) continue
      one.control.value = name === 'sort' ? [query.sort, query.order === 'desc' ? 'desc' : ''].filter(Boolean).join(' ') : query[name] ?? ''
    }
    if (this.source?.abilities.server && !this.run.under_way) {
      const link = (format, text) => element('a', { href: this.source.download(this.run.id, format, { ...serverQuery(query), columns: '', sort: '', order: '' }), download: `${this.run.id}.${format}` }, text)
      refill(this.exports, 'Export: ', link('csv', 'CSV'), ' ', link('jsonl', 'JSON Lines'))
    }
    this.clear.disabled = !Object.keys(serverQuery(query)).some((name) => !SHOWING.includes(name))
  }

  /** Columns that are shown are orders too. */
  showOrders(query) {
    const { control } = this.choices.sort
    const own = SORTS.map(([value]) => value.split(' ')[0])
    const columns = [...new Set([...columnsOf(query), query.sort].filter((name) => name && !own.includes(name)))]
    const options = columns.flatMap((name) => [[name, `${columnTitle(name)} ↑`], [`${name} desc`, `${columnTitle(name)} ↓`]])
    while (control.options.length > SORTS.length) control.options[SORTS.length].remove()
    for (const [value, text] of options) {
      const option = element('option', null, text)
      option.value = value
      control.append(option)
    }
  }

  end() {
    this.columns.end()
  }

  focus() {
    this.search.focus()
    this.search.select()
  }
}
