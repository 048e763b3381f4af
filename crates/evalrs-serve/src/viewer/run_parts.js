// The figures of a run: what it was, metrics, agreement with people, by tag and by model.

import { bounds95, counted, decimal, duration, money, moment, percent, withError } from './text.js'
import { button, element, folded, foreign, table } from './dom.js'
import { histogram } from './charts.js'
import { prefer, preference } from './preferences.js'
import { reference, rubricReference } from './address.js'

/** The most models that are named. */
const MAX_MODELS = 3

/** The most groups of a declared metric that are listed. */
const MAX_GROUPS = 30

/** What caches, batches and cheaper tiers took off the price. */
function belowList({ cost, spent }) {
  const saved = (spent?.list_cost ?? 0) - (cost ?? 0)
  return typeof cost === 'number' && saved > 1e-9 ? `, ${money(saved)} below list price` : ''
}

/** Tokens sent, those of them that a cache had or got, and tokens received. */
function tokens({ input_tokens, cache_read, cache_write, output_tokens }) {
  const cached = [cache_read > 0 && `${counted(cache_read)} read from a cache`, cache_write > 0 && `${counted(cache_write)} written to a cache`].filter(Boolean)
  return `${counted(input_tokens)} in${cached.length > 0 ? ` (${cached.join(', ')})` : ''}, ${counted(output_tokens)} out`
}

/** When, how long, how much. */
export function facts(run) {
  const { actions } = run
  const pairs = [
    ['Run', run.id],
    ['Started', moment(run.started)], ['Took', run.under_way ? 'running' : duration(run.started, run.finished)],
    ['Results', counted(run.results)], ['Samples', counted(run.samples)],
    run.trials > 1 && ['Trials', counted(run.trials)], run.models?.length > 0 && ['Models', foreign(run.models.length > MAX_MODELS ? `${run.models.slice(0, MAX_MODELS).join(', ')} and ${run.models.length - MAX_MODELS} more` : run.models.join(', '), { title: run.models.join(', ') })],
    actions?.total > 0 && ['Judgments', `${counted(actions.asked)} made, ${counted(actions.cached)} cached${actions.failed ? `, ${counted(actions.failed)} failed` : ''}${actions.pending ? `, ${counted(actions.pending)} pending` : ''}`],
    run.writers && ['Shared cache', foreign(Object.entries(run.writers).map(([writer, outcomes]) => `${counted(outcomes)} of ${writer}`).join(', '))],
    (actions?.total > 0 || typeof run.cost === 'number') && ['Cost', money(run.cost) + belowList(run)], run.spent?.input_tokens > 0 && ['Tokens', tokens(run.spent)], typeof run.exit_code === 'number' && ['Exit code', String(run.exit_code)]]
  return element('dl', { class: 'facts' }, pairs.filter(Boolean).map(([name, value]) => element('div', null, element('dt', null, name), element('dd', { class: 'figures' }, value))))
}

/** Graders as rows: mean and passes with their intervals, errors, and how scores are spread. */
export function metricsTable(run) {
  const all = Object.entries(run.metrics)
  const hasLeftOut = all.some(([, metric]) => metric.not_applicable > 0)
  // What is the same everywhere is said once.
  const isUniform = all.every(([, metric]) => metric.n === all[0][1].n && !metric.errors)
  const counts = (metric) => (isUniform ? [] : [figures(counted(metric.n)), errorCount(metric.errors)])
  const rows = all.map(([name, metric]) => {
    const grader = run.graders.find((one) => one.name === name)
    const spread = run.histograms?.[name]
    const told = grader ? describe(grader) : []
    return [element('div', { class: 'grader-line cut' }, foreign(metric.label ?? name, { class: 'foreign grader-name', title: name }), told.length > 0 && element('span', { class: 'muted small' }, ' ', told)),
      within(decimal(metric.mean), bounds95(metric.interval), metric.stderr), within(percent(metric.pass_rate), bounds95(metric.pass_rate_interval, hundredths), null, 'of-share'), ...counts(metric),
      ...hasLeftOut ? [figures(counted(metric.not_applicable ?? 0))] : [],
      spread?.some((count) => count > 0) ? histogram(spread, name) : element('span', { class: 'histogram-space' })]
  })
  return [table('Metrics', ['Grader', '#Mean [95 %]', '#Passes [95 %]', ...isUniform ? [] : ['#Grades', '#Errors'], ...hasLeftOut ? ['#n/a'] : [], 'Scores 0 to 1'], rows, { class: 'wide metrics' }),
    isUniform && all.length > 0 && element('p', { class: 'muted small' }, `${counted(all[0][1].n, 'grade')}${all.length > 1 ? ' each' : ''}, no errors.`)]
}

