// Drives worker.mjs as evalrs starts it. Run with `node --test tests/javascript/`.
//
//   EVALRS   the binary that strips types; else target/debug/evalrs
//   RUNTIME  the runtime and its arguments, such as `bun run --no-install` or
//            `deno run --allow-all --no-prompt --sloppy-imports --node-modules-dir=manual`; else the node that runs this

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { GRADERS, INPUTS } from './graders.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WORKER = join(ROOT, 'crates/evalrs-exec/src/programs/javascript/worker.mjs')
const EVALRS = process.env.EVALRS ?? join(ROOT, 'target/debug/evalrs')
const RUNTIME = process.env.RUNTIME?.split(' ') ?? [process.execPath]
const IS_NODE = /node$/.test(RUNTIME[0])
const IS_DENO = /deno$/.test(RUNTIME[0])

const folders = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

/** A folder with these files. */
function workspace(files) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'evalrs-worker-')))
  folders.push(folder)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

/** Starts a worker and sends `load`; `cat` on both sides because deno opens pipes only, and node makes sockets. */
class Worker {
  constructor(folder, file, settings = {}) {
    const start = `/bin/sh -c 'exec "$@" 3>&1 1>&2 4<&0 0</dev/null' sh "$@"; echo "ended $?"`
    const args = ['-c', `cat | { ${start}; } | cat`, 'sh', ...RUNTIME, WORKER]
    this.child = spawn('/bin/sh', args, { cwd: folder })
    this.replies = []
    this.said = ''
    this.expected = []
    let begun = ''
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (begun + text).split('\n')
      begun = lines.pop()
      for (const line of lines) this.replies.push(line.startsWith('ended') ? { ended: Number(line.slice(6)) } : JSON.parse(line))
      this.expected.filter(({ count }) => this.replies.length >= count).forEach(({ done }) => done())
    })
    this.child.stderr.setEncoding('utf8').on('data', (text) => (this.said += text))
    const strip = [EVALRS, 'strip-types']
    this.send({ load: { path: join(folder, file), function: 'grade', role: 'grade', workspace: folder, strip, ...settings } })
  }

  /** Sends messages in one write. */
  send(...messages) {
    this.child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  }

  /** Waits until so many messages have come. */
  async received(count) {
    if (this.replies.length < count) await new Promise((done) => this.expected.push({ count, done }))
    return this.replies
  }

  /** Ends the worker; its messages, the last of which is how it ended. */
  async end() {
    const closed = new Promise((done) => this.child.on('close', done))
    this.child.stdin.end()
    await closed
    return this.replies
  }
}

/** Loads a module and asks it every input; what it answered, by place. */
async function answers(files, file, inputs, settings) {
  const worker = new Worker(workspace(files), file, settings)
  const [first] = await worker.received(1)
  if (first.unloadable) {
    await worker.end()
    return { unloadable: first.unloadable }
  }
  inputs.forEach((input, id) => worker.send({ id, input }))
  const replies = (await worker.received(1 + inputs.length)).slice(1)
  await worker.end()
  const byId = [...replies].sort((a, b) => a.id - b.id)
  return { loaded: first.loaded, replies: byId, order: replies.map(({ id }) => id), said: worker.said }
}

