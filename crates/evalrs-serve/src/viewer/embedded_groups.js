// Groups of the rows of a report in one file, and two numbers of them against each other: as the server finds them.

/** The most groups, and the most points; the cells of a side of the grid beyond that. */
const MOST_GROUPS = 200
const MOST_POINTS = 2000
const CELLS = 40

function groupNames(row, by) {
  if (by === 'model') return [row.model]
  if (by === 'tags') return row.tags?.length ? row.tags : [null]
  const value = row.columns?.[by]
  return [value === undefined ? null : String(value)]
}

function count(group, row) {
  group.cases += 1
  for (const [name, sum] of Object.entries(group.graders)) {
    const grade = row.grades[name]
    sum.errored += grade?.state === 'errored' ? 1 : 0
    if (!['passed', 'failed'].includes(grade?.state)) continue
    sum.verdicts += 1
    sum.sum += grade.score
    sum.failed += grade.state === 'failed' ? 1 : 0
    if (typeof grade.label?.agrees !== 'boolean') continue
    sum.labels += 1
    sum.agreed += grade.label.agrees ? 1 : 0
  }
}

/** The groups of rows by a column, the largest first. */
export function groupRows(rows, by, graders) {
  const groups = new Map()
  const empty = () => Object.fromEntries(graders.map((name) => [name, { verdicts: 0, sum: 0, failed: 0, errored: 0, labels: 0, agreed: 0 }]))
  for (const row of rows) {
    for (const name of groupNames(row, by)) {
      if (!groups.has(name)) groups.set(name, { name, cases: 0, graders: empty() })
      count(groups.get(name), row)
    }
  }
  const all = [...groups.values()].sort((one, other) => other.cases - one.cases || String(one.name ?? '').localeCompare(String(other.name ?? '')))
  for (const sum of all.flatMap((group) => Object.values(group.graders))) sum.mean = sum.verdicts ? sum.sum / sum.verdicts : null
  return { groups: all.slice(0, MOST_GROUPS), total: all.length }
}

function numberOf(row, name) {
  const grade = row.grades[name]
  return grade ? (['passed', 'failed'].includes(grade.state) ? grade.score : null) : row.columns?.[name]
}

/** Rows by two numbers: points, or where there are too many the cells of a grid. */
export function scatterRows(rows, xName, yName) {
  const points = rows.map(({ sample_id, model, trial, ...row }) => ({ x: numberOf(row, xName), y: numberOf(row, yName), sample_id, model, trial }))
    .filter(({ x, y }) => typeof x === 'number' && typeof y === 'number')
  const range = (axis) => points.length ? points.reduce(({ min, max }, point) => ({ min: Math.min(min, point[axis]), max: Math.max(max, point[axis]) }), { min: Infinity, max: -Infinity }) : null
  const [x, y] = [range('x'), range('y')]
  if (points.length <= MOST_POINTS) return { known: points.length, x, y, points, cells: [] }
  const cell = ({ min, max }, value) => Math.min(CELLS - 1, Math.floor(max > min ? (value - min) / (max - min) * CELLS : 0))
  const counts = new Map()
  for (const point of points) {
    const at = cell(y, point.y) * CELLS + cell(x, point.x)
    counts.set(at, (counts.get(at) ?? 0) + 1)
  }
  return { known: points.length, x, y, points: [], cells: [...counts].map(([at, many]) => ({ column: at % CELLS, line: Math.floor(at / CELLS), count: many })) }
}
