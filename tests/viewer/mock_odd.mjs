// A run of which hardly anything is known, with more graders and models than fit: whatever may be null is.

import { LABEL_KEYS } from './mock_data.mjs'

const GRADERS = Array.from({ length: 14 }, (_, at) => `a grader with a long name ${at}`)
const MODELS = Array.from({ length: 15 }, (_, at) => `provider/some-model-with-a-long-name-${at}`)

/** Answers as `Run` does. */
export class OddRun {
  id = '20200101T000000-odd001'
  suite = 'odd/../suite ?#%'
  started = null
  labels = new Map()

  rows = MODELS.flatMap((model, at) => [0, 1].map((trial) => ({ at: at * 2 + trial, sample_id: `${'long-'.repeat(40)}${at % 5}`, model, trial, submission: '', tags: [],
    grades: at === 3 ? {} : Object.fromEntries(GRADERS.map((name, number) => [name, { score: null, state: ['pending', 'errored', 'passed'][number % 3], label: null, people: [], disputed: false }])) })))

  find(sample_id, model, trial) {
    return this.rows.find((row) => row.sample_id === sample_id && (!model || row.model === model) && row.trial === Number(trial ?? 0))
  }

  brief() {
    const metrics = Object.fromEntries(GRADERS.map((name) => [name, { label: null, mean: null, stderr: null, pass_rate: null, n: 0, errors: 0 }]))
    return { id: this.id, suite: this.suite, started: null, finished: null, under_way: false, interrupted: true, session: true, narrowed: true, samples: null, results: null, gate: null, metrics,
      actions: { total: 0, cached: 0, asked: 0, failed: 0, pending: 7 }, cost: null, exit_code: null }
  }

  whole(neighbours) {
    return { ...this.brief(), header: {}, summary: {}, warnings: [], graders: GRADERS.map((name) => ({ name, label: null, pass_threshold: null, model: null, prompt: null, label_keys: LABEL_KEYS })), models: MODELS, trials: 2, tags: [], histograms: {}, agreement: {}, ...neighbours }
  }

  whole_case(row, places) {
    const grades = Object.fromEntries(Object.entries(row.grades).map(([name, grade]) => [name, { ...grade, rationale: null, error: grade.state === 'errored' ? { kind: 'timeout', message: '' } : null, key: null, metadata: null }]))
    const message = { role: 'other', text: null, subagent: false, name: null, arguments: null, call: null, is_error: false }
    const judgment = { turn: 0, vote: 0, model: null, reversed: null, key: '00', ingredients: [{ name: 'x', preview: null, digest: null }], system: null, user: null, reply: null, error: null }
    return { at: row.at, sample_id: row.sample_id, model: row.model, trial: row.trial, input: ['one', { role: 'user', content: 'two' }], ground_truth: null, metadata: null, tags: [],
      conversation: row.at % 2 ? [] : [message, { ...message, role: 'tool_return', is_error: true }, { ...message, role: 'tool_call' }], conversation_note: null, submissions: {}, grades,
      judgments: Object.keys(grades).length ? { [GRADERS[0]]: [judgment], [GRADERS[1]]: [] } : {}, ...places }
  }
}
