// A server of made-up runs that answers as the API of `evalrs serve` does, for the tests of the viewer: many of them, long and hostile.
// What the server works out, as comparisons, is tested over the real one, by real_pages.py, which also finds members that are made up.
//
//   node tests/viewer/mock.mjs [--port N]       serves; the address is the first line of standard output
//   node tests/viewer/mock.mjs --report FILE    writes a report in one file
//
// `POST /forget` makes all runs what they were at first: no test meets what another has changed.

import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import { writeFileSync } from 'node:fs'
import { bundle, file, report } from './bundle.mjs'
import { selectRows } from './select.mjs'
import { makeRuns } from './mock_data.mjs'
import { OddRun } from './mock_odd.mjs'
import { calibrationOf } from './mock_calibration.mjs'

const RUNS = [...makeRuns(), new OddRun()]
const SUITES = ['support', 'bulk', 'models', 'live']
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

class Refusal extends Error {
  constructor(status, code, message) {
    super(message)
    Object.assign(this, { status, code })
  }
}

function runOf(id) {
  const run = id === 'latest' ? RUNS[0] : RUNS.find((one) => one.id === id)
  if (!run) throw new Refusal(404, 'NOT_FOUND', `no run ${id}`)
  return run
}

function neighbours(run) {
  const own = RUNS.filter((one) => one.suite === run.suite)
  const at = own.indexOf(run)
  return { previous: own[at + 1]?.id ?? null, next: own[at - 1]?.id ?? null }
}

function page(all, query) {
  const skip = Number(query.skip ?? 0)
  const limit = Number(query.limit ?? 50)
  if (!(limit >= 0 && limit <= 500)) throw new Refusal(400, 'BAD_REQUEST', 'limit is at most 500')
  return all.slice(skip, skip + limit)
}

function suiteOf(name, { whole = false } = {}) {
  const last = RUNS.find((run) => run.suite === name)
  if (!SUITES.includes(name)) throw new Refusal(404, 'NOT_FOUND', `no suite ${name}`)
  const problems = name === 'models' ? [{ severity: 'warning', place: { path: 'models.yaml', line: 4, column: 3, source: '  modell: gpt', marked: { start: 2, end: 8 } }, message: 'unknown field `modell`', label: null, hint: 'did you mean `model`?' }] : []
  return { name, path: `${name}.yaml`, description: name === 'support' ? 'Does the support bot answer politely, rightly and within the policy?' : null, graders: [{ name: 'accuracy', kind: 'contains', label: null }, { name: 'quality', kind: 'rubric', label: 'Answer quality' }, { name: 'policy', kind: 'program', label: null }],
    gate: 'quality avg_score >= 0.7', problems: whole ? problems : { errors: 0, warnings: problems.length }, ...(whole && { labelled: name === 'support' }), last_run: last?.brief() ?? null }
}

function history(name) {
  const runs = RUNS.filter((run) => run.suite === name).reverse().slice(-200)
  return { runs: runs.map((run, at) => {
    const { metrics: all, gate, cost } = run.brief()
    const metrics = Object.fromEntries(Object.entries(all).map(([grader, { n, mean, stderr, pass_rate, errors }]) => [grader, { n, mean, stderr, pass_rate, errors }]))
    const breaks = name !== 'support' ? [] : at === 5 ? [{ grader: 'quality', what: 'model', text: 'judge of quality: gpt-4o-mini → gpt-4.1-mini' }] : at === 10 ? [{ grader: null, what: 'dataset', text: 'the dataset changed: 200 → 240 samples' }] : []
    return { id: run.id, started: run.started, metrics, gate, cost, digests: {}, dataset: null, breaks }
  }) }
}

function place(row) {
  return row ? { sample_id: row.sample_id, model: row.model, trial: row.trial } : null
}

function caseOf(run, sample, query) {
  const row = run.find(sample, query.model, query.trial)
  if (!row) throw new Refusal(404, 'NOT_FOUND', `no sample ${sample} in run ${run.id}`)
  const list = selectRows(run.rows, { ...query, model: undefined })
  const at = list.indexOf(row)
  return run.whole_case(row, { previous: place(list[at - 1]), next: at < 0 ? place(list.find((one) => one.at > row.at)) : place(list[at + 1]) })
}

