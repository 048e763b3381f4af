// Starts the page: where the data comes from, which page an address is, and what stays around it.

import { announce } from './notices.js'
import { answersPage } from './page_answers.js'
import { ApiSource } from './source_api.js'
import { button, element, foreign, refill } from './dom.js'
import { calibrationPage } from './page_calibration.js'
import { caseName } from './case_list.js'
import { casePage } from './page_case.js'
import { diffPage } from './page_diff.js'
import { EmbeddedSource } from './source_embedded.js'
import { here, reference, useHash } from './address.js'
import { rubricPage } from './page_rubric.js'
import { runPage } from './page_run.js'
import { runsPage } from './page_runs.js'
import { startKeyboard } from './keyboard.js'
import { startPrinting } from './printing.js'
import { startTheme } from './preferences.js'
import { suitePage } from './page_suite.js'
import { visible } from './text.js'

class Viewer {
  constructor(source) {
    Object.assign(this, { source, page: null, sequence: 0, meta: null, opened: null })
    this.main = document.getElementById('main')
    this.go = (address, options) => this.open(address, options)
  }

  async start() {
    history.scrollRestoration = 'manual'
    startTheme(document.getElementById('theme'))
    startPrinting(this.main)
    startKeyboard(() => this.page?.keys ?? {}, document.getElementById('keys'))
    document.getElementById('brand').setAttribute('href', reference([]))
    document.getElementById('skip').addEventListener('click', (event) => {
      event.preventDefault()
      this.main.focus()
      this.main.scrollIntoView()
    })
    document.addEventListener('click', (event) => this.clicked(event))
    addEventListener('popstate', (event) => this.show({ scroll: event.state?.scroll ?? 0, isBack: true }))
    addEventListener('scroll', () => this.remember(), { passive: true })
    // What other tabs, people and sessions have labelled is seen at once, or where the reader comes back.
    const learn = () => document.visibilityState === 'visible' && this.page?.learn?.()
    addEventListener('focus', learn)
    document.addEventListener('visibilitychange', learn)
    this.source.listen?.(learn)
    try {
      this.meta = await this.source.open()
    } catch (failure) {
      this.fail(failure)
      return
    }
    await this.show({ scroll: history.state?.scroll ?? 0, isBack: true })
  }

  /** A link within the viewer is followed without loading the page anew. */
  clicked(event) {
    const link = event.target.closest?.('a[href]')
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    const address = link.getAttribute('href')
    if (link.hasAttribute('download') || !/^(\/(?!api\/)|#\/)/.test(address)) return
    event.preventDefault()
    this.open(address, { isBack: link.classList.contains('back') })
  }

  open(address, { replace = false, ...options } = {}) {
    this.keepScroll()
    history[replace ? 'replaceState' : 'pushState']({ scroll: replace ? scrollY : 0 }, '', address)
    return this.show({ ...options, isReplaced: replace })
  }

  remember() {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.keepScroll(), 150)
  }

  keepScroll() {
    clearTimeout(this.timer)
    if (history.state?.scroll !== scrollY) history.replaceState({ ...history.state, scroll: scrollY }, '')
  }

  async show({ scroll = 0, isBack = false, isReplaced = false, search = false } = {}) {
    this.sequence += 1
    const { sequence } = this
    const address = here()
    const path = JSON.stringify(address.path)
    if (this.page?.update && this.path === path) {
      await this.page.update(address.query)
      if (isBack) scrollTo(0, scroll)
      return
    }
    const loading = document.getElementById('loading')
    loading.hidden = false
    let page
    try {
      page = await this.pageOf(address)
    } catch (failure) {
      page = this.failedPage(failure)
    }
    if (sequence !== this.sequence) {
      page.end?.()
      return
    }
    loading.hidden = true
    this.replacePage(page, path)
    page.shown?.()
    if (!isReplaced) scrollTo(0, scroll)
    const hasFocus = page.takeFocus?.({ isBack, isReplaced, index: this.index, hasScroll: scroll > 0 })
    if (search) page.keys?.['/']?.()
    else if (!hasFocus && this.isStarted && !isReplaced) this.main.focus({ preventScroll: true })
    if (this.isStarted) announce(page.title)
    this.isStarted = true
  }

  replacePage(page, path) {
    this.page?.end?.()
    this.index = this.indexAfter(page)
    Object.assign(this, { page, path })
    document.title = visible(page.title ? `${page.title} · evalrs` : 'evalrs')
    refill(this.main, page.node)
    const parts = page.trail.map(([text, target, query]) => element('li', null, target
      ? element('a', { href: reference(target, query), class: 'back' }, foreign(text)) : element('span', { 'aria-current': 'page' }, foreign(text))))
    refill(document.getElementById('trail'), element('ol', null, parts))
  }

  /** Where in the list the case stands that is shown, or was shown last: -1 where that is not known. */
  indexAfter(page) {
    const { page: old, index = -1 } = this
    if (!page.place) return old?.place && old.run.id === page.run?.id ? index : -1
    if (!old?.place) return old?.rows?.current ?? -1
    const isAt = (place) => place && caseName(place) === caseName(page.place)
    if (index < 0 || isAt(old.place)) return index
    return isAt(old.item.next) ? index + 1 : isAt(old.item.previous) ? index - 1 : -1
  }

  pageOf(address) {
    const { path } = address
    const { source, go, meta } = this
    const context = { source, address, go, meta }
    const { server } = source.abilities
    if (!path.length) return server ? runsPage(context) : runPage(context)
    if (path[0] === 'runs' && path.length === 2) return runPage(context)
    if (path[0] === 'runs' && path[2] === 'samples' && path.length === 4) return casePage(context)
    if (path[0] === 'runs' && path[2] === 'samples' && path[4] === 'answers' && path.length === 5) return answersPage(context)
    if (server && path[0] === 'suites' && path.length === 2) return suitePage(context)
    if (server && path[0] === 'suites' && path[2] === 'graders' && path.length === 4) return rubricPage(context)
    if (server && path[0] === 'suites' && path[2] === 'calibration' && path.length === 3) return calibrationPage(context)
    if (server && path[0] === 'diff' && path.length === 1) return diffPage(context)
    throw Object.assign(new Error('No page at this address.'), { code: 'NOT_FOUND' })
  }

  failedPage(failure) {
    const isMissing = failure.code === 'NOT_FOUND'
    if (!failure.code) console.error(failure)
    const title = isMissing ? 'Not found' : 'This page could not be shown'
    return { title, trail: [['Runs', []], [title]], keys: { Escape: () => this.open(reference([])) },
      node: element('div', { class: 'missing', role: 'alert' }, element('h1', null, title), element('p', null, failure.message),
        element('p', null, !isMissing && button('Try again', () => this.retry(), { class: 'primary' }), ' ', element('a', { href: reference([]) }, this.source.abilities.server ? 'All runs' : 'The run'))) }
  }

  async retry() {
    this.page = null
    if (!this.meta) this.meta = await this.source.open().catch(() => null)
    await this.show()
  }

  fail(failure) {
    this.replacePage(this.failedPage(failure), null)
  }
}

/** The source that the page has: what it holds itself, else the server. */
function sourceOfPage() {
  const data = document.getElementById('evalrs-data')
  if (!data) return new ApiSource()
  useHash()
  return new EmbeddedSource(JSON.parse(data.textContent))
}

if (typeof document !== 'undefined') new Viewer(sourceOfPage()).start()
