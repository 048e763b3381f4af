// The records that evalrs reads and writes, as types. `evalrs schemas` prints those that are exported, in this order.
// schemas.rs reads this file. It knows `Count`, `Rank`, `Share` and `LineFormat`, and `OneOf` for unions that exclude each other.

type Input = string | string[];
type FreeMap = Record<string, unknown>;
type Id = string | number;

// Records of agent-eval-harness, in its order.

export type PromptCase = {
  id: string; input: Input; hint?: string; reference?: string; metadata?: FreeMap; timeout?: number;
};

export type GraderResult = { pass: boolean; score: Share; reasoning?: string; outcome?: FreeMap };

export type TrajectoryStep = OneOf<
  { type: "thought"; content: string; timestamp: number; stepId?: string }
  | { type: "message"; content: string; timestamp: number; stepId?: string }
  | {
    type: "tool_call"; name: string; status: string; input?: unknown; output?: unknown; duration?: number;
    timestamp: number; stepId?: string;
  }
  | { type: "plan"; entries: unknown[]; timestamp: number; stepId?: string }
>;

export type CaptureResult = {
  id: string; input: Input; output: string; hint?: string; trajectory: TrajectoryStep[]; metadata: FreeMap;
  timing: {
    start: number; end: number; firstResponse?: number; sessionCreation: number; total: number;
    inputTokens?: number; outputTokens?: number;
  };
  toolErrors: boolean; errors?: string[]; score?: GraderResult; outcome?: FreeMap;
};

export type SummaryResult = { id: string; input: string; output: string; toolCalls: string[]; duration: number };

export type TrialEntry = {
  trialNum: number; output: string; trajectory: TrajectoryStep[]; duration: number;
  pass?: boolean; score?: number; reasoning?: string; outcome?: FreeMap;
};

export type TrialResult = {
  id: string; input: Input; hint?: string; k: number; passRate?: number; passAtK?: number; passExpK?: number;
  trials: TrialEntry[]; metadata?: FreeMap;
};

export type CalibrationSample = {
  id: string; input: Input; output: string; hint?: string; originalScore: GraderResult;
  rescoredResult?: GraderResult; trajectorySnippet: TrajectoryStep[];
};

export type BalanceAnalysis = {
  totalCases: number; categories: { name: string; count: number; percentage: number }[];
  underrepresented: string[]; suggestions: string[];
};

export type ValidationResult = { id: string; reference: string; passes: boolean; graderResult: GraderResult };

type Pair = { name: string; value: string };

export type McpServerConfig =
  { type?: "stdio"; name: string; command: string; args: string[]; env: Pair[] }
  | { type: "http"; name: string; url: string; headers: Pair[] };

export type Session = { id: string; _meta?: FreeMap | null };

export type JsonRpcRequest = { jsonrpc: "2.0"; id: Id; method: string; params?: unknown };

export type JsonRpcResponse =
  { jsonrpc: "2.0"; id: Id; result: unknown }
  | { jsonrpc: "2.0"; id: string | number | null; error: JsonRpcError };

export type JsonRpcError = { code: number; message: string; data?: unknown };

// What agent-eval-harness has no schemas for: adapters, comparisons, and what comparison graders are handed and give.

type StepKind = "thought" | "tool_call" | "message" | "plan";

export type AdapterSchema = {
  version: 1; name: string; command: string[]; sessionMode: "stream" | "iterative"; timeout?: number;
  prompt: { flag?: string; stdin?: boolean; stdinFormat?: "text" | "json" };
  output: { flag: string; value: string };
  autoApprove?: string[]; resume?: { flag: string; sessionIdPath: string }; cwdFlag?: string; modelFlag?: string;
  outputMode?: "jsonpath" | "passthrough";
  outputEvents?: {
    match: { path: string; value: string; when?: { path: string; value: string }[] };
    emitAs: StepKind;
    extract?: {
      content?: string; title?: string; status?: string; id?: string; input?: string; output?: string;
      failed?: string; delta?: string; entries?: string;
    };
  }[];
  passthroughTypeMap?: { typeField?: string; typeValues?: Record<string, StepKind> };
  result: { matchPath: string; matchValue: string; contentPath: string; failedPath?: string | string[] };
  historyTemplate?: string | { system?: string; turnFormat: string };
  usage?: { inputTokens: string[]; outputTokens: string[]; cost?: string };
};

