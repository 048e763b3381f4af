// Addresses of pages: real paths where there is a server, behind the `#` in a report that is a file.

let isFile = false

/** From now on addresses stand behind the `#`. */
export function useHash() {
  isFile = true
}

/** The address that the browser shows: the parts of its path and its query. */
export function here() {
  const text = isFile ? (location.hash.startsWith('#/') ? location.hash.slice(1) : '/') : location.pathname + location.search
  const [path, query = ''] = splitOnce(text, '?')
  return { path: path.split('/').filter((part) => part !== '').map(decoded), query: Object.fromEntries(new URLSearchParams(query)) }
}

function splitOnce(text, by) {
  const at = text.indexOf(by)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The reference to a page; members of the query that are empty are left out. */
export function reference(path, query = {}) {
  return (isFile ? '#' : '') + requestPath(path, query)
}

/** The path and query of a request or a page. */
export function requestPath(path, query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const search = new URLSearchParams(set).toString()
  return `/${path.map((part) => encodeURIComponent(part)).join('/')}${search ? `?${search}` : ''}`
}

/** The reference to a case, with the query of the list that it was opened from: the model that the list is of is `among` there. */
export function caseReference(run, place, list = {}) {
  return reference(['runs', run, 'samples', place.sample_id], { ...list, among: list.model, model: undefined, ...placeQuery(place) })
}

/** The reference to the editor of a rubric, with the cases that it was opened for. */
export function rubricReference(suite, grader, query = {}) {
  return reference(['suites', suite, 'graders', grader], query)
}

/** The part of a query that says which case of a sample is meant. */
export function placeQuery(place) {
  return { model: place.model ?? undefined, trial: place.trial ? String(place.trial) : undefined }
}

/** The reference to answers of a sample beside one another. `picks` are results `{run, model, trial}`. */
export function answersReference(run, place, picks, list = {}) {
  const of = picks?.map((pick) => [pick.run, pick.trial ?? 0, ...(pick.model ? [pick.model] : [])].map(encodeURIComponent).join(',')).join(';')
  return reference(['runs', run, 'samples', place.sample_id, 'answers'], { ...list, among: list.model, model: undefined, ...placeQuery(place), of })
}

/** The results that an address names; null where it names none. */
export function picksOf({ of }) {
  if (!of) return null
  return of.split(';').map((text) => {
    const [run, trial, model] = text.split(',').map(decoded)
    return { run, trial: Number(trial) || 0, model: model ?? null }
  })
}
