// Serves one function of one JavaScript or TypeScript module: requests come on descriptor 4, replies go to descriptor 3,
// one JSON document a line. Runs in node, bun and deno. Whatever the module does (print, exit, throw where nobody
// listens) must neither garble a reply nor lose one without a word.

import children from 'node:child_process'
import fs from 'node:fs'
import * as modules from 'node:module'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import { dirname, join, resolve as absolute, sep } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inspect, stripVTControlCharacters, types } from 'node:util'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { ask, configure, inThread, problem, teachRequire } from './hooks.mjs'

const { Bun, Deno } = globalThis
// The module may replace these; the worker must not notice.
const { parse, stringify } = JSON
const { existsSync, openSync, realpathSync, statSync, writeSync } = fs
const now = performance.now.bind(performance)
const { setImmediate } = globalThis
const exitProcess = process.exit.bind(process)
const exitDeno = Deno?.exit

const LONGEST_MESSAGE = 64 * 1024 * 1024
const LONGEST_TEXT = 2_000
const LONGEST_DETAILS = 4_000
const MILLISECONDS_BETWEEN_FLUSHES = 1
const MOST_WORDS = 20
const OWN_FILES = ['worker.mjs', 'hooks.mjs'].map((name) => new URL(name, import.meta.url).href)

/** Ends the process, which the module cannot. */
function exit(code) {
  if (Deno) Deno.exit = exitDeno
  exitProcess(code)
}

// ---- Descriptors ----

let replies = 3

/** Keeps children of the module from inheriting the descriptors. Node and bun mark them themselves, deno does not. */
function keepDescriptors() {
  if (!Deno) return undefined
  replies = openSync('/dev/fd/3', 'w')
  const requests = Deno.openSync('/dev/fd/4').readable
  const names = Deno.build.os === 'darwin' ? ['/usr/lib/libSystem.B.dylib'] : ['libc.so.6', 'libc.so']
  for (const name of names) {
    try {
      const library = Deno.dlopen(name, { close: { parameters: ['i32'], result: 'i32' } })
      library.symbols.close(3)
      library.symbols.close(4)
      library.close()
      break
    } catch {
      // Another name may be right. If none is, children inherit the descriptors, which does little harm.
    }
  }
  return requests
}

function openRequests() {
  if (Bun) return Bun.file(4).stream()
  return keepDescriptors() ?? new Socket({ fd: 4, readable: true, writable: false })
}

/** The complete lines of every chunk that arrives. */
async function* batchesOf(chunks) {
  const decoder = new TextDecoder()
  let begun = []
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(10)
    if (end < 0) {
      begun.push(chunk)
      continue
    }
    const complete = begun.length > 0 ? Buffer.concat([...begun, chunk.subarray(0, end)]) : chunk.subarray(0, end)
    begun = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : []
    yield decoder.decode(complete).split('\n')
  }
}

function write(text) {
  const bytes = Buffer.from(text)
  const cell = new Int32Array(new SharedArrayBuffer(4))
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(replies, bytes, at)
    } catch (error) {
      if (error.code === 'EAGAIN') {
        Atomics.wait(cell, 0, 0, 1)
      } else {
        // Nobody reads replies any more.
        replies = -1
        exit(1)
      }
    }
  }
}

// ---- Files ----

const requires = modules.createRequire(import.meta.url)
// What says how modules of a folder are loaded, and which ones.
const CONFIGURED = ['package.json', ...(Bun ? ['tsconfig.json', 'jsconfig.json'] : []), ...(Deno ? ['deno.json', 'deno.jsonc'] : [])]
const loadedFiles = new Set()
const missedPaths = new Set()
const readFiles = new Set()
const configuredFolders = new Set()
let unreported = { files: [], missed: [], reads: [] }
let workspace = ''
let ownFiles = []
let port
let known = 0

