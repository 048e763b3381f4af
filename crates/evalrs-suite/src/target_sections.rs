//! The fields of targets that are run, by kind.

use super::judges::REPLY_FORMATS;
use super::section::FieldShape::{
    self, AnyOf, Anything, Choice, ListOf, MapOf, Mapping, Number, OrNull, Text, Texts, Truth,
    Whole,
};
use super::section::{COUNT, FRACTION, FieldSpec, Section, fields, names, section};
use super::sections::{ENVIRONMENT, HEADERS, SANDBOX_SHAPE};
use super::seen_id::SEES;
use evalrs_model::spec::KeepWorkspace;

/// Whose workspaces stay, by name.
pub(super) const KEEPS: [(&str, KeepWorkspace); 3] = [
    ("never", KeepWorkspace::Never),
    ("failed", KeepWorkspace::Failed),
    ("always", KeepWorkspace::Always),
];

/// What every target that is run has.
const COMMON: &[FieldSpec] = fields![
    "version": Text => "what files cannot say, part of the key: any text, for example the day of a deployment";
    "inputs": Texts => "files, folders and patterns that the target rests on: when they change, it runs again";
    "env": ENVIRONMENT => "names of further environment variables that it sees; {NAME: secret} keeps the value out of keys, {NAME: plain} in them";
    "cache": Truth, or "true" => "false runs it in every evaluation";
    "timeout": FieldShape::Seconds, or "300" => "seconds one conversation may take";
    "retries": Whole(0, 100, "between 0 and 100"), or "1" => "further attempts after a failure that may pass: a time-out, a broken connection, a server that is overloaded";
    "setup": Texts => "a command, word by word, before the first conversation";
    "teardown": Texts => "a command after the last conversation, also after a failure or Ctrl-C";
];

/// What targets have that work in a folder.
const IN_FOLDER: &[FieldSpec] = fields![
    "workspace": WORKSPACE_SHAPE => "a fresh folder for every conversation";
    "outputs": Texts => "files and patterns that the target writes while it runs, though its words name them: no part of the key";
    "setup_each": Texts => "a command in the workspace, before each conversation";
    "teardown_each": Texts => "a command in the workspace, after each conversation";
];

/// What targets have that are told the id of a sample.
const TOLD_ID: &[FieldSpec] = fields![
    "sees": SEES => "`[id]` where answers rest on the id of the sample: it is in the key then";
];

const WORKSPACE_SHAPE: FieldShape = AnyOf(&[Truth, Mapping(&WORKSPACE)]);

/// What targets have whose user may be simulated.
const WITH_USER: &[FieldSpec] = fields![
    "user": Mapping(&USER) => "a model that answers for the user";
];

pub(crate) static WORKSPACE: Section = section!["`workspace`",
    "template": Text => "the folder that it is a copy of; empty if absent";
    "git": Truth, or "false" => "whether it is a git repository, so that `{row.workspace_diff}` says what was changed";
    "keep": Choice(&names(&KEEPS)), or "\"failed\"" => "whose folders stay: those of conversations that failed, all, or none";
];

pub(crate) static COMMAND_TARGET: Section = Section::new(
    "a command target",
    &[
        fields![
            "kind": Choice(&["command"]), required => "a process for each conversation";
            "command": Texts, needed "a command target needs a `command`", "for example `command: [python3, agent.py]`" => "its words, run without a shell; a program with a slash is of the suite's folder";
            "answer": Text => "where the answer stands in the JSON that it prints: a path such as `$.reply`";
            "sandbox": SANDBOX_SHAPE => "none, auto or bubblewrap; or {kind, memory, cpu}";
            "cwd": Text => "the folder it runs in without a workspace; the suite's if absent";
        ],
        COMMON,
        TOLD_ID,
        IN_FOLDER,
    ],
);

pub(crate) static FUNCTION_TARGET: Section = Section::new(
    "a function target",
    &[
        fields![
            "kind": Choice(&["function"]), required => "a function in a worker";
            "path": Text, needed "a function target needs a `path`", "for example `path: agent.py:run`" => "`file.py:name`, or a module that exports `run`";
            "answer": Text => "where the answer stands in what it returns: a path such as `$.reply`";
            "runtime": Text => "what runs it: a name such as `python3.12` or `bun`, or a path";
            "sandbox": SANDBOX_SHAPE => "none, auto or bubblewrap; or {kind, memory, cpu}";
            "cwd": Text => "the folder it runs in; the suite's if absent";
        ],
        COMMON,
        TOLD_ID,
        IN_FOLDER,
    ],
);

