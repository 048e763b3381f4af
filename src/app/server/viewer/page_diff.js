// Two runs compared: gates, statistics by grader, settings that differ, and the verdicts that moved, word by word.

import { beginning, bounds95, counted, decimal, moment, momentToSecond, percent, probability, readable, signed } from './text.js'
import { button, choice, element, foreign, longText, refill, table } from './dom.js'
import { caseReference, reference } from './address.js'
import { failureBox } from './notices.js'
import { gateBadge, hiddenSign, scoreCell } from './states.js'
import { wordDiff } from './words.js'

/** Verdicts that are shown at once, and the longest rationale that is compared. */
const AT_ONCE = 50
const MAX_TEXT = 40_000

const MOVEMENTS = { broken: ['✗', 'failed'], errored: ['!', 'errored'], fixed: ['✓', 'passed'], answered: ['→', ''], lowered: ['↓', ''], raised: ['↑', ''] }

export async function diffPage({ source, address, go }) {
  const { old, new: young } = address.query
  const { runs } = await source.runs({ limit: 200 })
  const trail = [['Runs', []], ['Compare']]
  const picker = runPicker(runs, address.query, go)
  const base = { title: 'Compare', trail, keys: { Escape: () => go(reference([])) } }
  if (!old || !young) return { ...base, node: [element('h1', null, 'Compare two runs'), picker, element('p', { class: 'muted' }, 'Choose an older and a newer run.')] }
  const diff = await source.diff(old, young).catch((failure) => ({ failure }))
  if (diff.failure) return { ...base, node: [element('h1', null, 'Compare two runs'), picker, failureBox('They could not be compared', diff.failure)] }
  const moved = new MovedList(diff, address.query, go)
  return {
    ...base, trail: [['Runs', []], [diff.now.suite, ['suites', diff.now.suite]], ['Compare']],
    keys: { ...base.keys, j: () => moved.move(1), k: () => moved.move(-1) },
    node: [element('h1', null, element('span', null, 'Compare ', foreign(diff.now.suite))), picker, sides(diff), diffSection('Graders', graderFigures(diff)), declaredSection(diff),
      element('div', { class: 'beside' }, differing('Settings that differ', diff.settings), differing('Files that differ', diff.files), unpaired(diff)), moved.node],
  }
}

function diffSection(title, ...children) {
  return element('section', { 'aria-label': title }, element('h2', null, title), children)
}

function runPicker(runs, query, go) {
  const options = (own) => {
    const known = runs.map((run) => [run.id, `${momentToSecond(run.started)} · ${run.suite} · ${run.id.split('-').at(-1)}`])
    return [['', 'choose a run'], ...(own && !runs.some((run) => run.id === own) ? [[own, own]] : []), ...known]
  }
  const change = (part) => go(reference(['diff'], { old: query.old, new: query.new, ...part }))
  return element('div', { class: 'filters picker' }, choice('Older', options(query.old), query.old ?? '', (old) => change({ old })).node,
    choice('Newer', options(query.new), query.new ?? '', (young) => change({ new: young })).node,
    query.old && query.new && button('Swap', () => change({ old: query.new, new: query.old }), { class: 'quiet' }))
}

function sides({ before, now, gate }) {
  const one = (title, side, own) => element('div', { class: 'side' }, element('h2', null, title), element('p', null, gateBadge(own)),
    own?.rule && element('p', { class: 'muted' }, foreign(own.rule)),
    element('p', null, element('a', { href: reference(['runs', side.run]) }, side.run), side.save !== null && ` save ${side.save}`),
    element('p', { class: 'muted figures' }, `${moment(side.at)} · ${counted(side.results, 'result')}${side.complete ? '' : ' · not complete'}`))
  return element('div', { class: 'sides' }, one('Before', before, gate.before), element('div', { class: 'arrow', 'aria-hidden': 'true' }, '→'), one('Now', now, gate.now))
}

function graderFigures({ graders: all }) {
  const figure = (text, kind) => element('span', { class: `figures ${kind ?? ''}` }, text)
  const rows = Object.entries(all).map(([name, { paired, counts }]) => [foreign(name), figure(counted(paired.n)),
    figure(`${decimal(paired.mean_before)} → ${decimal(paired.mean_now)}`), figure(signed(paired.difference) + (typeof paired.stderr === 'number' ? ` ± ${decimal(paired.stderr)}` : '')),
    figure(paired.interval ? paired.interval.map(signed).join(' to ') : '–'), figure(`${percent(paired.pass_rate_before)} → ${percent(paired.pass_rate_now)}`),
    figure(counts.fixed ? `✓ ${counted(counts.fixed)}` : '0', counts.fixed ? 'fixed-count' : 'muted'), figure(counts.broken ? `✗ ${counted(counts.broken)}` : '0', counts.broken ? 'broken-count' : 'muted'),
    figure(counts.errored ? `! ${counted(counts.errored)}` : '0', counts.errored ? '' : 'muted'), figure(probability(paired.p_value))])
  return table('Graders', ['Grader', '#Pairs', '#Mean', '#Difference', '#95 % interval', '#Passes', '#Fixed', '#Broken', '#Errors', '#p'], rows)
}

