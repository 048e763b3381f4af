// Runs that never were: many, long, hostile, and always the same.

const WORDS = 'refund parcel late voucher address return order payment receipt warranty delivery colour size store account card exchange support manager invoice'.split(' ')

/** Text that tries to be more than text. */
export const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe\u202c \u001b[31mred\u001b[0m \0nul "quotes" \'single\' &amp; \u{e0041}'

/** A number from 0 to 1 that depends on its arguments alone. */
export function chance(...seeds) {
  let state = 2166136261
  for (const seed of seeds) {
    for (const character of String(seed)) state = Math.imul(state ^ character.charCodeAt(0), 16777619)
    state = Math.imul(state ^ 0x9e37, 16777619)
  }
  state ^= state >>> 15
  state = Math.imul(state, 0x2c1b3c6d)
  state ^= state >>> 12
  state = Math.imul(state, 0x297a2d39)
  return ((state ^ (state >>> 15)) >>> 0) / 4294967296
}

function sentence(seed, words) {
  const found = Array.from({ length: words }, (_, at) => WORDS[Math.floor(chance(seed, at) * WORDS.length)])
  return `${found.join(' ')}.`.replace(/^./, (first) => first.toUpperCase())
}

const within = (low, high) => ({ low, high, level: 0.95, method: 'student_t' })

/** A metric by subject, and one that cannot be computed. */
const DECLARED = {
  by_subject: { kind: 'macro mean', value: 0.6123, interval: within(0.55, 0.67), n: 120, errors: 2, problem: null },
  kappa: { kind: "Cohen's kappa", value: null, interval: null, n: 0, errors: 0, problem: 'no result has both' },
}

const GROUPS = { email: { value: 0.7, n: 80, interval: within(0.6, 0.8) }, '<b>chat</b>': { value: 0.5, n: 40, interval: null } }

/** The keys of a grader whose scale is 0 to 1. */
export const LABEL_KEYS = [{ key: 'y', value: true, shown: 'Pass' }, { key: 'n', value: false, shown: 'Fail' },
  ...Array.from({ length: 11 }, (_, at) => ({ key: '0123456789!'[at], value: at / 10, shown: String(at / 10) })), { key: 'x', value: null, shown: 'Remove' }]

const GRADERS = [
  { name: 'accuracy', label: null, pass_threshold: 1, model: null, prompt: null },
  { name: 'quality', label: 'Answer quality', pass_threshold: 0.7, model: 'gpt-4.1-mini', prompt: 'Is the answer polite and right?\n\n{submission}' },
  { name: 'policy', label: null, pass_threshold: 1, model: null, prompt: null },
]

function gradeOf(run, row, grader) {
  const skill = { accuracy: 0.82, quality: 0.7, policy: 0.93 }[grader] + run.shift - (row.model === 'small' ? 0.15 : 0)
  const luck = chance(row.sample_id, row.model, row.trial, grader, Math.floor(chance(row.sample_id, grader) * 5) === 0 ? run.id : '')
  if (grader === 'quality' && chance(row.sample_id, 'error') > 0.985) return { score: 0, state: 'errored' }
  const score = grader === 'quality' ? Math.round(Math.max(0, Math.min(1, skill + 0.5 - luck * 0.9)) * 8) / 8 : luck < skill ? 1 : 0
  return { score, state: score >= (grader === 'quality' ? 0.7 : 1) ? 'passed' : 'failed' }
}

/** A run: its rows are made when they are first wanted. */
export class Run {
  constructor(facts) {
    Object.assign(this, { shift: 0, models: [], trials: 1, under_way: false, session: false, narrowed: false, interrupted: false, labels: new Map(), ...facts })
    this.finished = this.under_way ? null : new Date(new Date(this.started).getTime() + 95_000).toISOString()
  }

  get rows() {
    this.made ??= this.makeRows()
    return this.made
  }

  makeRows() {
    const rows = []
    const models = this.models.length ? this.models : [null]
    for (let number = 0; number < this.samples; number += 1) {
      const id = number === 3 && this.suite === 'support' ? HOSTILE : `${WORDS[number % WORDS.length]}-${String(number).padStart(5, '0')}`
      for (const model of models) rows.push(this.row(rows.length, id, model, number))
    }
    return rows
  }

  row(at, sample_id, model, number) {
    const row = { at, sample_id, model, trial: 0, submission: (number === 3 ? HOSTILE : sentence(sample_id, 12 + number % 30)).slice(0, 200), grades: {}, tags: [number % 3 ? 'email' : 'chat'] }
    for (const { name } of GRADERS) row.grades[name] = { ...(this.pending?.(at) ? { score: null, state: 'pending' } : gradeOf(this, row, name)), ...joined(null, []) }
    if (this.suite === 'support' && chance(sample_id, 'label') > 0.75) {
      const { quality } = row.grades
      Object.assign(quality, joined(quality, [personLabel(chance(sample_id, 'agrees') > 0.2 === (quality.state === 'passed'), 'ada')]))
    }
    return row
  }

  find(sample_id, model, trial) {
    return this.rows.find((row) => row.sample_id === sample_id && (!model || row.model === model) && (!trial || row.trial === Number(trial)))
  }

  metrics() {
    if (this.samples > 5000) return Object.fromEntries(GRADERS.map(({ name, label }, at) => [name, { label, mean: 0.91 - at * 0.07, stderr: 0.001, pass_rate: 0.9 - at * 0.06, n: this.samples, errors: at === 1 ? 1512 : 0 }]))
    return Object.fromEntries(GRADERS.map(({ name, label }) => {
      const grades = this.rows.map((row) => row.grades[name]).filter((grade) => grade.state !== 'pending')
      const valid = grades.filter((grade) => grade.state !== 'errored')
      const mean = valid.reduce((sum, grade) => sum + grade.score, 0) / Math.max(1, valid.length)
      const spread = Math.sqrt(valid.reduce((sum, grade) => sum + (grade.score - mean) ** 2, 0)) / Math.max(1, valid.length)
      return [name, { label, mean: valid.length ? mean : null, stderr: valid.length ? spread : null, pass_rate: valid.length ? valid.filter((grade) => grade.state === 'passed').length / valid.length : null, interval: valid.length ? within(mean - 0.03, mean + 0.03) : null, pass_rate_interval: null, not_applicable: 0, n: grades.length, errors: grades.length - valid.length }]
    }))
  }

  brief() {
    this.known ??= this.metrics()
    const metrics = this.under_way ? this.metrics() : this.known
    const value = metrics.quality.mean
    const status = this.under_way ? null : value === null ? 'undecided' : value >= 0.7 ? 'passed' : 'failed'
    const count = this.samples * Math.max(1, this.models.length)
    return { id: this.id, suite: this.suite, started: this.started, finished: this.finished, under_way: this.under_way, interrupted: this.interrupted, session: this.session, narrowed: this.narrowed,
      samples: this.samples, results: count, gate: { status, value, op: 'gte', threshold: 0.7, lowest: value, highest: value, rule: 'quality avg_score >= 0.7' }, metrics, declared: DECLARED,
      actions: { total: count, cached: count - this.asked, asked: this.asked, failed: this.asked > 20 ? 2 : 0, pending: 0 }, cost: this.asked * 0.00041, exit_code: this.under_way ? null : status === 'passed' ? 0 : 1 }
  }

  whole(neighbours) {
    const histograms = Object.fromEntries(GRADERS.map(({ name }) => {
      const counts = Array(11).fill(0)
      for (const row of this.rows) if (typeof row.grades[name].score === 'number' && row.grades[name].state !== 'errored') counts[Math.floor(row.grades[name].score * 10)] += 1
      return [name, counts]
    }))
    return { ...this.brief(), labeller: 'you', header: { format: 1, suite: this.suite, evalrs: '0.1.0', inputs: {}, settings: {} }, summary: this.summary(), warnings: this.suite === 'support' ? ['2 requests were refused for a rate limit and asked again'] : [],
      graders: GRADERS.map((one) => ({ ...one, label_keys: LABEL_KEYS })), models: this.models, trials: this.trials, tags: ['chat', 'email'], histograms, agreement: this.agreement(), ...neighbours }
  }

  summary() {
    const by_tag = {}
    for (const tag of ['chat', 'email']) {
      by_tag[tag] = Object.fromEntries(GRADERS.map(({ name }) => [name, { n: Math.round(this.samples / 2), avg_score_attempted: chance(this.id, tag, name), stderr: 0.02 }]))
    }
    return { format: 1, suite: this.suite, samples: this.samples, results: this.rows.length, by_tag, by_model: null, declared: { by_subject: { ...DECLARED.by_subject, groups: GROUPS } } }
  }

  agreement() {
    return Object.fromEntries(GRADERS.map(({ name }) => {
      const labelled = this.rows.map((row) => row.grades[name]).filter((grade) => grade.label)
      return [name, agreementOf(labelled)]
    }).filter(([, one]) => one))
  }

  /** As it was made: without what was changed since. */
  forget() {
    if (!this.isChanged) return
    this.isChanged = false
    this.made = null
    this.known = null
  }

  label(row, grader, value, who = 'you') {
    this.isChanged = true
    const grade = row.grades[grader]
    const others = grade.people.filter((one) => one.who !== who)
    Object.assign(grade, joined(grade, value === null ? others : [...others, personLabel(value, who)]))
    return { label: grade.label, people: grade.people, disputed: grade.disputed, agreement: this.agreement() }
  }

  whole_case(row, places) {
    const hostile = row.sample_id === HOSTILE
    const text = hostile ? `${HOSTILE}\n`.repeat(9000) : null
    const grades = Object.fromEntries(Object.entries(row.grades).map(([name, grade]) => [name, { ...grade,
      rationale: grade.state === 'errored' ? 'Error during grading: the reply has no score' : grade.state === 'pending' ? null : text ?? rationale(this, row, name, grade), error: grade.state === 'errored' ? { kind: 'invalid_reply', message: 'the reply has no score' } : null,
      key: name === 'accuracy' ? null : '7f'.repeat(32), metadata: name === 'quality' ? { model: 'gpt-4.1-mini', usage: { input: 812, output: 64 } } : {} }]))
    const withoutConversation = row.at % 40 === 7
    return { at: row.at, sample_id: row.sample_id, model: row.model, trial: row.trial, input: hostile ? HOSTILE : sentence(row.sample_id, 14), ground_truth: sentence(row.sample_id, 3), metadata: { order: 7000 + row.at, channel: row.tags[0] }, tags: row.tags,
      conversation: withoutConversation ? null : talk(row, hostile), conversation_note: withoutConversation ? 'The dataset has changed since this run: the conversation is not that of the run.' : null,
      submissions: { accuracy: row.submission, quality: row.submission, policy: `policy reads: ${row.submission}` }, grades, judgments: { quality: [vote(row, 0, hostile), vote(row, 1, hostile), vote(row, 2, hostile)] }, ...places }
  }
}

function personLabel(value, who) {
  return { who, label: value, passes: typeof value === 'number' ? value >= 0.7 : value }
}

/** What people say of a grade: one label where they agree, none of a tie. */
function joined(grade, people) {
  const passing = people.filter((one) => one.passes)
  const disputed = passing.length > 0 && passing.length < people.length
  if (!people.length || passing.length * 2 === people.length) return { label: null, people, disputed }
  const { label, passes } = people.find((one) => one.passes === passing.length * 2 > people.length)
  return { label: { label, passes, agrees: grade.state === 'errored' ? null : passes === (grade.state === 'passed') }, people, disputed }
}

function agreementOf(grades) {
  if (!grades.length) return null
  const count = (state, passes) => grades.filter((grade) => grade.state === state && grade.label.passes === passes).length
  const [both_pass, false_pass, false_fail, both_fail] = [count('passed', true), count('passed', false), count('failed', true), count('failed', false)]
  const n = both_pass + false_pass + false_fail + both_fail
  const accuracy = (both_pass + both_fail) / n
  const expected = ((both_pass + false_pass) * (both_pass + false_fail) + (false_fail + both_fail) * (false_pass + both_fail)) / n ** 2
  const kappa = expected < 1 ? (accuracy - expected) / (1 - expected) : null
  return { n, without_verdict: grades.length - n, both_pass, false_pass, false_fail, both_fail, accuracy, kappa, kappa_interval: kappa === null ? null : [kappa - 0.18, Math.min(1, kappa + 0.18)], mean_distance: 0.14 }
}

function rationale(run, row, name, grade) {
  if (name === 'accuracy') return `Contains ground_truth: ${grade.score === 1 ? 'True' : 'False'}`
  const tone = grade.state === 'passed' ? 'The answer is polite, says what happens next and names the order.' : 'The answer never says where the parcel is, and it promises a refund that the policy does not allow.'
  return `${tone} ${sentence(row.sample_id + run.id, 9)}`
}

function vote(row, number, hostile) {
  const score = row.grades.quality.score
  return { turn: null, vote: number, model: 'gpt-4.1-mini', reversed: false, key: `${number}a`.repeat(32), ingredients: [{ name: 'template', preview: 'Is the answer polite and right?', digest: 'ab'.repeat(32) }, { name: 'model', preview: 'gpt-4.1-mini', digest: null },
    { name: 'submission', preview: hostile ? HOSTILE : row.submission, digest: 'cd'.repeat(32) }, { name: 'temperature', preview: '0.0', digest: null }], system: 'You are a careful judge.', user: `Is the answer polite and right?\n\n${row.submission}`,
  reply: JSON.stringify({ score, rationale: hostile ? HOSTILE : 'polite, and right' }), error: row.grades.quality.state === 'errored' ? 'the reply has no score' : null }
}

function message(role, text, more) {
  return { role, text, subagent: false, name: null, arguments: null, call: null, is_error: false, ...more }
}

function talk(row, hostile) {
  const id = row.sample_id
  return [
    message('system', `You help customers of a shop. ${sentence(id + 's', 70)}`),
    message('user', hostile ? HOSTILE : `${sentence(id, 14)}\n\n[image: image/png]`),
    message('reasoning', `The customer asks about an order. ${sentence(id + 'r', 60)}`),
    message('tool_call', null, { name: 'find_order', arguments: { order: 7000 + row.at, fields: ['status', 'address'], customer: { name: hostile ? HOSTILE : 'Ada' } }, call: 'c1' }),
    message('tool_return', JSON.stringify({ order: 7000 + row.at, status: 'delayed', expected: '2026-11-30' }), { name: 'find_order', call: 'c1' }),
    message('tool_call', null, { name: 'refund', arguments: '{not json', call: 'c2' }),
    message('tool_return', 'refund is not allowed before 2026-11-30', { name: 'refund', call: 'c2', is_error: true }),
    message('assistant', 'Let me ask a colleague.'),
    message('user', 'Write a friendly answer about a delayed order.', { subagent: true }),
    message('tool_call', null, { name: 'style_guide', arguments: { tone: 'friendly' }, call: 'c3', subagent: true }),
    message('tool_return', 'Be short.', { name: 'style_guide', call: 'c3', subagent: true }),
    message('assistant', 'Here is a friendly answer.', { subagent: true }),
    message('assistant', hostile ? HOSTILE : `${row.submission}\n\n${sentence(id + 'a', 40)}`),
  ]
}

/** All runs, newest first. */
export function makeRuns() {
  const day = (number, hour = '06') => new Date(Date.parse(`2026-11-22T${hour}:23:24Z`) - number * 86_400_000).toISOString()
  const runs = [new Run({ id: '20261123T080000-live01', suite: 'live', started: '2026-11-23T08:00:00Z', samples: 120, asked: 40, under_way: true, pending: (at) => at >= 40 })]
  for (let number = 0; number < 14; number += 1) {
    runs.push(new Run({ id: `2026${String(1122 - number)}T062324-aa${String(number).padStart(4, '0')}`, suite: 'support', started: day(number), samples: 240, asked: number % 4 === 0 ? 240 : 12 + number, shift: (number > 8 ? -0.12 : 0) + (chance('shift', number) - 0.5) * 0.1, session: number === 2, narrowed: number === 5, interrupted: number === 6 }))
  }
  runs.push(new Run({ id: '20261121T120000-bulk01', suite: 'bulk', started: day(1, '12'), samples: 100_000, asked: 4200 }))
  runs.push(new Run({ id: '20261120T120000-modl01', suite: 'models', started: day(2, '12'), samples: 60, asked: 180, models: ['large', 'medium', 'small'] }))
  for (let number = 0; number < 1400; number += 1) {
    runs.push(new Run({ id: `nightly-${String(1400 - number).padStart(5, '0')}`, suite: 'nightly', started: day(3 + number / 4), samples: 20, asked: 2, shift: (chance('nightly', number) - 0.5) * 0.15 }))
  }
  return runs.sort((one, other) => (one.started < other.started ? 1 : -1))
}
