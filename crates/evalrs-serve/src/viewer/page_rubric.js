// The rubric of a grader: edited, tried on chosen cases beside what people say of them, and saved to its file.

import { ALL_CASES, caseSets, priceText, problemLines, RubricTrials, trialResult, trialsTable } from './rubric_tries.js'
import { announce, notify } from './notices.js'
import { button, choice, element, field, folded, foreign, refill } from './dom.js'
import { moment } from './text.js'
import { reference } from './address.js'
import { textChange } from './word_changes.js'

/** How long nothing is typed before the price is asked, in milliseconds. */
const PAUSE = 500

/** What was written and tried in this visit, by suite and grader: it is there again after a look at a case. */
const drafts = new Map()

export async function rubricPage({ source, address, go }) {
  const [, suite, , grader] = address.path
  const [file, { runs }] = await Promise.all([source.rubric(suite, grader), source.runs({ suite, limit: 50 })])
  const isWhole = (run) => !run.narrowed && !run.under_way && run.metrics[grader]
  const run = runs.find((one) => one.id === address.query.run) ?? runs.find(isWhole) ?? runs.find((one) => one.metrics[grader])
  const sets = run ? await caseSets(source, run, grader, address.query) : [ALL_CASES]
  return new RubricPage({ source, go, suite, grader, file, run, sets })
}

class RubricPage {
  constructor(parts) {
    Object.assign(this, parts)
    const { suite, grader, file, source } = this
    const name = JSON.stringify([suite, grader])
    this.draft = drafts.get(name) ?? { text: file.text, tries: [], trials: new RubricTrials(source, suite, grader), shown: null }
    drafts.set(name, this.draft)
    this.title = `Rubric of ${grader}`
    this.trail = [['Runs', []], [suite, ['suites', suite]], [this.title]]
    this.keys = { Escape: () => this.go(reference(['suites', suite])) }
    this.set = this.sets[0]
    this.makeEditor()
    this.makeBar()
    this.result = element('div', { class: 'trial-shown' })
    this.tries = element('div')
    this.node = element('div', { class: 'rubric-page' }, this.header(), element('div', { class: 'rubric-columns' }, element('section', { class: 'rubric-edit', 'aria-label': 'Editor' }, this.editor, this.state, this.problems, this.bar, this.changes),
      element('section', { class: 'rubric-results', 'aria-label': 'Tries' }, this.tries, this.result)))
    this.leaves = (event) => this.isChanged && event.preventDefault()
    addEventListener('beforeunload', this.leaves)
    this.showTries()
    this.edited()
  }

  get isChanged() {
    return this.editor.value !== this.file.text
  }

  header() {
    const { file, grader, suite } = this
    return [element('h1', null, element('span', null, file.criterion ? 'Criterion ' : 'Rubric of ', foreign(grader))),
      element('p', { class: 'muted' }, element('code', null, foreign(file.path)), file.inline ? ': a value of the suite; comments beside it stay' : ': all of the file below its front matter', ' · ', element('a', { href: reference(['suites', suite]) }, 'suite'))]
  }

  makeEditor() {
    this.editor = element('textarea', { class: 'rubric-text', spellcheck: 'true', rows: '18', 'aria-label': `Text of the rubric of ${this.grader}`, oninput: () => this.edited(), onkeydown: (event) => this.pressed(event) })
    this.editor.value = this.draft.text
    this.state = element('p', { class: 'muted', role: 'status' })
    this.problems = element('div')
    this.changes = element('div')
  }

