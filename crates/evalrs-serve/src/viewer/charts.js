// Histograms and trend lines as SVG. Every figure in them is also in a title or in text beside them.

import { counted, decimal, moment, percent } from './text.js'
import { svg } from './dom.js'

/** How often which scores were given: ten steps, and exactly 1.0. */
export function histogram(counts, name) {
  const width = 132
  const height = 20
  const most = Math.max(1, ...counts)
  const step = width / counts.length
  const total = counts.reduce((sum, count) => sum + count, 0)
  const range = (at) => at === 10 ? '1.0' : `${decimal(at / 10, 1)} to ${decimal((at + 1) / 10, 1)}`
  const told = counts.map((count, at) => count && `${range(at)}: ${count}`).filter(Boolean).join('; ')
  const bars = counts.map((count, at) => {
    const tall = count ? Math.max(1.5, count / most * (height - 2)) : 0
    return svg('rect', { class: at === 10 ? 'bar full' : 'bar', x: at * step + 0.5, y: height - tall, width: step - 1, height: tall },
      svg('title', null, `${range(at)}: ${counted(count)}`))
  })
  return svg('svg', { class: 'histogram', viewBox: `0 0 ${width} ${height + 1}`, width, height: height + 1, role: 'img',
    'aria-label': `Scores of ${name}, ${counted(total, 'grade')}. ${told}` }, bars,
    svg('line', { class: 'axis', x1: 0, x2: width, y1: height + 0.5, y2: height + 0.5 }))
}

/** The runs of a history that have a mean of this grader, with what changed its meaning. */
export function trendPoints(runs, grader, most = 60) {
  const points = []
  let breaks = []
  for (const run of runs) {
    breaks.push(...(run.breaks ?? []).filter((one) => one.metric === undefined && (one.grader === null || one.grader === grader)))
    const metric = run.metrics[grader]
    if (typeof metric?.mean !== 'number') continue
    points.push({ run, metric, breaks })
    breaks = []
  }
  const shown = points.slice(-most)
  if (shown.length) shown[0] = { ...shown[0], breaks: [] }
  return shown
}

/** How far people agreed with a point's verdicts; nothing where that is not known. */
function agreementOf({ metric }) {
  const share = metric.agreement?.accuracy
  return typeof share === 'number' ? share : null
}

/** How far people agreed, in words. */
export function agreementWords(metric) {
  const { accuracy, kappa } = metric?.agreement ?? {}
  return typeof accuracy === 'number' ? `agrees ${percent(accuracy)}${typeof kappa === 'number' ? `, kappa ${decimal(kappa, 2)}` : ''}` : 'agreement unknown'
}

/** The bounds around a point: its own, else a standard error to either side; nothing where they are not known. */
function rangeOf({ metric }) {
  if (typeof metric.low === 'number') return [metric.low, metric.high]
  return typeof metric.stderr === 'number' ? [metric.mean - metric.stderr, metric.mean + metric.stderr] : null
}

/** The mean of a grader over runs, and, dashed, how far people agreed. The line ends where a break says that scores mean something else from there on. `what` names another number than the mean. */
export function trend(points, name, { width = 160, height = 32, large = false, hrefOf, what = 'mean' } = {}) {
  const [low, high] = bounds(points, large)
  const left = large ? 34 : 3
  const edge = large ? 10 : 4
  const x = (at) => points.length < 2 ? (left + width) / 2 : left + at / (points.length - 1) * (width - left - 6)
  const y = (value) => height - edge - (value - low) / (high - low) * (height - 2 * edge)
  const parts = large ? scale(low, high, left, width, y) : []
  for (const segment of segments(points)) {
    const place = ({ at, point }) => `${x(at).toFixed(1)},${y(point.metric.mean).toFixed(1)}`
    if (large) parts.push(band(segment, x, y) ?? whiskers(segment, x, y))
    if (segment.length > 1) parts.push(svg('polyline', { class: 'line', points: segment.map(place).join(' ') }))
  }
  const agreed = points.map((point, at) => ({ at, share: agreementOf(point) })).filter(({ share }) => share !== null)
  if (agreed.length > 1) parts.push(svg('polyline', { class: 'agreement-line', points: agreed.map(({ at, share }) => `${x(at).toFixed(1)},${y(share).toFixed(1)}`).join(' ') }))
  for (const { at, share } of large ? agreed : agreed.slice(-1)) parts.push(svg('circle', { class: 'agreement-dot', cx: x(at), cy: y(share), r: 2 }, svg('title', null, agreementWords(points[at].metric))))
  points.forEach((point, at) => {
    if (point.breaks.length) parts.push(breakMark(at, x, height, point))
    const isAlone = point.breaks.length + (at === 0) > 0 && (points[at + 1]?.breaks.length ?? 1) > 0
    if (large || isAlone || at === points.length - 1) parts.push(dot(point, x(at), y(point.metric.mean), { hrefOf, what }))
  })
  return svg('svg', { class: large ? 'trend large' : 'trend', viewBox: `0 0 ${width} ${height}`, width: large ? null : width, height: large ? null : height,
    role: large ? 'group' : 'img', 'aria-label': summary(points, name, what) }, parts)
}

