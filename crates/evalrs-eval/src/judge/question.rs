//! The question for a judge, and the shape of the reply.
//!
//! The shape is said three times: in words to every model, as a JSON schema to endpoints that take one, and by
//! [`super::reply`], which believes nothing else. All three are made here.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use strum::{EnumString, IntoStaticStr, VariantNames};

use evalrs_model::spec::{CriterionQuestion, ReplyFormat, Scale};

/// The question for a judge.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// How good is the submission?
    Score(Scale),
    /// Which of two submissions is better?
    Compare,
    /// Is it so?
    Decide {
        /// Whether the question may not apply to the submission.
        may_not_apply: bool,
    },
    /// Several of these, each for a score or a decision.
    Several(Arc<[NamedQuestion]>),
    /// What is this text as a vector? Of the submission, and of the reference.
    Embed {
        /// How long the vector is to be, where the model leaves a choice.
        dimensions: Option<u32>,
    },
}

/// One of several questions in a request, and the name of its answer in the reply.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedQuestion {
    pub name: String,
    pub question: Question,
}

/// The order in which a judge sees two submissions: judges favour places, so both orders are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The submission first. Also where there is only one.
    Forward,
    /// The submission second.
    Reversed,
}

/// A way to ask for the shape of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplyShape {
    /// By a JSON schema.
    Schema,
    /// As some JSON object.
    Object,
    /// In words alone.
    Words,
}

impl ReplyShape {
    /// The `response_format` that requests it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => ReplyFormat::JsonSchema.name(),
            Self::Object => ReplyFormat::JsonObject.name(),
            Self::Words => ReplyFormat::Text.name(),
        }
    }
}

/// The answers to [`Question::Compare`].
pub const WINNERS: [&str; 3] = ["A", "B", "tie"];

/// An answer to [`Question::Decide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantNames, EnumString)]
#[strum(serialize_all = "snake_case", ascii_case_insensitive)]
pub enum Decision {
    Yes,
    No,
    CannotTell,
    NotApplicable,
}

impl Decision {
    /// Its name in replies and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The answers that a judge may give.
    pub fn names(may_not_apply: bool) -> &'static [&'static str] {
        if may_not_apply { Self::VARIANTS } else { &Self::VARIANTS[..3] }
    }
}

impl From<&CriterionQuestion> for Question {
    fn from(criterion: &CriterionQuestion) -> Self {
        match criterion.yes_no {
            Some(rule) => Self::Decide { may_not_apply: rule.may_not_apply },
            None => Self::Score(criterion.scale.unwrap_or(Scale::UNIT)),
        }
    }
}

impl NamedQuestion {
    /// The question of a criterion. Its name is made of what is asked alone: so neither the name of the criterion nor the others
    /// in the request decide it.
    pub fn of_criterion(criterion: &CriterionQuestion) -> Self {
        let question = Question::from(criterion);
        let mut hasher = blake3::Hasher::new();
        hasher.update(question.shape().as_bytes()).update(b"\n").update(criterion.text.as_bytes());
        let digest = hasher.finalize().to_hex();
        Self { name: format!("q{}", &digest[..NAME_DIGITS]), question }
    }
}

/// Few enough to be copied by a model, and enough that two of a hundred questions hardly ever share them.
const NAME_DIGITS: usize = 8;

/// The schema of a reply with an answer to each question.
fn schema_of_several(all: &[NamedQuestion]) -> Value {
    let answers = all.iter().map(|one| (one.name.clone(), one.question.schema()));
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    json!({
        "type": "object",
        "properties": answers.collect::<Map<_, _>>(),
        "required": names,
        "additionalProperties": false,
    })
}

impl Question {
    /// The number of orders that are judged.
    pub fn orders(&self) -> u32 {
        match self {
            Self::Score(_) | Self::Decide { .. } | Self::Several(_) => 1,
            Self::Compare | Self::Embed { .. } => 2,
        }
    }

    /// The score `native`, as judges give it, mapped to 0.0..=1.0.
    pub fn unit(&self, native: f64) -> f64 {
        match self {
            Self::Score(scale) => scale.unit(native),
            Self::Compare | Self::Decide { .. } | Self::Several(_) => native,
            // Texts that point apart are as unlike as texts can be.
            Self::Embed { .. } => native.clamp(0.0, 1.0),
        }
    }

    /// The member of a reply that answers it; empty where a reply has no one answer.
    pub(super) fn answer_name(&self) -> &'static str {
        match self {
            Self::Score(_) => "score",
            Self::Compare => "winner",
            Self::Decide { .. } => "verdict",
            Self::Embed { .. } | Self::Several(_) => "",
        }
    }

    /// The reply that is wanted, in words. The rationale comes first: a score that follows its reasons is better
    /// founded than reasons that follow a score.
    pub fn shape(&self) -> String {
        match self {
            Self::Score(Scale { min, max }) => {
                format!("{{\"rationale\": <string>, \"score\": <number from {min} to {max}>}}")
            }
            Self::Compare => {
                "{\"rationale\": <string>, \"winner\": \"A\" or \"B\" or \"tie\"}".to_owned()
            }
            Self::Decide { may_not_apply } => {
                let names = Decision::names(*may_not_apply).join("\" or \"");
                format!("{{\"reason\": <string>, \"verdict\": \"{names}\"}}")
            }
            Self::Several(all) => {
                let one =
                    |one: &NamedQuestion| format!("\"{}\": {}", one.name, one.question.shape());
                format!("{{{}}}", all.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Self::Embed { .. } => "{\"embedding\": <list of numbers>}".to_owned(),
        }
    }

    /// The message to a judge whose reply was not a verdict.
    pub fn correction(&self, fault: &str) -> String {
        let shape = self.shape();
        format!("That is no valid verdict: {fault}. Reply again with one JSON object: {shape}.")
    }

    /// The reply that is wanted, as a JSON schema.
    pub fn schema(&self) -> Value {
        let mut why = "rationale";
        let name = self.answer_name();
        let answer = match self {
            Self::Score(Scale { min, max }) => {
                json!({"type": "number", "minimum": min, "maximum": max})
            }
            Self::Compare => json!({"type": "string", "enum": WINNERS}),
            Self::Decide { may_not_apply } => {
                why = "reason";
                let names = Decision::names(*may_not_apply);
                json!({"type": "string", "enum": names})
            }
            Self::Several(all) => return schema_of_several(all),
            Self::Embed { dimensions } => return json!({"embedding": {"dimensions": dimensions}}),
        };
        json!({
            "type": "object",
            "properties": {why: {"type": "string"}, name: answer},
            "required": [why, name],
            "additionalProperties": false,
        })
    }
}
