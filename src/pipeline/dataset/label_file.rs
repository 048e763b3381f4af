//! Reads a file of labels: JSON Lines, a JSON array or CSV, a label a line.
//!
//! A line is of all models and trials of its sample, and for all graders, unless it names one. Of several lines for one
//! verdict the one that says more about it counts: one that names the grader first, then the trial, then the model.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::cells::column_names;
use super::fields::{RowFields, RowProblem, RowSpec, deep_problem};
use super::labels::{LabelExtents, LabelValue, Scales};
use super::split::{self, RawRecord, too_deep};
use crate::base::diagnostic::{Diagnostic, Place, clipped};
use crate::base::json_syntax::kind_of;
use crate::pipeline::spec::{DatasetFormat, FieldMap, MissingAnswer};

/// The file of labels that is read of the suite at `suite` where no other is named: `bot.labels.jsonl` beside `bot.yaml`.
pub(crate) fn beside(suite: &str) -> String {
    let start = suite.rfind('/').map_or(0, |slash| slash + 1);
    let name = &suite[start..];
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{}{stem}.labels.jsonl", &suite[..start])
}

/// What a file says of one sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelLine {
    /// Of this model alone.
    pub model: Option<String>,
    /// Of this trial alone, from 0.
    pub trial: Option<u32>,
    /// For this grader alone.
    pub grader: Option<String>,
    /// The label; never one for each of some graders.
    pub said: LabelValue,
}

impl LabelLine {
    /// Whether it is of this model and trial.
    pub(crate) fn is_of(&self, model: Option<&str>, trial: u32) -> bool {
        self.model.as_deref().is_none_or(|named| Some(named) == model)
            && self.trial.is_none_or(|named| named == trial)
    }

    /// Lines that say more come first.
    fn rank(&self) -> (bool, bool, bool) {
        (self.grader.is_none(), self.trial.is_none(), self.model.is_none())
    }
}

/// The labels of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelTable {
    /// Sample → its lines, those that say more first.
    pub samples: BTreeMap<String, Vec<LabelLine>>,
    /// What they have in common.
    pub extents: LabelExtents,
}

/// A file of labels, and everything that is wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelReading {
    /// What could be read.
    pub table: Arc<LabelTable>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

const HINT: &str = "a line of labels is {\"id\": …, \"label\": 0.5} or {\"id\": …, \"label\": \"pass\"}; `model`, `trial` and `grader` say what it is of";

/// Reads the text of the file at `path`, for graders with these scales.
pub(crate) fn read(path: &str, text: &str, scales: &Scales) -> LabelReading {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Whoever takes back the last label leaves an empty file.
    if text.trim().is_empty() {
        return LabelReading::default();
    }
    let format = DatasetFormat::of_name(path).unwrap_or_else(|| format_of_text(text));
    let rows = match split::split(path, text, format) {
        Ok(rows) => rows,
        Err(problems) => {
            return LabelReading { problems: said_of_labels(problems), ..LabelReading::default() };
        }
    };
    if format.has_cells()
        && let Some(column) = missing_column(&column_names(text, format))
    {
        let problem = Diagnostic::error(
            Place::in_line(path, 1, text.lines().next().unwrap_or_default(), 0..usize::MAX),
            format!("the file of labels has no column `{column}`"),
        );
        let problems = vec![
            problem.hint("its header is `id,label`, and `model`, `trial`, `grader` if needed"),
        ];
        return LabelReading { problems, ..LabelReading::default() };
    }
    let spec = RowSpec {
        cells: format.has_cells(),
        fields: FieldMap::default(),
        format: None,
        missing: MissingAnswer::default(),
        live: None,
    };
    let mut reading = LabelReader {
        scales,
        seen: HashMap::new(),
        foreign: Foreign::default(),
        table: LabelTable::default(),
    };
    let mut problems = Vec::new();
    for row in &rows {
        if let Err(problem) = reading.row(row, &spec) {
            let span = problem.span.clone().filter(|_| !spec.cells);
            let place = split::record_place(path, text, row.start, span);
            problems.push(problem.diagnostic(place));
        }
    }
    problems.extend(reading.foreign.diagnostic(path));
    let mut table = reading.table;
    for lines in table.samples.values_mut() {
        lines.sort_by_key(LabelLine::rank);
    }
    LabelReading { table: Arc::new(table), problems }
}

