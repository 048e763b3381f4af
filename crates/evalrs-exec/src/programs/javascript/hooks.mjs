// What node must be taught: to load TypeScript, to find a file by the name TypeScript code calls it, and to tell which
// files it loaded and which it looked for in vain. Bun and deno can do the first two themselves. Loaded by worker.mjs,
// and by node once more in the thread that `module.register` starts; it knows nothing of requests.

import children from 'node:child_process'
import fs from 'node:fs'
import Module from 'node:module'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

const TYPESCRIPT = /\.[mc]?ts$/
const SUFFIXES = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json']
// TypeScript code names a file as it would be called once compiled.
const COMPILED = [
  [/\.js$/, ['.ts']],
  [/\.mjs$/, ['.mts']],
  [/\.cjs$/, ['.cts']],
]
const LONGEST_CODE = 256 * 1024 * 1024
// What `require` adds to a name, and what it looks for in a folder.
const REQUIRED = ['', '.js', '.json', '.node', '/package.json', '/index.js', '/index.json', '/index.node']

// The module may be watched when it uses these; the worker is not.
const { existsSync, readFileSync, statSync } = fs
const { spawnSync } = children

let command = []
let note = () => {}
let miss = () => {}

/** Sets the command that strips types, and what is told of every file that is loaded or looked for in vain. */
export function configure(settings) {
  command = settings.strip ?? []
  note = settings.note
  miss = settings.miss
  // Code without types stands in other lines than the file; it comes with a map.
  if (command.length > 0) process.setSourceMapsEnabled?.(true)
}

/** Called by node in its own thread for hooks; the files go through `port`. */
export function initialize({ strip, port }) {
  configure({ strip, note: (file) => port.postMessage({ file }), miss: (path) => port.postMessage({ path }) })
}

/** What the command that strips types says of `file`: `{format, code, exports}` or `{error: {message, line, column}}`. */
export function ask(file) {
  const [program, ...args] = command
  const done = spawnSync(program, [...args, file], { encoding: 'utf8', maxBuffer: LONGEST_CODE })
  try {
    return JSON.parse(done.stdout)
  } catch {
    const why = done.error?.message ?? (done.stderr.trim() || `exit code ${done.status}`)
    return { error: { message: `its types could not be stripped: ${why}` } }
  }
}

function strip(file) {
  const answer = ask(file)
  if (answer.error) throw problem(file, answer.error)
  // A file with neither imports nor exports is what its package says.
  const isModule = answer.format === 'module' || (file.endsWith('.ts') && packageType(file) === 'module')
  return { format: isModule ? 'module' : 'commonjs', source: answer.code }
}

