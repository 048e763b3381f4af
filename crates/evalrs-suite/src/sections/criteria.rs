//! A rubric that is taken apart: `criteria`. Each is read into a grader of its own, `rubric.criterion`, before which the rubric
//! stands as the grader of what they say together.
//!
//! So whatever knows graders knows criteria, and only reports put them back under their rubric.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{
    self, AnyOf, Choice, ListOf, MapOf, Mapping, Number, Text, Texts, Truth, Whole,
};
use crate::section::{FRACTION, FieldSpec, Section, fields, section};
use crate::sections::allow::{ALLOW, allowed};
use crate::sections::ballots::{SCALE, VOTE_COUNT, VOTES, scale, votes_alone};
use crate::sections::builtin::entries_of;
use crate::sections::command_judges::COMMAND_JUDGE;
use crate::sections::expressions::condition;
use crate::sections::extractors::extractor;
use crate::sections::grader_fields::{Graders, SUBMISSION, pass_threshold, pattern};
use crate::sections::judges::{PANELLIST, judges};
use crate::sections::model::JUDGE;
use crate::sections::rubric::unfenced;
use crate::sections::rubric_file::{RubricText, rubric_places};
use crate::written::{extend, without_empty};
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_model::expression::{Expression, RowCondition};
use evalrs_model::spec::{
    CombinedCriteria, CriteriaBatch, CriteriaPerRequest, CriteriaSpec, CriterionQuestion,
    CriterionSpec, ExtractorSpec, GraderKind, GraderSpec, JudgedCriterion, Lint, RewardSpec,
    RubricSpec, Scale, Unsure, YesNo, grader_of,
};

/// A rubric grader whose rubric is a list of criteria.
pub(crate) static CRITERIA: Section = Section::new(
    "a rubric in criteria",
    &[
        KIND,
        fields![
            "criteria": AnyOf(&[MapOf(&AnyOf(&[Text, Mapping(&CRITERION)])), Text]), required => "the criteria by name, each a question for yes or no or a mapping; or the path of a YAML file with such a mapping";
            "preamble": Text => "what every judge reads before the question";
        ],
        HOW_JUDGED,
        SUBMISSION,
        PANEL,
        JUDGE,
        COMMAND_JUDGE,
        OF_ALL,
    ],
);

/// A rubric grader whose criteria are part of evalrs.
pub(crate) static BUILTIN: Section = Section::new(
    "a ready-made rubric",
    &[
        KIND,
        fields![
            "builtin": Text, required => "a ready-made rubric with its version, such as `factuality@1`";
        ],
        HOW_JUDGED,
        SUBMISSION,
        PANEL,
        JUDGE,
        COMMAND_JUDGE,
        OF_ALL,
    ],
);

const KIND: &[FieldSpec] = fields![
    "kind": Choice(&["rubric", "model_judge"]), required => "a judge grades by a rubric";
];

const HOW_JUDGED: &[FieldSpec] = fields![
    "batching": AnyOf(&[Choice(&["each", "together"]), MOST_IN_ONE_REQUEST]), or "\"each\"" => "how many criteria one request has: `each` is one, `together` is all, a number is the most";
    "combine": Text, or "\"weighted\"" => "how criteria become one score: `weighted`, `mean`, `all`, `any`, or an expression over their names";
];

const PANELLISTS: FieldShape = ListOf(&Mapping(&PANELLIST));

const ANY_VOTES: FieldShape = AnyOf(&[VOTE_COUNT, Mapping(&VOTES)]);

const PANEL: &[FieldSpec] = fields![
    "panel": PANELLISTS => "several judges, up to 100: each entry has the grader's options but for its own";
];

const OF_ALL: &[FieldSpec] = fields![
    "rubric_vars": Texts => "variables that every row must have";
    "votes": ANY_VOTES, or "1" => "independent judgments by each judge: N, or `{n, combine}`";
    "confirm_fails": Whole(0, 100, "between 0 and 100"), or "0" => "more votes by each judge on submissions below the pass threshold";
    "fence": Truth, or "true" => "whether texts in the rubric get tags around them";
    "unfenced": Texts => "placeholders whose texts get no tags: `input`, `submission`, `ground_truth`, `row` (every field and variable of the row), or one name";
    "allow": ALLOW => "warnings about this rubric to switch off, by name";
    "allow_unknown": Truth, or "false" => "`true` sends unknown names in braces as they are; `false` makes them an error before the first call";
];