fn format_of_text(text: &str) -> DatasetFormat {
    match text.trim_start().chars().next() {
        Some('[') => DatasetFormat::Json,
        Some('{') | None => DatasetFormat::Jsonl,
        Some(_) => DatasetFormat::Csv,
    }
}

fn missing_column(columns: &[String]) -> Option<&'static str> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    if !has("id") && !has("sample_id") {
        return Some("id");
    }
    (!has("label")).then_some("label")
}

/// What is wrong with the shape of a file, said of labels.
fn said_of_labels(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for problem in &mut problems {
        problem.message = problem.message.replace("the dataset", "the file of labels");
        let is_of_datasets = |hint: &String| hint.contains("dataset") || hint.contains("input");
        if problem.hint.as_ref().is_some_and(is_of_datasets) {
            problem.hint = Some(format!("{HINT}; an array of them is named .json, a table .csv"));
        }
    }
    problems
}

/// What a line is of: sample, model, trial, grader.
type Of = (String, Option<String>, Option<u32>, Option<String>);

/// What was read so far.
struct LabelReader<'a> {
    scales: &'a Scales,
    /// The label and the line it stands on.
    seen: HashMap<Of, (LabelValue, u32)>,
    foreign: Foreign,
    table: LabelTable,
}

impl LabelReader<'_> {
    fn row(&mut self, row: &RawRecord<'_>, spec: &RowSpec) -> Result<(), RowProblem> {
        if let Some(at) = too_deep(&row.text) {
            return Err(deep_problem(at));
        }
        let fields = RowFields::new(&row.text, spec)?;
        if let Some((name, raw)) = fields.members.twice() {
            let message = format!("the key `{}` appears twice in the line", clipped(name));
            return Err(RowProblem::new(message).at(&row.text, raw));
        }
        let id = id_of(&fields)?;
        let grader = text_of(&fields, "grader")?;
        let model = text_of(&fields, "model")?;
        let trial = trial_of(&fields)?;
        let Some(said) = said_of(&fields, grader.as_deref(), self.scales)? else { return Ok(()) };
        match said {
            LabelValue::Each(each) => each.into_iter().try_for_each(|(grader, said)| {
                self.add((id.clone(), model.clone(), trial, Some(grader)), said, row)
            }),
            said => self.add((id, model, trial, grader), said, row),
        }
    }

    fn add(&mut self, of: Of, said: LabelValue, row: &RawRecord<'_>) -> Result<(), RowProblem> {
        let (id, model, trial, grader) = of.clone();
        if let Some(name) = grader.as_deref().filter(|name| !self.knows(name)) {
            self.foreign.add(name);
            return Ok(());
        }
        if let Some((earlier, line)) = self.seen.get(&of) {
            if *earlier == said {
                return Ok(());
            }
            let message = format!("`{}` has another label on line {line}", clipped(&id));
            return Err(RowProblem::new(message).hint(
                "remove one of the lines, or say with `model`, `trial` or `grader` what each is of",
            ));
        }
        self.table.extents.add(grader.as_deref(), &said, self.scales);
        self.seen.insert(of, (said.clone(), row.start.line));
        self.table.samples.entry(id).or_default().push(LabelLine { model, trial, grader, said });
        Ok(())
    }

    fn knows(&self, name: &str) -> bool {
        self.scales.iter().any(|(grader, _)| grader == name)
    }
}

