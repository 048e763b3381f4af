//! The grades of criteria, as a line of results holds them: inside the grade of their rubric, as `criteria`. Everywhere else
//! they are grades of graders like others.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{GradeLine, TurnLine};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_eval::grade::GradeError;
use evalrs_model::spec::{grader_of, rubric_of};

#[derive(Serialize)]
struct RubricLine<'a> {
    #[serde(flatten)]
    grade: &'a GradeLine,
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    criteria: OrderedMap<CriterionLine<'a>>,
}

/// What a criterion says.
#[derive(Serialize)]
struct CriterionLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a Value>,
    score: f64,
    pass: bool,
    reason: &'a str,
    error: &'a Option<GradeError>,
    key: &'a Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_turn: &'a Option<Vec<TurnLine>>,
}

impl<'a> CriterionLine<'a> {
    fn of(grade: &'a GradeLine) -> Self {
        let GradeLine { score, pass, rationale, error, key, metadata, per_turn } = grade;
        let mut others = metadata.clone();
        others.remove(VERDICT);
        Self {
            verdict: metadata.get(VERDICT),
            score: *score,
            pass: *pass,
            reason: rationale,
            error,
            key,
            metadata: others,
            per_turn,
        }
    }
}

/// What a judge answered, among what else is known of its grade.
const VERDICT: &str = "verdict";

/// Writes grades, those of criteria inside that of their rubric where it is among them.
pub(super) fn serialize<S: Serializer>(
    grades: &OrderedMap<GradeLine>,
    to: S,
) -> Result<S::Ok, S::Error> {
    if grades.0.iter().all(|(name, _)| rubric_of(name).is_none()) {
        return grades.serialize(to);
    }
    let rubrics = grades.0.iter().filter(|(name, _)| written_in(name, grades).is_none());
    to.collect_map(rubrics.map(|(rubric, grade)| {
        let own = grades.0.iter().filter_map(|(name, grade)| {
            let (_, criterion) = written_in(name, grades).filter(|(of, _)| of == rubric)?;
            Some((criterion.to_owned(), CriterionLine::of(grade)))
        });
        (rubric, RubricLine { grade, criteria: OrderedMap(own.collect()) })
    }))
}

/// The rubric that a criterion is written in, and its name there.
fn written_in<'n>(grader: &'n str, grades: &OrderedMap<GradeLine>) -> Option<(&'n str, &'n str)> {
    rubric_of(grader).filter(|(rubric, _)| grades.get(rubric).is_some())
}

/// A grade as it is read, with those of its criteria.
#[derive(Deserialize)]
struct WrittenGrade {
    score: f64,
    pass: bool,
    #[serde(default, alias = "reason")]
    rationale: String,
    verdict: Option<Value>,
    error: Option<GradeError>,
    key: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
    per_turn: Option<Vec<TurnLine>>,
    #[serde(default)]
    criteria: OrderedMap<WrittenGrade>,
}

impl WrittenGrade {
    fn grade(self) -> GradeLine {
        let Self { score, pass, rationale, verdict, error, key, mut metadata, per_turn, .. } = self;
        metadata.extend(verdict.map(|verdict| (VERDICT.to_owned(), verdict)));
        GradeLine { score, pass, rationale, error, key, metadata, per_turn }
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<OrderedMap<GradeLine>, D::Error> {
    let read: OrderedMap<WrittenGrade> = OrderedMap::deserialize(from)?;
    let mut grades = Vec::with_capacity(read.0.len());
    for (name, mut grade) in read.0 {
        let criteria = std::mem::take(&mut grade.criteria);
        if criteria.0.iter().any(|(_, criterion)| !criterion.criteria.is_empty()) {
            return Err(D::Error::custom("a criterion has criteria"));
        }
        let of_criteria: Vec<_> = criteria
            .0
            .into_iter()
            .map(|(criterion, grade)| (grader_of(&name, &criterion), grade.grade()))
            .collect();
        grades.push((name, grade.grade()));
        grades.extend(of_criteria);
    }
    Ok(OrderedMap(grades))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::results::ResultLine;

    fn grade(rationale: &str, key: Option<&str>) -> Value {
        json!({"score": 1.0, "pass": true, "rationale": rationale, "error": null, "key": key, "metadata": {}})
    }

    #[test]
    fn criteria_stand_in_the_grade_of_their_rubric() {
        let mut polite = grade("so", Some("k"));
        polite["metadata"] = json!({"verdict": "yes", "model": "m"});
        let flat = json!({
            "format": 2, "sample_id": "s", "input": "i", "ground_truth": null, "model": null, "trial": 0,
            "submission": "x",
            "grades": {"other": grade("o", None), "quality": grade("q", None), "quality.polite": polite, "lone.one": grade("l", None)},
        });
        let line: ResultLine = serde_json::from_value(flat).unwrap();
        let names: Vec<&str> = line.grades.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["other", "quality", "quality.polite", "lone.one"]);
        let written = serde_json::to_value(&line).unwrap();
        let criterion = &written["grades"]["quality"]["criteria"]["polite"];
        let expected = json!({"verdict": "yes", "score": 1.0, "pass": true, "reason": "so", "error": null, "key": "k", "metadata": {"model": "m"}});
        assert_eq!(*criterion, expected);
        assert_eq!(written["grades"]["quality"]["rationale"], "q");
        assert!(
            written["grades"]["lone.one"].is_object()
                && written["grades"]["quality.polite"].is_null()
        );
        let mut again: ResultLine = serde_json::from_value(written).unwrap();
        let verdict = again.grades.0[2].1.metadata.remove("verdict");
        again.grades.0[2].1.metadata.insert("verdict".to_owned(), verdict.unwrap());
        assert_eq!(again.grades.0[2].1.metadata.len(), 2);
        assert_eq!(again.grades.0[2].1.rationale, line.grades.0[2].1.rationale);
    }
}
