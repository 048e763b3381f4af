// All cases of a run as rows: one window onto what the server filters, sorts and searches.

import { button, element, foreign } from './dom.js'
import { columnsOf, columnTitle, columnTrack, columnValue, columnWidth, isNumberColumn } from './case_columns.js'
import { caseReference } from './address.js'
import { counted, named } from './text.js'
import { PagedRows } from './paged_rows.js'
import { scoreCell } from './states.js'
import { listQuery, serverQuery } from './case_filters.js'
import { VirtualRows } from './virtual_rows.js'

/** The widths of columns, in rem: of a grader, and with the gap of a sample's name, of the trial and of the submission. */
const GRADER_WIDTH = 5
const NAME_WIDTH = 10
const TRIAL_WIDTH = 4.5
const SUBMISSION_WIDTH = 9

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
    this.resized = new ResizeObserver(([{ contentRect }]) => {
      if (this.width === contentRect.width || !contentRect.width) return
      this.width = contentRect.width
      this.arrange()
      // In the same frame: rows and heads never differ.
      this.view.draw()
    })
    this.resized.observe(this.view.node)
  }

  end() {
    this.resized.disconnect()
    this.view.end()
  }

  /** Another query: the rows are asked for anew. */
  show(query) {
    this.query = query
    this.view.current = -1
    this.arrange()
    return this.pages.reload()
  }

  /** Which columns there are: those that were chosen, and as many graders as there is room for, the one that is filtered by first. */
  arrange() {
    const { run, query } = this
    const all = run.graders.map((one) => one.name).sort((one, other) => (other === query.grader) - (one === query.grader))
    this.isNarrow = innerWidth <= 720
    this.hasModels = run.models?.length > 1
    this.hasTrials = run.trials > 1
    this.columns = columnsOf(query)
    const width = (this.width ?? innerWidth) / parseFloat(getComputedStyle(document.documentElement).fontSize)
    const beside = NAME_WIDTH + (this.hasModels ? 7 : 0) + (this.hasTrials ? TRIAL_WIDTH : 0) + this.columns.reduce((sum, name) => sum + columnWidth(name) + 1, 0)
    const room = (rest) => Math.max(1, Math.floor((width - rest - beside) / (GRADER_WIDTH + 1)))
    // Who chooses columns wants these and grades rather than the submission, where not all fit.
    this.hasSubmission = this.isNarrow || !this.columns.length || room(SUBMISSION_WIDTH) >= all.length
    this.graders = all.slice(0, this.isNarrow ? 6 : room(this.hasSubmission ? SUBMISSION_WIDTH : 0))
    const left = all.length - this.graders.length
    const notShown = left > 0 && element('span', { class: 'muted' }, ` (${counted(left, 'grader')} not shown)`)
    const heads = [{ node: this.sortHead('Sample', 'id'), sort: this.sorted('id') }, this.hasModels && { node: 'Model', kind: 'model' }, this.hasTrials && { node: 'Trial', kind: 'trial number' },
      ...this.graders.map((name) => ({ node: this.sortHead(this.titleOf(name), 'score', name), sort: query.grader === name || !query.grader ? this.sorted('score', name) : null, kind: 'grade' })),
      ...this.columns.map((name, at) => ({ node: [this.sortHead(columnTitle(name), name), !this.hasSubmission && at === this.columns.length - 1 && notShown], sort: this.sorted(name), kind: isNumberColumn(name) ? 'number' : 'column' })),
      this.hasSubmission && { node: ['Submission', notShown], kind: 'submission' }].filter(Boolean)
    const widths = [width < 70 ? 'minmax(6rem, 9rem)' : 'minmax(8rem, 16rem)', this.hasModels && 'minmax(6rem, 11rem)', this.hasTrials && '3.5rem', ...this.graders.map(() => `${GRADER_WIDTH}rem`), ...this.columns.map(columnTrack), this.hasSubmission && 'minmax(8rem, 1fr)'].filter(Boolean).join(' ')
    this.fit(width, (this.hasSubmission ? SUBMISSION_WIDTH : 0) + beside + this.graders.length * (GRADER_WIDTH + 1))
    this.view.setColumns(heads, widths)
    this.view.changed()
  }

  /** What does not fit scrolls in itself; on a narrow screen rows grow. */
  fit(width, least) {
    const { node, table } = this.view
    const isWide = !this.isNarrow && this.columns.length > 0 && least > width
    node.classList.toggle('many', isWide)
    table.style.setProperty('--least', isWide ? `${least}rem` : '0')
    const lines = this.isNarrow ? Math.ceil(this.columns.length / 2) : 0
    if (lines) node.style.setProperty('--row-height', `${3.25 + 1.4375 * lines}rem`)
    else node.style.removeProperty('--row-height')
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
      ...this.columns.map((name) => cell(isNumberColumn(name) ? 'number figures column' : 'cut column', this.isNarrow && element('span', { class: 'muted' }, foreign(columnTitle(name)), ' '), columnValue(name, row.columns?.[name]))),
      this.hasSubmission && cell('cut submission muted', foreign(row.submission))]
  }
}
