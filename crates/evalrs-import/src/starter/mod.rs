//! Suites to start from, over data as people have them: sessions of Claude Code, chat messages, answers in a table.
//!
//! The data stay where they are, and the suite names them: a copy would be old tomorrow, and a second place for what people
//! wrote to an agent. No grader here calls a model: what needs a judge is a comment to fill in.
//!
//! `shape` finds out what a file holds, `columns` which column of a table is which field, `text` writes the suite.

mod columns;
mod shape;
#[cfg(test)]
mod tests;
mod text;

use evalrs_base::file_path::join;
use evalrs_base::text::count;

use super::imported::ImportError;
use super::source::ImportSource;
use columns::TableReading;
use shape::DataShape;

/// The data that a suite can be started from, with what each kind is.
pub const STARTERS: [(&str, &str); 3] = [
    (SESSIONS, "a session of Claude Code, or a folder of them"),
    (MESSAGES, "chat messages of the OpenAI API, in a file or a folder of them"),
    (ANSWERS, "answers in CSV, TSV, JSON or JSON Lines, one per row"),
];

const SESSIONS: &str = "claude-code";
const MESSAGES: &str = "openai-messages";
const ANSWERS: &str = "answers";

/// How deep folders are looked through, and how many files of them.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 20_000;

/// A suite to start from.
#[derive(Debug, Default, PartialEq)]
pub struct StarterSuite {
    /// One of [`STARTERS`].
    pub kind: &'static str,
    /// What a person has to know, a sentence each.
    pub notes: Vec<String>,
    /// What follows the path of a folder: the pattern of its files.
    pub pattern: String,
    /// What one sample is called, and several.
    nouns: [&'static str; 2],
    /// The lines of the dataset below its path, in YAML.
    dataset: Vec<String>,
    /// The first is the one that the gate looks at.
    graders: Vec<StarterCheck>,
    /// What a judge could grade, for a person to fill in: a question, and the fields.
    rubric: Vec<&'static str>,
}

/// A grader with the sentence that stands over it.
#[derive(Debug, PartialEq)]
struct StarterCheck {
    name: &'static str,
    comment: String,
    /// In YAML.
    spec: String,
}

impl StarterSuite {
    /// `count` samples in words.
    pub fn samples(&self, count: usize) -> String {
        format!("{count} {}", self.nouns[usize::from(count != 1)])
    }

    /// The names of the graders.
    pub fn graders(&self) -> impl Iterator<Item = &'static str> {
        self.graders.iter().map(|grader| grader.name)
    }
}

impl StarterCheck {
    fn new(name: &'static str, comment: impl Into<String>, spec: impl Into<String>) -> Self {
        Self { name, comment: comment.into(), spec: spec.into() }
    }
}

/// The suite for a source, with the columns that the user named; none if a source holds nothing of the kind.
pub fn starter(
    source: &ImportSource<'_>,
    given: &[(String, String)],
) -> Result<Option<StarterSuite>, ImportError> {
    let path = source.path.as_str();
    let shape = if source.is_folder() { DataShape::Unknown } else { shape::of(source, path) };
    if shape == DataShape::Rows {
        return Ok(Some(answers(&TableReading::new(source, path, given)?)));
    }
    if !given.is_empty() {
        let message = format!("`--field` names columns, and `{path}` has none");
        return Err(ImportError::unreadable(message, "leave `--field` out"));
    }
    match shape {
        DataShape::Empty => Err(shape::empty(path)),
        DataShape::Unknown => Ok(of_folder(source)),
        shape => Ok(Some(conversations(&shape))),
    }
}

/// What a folder holds most particularly: sessions, else messages. What else has their ending is left out by its name.
fn of_folder(source: &ImportSource<'_>) -> Option<StarterSuite> {
    let shape_of = |file: String| (shape::of(source, &join(&source.path, &file)), file);
    let files: Vec<(DataShape, String)> = files_below(source).into_iter().map(shape_of).collect();
    let ranked = files.iter().filter_map(|(shape, file)| Some((shape.rank()?, shape, file)));
    let (rank, shape, first) = ranked.min_by_key(|(rank, ..)| *rank)?;
    let ending = shape::ending(first)?;
    let is_sessions = *shape == DataShape::Session;
    let is_named_agent = |file: &str| name_of(file).starts_with("agent-");
    let is_main = |(found, file): &(DataShape, String)| found == shape && !is_named_agent(file);
    let has_main = is_sessions && files.iter().any(is_main);
    let is_agent = |file: &str| has_main && is_named_agent(file);
    let of_ending = files.iter().filter(|(_, file)| shape::ending(file) == Some(ending));
    // A dataset of sessions leaves out empty ones by itself.
    let (samples, others): (Vec<_>, Vec<_>) = of_ending
        .filter(|(found, _)| !(is_sessions && *found == DataShape::Empty))
        .partition(|(found, file)| found.rank() == Some(rank) && !is_agent(file));
    let is_deep = samples.iter().any(|(_, file)| file.contains('/'));
    let others = others.iter().map(|(_, file)| file.as_str());
    let others: Vec<&str> = others.filter(|file| is_deep || !file.contains('/')).collect();
    let (agents, others): (Vec<&str>, Vec<&str>) = others.iter().partition(|file| is_agent(file));
    let mut suite = conversations(shape);
    suite.pattern = format!("/{}*.{ending}", if is_deep { "**/" } else { "" });
    let mut conditions = Vec::new();
    if !others.is_empty() {
        conditions.push(format!("file.path not in [{}]", text::quoted(&others)));
        let more = if others.len() > 3 { " and others" } else { "" };
        let some = others[..others.len().min(3)].join("`, `");
        let files = count(others.len(), "other file");
        suite.notes.push(format!("{files} left out by `where`: `{some}`{more}"));
    }
    if !agents.is_empty() {
        conditions.push("not matches(file.name, '^agent-')".to_owned());
        suite.notes.push(format!("{} left out by `where`", count(agents.len(), "sub-agent")));
    }
    if !conditions.is_empty() {
        suite.dataset.push(format!("where: {}", text::scalar(&conditions.join(" and "))));
    }
    Some(suite)
}

