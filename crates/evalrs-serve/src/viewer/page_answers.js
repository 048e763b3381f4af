// The answers to one sample beside one another, of models, trials or runs. The others are compared with the first, word by word.

import { answersReference, caseReference, picksOf, placeQuery } from './address.js'
import { announce, failureBox } from './notices.js'
import { button, code, element, folded, foreign, refill } from './dom.js'
import { conversation } from './conversation.js'
import { gradeLine } from './grade_card.js'
import { listQuery, serverQuery } from './case_filters.js'
import { writtenText } from './markdown.js'
import { momentToSecond, named, readable } from './text.js'
import { prefer, preference } from './preferences.js'
import { rationaleDiff } from './word_changes.js'
import { graderTitle, scoreCell } from './states.js'

/** The most answers that stand beside one another. */
const MOST_ANSWERS = 4
const LETTERS = 'ABCD'

/** The most cases of the same sample that are passed over. */
const MOST_STEPS = 24

/** A text of at most so many characters is open from the beginning. */
const SHORT = 600

export async function answersPage({ source, address, go }) {
  const [, id, , sample] = address.path
  const list = listQuery({ ...address.query, model: address.query.among })
  const { model, trial } = address.query
  const [run, { runs }] = await Promise.all([source.run(id), source.results(id, sample)])
  const own = { run: run.id, model: model ?? runs[0].results[0].model, trial: Number(trial ?? 0) }
  const picks = (picksOf(address.query) ?? usualPicks(runs, own)).slice(0, MOST_ANSWERS)
  const columns = await Promise.all(picks.map(async (pick, at) => {
    const query = { ...(at === 0 && serverQuery(list)), ...placeQuery(pick) }
    const item = await source.sample(pick.run, sample, query).catch((failure) => ({ failure }))
    return { pick, item, letter: LETTERS[at] }
  }))
  return new AnswersPage({ source, run, runs, own, sample, list, columns, go })
}

/** The case itself with its other models and trials; where it has none, with that of the run before. */
function usualPicks(runs, own) {
  const [here, ...others] = runs.map(({ run, started, results }) => ({ run, started, results: results.map(({ model, trial }) => ({ run, model, trial })) }))
  const isSame = (one) => (one.model ?? null) === (own.model ?? null) && one.trial === own.trial
  const beside = here.results.filter((one) => !isSame(one))
  if (beside.length > 0) return [own, ...beside]
  const older = others.find((one) => one.run < own.run) ?? others[0]
  const before = older?.results.find(isSame) ?? older?.results[0]
  return before ? [before, own] : [own]
}

/** What the row gives, open where it is short. */
function given(title, value) {
  if (value === null || value === undefined || value === '') return null
  const isShort = typeof value === 'string' && value.length <= SHORT
  return folded(title, () => (typeof value === 'string' ? writtenText(value) : code(readable(value))), { open: isShort })
}

function pickName({ run, model, trial }) {
  return JSON.stringify([run, model ?? null, trial])
}

class AnswersPage {
  constructor(parts) {
    Object.assign(this, parts)
    const { run, sample, source, own, list, columns } = this
    this.title = `Answers to ${sample} · ${run.suite}`
    this.place = null
    this.back = caseReference(own.run, { sample_id: sample, ...own }, list)
    const { server } = source.abilities
    this.trail = [server && ['Runs', []], [run.suite, server ? ['suites', run.suite] : null], [run.id, ['runs', run.id], list],
      [named(sample), ['runs', own.run, 'samples', sample], { ...list, among: list.model, model: undefined, ...placeQuery(own) }], ['Answers']].filter(Boolean)
    this.shownColumns = columns.filter(({ item }) => !item.failure)
    this.body = element('div', { class: 'answers-body' })
    this.showsChanges = preference('changes') !== 'off'
    this.node = element('div', { class: 'answers' }, this.header(), this.picker(), this.heads(), this.body)
    this.show()
    this.keys = { j: () => this.step('next'), k: () => this.step('previous'), c: () => this.toggle(), Escape: () => this.go(this.back, { isBack: true }) }
  }

  header() {
    const { sample, columns } = this
    const first = columns[0]?.item
    this.changes = button(['Changes ', element('kbd', null, 'c')], () => this.toggle(), { 'aria-pressed': String(this.showsChanges) })
    return [element('div', { class: 'case-head' }, element('h1', { class: 'case-title' }, 'Answers to ', foreign(named(sample))),
      element('nav', { class: 'steps', 'aria-label': 'Answers' }, this.stepButton('previous', '← Previous', 'k'), this.stepButton('next', 'Next →', 'j'), columns.length > 1 && this.changes)),
    given('Input', first?.input), given('Ground truth', first?.ground_truth)]
  }

  stepButton(side, text, key) {
    return button([text, ' ', element('kbd', null, key)], () => this.step(side), { disabled: !this.columns[0]?.item[side] })
  }

  /** The same columns of another sample; of runs compared, the same columns of another case. */
  async step(side) {
    const { own, list, columns, source, sample } = this
    const picks = columns.map(({ pick }) => pick)
    const isOfRuns = picks.slice(1).every(({ run }) => run !== picks[0].run)
    let place = columns[0]?.item[side]
    for (let step = 0; !isOfRuns && place?.sample_id === sample && step < MOST_STEPS; step += 1) {
      place = (await source.sample(own.run, sample, { ...serverQuery(list), ...placeQuery(place) }))[side]
    }
    if (!place || (!isOfRuns && place.sample_id === sample)) announce('No other case in the list.')
    else this.go(answersReference(own.run, place, isOfRuns ? picks.map(({ run }) => ({ run, model: place.model, trial: place.trial })) : picks, list))
  }