export type ComparisonInput = {
  id: string; input: Input; hint?: string; metadata?: FreeMap;
  runs: Record<string,
    { output: string; trajectory?: TrajectoryStep[]; score?: GraderResult; duration?: number; toolErrors: boolean }
    | { passRate?: number; passAtK?: number; passExpK?: number; k: number; trials: TrialEntry[] }
  >;
};

export type ComparisonResult = {
  rankings: { run: string; rank: Rank; score: number }[]; reasoning?: string;
};

type Latency = { p50: number; p90: number; p99: number; mean: number; min: number; max: number };
type Pairwise = { runA: string; runB: string; aWins: Count; bWins: Count; ties: Count }[];
type Bounds = [number, number];

export type ComparisonReport = {
  meta: { generatedAt: string; runs: string[]; promptCount: Count; promptsWithAllRuns: Count };
  quality: Record<string, {
    type: "run"; avgScore: number; passRate: number; passCount: Count; failCount: Count;
    scoreDistribution: {
      "0.0-0.2": Count; "0.2-0.4": Count; "0.4-0.6": Count; "0.6-0.8": Count; "0.8-1.0": Count;
    };
    confidenceIntervals?: { avgScore: Bounds; passRate: Bounds };
  }>;
  performance: Record<string, {
    latency: Latency; firstResponse?: Latency; totalDuration: number;
    confidenceIntervals?: { latencyMean: Bounds };
  }>;
  reliability: Record<string, {
    type: "run"; toolErrors: Count; toolErrorRate: number; timeouts: Count; timeoutRate: number;
    completionRate: number;
  }>;
  trajectoryInfo: Record<string, { richness: string; avgStepCount: number }>;
  headToHead: {
    prompts: {
      id: string; winner: string | null; scores: Record<string, number>;
      latencies: Record<string, number | null>; hadErrors: Record<string, boolean>;
    }[];
    pairwise: Pairwise;
  };
};

export type TrialsComparisonReport = {
  meta: {
    generatedAt: string; runs: string[]; promptCount: Count; trialsPerPrompt: number; inputFormat: "trials";
  };
  capability: Record<string, {
    avgPassAtK: number; medianPassAtK: number; p25PassAtK: number; p75PassAtK: number;
    confidenceIntervals?: { avgPassAtK: Bounds };
  }>;
  reliability: Record<string, {
    type: "trial"; avgPassExpK: number; medianPassExpK: number; p25PassExpK: number; p75PassExpK: number;
    confidenceIntervals?: { avgPassExpK: Bounds };
  }>;
  flakiness: Record<string, {
    avgFlakiness: number; medianFlakiness: number; flakyPromptCount: Count;
    topFlakyPrompts: { id: string; flakiness: number }[];
  }>;
  quality?: Record<string, {
    type: "trial"; avgScore: number; medianScore: number; p25Score: number; p75Score: number;
    confidenceIntervals?: { avgScore: Bounds };
  }>;
  performance: Record<string, {
    latency: Latency; totalDuration: number; confidenceIntervals?: { latencyMean: Bounds };
  }>;
  headToHead: { capability: Pairwise; reliability: Pairwise; overall: Pairwise };
  perPrompt: {
    id: string; capabilityWinner: string | null; reliabilityWinner: string | null;
    passAtK: Record<string, number>; passExpK: Record<string, number>; flakiness: Record<string, number>;
  }[];
};

// What is written of a run: the lines and files of its record, and `--format json`, which is all of them.

export type RunReport = { header: RunHeader; results: RunResult[]; summary: RunSummary };

export type RunHeader = {
  format: 1; suite: string; description: string | null; evalrs: string; inputs: Record<string, string>;
  settings: FreeMap;
};

