//! A case: its steps in a workspace of its own, and what its commands printed other than expected.

use std::sync::{Arc, Mutex};

use crate::judge::{Answer, Asked, Judge};
use crate::space::{Space, lines};

use super::output;
use super::rules::Rules;

/// What a fence says to do.
pub(super) enum Step {
    /// Write a file.
    Write { path: String, text: String },
    /// Replace text of a file, or add to its end.
    Edit { line: usize, path: String, lines: Vec<String> },
    /// From here on the judge answers by these rules.
    Judge(Rules),
    /// Run commands.
    Run(Vec<Command>),
}

impl Step {
    /// Whether a text stands anywhere in it.
    pub(super) fn mentions(&self, text: &str) -> bool {
        let holds = |one: &String| one.contains(text);
        match self {
            Self::Write { path, text } => holds(path) || holds(text),
            Self::Edit { path, lines, .. } => holds(path) || lines.iter().any(holds),
            Self::Judge(rules) => rules.texts().any(holds),
            Self::Run(commands) => {
                commands.iter().any(|one| holds(&one.text) || one.expected.iter().any(holds))
            }
        }
    }
}

/// A command of a console, its line in the document and the lines that it prints.
pub(super) struct Command {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) expected: Vec<String>,
}

/// A command that printed something else than the document says.
pub(super) struct Mismatch {
    pub(super) line: usize,
    pub(super) place: String,
    pub(super) expected: Vec<String>,
    pub(super) found: String,
    /// Whether what was found can be written into the document: cells of a table cannot.
    pub(super) is_writable: bool,
    command: String,
}

impl Mismatch {
    /// For a reader: the place, the command, and the lines that differ.
    pub(super) fn shown(&self) -> String {
        let lines = output::changes(&self.expected, &self.found);
        format!("{}\n  $ {}\n{lines}", self.place, self.command)
    }
}

/// A workspace, the judge that its steps have set up, and the values of the table's row.
struct Case<'c> {
    space: Space,
    rules: Arc<Mutex<Option<Rules>>>,
    judge: Option<Judge>,
    /// How many requests were shown already.
    seen: usize,
    row: &'c [(String, String)],
}

/// A text with the values of a row in place of `<column>`.
pub(super) fn filled(text: &str, row: &[(String, String)]) -> String {
    row.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Runs steps in a new workspace.
pub(super) fn run(steps: &[&Step], row: &[(String, String)]) -> Vec<Mismatch> {
    let space = Space::new(&[]);
    let mut case = Case { space, rules: Arc::default(), judge: None, seen: 0, row };
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Write { path, text } => case.write(&case.filled(path), &case.filled(text)),
            Step::Edit { line, path, lines } => {
                let (path, lines) = (case.filled(path), case.filled(&lines.join("\n")));
                let edited = edit(&case.space.read(&path), &lines);
                case.write(
                    &path,
                    &edited.unwrap_or_else(|text| panic!("line {line}: {path} has no `{text}`")),
                );
            }
            Step::Judge(rules) => case.set_rules(rules.filled(&|text| case.filled(text))),
            Step::Run(commands) => found.extend(commands.iter().filter_map(|one| case.check(one))),
        }
    }
    found
}

