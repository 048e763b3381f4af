// The first page: each suite with its last run and its trends, and all runs.

import { announce, failureBox } from './notices.js'
import { counted, money, moment } from './text.js'
import { element, foreign, refill } from './dom.js'
import { badge, runBadge } from './states.js'
import { reference } from './address.js'
import { remarks, runsList } from './runs_list.js'
import { SmallTrends } from './trends.js'

/** Suites whose trends are fetched; more are listed without. */
const MAX_CARDS = 60

export async function runsPage({ source, go, meta }) {
  const { view, pages } = runsList(source)
  const suites = await source.suites().catch((failure) => ({ suites: [], failure }))
  await pages.reload()
  const cards = suiteCards(source, suites.suites, pages)
  const live = meta?.live?.run
  return {
    title: 'Runs', trail: [],
    node: [
      element('h1', null, 'Runs'),
      live && element('p', { class: 'live-note' }, element('a', { href: reference(['runs', live]) }, 'A run is in progress'), '.'),
      suites.failure && failureBox('The suites could not be fetched', suites.failure),
      cards.length > 0 && element('section', { class: 'cards', 'aria-label': 'Suites' }, cards),
      element('section', { class: 'all-runs', 'aria-labelledby': 'all-runs' },
        element('h2', { id: 'all-runs' }, 'All runs ', element('span', { class: 'count' }, counted(pages.total ?? 0))), view.node)],
    keys: { j: () => view.move(1), k: () => view.move(-1), Enter: () => view.currentLink()?.click() },
    shown: () => {
      view.draw()
      announce(`${counted(pages.total ?? 0, 'run')}`)
    },
    end: () => view.end(),
    go,
  }
}

/** The suites that are served, then those that only have runs. */
function suiteCards(source, suites, pages) {
  const known = suites.map((suite) => ({ ...suite, run: suite.last_run }))
  for (let at = 0; pages.at(at); at += 1) {
    const run = pages.at(at)
    const suite = known.find((one) => one.name === run.suite)
    if (!suite) known.push({ name: run.suite, run })
    else suite.run ??= run
  }
  return known.slice(0, MAX_CARDS).map((suite) => card(source, suite))
}

function card(source, { name, description, run, problems }) {
  const trends = new SmallTrends(run?.metrics)
  const place = element('div', null, trends.node)
  if (run) source.history(name).then((history) => trends.show(history), (failure) => refill(trends.note, `no trend: ${failure.message}`))
  const title = element('h2', null, element('a', { href: reference(['suites', name]) }, foreign(name)))
  const facts = run && element('p', { class: 'card-facts' }, runBadge(run), element('a', { href: reference(['runs', run.id]) }, moment(run.started)),
    remarks(run), typeof run.cost === 'number' && element('span', { class: 'figures muted' }, money(run.cost)))
  return element('article', { class: 'card' }, title, description && element('p', { class: 'muted cut', title: description }, foreign(description)),
    problems?.errors > 0 && element('p', null, badge('errored', counted(problems.errors, 'error'))),
    facts ?? element('p', { class: 'muted' }, 'No run yet.'), place)
}