pub(crate) static CRITERION: Section = section!["a criterion",
    "question": Text, needed "a criterion needs a `question`", "for example `question: Is the reply polite?`" => "the question for yes or no; with `scale`, what is scored";
    "weight": Number(1e-9, 1e9, "between 1e-9 and 1e9"), or "1" => "what it counts for in `combine: weighted`";
    "expect": AnyOf(&[Truth, Choice(&["yes", "no"])]), or "\"yes\"" => "the answer that meets it";
    "required": Truth, or "false" => "whether the score is 0 where it is not met";
    "only": Text => "a filter: this criterion counts only for rows such as `'refund' in tags`";
    "may_not_apply": Truth, or "false" => "whether the judge may answer that the question does not apply";
    "unsure": Choice(&["not_met", "error", "skip"]), or "\"not_met\"" => "what it means that the judge cannot tell";
    "scale": Mapping(&SCALE) => "the range of a criterion that is scored, mapped to 0 to 1";
    "pass_threshold": FRACTION, or "1.0" => "the least score that meets it";
];

const MOST_IN_ONE_REQUEST: FieldShape = Whole(1, 100, "between 1 and 100");

/// Names that stand for something else where criteria are named.
const RESERVED: [&str; 5] = ["pass", "score", "submission", "pass_rate", "error"];

const NAMED_COMBINATIONS: [(&str, CombinedCriteria); 4] = [
    ("weighted", CombinedCriteria::Weighted),
    ("mean", CombinedCriteria::Mean),
    ("all", CombinedCriteria::All),
    ("any", CombinedCriteria::Any),
];

/// A criterion that was read: what it counts for, and its own grader's part.
struct ReadCriterion {
    spec: CriterionSpec,
    text: RubricText,
    yes_no: Option<YesNo>,
    scale: Option<Scale>,
}

/// Reads the rubric `name`: adds the grader that it is, and one for each of its criteria.
pub(crate) fn add(
    name: &str,
    entry: Field<'_>,
    mut fields: FieldSet<'_>,
    graders: &mut Graders,
    reader: &mut Reader<'_>,
) {
    let builtin = fields.take("builtin");
    fields.read_as(if builtin.is_some() { &BUILTIN } else { &CRITERIA });
    let ready_made = match builtin.map(entries_of) {
        Some(None) => return,
        ready_made => ready_made.flatten().unwrap_or_default(),
    };
    let mut fields = fields.over(&ready_made);
    let display_name = fields.text("display_name");
    let whole = whole(name, entry, &fields, reader);
    if let Some(field) = fields.take("not") {
        let hint = "write `expect: no` in the criteria that must not hold";
        field.error_at_key("a rubric in criteria has no `not`", hint);
    }
    let preamble = fields.take("preamble");
    let shared = shared(entry, &mut fields, reader);
    let read = fields.take("criteria").map(|field| listed(field, preamble, reader));
    let read = read.unwrap_or_default();
    for one in &read {
        let name = grader_of(name, &one.spec.name);
        let places = rubric_places(entry, &fields, &one.text);
        if builtin.is_none() {
            let file = one.text.parts.last().map(|span| reader.findings.place(*span).path);
            reader.looked.rubrics.extend(file.map(|file| (name.clone(), file)));
        }
        reader.rubric_places.push((name, places));
    }
    let names: Vec<&str> = read.iter().map(|one| one.spec.name.as_str()).collect();
    let combine = combine(fields.take("combine"), &names);
    let batching = batching(fields.take("batching"));
    graders.names.extend(names.iter().map(|criterion| grader_of(name, criterion)));
    fields.finish();
    let (Some(whole), Some(combine)) = (whole, combine) else { return };
    if read.is_empty() {
        return;
    }
    let spec = CriteriaSpec {
        preamble: preamble.and_then(Field::text).unwrap_or_default(),
        criteria: read.iter().map(|one| one.spec.clone()).collect(),
        combine,
        batching,
    };
    let questions: Vec<CriterionQuestion> = read.iter().map(ReadCriterion::question).collect();
    let batches = spec.batches(&questions);
    let of_criteria = read.into_iter().zip(batches);
    let of_criteria: Vec<GraderSpec> =
        of_criteria.map(|(one, batch)| one.grader(name, batch, &whole, &shared)).collect();
    let kind = GraderKind::Reward(RewardSpec::Criteria(Box::new(spec)));
    graders.specs.push(GraderSpec { display_name, kind, ..whole });
    graders.specs.extend(of_criteria);
}

