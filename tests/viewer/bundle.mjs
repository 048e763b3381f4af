// Makes of the viewer's modules what evalrs serves: one script, and a report in one file.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the viewer stands. */
export const VIEWER = fileURLToPath(new URL('../../crates/evalrs-serve/src/viewer/', import.meta.url))

/** A file of the viewer. */
export function file(name) {
  return readFileSync(join(VIEWER, name), 'utf8')
}

/** The modules, in their order. */
export function modules() {
  return file('modules.txt').split('\n').filter((name) => name !== '')
}

/** A module without its imports and exports. */
export function stripped(text) {
  return text.split('\n').filter((line) => !line.startsWith('import ')).map((line) => line.replace(/^export /, '')).join('\n')
}

/** All modules as one script. */
export function bundle() {
  return modules().map((name) => stripped(file(name))).join('\n')
}

/** The page with everything in it. `data` is what `evalrs-data` holds. */
export function report(data) {
  const style = file('viewer.css')
  const script = bundle()
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = `default-src 'none'; img-src data:; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`
  return file('index.html')
    .replace('<meta charset="utf-8">', () => `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace('<link rel="stylesheet" href="/viewer.css">', () => `<style>${style}</style>`)
    .replace('<script type="module" src="/viewer.js"></script>', () => `<script type="application/json" id="evalrs-data">${json}</script>\n<script type="module">${script}</script>`)
}
