//! Says what is wrong with the rows of a loaded dataset, and where.
//!
//! The queries find problems and know no file; this knows where every row was read. Problems of joined recordings
//! are found again by `recordings`, where they stand.

use std::collections::{BTreeSet, HashSet};

use super::record_origins::{OriginFile, RecordOrigins};
use super::shortened::shortened;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped, suggest};
use evalrs_base::file_text::FileText;
use evalrs_base::path::key_ends;
use evalrs_eval::dataset::cells::{column_names, short_row};
use evalrs_eval::dataset::fields::{RowFields, RowProblem};
use evalrs_eval::dataset::split::RecordStart;
use evalrs_eval::evaluate::sought::SoughtName;
use evalrs_graph::declared::other_classes;
use evalrs_graph::inputs::Root;
use evalrs_graph::selection::Duplicate;
use evalrs_graph::{Database, labels, queries, rows};
use evalrs_model::spec::{DatasetFormat, DatasetSpec};
use evalrs_suite::{RowRubric, label_of};

/// A dataset that the database holds, and where it came from.
pub(crate) struct LoadedRows<'a> {
    pub session: (&'a Database, Root),
    pub origins: &'a RecordOrigins,
}

impl LoadedRows<'_> {
    /// Everything that is wrong with the dataset, in its order.
    pub(crate) fn problems(&self, dataset: &DatasetSpec) -> Vec<Diagnostic> {
        let unmapped = self.unmapped(dataset);
        if !unmapped.is_empty() {
            return unmapped;
        }
        let mut found = self.of_rows(dataset);
        let (db, root) = self.session;
        if found.is_empty() {
            found = metric_problems(db, root);
        }
        // Who a case is can be told only where everything could be read.
        if found.is_empty()
            && root.chunks(db).iter().all(|chunk| queries::checked(db, *chunk).problems.is_empty())
        {
            found = self.duplicates();
        }
        shortened(found)
    }

    /// Paths of `fields` that no row has.
    fn unmapped(&self, dataset: &DatasetSpec) -> Vec<Diagnostic> {
        let (db, root) = self.session;
        let Some(spec) = queries::row_spec(db, root) else { return Vec::new() };
        let reading = queries::suite(db, root);
        let in_vain = rows::in_vain(db, root);
        let fields = &dataset.fields;
        let paths = fields.paths.iter().chain(&fields.outputs);
        let labels = fields.labels.iter().map(|(model, path)| (label_of(model), path));
        let mapped = paths.map(|(name, path)| (name.clone(), path)).chain(labels);
        // Empty cells of CSV are absent, their column is not.
        let columns = match dataset.format {
            Some(format) if format.has_cells() => {
                let texts = self.origins.files.iter().map(OriginFile::text);
                texts.flat_map(|text| column_names(text, format)).collect()
            }
            _ => Vec::new(),
        };
        let mut found = Vec::new();
        let first_row = || root.chunks(db).first()?.records(db).iter().next();
        for (name, path) in mapped {
            let is_column = key_ends(path)
                .any(|end| columns.iter().any(|column| path.get(..end) == Some(column)));
            if is_column || !in_vain.contains(&SoughtName::Path(path.clone())) {
                continue;
            }
            let said = reading.field_places.iter().find(|(key, _)| *key == name);
            let place = said.map_or_else(|| Place::file(&dataset.path), |(_, place)| place.clone());
            let hint =
                first_row().and_then(|(row, _)| instead(&RowFields::new(row, spec).ok()?, path));
            let message = format!("no row of the dataset has `{path}`");
            found.push(Diagnostic { hint, ..Diagnostic::error(place, message) });
        }
        found
    }

    fn of_rows(&self, dataset: &DatasetSpec) -> Vec<Diagnostic> {
        let (db, root) = self.session;
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut rubrics = rows::rubric_files(db, root).iter();
        let has_unreadable =
            rubrics.any(|path| unreadable(queries::row_rubric(db, root, path)).is_some());
        let mut before = 0;
        for chunk in root.chunks(db) {
            let problems = queries::checked(db, *chunk).problems.iter();
            for (at, problem) in problems.filter(|(_, problem)| !problem.recorded) {
                found.push(self.of_row(dataset, before + at, problem));
            }
            let of_labels = labels::label_problems(db, *chunk).iter();
            for (at, problem) in of_labels.chain(queries::unmet(db, *chunk)) {
                found.push(self.of_row(dataset, before + at, problem));
            }
            for (at, named) in &queries::checked(db, *chunk).named_graders {
                found.extend(self.unknown_graders(named, dataset, before + at));
            }
            let named = queries::checked(db, *chunk).rubric_files.iter();
            for (at, path) in named.filter(|_| has_unreadable) {
                let is_new = seen.insert(path.as_str());
                match unreadable(queries::row_rubric(db, root, path)) {
                    // What stands in a file is wrong with it, however many rows name it.
                    Some(Unreadable::Inside(problems)) if is_new => {
                        let news: Vec<Diagnostic> =
                            problems.iter().filter(|news| !found.contains(news)).cloned().collect();
                        found.extend(news);
                    }
                    None | Some(Unreadable::Inside(_)) => {}
                    Some(Unreadable::Whole(why)) => {
                        let message = format!("cannot read the rubric `{}`: {why}", clipped(path));
                        let place = self.origins.place(self.start(before + at), None);
                        let problem = Diagnostic::error(place, message);
                        found.push(problem.hint("`rubric_path` is relative to the suite's folder"));
                    }
                }
            }
            before += chunk.records(db).len();
        }
        found
    }

    /// Graders that a row names and the suite does not have.
    fn unknown_graders(
        &self,
        named: &[String],
        dataset: &DatasetSpec,
        at: usize,
    ) -> Vec<Diagnostic> {
        let (db, root) = self.session;
        let Some(suite) = &queries::suite(db, root).suite else { return Vec::new() };
        let known = || suite.graders.iter().map(|grader| grader.name.as_str());
        let unknown = named.iter().filter(|name| known().all(|known| known != name.as_str()));
        let problems = unknown.map(|name| {
            let shown = clipped(name);
            let message = format!("the row names the grader `{shown}`, which the suite does not have");
            let hint = match suggest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "if `graders` of the rows means something else, set `fields: {graders: none}` in the suite".to_owned(),
            };
            self.of_row(dataset, at, &RowProblem::new(message).hint(hint))
        });
        problems.collect()
    }

    /// What is wrong with record `at`. Of a CSV row that is too short, that is said first.
    fn of_row(&self, dataset: &DatasetSpec, at: usize, problem: &RowProblem) -> Diagnostic {
        let problem = problem.clone();
        let start = self.start(at);
        let place = self.origins.place(start, problem.span.clone());
        let file = self.origins.files.get(start.file as usize);
        let (Some(DatasetFormat::Csv), Some(file)) = (dataset.format, file) else {
            return problem.diagnostic(place);
        };
        let Some(short) = short_row(file.text(), start) else { return problem.diagnostic(place) };
        let message = format!("{short}: {}", problem.message);
        let hint = "write a cell for every column, empty where there is nothing";
        RowProblem { message, ..problem }.hint(hint).diagnostic(place)
    }

    fn start(&self, at: usize) -> RecordStart {
        self.origins.start(at)
    }

    fn duplicates(&self) -> Vec<Diagnostic> {
        let (db, root) = self.session;
        let duplicates = queries::selection(db, root).duplicates.iter();
        let problems = duplicates.map(|Duplicate { id, first, second, model, trial }| {
            let [first, second] = [first, second].map(|at| self.start(*at));
            let model = model.as_deref().map(|model| format!(", model `{}`", clipped(model)));
            let model = model.unwrap_or_default();
            let case = format!("`{}` (trial {trial}{model})", clipped(id));
            let message = if first == second {
                format!("the sample {case} was recorded more than once")
            } else {
                let line = match self.origins.files.get(first.file as usize) {
                    Some(file) if first.file != second.file => {
                        format!("line {} of `{}`", first.line, file.path)
                    }
                    _ => format!("line {}", first.line),
                };
                format!("the id {case} is already taken by {line}")
            };
            Diagnostic::error(self.origins.place(second, None), message).hint(
                "number the trials of one sample with \"trial\": 0, 1, …, or set `trials: by_order` in the suite; give other samples other ids",
            )
        });
        problems.collect()
    }
}

