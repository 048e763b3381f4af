// A run: its gate, metrics and agreement, and all of its cases.

import { agreementTable, declaredTable, facts, metricsTable, movedSince, partTables, promptList, runLinks } from './run_parts.js'
import { announce, notify } from './notices.js'
import { calibrationLinks, peopleOfRun } from './people_figures.js'
import { button, element, folded, foreign, longText, refill } from './dom.js'
import { CaseFilters, listQuery, serverQuery } from './case_filters.js'
import { CaseGroups } from './case_groups.js'
import { CaseList } from './case_list.js'
import { CaseScatter } from './case_scatter.js'
import { counted } from './text.js'
import { follow } from './live.js'
import { runBadge } from './states.js'
import { Matrix } from './matrix.js'
import { reference } from './address.js'
import { remarks } from './runs_list.js'
import { repeatList } from './repeats.js'
import { sampleIds } from './rubric_tries.js'

/** From this width in pixels on, figures and cases stand beside each other. */
const WIDE = 1440

/** What decides which filters and columns there are. */
function shapeOf({ graders, models, tags, trials }) {
  return JSON.stringify([graders.map((one) => one.name), models, tags, trials > 1])
}

export async function runPage({ source, address, go }) {
  const page = new RunPage(source, await source.run(address.path[1] ?? 'latest'), go)
  page.path = address.path
  await page.update(address.query)
  page.follow()
  return page
}

class RunPage {
  constructor(source, run, go) {
    Object.assign(this, { source, run, go, title: `${run.suite} · ${run.id}` })
    this.trail = source.abilities.server ? [['Runs', []], [run.suite, ['suites', run.suite]], [run.id]] : [[run.suite], [run.id]]
    const change = (part) => this.changed(part)
    this.makeFilters = () => new CaseFilters(this.run, change, source, source.abilities.start && source.takesLabels(run.suite) && run.graders.some((one) => one.prompt) && (() => this.repeat()))
    this.filters = this.makeFilters()
    this.list = new CaseList(source, run, change, (pages) => this.told(pages))
    this.matrix = new Matrix(source, run, change, (pages) => this.told(pages))
    this.progress = element('div', { class: 'live', hidden: !run.under_way })
    this.summary = element('div', { class: 'summary' })
    this.figures = element('div', { class: 'beside' })
    this.folds = element('div', { class: 'more-folds' })
    this.cases = element('div', { class: 'case-area' })
    this.groups = new CaseGroups(run, change, source)
    this.scatter = new CaseScatter(run, change, source)
    this.section = element('section', { class: 'case-section', 'aria-labelledby': 'cases-title' }, this.filters.node, this.cases)
    this.columns = element('div', { class: 'run-columns' }, element('div', { class: 'run-figures' }, this.figures, element('div', { class: 'folds' }, this.groups.node, this.scatter.node, this.folds)), this.section)
    this.node = [this.progress, this.summary, this.columns]
    // The heads of the list stay below the filters, in however many lines these stand.
    this.sized = new ResizeObserver(([{ target }]) => this.section.style.setProperty('--filters', `${target.offsetHeight}px`))
    this.sized.observe(this.filters.node)
    const { view } = this.list
    // Enter in the search goes on in the list.
    this.section.addEventListener('keydown', (event) => event.key === 'Enter' && event.target.type === 'search' && this.rows?.move(1))
    this.keys = { j: () => this.rows?.move(1), k: () => this.rows?.move(-1), Enter: () => this.rows?.currentLink()?.click(), '/': () => this.filters.focus(),
      Escape: () => source.abilities.server && go(reference([])) }
    this.rowsOf = () => (this.query.view === 'matrix' ? this.matrix.view : view)
    this.showSummary()
  }

  get rows() {
    return this.rowsOf()
  }

  showSummary() {
    const { run } = this
    const agreement = agreementTable(run.agreement, run.id)
    const people = peopleOfRun(run)
    refill(this.summary,
      element('h1', null, foreign(run.suite), ' ', runBadge(run), remarks(run), run.gate?.rule && element('span', { class: 'gate-rule muted' }, 'Gate: ', foreign(run.gate.rule))),
      facts(run), element('div', { class: 'run-line' }, movedSince(run.moved), runLinks(run, this.source, () => this.showSummary())),
      run.warnings?.length > 0 && element('ul', { class: 'warnings' }, run.warnings.map((text) => element('li', null, foreign(text)))))
    const declared = declaredTable(run)
    this.declared = declared && folded('Declared metrics', () => declared, { open: this.declared?.open ?? innerWidth >= WIDE })
    refill(this.figures, element('section', { 'aria-label': 'Metrics' }, element('h2', null, 'Metrics'), metricsTable(run)),
      (agreement || people.length > 0) && element('section', { 'aria-label': 'Agreement' }, element('h2', null, 'Agreement with people'), agreement, people, calibrationLinks(run, this.source)), this.declared)
    if (!this.folds.firstChild || !run.under_way) refill(this.folds, !this.source.knowsTags(run) && partTables(run), promptList(run, longText, this.source.takesLabels(run.suite)))
  }

