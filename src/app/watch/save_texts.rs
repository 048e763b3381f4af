//! What suite and rubrics said in one save: to compare them with those of another save, and to take them back.
//!
//! Rubrics are compared as judges are asked by them, files are taken back as they were written: a rubric may be put together
//! of several files, and a suite may hold several rubrics. Texts are shared with the database, so that a save costs what it
//! changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::board::RubricChange;
use crate::engine::session::Session;
use crate::graph::{queries, rows};
use crate::pipeline::spec::GraderKind;
use crate::pipeline::suite::FileText;

/// The texts of a save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveTexts {
    /// By grader, in the order of the suite; then those that rows name, by path.
    rubrics: Vec<JudgedRubric>,
    /// The suite, what it extends, rubrics and what they include, by path.
    files: BTreeMap<String, Arc<str>>,
}

/// A rubric as judges are asked by it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JudgedRubric {
    /// The grader, or the path that rows name it by.
    name: String,
    text: Arc<str>,
}

impl SaveTexts {
    /// What the files say that `session` holds. A text that is as in `before` is shared with it.
    pub(super) fn of(session: &Session, before: &Self) -> Self {
        let db = &session.db;
        let root = session.root;
        let mut rubrics = Vec::new();
        for grader in queries::graders(db, root) {
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

    fn rubric(&self, name: &str) -> Option<&Arc<str>> {
        self.rubrics.iter().find(|rubric| rubric.name == name).map(|rubric| &rubric.text)
    }

    /// What is another text than in `before`: rubrics, else files.
    pub(super) fn changes_from(&self, before: &Self) -> Vec<RubricChange> {
        let changes = self.rubric_changes(before);
        if changes.is_empty() { self.file_changes(before) } else { changes }
    }

    /// The files that were read both times and say something else.
    fn file_changes(&self, before: &Self) -> Vec<RubricChange> {
        let change = |(path, now): (&String, &Arc<str>)| {
            let then = before.files.get(path).filter(|then| *then != now)?;
            Some(RubricChange {
                rubrics: vec![path.clone()],
                is_file: true,
                before: Some(Arc::clone(then)),
                now: Some(Arc::clone(now)),
            })
        };
        self.files.iter().filter_map(change).collect()
    }

    /// The rubrics that are others than in `before`, came or went. Those that changed alike are named together.
    fn rubric_changes(&self, before: &Self) -> Vec<RubricChange> {
        let gone = before.rubrics.iter().filter(|rubric| self.rubric(&rubric.name).is_none());
        let mut changes: Vec<RubricChange> = Vec::new();
        for rubric in self.rubrics.iter().chain(gone) {
            let before = before.rubric(&rubric.name).cloned();
            let now = self.rubric(&rubric.name).cloned();
            if before == now {
                continue;
            }
            match changes.iter_mut().find(|held| held.before == before && held.now == now) {
                Some(alike) => alike.rubrics.push(rubric.name.clone()),
                None => {
                    let rubrics = vec![rubric.name.clone()];
                    changes.push(RubricChange { rubrics, is_file: false, before, now });
                }
            }
        }
        changes
    }

    /// What the file at `path` said; none where it was not read.
    pub(super) fn file(&self, path: &str) -> Option<&Arc<str>> {
        self.files.get(path)
    }

    /// Every file that was read, with what it said.
    pub(super) fn files(&self) -> impl Iterator<Item = (&String, &Arc<str>)> {
        self.files.iter()
    }
}

/// The texts of the suite's files. Rows and labels are none of them: they are not taken back with a rubric.
fn files(session: &Session) -> BTreeMap<String, Arc<str>> {
    let db = &session.db;
    let small = db.files().into_iter().filter(|(_, file)| !session.is_big(*file));
    let texts = small.filter_map(|(path, file)| match file.text(db) {
        FileText::Text(text) => Some((path, Arc::clone(text))),
        FileText::Unread | FileText::Missing | FileText::Unreadable(_) | FileText::NoText(_) => {
            None
        }
    });
    texts.collect()
}