fn name_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The data files of a folder by their paths below it, sorted.
fn files_below(source: &ImportSource<'_>) -> Vec<String> {
    let mut found = Vec::new();
    gather(source, "", 0, &mut found);
    found
}

fn gather(source: &ImportSource<'_>, folder: &str, depth: usize, found: &mut Vec<String>) {
    for name in source.list(&below(&source.path, folder)).unwrap_or_default() {
        if found.len() >= MAX_FILES {
            return;
        }
        let path = below(folder, &name);
        if shape::ending(&name).is_some() {
            found.push(path);
        } else if depth < MAX_DEPTH && !name.starts_with('.') {
            gather(source, &path, depth + 1, found);
        }
    }
}

/// A path in a folder, either of which may be empty.
fn below(folder: &str, path: &str) -> String {
    let is_one = folder.is_empty() || path.is_empty();
    if is_one { format!("{folder}{path}") } else { join(folder, path) }
}

/// That a source is nothing to start from.
pub fn unrecognized(source: &ImportSource<'_>) -> ImportError {
    let path = source.path.as_str();
    if !source.is_folder() {
        let kinds = STARTERS.map(|(_, reads)| reads).join("; ");
        let message = format!("cannot start a suite from `{path}`");
        return ImportError::unreadable(message, format!("`--from` takes {kinds}"));
    }
    let message =
        format!("the folder `{path}` has no sessions of Claude Code and no chat messages");
    let mut files = files_below(source).into_iter().map(|file| join(path, &file));
    let hint = match files.find(|file| shape::of(source, file) == DataShape::Rows) {
        Some(file) => format!("for answers in a table, name its file: `--from {file}`"),
        None => "a session is a `.jsonl` file that Claude Code writes below `~/.claude/projects`; \
                 messages are `.jsonl` or `.json` files with `messages`, or with a `role` on each line"
            .to_owned(),
    };
    ImportError::unreadable(message, hint)
}

/// The suite over sessions or messages.
fn conversations(shape: &DataShape) -> StarterSuite {
    let mut dataset = vec!["sample: file                # each file is one sample".to_owned()];
    let DataShape::Chats { key, has_tools } = shape else { return sessions(dataset) };
    if let Some(key) = key {
        dataset.clear();
        if key != "messages" {
            dataset.push(format!("fields: {{messages: {}}}", text::column(key)));
        }
    }
    let mut graders = vec![answered("conversation")];
    if *has_tools {
        graders.push(StarterCheck::new(
            "no_tool_errors",
            "A conversation passes if no tool's answer begins like an error.",
            r"{kind: tool, function: no_tool_errors, config: {pattern: '(?i)^\s*error'}}",
        ));
    }
    StarterSuite {
        kind: MESSAGES,
        nouns: ["conversation", "conversations"],
        dataset,
        graders,
        rubric: vec![
            "Is the last answer correct and helpful?",
            "Question: {input}",
            "Answer: {submission}",
        ],
        ..StarterSuite::default()
    }
}

fn sessions(dataset: Vec<String>) -> StarterSuite {
    let no_tool_errors = StarterCheck::new(
        "no_tool_errors",
        "A session passes if no tool call failed.",
        "{kind: tool, function: no_tool_errors}",
    );
    let few_tool_calls = StarterCheck::new(
        "few_tool_calls",
        "A session passes if it has at most this many tool calls.",
        "{kind: tool, function: max_tool_calls, config: {max: 100}}",
    );
    StarterSuite {
        kind: SESSIONS,
        nouns: ["session of Claude Code", "sessions of Claude Code"],
        dataset,
        graders: vec![no_tool_errors, few_tool_calls],
        rubric: vec![
            "Did the agent do what the user wanted?",
            "Task: {input}",
            "Last answer: {submission}",
        ],
        ..StarterSuite::default()
    }
}

fn answered(what: &str) -> StarterCheck {
    let comment = format!("A {what} passes if it has an answer.");
    StarterCheck::new("answered", comment, "{kind: tool, function: length, config: {min: 1}}")
}

fn answers(table: &TableReading) -> StarterSuite {
    let expected = table.column("ground_truth");
    let fields = table.renamed().map(|(ours, column)| format!("{ours}: {}", text::column(column)));
    let fields = fields.collect::<Vec<_>>().join(", ");
    let dataset = [
        (!fields.is_empty()).then(|| format!("fields: {{{fields}}}")),
        table.repeats_ids().then(|| {
            "trials: by_order            # rows with one id are trials of one sample".to_owned()
        }),
        table
            .lacks("output")
            .then(|| "missing: empty              # a row without an answer scores 0".to_owned()),
    ];
    let rubric = [
        Some("Is the answer correct and helpful?"),
        table.column("input").map(|_| "Question: {input}"),
        expected.map(|_| "A correct answer says: {ground_truth}"),
        Some("Answer: {submission}"),
    ];
    StarterSuite {
        kind: ANSWERS,
        nouns: ["row", "rows"],
        notes: table.notes(),
        dataset: dataset.into_iter().flatten().collect(),
        graders: vec![match expected {
            Some(column) => table.comparison(column),
            None => answered("row"),
        }],
        rubric: rubric.into_iter().flatten().collect(),
        ..StarterSuite::default()
    }
}
