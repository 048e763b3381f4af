// Two runs compared: agreement with people, gates, statistics by grader, settings that differ, and the verdicts that moved.

import { bounds95, counted, decimal, moment, momentToSecond, percent, probability, readable, signed } from './text.js'
import { agreementChanges, agreesLess, isLabelled } from './diff_agreement.js'
import { button, choice, element, foreign, table } from './dom.js'
import { failureBox } from './notices.js'
import { gateBadge } from './states.js'
import { MovedList } from './diff_moved.js'
import { reference } from './address.js'
import { showFirstChanges, textChange } from './word_changes.js'

/** From so many characters on a setting is shown whole, with what changed in it. */
const LONG = 60

/** What was compared last, for as long as only filters change: a comparison of large runs takes seconds. */
let heldDiff = null

export async function diffPage({ source, address, go }) {
  const { old, new: young } = address.query
  const { runs } = await source.runs({ limit: 200 })
  const trail = [['Runs', []], ['Compare']]
  const picker = runPicker(runs, address.query, go)
  const base = { title: 'Compare', trail, keys: { Escape: () => go(reference([])) } }
  if (!old || !young) return { ...base, node: [element('h1', null, 'Compare two runs'), picker, element('p', { class: 'muted' }, 'Choose an older and a newer run.')] }
  const kept = heldDiff?.old === old && heldDiff.young === young ? heldDiff.diff : null
  heldDiff = null
  const diff = kept ?? await source.diff(old, young).catch((failure) => ({ failure }))
  if (diff.failure) return { ...base, node: [element('h1', null, 'Compare two runs'), picker, failureBox('They could not be compared', diff.failure)] }
  const moved = new MovedList(diff, address.query, (part) => {
    heldDiff = { old, young, diff }
    go(reference(['diff'], { ...address.query, ...part }), { replace: true })
  })
  const changes = element('div', null, textSettings(diff.settings))
  return {
    ...base, trail: [['Runs', []], [diff.now.suite, ['suites', diff.now.suite]], ['Compare']],
    keys: { ...base.keys, j: () => moved.move(1), k: () => moved.move(-1) },
    node: [element('h1', null, element('span', null, 'Compare ', foreign(diff.now.suite))), picker, agreementChanges(diff), sides(diff), diffSection('Graders', graderFigures(diff)), declaredSection(diff),
      changes, element('div', { class: 'beside' }, differing('Settings that differ', diff.settings.filter((one) => !isText(one))), differing('Files that differ', diff.files), unpaired(diff)), moved.node],
    shown: () => showFirstChanges(changes),
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

function sides({ before, now, gate, graders }) {
  const one = (title, side, own) => element('div', { class: 'side' }, element('h2', null, title), element('p', null, gateBadge(own)),
    own?.rule && element('p', { class: 'muted' }, foreign(own.rule)),
    element('p', null, element('a', { href: reference(['runs', side.run]) }, side.run), side.save !== null && ` save ${side.save}`),
    element('p', { class: 'muted figures' }, `${moment(side.at)} · ${counted(side.results, 'result')}${side.complete ? '' : ' · not complete'}`))
  // A gate that passes is no good news where a grader agrees less with people.
  const isQuiet = Object.values(graders).some(agreesLess)
  return element('div', { class: isQuiet ? 'sides quiet-gates' : 'sides' }, one('Before', before, gate.before), element('div', { class: 'arrow', 'aria-hidden': 'true' }, '→'), one('Now', now, gate.now))
}

function graderFigures({ graders: all }) {
  const figure = (text, kind) => element('span', { class: `figures ${kind ?? ''}` }, text)
  const rows = Object.entries(all).map(([name, grader]) => {
    const { paired, counts } = grader
    // Where people labelled verdicts, more of them that pass are neither good nor bad.
    const moved = (sign, count, kind) => figure(count ? `${sign} ${counted(count)}` : '0', !count ? 'muted' : isLabelled(grader) ? '' : kind)
    return [foreign(name), figure(counted(paired.n)),
      figure(`${decimal(paired.mean_before)} → ${decimal(paired.mean_now)}`), figure(signed(paired.difference) + (typeof paired.stderr === 'number' ? ` ± ${decimal(paired.stderr)}` : '')),
      figure(paired.interval ? paired.interval.map((bound) => signed(bound)).join(' to ') : '–'), figure(`${percent(paired.pass_rate_before)} → ${percent(paired.pass_rate_now)}`),
      moved('✓', counts.fixed, 'fixed-count'), moved('✗', counts.broken, 'broken-count'), moved('!', counts.errored, ''), figure(probability(paired.p_value))]
  })
  return table('Graders', ['Grader', '#Pairs', '#Mean', '#Difference', '#95 % interval', '#Passes', '#Fixed', '#Broken', '#Errors', '#p'], rows)
}

/** Declared metrics of both, and those of one of them alone; nothing where neither declares any. */
function declaredSection({ declared = {}, declared_only_before: gone = [], declared_only_now: added = [] }) {
  const figure = (text) => element('span', { class: 'figures' }, text)
  const remark = { redefined: 'its definition in the suite changed', no_draws: 'one run has no resamples to compare it by' }
  const rows = Object.entries(declared).map(([name, metric]) => [
    [foreign(name), remark[metric.no_interval] && element('div', { class: 'muted small' }, remark[metric.no_interval])], metric.kind,
    figure(decimal(metric.before.value) + bounds95(metric.before.interval)), figure(decimal(metric.now.value) + bounds95(metric.now.interval)),
    figure(signed(metric.change)), figure(metric.interval ? `${signed(metric.interval.low)} to ${signed(metric.interval.high)}` : '–')])
  const only = (title, names) => names.length > 0 && element('p', { class: 'muted' }, `${title}: `, names.map((name, at) => [at > 0 && ', ', foreign(name)]))
  if (!rows.length && !gone.length && !added.length) return null
  return diffSection('Declared metrics', rows.length > 0 && table('Declared metrics', ['Metric', 'Kind', '#Before [95 %]', '#Now [95 %]', '#Change', '#95 % interval'], rows),
    only('Only now', added), only('Only before', gone))
}

function settingText(value) {
  return value === null || value === undefined ? '(none)' : typeof value === 'string' && /^[0-9a-f]{40,}$/.test(value) ? value.slice(0, 12) : readable(value)
}

/** Whether a setting is a text to be read, as a rubric is. */
function isText({ before, now }) {
  return [before, now].map(settingText).some((text) => text.length > LONG || text.includes('\n'))
}

/** Each text that differs, whole, with what changed in it. */
function textSettings(settings) {
  return settings.filter(isText).map(({ path, before, now }) => {
    const title = path.endsWith('.prompt') ? `Rubric of ${path.slice(0, -'.prompt'.length)}` : path
    return element('section', null, element('h2', null, foreign(title)), textChange(`Changes of ${path}`, settingText(before), settingText(now)))
  })
}

function differing(title, changes) {
  if (!changes?.length) return null
  return diffSection(title, table(title, ['What', 'Before', 'Now'], changes.map((one) => [one.path, settingText(one.before), settingText(one.now)].map((text) => foreign(text)))))
}

function unpaired({ graders_only_before: before, graders_only_now: now, cases }) {
  const names = (list) => list.map((name, at) => [at > 0 && ', ', foreign(name)])
  const only = (title, one) => one?.count > 0 && element('li', null, `${counted(one.count, 'case')} only ${title}: `, names(one.first.map((case_) => case_.sample_id)), one.count > one.first.length && ' …')
  const items = [before.length > 0 && element('li', null, 'Graders only before: ', names(before)), now.length > 0 && element('li', null, 'Graders only now: ', names(now)),
    only('before', cases?.only_before), only('now', cases?.only_now)].filter(Boolean)
  return items.length > 0 && diffSection('Not compared', element('ul', null, items))
}
