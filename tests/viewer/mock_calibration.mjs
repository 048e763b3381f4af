// The calibration of a made-up suite: a grader with everything, of which much is hostile or long, one that was only calibrated, one without labels.

import { HOSTILE, LABEL_KEYS } from './mock_data.mjs'

function agreement(n, wrong, held) {
  const share = (n - wrong) / n
  return { n, agreement: share, agreement_interval: [share - 0.06, Math.min(1, share + 0.05)], kappa: share * 2 - 1, kappa_interval: [share * 2 - 1.2, Math.min(1, share * 2 - 0.8)], false_pass: wrong - 1, false_fail: 1, ...held }
}

const HELD_OUT = { n: 76, at_least: 0.768, agreement: 0.91, query: 12, budget: 55 }
const ESTIMATE = { mean: 0.4712, stderr: 0.03, interval: { low: 0.41, high: 0.53, level: 0.95, method: 'prediction_powered' }, tuning: 0.8, labels_mean: 0.5, labels_stderr: 0.05, labels_interval: { low: 0.4, high: 0.6, level: 0.95, method: 'wilson' }, bias: 0.21, saved: 0.32, most_saved: 0.5 }
const PEOPLE = { labels: 92, others: 148, chosen: 12, pass_rate: ESTIMATE, mean: ESTIMATE }

/** What `GET /api/suites/NAME/calibration` tells of a suite whose runs these are, the newest first. */
export function calibrationOf(name, path, runs) {
  const [run] = runs
  const rows = run.rows.slice(0, 40)
  const who = (at) => ['ann', HOSTILE, 'somebody with a name that is longer than anybody would expect it to be'][at % 3]
  const disputed = rows.map((row, at) => ({ sample_id: row.sample_id, model: row.model, trial: row.trial, passed: at % 4 ? at % 2 === 0 : null,
    people: [{ who: who(at), label: 0.75, passes: true }, { who: at % 5 ? who(at + 1) : null, label: 0.25, passes: false }] }))
  const over_time = runs.slice(0, 12).reverse().map((one, at) => ({ run: one.id, started: one.started, recorded: at > 1, agreement: { ...agreement(80 + at, 10 + at % 5), kappa_interval: null }, pass_rate: 0.6 + at / 50,
    held_out: at > 4 ? { ...HELD_OUT, query: at } : null, people: at > 6 ? PEOPLE : null, breaks: at === 5 ? ['quality: rubric changed', 'quality: judge model changed'] : at === 9 ? [`quality: settings changed (${HOSTILE.slice(0, 60)})`] : [] }))
  const metric = { label: 'Answer quality', mean: 0.66, stderr: 0.02, interval: ESTIMATE.interval, pass_rate: 0.68, pass_rate_interval: ESTIMATE.interval, n: 240, errors: 0, not_applicable: 0, agreement: 0.8 }
  const labels = { agreement: agreement(104, 20), people: PEOPLE, annotators: { cases: 41, people: 3, pairs: 123, agreement: 0.87, alpha: 0.74, alpha_of_scores: 0.8 },
    labellers: [0, 1, 2].map((at) => ({ who: at ? who(at) : null, agreement: agreement(50 - at, 9) })), picks: { random: 60, disagreement: 10, threshold: 12, chosen: 20, unknown: 2 }, held_out_labels: 76, disputed, disputed_total: 612 }
  const none = { label: null, metric: null, labels: null, held_out: null, label_keys: LABEL_KEYS, calibration: null, over_time: [] }
  const calibration = { calibration: agreement(88, 6, { held_out: HELD_OUT }), stale: ['rubric', 'model'], below: ['kappa 0.42 is below 0.60'] }
  return { suite: name, path, run: run.id, started: run.started, labels_path: `${name}.labels.jsonl`, holdout: 0.4, problems: [`\`${HOSTILE.slice(0, 80)}\` has another label on line 3`],
    graders: [{ ...none, name: 'quality', label: 'Answer quality', metric, labels, held_out: HELD_OUT, calibration, over_time }, { ...none, name: 'policy', calibration: { ...calibration, stale: [], below: undefined } }, { ...none, name: 'accuracy', metric: { ...metric, label: null } }] }
}
