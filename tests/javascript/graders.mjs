// Graders as their users write them, in TypeScript and in JavaScript, with what they say of a few inputs.

export const INPUTS = [
  {
    input: 'Find the CEO of Anthropic',
    output: 'The CEO of Anthropic is Dario Amodei. Source: https://anthropic.com',
    hint: 'dario amodei',
    trajectory: [
      { type: 'thought', content: 'search', timestamp: 1 },
      { type: 'tool_call', name: 'Read', status: 'completed', timestamp: 2 },
      { type: 'tool_call', name: 'Write', status: 'completed', timestamp: 3 },
    ],
    metadata: { category: 'web-search', difficulty: 'easy' },
  },
  {
    input: ['Write a sort', 'Now test it'],
    output: 'no code here',
    hint: 'function',
    trajectory: Array.from({ length: 6 }, (_, at) => ({ type: 'tool_call', name: 'Read', status: at ? 'completed' : 'error', timestamp: at })),
    metadata: { category: 'code', difficulty: 'hard' },
  },
  { input: 'Say anything', output: 'anything' },
]

const HINT = `export const grade: Grader = async ({ output, hint }) => {
  if (!hint) {
    return { pass: true, score: 1.0, reasoning: 'No hint provided' }
  }

  const contains = output.toLowerCase().includes(hint.toLowerCase())
  return {
    pass: contains,
    score: contains ? 1.0 : 0.0,
    reasoning: contains ? 'Output contains hint' : 'Output missing hint'
  }
}`

const CRITERIA = `export const grade: Grader = async ({ output, hint, trajectory }) => {
  let score = 0
  const reasons: string[] = []

  // Criterion 1: Contains hint
  if (hint && output.toLowerCase().includes(hint.toLowerCase())) {
    score += 0.4
    reasons.push('Contains expected content')
  }

  // Criterion 2: No tool errors
  const hasErrors = trajectory?.some(s =>
    s.type === 'tool_call' && s.status === 'error'
  )
  if (!hasErrors) {
    score += 0.3
    reasons.push('No tool errors')
  }

  // Criterion 3: Efficient execution
  const toolCount = trajectory?.filter(s => s.type === 'tool_call').length ?? 0
  if (toolCount <= 5) {
    score += 0.3
    reasons.push(\`Efficient (\${toolCount} tools)\`)
  }

  return {
    pass: score >= 0.7,
    score,
    reasoning: reasons.join('; ') || 'Failed all criteria'
  }
}`

const METADATA = `export const grade: Grader = async ({ output, hint, metadata }) => {
  const category = (metadata?.category as string) ?? 'general'
  const difficulty = (metadata?.difficulty as string) ?? 'medium'

  // Apply different criteria based on category
  if (category === 'code') {
    // Code tasks require syntax validation
    const hasCodeBlock = /\`\`\`[\\s\\S]*?\`\`\`/.test(output)
    if (!hasCodeBlock) {
      return { pass: false, score: 0.0, reasoning: 'Code category requires code block' }
    }
  } else if (category === 'web-search') {
    // Web search tasks require sources
    const hasSources = /source:/i.test(output) || /https?:\\/\\//.test(output)
    if (!hasSources) {
      return { pass: false, score: 0.5, reasoning: 'Web search should cite sources' }
    }
  }

  // Adjust score threshold by difficulty
  const baseScore = hint ? (output.toLowerCase().includes(hint.toLowerCase()) ? 1.0 : 0.0) : 1.0
  const threshold = difficulty === 'hard' ? 0.9 : difficulty === 'easy' ? 0.6 : 0.7

  return {
    pass: baseScore >= threshold,
    score: baseScore,
    reasoning: \`Category: \${category}, Difficulty: \${difficulty}\`
  }
}`

const TRAJECTORY = `export const grade: Grader = async ({ trajectory }) => {
  const toolCalls = trajectory?.filter(s => s.type === 'tool_call') ?? []

  // Check for required tool usage
  const usedWrite = toolCalls.some(t => t.name === 'Write')
  const usedRead = toolCalls.some(t => t.name === 'Read')

  if (!usedWrite || !usedRead) {
    return {
      pass: false,
      score: 0.0,
      reasoning: \`Missing required tools: \${!usedWrite ? 'Write' : ''} \${!usedRead ? 'Read' : ''}\`
    }
  }

  return {
    pass: true,
    score: 1.0,
    reasoning: 'Used required Read and Write tools'
  }
}`

const FIRST = `// my-grader.ts

export const grade: Grader = async ({ input, output, hint, trajectory, metadata }) => {
  // Your scoring logic here
  const pass = evaluateOutput(output, hint)

  return {
    pass,
    score: pass ? 1.0 : 0.0,
    reasoning: pass ? 'Meets criteria' : 'Does not meet criteria'
  }
}

const evaluateOutput = (output: string, hint?: string): boolean => {
  if (!hint) return true
  return output.toLowerCase().includes(hint.toLowerCase())
}`

const IMPORT = "import type { Grader } from '@plaited/agent-eval-harness/schemas'\n\n"
const TYPES = [': Grader', ': string[]', ' as string', '?: string', ': string', ': boolean']

/** The same grader without its types, by hand: these are all it has. */
function untyped(source) {
  return source
    .replaceAll('hint?: string', 'hint')
    .replaceAll('output: string', 'output')
    .replaceAll('): boolean =>', ') =>')
    .replaceAll(TYPES[0], '')
    .replaceAll(TYPES[1], '')
    .replaceAll(TYPES[2], '')
}

function grader(name, source, results) {
  return { name, typescript: IMPORT + source, javascript: untyped(source), results }
}

export const GRADERS = [
  grader('the first grader', FIRST, [[true, 1, 'Meets criteria'], [false, 0, 'Does not meet criteria'], [true, 1, 'Meets criteria']]),
  grader('the grader by hint', HINT, [[true, 1, 'Output contains hint'], [false, 0, 'Output missing hint'], [true, 1, 'No hint provided']]),
  grader('the grader by criteria', CRITERIA, [
    [true, 1, 'Contains expected content; No tool errors; Efficient (2 tools)'],
    [false, 0, 'Failed all criteria'],
    [false, 0.6, 'No tool errors; Efficient (0 tools)'],
  ]),
  grader('the grader by metadata', METADATA, [
    [true, 1, 'Category: web-search, Difficulty: easy'],
    [false, 0, 'Code category requires code block'],
    [true, 1, 'Category: general, Difficulty: medium'],
  ]),
  grader('the grader by trajectory', TRAJECTORY, [
    [true, 1, 'Used required Read and Write tools'],
    [false, 0, 'Missing required tools: Write '],
    [false, 0, 'Missing required tools: Write Read'],
  ]),
]
