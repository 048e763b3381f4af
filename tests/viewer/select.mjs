// The selection of rows as the viewer itself does it in a file: the server that is made up does the same.

import { fromBundle } from './evaluated.mjs'

export const { selectRows } = fromBundle('selectRows')
