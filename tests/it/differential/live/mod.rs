//! The workspace of a target that evalrs runs, edited at random, and what it takes to evaluate it.
//!
//! Its state says which conversations there are: what a target is made of and what it is told, as the documents say it. So a
//! run over a store that has seen every earlier state must hold exactly those that are new.

mod agents;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::folder::{Files, PathContent};
use crate::letta::judge_file;
use crate::space::jsonl;

pub(super) use agents::LiveServers;
use agents::SHARED;

/// How the agent is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveKind {
    Command,
    Function,
    Http,
    Headless,
    Letta,
}

const KINDS: [LiveKind; 5] =
    [LiveKind::Command, LiveKind::Function, LiveKind::Http, LiveKind::Headless, LiveKind::Letta];

/// What stands behind the address of a deployed agent, in its header, and in its body. Without one it is sent all.
const URLS: [&str; 3] = ["", "/{id}", "?read={metadata.read}"];
const HEADERS: [&str; 3] = ["nobody", "{id}", "{metadata.read}"];
const BODIES: [&str; 4] = [
    "",
    r#"{"q": "{input}"}"#,
    r#"{"q": "{input}", "who": "{id}"}"#,
    r#"{"q": "{input}", "read": "{metadata.read}"}"#,
];

/// What may be in the template of a workspace, each with its texts or modes.
const TEMPLATE: [&str; 5] =
    ["tpl/tool.sh", "tpl/sub/note.txt", "tpl/note.txt", "tpl/empty", "tpl/sub/empty"];

/// In what folder the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkFolder {
    OfSuite,
    Empty,
    Template,
}

/// A row, by what its id is not: input, ground truth, and metadata that some target is sent or none.
#[derive(Clone, Copy, Debug)]
struct LiveRow {
    input: u32,
    truth: u32,
    read: u32,
    unread: u32,
}

impl LiveRow {
    fn random(random: &mut fastrand::Rng) -> Self {
        let mut below = |most: u32| random.u32(..most);
        Self { input: below(3), truth: below(3), read: below(2), unread: below(4) }
    }
}

/// The adapter of a command line: what decides answers, and what does not.
#[derive(Clone, Debug)]
struct AdapterState {
    flag: u32,
    name: u32,
    timeout: u32,
    is_indented: bool,
    is_reversed: bool,
}

impl AdapterState {
    fn text(&self) -> String {
        let mut members = [
            ("version", json!(1)),
            ("name", json!(format!("agent-{}", self.name))),
            ("command", json!(["./agent.sh", format!("--flag-{}", self.flag)])),
            ("sessionMode", json!("iterative")),
            ("prompt", json!({"stdin": true})),
            ("output", json!({"flag": "", "value": ""})),
            ("timeout", json!(100_000 + self.timeout)),
            ("result", json!({"matchPath": "$.said", "matchValue": "*", "contentPath": "$.said"})),
        ];
        if self.is_reversed {
            members.reverse();
        }
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("{}: {value}", json!(name))).collect();
        let between = if self.is_indented { ",\n    " } else { ", " };
        format!("{{{}}}\n", members.join(between))
    }
}

/// The state of a workspace.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is there or not")]
pub(super) struct LiveWorkspace {
    kind: LiveKind,
    /// By the number in its id.
    rows: BTreeMap<u32, LiveRow>,
    /// Whether there are many rows between two that are answered alike, of which only the last is graded by what a program
    /// extracts.
    has_crowd: bool,
    folder: WorkFolder,
    keep: &'static str,
    is_git: bool,
    template: Files,
    sees_id: bool,
    word: u32,
    url: &'static str,
    header: &'static str,
    body: &'static str,
    adapter: AdapterState,
    persona: u32,
    /// The Letta server that the environment names, or the suite.
    server: usize,
    is_named_by_suite: bool,
    rubric: u32,
    has_extractor: bool,
    /// The price of the judge.
    price: u32,
    round: u32,
}

impl LiveWorkspace {
    /// The first state. Of a session the environment stays what it is, so that nothing of it is edited there.
    pub(super) fn new(kind: LiveKind, is_watched: bool) -> Self {
        let row = |at| (at, LiveRow { input: at % 3, truth: at % 2, read: 0, unread: 0 });
        Self {
            kind,
            rows: (0..5).map(row).collect(),
            has_crowd: false,
            folder: WorkFolder::OfSuite,
            keep: "failed",
            is_git: false,
            template: Files::new(),
            sees_id: false,
            word: 0,
            url: URLS[0],
            header: HEADERS[0],
            body: BODIES[1],
            adapter: AdapterState {
                flag: 0,
                name: 0,
                timeout: 0,
                is_indented: false,
                is_reversed: false,
            },
            persona: 0,
            server: 0,
            is_named_by_suite: is_watched,
            rubric: 0,
            has_extractor: true,
            price: 0,
            round: 0,
        }
    }

