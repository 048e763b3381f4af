// The data of a server: one method a request.

import { requestPath } from './address.js'

/** Why a request came to nothing, in words for people. */
export class Failure extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

/** What `evalrs serve` answers. */
export class ApiSource {
  constructor() {
    this.abilities = { server: true, labels: false, start: false }
    this.lastRun = null
    /** Tells other tabs of the browser that something was labelled. */
    this.tabs = new BroadcastChannel('evalrs-labels')
  }

  /** Calls `heard` after another tab has labelled something. */
  listen(heard) {
    this.tabs.addEventListener('message', heard)
  }

  /** Learns what the server allows. */
  async open() {
    const meta = await this.get(['meta'])
    this.abilities = { server: true, labels: !meta.read_only, labellers: meta.labellers, start: !meta.read_only }
    this.suitesServed = meta.suites
    return meta
  }

  /** Whether cases of a suite can be labelled: its labels file is known only where the suite is served. */
  takesLabels = (suite) => this.abilities.labels && this.suitesServed.includes(suite)
  /** Whether tags of a suite's cases are known. */
  knowsTags = (run) => this.suitesServed?.includes(run.suite) ?? false
  suites = () => this.get(['suites'], { limit: 500 })
  suite = (name) => this.get(['suites', name])
  calibration = (suite) => this.get(['suites', suite, 'calibration'])
  labelsFile = (suite, format, query) => requestPath(['api', 'suites', suite, 'labels'], { format, ...query })
  runs = (query) => this.get(['runs'], query)
  history = (suite) => this.get(['history'], { suite })
  diff = (old, young) => this.get(['diff'], { old, new: young })
  samples = (run, query) => this.get(['runs', run, 'samples'], query)
  groups = (run, by) => this.get(['runs', run, 'groups'], { by })
  scatter = (run, x, y, query) => this.get(['runs', run, 'scatter'], { ...query, x, y })
  sample = (run, sample, query) => this.get(['runs', run, 'samples', sample], query)
  results = (run, sample) => this.get(['runs', run, 'samples', sample, 'results'])
  start = (body) => this.ask(['runs'], {}, { method: 'POST', body })
  rubric = (suite, grader) => this.get(['suites', suite, 'graders', grader, 'rubric'])
  saveRubric = (suite, grader, text, version) => this.ask(['suites', suite, 'graders', grader, 'rubric'], {}, { method: 'PUT', body: { text }, ifMatch: version === '*' ? version : `"${version}"` })
  stop = (run) => this.ask(['runs', run], {}, { method: 'DELETE' })
  events = (run) => new EventSource(requestPath(['api', 'runs', run, 'events']))
  download = (run, format, query) => requestPath(['api', 'runs', run, `report.${format}`], query)

  /** The columns of a run; those that were asked for last are kept: the first time the server reads the whole dataset. */
  columns(run) {
    if (this.lastColumns?.run !== run) {
      const answer = this.get(['runs', run, 'columns'])
      this.lastColumns = { run, answer }
      answer.catch(() => { this.lastColumns = null })
    }
    return this.lastColumns.answer
  }

  /** A run; the one that was asked for last is kept, unless it changes. */
  run(id, { fresh = false } = {}) {
    if (this.lastRun?.id !== id || fresh) {
      const answer = this.get(['runs', id])
      this.lastRun = { id, answer }
      const forget = () => {
        if (this.lastRun?.answer === answer) this.lastRun = null
      }
      answer.then((run) => (run.under_way || id === 'latest') && forget(), forget)
    }
    return this.lastRun.answer
  }

  /** Sets or removes a label; the run that is kept has other agreement then. */
  async label(suite, sample, body) {
    this.lastRun = null
    const answer = await this.ask(['suites', suite, 'labels', sample], {}, { method: 'PUT', body })
    this.tabs.postMessage(sample)
    return answer
  }

  /** Takes back the last label of a person. Answers the case that it was of. */
  async undoLabel(suite, who) {
    this.lastRun = null
    const answer = await this.ask(['suites', suite, 'labels', 'undo'], {}, { method: 'POST', body: who ? { who } : {} })
    this.tabs.postMessage(answer.sample_id)
    return answer
  }

  get(path, query) {
    return this.ask(path, query, {})
  }

  async ask(path, query, { method = 'GET', body, ifMatch }) {
    const address = requestPath(['api', ...path], query)
    const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...(ifMatch && { 'if-match': ifMatch }) }
    let response
    try {
      response = await fetch(address, { method, headers, body: body && JSON.stringify(body) })
    } catch {
      throw new Failure('UNREACHABLE', 'the server does not answer; is `evalrs serve` still running?')
    }
    let envelope
    try {
      envelope = await response.json()
    } catch {
      throw new Failure('UNREADABLE', `the server answered with status ${response.status}, and not with JSON`)
    }
    if (envelope?.success) return envelope.data
    const { code = 'UNKNOWN', message = `the server answered with status ${response.status}` } = envelope?.error ?? {}
    throw new Failure(code, message)
  }
}
