// The means of a suite's graders over its runs: small beside each other, or large with their scale.

import { breakText, trend, trendPoints } from './charts.js'
import { decimal, percent, withError } from './text.js'
import { element, foreign, refill } from './dom.js'
import { reference } from './address.js'

/** Graders `[name, label]` of a history, in the order of its last run. */
function gradersOf(history) {
  return Object.keys(history.runs.at(-1)?.metrics ?? {})
}

/** What slides by the last run, a sentence each. */
function slideTexts(history) {
  return (history.slides ?? []).map((slide) => `${slide.grader} slides: ${decimal(slide.before)} → ${decimal(slide.now)} (p ${slide.p_value < 0.001 ? '< 0.001' : `= ${slide.p_value.toFixed(3)}`})`)
}

/** A line for each grader. Its place is reserved before the history is here. */
export class SmallTrends {
  constructor(metrics) {
    this.charts = new Map()
    this.note = element('p', { class: 'break-note' })
    this.slide = element('p', { class: 'break-note slide-note' })
    const rows = Object.entries(metrics ?? {}).map(([name, metric]) => {
      const chart = element('td', { class: 'chart' })
      this.charts.set(name, chart)
      return element('tr', null, element('th', { scope: 'row', class: 'cut' }, foreign(metric.label ?? name, { title: name })), chart,
        element('td', { class: 'number figures' }, decimal(metric.mean)), element('td', { class: 'number figures muted' }, percent(metric.pass_rate)))
    })
    const head = element('tr', null, element('th', { scope: 'col' }, 'Grader'), element('th', { scope: 'col' }, 'Trend'),
      element('th', { scope: 'col', class: 'number' }, 'Mean'), element('th', { scope: 'col', class: 'number' }, 'Passes'))
    this.node = element('div', null, element('table', { class: 'trends' }, element('thead', null, head), element('tbody', null, rows)), this.note, this.slide)
  }

  show(history) {
    const notes = []
    for (const [name, place] of this.charts) {
      const points = trendPoints(history.runs, name, 40)
      if (points.length) refill(place, trend(points, name))
      for (const point of points.filter((one) => one.breaks.length)) notes.push([point.run.started, breakText(point)])
    }
    notes.sort((one, other) => (one[0] < other[0] ? 1 : -1))
    const slides = slideTexts(history)
    refill(this.slide, slides.length > 0 && ['▼ ', foreign(slides.join('; '), { title: slides.join('; ') })])
    refill(this.note, notes.length > 0 && ['◆ ', foreign(notes[0][1], { title: notes[0][1] })])
  }
}

/** A large chart for each grader, with what changed below. */
export function largeTrends(history) {
  const charts = gradersOf(history).map((name) => {
    const points = trendPoints(history.runs, name)
    if (!points.length) return null
    const last = points.at(-1).metric
    const breaks = points.filter((point) => point.breaks.length)
    return element('figure', { class: 'chart-figure' },
      element('figcaption', null, foreign(name), element('span', { class: 'figures muted' }, withError(last.mean, last.stderr))),
      trend(points, name, { width: 480, height: 130, large: true, hrefOf: (run) => reference(['runs', run.id]) }),
      breaks.length > 0 && element('ul', { class: 'breaks' }, breaks.map((point) => element('li', null, '◆ ', foreign(breakText(point))))))
  })
  if (!charts.some(Boolean)) return element('p', { class: 'muted' }, 'No run has a mean yet.')
  const slides = slideTexts(history)
  return element('div', null, slides.length > 0 && element('ul', { class: 'breaks slides' }, slides.map((text) => element('li', null, '▼ ', foreign(text)))),
    element('div', { class: 'charts' }, charts))
}
