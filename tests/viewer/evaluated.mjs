// The viewer's own functions, taken out of the bundle as a browser would run it, without a page.

import { runInNewContext } from 'node:vm'
import { bundle } from './bundle.mjs'

/** These functions and classes of the viewer. */
export function fromBundle(...names) {
  return fromPage({}, ...names)
}

/** The same, where the page has these globals. */
export function fromPage(globals, ...names) {
  return runInNewContext(`'use strict';${bundle().replace(/^if \(typeof document .*$/m, '')}\n;({ ${names.join(', ')} })`, { URLSearchParams, ...globals })
}
