//! A document: headings, each with its steps, and tables of cases.

use crate::space::{has, lines};

use super::case::{Command, Mismatch, Step, filled};
use super::rules::Rules;

/// A specification as it is written.
pub(super) struct Document {
    name: String,
    sections: Vec<Section>,
}

/// A heading and what stands below it.
struct Section {
    level: usize,
    title: String,
    line: usize,
    steps: Vec<Step>,
    /// Programs without which it is skipped.
    needs: Vec<String>,
    /// The columns of the table, and a line for each row.
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Section {
    fn new(line: usize, heading: &str) -> Self {
        let title = heading.trim_start_matches('#');
        let level = heading.len() - title.len();
        let title = title.trim().to_owned();
        let (steps, needs) = Default::default();
        Self { level, title, line, steps, needs, columns: Vec::new(), rows: Vec::new() }
    }

    /// Each row of the table as what replaces `<column>`; one that replaces nothing if there is no table.
    fn substitutions(&self) -> Vec<Vec<(String, String)>> {
        if self.rows.is_empty() {
            return vec![Vec::new()];
        }
        let names = || self.columns.iter().map(|name| format!("<{name}>"));
        self.rows.iter().map(|row| names().zip(row.iter().cloned()).collect()).collect()
    }
}

impl Document {
    /// Reads a document; an error says the line.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut sections: Vec<Section> = Vec::new();
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((at, line)) = lines.next() {
            let said = |error: String| format!("{name}:{at}: {error}");
            if line.starts_with('#') {
                sections.push(Section::new(at, line));
            } else if line.starts_with("```") {
                let info = line.trim_start_matches('`');
                let fence = &line[..line.len() - info.len()];
                let body: Vec<(usize, &str)> =
                    lines.by_ref().take_while(|(_, line)| *line != fence).collect();
                if text.lines().nth(at + body.len()) != Some(fence) {
                    return Err(said("this fence is not closed".to_owned()));
                }
                let section = sections.last_mut();
                let section = section
                    .ok_or_else(|| said("a fence stands before the first heading".to_owned()))?;
                let step = step(at, info, &body);
                section.steps.push(step.map_err(|(at, error)| format!("{name}:{at}: {error}"))?);
            } else if let (Some(names), Some(section)) =
                (line.strip_prefix("Needs `"), sections.last_mut())
            {
                section.needs.extend(
                    names.split('`').step_by(2).filter(|name| *name != ".").map(str::to_owned),
                );
            } else if let (Some(row), Some(section)) = (cells(line), sections.last_mut()) {
                section.add_row(row).map_err(said)?;
            }
        }
        let document = Self { name: name.to_owned(), sections };
        document.check().map(|()| document)
    }

    /// A heading with steps and no command, in it or above it, tests nothing, nor does a column that no step names.
    fn check(&self) -> Result<(), String> {
        for at in self.leaves() {
            let (section, steps) = (&self.sections[at], self.steps(at));
            let place = format!("{}:{}: `{}`", self.name, section.line, section.title);
            let is_empty = section.steps.is_empty() && section.rows.is_empty();
            if !is_empty && !steps.iter().any(|step| matches!(step, Step::Run(_))) {
                return Err(format!("{place} runs no command"));
            }
            let is_used = |name: &String| {
                let name = format!("<{name}>");
                steps.iter().any(|step| step.mentions(&name)) || section.needs.contains(&name)
            };
            if let Some(name) = section.columns.iter().find(|name| !is_used(name)) {
                return Err(format!("{place} uses its column `{name}` nowhere"));
            }
        }
        Ok(())
    }

    /// The headings without headings below them: each is a test.
    fn leaves(&self) -> impl Iterator<Item = usize> {
        let level = |at: usize| self.sections.get(at).map_or(0, |section| section.level);
        (0..self.sections.len()).filter(move |at| level(at + 1) <= level(*at))
    }

    /// A heading and those it stands below, the outermost first.
    fn path(&self, leaf: usize) -> Vec<&Section> {
        let mut path = vec![&self.sections[leaf]];
        for section in self.sections[..leaf].iter().rev() {
            if section.level < path[path.len() - 1].level {
                path.push(section);
            }
        }
        path.reverse();
        path
    }

