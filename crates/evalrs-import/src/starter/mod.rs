//! Suites to start from, over data as people have them: sessions of Claude Code, chat messages, answers in a table.
//!
//! The data stay where they are, and the suite names them: a copy would be old tomorrow, and a second place for what people
//! wrote to an agent. Nothing here is a model or a setting that costs anything: what needs a judge is a comment to fill in.
//!
//! `shape` finds out what a file holds, `columns` which column of a table is which field, `text` writes the suite.

mod columns;
mod shape;
mod text;
#[cfg(test)]
mod tests;

use evalrs_base::file_path::join;
use evalrs_base::text::{count, enumerated};

use super::imported::ImportError;
use super::source::ImportSource;
use columns::TableReading;
use shape::DataShape;

/// What a suite can be started from, with what each is.
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
/// The most files that a suite leaves out by their names.
const MAX_LEFT_OUT: usize = 20;

/// A suite to start from.
#[derive(Debug, Default, PartialEq)]
pub struct StarterSuite {
    /// One of [`STARTERS`].
    pub kind: &'static str,
    /// What one sample is called, and several.
    nouns: [&'static str; 2],
    /// What a person has to know, a sentence each.
    pub notes: Vec<String>,
    dataset: StarterDataset,
    /// The first is the one that the gate looks at.
    graders: Vec<StarterGrader>,
    rubric: Rubric,
}

/// What a judge could be asked, for a person to fill in.
#[derive(Debug, Default, PartialEq)]
struct Rubric {
    question: &'static str,
    fields: Vec<&'static str>,
}

/// How the dataset is read.
#[derive(Debug, Default, PartialEq)]
struct StarterDataset {
    /// What follows the path of the source: the pattern of files in a folder.
    pattern: &'static str,
    /// Whether each file is a sample.
    is_by_file: bool,
    /// The files of the pattern that are something else.
    left_out: Vec<String>,
    leaves_out_agents: bool,
    /// Our names of columns that are called otherwise.
    fields: Vec<(String, String)>,
    /// Whether ids repeat.
    has_trials: bool,
    /// Whether some rows lack the answer.
    lacks_answers: bool,
}

/// A grader with the sentence that stands over it.
#[derive(Debug, PartialEq)]
struct StarterGrader {
    name: &'static str,
    comment: String,
    /// In YAML.
    spec: String,
}

impl StarterSuite {
    /// What `count` samples are.
    pub fn samples(&self, count: usize) -> String {
        format!("{count} {}", self.nouns[usize::from(count != 1)])
    }

    /// Whether its data are the files that a pattern matches.
    pub fn is_over_pattern(&self) -> bool {
        !self.dataset.pattern.is_empty()
    }

    /// The names of the graders.
    pub fn graders(&self) -> impl Iterator<Item = &'static str> {
        self.graders.iter().map(|grader| grader.name)
    }
}

impl StarterGrader {
    fn new(name: &'static str, comment: impl Into<String>, spec: impl Into<String>) -> Self {
        Self { name, comment: comment.into(), spec: spec.into() }
    }
}

/// The suite for a source, with the columns that the user named; none if a source holds nothing of the kind.
pub fn starter(
    source: &ImportSource<'_>,
    given: &[(String, String)],
) -> Result<Option<StarterSuite>, ImportError> {
    let found = if source.is_folder() { of_folder(source)? } else { of_file(source, given)? };
    match found {
        Some(found) if found.kind != ANSWERS && !given.is_empty() => {
            let message = format!("`--field` names columns, and `{}` has none", source.path);
            Err(ImportError::unreadable(message, "leave `--field` out"))
        }
        found => Ok(found),
    }
}