/** The error of a file that has a syntax error, with the place in front. */
export function problem(file, { message, line, column }) {
  const place = line === undefined ? file : `${file}:${line}:${column}`
  const error = new SyntaxError(`${place}: ${message}`)
  error.stack = `SyntaxError: ${error.message}`
  return error
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** The files that TypeScript code may mean by `path`, where there is none of that very name. */
function meant(path) {
  const compiled = COMPILED.filter(([suffix]) => suffix.test(path))
  const others = compiled.flatMap(([suffix, all]) => all.map((other) => path.replace(suffix, other)))
  const inFolder = SUFFIXES.map((suffix) => join(path, `index${suffix}`))
  return [...others, ...SUFFIXES.map((suffix) => path + suffix), ...inFolder]
}

function isPath(specifier) {
  return /^(\.{0,2}\/|\.{1,2}$|file:)/.test(specifier)
}

/** The path that is named by a module; none of what is looked for elsewhere. */
function pathOf(specifier, parentUrl) {
  if (!isPath(specifier) || !parentUrl?.startsWith('file:')) return undefined
  const url = new URL(specifier, parentUrl)
  return url.protocol === 'file:' ? fileURLToPath(url) : undefined
}

function meantBy(specifier, parentUrl) {
  const path = pathOf(specifier, parentUrl)
  const found = path && meant(path).find(isFile)
  return found && pathToFileURL(found).href
}

/** Tells which files are looked for in vain before `found`: one of that name would be loaded instead. */
function missBefore(specifier, parentUrl, isRequired, found) {
  try {
    for (const path of withMains(candidates(specifier, parentUrl, isRequired))) {
      if (path === found) return
      if (isFile(path)) {
        if (basename(path) !== 'package.json') return
        note(path)
      } else if (!existsSync(path)) miss(path)
    }
  } catch {
    // What cannot be looked for is not found either.
  }
}

/** The paths, and after each `package.json` that is there the files that it may name as those of its folder. */
function* withMains(paths) {
  for (const path of paths) {
    yield path
    if (basename(path) !== 'package.json' || !isFile(path)) continue
    const { main } = JSON.parse(readFileSync(path, 'utf8')) ?? {}
    if (typeof main === 'string') yield* REQUIRED.map((end) => join(dirname(path), main) + end)
  }
}

/** Where a module is looked for, in order. */
function candidates(specifier, parentUrl, isRequired) {
  const path = pathOf(specifier, parentUrl)
  if (path !== undefined) return [...(isRequired ? REQUIRED : ['']).map((end) => path + end), ...meant(path)]
  if (Module.isBuiltin?.(specifier) || /^[a-z]+:|^#/.test(specifier) || !parentUrl?.startsWith('file:')) return []
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  const packages = []
  for (let folder = dirname(fileURLToPath(parentUrl)); ; folder = dirname(folder)) {
    if (basename(folder) !== 'node_modules') {
      const installed = join(folder, 'node_modules')
      const wanted = join(installed, name)
      // Packages are not looked into: that one is there says it all.
      if (existsSync(wanted)) return packages
      packages.push(existsSync(installed) ? wanted : installed)
    }
    if (folder === dirname(folder)) return packages
  }
}

/** The `type` of the package that `file` belongs to. */
function packageType(file) {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    if (existsSync(path)) {
      try {
        return JSON.parse(readFileSync(path, 'utf8')).type
      } catch {
        return undefined
      }
    }
    if (folder === dirname(folder)) return undefined
  }
}

/** What is loaded for a file that node cannot load, or would load as CommonJS although it is written as a module. */
function ours(url) {
  if (!url.startsWith('file:')) return undefined
  const file = fileURLToPath(url)
  note(file)
  if (command.length === 0) return undefined
  if (TYPESCRIPT.test(file)) return strip(file)
  if (!file.endsWith('.js') || file.includes('/node_modules/') || packageType(file) !== undefined) return undefined
  const source = readFileSync(file, 'utf8')
  const isModule = /^\s*(import|export)\b/m.test(source) && ask(file).format === 'module'
  return isModule ? { format: 'module', source } : undefined
}

function fileOf(url) {
  return url?.startsWith('file:') ? fileURLToPath(url) : undefined
}

function isRequire({ conditions }) {
  return conditions?.includes('require') ?? false
}

/** The file that TypeScript code means where node finds none; else the error that node gave. */
function resolvedByUs(specifier, context, error) {
  const url = meantBy(specifier, context.parentURL)
  missBefore(specifier, context.parentURL, isRequire(context), fileOf(url))
  // What `imports` of a package says may not be there.
  if (url === undefined && fileOf(error?.url) && !existsSync(fileOf(error.url))) miss(fileOf(error.url))
  if (url === undefined) throw error
  return { url, shortCircuit: true }
}

/** For `module.register`: finds the files of imports. */
export async function resolve(specifier, context, next) {
  let found
  try {
    found = await next(specifier, context)
  } catch (error) {
    return resolvedByUs(specifier, context, error)
  }
  missBefore(specifier, context.parentURL, isRequire(context), fileOf(found.url))
  return found
}

/** For `module.register`: loads what is imported. */
export async function load(url, context, next) {
  const loaded = ours(url)
  if (loaded === undefined) return next(url, context)
  // Without a source node loads CommonJS as `require` does, which is taught by `teachRequire`.
  const source = loaded.format === 'commonjs' ? null : loaded.source
  return { format: loaded.format, source, shortCircuit: true }
}

/** The same for `module.registerHooks`, which also serves `require`. */
export const inThread = {
  resolve(specifier, context, next) {
    let found
    try {
      found = next(specifier, context)
    } catch (error) {
      return resolvedByUs(specifier, context, error)
    }
    missBefore(specifier, context.parentURL, isRequire(context), fileOf(found.url))
    return found
  },
  load(url, context, next) {
    const loaded = ours(url)
    return loaded ? { ...loaded, shortCircuit: true } : next(url, context)
  },
}

/** Teaches `require` what the hooks teach `import`, where `module.registerHooks` does not exist. */
export function teachRequire() {
  const load = Module.prototype.load
  Module.prototype.load = function (file) {
    note(file)
    return load.call(this, file)
  }
  const resolveFilename = Module._resolveFilename
  Module._resolveFilename = function (request, parent, ...rest) {
    const from = parent?.filename && pathToFileURL(parent.filename).href
    let found
    try {
      found = resolveFilename.call(this, request, parent, ...rest)
    } catch (error) {
      const url = command.length > 0 ? meantBy(request, from) : undefined
      missBefore(request, from, true, fileOf(url))
      if (url === undefined) throw error
      return fileURLToPath(url)
    }
    missBefore(request, from, true, found)
    return found
  }
  if (command.length === 0) return
  for (const suffix of ['.ts', '.cts', '.mts']) {
    Module._extensions[suffix] = (module, file) => {
      const { format, source } = strip(file)
      if (format === 'module') throw new Error(`\`${file}\` is an ES module: import it instead of requiring it`)
      module._compile(source, file)
    }
  }
}
