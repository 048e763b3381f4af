// The cases of a run in groups: how many, what each grader says of them, and how far people agree. A group leads to its cases.

import { choice, element, foreign, refill, table } from './dom.js'
import { columnTitle, conditionOf } from './case_columns.js'
import { counted, decimal } from './text.js'
import { failureBox } from './notices.js'
import { listQuery } from './case_filters.js'
import { reference } from './address.js'

/** What stands above groups of a kind. */
function groupTitle(by) {
  return by === 'model' ? 'Model' : by === 'tags' ? 'Tag' : columnTitle(by)
}

/** The part of a query that lists a group alone. */
function groupFilter(by, name) {
  if (name === null) return null
  return by === 'model' ? { model: name } : by === 'tags' ? { tag: name } : { where: conditionOf(by, name) }
}

/** A part of the page that opens: what it shows stands in the address. */
export class CaseGroups {
  constructor(run, change, source) {
    Object.assign(this, { run, change, source, query: {}, sequence: 0 })
    this.body = element('div')
    this.node = element('details', { ontoggle: () => this.toggled() }, element('summary', null, 'Groups'), this.body)
  }

  toggled() {
    if (!this.node.open && this.query.groups) this.change({ groups: '' })
    if (this.node.open && !this.query.groups) this.begin()
  }

  /** What groups can be made by, with the first of them at once. */
  async begin() {
    try {
      const [first] = await this.keys()
      if (first) this.change({ groups: first })
      else refill(this.body, element('p', { class: 'muted' }, 'There are no models, tags or metadata to group by.'))
    } catch (failure) {
      refill(this.body, failureBox('Groups could not be fetched', failure, () => this.begin()))
    }
  }

  async keys() {
    const { columns } = await this.source.columns(this.run.id)
    const names = columns.map((one) => one.name).filter((name) => name === 'tags' || name.startsWith('metadata.'))
    return [...this.run.models?.length > 1 ? ['model'] : [], ...names]
  }

  /** Shows what an address says. */
  show(query) {
    const { groups, ...others } = this.query
    this.query = listQuery(query)
    this.node.open = Boolean(query.groups)
    if (!query.groups || (groups === query.groups && JSON.stringify(others) === JSON.stringify({ ...this.query, groups: undefined }))) return
    this.fetch(groups !== query.groups)
  }

  /** The same again, as after labels. */
  async fetch(isOther = true) {
    const by = this.query.groups
    if (!by) return
    this.sequence += 1
    const { sequence } = this
    try {
      if (isOther || !this.found) {
        const [keys, found] = await Promise.all([this.keys(), this.source.groups(this.run.id, by)])
        if (sequence !== this.sequence) return
        Object.assign(this, { found, names: keys })
      }
      this.build(by)
    } catch (failure) {
      if (sequence === this.sequence) refill(this.body, failureBox('Groups could not be fetched', failure, () => this.fetch()))
    }
  }

  build(by) {
    const { groups, total } = this.found
    const graders = this.run.graders.filter(({ name }) => groups.some((group) => group.graders[name]))
    const link = (text, filter) => element('a', { href: reference(['runs', this.run.id], { ...this.query, ...filter }) }, text)
    const rows = groups.map((group) => {
      const filter = groupFilter(by, group.name)
      return [filter ? link(foreign(group.name || '⟨empty⟩'), filter) : element('span', { class: 'muted' }, 'none'), element('span', { class: 'figures' }, counted(group.cases)),
        ...graders.map(({ name }) => this.cell(group.graders[name], filter && ((state) => link(state.text, { ...filter, grader: name, state: state.name }))))]
    })
    const { node, control } = choice('Groups by', this.names.map((name) => [name, groupTitle(name)]), by, (groupsBy) => this.change({ groups: groupsBy }))
    const hadFocus = this.body.contains(document.activeElement)
    refill(this.body, node, table(`Groups by ${groupTitle(by)}`, [groupTitle(by), '#Cases', ...graders.map(({ name, label }) => `#${label ?? name}`)], rows, { class: 'wide groups' }),
      total > groups.length && element('p', { class: 'muted small' }, `The largest ${counted(groups.length)} of ${counted(total, 'group')}.`))
    if (hadFocus) control.focus()
  }

  /** What a grader says of a group. */
  cell(one, link) {
    const part = (text, name) => (link ? link({ text, name }) : text)
    const failed = one.failed > 0 && part(`${counted(one.failed)} failed`, 'failed')
    const errored = one.errored > 0 && part(counted(one.errored, 'error'), 'errored')
    const agrees = one.labels > 0 && [part(`${(one.agreed / one.labels * 100).toFixed(0)}%`, one.agreed < one.labels ? 'disagrees' : 'labelled'), ` of ${counted(one.labels, 'label')}`]
    const told = [failed, errored, agrees && ['agrees ', agrees]].filter(Boolean)
    return element('div', { class: 'figures' }, decimal(one.mean), told.map((text) => element('div', { class: 'muted small' }, text)))
  }
}
