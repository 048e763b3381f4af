//! Small suites at a glance: a row for each sample, a column for each grader.
//!
//! Where most graders have nothing to say of most samples, as in suites that were imported, a row names the graders that have.

use std::collections::{BTreeSet, HashMap};

use crate::digest::label;
use crate::format::ReportedRun;
use crate::intervals::is_pass_fail;
use crate::origin::first_text;
use crate::page::{Column, Table, Text, TextRole, bad, doubtful, faint, good, quoted, text};
use evalrs_base::text::count;
use evalrs_metrics::results::{GradeLine, ResultLine, Summary};

/// The most samples of a suite whose verdicts are shown one by one.
const SAMPLES: usize = 40;

/// Stands between a mark and its name: no line ends there.
const JOINT: &str = "\u{a0}";

/// The most rows that are kept in mind, with `--details`.
const ALL_ROWS: usize = 2_000;

/// The verdicts of a run by sample and grader.
pub(super) struct ResultMatrix<'r> {
    graders: Vec<&'r str>,
    rows: Vec<SampleRow>,
    /// Rows that are not shown.
    rest: usize,
    is_sparse: bool,
}

struct SampleRow {
    name: String,
    /// The grades of each grader, a trial each; none where it has nothing to say.
    cells: Vec<Vec<SampleGrade>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SampleGrade {
    Verdict(bool),
    Score(f64, bool),
    Error,
}

impl<'r> ResultMatrix<'r> {
    /// Those of a suite of a few samples, or of one whose graders say something of one result each; none of others.
    pub(super) fn of(run: &ReportedRun<'r, '_>, details: bool) -> Option<Self> {
        let summary = run.report.summary;
        let is_small = (2..=SAMPLES).contains(&summary.samples);
        if !is_small && !has_single_graders(summary) {
            return None;
        }
        let graders: Vec<&str> = summary.metrics.0.iter().map(|(name, _)| name.as_str()).collect();
        let mut rows = rows_of(run, &graders);
        let cells = rows.iter().flat_map(|row| &row.cells);
        let empty = cells.filter(|cell| cell.is_empty()).count();
        let is_sparse = graders.len() > 2 && empty * 2 > rows.len() * graders.len();
        let all = rows.len();
        if all > SAMPLES {
            if !is_sparse {
                return None;
            }
            if !details {
                rows.retain(SampleRow::is_not_clean);
                rows.truncate(SAMPLES);
            }
        }
        Some(Self { graders, rest: all - rows.len(), rows, is_sparse })
    }

    /// Whether most cells are empty.
    pub(super) fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    pub(super) fn table(&self) -> Table {
        let mut table = match self.graders.as_slice() {
            [grader] => self.column(grader),
            _ if self.is_sparse => self.named_grades(),
            _ => self.grid(),
        };
        let legend = self.legend();
        table.note(Text::joined(legend, "  "));
        if self.rest > 0 {
            let rest = format!("{} not shown: ", count(self.rest, "sample"));
            table.note(text![faint(&rest), quoted("--details")]);
        }
        table
    }

    fn grid(&self) -> Table {
        let columns = self.graders.iter().map(|grader| Column::words(quoted(grader)));
        let mut table =
            Table::new([Column::names("sample")].into_iter().chain(columns)).folding_columns();
        for row in &self.rows {
            let cells = row.cells.iter().map(|cell| match cell.as_slice() {
                [] => faint("·"),
                grades => shown(grades),
            });
            table.row([quoted(&row.name)].into_iter().chain(cells));
        }
        table
    }

    /// A row names the graders that say something of it.
    fn named_grades(&self) -> Table {
        let mut table = Table::new([Column::names("sample"), Column::words("")]);
        for row in &self.rows {
            let cells = row.cells.iter().zip(&self.graders).filter(|(cell, _)| !cell.is_empty());
            let named = cells.map(|(cell, grader)| marked(cell, grader));
            table.row([quoted(&row.name), Text::joined(named, "  ")]);
        }
        table
    }

