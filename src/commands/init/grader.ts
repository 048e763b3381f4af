// Grades one output: a module that exports `grade`, sync or async. Needs bun, deno or node.
//
// Test it alone:
//     echo '{"input":"test","output":"hello world","hint":"world"}' | evalrs grade --grader ./grader.ts

type GraderInput = {
  input: string | string[]
  output: string
  hint?: string
  trajectory?: { type: string; name?: string; status?: string }[]
  metadata?: Record<string, unknown>
  cwd?: string
}

type GraderResult = { pass: boolean; score: number; reasoning?: string }

export const grade = async ({ output, hint }: GraderInput): Promise<GraderResult> => {
  if (!hint) return { pass: true, score: 1.0, reasoning: 'No hint provided' }
  const found = output.toLowerCase().includes(hint.toLowerCase())
  return {
    pass: found,
    score: found ? 1.0 : 0.0,
    reasoning: found ? 'Output contains hint' : 'Output lacks hint',
  }
}
