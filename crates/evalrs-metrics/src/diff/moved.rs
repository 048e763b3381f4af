//! The verdicts that moved between two evaluations, and their order.

use serde::Serialize;

use super::agreement::MovedLabel;
use super::{CaseName, SideGrade};
use crate::metric::label_change::AgreementMove;
use evalrs_model::delta::Movement;

/// A verdict that moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictMove {
    /// The case.
    pub case: CaseName,
    /// The grader.
    pub grader: String,
    /// How.
    pub movement: Movement,
    /// Human labels of it; none where nobody labelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<MovedLabel>,
    /// The grade of the first.
    pub before: MovedGrade,
    /// The grade of the second.
    pub now: MovedGrade,
}

impl VerdictMove {
    /// How far the score moved, second minus first.
    pub fn distance(&self) -> f64 {
        self.now.score - self.before.score
    }

    /// Whether the same call had another reply: nobody edited what it is made of. Who refreshed it did that, or the outcome is
    /// another one's now.
    pub fn is_repeated(&self) -> bool {
        self.before.key.is_some() && self.before.key == self.now.key && self.distance() != 0.0
    }

    /// How it moved against what people say; none where that is not known, or as it was.
    pub fn against_people(&self) -> Option<AgreementMove> {
        self.label?.movement()
    }

    /// What is the worst news comes first.
    fn rank(&self) -> u8 {
        match (self.against_people(), self.movement) {
            (Some(AgreementMove::NoLongerAgrees), _) => 0,
            (None, Movement::Broken) => 1,
            _ => 2,
        }
    }
}

/// One grade of a verdict that moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MovedGrade {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether it could not be made.
    pub error: bool,
    /// The key of its first judgment.
    pub key: Option<String>,
    /// Why, in the words of the judge; null where they are not recorded.
    pub rationale: Option<String>,
}

impl MovedGrade {
    /// A grade without its words.
    pub fn of(grade: SideGrade) -> Self {
        Self {
            score: grade.score,
            pass: grade.pass,
            error: grade.error,
            key: grade.key.map(|key| key.to_string()),
            rationale: None,
        }
    }
}

/// The worst news first, then by how far.
pub(super) fn sort(moved: &mut [VerdictMove]) {
    moved.sort_by(|one, other| {
        let by_distance = other.distance().abs().total_cmp(&one.distance().abs());
        one.rank().cmp(&other.rank()).then(by_distance)
    });
}