  toggle() {
    this.showsChanges = !this.showsChanges
    prefer('changes', this.showsChanges ? null : 'off')
    this.changes.setAttribute('aria-pressed', this.showsChanges)
    this.show()
  }

  /** Which results there are. Those that are shown can be taken away, the others added. */
  picker() {
    const { runs, columns, own, list } = this
    const shown = columns.map(({ pick }) => pick)
    const grader = list.grader ?? this.run.graders[0]?.name
    const isShown = (pick) => shown.some((one) => pickName(one) === pickName(pick))
    const choose = (pick) => {
      const left = isShown(pick) ? shown.filter((one) => pickName(one) !== pickName(pick)) : [...shown, pick]
      this.go(answersReference(own.run, { sample_id: this.sample, ...own }, left, list), { replace: true })
    }
    const rows = runs.map(({ run, started, results }) => element('div', { class: 'pick-row' },
      element('span', { class: 'muted figures' }, run === own.run ? 'This run' : momentToSecond(started) === '–' ? run : momentToSecond(started)),
      element('div', { class: 'pick-buttons' }, results.map((result) => {
        const pick = { run, model: result.model, trial: result.trial }
        const isOn = isShown(pick)
        return button([foreign([result.model, this.run.trials > 1 || result.trial > 0 ? `trial ${result.trial}` : null].filter(Boolean).join(' · ') || 'answer'), ' ', scoreCell(result.grades[grader])],
          () => choose(pick), { 'aria-pressed': String(isOn), disabled: isOn ? shown.length < 2 : shown.length >= MOST_ANSWERS })
      }))))
    const count = runs.reduce((sum, { results }) => sum + results.length, 0)
    return folded(`Models, trials and runs (${count})`, () => element('div', { class: 'picks' }, rows, shown.length >= MOST_ANSWERS && element('p', { class: 'muted small' }, `${MOST_ANSWERS} answers at most.`)),
      { open: shown.length < 2, class: 'pick-fold' })
  }

  heads() {
    const heads = this.columns.map(({ pick, item, letter }) => {
      const started = this.runs.find(({ run }) => run === pick.run)?.started
      const facts = [pick.run === this.own.run ? 'this run' : momentToSecond(started), pick.model && foreign(pick.model), (this.run.trials > 1 || pick.trial > 0) && `trial ${pick.trial}`].filter(Boolean)
      return element('div', { class: 'answer-head' }, element('h2', null, element('span', { class: 'letter' }, letter), ' ',
        element('a', { href: caseReference(pick.run, { sample_id: this.sample, ...pick }) }, facts.map((part, at) => [at > 0 && ' · ', part]))),
      item.failure ? failureBox('This answer could not be fetched', item.failure) : gradeLine(item))
    })
    return this.row(heads, 'answer-row answer-heads')
  }

  row(cells, kind = 'answer-row') {
    const node = element('div', { class: kind }, cells)
    node.style.setProperty('--columns', String(this.columns.length))
    return node
  }

  show() {
    const { shownColumns, columns } = this
    const graders = this.run.graders.map((one) => one.name).filter((name) => shownColumns.some(({ item }) => item.grades[name]))
    graders.sort((one, other) => (other === this.list.grader) - (one === this.list.grader))
    const section = (title, cellOf, small) => element('section', { class: 'block' }, element('h2', null, title), this.row(columns.map((column) => element('div', { class: small ? 'answer small-text' : 'answer' },
      element('span', { class: 'letter', 'aria-hidden': 'true' }, column.letter), column.item.failure ? element('p', { class: 'muted' }, '–') : cellOf(column)))))
    const first = shownColumns[0]
    const changed = (column, textOf) => {
      const text = textOf(column)
      if (text === undefined || text === null) return element('p', { class: 'muted' }, '–')
      if (column === first || !this.showsChanges) return writtenText(text || '(empty)')
      const base = textOf(first) ?? null
      return base === null ? writtenText(text) : base === text ? element('p', { class: 'muted' }, `the same as ${first.letter}`) : rationaleDiff(base, text)
    }
    const isOne = shownColumns.every(({ item }) => new Set(Object.values(item.submissions ?? {})).size <= 1)
    const answers = isOne ? [section('Answer', (column) => changed(column, ({ item }) => Object.values(item.submissions ?? {})[0]))]
      : graders.map((name) => section(['Answer for ', foreign(name)], (column) => changed(column, ({ item }) => item.submissions?.[name])))
    const reasons = graders.map((name) => section(foreign(graderTitle(name, this.run.graders.find((one) => one.name === name)?.label)), (column) => {
      const grade = column.item.grades[name]
      return [element('p', null, scoreCell(grade)), grade?.error && element('p', { class: 'error-text' }, `${grade.error.kind}: `, foreign(grade.error.message)),
        grade?.rationale && !grade.error && changed(column, ({ item }) => (item.grades[name]?.error ? null : item.grades[name]?.rationale))]
    }, true))
    const hasConversation = shownColumns.some(({ item }) => item.conversation?.length)
    const talks = hasConversation && folded('Conversations', () => this.row(columns.map(({ item, letter }) => element('div', { class: 'answer' }, element('span', { class: 'letter', 'aria-hidden': 'true' }, letter),
      item.conversation?.length ? conversation(item.conversation) : element('p', { class: 'muted' }, '–')))), { class: 'block' })
    refill(this.body, answers, reasons, talks)
  }
}
