// The means of a suite's graders over its runs: small beside each other, or large with their scale.

import { agreementWords, breakText, trend, trendPoints } from './charts.js'
import { decimal, moment, percent, withError } from './text.js'
import { element, foreign, refill } from './dom.js'
import { reference } from './address.js'

/** Graders `[name, label]` of a history, in the order of its last run. */
function gradersOf(history) {
  return Object.keys(history.runs.at(-1)?.metrics ?? {})
}

/** That a mean went up while people agree less, in words. */
function lessText({ grader, before, now, mean }) {
  return `${grader} agrees less with people, ${percent(before.accuracy)} → ${percent(now.accuracy)}, though its score is higher, ${mean.map((one) => decimal(one)).join(' → ')}`
}

/** What got worse by the last run, a sentence each: who agrees less with people, then downward trends. */
function slideTexts(history) {
  const last = history.runs.at(-1)
  const less = (last?.agree_less ?? []).map(lessText)
  return less.concat(slides(history))
}

function slides(history) {
  return (history.slides ?? []).map((slide) => `${slide.grader} has a downward trend: ${decimal(slide.before)} → ${decimal(slide.now)} (p ${slide.p_value < 0.001 ? '< 0.001' : `= ${slide.p_value.toFixed(3)}`})`)
}

/** The name of a grader in a list below its rubric: that of a criterion alone. */
function ownName(name, metrics) {
  const dot = name.lastIndexOf('.')
  return dot > 0 && name.slice(0, dot) in metrics ? `· ${name.slice(dot + 1)}` : name
}

/** A line for each grader. Its place is reserved before the history is here. */
export class SmallTrends {
  constructor(metrics) {
    this.charts = new Map()
    this.note = element('p', { class: 'break-note' })
    this.slide = element('p', { class: 'break-note slide-note' })
    const isLabelled = Object.values(metrics ?? {}).some((metric) => typeof metric.agreement === 'number')
    const rows = Object.entries(metrics ?? {}).map(([name, metric]) => {
      const chart = element('td', { class: 'chart' })
      this.charts.set(name, chart)
      return element('tr', null, element('th', { scope: 'row', class: 'cut' }, foreign(metric.label ?? ownName(name, metrics), { title: name })), chart,
        element('td', { class: 'number figures' }, decimal(metric.mean)), element('td', { class: 'number figures muted' }, percent(metric.pass_rate)),
        isLabelled && element('td', { class: 'number figures' }, percent(metric.agreement)))
    })
    const head = element('tr', null, element('th', { scope: 'col' }, 'Grader'), element('th', { scope: 'col' }, 'Trend'),
      element('th', { scope: 'col', class: 'number' }, 'Mean'), element('th', { scope: 'col', class: 'number' }, 'Passes'), isLabelled && element('th', { scope: 'col', class: 'number', title: 'share of labelled verdicts that agrees with people' }, 'Agrees'))
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
    const told = slideTexts(history).join('; ')
    refill(this.slide, told && ['▼ ', foreign(told, { title: told })])
    refill(this.note, notes.length > 0 && ['◆ ', foreign(notes[0][1], { title: notes[0][1] })])
  }
}

/** A large chart for each grader, with what changed below. */
export function largeTrends(history) {
  const charts = gradersOf(history).map((name) => {
    const points = trendPoints(history.runs, name)
    if (!points.length) return null
    const last = points.at(-1).metric
    const isLabelled = points.some((point) => point.metric.agreement)
    const less = points.flatMap(({ run }) => (run.agree_less ?? []).filter((one) => one.grader === name).map((one) => `${moment(run.started)}: ${lessText(one)}`))
    const breaks = points.filter((point) => point.breaks.length)
    return element('figure', { class: 'chart-figure' },
      element('figcaption', null, foreign(name), element('span', { class: 'figures muted' }, withError(last.mean, last.stderr), isLabelled && ` · ${agreementWords(last)}`)),
      trend(points, name, { width: 480, height: 130, large: true, hrefOf: (run) => reference(['runs', run.id]) }),
      isLabelled && element('p', { class: 'muted small legend' }, 'Dashed: the share of labelled verdicts that agrees with people.'),
      less.length > 0 && element('ul', { class: 'breaks agrees-less-list' }, less.map((text) => element('li', null, '▼ ', foreign(text)))),
      breaks.length > 0 && element('ul', { class: 'breaks' }, breaks.map((point) => element('li', null, '◆ ', foreign(breakText(point))))))
  })
  if (!charts.some(Boolean)) return element('p', { class: 'muted' }, 'No run has a mean yet.')
  const told = slides(history)
  return element('div', null, told.length > 0 && element('ul', { class: 'breaks slides' }, told.map((text) => element('li', null, '▼ ', foreign(text)))),
    element('div', { class: 'charts' }, charts))
}
