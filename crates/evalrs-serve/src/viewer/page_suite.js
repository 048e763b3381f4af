// A suite: what it is made of, what is wrong with it, its trends, its runs, and a button that runs it.

import { button, element, field, foreign, table } from './dom.js'
import { counted } from './text.js'
import { failureBox, notify } from './notices.js'
import { badge, runBadge } from './states.js'
import { largeTrends } from './trends.js'
import { reference, rubricReference } from './address.js'
import { runsList } from './runs_list.js'

export async function suitePage({ source, address, go }) {
  const name = address.path[1]
  const { view, pages } = runsList(source, name)
  const orFailure = (promise) => promise.catch((failure) => ({ failure }))
  const [suite, history] = await Promise.all([orFailure(source.suite(name)), orFailure(source.history(name)), pages.reload()])
  if (suite.failure && suite.failure.code !== 'NOT_FOUND') throw suite.failure
  if (suite.failure && !pages.total) throw suite.failure
  const isServed = !suite.failure
  return {
    title: name, trail: [['Runs', []], [name]],
    node: [
      element('h1', null, foreign(name), ' ', suite.last_run && runBadge(suite.last_run)),
      suite.description && element('p', { class: 'lead' }, foreign(suite.description)),
      isServed ? element('p', { class: 'muted' }, element('code', null, suite.path), suite.gate && [' · gate: ', foreign(suite.gate)])
        : element('p', { class: 'muted' }, 'This suite is not served: to see its file and run it, name it to `evalrs serve`.'),
      isServed && suite.graders.length > 0 && graderLine(name, suite.graders),
      isServed && suite.labelled && element('p', { class: 'links' }, element('a', { href: reference(['suites', name, 'calibration']) }, 'Calibration: agreement with people')),
      isServed && problemList(suite.problems),
      isServed && source.abilities.start && startForm(source, name, go),
      section('trends', 'Trends', history.failure ? failureBox('The history could not be fetched', history.failure)
        : history.runs.length ? largeTrends(history) : element('p', { class: 'muted' }, 'No history yet.')),
      section('runs', ['Runs ', element('span', { class: 'count' }, counted(pages.total ?? 0))], view.node)],
    keys: { j: () => view.move(1), k: () => view.move(-1), Enter: () => view.currentLink()?.click(), Escape: () => go(reference([])) },
    shown: () => view.draw(),
    end: () => view.end(),
  }
}

function section(id, title, ...children) {
  return element('section', { 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title), children)
}

/** The graders in one line, each rubric with a link to its editor. */
function graderLine(suite, list) {
  return element('p', { class: 'suite-graders' }, counted(list.length, 'grader'), ': ', list.map((one, at) => [at > 0 && ', ',
    element('span', { class: 'one-grader' }, one.kind === 'rubric' ? element('a', { href: rubricReference(suite, one.name) }, foreign(one.name, { class: 'foreign grader-name' })) : foreign(one.name, { class: 'foreign grader-name' }), element('span', { class: 'muted' }, ` ${one.kind}`, one.label && [', shown as ', foreign(one.label)]))]))
}

function problemList(problems) {
  if (!Array.isArray(problems) || !problems.length) return null
  const rows = problems.map((one) => [one.severity === 'error' ? badge('errored') : badge('pending', one.severity),
    one.place && element('code', null, foreign(one.place.line ? `${one.place.path}:${one.place.line}:${one.place.column}` : one.place.path)),
    [foreign(one.message), one.hint && element('div', { class: 'muted' }, foreign(one.hint))]])
  return section('problems', 'Problems', table('Problems', ['Severity', 'Where', 'What'], rows))
}

/** Starts an evaluation. Asking nothing is the choice that costs nothing, and so the first. */
function startForm(source, name, go) {
  const frozen = element('input', { type: 'checkbox' })
  frozen.checked = true
  const cost = element('input', { type: 'number', min: '0', step: '0.01', inputmode: 'decimal', placeholder: 'no limit' })
  const start = button('Run', async () => {
    start.disabled = true
    try {
      const { id } = await source.start({ suite: name, frozen: frozen.checked, ...(cost.value !== '' && { max_cost: Number(cost.value) }) })
      go(reference(['runs', id]))
    } catch (failure) {
      start.disabled = false
      notify(`The run was not started: ${failure.message}`, { isFailure: true })
    }
  }, { class: 'primary' })
  return element('div', { class: 'start', role: 'group', 'aria-label': 'Run this suite' }, start,
    element('label', { class: 'check' }, frozen, 'make no calls: cached judgments only'), field('Costs at most, $', cost))
}
