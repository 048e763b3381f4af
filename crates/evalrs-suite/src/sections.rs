//! Every field of a suite, declared once, in the order in which messages list them.

use super::allowed::ALLOW;
use super::dataset::{MISSING, SAMPLES, TRIALS};
use super::gate::{AGGREGATIONS, LOGICS, OPS};
use super::judges::REPLY_FORMATS;
use super::labels_section::{CALIBRATION, LABELS};
use super::metric_section::METRIC;
use super::rubric::COMBINES;
use super::sandboxes::SANDBOXES;
use super::section::FieldShape::{
    self, AnyOf, Anything, Choice, ListOf, MapOf, Mapping, Number, OrNull, Seconds, Text, Texts,
    Truth, Whole,
};
use super::section::{COUNT, FINITE, FRACTION, FieldSpec, Section, fields, names, section};
use super::similarity_section::SIMILARITY;
use super::target_sections::{
    CHAT_TARGET, COMMAND_TARGET, FUNCTION_TARGET, HEADLESS_TARGET, HTTP_TARGET, TARGET_MODEL,
};
use evalrs_model::spec::DATASET_FORMATS;
use evalrs_model::spec::SampleMember;
use evalrs_trajectory as trajectory;

pub(crate) static SUITE: Section = section!["a suite",
    "name": Text, required => "the suite's name in reports";
    "description": Text => "a line for people";
    "dataset": AnyOf(&[Text, Mapping(&DATASET)]), required => "the samples: a path, or a mapping";
    "target": TARGET => "what is evaluated: recorded answers, or an agent that is run";
    "models": AnyOf(&[Text, ListOf(&AnyOf(&[Text, Mapping(&TARGET_MODEL)]))]) => "the models that a target is run with, one result each";
    "sandbox": SANDBOX_SHAPE => "what programs are kept from, where they say nothing themselves";
    "graders": MapOf(&GRADER) => "name → grader, in the order of reports";
    "grader": GRADER => "the one grader of older suites, which is named `default`";
    "reward": REWARD_SHAPE => "one score of those of the graders: an expression, or a mapping";
    "labels": AnyOf(&[Text, Mapping(&LABELS)]) => "what people say of answers: a file, or a mapping";
    "calibration": Mapping(&CALIBRATION) => "how far judges must agree with labels of people, for `--require-calibration`";
    "metrics": MapOf(&Mapping(&METRIC)) => "name → a number over all results, beside those of graders; gates may name it";
    "gate": GATE => "the rule that decides the exit code";
    "max_samples": COUNT => "only the first so many samples";
    "num_runs": COUNT, or "1" => "trials: of recorded ones, only the first so many are taken";
    "max_concurrent": COUNT => "actions under way at once";
    "max_concurrent_targets": COUNT, or "4" => "conversations of the target under way at once";
    "sample_tags": Texts => "only samples with one of these tags";
    "setup_script": Text => "a function of a Python file, `file.py:name`, that prepares a Letta server before the first conversation";
    "allow": ALLOW => "warnings that are not wanted, by name";
];

/// What a file says beyond [`SUITE`], and is gone once it is loaded.
pub(crate) const EXTENDS: &[FieldSpec] = fields![
    "extends": Text => "another suite to start from: mappings merge key by key, everything else is replaced";
];

pub(crate) static DATASET: Section = section!["a dataset",
    "path": Text, needed "the dataset has no `path`", "" => "a file, a folder, an archive, or a pattern of files";
    "format": Choice(&names(&DATASET_FORMATS)) => "how it is cut into rows; its name says it if absent";
    "records": Text => "the path to the list or mapping of records inside a JSON or YAML file";
    "sample": Choice(&names(&SAMPLES)), or "\"record\"" => "what one sample is: a record of a file, a file, or all files of a folder";
    "trials": Choice(&names(&TRIALS)), or "\"field\"" => "where trials get their numbers from: the `trial` of rows, or the order of those of one sample and model";
    "fields": Mapping(&ROW) => "under which dotted path each field of a sample stands in a row";
    "where": Text => "which rows count: a condition such as `not improper and 'refund' in tags`";
    "missing": Choice(&names(&MISSING)), or "\"error\"" => "what a row is without an answer: an error of its result, or an empty answer";
];