/** The path below the workspace's own name; none outside of it, and of what is installed. */
function placed(file) {
  const real = realpathSync(workspace) + sep
  const path = file.startsWith(real) ? workspace + sep + file.slice(real.length) : file
  const isInside = path.startsWith(workspace + sep) && !path.slice(workspace.length).includes('/node_modules/')
  return isInside ? path : undefined
}

function noteFile(file) {
  if (loadedFiles.has(file)) return
  loadedFiles.add(file)
  const path = placed(file)
  if (path === undefined) return
  if (!ownFiles.includes(path) && !ownFiles.includes(file)) unreported.files.push(path)
  noteConfigured(path)
}

function noteMissed(file) {
  const path = placed(file)
  if (path === undefined || missedPaths.has(path) || existsSync(path)) return
  missedPaths.add(path)
  unreported.missed.push(path)
}

/** Notes what says how a module is loaded: the nearest of these files, and those nearer ones that are not there. */
function noteConfigured(path) {
  for (const name of CONFIGURED) {
    for (let folder = dirname(path); folder.startsWith(workspace); folder = dirname(folder)) {
      const file = join(folder, name)
      if (configuredFolders.has(file)) break
      configuredFolders.add(file)
      if (existsSync(file)) {
        unreported.files.push(file)
        break
      }
      noteMissed(file)
    }
  }
}

/** Notes a file that the module reads. */
function noteRead(file) {
  try {
    if (file instanceof URL || String(file).startsWith('file:')) file = fileURLToPath(file)
    if (typeof file !== 'string' && !Buffer.isBuffer(file)) return
    const path = placed(absolute(String(file)))
    if (path === undefined || readFiles.has(path)) return
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) {
      readFiles.add(path)
      unreported.reads.push(path)
    }
  } catch {
    // Whoever reads it is told what is wrong with it.
  }
}

/** Notes a file that the module writes: to read it afterwards is to read what it made itself. */
function noteWritten(file) {
  try {
    const path = placed(absolute(file instanceof URL ? fileURLToPath(file) : String(file)))
    if (path !== undefined) readFiles.add(path)
  } catch {
    // As above.
  }
}

/** Has functions tell what they are called with. */
function listen(object, names, hear) {
  for (const name of names) {
    const own = object?.[name]
    if (typeof own !== 'function') continue
    try {
      const telling = function (...all) {
        hear(...all)
        return new.target ? Reflect.construct(own, all, new.target) : Reflect.apply(own, this, all)
      }
      object[name] = Object.defineProperties(telling, Object.getOwnPropertyDescriptors(own))
    } catch {
      // What cannot be replaced is not heard.
    }
  }
}

/** Notes what the module reads and executes from now on. */
function hearReads() {
  const opened = (file, flags) => {
    const isRead = flags === undefined || typeof flags === 'function' || /^r/.test(flags) || flags === 0
    if (isRead) noteRead(file)
    else noteWritten(file)
  }
  listen(fs, ['readFile', 'readFileSync', 'createReadStream'], noteRead)
  listen(fs, ['writeFile', 'writeFileSync', 'appendFile', 'appendFileSync', 'createWriteStream'], noteWritten)
  listen(fs, ['open', 'openSync'], opened)
  listen(fs.promises, ['readFile'], noteRead)
  listen(fs.promises, ['writeFile', 'appendFile'], noteWritten)
  listen(fs.promises, ['open'], opened)
  const executed = (file, words, options) => {
    const folder = (Array.isArray(words) ? options : words)?.cwd ?? process.cwd()
    const all = [...String(file).split(' '), ...(Array.isArray(words) ? words : [])]
    for (const word of all.slice(0, MOST_WORDS)) noteRead(absolute(String(folder), String(word)))
  }
  listen(children, ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'exec', 'execSync', 'fork'], executed)
  if (Deno) {
    listen(Deno, ['readFile', 'readFileSync', 'readTextFile', 'readTextFileSync'], noteRead)
  }
  modules.syncBuiltinESMExports?.()
}

