// Tries of a rubric: on which cases, what that costs, and what came of each beside what people say.

import { agreementChanges, isLabelled } from './diff_agreement.js'
import { announce } from './notices.js'
import { button, element, foreign, refill, table } from './dom.js'
import { counted, decimal, money, percent } from './text.js'
import { ended } from './live.js'
import { listQuery, serverQuery } from './case_filters.js'
import { MovedList } from './diff_moved.js'
import { reference } from './address.js'

/** So many cases are the first ones. */
const FIRST_CASES = 20
/** The cases that one request of a list fetches. */
const LIST_PAGE = 500

/** The cases that a rubric can be tried on, as they stand in a run. */
export async function caseSets(source, run, grader, query) {
  const list = listQuery(query)
  const wanted = [Object.keys(list).length > 0 && !query.sample && ['list', 'the cases of your list', serverQuery(list)],
    ['labelled', 'labelled cases', { grader, state: 'labelled' }], ['disagrees', 'cases that disagree with people', { grader, state: 'disagrees' }]].filter(Boolean)
  const found = await Promise.all(wanted.map(async ([name, text, asked]) => {
    const { total } = await source.samples(run.id, { ...asked, limit: 1 })
    return { name, text: `${text} (${counted(total)})`, total, ids: () => sampleIds(source, run, asked, total) }
  }))
  const first = run.results > FIRST_CASES && { name: 'first', text: `the first ${FIRST_CASES} cases`, ids: () => sampleIds(source, run, {}, FIRST_CASES) }
  const one = query.sample && { name: 'sample', text: `the case ${query.sample}`, ids: async () => [query.sample] }
  return [one, ...found.filter((set) => set.total > 0), first, ALL_CASES].filter(Boolean)
}

/** All cases of a suite, as it is now. */
export const ALL_CASES = { name: 'all', text: 'all cases', ids: async () => [] }

/** The samples of the first rows of a list. */
export async function sampleIds(source, run, query, most) {
  const ids = new Set()
  for (let skip = 0; skip < most;) {
    const { samples } = await source.samples(run.id, { ...query, skip, limit: Math.min(LIST_PAGE, most - skip) })
    if (!samples.length) break
    for (const { sample_id: id } of samples) ids.add(id)
    skip += samples.length
  }
  return [...ids]
}

/** Runs that judge with a text of a rubric. `told` is called with words while one goes on. */
export class RubricTrials {
  constructor(source, suite, grader) {
    Object.assign(this, { source, suite, grader, runs: new Map() })
  }

  body(text, { written, samples }) {
    return { suite: this.suite, graders: [this.grader], samples, trial: true, ...(text !== written && { overrides: { [this.grader]: text } }) }
  }

  name(text, { set, samples }) {
    return JSON.stringify([text, set, samples])
  }

  /** What it would cost to try a text: with the written one on the same cases, where that is to be compared first. */
  async price(text, cases) {
    const texts = [...new Set([text, cases.written])].filter((one) => !this.runs.has(this.name(one, cases)))
    const all = await Promise.all(texts.map((one) => this.source.start({ ...this.body(one, cases), preview: true })))
    const sum = (name) => all.reduce((total, one) => total + one[name], 0)
    return { to_ask: sum('to_ask'), cached: sum('cached'), cost: all.some((one) => one.cost === null) ? null : sum('cost'), problems: all[0]?.problems ?? [] }
  }

  /** Judges with a text, once. Answers the run. */
  async run(text, cases, { most, told }) {
    const name = this.name(text, cases)
    if (this.runs.has(name)) return this.runs.get(name)
    const { id } = await this.source.start({ ...this.body(text, cases), ...(most && { max_cost: most }) })
    this.going = id
    try {
      const { error } = await ended(this.source, id, told)
      if (error) throw new Error(error)
    } finally {
      this.going = null
    }
    this.runs.set(name, id)
    return id
  }

  stop() {
    return this.going && this.source.stop(this.going)
  }
}

/** What came of a try: agreement first, then each verdict that moved. */
export function trialResult(diff, grader) {
  const own = diff.graders[grader]
  const node = element('div', { class: 'trial-result' })
  const show = (query) => refill(node, isLabelled(own) ? agreementChanges(diff) : element('p', { class: 'muted' }, 'None of these cases has a label of this grader: nothing shows which verdicts are right.'),
    own && trialFigures(own), new MovedList(diff, query, (part) => show({ ...query, ...part })).node)
  show({})
  return node
}

/** How verdicts moved, in words that call nothing better: labels say that. */
const MOVED_WORDS = { fixed: 'pass now', broken: 'fail now', raised: 'have a higher score', lowered: 'have a lower score', errored: 'are errors now', answered: 'are errors no longer' }

function trialFigures({ paired, counts }) {
  const moves = Object.entries(MOVED_WORDS).filter(([kind]) => counts[kind] > 0).map(([kind, words]) => `${counted(counts[kind])} ${words}`)
  return element('p', { class: 'figures' }, `${counted(paired.n, 'case')}: passes ${percent(paired.pass_rate_before)} → ${percent(paired.pass_rate_now)}, mean ${decimal(paired.mean_before)} → ${decimal(paired.mean_now)}. `,
    moves.length ? `${moves.join(', ')}.` : 'No verdict moved.')
}

/** All tries of this visit, the newest last. `use(text)` takes the text of one into the editor. */
export function trialsTable(tries, use) {
  const plain = (text) => element('span', { class: 'figures' }, text)
  const rows = tries.map(({ text, at, run, agreement, actions, cost, isSaved }, number) => [
    [`${number + 1}`, isSaved && element('span', { class: 'badge passed' }, 'saved')], element('a', { href: reference(['runs', run]) }, at), plain(percent(agreement?.accuracy)), plain(decimal(agreement?.kappa, 2)),
    plain(agreement ? counted(agreement.false_pass) : '–'), plain(agreement ? counted(agreement.false_fail) : '–'), plain(counted(actions.asked)), plain(money(cost)),
    button('Use this text', () => {
      use(text)
      announce('The text of that try is in the editor.')
    }, { class: 'quiet' })])
  return table('Tries', ['Try', 'Run', '#Agreement', '#Kappa', '#False passes', '#False fails', '#Calls', '#Cost', 'Text'], rows)
}

/** Words for a price. */
export function priceText({ to_ask: calls, cached, cost }) {
  if (!calls && !cached) return 'This text was tried on these cases.'
  const price = cost === null ? 'at a price that is not known' : calls > 0 ? `for about ${money(cost)}` : 'for nothing'
  return calls > 0 ? `${counted(calls, 'call')} ${price}, ${counted(cached)} cached` : `No call: all ${counted(cached)} judgments are cached.`
}

/** What may be wrong with the text, as it is checked while it is written. */
export function problemLines(problems, path) {
  const own = problems.filter((one) => one.place?.path === path)
  return own.length > 0 && element('ul', { class: 'warnings' }, own.map((one) => element('li', null, one.place.line ? `line ${one.place.line}: ` : '', foreign(one.message), one.hint && element('span', { class: 'muted' }, ' ', foreign(one.hint)))))
}