/** Metrics that the suite declares, each followed by its groups; nothing where there are none. */
export function declaredTable(run) {
  const all = Object.entries(run.declared ?? {})
  if (!all.length) return null
  const rows = all.flatMap(([name, metric]) => [
    [[foreign(name, { class: 'foreign grader-name' }), (metric.problem ?? metric.interval_problem) && element('div', { class: 'muted small' }, foreign(metric.problem ?? metric.interval_problem))], metric.kind,
      within(decimal(metric.value), bounds95(metric.interval)), figures(counted(metric.n)), errorCount(metric.errors)],
    ...Object.entries(run.summary?.declared?.[name]?.groups ?? {}).slice(0, MAX_GROUPS).map(([group, one]) => [
      element('span', { class: 'group-name' }, foreign(group)), '', within(decimal(one.value), bounds95(one.interval)), figures(counted(one.n)), ''])])
  return table('Declared metrics', ['Metric', 'Kind', '#Value [95 %]', '#n', '#Errors'], rows, { class: 'wide declared' })
}

function errorCount(errors) {
  return element('span', { class: errors ? 'figures errored-count' : 'figures muted' }, errors ? `! ${counted(errors)}` : '0')
}

function hundredths(share) {
  return (share * 100).toFixed(1)
}

/** A number and, less loud, its interval; the standard error where somebody points. */
function within(value, interval, stderr, kind = '') {
  const title = typeof stderr === 'number' ? `standard error ${decimal(stderr)}` : kind ? `95 %:${interval}` : null
  return element('span', { class: `figures ${kind}`, title }, value, element('span', { class: 'muted small' }, interval))
}

function figures(text) {
  return element('span', { class: 'figures' }, text)
}

function describe(grader) {
  const threshold = typeof grader.pass_threshold === 'number' && grader.pass_threshold !== 1 ? `passes from ${grader.pass_threshold}` : null
  return [grader.kind, grader.model, threshold].filter(Boolean).map((part, at) => [at > 0 && ' · ', foreign(part)])
}

/** How far each grader agrees with people; nothing where there are no labels. */
export function agreementTable(agreement, run) {
  const against = (count, grader, state) => figures(count > 0 && run ? element('a', { href: reference(['runs', run], { grader, state }) }, counted(count)) : counted(count))
  const known = Object.entries(agreement ?? {}).filter(([, one]) => one?.n > 0 || one?.without_verdict > 0)
  if (!known.length) return null
  const hasDistance = known.some(([, one]) => typeof one.mean_distance === 'number')
  const rows = known.map(([name, one]) => [foreign(name), figures(counted(one.n)), figures(percent(one.accuracy)),
    within(decimal(one.kappa, 2), one.kappa_interval ? ` (${one.kappa_interval.map((value) => decimal(value, 2)).join(' to ')})` : ''),
    against(one.false_pass, name, 'false_pass'), against(one.false_fail, name, 'false_fail'), ...hasDistance ? [figures(decimal(one.mean_distance, 2))] : []])
  return [table('Agreement with people', ['Grader', '#Labels', '#Agrees', '#Kappa (95 %)', '#False passes', '#False fails', ...hasDistance ? ['#Mean distance'] : []], rows),
    hasDistance && element('p', { class: 'muted small' }, 'Mean distance: how far scores lie from labels that are scores, of 1 at most.')]
}

/** The means of parts of the results: by tag, by model. A part leads to its cases. */
export function partTables(run) {
  const { summary, metrics } = run
  const names = Object.keys(metrics)
  const cases = (name, part) => element('a', { href: reference(['runs', run.id], { [name]: part }) }, foreign(part))
  const one = (title, name, parts) => parts && Object.keys(parts).length > 0 && folded(`${title} (${Object.keys(parts).length})`, () =>
    table(title, [title, '#Grades', ...names.map((name) => `#${metrics[name].label ?? name}`)], Object.entries(parts).map(([part, own]) => [
      cases(name, part), figures(counted(Object.values(own)[0]?.n)), ...names.map((name) => figures(withError(own[name]?.avg_score_attempted, own[name]?.stderr)))])))
  return [one('By tag', 'tag', summary?.by_tag), one('By model', 'model', summary?.by_model)].filter(Boolean)
}