type Grade = {
  score: Share; pass: boolean; rationale: string; error: { kind: string; message: string } | null;
  key: string | null; metadata: FreeMap;
  per_turn?: { turn: Count; score: Share; rationale: string; submission: string }[];
};

export type RunResult = {
  format: LineFormat; sample_id: string; input: unknown; ground_truth: unknown; model: string | null; trial: Count;
  conversation?: string; submission: string; submissions?: Record<string, string>; grades: Record<string, Grade>;
  not_applicable?: Record<string, string>;
};

type Interval = { low: number; high: number; level: Share; method: string };

type Metric = {
  n: Count; attempted: Count; errors: Count; not_applicable?: Count;
  avg_score_attempted: number | null; avg_score_total: number | null; stderr: number | null;
  stderr_naive: number | null; accuracy: number | null; min: number | null; max: number | null;
  median: number | null; p95: number | null; p99: number | null;
  interval?: Interval; accuracy_interval?: Interval;
  native?: { mean: number; low: number | null; high: number | null; min: number; max: number };
  pass_at?: Record<string, Share>; pass_hat?: Record<string, Share>;
};

type Groups = Record<string, Record<string, Metric>> | null;

// A metric that a suite or a roll-up declares.
type Declared = {
  kind: string; value: number | null; native?: number; n: Count; errors: Count; interval: Interval | null;
  problem?: string; interval_problem?: string;
  groups?: Record<string, { value: number | null; n: Count; interval: Interval | null; weight?: number }>;
  ungrouped?: { n: Count; values: string[] };
  confusion?: FreeMap; classes?: FreeMap[]; lowest?: number; highest?: number; undefined?: string[];
  definition?: string;
};

type Gate = {
  status: ("passed" | "failed" | "undecided") | null; value: number | null;
  op: ("gt" | "gte" | "lt" | "lte" | "eq") | null; threshold: number | null; lowest: number | null;
  highest: number | null; rule: string | null;
  lacks?: "labels" | "different_labels" | "different_verdicts"; conditions?: FreeMap[];
};

// What judgments used; those of a grader also by model.
type UsageOfModel = {
  judgments: Count; input_tokens: Count; output_tokens: Count; cost: number | null; unpriced?: Count;
};
type Usage = {
  judgments: Count; input_tokens: Count; output_tokens: Count; cost: number | null;
  by_model: Record<string, UsageOfModel>;
};

export type RunSummary = {
  format: 1; suite: string; samples: Count; results: Count; metrics: Record<string, Metric>;
  declared?: Record<string, Declared>; labels?: Record<string, string>; by_model: Groups; by_tag: Groups; gate: Gate;
  trials?: Record<string, FreeMap>; agreement?: Record<string, FreeMap>; label_agreement?: Record<string, FreeMap>;
  held_out?: Record<string, FreeMap>;
  annotators?: Record<string, {
    cases: Count; people: Count; pairs: Count; agreement: Share | null; alpha: number | null;
    alpha_of_scores: number | null;
  }>;
  disputed?: Record<string, {
    sample_id: string; model: string | null; trial: Count; passes: string[]; fails: string[];
  }[]>;
  calibration?: Record<string, FreeMap>; people?: Record<string, FreeMap>; usage: Record<string, Usage>;
  cost: number | null;
};

// What several suites came to together.
export type RunRollup = {
  format: 1; name: string; description: string | null; evalrs: string;
  suites: { suite: string; path: string; run: string }[]; metrics: Record<string, Declared>; gate: Gate;
};

// What `evalrs import --json` prints.
export type ImportReport = {
  format: 1; kind: string; source: string; folder: string;
  suites: { file: string; rows: Count; outputs: Count; labels: Count; graders: Count }[];
  parts: Record<string, { mapped: Count; not_mapped: Count }>;
  not_mapped: { part: string; file: string; line: Count; what: string; reason: string }[];
  secrets: { file: string; line: Count; what: string }[]; notes: string[]; next: string[];
};