    /// The one column that there is, as a row.
    fn column(&self, grader: &str) -> Table {
        let mut table = Table::new([Column::names("grader"), Column::words("samples")]);
        let cells = self.rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
        let named = cells.map(|(row, cell)| match cell.as_slice() {
            [] => text![faint("·"), JOINT, quoted(&row.name)],
            grades => marked(grades, &row.name),
        });
        table.row([quoted(grader), Text::joined(named, "  ")]);
        table
    }

    /// What the marks mean that are there.
    fn legend(&self) -> Vec<Text> {
        let cells = || self.rows.iter().flat_map(|row| &row.cells);
        let has = |wanted: SampleGrade| cells().flatten().any(|grade| *grade == wanted);
        let is_empty = !self.is_sparse && cells().any(Vec::is_empty);
        let marks = [
            (has(SampleGrade::Verdict(true)), "✓ passed"),
            (has(SampleGrade::Verdict(false)), "✗ failed"),
            (has(SampleGrade::Error), "! error"),
            (is_empty, "· not applicable"),
        ];
        marks.into_iter().filter(|(is_there, _)| *is_there).map(|(_, mark)| faint(mark)).collect()
    }
}

/// Whether several graders say something of one result each, and they are most of all.
fn has_single_graders(summary: &Summary) -> bool {
    let metrics = &summary.metrics.0;
    let single = metrics.iter().filter(|(_, metric)| metric.n == 1).count();
    summary.results > 1 && single > 1 && single * 2 > metrics.len()
}

fn rows_of(run: &ReportedRun<'_, '_>, graders: &[&str]) -> Vec<SampleRow> {
    let summary = run.report.summary;
    let plain: BTreeSet<&str> = summary
        .metrics
        .0
        .iter()
        .filter(|(_, metric)| is_pass_fail(metric))
        .map(|(name, _)| name.as_str())
        .collect();
    let mut rows: Vec<SampleRow> = Vec::new();
    let mut places: HashMap<(String, Option<String>), usize> = HashMap::new();
    for (at, line) in (run.report.results)().enumerate() {
        let ResultLine { sample_id, model, input, .. } = &line;
        let key = (sample_id.clone(), model.clone());
        let place = *places.entry(key).or_insert(rows.len());
        if place == rows.len() {
            if rows.len() == ALL_ROWS {
                break;
            }
            let name = run.origin.place(at, sample_id, first_text(input));
            let name = label(&name, model.as_deref(), None);
            rows.push(SampleRow { name, cells: vec![Vec::new(); graders.len()] });
        }
        for (grader, cell) in graders.iter().zip(&mut rows[place].cells) {
            let grade = line.grades.get(grader);
            cell.extend(grade.map(|grade| grade_of(grade, plain.contains(grader))));
        }
    }
    rows
}

fn grade_of(grade: &GradeLine, is_plain: bool) -> SampleGrade {
    match grade.error {
        Some(_) => SampleGrade::Error,
        None if is_plain => SampleGrade::Verdict(grade.pass),
        None => SampleGrade::Score(grade.score, grade.pass),
    }
}

impl SampleRow {
    fn is_not_clean(&self) -> bool {
        let is_clean = |grade: &SampleGrade| {
            matches!(grade, SampleGrade::Verdict(true) | SampleGrade::Score(_, true))
        };
        !self.cells.iter().flatten().all(is_clean)
    }
}

/// Grades before the name of what they are of.
fn marked(grades: &[SampleGrade], name: &str) -> Text {
    text![shown(grades), JOINT, quoted(name)]
}

/// The grades of a sample's trials: marks side by side, scores with a space between them.
fn shown(grades: &[SampleGrade]) -> Text {
    let has_scores = grades.iter().any(|grade| matches!(grade, SampleGrade::Score(..)));
    let marks = grades.iter().map(|grade| match *grade {
        SampleGrade::Verdict(true) => good("✓"),
        SampleGrade::Verdict(false) => bad("✗"),
        SampleGrade::Error => doubtful("!"),
        SampleGrade::Score(score, pass) => {
            let role = if pass { TextRole::Plain } else { TextRole::Bad };
            Text::of(&short_score(score), role)
        }
    });
    Text::joined(marks, if has_scores { " " } else { "" })
}

/// A score in as few digits as it takes, two at most.
fn short_score(score: f64) -> String {
    let text = format!("{:.2}", score + 0.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
