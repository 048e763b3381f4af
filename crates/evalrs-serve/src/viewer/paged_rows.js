// The rows of a long list as far as they were fetched. Pages come when they are seen; answers to an earlier question are dropped.

const PAGE = 200
/** The most pages that are kept; those that were not seen for longest go first. */
const MAX_PAGES = 60
/** The most requests at a time. */
const MAX_REQUESTS = 2

/** `fetchPage(skip, limit)` answers `{rows, total}`; `changed(rows)` is called when there is something new to show. */
export class PagedRows {
  constructor(fetchPage, changed, nameOf = () => null) {
    Object.assign(this, { fetchPage, changed, nameOf, total: null, version: 0, failure: null, isBusy: false })
    this.pages = new Map()
    this.named = new Map()
    this.requests = new Set()
    this.sequence = 0
    this.wanted = [0, 0]
  }

  /** The row at this place; undefined until it is here. */
  at(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE]
  }

  /** Asks anew, as after another filter. What is shown stays until the first page is here. */
  async reload() {
    const sequence = this.begin()
    this.isBusy = true
    this.changed(this)
    try {
      const { rows, total } = await this.fetchPage(0, PAGE)
      if (sequence !== this.sequence) return
      this.pages.clear()
      this.named.clear()
      this.keep(0, rows)
      this.total = total
      this.failure = null
    } catch (failure) {
      if (sequence !== this.sequence) return
      this.failure = failure
    }
    this.isBusy = false
    this.changed(this)
  }

  /** Asks again for what is seen, as after a verdict came in. */
  refresh() {
    if (this.isBusy) return
    this.begin()
    for (const page of this.pages.keys()) if (!this.isWanted(page)) this.pages.delete(page)
    for (const page of this.pages.keys()) this.fetch(page)
  }

  begin() {
    this.requests.clear()
    this.sequence += 1
    return this.sequence
  }

  /** Says which rows are seen: those that are missing are fetched. */
  want(first, last) {
    this.wanted = [Math.floor(first / PAGE), Math.floor(Math.max(first, last - 1) / PAGE)]
    this.fetchMissing()
  }

  isWanted(page) {
    return page >= this.wanted[0] && page <= this.wanted[1]
  }

  fetchMissing() {
    if (this.isBusy || this.failure || !this.total) return
    for (let page = this.wanted[0]; page <= this.wanted[1]; page += 1) {
      const isThere = this.pages.has(page) || this.requests.has(page) || page * PAGE >= this.total
      if (!isThere && this.requests.size < MAX_REQUESTS) this.fetch(page)
    }
  }

  async fetch(page) {
    const sequence = this.sequence
    this.requests.add(page)
    try {
      const { rows, total } = await this.fetchPage(page * PAGE, PAGE)
      if (sequence !== this.sequence) return
      this.keep(page, rows)
      this.total = total
    } catch (failure) {
      if (sequence !== this.sequence) return
      this.failure = failure
    }
    this.requests.delete(page)
    this.changed(this)
    this.fetchMissing()
  }

  keep(page, rows) {
    this.pages.delete(page)
    this.pages.set(page, rows)
    for (const row of rows) this.named.set(this.nameOf(row), row)
    for (const old of this.pages.keys()) {
      if (this.pages.size <= MAX_PAGES) break
      if (!this.isWanted(old)) this.pages.delete(old)
    }
    this.version += 1
  }

  /** Changes a row in place, if it is here. */
  patch(name, change) {
    const row = this.named.get(name)
    if (!row) return
    change(row)
    this.version += 1
    this.changed(this)
  }

  retry() {
    this.failure = null
    if (this.total === null) this.reload()
    else this.fetchMissing()
    this.changed(this)
  }
}