    fn steps(&self, leaf: usize) -> Vec<&Step> {
        self.path(leaf).into_iter().flat_map(|section| &section.steps).collect()
    }

    /// Runs every case: what commands printed other than the document says.
    pub(super) fn run(&self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for leaf in self.leaves() {
            let titles: Vec<&str> =
                self.path(leaf).iter().map(|section| section.title.as_str()).collect();
            for row in self.sections[leaf].substitutions() {
                let mut needs = self.path(leaf).into_iter().flat_map(|section| &section.needs);
                if !needs.all(|name| has(&filled(name, &row))) {
                    continue;
                }
                let mut place = titles.join(" > ");
                if let Some((_, value)) = row.first() {
                    place = format!("{place} > {value}");
                }
                let mismatches = super::case::run(&self.steps(leaf), &row);
                found.extend(mismatches.into_iter().map(|mut mismatch| {
                    mismatch.place = format!("{}:{}: {place}", self.name, mismatch.line);
                    mismatch
                }));
            }
        }
        found
    }
}

impl Section {
    fn add_row(&mut self, row: Vec<String>) -> Result<(), String> {
        if self.columns.is_empty() {
            self.columns = row;
        } else if row.len() != self.columns.len() {
            let (cells, columns) = (count(row.len(), "cell"), count(self.columns.len(), "column"));
            return Err(format!("the row has {cells}, and the table has {columns}"));
        } else if !row.iter().all(|cell| cell.chars().all(|char| matches!(char, '-' | ':'))) {
            self.rows.push(row);
        }
        Ok(())
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The cells of a row of a table; `\|` is a bar, and a cell that is one piece of code is taken without its marks.
fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.strip_prefix('|')?.trim_end().strip_suffix('|')?.replace("\\|", "\0");
    let cell = |cell: &str| {
        let cell = cell.trim().replace('\0', "|");
        let code = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
        code.filter(|code| !code.contains('`')).unwrap_or(&cell).to_owned()
    };
    Some(row.split('|').map(cell).collect())
}

/// What a fence says to do, by its info: `console`, `judge`, `diff FILE`, or a language and a file.
fn step(at: usize, info: &str, body: &[(usize, &str)]) -> Result<Step, (usize, String)> {
    let (language, path) = info.split_once(' ').unwrap_or((info, ""));
    match (language, path) {
        ("console", "") => commands(body).map(Step::Run),
        ("judge", "") => Rules::parse(body).map(Step::Judge),
        (_, "") => Err((at, format!("a `{language}` fence needs the name of its file"))),
        ("diff", path) => {
            let is_edit =
                |line: &str| matches!(line.get(..2).unwrap_or(line), "- " | "+ " | "-" | "+");
            if let Some((at, _)) = body.iter().find(|(_, line)| !is_edit(line)) {
                return Err((*at, "a line of an edit begins with `- ` or `+ `".to_owned()));
            }
            let lines = body.iter().map(|(_, line)| (*line).to_owned()).collect();
            Ok(Step::Edit { line: at, path: path.to_owned(), lines })
        }
        (_, path) => {
            let text = lines(body.iter().map(|(_, line)| line));
            Ok(Step::Write { path: path.to_owned(), text })
        }
    }
}

/// `$ command` with the lines that it prints; blank lines at their end only separate.
fn commands(body: &[(usize, &str)]) -> Result<Vec<Command>, (usize, String)> {
    let mut commands: Vec<Command> = Vec::new();
    for (at, line) in body {
        if let Some(text) = line.strip_prefix("$ ") {
            commands.push(Command { line: *at, text: text.to_owned(), expected: Vec::new() });
            continue;
        }
        let last = commands.last_mut();
        let last =
            last.ok_or_else(|| (*at, "output stands before the first `$ command`".to_owned()))?;
        last.expected.push((*line).to_owned());
    }
    for command in &mut commands {
        while command.expected.last().is_some_and(String::is_empty) {
            command.expected.pop();
        }
    }
    Ok(commands)
}