function bounds(points, large) {
  const agreed = points.map(agreementOf).filter((share) => share !== null)
  const all = points.flatMap((point) => [point.metric.mean, ...(large && rangeOf(point)) || []]).concat(agreed)
  const low = Math.min(...all)
  const high = Math.max(...all)
  const size = Math.max(0.2, (high - low) * 1.15)
  const bottom = Math.min(Math.max(0, (low + high - size) / 2), Math.max(0, 1 - size))
  return [bottom, bottom + size]
}

function segments(points) {
  const found = []
  points.forEach((point, at) => {
    if (at === 0 || point.breaks.length) found.push([])
    found.at(-1).push({ at, point })
  })
  return found
}

function scale(low, high, left, width, y) {
  const step = high - low > 0.5 ? 0.25 : high - low > 0.25 ? 0.1 : 0.05
  const parts = []
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) {
    const height = y(at * step)
    parts.push(svg('line', { class: 'axis', x1: left, x2: width, y1: height, y2: height }),
      svg('text', { class: 'tick', x: left - 5, y: height + 3.5, 'text-anchor': 'end' }, decimal(at * step, 2)))
  }
  return parts
}

function band(segment, x, y) {
  const known = segment.filter(({ point }) => rangeOf(point))
  const edge = (side) => known.map(({ at, point }) => `${x(at).toFixed(1)},${y(rangeOf(point)[side]).toFixed(1)}`)
  return known.length > 1 ? svg('polygon', { class: 'band', points: [...edge(1), ...edge(0).reverse()].join(' ') }) : null
}

/** The bounds of points that stand alone, where they are their own. */
function whiskers(segment, x, y) {
  const known = segment.filter(({ point }) => typeof point.metric.low === 'number')
  return known.map(({ at, point }) => svg('line', { class: 'whisker', x1: x(at), x2: x(at), y1: y(point.metric.low), y2: y(point.metric.high) }))
}

function breakMark(at, x, height, point) {
  const middle = at === 0 ? x(0) : (x(at - 1) + x(at)) / 2
  return svg('g', { class: 'break' }, svg('title', null, breakText(point)),
    svg('line', { x1: middle, x2: middle, y1: 7, y2: height }),
    svg('path', { d: `M${middle - 3.5} 3.5l3.5-3.5 3.5 3.5-3.5 3.5z` }))
}

function dot(point, x, y, { hrefOf, what }) {
  const title = svg('title', null, `${moment(point.run.started)}: ${decimal(point.metric.mean)}`)
  const mark = svg('circle', { class: 'dot', cx: x, cy: y, r: 2.5 }, title)
  const href = hrefOf?.(point.run)
  if (!href) return mark
  const wide = svg('circle', { class: 'target', cx: x, cy: y, r: 12 })
  return svg('a', { href, 'aria-label': `Run of ${moment(point.run.started)}, ${what} ${decimal(point.metric.mean)}` }, wide, mark)
}

function summary(points, name, what) {
  const last = points.at(-1)
  const broken = points.filter((point) => point.breaks.length).map(breakText).join('. ')
  const agreed = points.some((point) => agreementOf(point) !== null) ? ` People: ${agreementWords(last.metric)}.` : ''
  return `${what[0].toUpperCase()}${what.slice(1)} of ${name} over ${counted(points.length, 'run')}, last ${decimal(last.metric.mean)}.${agreed} ${broken}`
}

/** What changed, and when. */
export function breakText(point) {
  return `${moment(point.run.started)}: ${point.breaks.map((one) => one.text).join('; ')}`
}
