//! Reads one record into a [`Sample`] and what was recorded of the target for it.
//!
//! Everything here is cheap enough to be done again whenever it is needed; nothing is kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use super::row_record::RowRecord;

use super::fields::{FIELDS, RowFields, RowProblem, RowSpec, counted, deep_problem, json_text};
use super::raw_record::too_deep;
use super::recorded::{call_marks, holds_nothing, ignored, joined_spec, recorded, session_hint};
use super::row_record::NOT_RECORDED;
use super::run_identity::RunIdentity;
use super::{GroundTruth, Input, RecordedAnswer, Sample};
use crate::grade::RowOutput;
use evalrs_base::diagnostic::clipped;
use evalrs_base::json_syntax::kind_of;
use evalrs_base::path::Row;
use evalrs_model::spec::MissingAnswer;
use evalrs_trajectory::{CallMarks, MessageBody, Trajectory};

/// What identifies a case: id, model and trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowId {
    /// The id as written, or none: then it comes from the content.
    pub id: Option<String>,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// The tags, for filters and breakdowns.
    pub tags: Vec<String>,
}

/// A record in parts, each read on demand.
#[derive(Debug)]
pub struct OpenedRow<'a> {
    fields: RowFields<'a>,
    record: RowRecord<'a>,
}

impl<'a> OpenedRow<'a> {
    /// Takes the record apart.
    pub fn new(record: RowRecord<'a>, spec: &'a RowSpec) -> Result<Self, RowProblem> {
        Ok(Self { fields: RowFields::new(record.row, spec)?, record })
    }