describe('the worker', { concurrency: 4, timeout: 120_000 }, () => {
  for (const { name, typescript, javascript, results } of GRADERS) {
    for (const [file, source] of [['grader.ts', typescript], ['grader.mjs', javascript], ['grader.js', javascript]]) {
      test(`${name} in ${file}`, async () => {
        const { loaded, replies } = await answers({ [file]: source }, file, INPUTS)
        assert.equal(loaded.overlaps, true)
        assert.deepEqual(loaded.files, [])
        assert.deepEqual(replies.map(({ result }) => [result.pass, Number(result.score.toFixed(2)), result.reasoning]), results)
      })
    }
  }

  const CALLS = [
    ['a plain function', 'export const grade = ({ output }) => ({ pass: output === "a", score: 1 })', { output: 'a' }, { pass: true, score: 1 }],
    ['a function that returns a promise', 'export const grade = () => Promise.resolve(1)', {}, 1],
    ['absent keys', 'export const grade = (given) => [given.hint === undefined, given.cwd === undefined]', {}, [true, true]],
    ['prints', 'console.log("out"); export const grade = () => { console.log("out"); console.error("err"); process.stdout.write("raw\\n"); return 1 }', {}, 1],
    ['NaN and infinities', 'export const grade = () => ({ score: NaN, more: [Infinity, -Infinity] })', {}, { score: 'NaN', more: ['Infinity', '-Infinity'] }],
    ['a plain NaN', 'export const grade = () => NaN', {}, 'NaN'],
    ['null', 'export const grade = async () => null', {}, null],
    ['half a surrogate pair', 'export const grade = ({ output }) => output.slice(0, 1)', { output: '😀' }, '\ufffd'],
    ['text of other scripts', 'export const grade = ({ output }) => output', { output: 'é😀\u2028\n' }, 'é😀\u2028\n'],
    ['replaced globals', 'JSON.stringify = JSON.parse = () => "no"; globalThis.setImmediate = undefined; export const grade = async () => 1', {}, 1],
    ['no standard input', 'import { readFileSync } from "node:fs"; export const grade = () => readFileSync("/dev/stdin", "utf8")', {}, ''],
  ]

  for (const [name, source, input, expected] of CALLS) {
    test(`answers: ${name}`, async () => {
      const { replies } = await answers({ 'grader.mjs': source }, 'grader.mjs', [input])
      assert.deepEqual(replies[0].result, expected)
    })
  }

  const FAILURES = [
    ['a throw', '() => { throw new TypeError("no") }', /^TypeError: no$/, false],
    ['a plain error', '() => { throw new Error("no") }', /^no$/, false],
    ['a rejection', 'async () => { await null; throw new RangeError("no") }', /^RangeError: no$/, false],
    ['a thrown text', '() => { throw "no" }', /^no$/, false],
    ['a thrown object', 'async () => { throw { code: 7 } }', /^\{ code: 7 \} was thrown$/, false],
    ['a thrown nothing', '() => { throw undefined }', /^undefined was thrown$/, false],
    ['an error without a message', '() => { throw new EvalError() }', /^EvalError$/, false],
    ['what cannot be shown', '() => { throw { get [Symbol.toStringTag]() { throw 1 }, [Symbol.for("nodejs.util.inspect.custom")]() { throw 1 } } }', /thrown/, false],
    ['no result', '() => {}', /^TypeError: the function returned undefined$/, false],
    ['a function', '() => () => 1', /^TypeError: the function returned a function$/, false],
    ['a BigInt', '() => ({ pass: true, outcome: { counts: [1n] } })', /^TypeError: .*: result\.outcome\.counts\[0\] is a BigInt$/, false],
    ['a cycle', '() => { const a = { b: {} }; a.b.c = a; return a }', /^TypeError: .*: result\.b\.c refers to what contains it$/, false],
    ['a result beyond all bounds', '() => "x".repeat(70_000_000)', /^RangeError: the function returned 70000002 characters/, false],
    ['process.exit', '() => process.exit(3)', /^process\.exit\(3\) was called$/, false],
    ['an imported exit', '() => exit()', IS_NODE ? /^process\.exit\(\) was called$/ : /was called/, false],
    ['a missing file', '() => readFileSync("missing.txt")', /ENOENT/, true],
    ['a missing module', '() => import("./missing.mjs")', /missing/, true],
    ['a lost connection', '() => { throw Object.assign(new Error("lost"), { code: "ECONNRESET" }) }', /^lost$/, true],
    ['its cause', '() => { throw new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }) }', /^TypeError: fetch failed$/, true],
    ['a busy server', '() => { throw Object.assign(new Error("busy"), { status: 529 }) }', /^busy$/, true],
    ['a refused request', '() => { throw Object.assign(new Error("bad"), { status: 400 }) }', /^bad$/, false],
    ['a wrong argument', '() => readFileSync({})', /./, false],
  ]

  for (const [name, body, message, transient] of FAILURES) {
    test(`errors: ${name}`, async (t) => {
      if (name === 'an imported exit' && !IS_NODE) return t.skip('the import is bound before')
      const source = `import { readFileSync } from 'node:fs'\nimport { exit } from 'node:process'\nlet asked = 0\nconst faulty = ${body}\nexport const grade = () => (asked++ ? 'alive' : faulty())`
      const { replies } = await answers({ 'grader.mjs': source }, 'grader.mjs', [{}, {}])
      assert.match(replies[0].error.message, message)
      assert.equal(replies[0].error.transient, transient, replies[0].error.details)
      assert.equal(replies[1].result, 'alive')
    })
  }

  const HELPER = "interface A {\n  b: 1 }\nenum Kind { A,\n  B }\nexport const fail = (x: unknown) => {\n  if (x as A) throw new Error(String(Kind.B), { cause: new TypeError('deep') })\n}"
  const CALLER = "import { fail } from './deep.ts'\ntype A = {\n  b: string\n}\nexport const grade = (a: A) => {\n  fail(a)\n}"
  const COMMON_HELPER = HELPER.replace('export const', 'const') + '\nexport = { fail }'
  const COMMON_CALLER = "import deep = require('./deep')\ntype A = {\n  b: string\n}\nconst grade = (a: A) => {\n  deep.fail(a)\n}\nexport = { grade }"
  const FRAMES = [
    ['grader.ts', CALLER, 'deep.ts', HELPER],
    ['a grader%20#1.ts', CALLER, 'deep.ts', HELPER],
    ['grader.cts', COMMON_CALLER, 'deep.cts', COMMON_HELPER],
  ]

  for (const [file, caller, other, helper] of FRAMES) {
    test(`details are the frames of the user, in lines of the file: ${file}`, async (t) => {
      if (!IS_NODE && file !== 'grader.ts') return t.skip('only node needs help')
      const { replies } = await answers({ [file]: caller, [other]: helper }, file, [{}])
      const { details } = replies[0].error
      const lines = details.split('\n').map((line) => line.trim().replace(/:\d+\)$/, ')').replace('at Object.', 'at '))
      assert.deepEqual(lines.slice(0, 4), ['1', `at fail (${other}:6)`, `at grade (${file}:6)`, 'caused by: TypeError: deep'])
      assert.doesNotMatch(details, /worker\.mjs|node:|native/)
    })
  }

  test('long details and messages are cut', async () => {
    const source = 'export const grade = () => { throw new Error("x".repeat(100_000)) }'
    const { replies } = await answers({ 'grader.mjs': source }, 'grader.mjs', [{}])
    assert.ok(replies[0].error.message.length <= 2_000)
    assert.ok(replies[0].error.details.length <= 4_000)
  })

  const COMPARISONS = [
    ['grade before all others', 'export const compare = () => 1\nexport default () => 2\nexport const grade = () => 3', 3],
    ['then the default', 'export const compare = () => 1\nexport default () => 2', 2],
    ['then compare', 'export const grade = 5\nexport const compare = ({ id }) => id', 'x'],
  ]

  for (const [name, source, expected] of COMPARISONS) {
    test(`of a module that compares is called: ${name}`, async () => {
      const { replies } = await answers({ 'grader.mjs': source }, 'grader.mjs', [{ id: 'x' }], { role: 'compare' })
      assert.deepEqual(replies[0].result, expected)
    })
  }

  test('a module that compares by none of the names is told so', async () => {
    const { unloadable } = await answers({ 'grader.mjs': 'export const rank = () => 1' }, 'grader.mjs', [], { role: 'compare' })
    assert.equal(unloadable.message, "Comparison grader must export 'grade', 'compare', or 'default' function")
    assert.equal(unloadable.details, 'it exports `rank`')
  })

  const UNLOADABLE = [
    ['nothing exported', 'grader.mjs', 'const grade = 1', /^Grader module must export a 'grade' function$/, /^it exports nothing$/],
    ['another name', 'grader.ts', 'export const score = () => 1\nexport default () => 1', /must export a 'grade' function/, /^it exports `default`, `score`$/],
    ['a default export with the name', 'grader.mjs', 'export default { grade: () => 1 }', /must export/, /^it exports `default`$/],
    ['no function', 'grader.mjs', 'export const grade = 1', /must export/, /^it exports `grade`$/],
    ['CommonJS without it', 'grader.cjs', 'exports.score = () => 1', /must export/, /`score`/],
    ['a syntax error', 'grader.ts', 'const a = 1\nconst b: = 2', /grader\.ts:2:/, /grader\.ts:2:/],
    ['a syntax error in JavaScript', 'grader.mjs', 'const a = 1\n\nconst b = = 2', /SyntaxError|Unexpected|Expression/i, IS_NODE ? /grader\.mjs:3:/ : /./],
    ['a throw while loading', 'grader.mjs', '\nthrow new Error("at once")', /^at once$/, /grader\.mjs:2:/],
    ['a missing module', 'grader.mjs', 'import "./missing.mjs"\nexport const grade = () => 1', /missing/, /./],
    ['process.exit while loading', 'grader.mjs', 'process.exit(0)', /^process\.exit\(0\) was called$/, /grader\.mjs:1:/],
  ]

  for (const [name, file, source, message, details] of UNLOADABLE) {
    test(`unloadable: ${name}`, async () => {
      const worker = new Worker(workspace({ [file]: source }), file)
      const [{ unloadable }, ended] = await worker.received(2)
      assert.match(unloadable.message, message)
      assert.match(unloadable.details, details)
      assert.deepEqual(ended, { ended: 0 })
      await worker.end()
    })
  }

  const HELPERS = [
    ['modules', { 'grader.mjs': 'import "./lib/b.mjs"; import "./a.mjs"; export const grade = () => 1', 'a.mjs': 'import "./lib/b.mjs"', 'lib/b.mjs': '' }, ['a.mjs', 'lib/b.mjs']],
    ['TypeScript without extensions', { 'grader.ts': 'import { a } from "./a"\nimport { b } from "./lib"\nexport const grade = () => a + b', 'a.ts': 'export const a: number = 1', 'lib/index.ts': 'export const b: number = 1' }, ['a.ts', 'lib/index.ts']],
    ['TypeScript by its compiled name', { 'grader.ts': 'import { a } from "./a.js"\nimport { b } from "./b.mjs"\nexport const grade = () => a + b', 'a.ts': 'export const a: number = 1', 'b.mts': 'export const b: number = 1' }, ['a.ts', 'b.mts']],
    ['CommonJS', { 'grader.cjs': 'const { a } = require("./a"); exports.grade = () => a', 'a.js': 'exports.a = require("./b.json")', 'b.json': '1' }, ['a.js', 'b.json']],
    ['CommonJS in TypeScript', { 'grader.cts': 'import a = require("./a")\nconst grade = (x: unknown): number => a.a\nexport = { grade }', 'a.cts': 'exports.a = 1 as number' }, ['a.cts']],
    ['types only', { 'grader.ts': 'import type { A } from "nowhere"\nimport { B } from "nowhere-either"\nexport const grade = (x: A & B) => 1' }, []],
    ['packages', { 'grader.mjs': 'import { a } from "pack"; export const grade = () => a', 'node_modules/pack/package.json': '{"type":"module","exports":"./a.js"}', 'node_modules/pack/a.js': 'export const a = 1' }, []],
  ]

  for (const [name, files, expected] of HELPERS) {
    test(`helpers: ${name}`, async (t) => {
      if (IS_DENO && name.startsWith('CommonJS')) return t.skip('deno reads them otherwise')
      const folder = workspace(files)
      const worker = new Worker(folder, Object.keys(files)[0])
      const [first] = await worker.received(1)
      assert.deepEqual(first.loaded?.files, expected.map((file) => join(folder, file)), JSON.stringify(first))
      worker.send({ id: 0, input: {} })
      const [, reply] = await worker.received(2)
      assert.equal(typeof reply.result, 'number')
      await worker.end()
    })
  }

  test('helpers that are loaded later are told later', async () => {
    const files = { 'grader.mjs': 'export const grade = async ({ input }) => (await import(input)).a', 'a.mjs': 'import "./b.mjs"; export const a = 1', 'b.mjs': '' }
    const folder = workspace(files)
    const worker = new Worker(folder, 'grader.mjs')
    await worker.received(1)
    worker.send({ id: 0, input: { input: './a.mjs' } })
    await worker.received(2)
    worker.send({ id: 1, input: { input: './a.mjs' } })
    const [loaded, ...replies] = await worker.received(3)
    assert.deepEqual(loaded.loaded.files, [])
    assert.deepEqual(replies, [{ id: 0, result: 1, files: ['a.mjs', 'b.mjs'].map((file) => join(folder, file)) }, { id: 1, result: 1 }])
    await worker.end()
  })

  test('helpers are told before any answer that may rest on them', async () => {
    const files = { 'grader.cjs': 'exports.grade = ({ input }) => (input ? require(input).a : 0)', 'a.cjs': 'exports.a = 1' }
    const folder = workspace(files)
    const worker = new Worker(folder, 'grader.cjs')
    await worker.received(1)
    worker.send({ id: 0, input: { input: './a.cjs' } }, { id: 1, input: { input: './a.cjs' } }, { id: 2, input: {} })
    const [, ...replies] = await worker.received(4)
    const told = { id: 0, result: 1, files: [join(folder, 'a.cjs')] }
    assert.deepEqual(replies, [told, { id: 1, result: 1 }, { id: 2, result: 0 }])
    await worker.end()
  })

  test('what says how modules are loaded is told, and what is looked for in vain', async () => {
    const missing = (names) => (IS_NODE ? names : names.filter((name) => name.endsWith('package.json')))
    for (const [files, loaded, missed] of [
      [{ 'sub/grader.mjs': 'export const grade = () => 1' }, [], ['package.json', 'sub/package.json']],
      [{ 'sub/grader.mjs': 'export const grade = () => 1', 'package.json': '{}' }, ['package.json'], ['sub/package.json']],
      [
        { 'package.json': '{"type":"module","imports":{"#h":"./h.js"}}', 'h.js': 'export const S = 1', 'sub/grader.js': 'import { S } from "#h"\nexport const grade = () => S' },
        ['h.js', 'package.json'],
        ['sub/package.json'],
      ],
      [
        { 'package.json': '{}', 'sub/grader.mjs': 'try { await import("./rules.mjs") } catch {}\nexport const grade = () => 1' },
        ['package.json'],
        ['sub/package.json', ...['', '.cjs', '.cts', '.js', '.json', '.mjs', '.mts', '.ts'].map((end) => `sub/rules.mjs${end}`), ...['.cjs', '.cts', '.js', '.json', '.mjs', '.mts', '.ts'].map((end) => `sub/rules.mjs/index${end}`), 'sub/rules.mts'],
      ],
      [
        { 'package.json': '{}', 'grader.cjs': 'const { S } = require("./data")\nexports.grade = () => S', 'data.json': '{"S":1}' },
        ['data.json', 'package.json'],
        ['data', 'data.js'],
      ],
      [
        { 'package.json': '{}', 'grader.mjs': 'try { await import("rules") } catch {}\nexport const grade = () => 1' },
        ['package.json'],
        ['node_modules'],
      ],
    ]) {
      const folder = workspace(files)
      const worker = new Worker(folder, Object.keys(files).find((name) => name.includes('grader')))
      const [told] = await worker.received(1)
      assert.deepEqual(told.loaded.files, loaded.map((name) => join(folder, name)))
      assert.deepEqual(told.loaded.missed, missing(missed).sort().map((name) => join(folder, name)))
      await worker.end()
    }
  })

  test('what is read and executed is told once, but not what was written', async () => {
    const source = `import fs, { readFileSync } from 'node:fs'
      import { readFile } from 'node:fs/promises'
      import { spawnSync } from 'node:child_process'
      export const grade = async ({ input }) => {
        process.chdir(new URL('.', import.meta.url).pathname)
        if (input === 'sync') readFileSync(new URL('./a.txt', import.meta.url))
        if (input === 'promise') await readFile('b.txt')
        if (input === 'open') fs.closeSync(fs.openSync('c.txt'))
        if (input === 'run') spawnSync('sh', ['h.sh'])
        if (input === 'own') { fs.writeFileSync('d.txt', 'd'); readFileSync('d.txt') }
        if (input === 'none') try { readFileSync('e.txt') } catch {}
        return 1
      }`
    const folder = workspace({ 'grader.mjs': source, 'a.txt': '', 'b.txt': '', 'c.txt': '', 'h.sh': '' })
    const worker = new Worker(folder, 'grader.mjs')
    await worker.received(1)
    const all = [['sync', 'a.txt'], ['sync'], ['promise', 'b.txt'], ['open', 'c.txt'], ['run', 'h.sh'], ['own'], ['none']]
    for (const [id, [input, ...reads]] of all.entries()) {
      worker.send({ id, input: { input } })
      const reply = (await worker.received(id + 2)).at(-1)
      assert.deepEqual(reply.reads ?? [], reads.map((name) => join(folder, name)), input)
    }
    await worker.end()
  })

  test('a workspace behind a link is named as it was', async () => {
    const folder = workspace({ 'real/grader.mjs': 'import "./a.mjs"; export const grade = () => 1', 'real/a.mjs': '' })
    symlinkSync(join(folder, 'real'), join(folder, 'link'))
    const worker = new Worker(join(folder, 'link'), 'grader.mjs')
    const [{ loaded }] = await worker.received(1)
    assert.deepEqual(loaded.files, [join(folder, 'link/a.mjs')])
    await worker.end()
  })

  test('a JavaScript file with imports needs no package', async () => {
    const { replies } = await answers({ 'grader.js': 'import { join } from "node:path"\nexport const grade = () => join("a", "b")' }, 'grader.js', [{}])
    assert.equal(replies[0].result, 'a/b')
  })

  test('requests overlap where the function is asynchronous', async () => {
    const source = `let release\nconst all = new Promise((done) => (release = done))\nlet asked = 0
      export const grade = async ({ input }) => { if (++asked === 3) release(); await all; return input }`
    const { replies, loaded } = await answers({ 'grader.mjs': source }, 'grader.mjs', [{ input: 'a' }, { input: 'b' }, { input: 'c' }])
    assert.equal(loaded.overlaps, true)
    assert.deepEqual(replies.map(({ result }) => result), ['a', 'b', 'c'])
  })

  test('requests keep their order where it is not', async () => {
    const inputs = Array.from({ length: 2_000 }, (_, at) => ({ input: String(at) }))
    const { replies, order, loaded } = await answers({ 'grader.mjs': 'export function grade({ input }) { return Number(input) }' }, 'grader.mjs', inputs)
    assert.equal(loaded.overlaps, false)
    assert.deepEqual(order, inputs.map((_, at) => at))
    assert.ok(replies.every(({ id, result }) => id === result))
  })

  test('a long message comes through', async () => {
    const output = 'é'.repeat(3_000_000)
    const { replies } = await answers({ 'grader.mjs': 'export const grade = ({ output }) => output' }, 'grader.mjs', [{ output }])
    assert.equal(replies[0].result, output)
  })

  test('what is thrown where nobody listens belongs to the only request', async () => {
    const source = 'export const grade = ({ input }) => input === "late" ? new Promise(() => setTimeout(() => { throw new Error("late") }, 1)) : 1'
    const worker = new Worker(workspace({ 'grader.mjs': source }), 'grader.mjs')
    await worker.received(1)
    worker.send({ id: 0, input: { input: 'late' } })
    const [, { error }] = await worker.received(2)
    assert.equal(error.message, 'late')
    worker.send({ id: 1, input: {} })
    assert.deepEqual((await worker.received(3))[2], { id: 1, result: 1 })
    await worker.end()
    assert.match(worker.said, /uncaught: late/)
  })

  test('what is thrown with several requests under way ends the worker, their finished replies sent', async () => {
    const source = 'export const grade = async ({ input }) => { if (input === "late") setTimeout(() => { throw new Error("late") }, 20); return input === "quick" ? 1 : new Promise(() => {}) }'
    const worker = new Worker(workspace({ 'grader.mjs': source }), 'grader.mjs')
    await worker.received(1)
    for (const [id, input] of ['wait', 'late', 'quick'].entries()) worker.send({ id, input: { input } })
    const [, reply, ended] = await worker.received(3)
    assert.deepEqual([reply, ended], [{ id: 2, result: 1 }, { ended: 1 }])
    await worker.end()
  })

  test('a rejection nobody handles is told and harms nobody', async () => {
    const source = 'export const grade = async () => { Promise.reject(new Error("forgotten")); await new Promise((done) => setTimeout(done, 5)); return 1 }'
    const { replies, said } = await answers({ 'grader.mjs': source }, 'grader.mjs', [{}, {}])
    assert.deepEqual(replies.map(({ result }) => result), [1, 1])
    assert.match(said, /unhandled rejection: forgotten/)
  })

  test('the worker ends when requests end, even with work under way or while it loads', async () => {
    const hanging = 'setInterval(() => {}, 1000)\nexport const grade = () => new Promise(() => {})'
    const worker = new Worker(workspace({ 'grader.mjs': hanging }), 'grader.mjs')
    await worker.received(1)
    worker.send({ id: 0, input: {} })
    assert.deepEqual((await worker.end()).at(-1), { ended: 0 })
    const loading = new Worker(workspace({ 'grader.mjs': 'await new Promise(() => setInterval(() => {}, 1000))' }), 'grader.mjs')
    assert.deepEqual(await loading.end(), [{ ended: 0 }])
  })

  test('children inherit neither requests nor replies', async () => {
    const source = `import { spawnSync } from 'node:child_process'
      export const grade = () => spawnSync('/bin/sh', ['-c', '(echo stray >&3) 2>/dev/null && echo open; (read x <&4) 2>/dev/null && echo read'], { encoding: 'utf8' }).stdout`
    const { replies } = await answers({ 'grader.mjs': source }, 'grader.mjs', [{}])
    assert.equal(replies[0].result, '')
  })
})