/// Our names for what a row holds, each of which may stand under another path.
pub(crate) static ROW: Section = Section::new(
    "a sample",
    &[
        ROW_PATHS,
        fields![
            "outputs": MapOf(&Text) => "the answers of several models in one row, by model";
        ],
    ],
);

/// The fields of [`ROW`] that are one path each.
pub(crate) const ROW_PATHS: &[FieldSpec] = fields![
    "id": Text => "the sample's id";
    "input": Text => "what the agent was given";
    "ground_truth": Text => "the reference answer";
    "reference": Text => "kept for programs that grade";
    "output": Text => "what the agent answered";
    "trajectory": Text => "everything it did";
    "messages": Text => "everything it did, as messages";
    "metadata": Text => "anything";
    "tags": Text => "a list of texts";
    "rubric": Text => "a rubric of its own";
    "rubric_path": Text => "a file that holds one";
    "rubric_vars": Text => "values for placeholders of rubrics";
    "extra_vars": Text => "kept for the agent";
    "agent_args": Text => "kept for the agent";
    "trial": Text => "which repetition of the sample it is";
    "model": Text => "which model was run";
    "agent_state": Text => "the state the agent was left in";
    "label": AnyOf(&[Text, MapOf(&Text)]) => "what a person says of the answer, or of each of the `outputs`";
    "graders": Text => "the names of the graders that the row is for; all if absent";
];

/// A target whose trajectories are recorded already.
pub(crate) static RECORDED: Section = section!["a recorded target",
    "kind": Choice(&["recorded"]), required => "trajectories already recorded";
    "path": Text => "a file of trajectories, a folder with one file a sample, or a Letta result directory";
    "format": Choice(&names(&trajectory::FORMATS)) => "letta, inspect, openai_chat, anthropic, claude_code, steps, atif, otel or text; detected if absent";
    "fields": Mapping(&ROW) => "under which dotted path each field stands in a record of the file";
    "by": Text, or "\"id\"" => "which row a record belongs to: the one with its `id`, the one on the same `line`, or the one with the same value at this path";
];

/// The kinds of targets that run an agent.
pub(crate) const AGENT_KINDS: &[&str] = &["agent", "letta_agent", "letta_code", "program"];

/// A target that runs an agent, in any dialect: it cannot be run, and what is recorded of it can be graded.
pub(crate) static AGENT: Section =
    Section::new("a target that runs an agent", &[AGENT_KIND, AGENT_FIELDS]);

const AGENT_KIND: &[FieldSpec] = fields![
    "kind": Choice(AGENT_KINDS), required => "an agent, whose recorded results alone can be graded";
];

const AGENT_FIELDS: &[FieldSpec] = fields![
    "base_url" "api_key" "timeout" "project_id" "max_retries" "model_configs" "model_handles" "agent_id"
    "agent_file" "agent_script" "working_dir" "allowed_tools" "disallowed_tools" "skills_dir" "flags"
    "permission_mode" "sandbox" "memory_dir" "memory_workspace" "max_steps" "command" "path" "model" "env"
    "api_key_env" "keep_agents" "version" "inputs" "runtime" "workspace" "sees"
];

/// A target, told apart by its `kind`.
const TARGET: FieldShape = AnyOf(&[
    Mapping(&RECORDED),
    Mapping(&COMMAND_TARGET),
    Mapping(&FUNCTION_TARGET),
    Mapping(&HEADLESS_TARGET),
    Mapping(&HTTP_TARGET),
    Mapping(&CHAT_TARGET),
    Mapping(&AGENT),
]);

/// A grader, told apart by its `kind`.
const GRADER: FieldShape = AnyOf(&[
    Mapping(&TOOL),
    Mapping(&PYTHON_TOOL),
    Mapping(&RUBRIC),
    Mapping(&SIMILARITY),
    Mapping(&PROGRAM),
    Mapping(&INLINE_PROGRAM),
    Mapping(&VOTES_OF_OTHERS),
    Mapping(&COMBINATION),
]);

/// What every grader of scores has.
const NAME_AND_THRESHOLD: &[FieldSpec] = fields![
    "display_name": Text => "the name in reports";
    "pass_threshold": FRACTION, or "1.0" => "the least score that counts as a pass";
    "only": Text => "the rows that it is for: a condition such as `'refund' in tags`; it has no grade for others";
];