/** Declared metrics of both, and those of one of them alone; nothing where neither declares any. */
function declaredSection({ declared = {}, declared_only_before: gone = [], declared_only_now: added = [] }) {
  const figure = (text) => element('span', { class: 'figures' }, text)
  const remark = { redefined: 'the suite says something else of it now', no_draws: 'one run keeps no draws to compare it by' }
  const rows = Object.entries(declared).map(([name, metric]) => [
    [foreign(name), remark[metric.no_interval] && element('div', { class: 'muted small' }, remark[metric.no_interval])], metric.kind,
    figure(decimal(metric.before.value) + bounds95(metric.before.interval)), figure(decimal(metric.now.value) + bounds95(metric.now.interval)),
    figure(signed(metric.change)), figure(metric.interval ? `${signed(metric.interval.low)} to ${signed(metric.interval.high)}` : '–')])
  const only = (title, names) => names.length > 0 && element('p', { class: 'muted' }, `${title}: `, names.map((name, at) => [at > 0 && ', ', foreign(name)]))
  if (!rows.length && !gone.length && !added.length) return null
  return diffSection('Declared metrics', rows.length > 0 && table('Declared metrics', ['Metric', 'Kind', '#Before [95 %]', '#Now [95 %]', '#Change', '#95 % interval'], rows),
    only('Only now', added), only('Only before', gone))
}

function differing(title, changes) {
  if (!changes?.length) return null
  const text = (value) => value === null || value === undefined ? '(none)' : typeof value === 'string' && /^[0-9a-f]{40,}$/.test(value) ? value.slice(0, 12) : beginning(readable(value), 400)
  return diffSection(title, table(title, ['What', 'Before', 'Now'], changes.map((one) => [foreign(one.path), foreign(text(one.before)), foreign(text(one.now))])))
}

function unpaired({ graders_only_before: before, graders_only_now: now, cases }) {
  const names = (list) => list.map((name, at) => [at > 0 && ', ', foreign(name)])
  const only = (title, one) => one?.count > 0 && element('li', null, `${counted(one.count, 'case')} only ${title}: `, names(one.first.map((case_) => case_.sample_id)), one.count > one.first.length && ' …')
  const items = [before.length > 0 && element('li', null, 'Graders only before: ', names(before)), now.length > 0 && element('li', null, 'Graders only now: ', names(now)),
    only('before', cases?.only_before), only('now', cases?.only_now)].filter(Boolean)
  return items.length > 0 && diffSection('Not compared', element('ul', null, items))
}

/** The verdicts that moved, a part of them at a time. */
class MovedList {
  constructor(diff, query, go) {
    Object.assign(this, { diff, count: AT_ONCE, at: -1 })
    const has = (part) => diff.moved.filter((one) => Object.entries(part).every(([name, value]) => !value || one[name] === value))
    const chosen = { grader: query.grader, movement: query.movement }
    this.moved = has(chosen)
    const change = (part) => go(reference(['diff'], { ...query, ...part }), { replace: true })
    const graderOptions = [['', 'any grader'], ...Object.keys(diff.graders).map((name) => [name, name])]
    const movements = [['', `all ${counted(has({ grader: query.grader }).length)}`], ...Object.keys(MOVEMENTS).map((name) => [name, `${name} (${counted(has({ grader: query.grader, movement: name }).length)})`])]
    this.list = element('div', { class: 'moved-list' })
    this.node = diffSection(`${counted(this.moved.length, 'verdict')} moved`, diff.moved.length > 0 && element('div', { class: 'filters' },
      choice('Grader', graderOptions, query.grader ?? '', (grader) => change({ grader })).node, choice('Movement', movements, query.movement ?? '', (movement) => change({ movement })).node), this.list)
    this.show()
  }

  show() {
    const left = this.moved.length - this.count
    refill(this.list, this.moved.slice(0, this.count).map((one) => this.item(one)), left > 0 && button(`Show more: ${counted(left)} left`, () => {
      this.count += AT_ONCE
      this.show()
    }, { class: 'more' }))
  }

  item({ case: place, grader, movement, before, now }) {
    const [sign, kind] = MOVEMENTS[movement] ?? ['', '']
    const state = (grade) => ({ score: grade.score, state: grade.error ? 'errored' : grade.pass ? 'passed' : 'failed' })
    return element('article', { class: 'moved' }, element('h3', null, element('span', { class: `badge ${kind}` }, hiddenSign(sign), movement), ' ',
      element('a', { href: caseReference(this.diff.now.run, place, { grader }) }, foreign(place.sample_id)),
      place.model && [' · ', foreign(place.model)], place.trial > 0 && ` · trial ${place.trial}`, ' ', foreign(grader, { class: 'foreign muted' }),
      element('span', { class: 'moved-scores' }, scoreCell(state(before)), ' → ', scoreCell(state(now)))), rationaleDiff(before.rationale, now.rationale))
  }

  move(by) {
    const items = this.list.querySelectorAll('h3 a')
    if (!items.length) return
    this.at = Math.min(items.length - 1, Math.max(0, this.at + by))
    items[this.at].focus()
    items[this.at].closest('article').scrollIntoView({ block: 'nearest' })
  }
}

/** What changed in the words of a rationale; where one side has none, the other. */
export function rationaleDiff(before, now) {
  if (!before && !now) return null
  if (!before || !now || before === now) return longText(now ?? before)
  if (before.length > MAX_TEXT || now.length > MAX_TEXT) {
    return [element('p', { class: 'muted' }, 'Too long to be compared word by word.'), longText(before), longText(now)]
  }
  const tags = { same: 'span', out: 'del', in: 'ins' }
  return element('div', { class: 'foreign prose', dir: 'auto' }, wordDiff(before, now).map(({ kind, text }) => element(tags[kind], null, text)))
}
