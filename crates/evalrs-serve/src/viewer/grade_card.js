// One grade of a case: score, why, label, what the grader read and how the grade came about.

import { badge, graderTitle, scoreCell } from './states.js'
import { button, code, element, folded, foreign, longText, refill } from './dom.js'
import { writtenText } from './markdown.js'
import { judgmentList } from './judgments.js'
import { LabelControl } from './labels.js'
import { decimal, readable } from './text.js'

/** The most characters of a rationale that are shown at once. */
const MAX_RATIONALE = 1500

/** The card of a grader. `save(value)` keeps a label of the `labeller`; `select` makes it the one that keys label. */
export function gradeCard({ name, item, run, isCurrent, select, labeller, save, canSave, fixed, editor, repeat }) {
  const grader = run.graders.find((one) => one.name === name)
  const grade = item.grades[name]
  const judged = element('div')
  /** Shows how the grade came about. */
  const showJudgments = (judgments = []) => refill(judged, judgments.length > 0 && judgmentList(judgments))
  showJudgments(item.judgments?.[name])
  const labels = new LabelControl({ name, grade, agreement: run.agreement?.[name], keys: grader?.label_keys ?? [], labeller, save, canSave, fixed, categories: Object.keys(run.categories ?? {}) })
  const title = element('h3', null, button(foreign(graderTitle(name, grader?.label)), select, { 'aria-current': isCurrent ? 'true' : null }),
    element('span', { class: 'card-score' }, badge(grade.state), typeof grade.score === 'number' && grade.state !== 'errored' && element('span', { class: 'figures' }, decimal(grade.score))))
  const hasMetadata = grade.metadata && Object.keys(grade.metadata).length > 0
  const node = element('article', { class: isCurrent ? 'grade-card current' : 'grade-card', 'aria-label': `Grade of ${name}` }, title,
    grader && element('p', { class: 'muted small' }, [grader.kind, grader.model, typeof grader.pass_threshold === 'number' && `passes from ${grader.pass_threshold}`]
      .filter(Boolean).map((part, at) => [at > 0 && ' · ', foreign(part)])),
    grade.error && element('div', { class: 'error-text' }, element('strong', null, `${grade.error.kind}: `), longText(grade.error.message)),
    grade.rationale ? writtenText(grade.rationale, { class: 'foreign prose written rationale' }, MAX_RATIONALE) : !grade.error && element('p', { class: 'muted' }, 'No rationale.'),
    (canSave || grade.label || grade.disputed || run.agreement?.[name]?.n > 0) && labels.node,
    item.submissions?.[name] !== undefined && folded('What the grader read', () => longText(item.submissions[name] || '(empty)')),
    judged,
    editor && grader?.prompt && element('p', { class: 'card-link' }, element('a', { href: editor }, 'Edit the rubric, try it on this case'), ' ', button('Repeat the judgment', repeat, { class: 'quiet' })),
    hasMetadata && folded('Metadata', () => code(readable(grade.metadata))))
  return { node, labels, showJudgments }
}

/** All grades in one line, for narrow screens and a first look. */
export function gradeLine(item) {
  return element('p', { class: 'grade-line' }, Object.entries(item.grades).map(([name, grade]) => element('span', { class: 'grade-chip' }, foreign(name, { class: 'foreign muted' }), ' ', scoreCell(grade))))
}