/** The rubrics of graders that are judges, folded, each with a link to its editor where there is one. */
export function promptList({ graders, suite, id }, longText, isEdited) {
  return graders.filter((one) => one.prompt).map((one) => folded(['Rubric of ', foreign(one.name)], () => [
    isEdited && element('p', null, element('a', { href: rubricReference(suite, one.name, { run: id }) }, 'Edit it and try it')), longText(one.prompt)]))
}

/** How verdicts can have moved, what is best first. */
const MOVES = ['fixed', 'broken', 'errored', 'answered', 'lowered', 'raised']

/** What moved since an earlier run: how many verdicts, agreement with labels, and the names of the first, folded. */
export function movedSince(moved) {
  if (!moved?.since) return null
  const counts = MOVES.filter((kind) => moved[kind] > 0).map((kind) => `${counted(moved[kind])} ${kind}`)
  const agreement = Object.entries(moved.agreement ?? {}).filter(([, one]) => Number.isFinite(one?.before) && Number.isFinite(one?.now)).map(([grader, { before, now }]) => [
    'agreement of ', foreign(grader), ` ${now < before ? '' : '+'}${((now - before) * 100).toFixed(1)} points`])
  const others = [moved.new > 0 && counted(moved.new, 'new result'), moved.gone > 0 && counted(moved.gone, 'removed result')].filter(Boolean)
  const parts = [...counts, ...agreement, ...others].map((part, at) => [at > 0 && ', ', part])
  const sentence = element('p', { class: 'since' }, 'Since ', foreign(moved.since), ': ', parts.length ? parts : 'nothing moved')
  const score = (value) => (typeof value === 'number' ? decimal(value) : 'error')
  const verdicts = Array.isArray(moved.verdicts) ? moved.verdicts.filter((one) => one?.sample_id) : []
  return [sentence, verdicts.length > 0 && folded(`First verdicts that moved (${verdicts.length})`, () => table('Verdicts that moved', ['Case', 'Grader', 'Movement', '#Before', '#Now'],
    verdicts.map((one) => [foreign([one.sample_id, one.model, one.trial > 0 && `trial ${one.trial}`].filter(Boolean).join(' · ')), foreign(one.grader), one.movement, figures(score(one.before)), figures(score(one.now))])))]
}

/** Links to the files of a run, to what went before it and what came after. The baseline of a suite is a run that stays to be compared with. */
export function runLinks(run, source, changed) {
  const name = `baseline.${run.suite}`
  const baseline = preference(name)
  const keep = () => {
    prefer(name, baseline === run.id ? null : run.id)
    changed()
  }
  const link = (path, text, query) => element('a', { href: reference(path, query) }, text)
  const files = source.abilities.server && !run.under_way && element('span', { class: 'downloads' }, 'Report: ', ['html', 'md', 'xml', 'csv', 'json'].map((format) => [
    element('a', { href: source.download(run.id, format), download: `${run.id}.${format}` }, format), ' ']))
  return element('p', { class: 'links' },
    source.abilities.server && run.previous && [link(['diff'], 'Compare with the run before', { old: run.previous, new: run.id }), link(['runs', run.previous], 'Older run')],
    source.abilities.server && baseline && baseline !== run.id && link(['diff'], 'Compare with the baseline', { old: baseline, new: run.id }),
    source.takesLabels(run.suite) && !run.labels_fixed && run.graders.length > 0 && link(['runs', run.id], 'What to label next', { grader: (run.graders.find((one) => one.prompt) ?? run.graders[0]).name, state: 'unlabelled', sort: 'queue' }),
    source.abilities.server && run.next && link(['runs', run.next], 'Newer run'),
    source.abilities.server && !run.under_way && button('Baseline', keep, { 'aria-pressed': String(baseline === run.id), title: 'Later runs of this suite link to a comparison with it' }), files)
}