/** What was loaded, looked for in vain and read since the last call, sorted; what is empty is left out. */
function news() {
  for (let message = port && receiveMessageOnPort(port); message; message = receiveMessageOnPort(port)) {
    const { file, path } = message.message
    if (file) noteFile(file)
    else noteMissed(path)
  }
  if (Bun) {
    // Bun lists every module there, ES modules too.
    const files = Object.keys(requires.cache)
    if (files.length !== known) files.forEach(noteFile)
    known = files.length
  }
  const { files, missed, reads } = unreported
  unreported = { files: [], missed: [], reads: [] }
  // Node reads modules by the same functions.
  const isLoaded = (path) => loadedFiles.has(path) || ownFiles.includes(path) || files.includes(path)
  const all = { files: files.sort(), missed: missed.sort(), reads: reads.filter((path) => !isLoaded(path)).sort() }
  return Object.fromEntries(Object.entries(all).filter(([, paths]) => paths.length > 0))
}

// ---- Errors ----

const TRANSIENT_CODES = new Set([
  ...Object.keys(constants.errno),
  'EAI_AGAIN',
  'EAI_FAIL',
  'ENOTFOUND',
  'ConnectionClosed',
  'ConnectionRefused',
  'ERR_DLOPEN_FAILED',
  'ERR_MODULE_NOT_FOUND',
  'ERR_STREAM_PREMATURE_CLOSE',
  'FailedToOpenSocket',
  'MODULE_NOT_FOUND',
])
const TRANSIENT_NAMES = new Set([
  'APIConnectionError',
  'APIConnectionTimeoutError',
  'AddrInUse',
  'BrokenPipe',
  'ConnectionAborted',
  'ConnectionRefused',
  'ConnectionReset',
  'NetworkUnreachable',
  'NotConnected',
  'NotFound',
  'PermissionDenied',
  'ResolveMessage',
  'TimedOut',
  'TimeoutError',
])
const TRANSIENT_STATUS = new Set([408, 425, 429])

function isError(thrown) {
  return types.isNativeError(thrown) || thrown instanceof Error
}

/** Whether the environment and not the input is at fault. */
function isTransient(error, depth = 0) {
  const { code, name, status, cause } = error
  if (TRANSIENT_CODES.has(code) || TRANSIENT_NAMES.has(name)) return true
  if (typeof code === 'string' && /^(UND_ERR|ERR_SOCKET|ERR_HTTP2)_/.test(code)) return true
  if (TRANSIENT_STATUS.has(status) || (typeof status === 'number' && status >= 500 && status < 600)) return true
  return depth < 4 && typeof cause === 'object' && cause !== null && isTransient(cause, depth + 1)
}

/** A text whose halves of surrogate pairs, which UTF-8 has not, are replaced. */
function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

function cut(text, longest) {
  return wellFormed(text.length > longest ? `${text.slice(0, longest - 1)}…` : text)
}

/** Names files as seen from the workspace, so that a message is the same on every machine. */
function shortened(text) {
  // Deno colours places.
  return stripVTControlCharacters(text).replaceAll(`${pathToFileURL(workspace).href}/`, '').replaceAll(`${workspace}/`, '')
}

function messageOf(error) {
  const parts = [error.message, ...(Array.isArray(error.errors) ? error.errors.map((one) => one?.message) : [])]
  const text = parts.filter(Boolean).join('; ')
  const name = String(error.name ?? 'Error')
  if (!text) return name
  const place = error.position ? `${error.position.file}:${error.position.line}:${error.position.column}: ` : ''
  return place + (name === 'Error' || text.startsWith(`${name}:`) ? text : `${name}: ${text}`)
}

/** The frames of the module and what it uses; not those of the runtime and the worker. */
function framesOf(error) {
  const lines = String(error.stack ?? '').split('\n')
  return lines.filter(
    (line) =>
      /^\s+at .*\/[^():]+:\d+:\d+\)?$/.test(line) &&
      !/[( ](node|ext|bun|internal|native):/.test(line) &&
      !OWN_FILES.some((own) => line.includes(own) || line.includes(fileURLToPath(own))),
  )
}