    /// The row as paths see it, followed by the answer of a target that is run.
    pub fn row(&self) -> Row<'a> {
        let RowRecord { row, recorded, .. } = self.record;
        let is_answered = self.fields.spec.live.is_some() && recorded != NOT_RECORDED;
        Row { text: row, answer: is_answered.then_some(recorded) }
    }

    /// Who the case is.
    pub fn identity(&self) -> Result<RowId, RowProblem> {
        let RunIdentity { trial, model } = self.run()?;
        Ok(RowId { id: self.id()?, model, trial: trial.unwrap_or(0), tags: self.tags()? })
    }

    /// The id as written.
    pub fn id(&self) -> Result<Option<String>, RowProblem> {
        let fields = &self.fields;
        match fields.value("id")? {
            None => Ok(None),
            Some(empty @ Value::String(_)) if empty == "" => {
                let wrong = fields.wrong("id", "a string or an integer", &empty);
                Err(RowProblem { message: "`id` is empty".to_owned(), ..wrong }
                    .hint("rows without an `id` get one from their content"))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) if !number.is_f64() => Ok(Some(number.to_string())),
            Some(other) => Err(fields.wrong("id", "a string or an integer", &other)),
        }
    }

    /// The tags.
    pub fn tags(&self) -> Result<Vec<String>, RowProblem> {
        let wrong = |found: &Value| self.fields.wrong("tags", "a list of strings", found);
        match self.fields.value("tags")? {
            None => Ok(Vec::new()),
            Some(Value::String(tag)) => Ok(vec![tag]),
            Some(Value::Array(items)) => {
                let tags = items.iter().map(|item| {
                    item.as_str().map(str::to_owned).ok_or_else(|| RowProblem {
                        message: format!("an entry of `tags` is {}", kind_of(item)),
                        ..wrong(item)
                    })
                });
                tags.collect()
            }
            Some(other) => Err(wrong(&other)),
        }
    }

    /// Which run of its sample the case is.
    pub fn run(&self) -> Result<RunIdentity, RowProblem> {
        run_of(&self.fields, self.record)
    }

    /// The input of the target; without an `input`, the messages of the user in the trajectory; else unknown.
    pub fn input(&self) -> Result<Option<Input>, RowProblem> {
        match read_input(&self.fields)? {
            Some(input) => Ok(Some(input)),
            None if self.record.recorded == NOT_RECORDED => Ok(None),
            None => Ok(input_of(&self.recorded()?.trajectory)),
        }
    }

    /// The same, and nothing where no answer was recorded that would say it.
    pub fn given(&self) -> Result<Option<Input>, RowProblem> {
        Ok(answered(self.input())?.flatten())
    }

    /// Why a grader cannot read the input, if the row has none.
    pub(crate) fn no_input(&self) -> Option<RowProblem> {
        let is_missing = matches!(self.input(), Ok(None)) && !self.lacks_answer();
        is_missing.then(|| no_input(&self.fields))
    }

    /// Whether there is no recorded answer, or an empty one, for which no judge is called.
    fn lacks_answer(&self) -> bool {
        let spec = RowSpec { missing: MissingAnswer::Error, ..self.fields.spec.clone() };
        let opened = OpenedRow::new(self.record, &spec);
        opened.is_ok_and(|row| row.recorded().is_err_and(|problem| problem.unanswered))
    }

    /// The reference answer. The input is read only where it decides what a list means.
    pub fn ground_truth(&self) -> Result<Option<GroundTruth>, RowProblem> {
        let input = if self.lists("ground_truth") { self.given()? } else { None };
        read_ground_truth(&self.fields, input.as_ref())
    }

    /// The reference answer in the shape that the row has it in, or what it says of one turn.
    pub(crate) fn whole_truth(&self, turn: Option<usize>) -> Result<Option<Value>, RowProblem> {
        match (self.fields.value("ground_truth")?, turn) {
            (Some(Value::Array(turns)), Some(turn)) => Ok(turns.into_iter().nth(turn)),
            (whole, _) => Ok(whole),
        }
    }

    /// Whether input and ground truth look like one entry a turn, without reading either.
    pub(crate) fn may_be_per_turn(&self) -> bool {
        self.lists("ground_truth") && self.lists("input")
    }

    /// Why the reference answer is not one text, if it is a list and there are no turns that its entries belong to.
    pub(crate) fn no_single_truth(&self) -> Option<RowProblem> {
        let is_list = self.lists("ground_truth")
            && matches!(self.fields.value("ground_truth"), Ok(Some(Value::Array(_))));
        if !is_list || !matches!(self.ground_truth(), Ok(Some(GroundTruth::Text(_)))) {
            return None;
        }
        let problem = RowProblem::new("`ground_truth` is a list, and `input` is not");
        Some(self.fields.at("ground_truth", problem))
    }

    /// Why what the row calls its trajectory cannot be read, where it is passed over.
    pub(crate) fn no_trajectory(&self) -> Option<RowProblem> {
        ignored(&self.fields, self.record)
    }

    /// Which of the row's outputs the case is of, where the row has several.
    pub fn output(&self) -> Option<RowOutput<'a>> {
        let spec = self.fields.spec;
        let at = self.record.case;
        let (model, _) = spec.fields.outputs.get(at).filter(|_| spec.live.is_none())?;
        Some(RowOutput { model, at, of: spec.fields.outputs.len() })
    }

    /// Why a grader cannot read the answer, if the row has none and does not say so.
    pub fn no_answer(&self) -> Option<RowProblem> {
        holds_nothing(&self.fields, self.record)
    }

    fn lists(&self, name: &str) -> bool {
        self.fields
            .raw(name)
            .is_some_and(|raw| raw.get().trim_start_matches(['"', ' ']).starts_with('['))
    }

    /// Values for the placeholders of rubrics.
    pub fn rubric_vars(&self) -> Result<Map<String, Value>, RowProblem> {
        self.fields.object("rubric_vars")
    }

    /// A rubric of the row's own.
    pub fn rubric(&self) -> Result<Option<String>, RowProblem> {
        self.fields.text("rubric")
    }

    /// A file that holds a rubric of the row's own, inside the suite's folder.
    pub fn rubric_path(&self) -> Result<Option<String>, RowProblem> {
        let Some(path) = self.fields.text("rubric_path")? else { return Ok(None) };
        if path.starts_with('/') || path.split(['/', '\\']).any(|part| part == "..") {
            let problem = RowProblem::new("`rubric_path` leads out of the suite's folder");
            let problem = problem.hint("a row names rubrics beside the suite or below it");
            return Err(self.fields.at("rubric_path", problem));
        }
        Ok(Some(path))
    }

    /// The object of this name; none if the row has none.
    pub fn object(&self, name: &str) -> Result<Option<Map<String, Value>>, RowProblem> {
        Ok(if self.fields.raw(name).is_some() { Some(self.fields.object(name)?) } else { None })
    }

    /// The `metadata` of the row, after the keys that have no meaning of their own here.
    pub fn metadata(&self) -> Result<Map<String, Value>, RowProblem> {
        let mut all = Map::new();
        for (name, raw) in self.fields.unmapped() {
            // A value that cannot be read would have been found when the row was checked.
            all.insert(name.to_owned(), serde_json::from_str(raw.get()).unwrap_or_default());
        }
        all.extend(self.fields.object("metadata")?);
        Ok(all)
    }

    /// The graders that the row names, if it names some. What is no list of names is something else of that name.
    pub fn named_graders(&self) -> Option<Vec<String>> {
        match self.field("graders")? {
            Value::String(cell) if self.fields.spec.cells => {
                Some(cell.split(',').map(|name| name.trim().to_owned()).collect())
            }
            Value::Array(items) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        }
    }

    /// The value of our field `name`; none where there is none, or it cannot be read.
    pub fn field(&self, name: &str) -> Option<Value> {
        self.fields.value(name).ok().flatten()
    }

    /// The value at a dotted path: in the row, or in the answer of a target that is run.
    pub fn at_path(&self, path: &str) -> Option<Value> {
        match self.fields.at_path(path) {
            Some(raw) => serde_json::from_str(raw.get()).ok(),
            None => Row { text: "{}", answer: self.row().answer }.get(path),
        }
    }

    /// How the recording marks failed calls.
    pub fn call_marks(&self) -> CallMarks {
        call_marks(&self.fields, self.record)
    }

    /// What was recorded of the target.
    pub fn recorded(&self) -> Result<RecordedAnswer, RowProblem> {
        recorded(&self.fields, self.record)
    }
}