/// The label of a line, if it says one; for its `grader`, if it names one.
fn said_of(
    fields: &RowFields<'_>,
    grader: Option<&str>,
    scales: &Scales,
) -> Result<Option<LabelValue>, RowProblem> {
    let Some(raw) = fields.members.get("label") else {
        // An empty cell is a sample without a label yet.
        return if fields.spec().cells { Ok(None) } else { Err(no_label(fields)) };
    };
    let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let Some(mut said) = LabelValue::of(&value, fields.spec().cells) else { return Ok(None) };
    let own: Vec<_> = match grader {
        Some(grader) => scales.iter().filter(|(name, _)| name == grader).cloned().collect(),
        None => scales.to_vec(),
    };
    if own.is_empty() {
        // Its grader is another suite's.
        return Ok(Some(said));
    }
    if grader.is_some() && matches!(said, LabelValue::Each(_)) {
        said = LabelValue::Strange;
    }
    match said.problem(&own) {
        Some(problem) => Err(problem.at(fields.row, raw)),
        None => Ok(Some(said)),
    }
}

fn no_label(fields: &RowFields<'_>) -> RowProblem {
    RowProblem::new(format!("the line has no `label`, only {}", fields.some_names())).hint(HINT)
}

fn id_of(fields: &RowFields<'_>) -> Result<String, RowProblem> {
    match fields.value("id")? {
        Some(Value::String(id)) if !id.is_empty() => Ok(id),
        Some(Value::Number(id)) if !id.is_f64() => Ok(id.to_string()),
        Some(other) => Err(fields.wrong("id", "a string or an integer", &other)),
        None => {
            let message = format!("the line has no `id`, only {}", fields.some_names());
            Err(RowProblem::new(message).hint(HINT))
        }
    }
}

fn trial_of(fields: &RowFields<'_>) -> Result<Option<u32>, RowProblem> {
    let Some(value) = fields.value("trial")? else { return Ok(None) };
    let trial = value.as_u64().and_then(|trial| u32::try_from(trial).ok());
    trial.map(Some).ok_or_else(|| fields.wrong("trial", "a whole number from 0", &value))
}

fn text_of(fields: &RowFields<'_>, name: &str) -> Result<Option<String>, RowProblem> {
    let Some(raw) = fields.members.get(name) else { return Ok(None) };
    match serde_json::from_str(raw.get()).unwrap_or_default() {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => {
            let message = format!("`{name}` is {}", kind_of(&other));
            Err(RowProblem::new(message).label("expected a string").at(fields.row, raw))
        }
    }
}

/// Labels for graders that the suite does not have.
#[derive(Default)]
struct Foreign {
    labels: usize,
    graders: Vec<String>,
}

impl Foreign {
    fn add(&mut self, grader: &str) {
        self.labels += 1;
        if self.graders.len() <= SOME && !self.graders.iter().any(|known| known == grader) {
            self.graders.push(grader.to_owned());
        }
    }

    fn diagnostic(&self, path: &str) -> Option<Diagnostic> {
        let are = if self.labels == 1 { "label is" } else { "labels are" };
        let message = format!(
            "{} {are} for graders that the suite does not have: {}",
            self.labels,
            some_of(&self.graders)
        );
        (self.labels > 0).then(|| Diagnostic::warning(Place::file(path), message))
    }
}

/// Names that a message lists.
const SOME: usize = 3;