/// What the rubric and its criteria have in common as graders. Its kind is to be replaced.
fn whole(
    name: &str,
    entry: Field<'_>,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<GraderSpec> {
    let extractor = extractor(fields, reader);
    if fields.take("pass_threshold").is_none() {
        reader.without_threshold.push((name.to_owned(), entry.key_span));
    }
    let pass_threshold = pass_threshold(fields);
    let only = condition("only", fields);
    let include_subagents = fields.truth("include_subagents").unwrap_or(false);
    let ground_truth = fields.text("ground_truth");
    let path = |path: String| path.strip_prefix("row.").unwrap_or(&path).to_owned();
    Some(GraderSpec {
        name: name.to_owned(),
        display_name: None,
        extractor: ExtractorSpec { include_subagents, ..extractor? },
        pass_threshold: pass_threshold?,
        ground_truth_pattern: pattern(fields, reader),
        ground_truth: ground_truth.map(path),
        negated: false,
        only,
        kind: GraderKind::Rubric(Box::default()),
    })
}

/// What all judgments of the rubric have in common.
fn shared(entry: Field<'_>, fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> RubricSpec {
    let judges = judges(fields, true, reader);
    if judges.iter().any(|judge| judge.agent.is_some()) {
        let message = "a judge that is an agent gives scores: its tool takes no answer";
        entry.error_at_key(message, "use a model or a command as judge of criteria");
    }
    let mut allow = fields.take("allow").map(allowed).unwrap_or_default();
    if fields.truth("allow_unknown") == Some(true) {
        allow.push(Lint::UnknownPlaceholder);
    }
    let votes = votes_alone(fields);
    RubricSpec {
        prompt: String::new(),
        judges,
        rubric_vars: fields.texts("rubric_vars").unwrap_or_default(),
        votes: votes.count,
        combine: votes.combine,
        confirm_fails: fields.whole("confirm_fails").unwrap_or(0),
        fence: fields.truth("fence").unwrap_or(true),
        unfenced: unfenced(None, fields),
        allow,
        ..RubricSpec::default()
    }
}

/// The criteria in `field`, or in the file that it names.
fn listed(
    field: Field<'_>,
    preamble: Option<Field<'_>>,
    reader: &mut Reader<'_>,
) -> Vec<ReadCriterion> {
    let Yaml::Str(_) = field.value.value else { return criteria(field, preamble) };
    let Some((path, text)) = field.path().zip(reader.text_of(field)) else { return Vec::new() };
    let Some(value) = reader.findings.parse(&path, &text) else { return Vec::new() };
    let entry = YamlEntry { key_span: value.span, value, ..field.entry.clone() };
    criteria(Field { entry: &entry, findings: reader.findings }, preamble)
}

fn criteria(field: Field<'_>, preamble: Option<Field<'_>>) -> Vec<ReadCriterion> {
    let Some(entries) = field.entries() else {
        let hint = "write `criteria: {polite: Is the reply polite?}`";
        return field.wrong_type("a mapping of names to questions", hint).unwrap_or_default();
    };
    if entries.is_empty() {
        field.error_at_key(
            "`criteria` is empty",
            "write `criteria: {polite: Is the reply polite?}`",
        );
    }
    entries.into_iter().filter_map(|entry| criterion(entry, preamble)).collect()
}