/// Whether a row may name graders, seen from its text alone.
pub fn may_name_graders(row: &str, spec: &RowSpec) -> bool {
    let is_mapped = spec.fields.paths.iter().any(|(ours, _)| ours == "graders");
    is_mapped || memchr::memmem::find(row.as_bytes(), b"\"graders\"").is_some()
}

/// None where no answer was recorded, which is an error of the result alone.
fn answered<T>(read: Result<T, RowProblem>) -> Result<Option<T>, RowProblem> {
    match read {
        Err(problem) if problem.unanswered => Ok(None),
        read => read.map(Some),
    }
}

fn run_of(fields: &RowFields<'_>, record: RowRecord<'_>) -> Result<RunIdentity, RowProblem> {
    let RunIdentity { mut trial, mut model } = said_run(fields)?;
    if !matches!(record.recorded, "" | NOT_RECORDED) && fields.spec.live.is_none() {
        let own = recorded_run(record.recorded, fields.spec)?;
        trial = own.trial.or(trial);
        model = own.model.or(model);
    }
    if let Some(live) = &fields.spec.live {
        let case = live.case(record.case);
        trial = Some(case.trial);
        model = case.model.map(|model| model.name.clone());
    } else if let Some((name, _)) = fields.spec.fields.outputs.get(record.case) {
        model = Some(name.clone());
    }
    Ok(RunIdentity { trial, model })
}

/// The trial and the model that the fields name.
fn said_run(fields: &RowFields<'_>) -> Result<RunIdentity, RowProblem> {
    Ok(RunIdentity { trial: fields.trial()?, model: fields.text("model")? })
}

/// The same of a joined recording.
fn recorded_run(text: &str, spec: &RowSpec) -> Result<RunIdentity, RowProblem> {
    let spec = joined_spec(spec);
    let fields = RowFields::new(text, &spec);
    fields.and_then(|fields| said_run(&fields)).map_err(RowProblem::of_recording)
}

/// Everything that is wrong with a recording before it is joined with a row.
pub fn check_recording(text: &str, spec: &RowSpec) -> Result<(), RowProblem> {
    let spec = joined_spec(spec);
    recorded_run(text, &spec)?;
    let opened = OpenedRow::new(RowRecord { row: "{}", recorded: text, case: 0 }, &spec)?;
    answered(opened.recorded()).map(drop)
}

/// Reads a case, without its trajectory.
fn sample_of(opened: &OpenedRow<'_>) -> Result<Sample, RowProblem> {
    let identity = opened.identity()?;
    Ok(Sample {
        id: identity.id,
        input: opened.given()?,
        ground_truth: opened.ground_truth()?,
        rubric_vars: opened.rubric_vars()?,
        tags: identity.tags,
        rubric: opened.rubric()?,
        rubric_path: opened.rubric_path()?,
        trial: identity.trial,
        model: identity.model,
    })
}

fn no_input(fields: &RowFields<'_>) -> RowProblem {
    let session = session_hint(fields).map(str::to_owned);
    let hint = session.or_else(|| fields.instead_of("input")).unwrap_or_else(|| {
        let names = fields.some_names();
        format!(
            "the row has {names}; if one is the input, set `fields: {{input: NAME}}` in the suite"
        )
    });
    RowProblem::new("the row has no `input`").hint(hint)
}

