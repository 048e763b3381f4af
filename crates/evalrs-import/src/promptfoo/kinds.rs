//! The types of assertions that promptfoo has, and those that have no counterpart here.

/// Whether promptfoo has a type, without `not-`, that cells of tables may say.
pub(super) fn is_kind(name: &str) -> bool {
    let is_one = MAPPED.contains(&name) || NOT_MAPPED.iter().any(|(kind, _)| *kind == name);
    is_one && !["trace-span-duration", "webhook"].contains(&name)
}

/// Types that may have a counterpart.
pub(super) const MAPPED: [&str; 34] = [
    "answer-relevance",
    "assert-set",
    "contains",
    "contains-all",
    "contains-any",
    "contains-json",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "cost",
    "equals",
    "factuality",
    "g-eval",
    "icontains",
    "icontains-all",
    "icontains-any",
    "is-json",
    "javascript",
    "latency",
    "levenshtein",
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "python",
    "regex",
    "similar",
    "skill-used",
    "starts-with",
    "tool-call-f1",
    "trajectory:goal-success",
    "trajectory:step-count",
    "trajectory:tool-args-match",
    "trajectory:tool-sequence",
    "trajectory:tool-used",
];

/// Types without a counterpart, and why.
pub(super) const NOT_MAPPED: [(&str, &str); 30] = [
    (
        "bleu",
        "promptfoo counts words by white space and has a brevity penalty of its own; `bleu` here is sacreBLEU's",
    ),
    ("classifier", "it calls a classifier of Hugging Face"),
    ("contains-html", "promptfoo weighs signs of HTML by a list of its own"),
    ("contains-sql", "no grader parses SQL"),
    ("contains-xml", "no grader parses XML"),
    ("conversation-relevance", "it calls a model for windows of a conversation"),
    ("finish-reason", "why an answer ended is not recorded"),
    ("gleu", "evalrs has no GLEU"),
    ("guardrails", "results of a provider's guardrails are not recorded"),
    ("is-html", "no grader parses HTML"),
    ("is-refusal", "promptfoo compares with a list of phrases of its own"),
    ("is-sql", "no grader parses SQL"),
    (
        "is-valid-function-call",
        "the functions are in the provider's settings; `tool_calls_match` and `json_schema` are close",
    ),
    (
        "is-valid-openai-function-call",
        "the functions are in the provider's settings; `tool_calls_match` and `json_schema` are close",
    ),
    (
        "is-valid-openai-tools-call",
        "the tools are in the provider's settings; `tool_calls_match` and `json_schema` are close",
    ),
    ("is-xml", "no grader parses XML"),
    ("max-score", "it compares the outputs of all providers for one test"),
    ("meteor", "evalrs has no METEOR"),
    ("moderation", "it calls a moderation API"),
    ("perplexity", "log probabilities are not recorded"),
    ("perplexity-score", "log probabilities are not recorded"),
    ("pi", "it calls the scorer of a service"),
    (
        "rouge-n",
        "promptfoo divides words by the Penn Treebank's rules; `rouge_n` here is rouge-score's",
    ),
    ("ruby", "programs in Ruby are executables here: see docs/graders.md"),
    ("search-rubric", "its judge searches the web"),
    (
        "select-best",
        "it compares the outputs of all providers for one test; `compare_to` compares two",
    ),
    ("trace-error-spans", "traces of promptfoo are not read; `no_tool_errors` is close"),
    (
        "trace-span-count",
        "traces of promptfoo are not read; `tool_called` with `min` and `max` is close",
    ),
    ("trace-span-duration", "traces of promptfoo are not read; `max_latency` is close"),
    ("webhook", "it sends answers to an address; write a program that does"),
];