/** Where in the files of the workspace an error was made, as `file:line:column`; empty where that is nowhere. */
function placeOf(error) {
  const places = framesOf(error).map((line) => /[(\s]((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/.exec(line)?.[1])
  const inside = places.find((place) => place?.replace('file://', '').startsWith(`${workspace}/`) && !place.includes('/node_modules/'))
  return inside ? shortened(inside) : ''
}

function detailsOf(error) {
  const parts = [messageOf(error), ...framesOf(error)]
  let { cause } = error
  for (let depth = 0; depth < 4 && isError(cause); depth += 1) {
    parts.push(`caused by: ${messageOf(cause)}`, ...framesOf(cause))
    cause = cause.cause
  }
  return parts.join('\n')
}

/** What is reported of a thrown value, which may be anything. */
function described(thrown) {
  try {
    if (!isError(thrown)) {
      const text = typeof thrown === 'string' ? thrown : `${inspect(thrown, { depth: 1 })} was thrown`
      return { message: cut(text, LONGEST_TEXT), transient: false, details: '' }
    }
    return {
      message: cut(shortened(messageOf(thrown)), LONGEST_TEXT),
      transient: isTransient(thrown),
      place: placeOf(thrown),
      details: cut(shortened(detailsOf(thrown)), LONGEST_DETAILS),
    }
  } catch {
    return { message: 'a value that cannot be shown was thrown', transient: false, details: '' }
  }
}

// ---- Results ----

/** Says where in a result something stands that is no JSON, and what it is. */
function notJson(value, path, above) {
  if (typeof value === 'bigint') return `${path} is a BigInt`
  if (typeof value !== 'object' || value === null) return undefined
  if (above.includes(value)) return `${path} refers to what contains it`
  for (const key of Object.keys(value)) {
    const found = notJson(value[key], Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, [...above, value])
    if (found) return found
  }
  return undefined
}

function careful(key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return typeof value === 'string' ? wellFormed(value) : value
}

function isPlain(value) {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value === 'boolean' || typeof value === 'string' || value === null || value === undefined
}

/** The JSON of a result. NaN and the infinities become strings, which JSON has no numbers for. */
function jsonOf(value) {
  if (value === undefined) throw new TypeError('the function returned undefined')
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`the function returned a ${typeof value}`)
  }
  let text
  try {
    const isFlat = typeof value === 'object' && value !== null && Object.values(value).every(isPlain)
    text = isFlat || isPlain(value) ? stringify(value) : stringify(value, careful)
    if (text?.includes('\\ud')) text = stringify(value, careful)
  } catch (error) {
    const found = notJson(value, 'result', [])
    throw found ? new TypeError(`the function returned what is not JSON: ${found}`) : error
  }
  if (text === undefined) throw new TypeError('the function returned what is not JSON')
  if (text.length > LONGEST_MESSAGE - 1024) {
    throw new RangeError(`the function returned ${text.length} characters of JSON, more than ${LONGEST_MESSAGE}`)
  }
  return text
}

// ---- Loading ----

let state = 'waiting'

function say(message) {
  write(`${stringify(message)}\n`)
}

function giveUp(message, details) {
  state = 'ended'
  say({ unloadable: { message, details } })
  exit(0)
}

/** Ends of the module's own making become errors, so that they are known for what they are. */
function refuseExit() {
  const refuse = (code) => {
    throw new Error(`process.exit(${code ?? ''}) was called`)
  }
  process.exit = refuse
  if (Deno) Deno.exit = refuse
  modules.syncBuiltinESMExports?.()
}

/** Has the runtime load TypeScript and tell which files it loads; returns what it cannot do. */
function teach(strip) {
  // Bun and deno load TypeScript themselves, and bun lists what it loaded.
  configure({ strip: Deno ? [] : strip, note: noteFile, miss: noteMissed })
  if (Bun) return []
  if (modules.registerHooks) {
    modules.registerHooks(inThread)
  } else if (modules.register && !Deno) {
    const channel = new MessageChannel()
    port = channel.port1
    port.unref()
    const data = { strip, port: channel.port2 }
    modules.register('./hooks.mjs', { parentURL: import.meta.url, data, transferList: [channel.port2] })
    teachRequire()
  } else {
    const version = Deno ? 'deno 2.9' : 'node 18.19'
    return [`${runtimeName()} does not tell which helper modules it loads: use ${version} or newer`]
  }
  return []
}

/** The error of a module that could not be imported; node does not say where a syntax error stands. */
function importError(error, path, strip) {
  if (Bun || Deno || !strip?.length || !(error instanceof SyntaxError) || framesOf(error).length > 0) return error
  if (/:\d+:\d+: /.test(error.message)) return error
  news()
  for (const file of [path, ...loadedFiles]) {
    const answer = file.includes('/node_modules/') ? {} : ask(file)
    if (answer.error) return problem(file, answer.error)
  }
  return error
}

function runtimeName() {
  if (Bun) return `bun ${Bun.version}`
  return Deno ? `deno ${Deno.version.deno}` : `node ${process.versions.node}`
}

/** What a module may export that compares, the first that is there. */
const COMPARISONS = ['grade', 'default', 'compare']

/** What the text of a suite may name. Of these, what a sample does not have is undefined. */
const NAMES = [
  ...['input', 'output', 'submission', 'hint', 'ground_truth', 'trajectory'],
  ...['metadata', 'cwd', 'row', 'id', 'model', 'trial', 'tags'],
]

/** The function that a text is the body of, or the expression. */
function functionOf(source) {
  const isAsync = /\bawait\b/.test(source)
  const Maker = isAsync ? (async () => {}).constructor : Function
  const made = (body) => new Maker(...NAMES, 'sample', `'use strict'; ${body}`)
  let body
  try {
    body = made(`return (${source}\n)`)
  } catch (error) {
    // A body may declare names that are parameters.
    const hasStatements = /\breturn\b|;/.test(source)
    if (!hasStatements) throw error
    body = made(`{ ${source}\n }`)
  }
  return { isAsync, call: (sample) => body(...NAMES.map((name) => sample[name]), sample) }
}

/** Makes a function of the text of a suite; says what is wrong with it. */
function loadText(source, strip) {
  try {
    const warnings = teach(strip)
    hearReads()
    refuseExit()
    const { isAsync, call } = functionOf(source)
    say({ loaded: { runtime: runtimeName(), overlaps: isAsync, files: [], missed: [], reads: [], warnings } })
    state = 'serving'
    return call
  } catch (thrown) {
    const { message, details } = described(thrown)
    return giveUp(message, details)
  }
}

/** Imports the module; returns its function, or says why there is none. */
async function load({ path, source, function: name, role, workspace: folder, strip }) {
  state = 'loading'
  workspace = folder.replace(/\/+$/, '')
  if (source !== undefined) return loadText(source, strip)
  ownFiles = [path]
  const warnings = []
  let module
  try {
    ownFiles.push(realpathSync(path))
    warnings.push(...teach(strip))
    noteConfigured(path)
    hearReads()
    refuseExit()
    module = await import(pathToFileURL(path).href)
  } catch (thrown) {
    const { message, details } = described(importError(thrown, path, strip))
    return giveUp(message, details)
  }
  const isCommonJs = module.default !== undefined && requires.cache?.[ownFiles[1]]?.exports === module.default
  const isComparison = role === 'compare'
  const exported = (name) => module[name] ?? (isCommonJs ? module.default?.[name] : undefined)
  const found = (isComparison ? COMPARISONS : [name]).map(exported).find((one) => typeof one === 'function')
  if (found === undefined) {
    const names = Object.keys(isCommonJs ? { ...module.default } : module).filter((key) => key !== 'module.exports')
    const exports = names.length > 0 ? `it exports ${names.map((key) => `\`${key}\``).join(', ')}` : 'it exports nothing'
    const who = { target: 'Target', tool: 'Tool' }[role] ?? 'Grader'
    const wanted = isComparison ? "Comparison grader must export 'grade', 'compare', or 'default'" : `${who} module must export a '${name}'`
    return giveUp(`${wanted} function`, exports)
  }
  const overlaps = Object.prototype.toString.call(found) === '[object AsyncFunction]'
  const { files = [], missed = [], reads = [] } = news()
  say({ loaded: { runtime: runtimeName(), overlaps, files, missed, reads, warnings } })
  state = 'serving'
  return found
}

// ---- Requests ----

const inFlight = new Set()
let waiting = []
let flushed = now()
let isScheduled = false

function flush() {
  flushed = now()
  isScheduled = false
  if (waiting.length === 0 || replies < 0) return
  const found = stringify(news())
  // Any of these replies may rest on them, and evalrs may take one in before it has read the next.
  if (found !== '{}') waiting[0] = `${waiting[0].slice(0, -1)},${found.slice(1)}`
  const text = `${waiting.join('\n')}\n`
  waiting = []
  write(text)
}

function answer(id, value) {
  try {
    waiting.push(`{"id":${id},"result":${jsonOf(value)}}`)
  } catch (thrown) {
    fail(id, thrown)
  }
}

function fail(id, thrown) {
  waiting.push(`{"id":${id},"error":${stringify(described(thrown))}}`)
}

function settle(id, how, value) {
  if (!inFlight.delete(id)) return
  how(id, value)
  if (!isScheduled) {
    isScheduled = true
    setImmediate(flush)
  }
}

function begin(grade, line) {
  const request = parse(line)
  const id = stringify(request.id)
  try {
    const result = grade(request.input)
    if (typeof result?.then !== 'function') {
      answer(id, result)
      return
    }
    inFlight.add(id)
    Promise.resolve(result).then(
      (value) => settle(id, answer, value),
      (thrown) => settle(id, fail, thrown),
    )
  } catch (thrown) {
    inFlight.delete(id)
    fail(id, thrown)
  }
}

async function serve() {
  const batches = batchesOf(openRequests())
  const first = (await batches.next()).value
  if (first === undefined) return exit(0)
  // The end may come while a module hangs in its own loading.
  const upcoming = batches.next()
  upcoming.then(({ done }) => done && exit(0))
  const grade = await load(parse(first[0]).load)
  for (let lines = first.slice(1), done = false, next = upcoming; !done; next = batches.next()) {
    for (const line of lines) {
      begin(grade, line)
      if (now() - flushed >= MILLISECONDS_BETWEEN_FLUSHES) {
        // Promises settle only when nothing else runs.
        if (inFlight.size > 0) await new Promise(setImmediate)
        flush()
      }
    }
    flush()
    const arrived = await next
    lines = arrived.value
    done = arrived.done
  }
  return exit(0)
}

/** An error that no request can be blamed for unless it is the only one under way. With several the process ends: asked
    one at a time, the culprit is found. */
function uncaught(thrown) {
  const { message, details } = described(thrown)
  process.stderr.write(`uncaught: ${details || message}\n`)
  if (state === 'loading') giveUp(message, details)
  if (inFlight.size === 1) {
    settle([...inFlight][0], fail, thrown)
  } else if (inFlight.size > 1) {
    flush()
    exit(1)
  }
}

process.on('uncaughtException', uncaught)
process.on('unhandledRejection', (thrown) => {
  const { message, details } = described(thrown)
  process.stderr.write(`unhandled rejection: ${details || message}\n`)
})
process.on('exit', flush)
serve().catch((error) => {
  process.stderr.write(`the worker failed: ${error.stack}\n`)
  exit(1)
})
