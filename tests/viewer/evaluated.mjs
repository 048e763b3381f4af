// The viewer's own functions, taken out of the bundle as a browser would run it, without a page.

import { runInNewContext } from 'node:vm'
import { bundle } from './bundle.mjs'

/** These functions and classes of the viewer. */
export function fromBundle(...names) {
  return runInNewContext(`'use strict';${bundle()}\n;({ ${names.join(', ')} })`, { URLSearchParams })
}
