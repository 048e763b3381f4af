//! One result of a run with all that is known of it.

use serde::Serialize;
use serde_json::{Map, Value};

use super::labels::{LabelView, PeopleView, PersonLabelView, RunLabels};
use super::message::MessageView;
use super::rows::{IndexedRow, RunRows, VerdictState};
use super::run::object_or_null;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::explain::{ExplainedAction, ExplainedResult};
use evalrs_metrics::results::{recorded_grade, recorded_submission};

/// A result.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CaseView {
    /// Its number among all results of the run, from 0.
    at: u32,
    /// The sample.
    sample_id: String,
    /// The model that was run.
    model: Option<String>,
    /// The repetition, from 0.
    trial: u32,
    /// What the target was given.
    input: Value,
    /// The reference answer.
    ground_truth: Value,
    /// What the row says beside; null where that is not known.
    metadata: Value,
    /// The tags of the sample.
    tags: Vec<String>,
    /// The conversation; null where it is not known.
    conversation: Option<Vec<MessageView>>,
    /// Why there is no conversation, or a remark about it.
    conversation_note: Option<String>,
    /// Grader → what it graded.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    submissions: OrderedMap<String>,
    /// Grader → its grade.
    #[schema(value_type = std::collections::BTreeMap<String, CaseGrade>)]
    grades: OrderedMap<CaseGrade>,
    /// Grader → the judgments that its grade is made of.
    #[schema(value_type = std::collections::BTreeMap<String, Vec<JudgmentView>>)]
    judgments: OrderedMap<Vec<JudgmentView>>,
    /// Where it stands in the list; null where it is not part of it.
    pub list: Option<ListPlaceView>,
    /// The result before it in the list.
    pub previous: Option<CasePlaceView>,
    /// The one after it.
    pub next: Option<CasePlaceView>,
}

/// Which result.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct CasePlaceView {
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
}

/// The place of a result in a list.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct ListPlaceView {
    /// From 0.
    pub at: usize,
    /// How many results the list has.
    pub total: usize,
    /// Of a list in the order `queue`: why it is to be labelled, `random`, `disagreement` or `threshold`.
    pub picked: Option<&'static str>,
}

/// A grade.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CaseGrade {
    /// 0.0..=1.0; null where there is none.
    score: Option<f64>,
    /// Its result.
    state: VerdictState,
    /// Why.
    rationale: Option<String>,
    /// Why there is none: `kind` and `message`.
    #[schema(value_type = Option<Object>)]
    error: Value,
    /// The action key of its first judgment.
    key: Option<String>,
    /// What else the grader says.
    #[schema(value_type = Option<Object>)]
    metadata: Value,
    /// What people say together; null of a tie.
    label: Option<LabelView>,
    /// What each person says.
    people: Vec<PersonLabelView>,
    /// Whether some people say that it passes and others that it does not.
    disputed: bool,
}

/// A judgment.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct JudgmentView {
    /// The turn that is judged, where turns are judged one by one.
    turn: Option<usize>,
    /// Which of the independent judgments it is, from 0.
    vote: u32,
    /// The judge that was called.
    model: String,
    /// Whether the two submissions were shown the other way round; null where there is one.
    reversed: Option<bool>,
    /// The action key.
    key: String,
    /// What the key is made of: `name`, `preview`, `digest`.
    #[schema(value_type = Vec<Object>)]
    ingredients: Value,
    /// The instructions to the judge.
    system: Option<String>,
    /// The request to the judge.
    user: Option<String>,
    /// What it replied.
    reply: Option<String>,
    /// Why there is no reply.
    error: Option<String>,
    /// When it was made, RFC 3339.
    asked_at: Option<String>,
}

