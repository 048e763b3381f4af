// A case: its conversation, its grades and why, and the human labels.

import { announce, failureBox, notify } from './notices.js'
import { answersReference, caseReference, placeQuery, reference, rubricReference } from './address.js'
import { button, code, element, folded, foreign, refill } from './dom.js'
import { Conversation } from './conversation.js'
import { ConversationTools, linkCitations } from './conversation_tools.js'
import { stepUse } from './conversation_time.js'
import { counted, named, readable } from './text.js'
import { gradeCard, gradeLine } from './grade_card.js'
import { listQuery, serverQuery } from './case_filters.js'
import { Labeller } from './labeller.js'
import { repeatCase } from './repeats.js'
import { showsRaw, toggleRaw, writtenText } from './markdown.js'

/** So few messages need no tools to find something in them. */
const FEW = 8

/** How long a whole case is waited for before a part of it is shown, in milliseconds. */
const PATIENCE = 400

/** Answers that were fetched ahead, by address; few, as they go out of date. */
const ahead = new Map()

async function fetchCase(source, run, sample, query) {
  const name = reference([run, sample], query)
  const early = ahead.get(name)
  ahead.clear()
  return (early && await early.catch(() => null)) ?? source.sample(run, sample, query)
}

export async function casePage({ source, address, go }) {
  const [, id, , sample] = address.path
  const list = listQuery({ ...address.query, model: address.query.among })
  const { model, trial } = address.query
  const query = { ...serverQuery(list), model, trial }
  const whole = fetchCase(source, id, sample, query)
  const [run, item] = await Promise.all([source.run(id), source.abilities.server ? soon(whole, () => source.sample(id, sample, { ...query, brief: true })) : whole])
  const page = new CasePage(source, run, item, list, go, Number(address.query.m))
  if (item.isBrief) whole.then((found) => page.fill(found), (failure) => page.fillFailed(failure))
  return page
}

/** What comes first: the whole case, or after a while what the record says of it. A conversation of 30 MB takes seconds to read. */
async function soon(whole, brief) {
  const late = new Promise((done) => setTimeout(done, PATIENCE))
  const first = await Promise.race([whole, late])
  return first ?? Promise.any([whole, brief().then((item) => ({ ...item, isBrief: true }))]).catch(() => whole)
}

class CasePage {
  constructor(source, run, item, list, go, wanted) {
    Object.assign(this, { source, run, item, list, go, title: `${item.sample_id} · ${run.suite}` })
    this.place = { sample_id: item.sample_id, model: item.model, trial: item.trial }
    this.back = reference(['runs', run.id], list)
    const { server } = source.abilities
    this.canLabel = source.takesLabels(run.suite)
    /** Why labels of this suite cannot be written, where they cannot. */
    this.fixed = (this.canLabel && run.labels_fixed) || null
    this.labeller = new Labeller({ own: run.labeller, asks: source.abilities.labellers })
    this.trail = [server && ['Runs', []], [run.suite, server ? ['suites', run.suite] : null], [run.id, ['runs', run.id], list], [named(item.sample_id)]].filter(Boolean)
    const names = run.graders.map((one) => one.name).filter((name) => item.grades[name])
    this.current = names.includes(list.grader) ? list.grader : names[0]
    // The card that keys label comes first: it is what the reader came for.
    this.names = [...names].sort((one, other) => (other === this.current) - (one === this.current))
    this.line = gradeLine(item)
    this.wanted = wanted
    this.makeTalk()
    this.aside = element('aside', { class: 'grades', 'aria-label': 'Grades' })
    this.showCards()
    this.body = element('div', { class: 'case-main' }, this.main())
    this.head = this.header()
    this.node = element('div', { class: 'case' }, this.head, element('div', { class: 'case-columns' }, this.body, this.aside))
    this.keys = this.makeKeys()
    this.fetchAhead()
  }

  /** Shows what is known now: the conversation and the judgments, which took longer. Labels stay as they are. */
  fill(found) {
    this.item = { ...found, grades: this.item.grades }
    this.makeTalk()
    refill(this.body, this.main())
    this.head.replaceWith(this.head = this.header())
    for (const [name, { node, showJudgments }] of this.cards) {
      showJudgments(found.judgments?.[name])
      this.linkRationale(node)
    }
    this.keys = this.makeKeys()
    this.shown()
  }

  linkRationale(card) {
    const rationale = this.talk && card.querySelector('.rationale')
    if (rationale) linkCitations(rationale, this.talk)
  }

  fillFailed(failure) {
    refill(this.body, failureBox('The conversation could not be fetched', failure))
  }

  makeTalk() {
    const { item, run } = this
    if (item.conversation) {
      this.talk = new Conversation(item.conversation, (number) => reference(['runs', run.id, 'samples', item.sample_id], { ...this.list, among: this.list.model, model: undefined, ...placeQuery(this.place), m: String(number) }), stepUse)
      this.tools = new ConversationTools(this.talk)
    }
  }

