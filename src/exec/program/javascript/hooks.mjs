// What node must be taught: to load TypeScript, to find a file by the name TypeScript code calls it, and to tell which
// files it loaded. Bun and deno can do the first two themselves. Loaded by worker.mjs, and by node once more in the
// thread that `module.register` starts; it knows nothing of requests.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import Module from 'node:module'
import { dirname, join } from 'node:path'
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

let command = []
let note = () => {}

/** Sets the command that strips types, and what is told of every file that is loaded. */
export function configure(settings) {
  command = settings.strip ?? []
  note = settings.note
  // Code without types stands in other lines than the file; it comes with a map.
  if (command.length > 0) process.setSourceMapsEnabled?.(true)
}

/** Called by node in its own thread for hooks; the files go through `port`. */
export function initialize({ strip, port }) {
  configure({ strip, note: (file) => port.postMessage(file) })
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

/** The file that TypeScript code means by `path`, where there is none of that very name. */
function meant(path) {
  for (const [suffix, others] of COMPILED) {
    if (suffix.test(path)) {
      const found = others.map((other) => path.replace(suffix, other)).find(isFile)
      if (found) return found
    }
  }
  const inFolder = SUFFIXES.map((suffix) => join(path, `index${suffix}`))
  return [...SUFFIXES.map((suffix) => path + suffix), ...inFolder].find(isFile)
}

function meantBy(specifier, parentUrl) {
  if (!/^(\.{0,2}\/|\.{1,2}$|file:)/.test(specifier) || !parentUrl?.startsWith('file:')) return undefined
  const url = new URL(specifier, parentUrl)
  const found = url.protocol === 'file:' ? meant(fileURLToPath(url)) : undefined
  return found && pathToFileURL(found).href
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

/** For `module.register`: finds the files of imports. */
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context)
  } catch (error) {
    const url = meantBy(specifier, context.parentURL)
    if (url === undefined) throw error
    return { url, shortCircuit: true }
  }
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
    try {
      return next(specifier, context)
    } catch (error) {
      const url = meantBy(specifier, context.parentURL)
      if (url === undefined) throw error
      return { url, shortCircuit: true }
    }
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
  if (command.length === 0) return
  for (const suffix of ['.ts', '.cts', '.mts']) {
    Module._extensions[suffix] = (module, file) => {
      const { format, source } = strip(file)
      if (format === 'module') throw new Error(`\`${file}\` is an ES module: import it instead of requiring it`)
      module._compile(source, file)
    }
  }
  const resolveFilename = Module._resolveFilename
  Module._resolveFilename = function (request, parent, ...rest) {
    try {
      return resolveFilename.call(this, request, parent, ...rest)
    } catch (error) {
      const from = parent?.filename && pathToFileURL(parent.filename).href
      const url = meantBy(request, from)
      if (url === undefined) throw error
      return fileURLToPath(url)
    }
  }
}
