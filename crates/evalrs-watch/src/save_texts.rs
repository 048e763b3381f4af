//! The texts of suite and rubrics in one save: to compare them with those of another save, and to revert to
//! them.
//!
//! Rubrics are compared as judges are asked by them, files are taken back as they were written: a rubric may be put together
//! of several files, and a suite may hold several rubrics. Texts are shared with the database, so that a save costs what it
//! changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::board::RubricChange;
use evalrs_base::file_text::FileText;
use evalrs_engine::session::Session;
use evalrs_graph::{queries, rows};
use evalrs_model::spec::GraderKind;

/// The texts of a save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveTexts {
    /// By grader, in the order of the suite; then those that rows name, by path.
    rubrics: Vec<JudgedRubric>,
    /// The suite, what it extends, rubrics and what they include, by path.
    files: BTreeMap<String, Arc<str>>,
}

/// A rubric as judges get it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JudgedRubric {
    /// The grader, or the path that rows name it by.
    name: String,
    text: Arc<str>,
}

impl SaveTexts {
    /// What the files say that `session` holds. A text that is as in `before` is shared with it.
    pub fn of(session: &Session, before: &Self) -> Self {
        let db = &session.db;
        let root = session.root;
        let mut rubrics = Vec::new();
        for grader in session.graders() {
            if let GraderKind::Rubric(rubric) = grader.kind(db) {
                let name = grader.name(db).clone();
                let held = before.rubric(&name).filter(|held| ***held == *rubric.prompt);
                let text = held.map_or_else(|| Arc::from(rubric.prompt.as_str()), Arc::clone);
                rubrics.push(JudgedRubric { name, text });
            }
        }
        for path in rows::rubric_files(db, root) {
            if let FileText::Text(text) = &queries::row_rubric(db, root, path).text {
                rubrics.push(JudgedRubric { name: path.clone(), text: Arc::clone(text) });
            }
        }
        Self { rubrics, files: files(session) }
    }

    /// The rubric of a grader as judges get it.
    pub fn rubric(&self, name: &str) -> Option<&Arc<str>> {
        self.rubrics.iter().find(|rubric| rubric.name == name).map(|rubric| &rubric.text)
    }

    /// What is another text than in `before`: rubrics, else files.
    pub(super) fn changes_from(&self, before: &Self) -> Vec<RubricChange> {
        let changes = self.rubric_changes(before);
        if changes.is_empty() { self.file_changes(before) } else { changes }
    }

    /// The files that were read both times and say something else.
    fn file_changes(&self, before: &Self) -> Vec<RubricChange> {
        let changes = self.files.iter().filter_map(|(path, now)| {
            let then = before.files.get(path).filter(|then| *then != now)?;
            Some(RubricChange {
                rubrics: vec![path.clone()],
                is_file: true,
                before: Some(Arc::clone(then)),
                now: Some(Arc::clone(now)),
            })
        });
        changes.collect()
    }

    /// The rubrics that are others than in `before`, came or went. Those that changed alike are named together.
    fn rubric_changes(&self, before: &Self) -> Vec<RubricChange> {
        // Every row may have a rubric of its own.
        let then = before.by_name();
        let now = self.by_name();
        let gone = before.rubrics.iter().filter(|rubric| !now.contains_key(rubric.name.as_str()));
        let mut changes: Vec<RubricChange> = Vec::new();
        let mut alike: HashMap<[Option<&Arc<str>>; 2], usize> = HashMap::new();
        for JudgedRubric { name, .. } in self.rubrics.iter().chain(gone) {
            let texts = [&then, &now].map(|texts| texts.get(name.as_str()).copied());
            let [before, now] = texts;
            if before == now {
                continue;
            }
            let at = *alike.entry(texts).or_insert(changes.len());
            if at == changes.len() {
                changes.push(RubricChange {
                    rubrics: Vec::new(),
                    is_file: false,
                    before: before.cloned(),
                    now: now.cloned(),
                });
            }
            changes[at].rubrics.push(name.clone());
        }
        changes
    }

    fn by_name(&self) -> HashMap<&str, &Arc<str>> {
        self.rubrics.iter().map(|rubric| (rubric.name.as_str(), &rubric.text)).collect()
    }

    /// The text of the file at `path`; none where it was not read.
    pub fn file(&self, path: &str) -> Option<&Arc<str>> {
        self.files.get(path)
    }

    /// Every file that was read, with its text.
    pub fn files(&self) -> impl Iterator<Item = (&String, &Arc<str>)> {
        self.files.iter()
    }
}

/// The texts of the suite's files. Rows and labels are none of them: they are not taken back with a rubric.
fn files(session: &Session) -> BTreeMap<String, Arc<str>> {
    let db = &session.db;
    let small = db.files().into_iter().filter(|(_, file)| !session.is_big(*file));
    let texts = small.filter_map(|(path, file)| {
        let FileText::Text(text) = file.text(db) else { return None };
        Some((path, Arc::clone(text)))
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::{JudgedRubric, SaveTexts};

    fn texts(rubrics: &[[&str; 2]], files: &[[&str; 2]]) -> SaveTexts {
        let rubric = |[name, text]: &[&str; 2]| JudgedRubric {
            name: (*name).to_owned(),
            text: (*text).into(),
        };
        let file = |[path, text]: &[&str; 2]| ((*path).to_owned(), (*text).into());
        SaveTexts {
            rubrics: rubrics.iter().map(rubric).collect(),
            files: files.iter().map(file).collect(),
        }
    }

    #[test]
    fn rubrics_that_changed_alike_are_named_together_and_files_where_none_changed() {
        let suite = |text| [["suite.yaml", text]];
        let start = texts(&[["a", "one"], ["b", "one"], ["c", "kept"], ["d", "gone"]], &suite("x"));
        let later = texts(&[["a", "two"], ["b", "two"], ["c", "kept"], ["e", "new"]], &suite("y"));
        let told = |now: &SaveTexts, before: &SaveTexts| -> Vec<String> {
            let changes = now.changes_from(before);
            let text = |text: Option<std::sync::Arc<str>>| text.unwrap_or_else(|| "-".into());
            let told = changes.into_iter().map(|change| {
                let kind = if change.is_file { "file " } else { "" };
                let names = change.rubrics.join("+");
                format!("{kind}{names}: {} {}", text(change.before), text(change.now))
            });
            told.collect()
        };
        assert_eq!(told(&later, &start), ["a+b: one two", "e: - new", "d: gone -"]);
        assert_eq!(told(&later, &texts(&[], &[]))[..2], ["a+b: - two", "c: - kept"]);
        let threshold = SaveTexts { rubrics: start.rubrics.clone(), ..later };
        assert_eq!(told(&threshold, &start), ["file suite.yaml: x y"]);
        assert!(told(&start, &start).is_empty());
    }
}