  fetchAhead() {
    const { item, list, run, source } = this
    const { next } = item
    if (next && source.abilities.server) {
      const query = { ...serverQuery(list), ...placeQuery(next) }
      ahead.set(reference([run.id, next.sample_id], query), source.sample(run.id, next.sample_id, query))
      ahead.forEach((promise) => promise.catch(() => {}))
    }
  }

  header() {
    const { item } = this
    const step = (place, text, key) => place
      ? element('a', { class: 'button', href: caseReference(this.run.id, place, this.list), rel: key === 'j' ? 'next' : 'prev' }, text, ' ', element('kbd', null, key))
      : element('span', { class: 'button', 'aria-disabled': 'true' }, text, ' ', element('kbd', null, key))
    const facts = [item.model && foreign(item.model), this.run.trials > 1 && `trial ${item.trial}`, `line ${item.at + 1} of ${counted(this.run.results)}`,
      ...(item.tags ?? []).map((tag) => element('span', { class: 'tag' }, foreign(tag)))].filter(Boolean)
    return element('div', { class: 'case-head' }, element('div', null, element('h1', { class: 'case-title' }, foreign(named(item.sample_id))),
      element('p', { class: 'muted' }, facts.map((part, at) => [at > 0 && ' · ', part]))),
    element('nav', { class: 'steps', 'aria-label': 'Cases of the list' }, step(item.previous, '← Previous', 'k'), step(item.next, 'Next →', 'j'),
      button(['Raw ', element('kbd', null, 'm')], () => this.toggleRaw(), { 'aria-pressed': String(showsRaw()), title: 'Texts as they were written' }),
      element('a', { class: 'button', href: this.answers() }, 'Other answers ', element('kbd', null, 'o'))), this.queueLine(), this.line)
  }

  /** Whether the list is that of what to label next. */
  get isQueue() {
    return this.list.sort === 'queue'
  }

  /** Where the case stands among those to be labelled, why it, and how many have a label. */
  queueLine() {
    const { item, run, current } = this
    const labels = run.agreement?.[current]?.n ?? 0
    const why = { random: 'picked at random', disagreement: 'judges disagree', threshold: 'near the threshold' }[item.list?.picked]
    return this.isQueue && element('p', { class: 'queue-line', role: 'status' }, element('strong', null, 'Label queue'), item.list ? `: ${counted(item.list.at + 1)} of ${counted(item.list.total)} left` : ': this case has a label', why && ` · ${why}`,
      ` · ${counted(labels, 'label')} of `, foreign(current), ' · ', button(['Undo ', element('kbd', null, 'u')], () => this.undo(), { class: 'quiet' }))
  }

  /** Takes back the last label, and shows the case that it was of. */
  async undo() {
    const { asks, name } = this.labeller
    try {
      const { grader, ...place } = await this.source.undoLabel(this.run.suite, asks ? name : null)
      ahead.clear()
      announce(`The last label is taken back: ${place.sample_id}`)
      this.go(caseReference(this.run.id, { ...place, trial: place.trial || this.place.trial }, { ...this.list, ...(grader && { grader }) }))
    } catch (failure) {
      notify(failure.code === 'NOT_FOUND' ? 'There is no label to take back.' : `Not taken back: ${failure.message}`)
    }
  }

  /** Texts as they were written, or as Markdown again. */
  toggleRaw() {
    toggleRaw()
    this.go(caseReference(this.run.id, this.place, this.list), { replace: true })
  }

  /** Its other models and trials, and the same case of other runs. */
  answers() {
    return answersReference(this.run.id, this.place, null, this.list)
  }

  main() {
    const { item } = this
    const shown = item.conversation
    const block = (title, value, props) => value !== null && value !== undefined && value !== '' &&
      element('section', { class: 'block', ...props }, element('h2', null, title), typeof value === 'string' ? writtenText(value) : code(readable(value)))
    // A recording without the words of a user leaves out what was asked.
    const isAsked = shown?.some((message) => message.role === 'user' && !message.subagent)
    const texts = new Map()
    for (const [name, text] of Object.entries(item.submissions ?? {})) texts.set(text, [...(texts.get(text) ?? []), name])
    return [
      item.isBrief && element('p', { class: 'note', role: 'status' }, 'The conversation is being read…'),
      item.conversation_note && element('p', { class: 'note' }, foreign(item.conversation_note)),
      !isAsked && block('Input', item.input),
      shown && element('section', { class: 'block' }, element('h2', null, 'Conversation ', element('span', { class: 'count' }, counted(shown.length, 'message'))), shown.length > FEW && [this.tools.node, this.tools.outline], this.talk.node),
      !shown && [...texts].map(([text, names]) => element('section', { class: 'block' },
        element('h2', null, 'Submission', texts.size > 1 && [' for ', foreign(names.join(', '))]), writtenText(text || '(empty)'))),
      block('Ground truth', item.ground_truth),
      isAsked && folded('Input', () => typeof item.input === 'string' ? writtenText(item.input) : code(readable(item.input))),
      item.metadata && Object.keys(item.metadata).length > 0 && folded('Metadata of the row', () => code(readable(item.metadata)))]
  }