impl Case<'_> {
    fn filled(&self, text: &str) -> String {
        filled(text, self.row)
    }

    fn write(&self, path: &str, text: &str) {
        self.space.write(path, text);
        if text.starts_with("#!") {
            self.space.shell(&format!("chmod +x {path}"), None);
        }
    }

    fn set_rules(&mut self, rules: Rules) {
        *self.rules.lock().unwrap() = Some(rules);
        let rules = Arc::clone(&self.rules);
        self.judge.get_or_insert_with(|| {
            Judge::new(move |_, asked| match &mut *rules.lock().unwrap() {
                Some(rules) => rules.answer(asked),
                None => Answer::HangUp,
            })
        });
    }

    fn check(&mut self, command: &Command) -> Option<Mismatch> {
        let text = self.filled(&command.text);
        let expected = command.expected.iter().map(|line| self.filled(line)).collect::<Vec<_>>();
        let found = self.printed(&text);
        let is_writable = text == command.text && expected == command.expected;
        (!output::fits(&expected, &found)).then(|| Mismatch {
            line: command.line,
            place: String::new(),
            expected,
            found,
            is_writable,
            command: text,
        })
    }

    /// What a command prints: `edit` edits, `requests` is what the judge was sent by the last command that asked it, and the
    /// shell runs all others. A filter of [`output::filtered`] may stand behind.
    fn printed(&mut self, command: &str) -> String {
        if let Some(change) = command.strip_prefix("edit ") {
            return self.replaced(change).err().unwrap_or_default();
        }
        let filter = [" | pick ", " | fits "].into_iter().find_map(|name| command.find(name));
        let (command, filter) = command.split_at(filter.unwrap_or(command.len()));
        if matches!(command, "requests" | "requests in order") {
            let text = output::filtered(&self.requests(filter.is_empty()), filter, &self.space);
            let mut lines: Vec<&str> = text.lines().collect();
            if command == "requests" {
                lines.sort_unstable();
            }
            return output::masked(&lines.join("\n"), &self.space);
        }
        let before = self.judge.as_ref().map_or(0, Judge::count);
        // Not every `sh` tells of a part of a pipe that fails.
        let line = format!("exec bash -eo pipefail -c '{}'", command.replace('\'', r"'\''"));
        let ran = self.space.shell(&line, self.judge.as_ref());
        let requests = self.judge.as_ref().map_or(0, Judge::count) - before;
        if requests > 0 {
            self.seen = before;
        }
        let stdout = output::filtered(&ran.stdout(), filter, &self.space);
        output::masked(&output::transcript(&stdout, &ran, requests), &self.space)
    }

    /// Replaces a text in a file: `FILE: OLD -> NEW`, where `\n` is a line break of the new text.
    fn replaced(&self, change: &str) -> Result<(), String> {
        let parts = change
            .split_once(": ")
            .and_then(|(path, texts)| Some((path, texts.split_once(" -> ")?)));
        let (path, (old, new)) = parts.ok_or("an edit is `edit FILE: OLD -> NEW`")?;
        let new = new.replace("\\n", "\n+ ");
        let text = edit(&self.space.read(path), &format!("- {old}\n+ {new}"));
        self.write(path, &text.map_err(|old| format!("{path} has no `{old}`"))?);
        Ok(())
    }

    /// The questions or bodies of the last requests, a line for each.
    fn requests(&self, are_questions: bool) -> String {
        let asked = &self.judge.as_ref().map(Judge::asked).unwrap_or_default()[self.seen..];
        let question = |asked: &Asked| asked.question().replace('\n', "\\n");
        let body = |asked: &Asked| asked.body.to_string();
        lines(asked.iter().map(|asked| if are_questions { question(asked) } else { body(asked) }))
    }
}

/// A text after an edit: lines with `-` are replaced by those with `+` below them, which alone go to the end. What is
/// not there is an error.
fn edit(text: &str, lines: &str) -> Result<String, String> {
    let (mut text, mut lines) = (text.to_owned(), lines.lines().peekable());
    while lines.peek().is_some() {
        let mut taken = |sign: char| {
            let mut taken = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with(sign)) {
                taken.push(line.get(2..).unwrap_or_default());
            }
            taken.join("\n")
        };
        let (old, new) = (taken('-'), taken('+'));
        if old.is_empty() {
            text = format!("{text}{new}\n");
        } else if !text.contains(&old) {
            return Err(old);
        } else if new.is_empty() {
            text = text.replace(&format!("{old}\n"), "").replace(&old, "");
        } else {
            text = text.replace(&old, &new);
        }
    }
    Ok(text)
}