    /// The number of the round, by which an evaluation is recognised.
    pub(super) fn number(&mut self, round: u32) {
        self.round = round;
    }

    /// The threshold of the gate.
    pub(super) fn threshold(&self) -> f64 {
        format!("0.{:04}", self.round).parse().unwrap()
    }

    /// One to three edits at random, or back to how it was `earlier`. Returns what was done.
    pub(super) fn edit(&mut self, earlier: &[Self], random: &mut fastrand::Rng) -> Vec<String> {
        super::some_edits(self, earlier, random, Self::edit_once)
    }

    fn edit_once(&mut self, random: &mut fastrand::Rng) -> String {
        match random.u32(..16) {
            0..=1 => return self.edit_row(random),
            2..=3 => return self.edit_beside_input(random),
            4..=10 => return self.edit_target(self.kind, random),
            11 => return self.edit_target(KINDS[random.usize(..KINDS.len())], random),
            12 => self.kind = KINDS[random.usize(..KINDS.len())],
            13..=14 => self.has_crowd = !self.has_crowd,
            _ => match random.u32(..3) {
                0 => self.has_extractor = !self.has_extractor,
                1 if !self.is_named_by_suite => self.price = random.u32(..3),
                _ => self.rubric = random.u32(..3),
            },
        }
        let Self { kind, has_crowd, has_extractor, rubric, price, .. } = self;
        format!(
            "suite: {kind:?} crowd {has_crowd} extractor {has_extractor} rubric {rubric} price {price}"
        )
    }

    fn edit_row(&mut self, random: &mut fastrand::Rng) -> String {
        let at = random.u32(..8);
        if self.rows.len() > 2 && random.u32(..3) == 0 && self.rows.remove(&at).is_some() {
            return format!("remove row {at}");
        }
        self.rows.insert(at, LiveRow::random(random));
        format!("write row {at}")
    }

    /// Edits what few targets are told of a row: its id or its metadata.
    fn edit_beside_input(&mut self, random: &mut fastrand::Rng) -> String {
        let at = *self.rows.keys().nth(random.usize(..self.rows.len())).unwrap();
        let mut row = self.rows.remove(&at).unwrap();
        let mut id = at;
        match random.u32(..3) {
            0 => id = at % 10 + 10 * random.u32(..5),
            1 => row.read = random.u32(..2),
            _ => row.unread = random.u32(..4),
        }
        self.rows.insert(id, row);
        format!("row {at}: now {id} {row:?}")
    }

    fn edit_target(&mut self, kind: LiveKind, random: &mut fastrand::Rng) -> String {
        match (kind, random.u32(..4)) {
            (LiveKind::Http, _) => {
                match random.u32(..3) {
                    0 => self.url = URLS[random.usize(..URLS.len())],
                    1 => self.header = HEADERS[random.usize(..HEADERS.len())],
                    _ => self.body = BODIES[random.usize(..BODIES.len())],
                }
                format!("http {} {} {}", self.url, self.header, self.body)
            }
            (LiveKind::Letta, _) => {
                if random.bool() {
                    self.server = 1 - self.server;
                } else {
                    self.persona = random.u32(..2);
                }
                format!("letta: server {} persona {}", self.server, self.persona)
            }
            (LiveKind::Headless, 0..=1) => {
                let adapter = &mut self.adapter;
                match random.u32(..6) {
                    0 => adapter.flag = random.u32(..2),
                    1..=2 => adapter.name = random.u32(..3),
                    3 => adapter.timeout = random.u32(..3),
                    4 => adapter.is_indented = !adapter.is_indented,
                    _ => adapter.is_reversed = !adapter.is_reversed,
                }
                format!("{adapter:?}")
            }
            (LiveKind::Function, 0) => {
                self.word = random.u32(..3);
                format!("word {}", self.word)
            }
            (LiveKind::Command | LiveKind::Function, 1) => {
                self.sees_id = !self.sees_id;
                format!("sees id: {}", self.sees_id)
            }
            (_, 2) => self.edit_workspace(random),
            _ => self.edit_template(random),
        }
    }

