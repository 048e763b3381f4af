// Cases against models, or against the run before: a grid of verdicts in which those are ringed that got worse. Where a person labelled a case,
// worse is what no longer says the same; elsewhere, what passed before and fails now.

import { button, element, foreign, refill } from './dom.js'
import { caseName } from './case_list.js'
import { caseReference } from './address.js'
import { counted } from './text.js'
import { failureBox } from './notices.js'
import { listQuery, serverQuery } from './case_filters.js'
import { isWorse, scoreCell } from './states.js'
import { VirtualRows } from './virtual_rows.js'

/** The most results that are fetched for it, and how many a request fetches. */
const MAX_RESULTS = 10_000
const PER_REQUEST = 500
/** The most columns. */
const MAX_COLUMNS = 12

/** The matrix of a run. */
export class Matrix {
  constructor(source, run, change, shown) {
    Object.assign(this, { source, run, change, shown, sequence: 0 })
    this.node = element('div', { class: 'matrix' })
  }

  get isByModel() {
    return this.run.models?.length > 1
  }

  end() {
    this.sequence += 1
    this.view?.end()
  }

  /** Fetches what a query selects, and shows it. */
  async show(query) {
    const { run, source } = this
    this.sequence += 1
    const { sequence } = this
    this.view?.end()
    refill(this.node, element('p', { class: 'muted', role: 'status' }, 'Fetching…'))
    try {
      const [now, before] = await Promise.all([this.fetch(run.id, serverQuery(query), sequence),
        this.isByModel || !run.previous || !source.abilities.server ? null : this.fetch(run.previous, {}, sequence)])
      if (sequence !== this.sequence) return
      this.build(query, now, before)
    } catch (failure) {
      if (sequence === this.sequence) refill(this.node, failureBox('The matrix could not be fetched', failure, () => this.show(query)))
    }
  }

  async fetch(run, query, sequence) {
    const rows = []
    let total = 1
    while (rows.length < Math.min(total, MAX_RESULTS) && sequence === this.sequence) {
      const answer = await this.source.samples(run, { ...query, skip: rows.length, limit: PER_REQUEST })
      rows.push(...answer.samples)
      total = answer.total
      if (!answer.samples.length) break
    }
    return { rows, total }
  }

  build(query, now, before) {
    const grader = query.grader ?? this.run.graders[0]?.name
    const lines = this.isByModel ? byModel(now.rows, grader) : byRun(now.rows, before?.rows ?? [], this.gradersShown(query))
    const columns = this.isByModel ? this.run.models.slice(0, MAX_COLUMNS).map((model) => ({ name: model, title: [foreign(model)] })) : this.runColumns(query, before)
    const broken = lines.filter((line) => line.isBroken).length
    const note = this.isByModel ? ['Verdicts of ', foreign(grader ?? ''), ' by model.'] : before ? worseText(lines) : 'No earlier run to compare with.'
    const onlyBroken = query.only === 'regressions'
    const shown = onlyBroken ? lines.filter((line) => line.isBroken) : lines
    const pages = { total: shown.length, version: 1, isBusy: false, failure: null, at: (index) => shown[index], want() {} }
    this.view = new VirtualRows({ label: 'Matrix', pages, empty: 'No case matches.', heads: ['Sample', ...columns.map((one) => ({ node: one.title, kind: 'grade' }))],
      widths: `minmax(9rem, 18rem) ${columns.map((one) => (one.side === 'now' ? 'minmax(12.5rem, 14rem)' : 'minmax(6rem, 9rem)')).join(' ')}`, cells: (line) => this.cells(line, columns, query) })
    const isCut = now.total > now.rows.length
    refill(this.node, element('p', { class: 'matrix-note' },
      element('span', null, note),
      !this.isByModel && before && broken > 0 && button(onlyBroken ? 'Show all cases' : 'Only regressions', () => this.change({ only: onlyBroken ? '' : 'regressions' })),
      isCut && `The first ${counted(now.rows.length)} of ${counted(now.total, 'result')}: filters narrow it.`), this.view.node)
    this.view.table.style.setProperty('--least', `${10 + 9 * columns.length}rem`)
    this.view.node.classList.toggle('many', columns.length > 6)
    this.view.draw()
    this.shown({ total: shown.length, isBusy: false })
  }

  gradersShown(query) {
    const names = this.run.graders.map((one) => one.name)
    return query.grader ? [query.grader] : names.slice(0, MAX_COLUMNS / 2)
  }

  runColumns(query, before) {
    return this.gradersShown(query).flatMap((name) => {
      const title = this.run.graders.find((one) => one.name === name)?.label ?? name
      const now = { name, side: 'now', title: [foreign(title), element('span', { class: 'muted' }, ' now')] }
      return before ? [{ name, side: 'before', title: [foreign(title), element('span', { class: 'muted' }, ' before')] }, now] : [now]
    })
  }

  cells(line, columns, query) {
    const cell = (kind, ...children) => element('div', { role: 'cell', class: kind }, ...children)
    const place = (case_) => caseReference(this.run.id, case_, listQuery(query))
    return [cell('first cut', element('a', { href: place(line.case), title: line.case.sample_id }, foreign(line.title))), ...columns.map((column) => {
      const found = this.isByModel ? line.models.get(column.name) : { grade: line[column.side]?.grades[column.name], isBroken: column.side === 'now' && line.broken?.includes(column.name) }
      const content = [scoreCell(found?.grade), found?.isBroken && element('span', { class: 'ring-text' }, found.grade.label ? 'no longer agrees' : 'regressed')]
      const isLink = this.isByModel && found
      return cell(found?.isBroken ? 'grade ring' : 'grade', isLink ? element('a', { href: place(found.case), tabindex: '-1' }, content) : content)
    })]
  }
}

/** A line for each sample and trial, with a grade for each model. A model that fails what another passes is no regression. */
function byModel(rows, grader) {
  const lines = new Map()
  for (const row of rows) {
    const name = JSON.stringify([row.sample_id, row.trial])
    if (!lines.has(name)) lines.set(name, { case: row, title: row.trial ? `${row.sample_id} · ${row.trial}` : row.sample_id, models: new Map() })
    lines.get(name).models.set(row.model, { case: row, grade: row.grades[grader] })
  }
  return [...lines.values()]
}

/** How many cases got worse: against people where there are labels, and without. */
function worseText(lines) {
  const people = lines.filter((line) => line.broken.some((name) => line.now.grades[name].label)).length
  const others = lines.filter((line) => line.broken.some((name) => !line.now.grades[name].label)).length
  const hasLabels = lines.some((line) => Object.values(line.now.grades).some((grade) => grade.label))
  const regressed = `${counted(others, 'case')}${hasLabels ? ' without a label' : ''} passed before and ${others === 1 ? 'fails' : 'fail'} now.`
  return hasLabels ? `${counted(people, 'case')} no longer ${people === 1 ? 'agrees' : 'agree'} with people; ${regressed}` : regressed
}

/** A line for each case, with its grades before and now. */
function byRun(rows, before, graders) {
  const earlier = new Map(before.map((row) => [caseName(row), row]))
  return rows.map((row) => {
    const old = earlier.get(caseName(row))
    const broken = graders.filter((name) => isWorse(old?.grades[name], row.grades[name]))
    return { case: row, title: [row.sample_id, row.model, row.trial || null].filter((part) => part !== null).join(' · '), now: row, before: old, broken, isBroken: broken.length > 0 }
  })
}