fn criterion(entry: Field<'_>, preamble: Option<Field<'_>>) -> Option<ReadCriterion> {
    let name = name_of(entry)?;
    let plain = ReadCriterion {
        spec: CriterionSpec {
            name,
            question: String::new(),
            only: None,
            weight: 1.0,
            is_required: false,
            pass_threshold: 1.0,
        },
        text: RubricText::default(),
        yes_no: Some(YesNo { expect: true, may_not_apply: false, unsure: Unsure::default() }),
        scale: None,
    };
    if !entry.is_mapping() {
        let question = entry.text()?;
        return Some(plain.asking(question, entry, preamble));
    }
    let fields = entry.fields(&CRITERION)?;
    let question = fields.take("question");
    let scale_field = fields.take("scale");
    let scale = scale_field.and_then(scale);
    let expect = fields.take("expect").map_or(Some(true), expected);
    let yes_no = YesNo {
        expect: expect?,
        may_not_apply: fields.truth("may_not_apply").unwrap_or(false),
        unsure: fields.variant("unsure").unwrap_or_default(),
    };
    if scale_field.is_some() {
        for name in ["expect", "may_not_apply", "unsure"] {
            if let Some(field) = fields.take(name) {
                let message = format!("a criterion with a `scale` has no `{name}`");
                field.error_at_key(&message, "only a question for yes or no has it");
            }
        }
    }
    let read = ReadCriterion {
        spec: CriterionSpec {
            weight: fields.number("weight").unwrap_or(1.0),
            is_required: fields.truth("required").unwrap_or(false),
            pass_threshold: pass_threshold(&fields)?,
            only: condition("only", &fields),
            ..plain.spec.clone()
        },
        yes_no: scale_field.is_none().then_some(yes_no),
        scale,
        text: RubricText::default(),
    };
    fields.finish();
    let question = question?;
    Some(read.asking(question.text()?, question, preamble))
}

