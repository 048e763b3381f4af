// The data of a report that is a file: one run, its rows, and its cases, compressed in packs that are opened on demand.

import { groupRows, scatterRows } from './embedded_groups.js'
import { Failure } from './source_api.js'

/** How many cases a pack holds. */
const PACK = 200

/** What the page itself holds. */
export class EmbeddedSource {
  constructor(data) {
    this.abilities = { server: false, labels: false, start: false }
    this.data = data
    this.rows = []
    this.packs = new Map()
  }

  takesLabels = () => false
  knowsTags = (run) => !run.summary?.by_tag || this.rows.some((row) => row.tags?.length)

  async open() {
    const rows = typeof this.data.rows === 'string' ? await unpacked(this.data.rows) : this.data.rows
    this.rows = [...rows].sort((one, other) => one.at - other.at)
    return { evalrs: this.data.run.header?.evalrs ?? '', read_only: true, suites: [], live: null }
  }

  async run(id) {
    if (id !== this.data.run.id && id !== 'latest') throw new Failure('NOT_FOUND', `this file holds run ${this.data.run.id} alone`)
    return this.data.run
  }

  async samples(run, query) {
    const found = selectRows(this.rows, query)
    const skip = Number(query.skip ?? 0)
    const samples = found.slice(skip, skip + Number(query.limit ?? 50))
    return { samples, count: samples.length, total: found.length }
  }

  /** The columns of which some row has something, in the order of the first row that has them. */
  async columns() {
    const found = new Map()
    for (const row of this.rows) {
      for (const [name, value] of Object.entries(row.columns ?? {})) {
        const { rows, is_number } = found.get(name) ?? { rows: 0, is_number: true }
        found.set(name, { name, rows: rows + 1, is_number: is_number && typeof value === 'number' })
      }
    }
    return { columns: [...found.values()], note: null }
  }

  groups = async (run, by) => groupRows(this.rows, by, this.data.run.graders.map((one) => one.name))
  scatter = async (run, x, y, query) => scatterRows(selectRows(this.rows, query), x, y)

  async sample(run, sample, query) {
    const isMeant = (one) => one.sample_id === sample && (one.model ?? undefined) === (query.model ?? one.model ?? undefined)
      && one.trial === Number(query.trial ?? one.trial)
    const at = this.rows.findIndex(isMeant)
    const found = at < 0 ? undefined : (await this.pack(Math.floor(at / PACK))).find(isMeant)
    if (!found) throw new Failure('NOT_FOUND', `no sample ${sample} in this run`)
    const list = selectRows(this.rows, { ...query, model: undefined })
    const position = list.indexOf(this.rows[at])
    const place = (row) => row ? { sample_id: row.sample_id, model: row.model, trial: row.trial } : null
    return { ...found, list: position < 0 ? null : { at: position, total: list.length, picked: null }, previous: place(list[position - 1]), next: position < 0 ? null : place(list[position + 1]) }
  }

  /** All results of a sample: this file has those of one run. */
  async results(run, sample) {
    const results = this.rows.filter((row) => row.sample_id === sample)
    if (!results.length) throw new Failure('NOT_FOUND', `no sample ${sample} in this run`)
    return { runs: [{ run: this.data.run.id, started: this.data.run.started, results }] }
  }

  pack(number) {
    if (!this.packs.has(number)) this.packs.set(number, unpacked(this.data.cases[number] ?? ''))
    return this.packs.get(number)
  }
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  const packed = new Uint8Array(await new Response(stream).arrayBuffer())
  return JSON.parse(new TextDecoder().decode(packed[0] === 0 ? withRepeats(packed) : packed))
}