/// What every grader of a submission has.
pub(super) const SUBMISSION: &[FieldSpec] = fields![
    "display_name": Text => "the name in reports";
    "extractor_config": MapOf(&Anything) => "the options of the extractor";
    "extractor": Text, or "\"last_assistant\"" => "which part of the trajectory is graded; `file.py:name` is a function of it";
    "extractor_options": Mapping(&EXTRACTOR_OPTIONS) => "how an extractor written in Python runs";
    "pass_threshold": FRACTION, or "1.0" => "the least score that counts as a pass";
    "ground_truth": Text => "where the reference answer stands in the row, in place of its ground truth: `row.PATH`";
    "not": Truth, or "false" => "whether the opposite is wanted: the score becomes 1 minus it";
    "only": Text => "the rows that it is for: a condition such as `'refund' in tags`; it has no grade for others";
    "ground_truth_pattern": Text => "a Python pattern whose group 1 picks the reference answer out of a longer ground truth";
    "include_subagents": Truth, or "false" => "whether messages of sub-agents are seen";
];

pub(crate) static TOOL: Section = Section::new("a tool grader", &[TOOL_KIND, SUBMISSION, FUNCTION]);

/// A function of a Python file.
pub(crate) static PYTHON_TOOL: Section =
    Section::new("a tool grader", &[TOOL_KIND, SUBMISSION, FUNCTION, PROGRAM_SETTINGS]);

const TOOL_KIND: &[FieldSpec] = fields![
    "kind": Choice(&["tool"]), required => "a deterministic function, or one of a Python file";
];

const FUNCTION: &[FieldSpec] = fields![
    "config": MapOf(&Anything) => "the options of the function";
    "function": Text, needed "a tool grader needs a `function`", "for example `function: contains`" => "the function; `file.py:name` is one of a Python file";
];

/// Votes that people or others gave.
pub(crate) static VOTES_OF_OTHERS: Section = Section::new(
    "a grader of recorded votes",
    &[
        fields![
            "kind": Choice(&["recorded_votes"]), required => "votes that people or others gave; nobody is asked";
        ],
        SUBMISSION,
        fields![
            "votes": Texts => "where they stand in the row: `row.PATH`, or several";
            "path": Text => "the file that holds them; without it and `votes` the one that `evalrs cache import` keeps beside the suite";
            "fields": MapOf(&AnyOf(&[Text, ListOf(&Text)])) => "where the rows of the file have id, model, trial, judge, vote, score and rationale";
            "map": MapOf(&AnyOf(&[FINITE, Choice(&["error"])])) => "the scores that values stand for; `error` is none";
            "scale": Mapping(&SCALE) => "the range they were given in; 0 to 1 if absent";
            "combine": COMBINE, or "\"median\"" => "how they become one score";
            "missing": Choice(&["not_applicable", "error"]), or "\"not_applicable\"" => "what an answer is that nobody voted on";
        ],
    ],
);

