// Runs as rows, newest first: of one suite or of all.

import { counted, decimal, money, moment } from './text.js'
import { element, foreign } from './dom.js'
import { runBadge } from './states.js'
import { PagedRows } from './paged_rows.js'
import { VirtualRows } from './virtual_rows.js'
import { reference } from './address.js'

/** A list of runs; `suite` leaves others out. */
export function runsList(source, suite) {
  const fetchPage = async (skip, limit) => {
    const { runs, total } = await source.runs({ suite, skip, limit })
    return { rows: runs, total }
  }
  let view = null
  const pages = new PagedRows(fetchPage, () => view.changed())
  const heads = ['Started', !suite && 'Suite', 'Gate', 'Means', { node: 'Cases', kind: 'number' }, { node: 'Made', kind: 'number wide-only' },
    { node: 'Cached', kind: 'number wide-only' }, { node: 'Cost', kind: 'number' }].filter(Boolean)
  const widths = `9.5rem ${suite ? '' : 'minmax(6rem, 12rem) '}12rem minmax(10rem, 1fr) 5rem 5rem 5rem 5.5rem`
  const label = suite ? `Runs of ${suite}` : 'All runs'
  view = new VirtualRows({ label, heads, widths, pages, cells: (run) => cells(run, suite), empty: 'No run is recorded yet. `evalrs run SUITE` makes one.' })
  view.node.classList.add('runs')
  view.table.style.setProperty('--fewer-columns', `9rem ${suite ? '' : 'minmax(5rem, 10rem) '}minmax(8rem, 12rem) minmax(6rem, 1fr) 4rem 5rem`)
  return { view, pages }
}

function cells(run, suite) {
  const cell = (kind, ...children) => element('div', { role: 'cell', class: kind }, ...children)
  const address = reference(['runs', run.id])
  const title = moment(run.started) === '–' ? run.id : moment(run.started)
  return [cell('first cut', element('a', { class: 'cover', href: address, title: run.id }, title)),
    !suite && cell('cut suite', foreign(run.suite)),
    cell('cut', runBadge(run)),
    cell('cut means', remarks(run), means(run)), cell('number figures cases', counted(run.results)), cell('number figures wide-only', counted(run.actions?.asked)),
    cell('number figures wide-only', counted(run.actions?.cached)), cell('number figures cost', money(run.cost))]
}

function means(run) {
  return Object.entries(run.metrics ?? {}).map(([name, metric]) => element('span', { class: 'mean' },
    foreign(metric.label ?? name, { class: 'foreign muted' }), ' ', element('span', { class: 'figures' }, decimal(metric.mean))))
}

/** What is special about a run. */
export function remarks(run) {
  const words = [run.interrupted && 'interrupted', run.session && 'watch', run.trial && (run.tried?.length ? 'rubric tried, not saved' : 'trial'), run.narrowed && (run.part ? `part ${run.part}` : 'narrowed')].filter(Boolean)
  return words.map((word) => [element('span', { class: 'tag' }, word), ' '])
}