function answer(method, [kind, id, part, sample], query, body) {
  if (method === 'PUT' && kind === 'suites' && part === 'labels') {
    if (body.label === 0.2) throw new Refusal(500, 'INTERNAL', 'the labels file cannot be written')
    const run = RUNS.find((one) => (body.run ? one.id === body.run : one.suite === id))
    const row = run.find(sample, body.model, body.trial)
    const own = row.grades[body.grader].people.find((one) => one.who === (body.who ?? 'you'))
    if (body.seen && body.seen.label !== (own?.label ?? null)) throw new Refusal(409, 'CONFLICT', 'it was labelled elsewhere in the meantime')
    return run.label(row, body.grader, body.label, body.who)
  }
  if (method === 'POST' && kind === 'runs') throw new Refusal(409, 'CONFLICT', 'a run is under way')
  if (method === 'DELETE') return { id, stopped: true }
  if (kind === 'meta') return { evalrs: '0.1.0', read_only: false, labellers: false, suites: SUITES, live: { run: RUNS[0].id } }
  if (kind === 'suites' && part === 'calibration') return calibrationOf(id, suiteOf(id).path, RUNS.filter((run) => run.suite === id))
  if (kind === 'suites') return id ? suiteOf(id, { whole: true }) : { suites: SUITES.map((name) => suiteOf(name)), count: SUITES.length, total: SUITES.length }
  if (kind === 'history') return history(query.suite)
  if (kind === 'runs' && !id) {
    const all = RUNS.filter((run) => !query.suite || run.suite === query.suite)
    const runs = page(all, query).map((run) => run.brief())
    return { runs, count: runs.length, total: all.length }
  }
  if (kind === 'runs' && !part) return runOf(id).whole(neighbours(runOf(id)))
  if (kind === 'runs' && part === 'samples' && sample !== undefined) return caseOf(runOf(id), sample, query)
  if (kind === 'runs' && part === 'samples') {
    if (query.q === 'fail') throw new Refusal(500, 'INTERNAL', 'the record cannot be read')
    const all = selectRows(runOf(id).rows, query)
    // What each person says stands on the page of a case alone.
    const listed = (grades) => Object.fromEntries(Object.entries(grades).map(([name, { people, ...grade }]) => [name, grade]))
    const samples = page(all, query).map(({ tags, grades, ...row }) => ({ ...row, grades: listed(grades) }))
    return { samples, count: samples.length, total: all.length }
  }
  throw new Refusal(404, 'NOT_FOUND', 'no such address')
}

/** Verdicts of the run under way, a few a second, for as long as somebody listens. */
function events(run, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  let number = 0
  run.isChanged = true
  const send = (name, data) => response.write(`id: ${number += 1}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
  send('planned', { total: 360, cached: 0, to_ask: 360 })
  const timer = setInterval(() => {
    const row = run.rows.find((one) => one.grades.quality.state === 'pending')
    if (!row) return
    for (const grade of Object.values(row.grades)) Object.assign(grade, { score: 1, state: 'passed' })
    for (const grader of Object.keys(row.grades)) send('verdict', { sample_id: row.sample_id, model: row.model, trial: row.trial, grader, now: { score: 1, state: 'passed' } })
    send('progress', { done: row.at + 1, total: 120, asked: row.at + 1, in_flight: 4, failed: 0 })
  }, 250)
  response.on('close', () => clearInterval(timer))
}

function sendText(response, status, type, text, headers = {}) {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'content-security-policy': POLICY, ...headers })
  response.end(text)
}

async function bodyOf(request) {
  let text = ''
  for await (const part of request) text += part
  return text ? JSON.parse(text) : {}
}

async function serve(request, response) {
  const url = new URL(request.url, 'http://localhost')
  const path = url.pathname.split('/').filter(Boolean).map(decodeURIComponent)
  if (url.pathname === '/viewer.css') return sendText(response, 200, 'text/css; charset=utf-8', file('viewer.css'))
  if (url.pathname === '/viewer.js') return sendText(response, 200, 'text/javascript; charset=utf-8', bundle())
  if (request.method === 'POST' && url.pathname === '/forget') {
    for (const run of RUNS) run.forget?.()
    return sendText(response, 200, 'text/plain', 'ok')
  }
  if (path[0] !== 'api') return sendText(response, 200, 'text/html; charset=utf-8', file('index.html'))
  try {
    if (path[3] === 'events') return events(runOf(path[2]), response)
    const data = answer(request.method, path.slice(1), Object.fromEntries(url.searchParams), await bodyOf(request))
    sendText(response, 200, 'application/json', JSON.stringify({ success: true, data, error: null }))
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error)
    sendText(response, error.status ?? 500, 'application/json', JSON.stringify({ success: false, data: null, error: { code: error.code ?? 'INTERNAL', message: error.message } }))
  }
}

/** What a report in one file holds. */
export function reportData(run) {
  const packs = []
  for (let at = 0; at < run.rows.length; at += 200) {
    const cases = run.rows.slice(at, at + 200).map((row) => run.whole_case(row, { previous: null, next: null }))
    packs.push(gzipSync(JSON.stringify(cases)).toString('base64'))
  }
  const { previous } = neighbours(run)
  return { format: 1, run: run.whole(neighbours(run)), rows: run.rows, cases: packs, previous: previous && runOf(previous).brief() }
}

const [option, value] = process.argv.slice(2)
if (option === '--report') {
  writeFileSync(value, report(reportData(RUNS.find((run) => run.suite === 'support'))))
} else {
  const server = createServer(serve)
  server.listen(option === '--port' ? Number(value) : 0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
}