/// Metrics without a number whatever the grades: the weight is in no row, or no result has the class.
fn metric_problems(db: &Database, root: Root) -> Vec<Diagnostic> {
    let reading = queries::suite(db, root);
    let (Some(suite), Some(spec)) = (&reading.suite, queries::row_spec(db, root)) else {
        return Vec::new();
    };
    let in_vain = rows::in_vain(db, root);
    let mut found = Vec::new();
    for metric in &suite.metrics {
        let said = reading.metric_places.iter().find(|(name, _)| *name == metric.name);
        let place = || said.map_or_else(|| Place::file(""), |(_, place)| place.clone());
        let name = clipped(&metric.name);
        for path in metric.kind.paths() {
            if in_vain.contains(&SoughtName::Metric(path.to_owned())) {
                let message =
                    format!("the metric `{name}` needs `row.{}`, which no row has", clipped(path));
                let hint = rows::first(db, root, spec).and_then(|fields| instead(&fields, path));
                found.push(Diagnostic { hint, ..Diagnostic::error(place(), message) });
            }
        }
        if let Some(class) = metric.class()
            && let Some(classes) = other_classes(db, root, metric)
        {
            let shown = clipped(class);
            let message =
                format!("the metric `{name}` is of the class `{shown}`, which no row has");
            found.push(Diagnostic::error(place(), message).hint(class_hint(class, &classes)));
        }
    }
    found
}

