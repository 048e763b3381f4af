// Ends the worker when evalrs is gone although its only thread never comes back from the module. Knows nothing of what
// the worker does.

import { spawn } from 'node:child_process'
import process from 'node:process'

// A thread that looks after this one would cost a third of a runtime's start; a shell costs next to nothing. It holds
// none of the worker's descriptors, and is one of its process group, with which it ends. A parent may be gone that nobody
// waited for, and that can still be sent signals: Linux tells that its children have another one.
const WATCH = `exec 3>&- 4<&-
is_child() {
  kill -0 "$1" && kill -0 "$PPID" || return
  read -r stat <"/proc/$PPID/stat" || return 0
  set -- "$1" \${stat##*) }
  [ "$3" = "$1" ]
}
while is_child "$1"; do sleep 1 || exit; done
kill -s KILL -- "-$PPID"`

/** Has the process and all of its group killed within about a second from when its parent, which is evalrs, is gone. */
export function endWithParent() {
  // A sandbox has processes of its own, the first of which is our parent, and ends as a whole.
  if (process.ppid <= 1) return
  try {
    const watch = spawn('/bin/sh', ['-c', WATCH, 'sh', String(process.ppid)], { stdio: 'ignore' })
    // Without it the worker ends as well, unless it computes for ever.
    watch.on('error', () => {})
    watch.unref()
  } catch {
    // The same.
  }
}