/// The first few names, quoted.
pub(crate) fn some_of(names: &[String]) -> String {
    let mut some: Vec<String> =
        names.iter().take(SOME).map(|name| format!("`{}`", clipped(name))).collect();
    if names.len() > SOME {
        some.push("…".to_owned());
    }
    some.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{beside, read};
    use crate::pipeline::dataset::labels::LabelValue;
    use crate::pipeline::spec::Scale;

    fn scales() -> [(String, Scale); 2] {
        [("exact".to_owned(), Scale::UNIT), ("helpful".to_owned(), Scale { min: 1.0, max: 5.0 })]
    }

    fn problems(path: &str, text: &str) -> String {
        let reading = read(path, text, &scales());
        let rendered = reading.problems.iter().map(|problem| problem.render(false));
        rendered.collect::<Vec<_>>().join("\n\n")
    }

    #[test]
    fn labels_are_beside_the_suite_under_its_name() {
        for (suite, labels) in [
            ("bot.yaml", "bot.labels.jsonl"),
            ("a.b/bot.suite.yaml", "a.b/bot.suite.labels.jsonl"),
            ("/bot", "/bot.labels.jsonl"),
        ] {
            assert_eq!(beside(suite), labels);
        }
    }

    #[test]
    fn every_format_says_the_same() {
        let jsonl = "{\"id\": 1, \"label\": 0.5, \"grader\": \"exact\"}\n\n{\"id\": \"b\", \"trial\": 2, \"label\": \"pass\", \"note\": [1]}\n{\"sample_id\": \"c\", \"label\": null}\n{\"id\": \"b\", \"label\": false, \"model\": \"m\"}\n";
        let array = format!("[{}]", jsonl.trim().replace("\n\n", "\n").replace('\n', ", "));
        let csv = "\u{feff}sample_id,grader,trial,model,label\n1,exact,,,0.5\nb,,2,,Passed\nc,,,,\nb,,,m,false\n";
        let expected = read("l.jsonl", jsonl, &scales());
        assert_eq!(expected.problems, []);
        let table = &expected.table.samples;
        assert_eq!(table.keys().collect::<Vec<_>>(), ["1", "b"]);
        let own: Vec<_> = table["b"].iter().map(|line| (line.trial, line.said.clone())).collect();
        assert_eq!(own, [(Some(2), LabelValue::Pass(true)), (None, LabelValue::Pass(false))]);
        for (path, text) in [("l.json", array.as_str()), ("l", &array), ("l.csv", csv), ("l", csv)]
        {
            assert_eq!(read(path, text, &scales()), expected, "{path}");
        }
    }

    #[test]
    fn lines_that_say_more_come_first() {
        let lines = [
            r#"{"id": "a", "label": true}"#,
            r#"{"id": "a", "model": "m", "label": true}"#,
            r#"{"id": "a", "trial": 1, "label": {"exact": 1, "helpful": 2}}"#,
            r#"{"id": "a", "trial": 1, "label": true}"#,
            r#"{"id": "a", "grader": "exact", "model": "m", "label": 0}"#,
            r#"{"id": "a", "label": true}"#,
        ];
        let reading = read("l.jsonl", &lines.join("\n"), &scales());
        assert_eq!(reading.problems, []);
        let of = reading.table.samples["a"].iter().map(|line| {
            let grader = line.grader.as_deref();
            let model = line.model.as_deref();
            (grader.unwrap_or("-"), line.trial, model.unwrap_or("-"))
        });
        assert_eq!(
            of.collect::<Vec<_>>(),
            [
                ("exact", Some(1), "-"),
                ("helpful", Some(1), "-"),
                ("exact", None, "m"),
                ("-", Some(1), "-"),
                ("-", None, "m"),
                ("-", None, "-"),
            ]
        );
        let line = &reading.table.samples["a"][2];
        assert!(line.is_of(Some("m"), 7) && !line.is_of(None, 0));
    }

    #[test]
    fn problems_are_shown_where_they_stand() {
        let lines = [
            r#"{"id": "a", "label": 6}"#,
            r#"{"id": "a", "label": 1"#,
            r#"{"id": "a"}"#,
            r#"{"label": 1}"#,
            r#"{"id": "a", "label": 0.5, "grader": "helpful"}"#,
            r#"{"id": "a", "label": {"exact": 1}, "grader": "exact"}"#,
            r#"{"id": "a", "label": 1, "trial": "x"}"#,
            r#"{"id": "b", "label": 1}"#,
            r#"{"id": "b", "label": 0}"#,
            r#"{"id": "b", "label": "cat", "grader": "other"}"#,
        ];
        insta::assert_snapshot!(problems("l.jsonl", &lines.join("\n")), @r#"
        error: `label` is neither a score from 0 to 1 or 1 to 5 nor pass or fail
         --> l.jsonl:1:22
          |
        1 | {"id": "a", "label": 6}
          |                      ^ expected a score, true, false, "pass" or "fail"

        error: bad JSON: the text ends inside an object
         --> l.jsonl:2:22
          |
        2 | {"id": "a", "label": 1
          |                      ^
          |
          = help: the text is cut off, or a bracket or quote is never closed

        error: the line has no `label`, only `id`
         --> l.jsonl:3:1
          |
        3 | {"id": "a"}
          | ^^^^^^^^^^^
          |
          = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` say what it is of

        error: the line has no `id`, only `label`
         --> l.jsonl:4:1
          |
        4 | {"label": 1}
          | ^^^^^^^^^^^^
          |
          = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` say what it is of

        error: `label` is neither a score from 1 to 5 nor pass or fail
         --> l.jsonl:5:22
          |
        5 | {"id": "a", "label": 0.5, "grader": "helpful"}
          |                      ^^^ expected a score, true, false, "pass" or "fail"

        error: `label` is neither a score from 0 to 1 nor pass or fail
         --> l.jsonl:6:22
          |
        6 | {"id": "a", "label": {"exact": 1}, "grader": "exact"}
          |                      ^^^^^^^^^^^^ expected a score, true, false, "pass" or "fail"

        error: `trial` is a string
         --> l.jsonl:7:34
          |
        7 | {"id": "a", "label": 1, "trial": "x"}
          |                                  ^^^ expected a whole number from 0

        error: `b` has another label on line 8
         --> l.jsonl:9:1
          |
        9 | {"id": "b", "label": 0}
          | ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: remove one of the lines, or say with `model`, `trial` or `grader` what each is of

        warning: 1 label is for graders that the suite does not have: `other`
        --> l.jsonl
        "#);
    }

    #[test]
    fn an_empty_file_has_no_labels_and_nothing_is_wrong_with_it() {
        for text in ["", "\n", "\u{feff}  \r\n"] {
            let reading = read("l.jsonl", text, &scales());
            assert_eq!((reading.table.samples.len(), reading.problems.len()), (0, 0));
        }
    }

    #[test]
    fn files_that_hold_no_labels_say_what_is_expected() {
        let found = [
            problems("l.json", "[]"),
            problems("l.csv", "id,score\na,1\n"),
            problems("l.jsonl", "[{\"id\": 1, \"label\": 1}]"),
            problems("l.csv", "id,label\na,1\nb,7\n"),
            problems("l.jsonl", &format!("{{\"id\": 1, \"label\": {}", "[".repeat(150))),
        ];
        insta::assert_snapshot!(found.join("\n\n"), @r#"
        error: the file of labels has no records
        --> l.json
         = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` say what it is of; an array of them is named .json, a table .csv

        error: the file of labels has no column `label`
         --> l.csv:1:1
          |
        1 | id,score
          | ^^^^^^^^
          |
          = help: its header is `id,label`, and `model`, `trial`, `grader` if needed

        error: the file of labels is one JSON array, not one object a line
         --> l.jsonl:1:1
          |
        1 | [{"id": 1, "label": 1}]
          | ^
          |
          = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` say what it is of; an array of them is named .json, a table .csv

        error: `label` is neither a score from 0 to 1 or 1 to 5 nor pass or fail
         --> l.csv:3:1
          |
        3 | b,7
          | ^^^ expected a score, true, false, "pass" or "fail"

        error: the JSON is nested more than 128 deep
         --> l.jsonl:1:147
          |
        1 | …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
          |                                                              ^ level 129 opens here
        "#);
    }
}