fn read_input(fields: &RowFields<'_>) -> Result<Option<Input>, RowProblem> {
    let expected = "a string, a list of strings (one a turn) or a list of chat messages";
    match fields.value("input")? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(Input::Text(text))),
        Some(Value::Number(_) | Value::Bool(_)) => {
            Ok(fields.raw("input").map(|raw| Input::Text(raw.get().to_owned())))
        }
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let turns = items.into_iter().filter_map(|item| item.as_str().map(str::to_owned));
            Ok(Some(Input::Turns(turns.collect())))
        }
        Some(Value::Array(items)) if items.iter().all(|item| item.get("role").is_some()) => {
            Ok(Some(Input::Messages(Value::Array(items))))
        }
        Some(other) => Err(fields.wrong("input", expected, &other)),
    }
}

/// Without an `input`, the messages of the user in the trajectory.
fn input_of(trajectory: &Trajectory) -> Option<Input> {
    let said = trajectory.messages(false).filter_map(|message| match &message.body {
        MessageBody::User(text) => Some(text.clone()),
        _ => None,
    });
    said.into_iter().next().map(Input::Text)
}

fn read_ground_truth(
    fields: &RowFields<'_>,
    input: Option<&Input>,
) -> Result<Option<GroundTruth>, RowProblem> {
    let Some(value) = fields.value("ground_truth")? else { return Ok(None) };
    let (Value::Array(items), Some(Input::Turns(turns))) = (&value, input) else {
        let scalar = matches!(value, Value::Number(_) | Value::Bool(_));
        let raw = fields.raw("ground_truth").filter(|_| scalar).map(|raw| raw.get().to_owned());
        return Ok(Some(GroundTruth::Text(raw.unwrap_or_else(|| json_text(&value)))));
    };
    if items.len() == turns.len() {
        return Ok(Some(GroundTruth::Turns(items.iter().map(json_text).collect())));
    }
    let entries = counted(items.len(), ["entry", "entries"]);
    let turns = counted(turns.len(), ["turn", "turns"]);
    let problem = RowProblem::new(format!("`ground_truth` has {entries}, `input` has {turns}"))
        .label("expected one entry a turn")
        .hint("one reference for the whole trajectory is a string, not a list");
    Err(fields.at("ground_truth", problem))
}

/// Everything that is wrong with a case, cheapest first: what the queries later rely on.
pub fn check(record: RowRecord<'_>, spec: &RowSpec) -> Result<Sample, RowProblem> {
    if let Some(at) = too_deep(record.row) {
        return Err(deep_problem(at));
    }
    let opened = OpenedRow::new(record, spec)?;
    let fields = &opened.fields;
    if let Some((name, raw)) = fields.members.twice() {
        let problem =
            RowProblem::new(format!("the key `{}` appears twice in the row", clipped(name)))
                .at(record.row, raw);
        return Err(problem.hint("remove one of them"));
    }
    ambiguous(fields)?;
    if let (Some(_), Some(path)) = (fields.raw("rubric"), fields.raw("rubric_path")) {
        let problem = RowProblem::new("a row has `rubric` or `rubric_path`, not both");
        return Err(problem.at(record.row, path).hint("keep one"));
    }
    let read = sample_of(&opened)?;
    if spec.live.is_some() && read.input.is_none() {
        return Err(no_input(fields));
    }
    if record.recorded != NOT_RECORDED {
        answered(opened.recorded())?;
    }
    Ok(read)
}

/// Two aliases of one field, and neither is our name nor mapped.
fn ambiguous(fields: &RowFields<'_>) -> Result<(), RowProblem> {
    for (name, aliases) in FIELDS {
        let mapped = fields.spec.fields.paths.iter().any(|(ours, _)| ours == name);
        if mapped || fields.members.get(name).is_some() {
            continue;
        }
        let mut found = aliases.iter().filter(|alias| fields.members.get(alias).is_some());
        if let (Some(first), Some(second)) = (found.next(), found.next()) {
            let message = format!("both `{first}` and `{second}` may be the row's `{name}`");
            let problem = RowProblem::new(message)
                .hint(format!("choose one: `fields: {{{name}: {first}}}` in the suite"));
            return Err(match fields.members.get(second) {
                Some(raw) => problem.at(fields.row, raw),
                None => problem,
            });
        }
    }
    Ok(())
}