fn of_file(
    source: &ImportSource<'_>,
    given: &[(String, String)],
) -> Result<Option<StarterSuite>, ImportError> {
    let path = source.path.as_str();
    let by_file = || StarterDataset { is_by_file: true, ..StarterDataset::default() };
    let shape = shape::of(source, path);
    Ok(match &shape {
        DataShape::Session | DataShape::NoConversation => Some(sessions(by_file())),
        DataShape::Conversation { .. } => Some(messages(&shape, by_file())),
        DataShape::Conversations { .. } => Some(messages(&shape, StarterDataset::default())),
        DataShape::Rows => Some(answers(&TableReading::new(source, path)?, given)?),
        DataShape::Empty => return Err(shape::empty(path)),
        DataShape::Unknown => None,
    })
}

/// What a folder holds most particularly: sessions, else messages.
fn of_folder(source: &ImportSource<'_>) -> Result<Option<StarterSuite>, ImportError> {
    let files = files_below(source);
    let shapes: Vec<DataShape> =
        files.iter().map(|file| shape::of(source, &join(&source.path, file))).collect();
    let Some(first) = (0..3).find_map(|rank| shapes.iter().position(|it| it.rank() == Some(rank)))
    else {
        return Ok(None);
    };
    let (shape, ending) = (&shapes[first], shape::ending(&files[first]));
    let is_sessions = *shape == DataShape::Session;
    let is_agent = |file: &str| is_sessions && name_of(file).starts_with("agent-");
    let of_ending = || files.iter().zip(&shapes).filter(|(file, _)| shape::ending(file) == ending);
    let is_sample =
        |(file, found): &(&String, &DataShape)| found.rank() == shape.rank() && !is_agent(file);
    let is_deep = of_ending().filter(is_sample).any(|(file, _)| file.contains('/'));
    let in_pattern = |(file, _): &(&String, &DataShape)| is_deep || !file.contains('/');
    let others = of_ending().filter(in_pattern).filter(|it| !is_sample(it));
    let others: Vec<String> = others.map(|(file, _)| file.clone()).collect();
    let dataset = StarterDataset {
        pattern: shape::pattern(ending, is_deep),
        is_by_file: !matches!(shape, DataShape::Conversations { .. }),
        leaves_out_agents: others.iter().any(|file| is_agent(file)),
        left_out: others.into_iter().filter(|file| !is_agent(file)).collect(),
        ..StarterDataset::default()
    };
    if dataset.left_out.len() > MAX_LEFT_OUT {
        return Err(too_many_others(&source.path, &dataset.left_out));
    }
    let note = left_out_note(&dataset);
    let mut suite = if is_sessions { sessions(dataset) } else { messages(shape, dataset) };
    suite.notes.extend(note);
    Ok(Some(suite))
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
    let whole = if folder.is_empty() { source.path.clone() } else { join(&source.path, folder) };
    for name in source.list(&whole).unwrap_or_default() {
        if found.len() >= MAX_FILES {
            return;
        }
        let path = if folder.is_empty() { name.clone() } else { join(folder, &name) };
        if shape::ending(&name).is_some() {
            found.push(path);
        } else if depth < MAX_DEPTH && !name.starts_with('.') {
            gather(source, &path, depth + 1, found);
        }
    }
}

/// That a source is nothing to start from.
pub fn unrecognized(source: &ImportSource<'_>) -> ImportError {
    let path = source.path.as_str();
    if !source.is_folder() {
        let kinds: Vec<&str> = STARTERS.iter().map(|(_, reads)| *reads).collect();
        return ImportError::unreadable(
            format!("cannot start a suite from `{path}`"),
            format!("`--from` takes {}", kinds.join("; ")),
        );
    }
    let message =
        format!("the folder `{path}` has no sessions of Claude Code and no chat messages");
    let files = files_below(source);
    let is_table = |file: &&String| shape::of(source, &join(path, file)) == DataShape::Rows;
    let hint = match files.iter().find(is_table) {
        Some(file) => format!("for answers in a table, name its file: `--from {}`", join(path, file)),
        None => "a session is a `.jsonl` file that Claude Code writes below `~/.claude/projects`; \
                 messages are `.jsonl` or `.json` files with `messages`, or with a `role` on each line"
            .to_owned(),
    };
    ImportError::unreadable(message, hint)
}

