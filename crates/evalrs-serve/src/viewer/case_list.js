// All cases of a run as rows: one window onto what the server filters, sorts and searches.

import { button, element, foreign } from './dom.js'
import { caseReference } from './address.js'
import { counted, named } from './text.js'
import { PagedRows } from './paged_rows.js'
import { scoreCell } from './states.js'
import { listQuery, serverQuery } from './case_filters.js'
import { VirtualRows } from './virtual_rows.js'

/** The width of a grader's column, and of all that stands beside them, in pixels. */
const GRADER_WIDTH = 96
const REST_WIDTH = 520

/** What one case is called among others. */
export function caseName(case_) {
  return JSON.stringify([case_.sample_id, case_.model ?? null, case_.trial ?? 0])
}

/** The list of a run's cases. `change` sets members of the query, as a click on a head does. */
export class CaseList {
  constructor(source, run, change, shown) {
    Object.assign(this, { source, run, change, query: {} })
    const fetchPage = async (skip, limit) => {
      const { samples, total } = await source.samples(run.id, { ...serverQuery(this.query), skip, limit })
      return { rows: samples, total }
    }
    this.pages = new PagedRows(fetchPage, () => {
      this.view.changed()
      shown(this.pages)
    }, caseName)
    this.view = new VirtualRows({ label: 'Cases', heads: [], widths: '', pages: this.pages, cells: (row) => this.cells(row), empty: 'No case matches.' })
    this.view.node.classList.add('cases')
    this.resized = () => this.arrange()
    addEventListener('resize', this.resized)
  }

  end() {
    removeEventListener('resize', this.resized)
    this.view.end()
  }

  /** Another query: the rows are asked for anew. */
  show(query) {
    this.query = query
    this.view.current = -1
    this.arrange()
    return this.pages.reload()
  }

  /** Which columns there are: as many graders as there is room for, the one that is filtered by first. */
  arrange() {
    const { run, query } = this
    const all = run.graders.map((one) => one.name).sort((one, other) => (other === query.grader) - (one === query.grader))
    this.isNarrow = innerWidth <= 720
    const room = Math.max(1, Math.floor((Math.min(innerWidth, 2200) - REST_WIDTH) / GRADER_WIDTH))
    this.graders = all.slice(0, this.isNarrow ? 6 : room)
    this.hasModels = run.models?.length > 1
    this.hasTrials = run.trials > 1
    const left = all.length - this.graders.length
    const heads = [{ node: this.sortHead('Sample', 'id'), sort: this.sorted('id') }, this.hasModels && { node: 'Model', kind: 'model' }, this.hasTrials && { node: 'Trial', kind: 'trial number' },
      ...this.graders.map((name) => ({ node: this.sortHead(this.titleOf(name), 'score', name), sort: query.grader === name || !query.grader ? this.sorted('score', name) : null, kind: 'grade' })),
      { node: ['Submission', left > 0 && element('span', { class: 'muted' }, ` (${counted(left, 'grader')} not shown)`)], kind: 'submission' }].filter(Boolean)
    const widths = ['minmax(8rem, 16rem)', this.hasModels && 'minmax(6rem, 11rem)', this.hasTrials && '3.5rem', ...this.graders.map(() => '6rem'), 'minmax(8rem, 1fr)'].filter(Boolean).join(' ')
    this.view.setColumns(heads, widths)
    this.view.changed()
  }

  titleOf(name) {
    return this.run.graders.find((one) => one.name === name)?.label ?? name
  }

  sorted(sort, grader) {
    const { query } = this
    if (query.sort !== sort || (grader && query.grader !== grader)) return null
    return query.order === 'desc' ? 'descending' : 'ascending'
  }

  /** A head that sorts: upwards, then downwards, then as in the dataset. */
  sortHead(text, sort, grader) {
    const now = this.sorted(sort, grader)
    const sign = now === 'ascending' ? ' ↑' : now === 'descending' ? ' ↓' : ''
    const next = now === 'descending' ? { sort: '', order: '' } : { sort, order: now ? 'desc' : '' }
    return button([foreign(text), sign], () => this.change(grader ? { ...next, grader } : next), { class: 'sort', title: `Sort by ${text}` })
  }

  cells(row) {
    const cell = (kind, ...children) => element('div', { role: 'cell', class: kind }, ...children)
    const address = caseReference(this.run.id, row, listQuery(this.query))
    return [cell('first cut', element('a', { class: 'cover', href: address, title: row.sample_id }, foreign(named(row.sample_id)))),
      this.hasModels && cell('cut model', foreign(row.model ?? '–')), this.hasTrials && cell('number figures trial', String(row.trial)),
      ...this.graders.map((name) => cell('grade', this.isNarrow && element('span', { class: 'muted' }, foreign(this.titleOf(name)), ' '), scoreCell(row.grades[name]))),
      cell('cut submission muted', foreign(row.submission))]
  }
}