    fn edit_workspace(&mut self, random: &mut fastrand::Rng) -> String {
        match random.u32(..8) {
            0 => self.is_git = !self.is_git,
            1..=2 => self.keep = ["failed", "always", "never"][random.usize(..3)],
            3 => self.folder = WorkFolder::OfSuite,
            4 => self.folder = WorkFolder::Empty,
            _ => self.folder = WorkFolder::Template,
        }
        format!("workspace: {:?}, keep {}, git {}", self.folder, self.keep, self.is_git)
    }

    /// Adds, edits or removes something in the template of the workspace.
    fn edit_template(&mut self, random: &mut fastrand::Rng) -> String {
        let path = TEMPLATE[random.usize(..TEMPLATE.len())];
        if random.u32(..3) == 0 && self.template.remove(path).is_some() {
            return format!("remove {path}");
        }
        let script = format!("#!/bin/sh\necho tool {}\n", random.u32(..2));
        let content = match path {
            "tpl/tool.sh" if random.bool() => PathContent::Script(script),
            "tpl/tool.sh" => PathContent::Text(script),
            _ if path.ends_with("empty") => PathContent::EmptyFolder,
            _ => PathContent::Text(format!("{}\n", random.u32(..2))),
        };
        // Most often its mode alone is another.
        let content = match (self.template.remove(path), content) {
            (Some(PathContent::Text(text)), PathContent::Script(_)) => PathContent::Script(text),
            (Some(PathContent::Script(text)), PathContent::Text(_)) => PathContent::Text(text),
            (_, content) => content,
        };
        let told = format!("{path}: {content:?}");
        self.template.insert(path.to_owned(), content);
        self.folder = WorkFolder::Template;
        told
    }

    /// Every conversation: what the target is made of, and what it is told.
    pub(super) fn conversations(&self) -> BTreeSet<String> {
        let made_of = self.made_of();
        self.all_rows().iter().map(|row| format!("{made_of} {}", self.told(row))).collect()
    }

    /// What decides answers beside the sample.
    fn made_of(&self) -> String {
        let Self { kind, folder, is_git, template, sees_id, word, persona, server, .. } = self;
        let folder = match folder {
            WorkFolder::OfSuite => "none".to_owned(),
            WorkFolder::Empty => format!("empty {is_git}"),
            WorkFolder::Template => format!("{template:?} {is_git}"),
        };
        match kind {
            LiveKind::Command => format!("command {sees_id} {folder}"),
            LiveKind::Function => format!("function {sees_id} {word} {folder}"),
            LiveKind::Http => format!("http {} {} {}", self.url, self.header, self.body),
            LiveKind::Headless => format!("headless {} {folder}", self.adapter.flag),
            LiveKind::Letta => format!("letta {persona} {server}"),
        }
    }

    /// What a target is told of a row, and the id where its answers rest on that.
    fn told(&self, row: &Value) -> String {
        let all = format!("{} {}", row["input"], row["metadata"]);
        let named = [self.url, self.header, self.body].concat();
        let (told, has_id) = match self.kind {
            LiveKind::Command | LiveKind::Function => (all, self.sees_id),
            LiveKind::Http if self.body.is_empty() => (all, named.contains("{id}")),
            LiveKind::Http => {
                let read = named.contains("{metadata.read}").then(|| &row["metadata"]["read"]);
                (format!("{} {read:?}", row["input"]), named.contains("{id}"))
            }
            LiveKind::Headless | LiveKind::Letta => (row["input"].to_string(), false),
        };
        if has_id { format!("{told} {}", row["id"]) } else { told }
    }

    /// What is asked of the answers: of the judge, and of the program that extracts, where their graders apply.
    pub(super) fn judgments(&self, results: &[Value]) -> BTreeSet<String> {
        let mut judgments = BTreeSet::new();
        for line in results {
            let text = &line["submission"];
            if line["grades"]["polite"].is_object() {
                judgments.insert(format!("polite {} {text}", self.rubric));
            }
            if self.has_extractor && line["grades"]["picked"].is_object() {
                judgments.insert(format!("pick {} {text}", line["input"]));
            }
        }
        judgments
    }