  /** Calls the judge again for the cases of the list, after the price was shown. */
  async repeat() {
    const { grader } = this.query
    const graders = grader ? [grader] : this.run.graders.filter((one) => one.prompt).map((one) => one.name)
    const samples = await sampleIds(this.source, this.run, serverQuery(this.query), Infinity)
    repeatList(this.source, this.go, { run: this.run, graders, samples })
  }

  /** Another query for the same run: the address follows, and the rows. */
  changed(part) {
    const query = listQuery({ ...this.query, ...part })
    this.go(reference(this.path, query), { replace: true })
  }

  async update(query) {
    const before = this.query
    this.query = listQuery(query)
    this.filters.show(this.query)
    this.groups.show(this.query)
    this.scatter.show(this.query)
    const isMatrix = this.query.view === 'matrix'
    this.columns.classList.toggle('stacked', isMatrix)
    if (before && this.cases.isConnected) this.toFirstRow()
    refill(this.cases, isMatrix ? this.matrix.node : this.list.view.node)
    if (isMatrix) await this.matrix.show(this.query)
    else {
      this.matrix.end()
      await this.list.show(this.query)
    }
  }

  /** The first rows of another list are seen, not its middle. */
  toFirstRow() {
    const top = this.filters.node.parentNode.getBoundingClientRect().top
    if (top < 0) scrollBy(0, top)
  }

  told(pages) {
    if (pages.total === null || pages.isBusy) return
    const text = counted(pages.total, 'case')
    if (this.filters.count.textContent !== text) refill(this.filters.count, text)
  }

  shown() {
    this.rows?.draw()
  }

  /** After a case the focus is on its row. */
  takeFocus({ isBack, index }) {
    if (!isBack || !(index >= 0) || !this.rows) return false
    this.rows.setCurrent(Math.min(index, (this.rows.pages.total ?? 0) - 1), true)
    return true
  }

  follow() {
    if (!this.run.under_way || !this.source.abilities.server) return
    // A session of `watch` tells no progress, and ends in its own terminal.
    const { session } = this.run
    const line = element('span', { class: 'figures', role: 'status' }, session ? 'Watched: verdicts follow each save.' : 'Waiting for the first verdict…')
    const bar = element('progress', { 'aria-label': 'Progress', max: 1, value: 0, hidden: session })
    const stop = this.source.abilities.start && !session && button('Stop', () => this.stop(stop))
    refill(this.progress, bar, line, stop)
    this.stopFollowing = follow(this.source, this.run.id, {
      progress: (data) => {
        bar.value = data.total ? data.done / data.total : 0
        refill(line, `${counted(data.done)} of ${counted(data.total)}, ${counted(data.asked)} made, ${counted(data.in_flight)} in flight${data.failed ? `, ${counted(data.failed)} failed` : ''}`)
      },
      verdict: (data) => this.list.pages.patch(JSON.stringify([data.sample_id, data.model ?? null, data.trial ?? 0]), (row) => {
        row.grades[data.grader] = { label: row.grades[data.grader]?.label ?? null, disputed: data.disputed ?? false, score: data.now?.score ?? null, state: data.now?.state ?? 'pending' }
      }),
      note: (text) => text && announce(text),
      refresh: () => this.refresh(),
      connection: (isOpen, isOver) => {
        this.progress.classList.toggle('offline', !isOpen && !isOver)
        if (isOver) this.refresh()
      },
      ended: () => {
        this.refresh()
        this.progress.hidden = true
        announce('The run has ended.')
      },
    })
  }

  async stop(control) {
    control.disabled = true
    try {
      await this.source.stop(this.run.id)
    } catch (failure) {
      control.disabled = false
      notify(`The run was not stopped: ${failure.message}`, { isFailure: true })
    }
  }

  /** Rows and agreement follow what was labelled elsewhere. */
  learn() {
    return this.source.abilities.server && this.refresh()
  }

  async refresh() {
    try {
      const before = this.run
      this.run = await this.source.run(before.id, { fresh: true })
      this.list.run = this.run
      this.matrix.run = this.run
      this.groups.run = this.run
      this.scatter.run = this.run
      this.groups.fetch()
      this.scatter.fetch()
      if (shapeOf(before) !== shapeOf(this.run)) this.reshape()
      if (!this.run.under_way || !this.summary.contains(document.activeElement)) this.showSummary()
      this.progress.hidden = !this.run.under_way
      this.list.pages.refresh()
    } catch {
      // The next event asks again.
    }
  }

  /** Of a run that has just begun graders and models are not known yet: filters and columns follow. */
  reshape() {
    const { filters } = this
    filters.end()
    this.filters = this.makeFilters()
    this.filters.show(this.query)
    const hadFocus = filters.node.contains(document.activeElement)
    filters.node.replaceWith(this.filters.node)
    this.sized.disconnect()
    this.sized.observe(this.filters.node)
    if (hadFocus) this.filters.focus()
    this.list.arrange()
    this.told(this.list.pages)
    if (this.query.view === 'matrix') this.matrix.show(this.query)
  }

  end() {
    this.stopFollowing?.()
    this.sized.disconnect()
    this.filters.end()
    this.matrix.end()
    this.list.end()
  }
}