/// The name of a criterion, which expressions and gates name.
fn name_of(entry: Field<'_>) -> Option<String> {
    let name = entry.key.clone();
    let mut chars = name.chars();
    let is_word = chars.next().is_some_and(|first| first.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_word {
        let message = format!("`{name}` cannot be the name of a criterion");
        let hint = "a name has small letters, digits and `_`, and begins with a letter";
        return entry.refuse_at_key(&message, hint);
    }
    if RESERVED.contains(&name.as_str()) {
        let message =
            format!("`{name}` cannot be the name of a criterion: it means something else");
        return entry.refuse_at_key(&message, "give it another name");
    }
    Some(name)
}

/// The answer that meets a criterion: yes or no, as YAML says it or as text.
fn expected(field: Field<'_>) -> Option<bool> {
    match &field.value.value {
        Yaml::Bool(expect) => Some(*expect),
        Yaml::Str(text) if text.eq_ignore_ascii_case("yes") => Some(true),
        Yaml::Str(text) if text.eq_ignore_ascii_case("no") => Some(false),
        _ => field.wrong_type("`yes` or `no`", "for example `expect: no`"),
    }
}

fn combine(field: Option<Field<'_>>, names: &[&str]) -> Option<CombinedCriteria> {
    let Some(field) = field else { return Some(CombinedCriteria::Weighted) };
    let text = field.text()?;
    let named = NAMED_COMBINATIONS.into_iter().find(|(name, _)| *name == text);
    if let Some((_, combine)) = named {
        return Some(combine);
    }
    let expression = match Expression::parse(&text) {
        Ok(expression) => expression,
        Err(problem) => {
            let span = field.findings.sources().inside(field.value.span, &text, problem.at);
            let hint = problem.hint.unwrap_or_default();
            return field.findings.refuse(span, &problem.message, &hint);
        }
    };
    match expression.names.iter().find(|name| !names.contains(&name.as_str())) {
        Some(unknown) => {
            let known = [names, &["weighted", "mean", "all", "any"]].concat();
            field.unknown(unknown, "criterion", &known)
        }
        None => Some(CombinedCriteria::Expression(expression)),
    }
}

/// How many criteria one request has.
fn batching(field: Option<Field<'_>>) -> CriteriaPerRequest {
    let Some(field) = field else { return CriteriaPerRequest::EACH };
    match &field.value.value {
        Yaml::Str(text) if text == "each" => CriteriaPerRequest::EACH,
        Yaml::Str(text) if text == "together" => CriteriaPerRequest::Together,
        Yaml::Int(_) => field
            .whole(MOST_IN_ONE_REQUEST)
            .map_or(CriteriaPerRequest::EACH, CriteriaPerRequest::AtMost),
        _ => {
            let hint = "for example `batching: together`";
            let wrong = field.wrong_type("`each`, `together` or a number", hint);
            wrong.unwrap_or(CriteriaPerRequest::EACH)
        }
    }
}

impl ReadCriterion {
    fn question(&self) -> CriterionQuestion {
        let text = self.spec.question.clone();
        CriterionQuestion { text, yes_no: self.yes_no, scale: self.scale }
    }

    /// The same with its question, and what is told before it.
    fn asking(self, question: String, at: Field<'_>, preamble: Option<Field<'_>>) -> Self {
        let before = preamble.and_then(|field| Some((field.text()?, field.value.span)));
        let mut parts: Vec<_> = before.iter().map(|(_, span)| *span).collect();
        parts.push(at.value.span);
        let before = before.map(|(text, _)| format!("{}\n\n", text.trim_end()));
        let text = format!("{}{question}", before.unwrap_or_default());
        let spec = CriterionSpec { question, ..self.spec };
        Self { spec, text: RubricText { text, parts, front: Vec::new() }, ..self }
    }

    /// The grader that it is.
    fn grader(
        self,
        rubric: &str,
        batch: Option<Arc<CriteriaBatch>>,
        whole: &GraderSpec,
        shared: &RubricSpec,
    ) -> GraderSpec {
        let criterion = JudgedCriterion { question: self.question(), batch };
        let Self { spec, text, scale, .. } = self;
        let criterion = Some(Box::new(criterion));
        let judged = RubricSpec { prompt: text.text, criterion, scale, ..shared.clone() };
        GraderSpec {
            name: grader_of(rubric, &spec.name),
            pass_threshold: spec.pass_threshold,
            only: both(whole.only.as_ref(), spec.only.as_ref()),
            kind: GraderKind::Rubric(Box::new(judged)),
            ..whole.clone()
        }
    }
}

/// The rows that both conditions hold of.
fn both(whole: Option<&RowCondition>, own: Option<&RowCondition>) -> Option<RowCondition> {
    match (whole, own) {
        (Some(whole), Some(own)) => {
            RowCondition::parse(&format!("({}) and ({})", whole.text(), own.text())).ok()
        }
        (whole, own) => own.or(whole).cloned(),
    }
}

/// The rubric `spec` as it is written back: `rubric` is what its criteria have in common, `graders` those that they are.
pub(crate) fn written(spec: &CriteriaSpec, graders: &[&GraderSpec], rubric: Value) -> Value {
    let mut written = rubric;
    let combine = spec.combine.text();
    let votes = json!({"n": written["votes"], "combine": written["combine"]});
    let criteria = spec.criteria.iter().zip(graders);
    let criteria: Map<String, Value> = criteria
        .map(|(spec, grader)| (spec.name.clone(), written_criterion(spec, grader)))
        .collect();
    let preamble = Some(&spec.preamble).filter(|text| !text.is_empty());
    let batching = match spec.batching {
        CriteriaPerRequest::AtMost(most) if most > 1 => json!(most),
        batching => json!(batching.to_string()),
    };
    let own = json!({"preamble": preamble, "criteria": criteria, "batching": batching, "combine": combine, "votes": votes});
    extend(&mut written, without_empty(own));
    if let Some(written) = written.as_object_mut() {
        written.remove("prompt");
        written.remove("scale");
    }
    written
}

fn written_criterion(spec: &CriterionSpec, grader: &GraderSpec) -> Value {
    let GraderKind::Rubric(rubric) = &grader.kind else { return Value::Null };
    let yes_no = rubric.yes_no();
    without_empty(json!({
        "question": spec.question,
        "weight": spec.weight,
        "expect": yes_no.map(|rule| rule.expect),
        "required": spec.is_required.then_some(true),
        "only": spec.only.as_ref().map(RowCondition::text),
        "may_not_apply": yes_no.map(|rule| rule.may_not_apply),
        "unsure": yes_no.map(|rule| rule.unsure),
        "scale": rubric.scale,
        "pass_threshold": spec.pass_threshold,
    }))
}