    fn all_rows(&self) -> Vec<Value> {
        let row = |id: String, input: String, row: &LiveRow| {
            let metadata = json!({"read": row.read, "unread": row.unread});
            json!({"id": id, "input": input, "ground_truth": format!("q{}", row.truth), "metadata": metadata})
        };
        let of_crowd = LiveRow { input: 0, truth: 0, read: 0, unread: 0 };
        let graded_by = |graders: &[&str], mut row: Value| {
            row["graders"] = json!(graders);
            row
        };
        let shared = |id: &str| row(id.to_owned(), format!("{SHARED} {id}"), &of_crowd);
        let mut rows = Vec::new();
        if self.has_crowd {
            rows.push(graded_by(&["right"], shared("first")));
            let in_crowd = |at| row(format!("c{at}"), format!("x{}", at % 6), &of_crowd);
            rows.extend((0..240).map(|at| graded_by(&["right"], in_crowd(at))));
            rows.push(graded_by(&["right", "picked"], shared("last")));
        }
        rows.extend(
            self.rows
                .iter()
                .map(|(id, held)| row(format!("s{id}"), format!("q{}", held.input), held)),
        );
        rows
    }

    /// Every file.
    pub(super) fn files(&self, servers: &LiveServers) -> Files {
        let mut bot = judge_file();
        bot["agents"][0]["system"] = json!(format!("You are agent {}.", self.persona));
        let adverb = ["", "very ", "hardly "][self.rubric as usize];
        let prices = match self.price {
            0 => String::new(),
            price => format!(
                "[prices.\"scripted-1\"]\ninput = {price}\noutput = 1\n\n[prices.\"judge-1\"]\ninput = {price}\noutput = 1\n"
            ),
        };
        let mut files: Files = [
            ("bot.py", agents::function(self.sees_id)),
            ("words.py", format!("WORD = 'word {}'\n", self.word)),
            ("adapter.json", self.adapter.text()),
            ("bot.af", format!("{bot}\n")),
            (
                "pick.py",
                "def pick(trajectory, config):\n    return trajectory[-1][-1].content[::2]\n"
                    .to_owned(),
            ),
            ("rubric.txt", format!("Is it {adverb}polite? {{submission}}\n")),
            ("rows.jsonl", jsonl(self.all_rows())),
            ("tpl/always.txt", "always\n".to_owned()),
            ("evalrs.toml", prices),
            ("suite.yaml", self.suite(servers)),
        ]
        .map(|(path, text)| (path.to_owned(), PathContent::Text(text)))
        .into();
        files.insert("agent.sh".to_owned(), PathContent::Script(agents::headless()));
        files.extend(self.template.clone());
        files
    }

    /// The variables of a run.
    pub(super) fn variables(&self, servers: &LiveServers) -> Vec<(&'static str, String)> {
        let letta = ("LETTA_BASE_URL", servers.letta_url(self.server));
        vec![("OPENAI_BASE_URL", servers.judge.url()), letta]
    }

    fn suite(&self, servers: &LiveServers) -> String {
        let extractor = if self.has_extractor { ", extractor: 'pick.py:pick'" } else { "" };
        format!(
            "\
name: live
dataset: rows.jsonl
target: {}
graders:
  polite: {{kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, pass_threshold: 0.5}}
  right: {{kind: tool, function: contains}}
  picked: {{kind: tool, function: length, config: {{max: 40}}{extractor}}}
gate: {{metric_key: right, metric: avg_score, op: gte, value: {}}}
",
            self.target(servers),
            self.threshold()
        )
    }

    fn target(&self, servers: &LiveServers) -> Value {
        let mut target = match self.kind {
            LiveKind::Command => {
                json!({"kind": "command", "command": ["sh", "-c", agents::command(self.sees_id)]})
            }
            LiveKind::Function => json!({"kind": "function", "path": "bot.py:run"}),
            LiveKind::Http => {
                let url = format!("{}{}", servers.agent_url(), self.url);
                json!({"kind": "http", "url": url, "headers": {"x-who": self.header}})
            }
            LiveKind::Headless => json!({"kind": "headless", "adapter": "./adapter.json"}),
            LiveKind::Letta => json!({"kind": "letta_agent", "agent_file": "bot.af"}),
        };
        target["timeout"] = json!(100);
        let is_program = matches!(self.kind, LiveKind::Command | LiveKind::Function);
        if is_program && self.sees_id {
            target["sees"] = json!(["id"]);
        }
        match self.kind {
            LiveKind::Http if !self.body.is_empty() => {
                target["body"] = serde_json::from_str(self.body).unwrap();
            }
            LiveKind::Letta if self.is_named_by_suite => {
                target["base_url"] = json!(servers.letta_url(self.server));
            }
            _ => {}
        }
        let has_folder = is_program || self.kind == LiveKind::Headless;
        if has_folder && self.folder != WorkFolder::OfSuite {
            target["workspace"] = json!({"keep": self.keep, "git": self.is_git});
        }
        if has_folder && self.folder == WorkFolder::Template {
            target["workspace"]["template"] = json!("tpl");
        }
        target
    }
}