  pressed(event) {
    if (!(event.ctrlKey || event.metaKey) || event.isComposing) return
    const act = { Enter: () => this.try(), s: () => this.save() }[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }

  makeBar() {
    const { source } = this
    const cases = choice('Try on', this.sets.map((set) => [set.name, set.text]), this.set.name, (name) => {
      this.set = this.sets.find((set) => set.name === name)
      this.edited()
    })
    this.most = element('input', { type: 'number', min: '0', step: '0.01', inputmode: 'decimal', placeholder: 'no limit' })
    this.price = element('p', { class: 'figures price', role: 'status' })
    this.tryButton = button(['Try ', element('kbd', null, 'Ctrl Enter')], () => this.try(), { class: 'primary' })
    this.stopButton = button('Stop', () => this.draft.trials.stop()?.catch((failure) => notify(failure.message, { isFailure: true })), { hidden: true })
    this.saveButton = button(['Save ', element('kbd', null, 'Ctrl S')], () => this.save())
    this.revertButton = button('Revert to the file', () => this.use(this.file.text))
    this.bar = source.abilities.start ? element('div', { class: 'rubric-bar' }, element('div', { class: 'filters' }, cases.node, field('Costs at most, $', this.most)),
      element('div', { class: 'rubric-buttons' }, this.tryButton, this.stopButton, this.saveButton, this.revertButton), this.price) : element('p', { class: 'note' }, 'This server only reads: nothing is tried or saved here.')
    this.editor.readOnly = !source.abilities.start
  }

  /** Takes another text into the editor. */
  use(text) {
    this.editor.value = text
    this.edited()
    this.editor.focus()
  }

  /** What follows from a change of the text: what differs from the file, its problems and its price. */
  edited() {
    const text = this.editor.value
    this.draft.text = text
    refill(this.state, this.isChanged ? 'Changed, not saved.' : 'As in the file.')
    this.saveButton.disabled = !this.isChanged
    this.revertButton.disabled = !this.isChanged
    refill(this.changes, this.isChanged && folded('What differs from the file', () => textChange('Changes of the rubric', this.file.text, text)))
    clearTimeout(this.timer)
    if (this.source.abilities.start) this.timer = setTimeout(() => this.ask(), PAUSE)
  }

  /** The cases that are chosen, with the written text that they are compared with. */
  async cases() {
    const { set } = this
    set.known ??= await set.ids()
    return { set: set.name, samples: set.known, written: this.file.text }
  }

  async ask() {
    const text = this.editor.value
    if (!text.trim() || this.isBusy) return
    try {
      const price = await this.draft.trials.price(text, await this.cases())
      if (text !== this.editor.value || this.isBusy) return
      refill(this.price, priceText(price))
      refill(this.problems, problemLines(price.problems, this.file.path))
    } catch (failure) {
      if (text === this.editor.value) refill(this.price, element('span', { class: 'error-text' }, foreign(failure.message)))
    }
  }

  /** Judges the chosen cases by the text, and by the written one, so that both are compared on the same cases. */
  async try() {
    if (this.isBusy || !this.source.abilities.start) return
    const text = this.editor.value
    this.busy(true)
    const told = (words) => refill(this.price, foreign(words))
    try {
      const cases = await this.cases()
      const options = { most: this.most.value && Number(this.most.value), told }
      const { trials } = this.draft
      told('The written rubric is judged by first…')
      const before = await trials.run(cases.written, cases, options)
      const now = await trials.run(text, cases, options)
      const [diff, run] = await Promise.all([this.source.diff(before, now), this.source.run(now, { fresh: true })])
      this.draft.shown = diff
      this.note({ text, run, diff })
      this.showTries()
      announce('The try has ended.')
    } catch (failure) {
      notify(`The rubric was not tried: ${failure.message}`, { isFailure: true })
    }
    this.busy(false)
    this.ask()
  }

  /** Keeps what came of a try; the same text on the same cases is one try. */
  note({ text, run, diff }) {
    const { tries } = this.draft
    const agreement = run.agreement?.[this.grader]
    const known = tries.find((one) => one.run === run.id)
    if (!known) tries.push({ text, at: moment(run.started), run: run.id, agreement: agreement?.n > 0 ? agreement : null, actions: run.actions, cost: run.cost, isSaved: !this.isChanged, diff })
  }

  busy(isBusy) {
    this.isBusy = isBusy
    this.tryButton.disabled = isBusy
    this.stopButton.hidden = !isBusy
  }

  showTries() {
    const { tries, shown } = this.draft
    refill(this.tries, tries.length > 0 && [element('h2', null, 'Tries'), trialsTable(tries, (text) => this.use(text))])
    refill(this.result, shown ? trialResult(shown, this.grader) : this.hints())
  }

  hints() {
    const { run, suite } = this
    return [element('h2', null, 'How it works'), element('ol', { class: 'hints' }, element('li', null, 'Edit the text. The price of a try follows as you type.'),
      element('li', null, 'Try it: no file changes. The same cases are judged by the written text and by yours.'), element('li', null, 'Look at agreement with people first, then at each verdict that moved.'),
      element('li', null, 'Save what is better. What was tried is cached, so the next run costs nothing for it.')),
    run && element('p', null, 'Labels say which verdicts are right: ', element('a', { href: reference(['runs', run.id], { grader: this.grader, state: 'unlabelled' }) }, 'label cases'), '.'),
    !run && element('p', { class: 'muted' }, 'This suite has no run of this grader yet: ', element('a', { href: reference(['suites', suite]) }, 'run it'), ' to choose cases.')]
  }

  async save(version = this.file.version) {
    if (!this.isChanged || !this.source.abilities.start) return
    const text = this.editor.value
    try {
      this.file = await this.source.saveRubric(this.suite, this.grader, text, version)
      for (const one of this.draft.tries) one.isSaved = one.text === this.file.text
      this.showTries()
      this.edited()
      notify(`Saved to ${this.file.path}.`)
    } catch (failure) {
      if (failure.code === 'PRECONDITION_FAILED') await this.conflict()
      else notify(`Not saved: ${failure.message}`, { isFailure: true })
    }
  }

  /** Somebody else has changed the file: both texts are there, and the person chooses. */
  async conflict() {
    const file = await this.source.rubric(this.suite, this.grader)
    const mine = this.editor.value
    this.file = file
    this.edited()
    refill(this.state, element('span', { class: 'error-text' }, 'The file was changed meanwhile. What differs is below.'), ' ', button('Save over it', () => this.save(file.version)), ' ', button('Take the text of the file', () => this.use(file.text)))
    refill(this.changes, textChange('Changes of the rubric', file.text, mine))
    announce('The file was changed meanwhile.')
  }

  end() {
    clearTimeout(this.timer)
    removeEventListener('beforeunload', this.leaves)
  }
}