fn class_hint(class: &str, classes: &BTreeSet<String>) -> String {
    const SOME: usize = 5;
    if let Some(near) = suggest(class, classes.iter().map(String::as_str)) {
        return format!("did you mean `{}`?", clipped(near));
    }
    if classes.is_empty() {
        return "no row has a class".to_owned();
    }
    let some: Vec<String> =
        classes.iter().take(SOME).map(|class| format!("`{}`", clipped(class))).collect();
    let more = if classes.len() > SOME { ", …" } else { "" };
    format!("there are {}{more}", some.join(", "))
}

/// Why a row's rubric cannot be read.
pub(crate) enum Unreadable<'a> {
    Whole(&'a str),
    Inside(&'a [Diagnostic]),
}

pub(crate) fn unreadable(rubric: &RowRubric) -> Option<Unreadable<'_>> {
    Some(match &rubric.text {
        _ if !rubric.problems.is_empty() => Unreadable::Inside(&rubric.problems),
        FileText::Text(_) | FileText::Unread => return None,
        FileText::Missing => Unreadable::Whole("no such file"),
        FileText::Unreadable(reason) => Unreadable::Whole(reason),
        FileText::NoText(problem) => Unreadable::Whole(&problem.message),
    })
}

/// The names in a row beside the last wrong step of `path`, which it lacks.
fn instead(fields: &RowFields<'_>, path: &str) -> Option<String> {
    if let Some((parent, last)) = path.rsplit_once('.')
        && let Some(raw) = fields.at_path(parent)
    {
        let inner = RowFields::new(raw.get(), fields.spec).ok()?;
        return Some(match suggest(last, inner.names()) {
            Some(near) => format!("did you mean `{parent}.{}`?", clipped(near)),
            None => format!("`{parent}` of the first row has {}", inner.some_names()),
        });
    }
    Some(match suggest(path, fields.names()) {
        Some(near) => format!("did you mean `{}`?", clipped(near)),
        None => format!("the first row has {}", fields.some_names()),
    })
}