pub(crate) static HEADLESS_TARGET: Section = Section::new(
    "a headless target",
    &[
        fields![
            "kind": Choice(&["headless"]), required => "the command line of an agent";
            "adapter": Text, needed "a headless target needs an `adapter`", "`claude-code`, `gemini-cli`, `codex` or a JSON file" => "how it is started and read: claude-code, gemini-cli, codex, or a JSON file";
            "cwd": Text => "the folder it runs in without a workspace; the suite's if absent";
        ],
        COMMON,
        IN_FOLDER,
        WITH_USER,
    ],
);

pub(crate) static HTTP_TARGET: Section = Section::new(
    "an HTTP target",
    &[
        fields![
            "kind": Choice(&["http"]), required => "a deployed agent";
            "url": Text, needed "an HTTP target needs a `url`", "for example `url: https://agent.example.com/chat`" => "where requests go; may hold placeholders";
            "method": Choice(&["POST", "GET", "PUT"]), or "\"POST\"" => "how";
            "headers": HEADERS => "further headers: text, or {env: NAME} for secrets";
            "body": Anything => "JSON whose texts may hold placeholders such as {input}; what a command is handed if absent";
            "answer": Text => "where the answer stands in the reply: a path such as `$.output`";
            "messages": Text => "where all messages stand in the reply";
            "session": Text => "where the name of the conversation stands in the reply: then every turn is a request, and `{session}` stands for it";
            "stream": Choice(&["sse"]) => "the reply is a stream of server-sent events, whose texts at `answer` are joined";
            "endpoint": Text => "stands for the URL in the key";
        ],
        COMMON,
        TOLD_ID,
        WITH_USER,
    ],
);

/// What is said of a model that talks.
const MODEL: &[FieldSpec] = fields![
    "provider": Text, or "\"openai\"" => "the protocol; `openai` is any OpenAI-compatible endpoint";
    "model": Text => "the model; those of `models` take its place";
    "base_url": Text => "where it is asked; no part of the key if `endpoint` is set";
    "endpoint": Text => "stands for the base URL in the key";
    "api_key_env": Text => "the environment variable that holds the key";
    "headers": HEADERS => "further headers: text, or {env: NAME} for secrets";
    "temperature": OrNull(&Number(0.0, 2.0, "between 0 and 2, or null")) => "none is sent if absent";
    "seed": Whole(i64::MIN, i64::MAX, "a whole number of 64 bits") => "the sampling seed; the trial is added to it";
    "max_tokens": COUNT => "the most tokens of a reply";
    "top_p": FRACTION => "nucleus sampling";
    "extra_body": MapOf(&Anything) => "further members of the request";
    "response_format": Choice(&names(&REPLY_FORMATS)) => "not used here";
];

pub(crate) static CHAT_TARGET: Section = Section::new(
    "a chat target",
    &[
        fields![
            "kind": Choice(&["chat"]), required => "a model with a system prompt and tools";
            "system": Text => "the system prompt";
            "system_path": Text => "a file that holds it";
            "tools": AnyOf(&[Text, ListOf(&Anything)]) => "tools as {name, description, parameters}, or a JSON file that holds a list of them";
            "tool_program": AnyOf(&[Text, Texts]) => "what answers tool calls: `file.py:name`, a module that exports `tool`, or a command";
            "max_turns": Whole(1, 1000, "between 1 and 1000"), or "20" => "requests to the model in one conversation, at most";
        ],
        MODEL,
        COMMON,
        TOLD_ID,
        WITH_USER,
    ],
);

/// The model that answers for a user.
pub(crate) static USER: Section = Section::new(
    "`user`",
    &[
        fields![
            "persona": Text => "who the user is and what they want";
            "persona_path": Text => "a file that says so";
            "max_turns": Whole(1, 1000, "between 1 and 1000"), or "10" => "messages of the user, at most, the input among them";
            "stop_when": Text => "the conversation ends with the message of the user that holds this text";
        ],
        MODEL,
    ],
);

/// A model that a target is run with.
pub(crate) static TARGET_MODEL: Section = section!["a model of `models`",
    "name": Text, needed "a model has no `name`", "" => "its name";
    "provider": Text => "whose API it is asked at, where that is not the target's";
];