  showCards() {
    this.labels = new Map()
    this.cards = new Map()
    const rule = this.canLabel && this.names.length > 1 && element('p', { class: 'muted small label-rule' }, 'Keys label the marked grade. Press the name of another grader to label its grade.')
    refill(this.aside, this.names.map((name) => {
      const card = gradeCard({ name, item: this.item, run: this.run, isCurrent: name === this.current, canSave: this.canLabel, fixed: this.fixed, labeller: this.labeller,
        repeat: () => repeatCase(this.source, this.go, { run: this.run, place: this.place, grader: name }),
        editor: this.canLabel && rubricReference(this.run.suite, name, { run: this.run.id, sample: this.item.sample_id }),
        select: () => this.go(caseReference(this.run.id, this.place, { ...this.list, grader: name }), { replace: true }), save: (value, seen, news) => this.save(name, value, seen, news) })
      const { node, labels } = card
      this.cards.set(name, card)
      this.labels.set(name, labels)
      this.linkRationale(node)
      const pressed = labels.set.bind(labels)
      labels.set = (value) => {
        const kept = pressed(value)
        this.showLine()
        node.scrollIntoView({ block: 'nearest' })
        return this.labelled(kept, value)
      }
      return node
    }), rule)
  }

  /** The line of all grades says what the cards say. */
  showLine() {
    refill(this.line, [...gradeLine(this.item).childNodes])
  }

  /** Shows what was labelled elsewhere meanwhile. */
  async learn() {
    if (!this.source.abilities.server) return
    ahead.clear()
    try {
      const { grades } = await this.source.sample(this.run.id, this.place.sample_id, placeQuery(this.place))
      if (![...this.labels].some(([name, labels]) => labels.isOther(grades[name]))) return
      const { agreement } = await this.source.run(this.run.id, { fresh: true })
      for (const [name, labels] of this.labels) labels.learn(grades[name], agreement?.[name])
      this.showLine()
    } catch {
      // The next look asks again.
    }
  }

  save(grader, label, seen, news) {
    ahead.clear()
    const { sample_id, model, trial } = this.place
    const { asks, name } = this.labeller
    return this.source.label(this.run.suite, sample_id, { grader, model, trial, label, seen: { label: seen }, run: this.run.id, queued: this.isQueue && grader === this.current, ...news, ...(asks && { who: name }) })
  }

  /** In a list of what has no label the next case follows, unless the reader has gone elsewhere meanwhile. */
  async labelled(kept, value) {
    const address = location.href
    const isKept = await kept
    if (!isKept) await this.learn()
    this.showLine()
    if (isKept && value !== null && this.list.state === 'unlabelled' && this.item.next && address === location.href) {
      this.go(caseReference(this.run.id, this.item.next, this.list))
    }
  }

  makeKeys() {
    const to = (place) => () => place ? this.go(caseReference(this.run.id, place, this.list)) : announce('No other case in the list.')
    const keys = { j: to(this.item.next), k: to(this.item.previous), Escape: () => this.go(this.back, { isBack: true }), '/': () => this.go(this.back, { isBack: true, search: true }), o: () => this.go(this.answers()), m: () => this.toggleRaw(), ...this.tools?.keys }
    if (!this.canLabel || !this.current) return keys
    const set = (value) => () => this.fixed ? notify(`Not labelled: ${this.fixed}`) : this.labels.get(this.current).set(value)
    const grader = this.run.graders.find((one) => one.name === this.current)
    Object.assign(keys, { u: () => this.undo(), t: () => this.labels.get(this.current).note?.fields.comment.focus() })
    for (const { key, value } of grader?.label_keys ?? []) keys[key] = set(value)
    return keys
  }

  /** The message that the address names is in view. */
  shown() {
    const at = this.talk && this.wanted ? this.talk.stepOf(this.wanted) : -1
    if (at >= 0) requestAnimationFrame(() => this.talk.show(at))
  }

  /** After another grader was chosen the focus is on its card, which is in view. */
  takeFocus({ isReplaced }) {
    if (!isReplaced) return false
    this.aside.querySelector('.current h3 button')?.focus({ preventScroll: true })
    this.aside.querySelector('.current')?.scrollIntoView({ block: 'nearest' })
    return true
  }
}