/// A program of the user that grades.
pub(crate) static PROGRAM: Section = Section::new(
    "a program grader",
    &[
        fields![
            "kind": Choice(&["program"]), required => "a program of yours";
        ],
        SUBMISSION,
        fields![
            "path": Text, needed "a program grader needs a `path`", "for example `path: graders/policy.py`" => "the file; `file.py:name` is a function of it";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// A program of the user that grades, and whose text stands in the suite.
pub(crate) static INLINE_PROGRAM: Section = Section::new(
    "a program grader",
    &[
        fields![
            "kind": Choice(&["program"]), required => "a program of yours";
        ],
        SUBMISSION,
        fields![
            "javascript": Text, required => "an expression of JavaScript, or the body of a function with `return`, in place of a file";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// How a program runs.
pub(crate) const PROGRAM_SETTINGS: &[FieldSpec] = fields![
    "runtime": Text => "what runs it: a name such as `python3.12` or `bun`, or a path";
    "inputs": Texts => "files, folders and patterns that the program reads: when they change, it runs again";
    "sees": SEES => "what it is handed of the sample besides what every program is, such as `[row, model]`, or `all`: when that changes, it runs again";
    "cwd": Text => "the folder it runs in; the suite's if absent";
    "env": ENVIRONMENT => "names of further environment variables that it sees; {NAME: secret} keeps the value out of keys, {NAME: plain} in them";
    "sandbox": SANDBOX_SHAPE => "none, auto or bubblewrap; or {kind, memory, cpu}";
    "cache": Truth, or "true" => "false runs it in every evaluation";
    "deterministic": AnyOf(&[Truth, Choice(&["check"])]) => "check runs it twice for some samples and reports differences";
    "timeout": Seconds, or "60" => "seconds one call may take";
];

/// What of a sample a program is handed.
const SEES: FieldShape =
    AnyOf(&[Choice(&[ALL_MEMBERS]), Choice(MEMBERS), ListOf(&Choice(MEMBERS))]);

/// The word for all of [`MEMBERS`].
pub(super) const ALL_MEMBERS: &str = "all";

/// The names of what a program may be handed.
pub(super) const MEMBERS: &[&str] = &{
    let mut names = [""; SampleMember::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SampleMember::ALL[at].name();
        at += 1;
    }
    names
};

pub(crate) static EXTRACTOR_OPTIONS: Section =
    Section::new("`extractor_options`", &[PROGRAM_SETTINGS]);

pub(super) const ENVIRONMENT: FieldShape =
    AnyOf(&[Text, ListOf(&AnyOf(&[Text, MapOf(&Choice(&["secret", "plain"]))]))]);

pub(super) const SANDBOX_SHAPE: FieldShape =
    AnyOf(&[Choice(&names(&SANDBOXES)), Mapping(&SANDBOX)]);

pub(crate) static SANDBOX: Section = section!["`sandbox`",
    "kind": Choice(&names(&SANDBOXES)), needed "`sandbox` has no `kind`", "write `kind: none`, `kind: auto` or `kind: bubblewrap`" => "what programs are kept from";
    "memory": AnyOf(&[FINITE, Text]) => "the most memory: bytes, or an amount such as `512MB`";
    "cpu": Whole(1, 86_400, "a whole number of seconds, 1 to 86400") => "the most seconds of processor time";
];

/// A grader that asks judges.
pub(crate) static RUBRIC: Section = Section::new(
    "a rubric grader",
    &[
        fields![
            "kind": Choice(&["rubric", "model_judge", "letta_judge"]), required => "a judge grades by a rubric";
            "prompt": Text => "the rubric";
            "prompt_path": Text => "a file that holds the rubric; its front matter may set model, scale and pass_threshold";
        ],
        SUBMISSION,
        fields![
            "panel": ListOf(&Mapping(&PANELLIST)) => "several judges: settings over those of the grader";
        ],
        JUDGE,
        COMMAND_JUDGE,
        fields![
            "compare_to": AnyOf(&[Text, Mapping(&COMPARE_TO)]) => "what submissions are compared with: a field of the row, or the record of a run";
            "rubric_vars": Texts => "variables every row must have";
            "combine": COMBINE, or "\"median\"" => "how votes become one score";
            "votes": AnyOf(&[VOTE_COUNT, Mapping(&VOTES)]), or "1" => "independent judgments by each judge: N, or {n, combine}";
            "confirm_fails": Whole(0, 100, "between 0 and 100"), or "0" => "further votes by each judge on submissions below the pass threshold";
            "scale": Mapping(&SCALE) => "the judge's range: {min, max}";
            "fence": Truth, or "true" => "whether texts that are put into the rubric stand between tags";
            "unfenced": Texts => "placeholders whose texts stand without tags: input, submission, ground_truth, row, or a name";
            "allow": ALLOW => "warnings about this rubric that are not wanted, by name";
            "allow_unknown": Truth, or "false" => "whether names in braces that stand for nothing are sent as they are";
        ],
    ],
);

/// What is of one judge, and said by the grader for all of its panel.
pub(crate) const JUDGE: &[FieldSpec] = fields![
    "provider": Text, or "\"openai\"" => "the protocol; `openai` is any OpenAI-compatible endpoint";
    "model": Text, or "\"gpt-4o-mini\"" => "the judge model";
    "base_url": Text => "where it is asked; no part of the key if `endpoint` is set";
    "endpoint": Text => "stands for the base URL in the key";
    "api_key_env": Text => "the environment variable that holds the key";
    "headers": HEADERS => "further headers: text, or {env: NAME} for secrets";
    "temperature": OrNull(&Number(0.0, 2.0, "between 0 and 2, or null")), or "0.0" => "null sends none";
    "seed": Whole(i64::MIN, i64::MAX, "a whole number of 64 bits") => "the sampling seed";
    "max_tokens": COUNT => "the most tokens of a reply";
    "top_p": FRACTION => "nucleus sampling";
    "extra_body": MapOf(&Anything) => "further members of the request";
    "response_format": Choice(&names(&REPLY_FORMATS)), or "\"auto\"" => "how the shape of the reply is asked for";
    "max_retries": Whole(0, 1000, "between 0 and 1000"), or "5" => "retries after transport failures, at most 1000";
    "timeout": Seconds, or "120.0" => "seconds one request may take, more than 0";
    "deadline": Seconds, or "900.0" => "seconds one judgment may take with retries and waits, more than 0";
    "max_requests_per_minute": COUNT => "the most requests to the endpoint in a minute";
    "max_tokens_per_minute": COUNT => "the most tokens, sent and received, in a minute";
    "agent_file": Text => "the file of an agent that judges in place of a model: one of a Letta server, made anew for each judgment";
    "judge_tool_name": Text, or "\"submit_grade\"" => "the tool that the agent calls with its verdict";
    "keep_agents": Truth, or "false" => "whether the agents stay at the server";
];

/// What is said of a judge that is a command.
pub(crate) const COMMAND_JUDGE: &[FieldSpec] = fields![
    "command": Texts => "a command that judges in place of a model, word by word and without a shell: it gets the prompt on standard input, or for `{prompt}` among its words, and prints the verdict";
    "version": Text => "what the command's files cannot say, part of the key: any text";
    "inputs": Texts => "files, folders and patterns that the command rests on: when they change, it judges again";
    "env": ENVIRONMENT => "names of further environment variables that the command sees; {NAME: secret} keeps the value out of keys, {NAME: plain} in them";
    "sandbox": SANDBOX_SHAPE => "what the command is kept from: none, auto or bubblewrap; or {kind, memory, cpu}";
    "retries": Whole(0, 100, "between 0 and 100"), or "1" => "further attempts after a run of the command that failed or took too long";
];

pub(crate) static PANELLIST: Section = Section::new("a judge of `panel`", &[JUDGE, COMMAND_JUDGE]);

pub(super) const HEADERS: FieldShape = MapOf(&OrNull(&AnyOf(&[Text, Mapping(&HEADER)])));

pub(crate) static HEADER: Section = section!["a header",
    "env": Text, required => "the environment variable that holds it";
];

pub(crate) static COMPARE_TO: Section = section!["`compare_to`",
    "field": Text => "a field of the row, a dotted path";
    "run": Text => "the record of a run";
];

const COMBINE: FieldShape = Choice(&names(&COMBINES));
pub(super) const VOTE_COUNT: FieldShape = Whole(1, 1000, "a whole number between 1 and 1000");

pub(crate) static VOTES: Section = section!["`votes`",
    "n": VOTE_COUNT, needed "`votes` has no `n`", "" => "independent judgments by each judge";
    "combine": COMBINE => "how votes become one score";
];

pub(crate) static SCALE: Section = section!["`scale`",
    "min": FINITE, needed "`scale` has no `min`", "write `scale: {min: 1, max: 5}`" => "the score that becomes 0";
    "max": FINITE, needed "`scale` has no `max`", "write `scale: {min: 1, max: 5}`" => "the score that becomes 1";
];

/// What a rubric file may say before its text.
pub(crate) static FRONT_MATTER: Section = Section::new(
    "the front matter of a rubric",
    &[
        fields![
            "include": Texts => "files whose texts come before its own";
        ],
        FRONT_SETTINGS,
    ],
);

/// What front matter can say of a grader.
pub(crate) const FRONT_SETTINGS: &[FieldSpec] = fields![
    "model": Text => "the judge model";
    "scale": Mapping(&SCALE) => "the judge's range";
    "fence": Truth => "whether texts that are put into it stand between tags";
    "unfenced": Texts => "placeholders whose texts stand without tags";
    "pass_threshold": FRACTION => "the least score that counts as a pass";
    "allow": ALLOW => "warnings about this rubric that are not wanted, by name";
    "allow_unknown": Truth => "whether names in braces that stand for nothing are sent as they are";
];

const EXPRESSION: &[FieldSpec] = fields![
    "combine": AnyOf(&[Text, FINITE]), needed "what combines graders needs an expression, `combine`", "for example `combine: 0.7*quality + 0.3*policy`" => "the expression, for example `0.7*quality + 0.3*policy if policy > 0 else 0`";
];

pub(crate) static COMBINATION: Section = Section::new(
    "a combining grader",
    &[
        fields![
            "kind": Choice(&["combine"]), required => "one score of those of other graders";
        ],
        NAME_AND_THRESHOLD,
        EXPRESSION,
    ],
);

const REWARD_SHAPE: FieldShape = AnyOf(&[
    Text,
    FINITE,
    Mapping(&REWARD_METRIC),
    Mapping(&REWARD_CUSTOM),
    Mapping(&REWARD_COMBINE),
]);

/// A reward that is the score of one grader.
pub(crate) static REWARD_METRIC: Section = section!["a reward",
    "kind": Choice(&["metric"]), required => "the score of one grader";
    "metric_key": Text => "the grader; the first one if absent";
];

/// A reward that a Python function composes.
pub(crate) static REWARD_CUSTOM: Section = Section::new(
    "a reward",
    &[
        fields![
            "kind": Choice(&["custom"]), required => "a function of a Python file";
        ],
        NAME_AND_THRESHOLD,
        fields![
            "function": Text, needed "a custom reward needs a `function`", "for example `function: rewards.py:compose`" => "the function, `file.py:name`";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// A reward that an expression makes.
pub(crate) static REWARD_COMBINE: Section = Section::new(
    "a reward",
    &[
        fields![
            "kind": Choice(&["combine"]) => "an expression over the scores of graders";
        ],
        NAME_AND_THRESHOLD,
        EXPRESSION,
    ],
);

const GATE: FieldShape = AnyOf(&[Mapping(&SIMPLE), Mapping(&WEIGHTED), Mapping(&LOGICAL)]);

const AGGREGATION: FieldShape = Choice(&names(&AGGREGATIONS));
/// What a gate compares, and with what.
const COMPARISON: &[FieldSpec] = fields![
    "metric": AGGREGATION, or "\"avg_score\"" => "the aggregate of scores";
    "aggregation": AGGREGATION => "another name of `metric`";
    "op": Choice(&names(&OPS)), needed "the gate has no `op`", "for example `op: gte` and `value: 0.8`" => "the comparison";
    "value": FINITE, needed "the gate has no `value`", "for example `op: gte` and `value: 0.8`" => "what the aggregate is compared with";
];

/// What is compared with one score.
const ONE_SCORE: FieldShape = Number(0.0, 1.0, "between 0 and 1: it is compared with one score");

/// One aggregate of one grader against a value.
pub(crate) static SIMPLE: Section = Section::new(
    "a gate",
    &[
        fields![
            "kind": Choice(&["simple"]), or "\"simple\"" => "one aggregate of one grader";
            "metric_key": Text => "the grader; the first one if absent";
        ],
        COMPARISON,
        fields![
            "pass_op": Choice(&names(&OPS)) => "how a score is compared with `pass_value`";
            "pass_threshold": ONE_SCORE => "the least score that counts as a pass here";
            "pass_value": ONE_SCORE => "another name of `pass_threshold`";
        ],
    ],
);

pub(crate) static WEIGHTED: Section = Section::new(
    "a weighted average",
    &[
        fields![
            "kind": Choice(&["weighted_average"]), required => "a weighted mean over several graders";
        ],
        COMPARISON,
        fields![
            "weights": MapOf(&WEIGHT), needed "a weighted average needs `weights`", "write `weights: {grader: 0.7, other: 0.3}`" => "grader → weight";
        ],
    ],
);

pub(super) const WEIGHT: FieldShape = Number(0.0, f64::MAX, "a weight: non-negative and finite");

/// Several gates joined.
pub(crate) static LOGICAL: Section = section!["a logical gate",
    "kind": Choice(&["logical"]), required => "several gates, joined";
    "operator": Choice(&names(&LOGICS)), needed "a logical gate needs an `operator`", "write `operator: and` or `operator: or`" => "how they are joined";
    "conditions": ListOf(&AnyOf(&[Mapping(&SIMPLE), Mapping(&LOGICAL)])), needed "a logical gate needs `conditions`", "" => "the gates";
];