impl JudgmentView {
    fn new(action: &ExplainedAction) -> Self {
        let text = |name: &str| {
            let whole = action.texts.get(name).and_then(Value::as_str).map(str::to_owned);
            whole.or_else(|| {
                let own = action.ingredients.iter().find(|ingredient| ingredient.name == name)?;
                let own = serde_json::to_value(own).ok()?;
                own["preview"].as_str().map(str::to_owned)
            })
        };
        let kept = action.outcome.as_ref();
        Self {
            turn: action.turn,
            vote: action.vote,
            model: action.model.clone(),
            reversed: action.reversed,
            key: action.key.clone(),
            ingredients: serde_json::to_value(&action.ingredients).unwrap_or_default(),
            system: text("system"),
            user: text("user"),
            reply: kept.and_then(|kept| kept.reply.clone()),
            error: kept.and_then(|kept| Some(kept.failure.as_ref()?.message.clone())),
            asked_at: kept.map(|kept| kept.origin.at.clone()).filter(|at| !at.is_empty()),
        }
    }
}

/// What a suite knows of a case beyond the record.
#[derive(Debug, Default)]
pub(crate) struct CaseContext {
    pub explained: Option<ExplainedResult>,
    /// The conversation.
    pub conversation: Option<Vec<MessageView>>,
    pub note: Option<String>,
    /// What the row says beside.
    pub metadata: Value,
    pub tags: Vec<String>,
}

/// The result `row`, of which `line` is the recorded line.
pub(crate) fn case(
    rows: &RunRows,
    row: &IndexedRow,
    line: &Map<String, Value>,
    labels: &RunLabels,
    context: CaseContext,
) -> CaseView {
    let recorded = |field: &str| line.get(field).cloned().unwrap_or_default();
    let grade_of = |name: &str| recorded_grade(line, name).cloned().unwrap_or_default();
    let submission = |name: &str| recorded_submission(line, name).unwrap_or_default().to_owned();
    let not_applicable = recorded("not_applicable");
    let why_not = |name: &str| not_applicable[name].as_str().map(str::to_owned);
    let grades = rows.graders.iter().zip(&row.verdicts).map(|(grader, verdict)| {
        let recorded = grade_of(&grader.name);
        let text = |field: &str| recorded[field].as_str().map(str::to_owned);
        let PeopleView { label, people, disputed } = rows.people(row, grader, *verdict, labels);
        let grade = CaseGrade {
            score: verdict.state.passed().map(|_| verdict.score),
            state: verdict.state,
            // That of a criterion is called otherwise.
            rationale: text("rationale")
                .or_else(|| text("reason"))
                .or_else(|| why_not(&grader.name)),
            error: object_or_null(&recorded["error"]),
            key: text("key"),
            metadata: object_or_null(&recorded["metadata"]),
            label,
            people,
            disputed,
        };
        (grader.name.clone(), grade)
    });
    let judgments = context.explained.iter().flat_map(|explained| &explained.graders.0);
    // Of a suite that was edited since, what would be asked now says nothing of what was asked then.
    let judgments = judgments.filter(|(name, grade)| {
        let recorded = grade_of(name);
        let key = recorded["key"].as_str();
        grade.actions.first().is_some_and(|action| Some(action.key.as_str()) == key)
    });
    let judgments = judgments
        .map(|(name, grade)| (name.clone(), grade.actions.iter().map(JudgmentView::new).collect()));
    let names = rows.graders.iter().map(|grader| &grader.name);
    CaseView {
        at: row.at,
        sample_id: row.sample_id.to_string(),
        model: rows.model_of(row).map(str::to_owned),
        trial: row.trial,
        input: recorded("input"),
        ground_truth: recorded("ground_truth"),
        metadata: context.metadata,
        tags: context.tags,
        conversation: context.conversation,
        conversation_note: context.note,
        submissions: OrderedMap(names.map(|name| (name.clone(), submission(name))).collect()),
        grades: OrderedMap(grades.collect()),
        judgments: OrderedMap(judgments.collect()),
        list: None,
        previous: None,
        next: None,
    }
}