fn too_many_others(folder: &str, others: &[String]) -> ImportError {
    let some: Vec<String> = others.iter().take(3).map(|file| format!("`{file}`")).collect();
    let message = format!(
        "the folder `{folder}` has {} that are no samples, such as {}",
        count(others.len(), "file"),
        enumerated(&some, "and")
    );
    ImportError::unreadable(message, "move the samples into a folder of their own, and name that")
}

fn left_out_note(dataset: &StarterDataset) -> Option<String> {
    let files = &dataset.left_out;
    let some = files.iter().take(3).map(|file| format!("`{file}`")).collect::<Vec<_>>();
    let more = if files.len() > 3 { " and others" } else { "" };
    (!files.is_empty()).then(|| {
        format!(
            "{} left out by `where`: {}{more}",
            count(files.len(), "other file"),
            some.join(", ")
        )
    })
}

fn sessions(dataset: StarterDataset) -> StarterSuite {
    let no_tool_errors = StarterGrader::new(
        "no_tool_errors",
        "A session passes if no tool call failed.",
        "{kind: tool, function: no_tool_errors}",
    );
    let few_tool_calls = StarterGrader::new(
        "few_tool_calls",
        "A session passes if it has at most this many tool calls.",
        "{kind: tool, function: max_tool_calls, config: {max: 100}}",
    );
    StarterSuite {
        kind: SESSIONS,
        nouns: ["session of Claude Code", "sessions of Claude Code"],
        notes: Vec::new(),
        dataset,
        graders: vec![no_tool_errors, few_tool_calls],
        rubric: Rubric {
            question: "Did the agent do what the user wanted?",
            fields: vec!["Task: {input}", "Last answer: {submission}"],
        },
    }
}

fn answered(what: &str) -> StarterGrader {
    let comment = format!("A {what} passes if it has an answer.");
    StarterGrader::new("answered", comment, "{kind: tool, function: length, config: {min: 1}}")
}

fn messages(shape: &DataShape, mut dataset: StarterDataset) -> StarterSuite {
    if let DataShape::Conversations { key, .. } = shape
        && key != "messages"
    {
        dataset.fields.push(("messages".to_owned(), key.clone()));
    }
    let no_tool_errors = shape.has_tools().then(|| {
        StarterGrader::new(
            "no_tool_errors",
            "A conversation passes if no tool's answer begins like an error.",
            r"{kind: tool, function: no_tool_errors, config: {pattern: '(?i)^\s*error'}}",
        )
    });
    StarterSuite {
        kind: MESSAGES,
        nouns: ["conversation", "conversations"],
        notes: Vec::new(),
        dataset,
        graders: [answered("conversation")].into_iter().chain(no_tool_errors).collect(),
        rubric: Rubric {
            question: "Is the last answer correct and helpful?",
            fields: vec!["Question: {input}", "Answer: {submission}"],
        },
    }
}

fn answers(table: &TableReading, given: &[(String, String)]) -> Result<StarterSuite, ImportError> {
    let roles = table.roles(given)?;
    let expected = roles.column("ground_truth");
    let fields = [
        roles.column("input").map(|_| "Question: {input}"),
        expected.map(|_| "A correct answer says: {ground_truth}"),
        Some("Answer: {submission}"),
    ];
    Ok(StarterSuite {
        kind: ANSWERS,
        nouns: ["row", "rows"],
        notes: roles.notes(),
        graders: vec![match expected {
            Some(column) => table.comparison(&roles, column),
            None => answered("row"),
        }],
        rubric: Rubric {
            question: "Is the answer correct and helpful?",
            fields: fields.into_iter().flatten().collect(),
        },
        dataset: StarterDataset {
            has_trials: roles.column("id").is_some_and(|id| table.repeats(id)),
            lacks_answers: table.lacks_answers(&roles),
            fields: roles.renamed(),
            ..StarterDataset::default()
        },
    })
}
