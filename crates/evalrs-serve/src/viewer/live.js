// A run in progress: its events, as they come, until it ends. The browser resumes the stream by itself.

import { counted } from './text.js'

/** At most one refresh in this many milliseconds. */
const REFRESH = 2000

/** Follows a run. `on` has functions by the name of the event, and `refresh`, which is called once in a while. Answers what ends it. */
export function follow(source, run, on) {
  const stream = source.events(run)
  let timer = null
  const refreshSoon = () => {
    timer ??= setTimeout(() => {
      timer = null
      on.refresh()
    }, REFRESH)
  }
  const end = () => {
    clearTimeout(timer)
    stream.close()
  }
  const listen = (name, act) => stream.addEventListener(name, (event) => {
    let data = null
    try {
      data = JSON.parse(event.data)
    } catch {
      return
    }
    act(data)
  })
  listen('progress', (data) => on.progress(data))
  listen('planned', refreshSoon)
  listen('verdict', on.verdict)
  // The record has what was told until then.
  listen('recorded', refreshSoon)
  listen('evaluated', refreshSoon)
  listen('waiting', (data) => on.note(data.text))
  listen('note', (data) => on.note(data.text))
  listen('ended', (data) => {
    end()
    on.ended(data)
  })
  stream.onopen = () => on.connection(true)
  stream.onerror = () => on.connection(false, stream.readyState === EventSource.CLOSED)
  return end
}

/** Waits for the end of a run. `told(words)` says how far it is. */
export function ended(source, id, told) {
  return new Promise((done) => {
    follow(source, id, {
      progress: (data) => told(`${counted(data.done)} of ${counted(data.total)} judgments, ${counted(data.asked)} made${data.failed ? `, ${counted(data.failed)} failed` : ''}`),
      verdict: () => {}, refresh: () => {}, note: told, ended: (data) => done(data ?? {}),
      connection: (isOpen, isOver) => isOver && done({ error: 'the server does not answer any more' }),
    })
  })
}