/** Puts repeats back: after a zero the length of all, the length of what counts, what counts, and the fresh bytes. */
export function withRepeats(packed) {
  let at = 1
  const number = () => {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = packed[at++]
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  const whole = new Uint8Array(number())
  const counted = number()
  let fresh = at + counted
  for (let end = 0; end < whole.length;) {
    const count = number()
    whole.set(packed.subarray(fresh, fresh + count), end)
    fresh += count
    end += count
    if (end === whole.length) break
    const length = number()
    const back = number()
    whole.copyWithin(end, end - back, end - back + length)
    end += length
  }
  return whole
}

/** The rows that a query of a list asks for, in its order: as the server does it. */
export function selectRows(rows, query) {
  const wants = textSearch(query.q ?? '')
  const found = rows.filter((row) => hasState(row, query) && hasScore(row, query) && hasColumns(row, query)
    && (!query.model || row.model === query.model)
    && (!query.tag || (row.tags ?? []).includes(query.tag))
    && wants([row.sample_id, row.submission]))
  const factor = query.order === 'desc' ? -1 : 1
  if (query.sort === 'id') found.sort((one, other) => factor * (compared(one.sample_id, other.sample_id) || one.at - other.at))
  else if (query.sort === 'score') found.sort((one, other) => factor * (lowest(one, query) - lowest(other, query)) || one.at - other.at)
  else if (query.sort && query.sort !== 'line') found.sort((one, other) => byColumn(one.columns?.[query.sort], other.columns?.[query.sort], factor) || one.at - other.at)
  else if (factor < 0) found.reverse()
  return found
}

/** The order of two values of a column: what has none is last, numbers come before texts. */
function byColumn(one, other, factor) {
  if (one === undefined || other === undefined) return (one === undefined) - (other === undefined)
  const isNumber = typeof one === 'number'
  if (isNumber !== (typeof other === 'number')) return factor * (isNumber ? -1 : 1)
  return factor * (isNumber ? one - other : compared(String(one), String(other)))
}

/** Whether a row lies in the ranges of columns that a query has, and has the value that it wants. */
function hasColumns({ columns = {} }, query) {
  const isIn = ([name, bound]) => {
    const [, column, end] = /^(tokens|cost|latency|tool_calls)_(min|max)$/.exec(name) ?? []
    if (!column || !bound) return true
    const value = columns[column]
    return typeof value === 'number' && (end === 'min' ? value >= Number(bound) : value <= Number(bound))
  }
  const has = (name, value) => String(columns[name] ?? '') === value && columns[name] !== undefined
  const { where = '' } = query
  return Object.entries(query).every(isIn) && (!where || has(where.slice(0, where.indexOf(':')), where.slice(where.indexOf(':') + 1)))
}

/** What a search wants: words, or between slashes a regular expression; with `-` before it, what does not have it. */
function textSearch(search) {
  const isNegated = search.length > 1 && search.startsWith('-')
  const text = isNegated ? search.slice(1) : search
  if (!text) return () => true
  const pattern = text.length > 2 && text.startsWith('/') && text.endsWith('/') ? new RegExp(text.slice(1, -1), 'ium') : null
  const words = text.toLowerCase()
  return (texts) => texts.some((one) => (pattern ? pattern.test(one) : one.toLowerCase().includes(words))) !== isNegated
}

function hasScore(row, { min, max, ...query }) {
  if (!min && !max) return true
  const isIn = (score) => typeof score === 'number' && (!min || score >= Number(min)) && (!max || score <= Number(max))
  return gradesOf(row, query).some((grade) => isIn(grade.score))
}

function compared(one, other) {
  return one < other ? -1 : one > other ? 1 : 0
}

function gradesOf(row, query) {
  const grades = query.grader ? [row.grades[query.grader]] : Object.values(row.grades)
  return grades.filter((grade) => grade)
}

function hasState(row, { state, ...query }) {
  if (!state) return true
  const grades = gradesOf(row, query)
  if (state === 'unlabelled') return grades.some((grade) => !grade.label && !grade.disputed)
  if (state === 'labelled') return grades.some((grade) => grade.label || grade.disputed)
  if (state === 'disputed') return grades.some((grade) => grade.disputed)
  if (state === 'disagrees') return grades.some((grade) => grade.label?.agrees === false)
  if (state === 'false_pass') return grades.some((grade) => grade.state === 'passed' && grade.label?.agrees === false)
  if (state === 'false_fail') return grades.some((grade) => grade.state === 'failed' && grade.label?.agrees === false)
  return grades.some((grade) => grade.state === state)
}

/** Grades without a score stand last. */
function lowest(row, query) {
  const scores = gradesOf(row, query).map((grade) => grade.score).filter((score) => typeof score === 'number')
  return scores.length ? Math.min(...scores) : 2
}
