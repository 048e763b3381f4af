//! What the criteria of a rubric say together: arithmetic of ours, over the grades of its criteria.
//!
//! A criterion that could not be judged may be met or not. Where both come to the same score, that score stands: a violated
//! criterion that is required decides alone.

use std::ops::RangeInclusive;

use serde_json::json;

use crate::grade::Grade;
use evalrs_base::exact::{WeightedValue, mean, weighted_mean};
use evalrs_base::threshold::reaches;
use evalrs_model::spec::{CombinedCriteria, CriteriaSpec, CriterionSpec};

/// The name of the bounds in the metadata of a grade.
const BOUNDS: &str = "bounds";

/// A criterion and its grade.
struct GradedCriterion<'a> {
    spec: &'a CriterionSpec,
    grade: &'a Grade,
}

/// What is known of the score of a criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CriterionScore {
    Known(f64),
    /// It could not be judged.
    Unknown,
    /// It does not count.
    NotApplicable,
}

/// A criterion that applies, and its score.
struct ScoredCriterion<'a> {
    spec: &'a CriterionSpec,
    score: f64,
}

impl ScoredCriterion<'_> {
    fn is_met(&self) -> bool {
        reaches(self.score, self.spec.pass_threshold)
    }
}

impl GradedCriterion<'_> {
    fn score(&self) -> CriterionScore {
        match self.grade {
            Grade { applies: false, .. } => CriterionScore::NotApplicable,
            Grade { error: Some(_), .. } => CriterionScore::Unknown,
            grade => CriterionScore::Known(grade.score),
        }
    }

    fn is_unmet(&self) -> bool {
        matches!(self.score(), CriterionScore::Known(score) if !reaches(score, self.spec.pass_threshold))
    }
}

/// The grade of a submission by its `grades`, one for each criterion, once all are there.
pub fn combined(spec: &CriteriaSpec, grades: &[Option<&Grade>]) -> Option<Grade> {
    let all = spec.criteria.iter().zip(grades);
    let all: Option<Vec<GradedCriterion<'_>>> =
        all.map(|(spec, grade)| Some(GradedCriterion { spec, grade: (*grade)? })).collect();
    Some(graded(spec, &all?))
}

fn graded(spec: &CriteriaSpec, all: &[GradedCriterion<'_>]) -> Grade {
    let range = match range(spec, all) {
        Ok(Some(range)) => range,
        Ok(None) => return Grade::not_applicable(nothing_applies(spec, all)),
        Err(problem) => return Grade::failed("combine", problem),
    };
    if reaches(*range.start(), *range.end()) {
        return Grade::new(*range.start(), rationale(all));
    }
    let mut grade = Grade::failed("criterion", not_judged(all));
    let bounds = json!([range.start(), range.end()]);
    grade.metadata.get_or_insert_default().insert(BOUNDS.to_owned(), bounds);
    grade
}

/// The least and the greatest score that a grade with an error may have had, if less than everything is possible.
pub fn bounds(grade: &Grade) -> Option<[f64; 2]> {
    let bounds = grade.metadata.as_ref()?.get(BOUNDS)?.as_array()?;
    Some([bounds.first()?.as_f64()?, bounds.get(1)?.as_f64()?])
}

/// Why criteria could not be judged, those with the same reason together.
fn not_judged(all: &[GradedCriterion<'_>]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in all.iter().filter(|one| one.score() == CriterionScore::Unknown) {
        let message = one.grade.error.as_ref().map_or("", |error| error.message.as_str());
        match reasons.iter_mut().find(|(known, _)| *known == message) {
            Some((_, names)) => names.push(&one.spec.name),
            None => reasons.push((message, vec![&one.spec.name])),
        }
    }
    let clauses = reasons.iter().map(|(message, names)| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("{} could not be judged: {message}", quoted.join(", "))
    });
    clauses.collect::<Vec<_>>().join("; ")
}

fn nothing_applies(spec: &CriteriaSpec, all: &[GradedCriterion<'_>]) -> String {
    match &spec.combine {
        CombinedCriteria::Expression(expression) => expression.told(&|name| {
            let one = all.iter().find(|one| one.spec.name == name && one.grade.applies);
            one.map(|one| one.grade.score)
        }),
        _ => "no criterion applies".to_owned(),
    }
}

/// Why the score is not 1: each criterion that is not met, one a line.
fn rationale(all: &[GradedCriterion<'_>]) -> String {
    let unmet = all.iter().filter(|one| one.is_unmet());
    let lines: Vec<String> =
        unmet.map(|one| format!("{}: {}", one.spec.name, one.grade.rationale)).collect();
    if lines.is_empty() { "every criterion is met".to_owned() } else { lines.join("\n") }
}

/// The least and the greatest score that the submission may have; none where nothing can be said of it.
fn range(
    spec: &CriteriaSpec,
    all: &[GradedCriterion<'_>],
) -> Result<Option<RangeInclusive<f64>>, String> {
    if all.iter().all(|one| one.score() == CriterionScore::NotApplicable) {
        return Ok(None);
    }
    if all.iter().any(|one| one.spec.is_required && one.is_unmet()) {
        return Ok(Some(0.0..=0.0));
    }
    let has_unknown = all.iter().any(|one| one.score() == CriterionScore::Unknown);
    // More for one criterion is never less for all, but in an expression anything may be.
    if has_unknown && matches!(spec.combine, CombinedCriteria::Expression(_)) {
        return Ok(Some(0.0..=1.0));
    }
    let least = score(&spec.combine, &scores(all, 0.0))?;
    let greatest = score(&spec.combine, &scores(all, 1.0))?;
    Ok(least.zip(greatest).map(|(least, greatest)| least..=greatest))
}

/// The scores of the criteria that apply, where those that could not be judged have `unknown`.
fn scores<'a>(all: &[GradedCriterion<'a>], unknown: f64) -> Vec<ScoredCriterion<'a>> {
    let scored = all.iter().filter_map(|one| {
        let score = match one.score() {
            CriterionScore::Known(score) => score,
            CriterionScore::Unknown => unknown,
            CriterionScore::NotApplicable => return None,
        };
        Some(ScoredCriterion { spec: one.spec, score })
    });
    scored.collect()
}

/// The score of criteria that apply, at least one; none where it rests on one that does not.
fn score(
    combine: &CombinedCriteria,
    scores: &[ScoredCriterion<'_>],
) -> Result<Option<f64>, String> {
    if scores.iter().any(|one| one.spec.is_required && !one.is_met()) {
        return Ok(Some(0.0));
    }
    let of_truth = |is_so: bool| Some(f64::from(u8::from(is_so)));
    Ok(match combine {
        CombinedCriteria::Weighted => {
            weighted_mean(&scores.iter().map(weighted).collect::<Vec<_>>())
        }
        CombinedCriteria::Mean => mean(&scores.iter().map(|one| one.score).collect::<Vec<_>>()),
        CombinedCriteria::All => of_truth(scores.iter().all(ScoredCriterion::is_met)),
        CombinedCriteria::Any => of_truth(scores.iter().any(ScoredCriterion::is_met)),
        CombinedCriteria::Expression(expression) => expression
            .value(&|name| scores.iter().find(|one| one.spec.name == name).map(|one| one.score))?,
    })
}

fn weighted(one: &ScoredCriterion<'_>) -> WeightedValue {
    WeightedValue { value: one.score, weight: one.spec.weight }
}

#[cfg(test)]
mod tests {
    use super::combined;
    use crate::grade::Grade;
    use evalrs_model::expression::Expression;
    use evalrs_model::spec::{CombinedCriteria, CriteriaPerRequest, CriteriaSpec, CriterionSpec};
    use proptest::prelude::{Strategy, any, prop};
    use proptest::{prop_assert_eq, proptest};

    /// A criterion in short: its name is a letter, its weight a digit, and it may be required.
    fn criterion(short: &str) -> CriterionSpec {
        CriterionSpec {
            name: short[..1].to_owned(),
            question: String::new(),
            only: None,
            weight: short[1..2].parse().unwrap(),
            is_required: short.ends_with('!'),
            pass_threshold: 0.75,
        }
    }

    fn spec(criteria: Vec<CriterionSpec>, combine: CombinedCriteria) -> CriteriaSpec {
        CriteriaSpec {
            preamble: String::new(),
            criteria,
            combine,
            batching: CriteriaPerRequest::EACH,
        }
    }

    /// A grade in short: a score, `x` for an error, `-` where it does not apply, `?` where it is not there yet.
    fn grade(short: &str) -> Option<Grade> {
        Some(match short {
            "?" => return None,
            "x" => Grade::failed("server", "it is down"),
            "-" => Grade::not_applicable("of nothing"),
            score => Grade::new(score.parse().unwrap(), "so it is"),
        })
    }

    fn combine(name: &str) -> CombinedCriteria {
        match name {
            "weighted" => CombinedCriteria::Weighted,
            "mean" => CombinedCriteria::Mean,
            "all" => CombinedCriteria::All,
            "any" => CombinedCriteria::Any,
            text => CombinedCriteria::Expression(Expression::parse(text).unwrap()),
        }
    }

    /// The grade in short: a score, `-` for none, the bounds of an error.
    fn shown(combine: &str, criteria: &str, grades: &str) -> String {
        let criteria = criteria.split(' ').map(criterion).collect();
        let spec = spec(criteria, self::combine(combine));
        let grades: Vec<Option<Grade>> = grades.split(' ').map(grade).collect();
        let grades: Vec<Option<&Grade>> = grades.iter().map(Option::as_ref).collect();
        match combined(&spec, &grades) {
            None => "?".to_owned(),
            Some(Grade { applies: false, .. }) => "-".to_owned(),
            Some(Grade { error: Some(error), metadata, .. }) => {
                let bounds = metadata.as_ref().and_then(|told| told.get("bounds"));
                bounds.map_or(error.message, ToString::to_string)
            }
            Some(grade) => grade.score.to_string(),
        }
    }

    #[test]
    fn criteria_come_to_what_one_computes_by_hand() {
        for (combine, criteria, grades, expected) in [
            ("weighted", "a3 b1", "1 0", "0.75"),
            ("weighted", "a3 b1", "0.5 1", "0.625"),
            ("weighted", "a3 b1 c4", "1 0 -", "0.75"),
            ("weighted", "a3 b1", "- -", "-"),
            ("weighted", "a3 b1", "x 1", "[0.25,1.0]"),
            ("weighted", "a3 b1", "x -", "[0.0,1.0]"),
            ("weighted", "a3 b1", "1 ?", "?"),
            ("mean", "a3 b1", "1 0", "0.5"),
            ("mean", "a1 b1 c1", "0.1 0.2 0.3", "0.2"),
            ("mean", "a1 b1 c2", "1 x 0", "[0.3333333333333333,0.6666666666666666]"),
            ("all", "a1 b1", "1 0.75", "1"),
            ("all", "a1 b1", "1 0.74", "0"),
            ("all", "a1 b1", "1 -", "1"),
            ("all", "a1 b1", "1 x", "[0.0,1.0]"),
            ("all", "a1 b1", "0 x", "0"),
            ("any", "a1 b1", "0.74 0", "0"),
            ("any", "a1 b1", "0.75 0", "1"),
            ("any", "a1 b1", "1 x", "1"),
            ("any", "a1 b1", "0 x", "[0.0,1.0]"),
            // One that is required decides alone.
            ("weighted", "a3! b1", "0.74 1", "0"),
            ("weighted", "a3! b1", "0.75 1", "0.8125"),
            ("weighted", "a3! b1", "- 1", "1"),
            ("weighted", "a3! b1", "0 x", "0"),
            ("weighted", "a3! b1", "x 1", "[0.0,1.0]"),
            ("weighted", "a3! b1", "x 0", "[0.0,0.75]"),
            ("any", "a1! b1", "0 1", "0"),
            ("a*b", "a1 b1", "0.5 0.5", "0.25"),
            ("a*b", "a1 b1", "0.5 -", "-"),
            ("a*b", "a1 b1", "0.5 x", "[0.0,1.0]"),
            ("a", "a1 b1", "0.5 -", "0.5"),
            ("a*b", "a1! b1", "0 x", "0"),
            ("2*a", "a1 b1", "1 1", "2*a = 2*1 = 2, and a score is between 0.0 and 1.0"),
        ] {
            assert_eq!(shown(combine, criteria, grades), expected, "{combine} {criteria} {grades}");
        }
    }

    /// Every way to judge the criteria that could not be judged, on a grid.
    fn completions(grades: &[String]) -> Vec<Vec<String>> {
        grades.iter().fold(vec![Vec::new()], |before, grade| {
            let choices = match grade.as_str() {
                "x" => ["0", "0.5", "0.75", "1"].map(str::to_owned).to_vec(),
                known => vec![known.to_owned()],
            };
            let with = |before: &Vec<String>| {
                let choices = choices.iter();
                choices
                    .map(|grade| [before.as_slice(), std::slice::from_ref(grade)].concat())
                    .collect()
            };
            before.iter().flat_map::<Vec<_>, _>(with).collect()
        })
    }

    fn some_criteria() -> impl Strategy<Value = Vec<(String, String)>> {
        let weight = 1..=9;
        let grade = prop::sample::select(vec!["0", "0.5", "0.75", "1", "-", "x", "x"]);
        prop::collection::vec((weight, any::<bool>(), grade), 1..5).prop_map(|drawn| {
            let names = 'a'..;
            let short = names.zip(drawn).map(|(name, (weight, is_required, grade))| {
                let mark = if is_required { "!" } else { "" };
                (format!("{name}{weight}{mark}"), grade.to_owned())
            });
            short.collect()
        })
    }

    proptest! {
        /// The ends are what some judgments of the missing criteria come to, and no other lies beyond them.
        #[test]
        fn the_ends_are_those_of_all_completions(
            drawn in some_criteria(),
            combine in prop::sample::select(vec!["weighted", "mean", "all", "any"]),
        ) {
            let (criteria, grades): (Vec<String>, Vec<String>) = drawn.into_iter().unzip();
            let criteria = criteria.join(" ");
            let possible: Vec<f64> = completions(&grades)
                .iter()
                .filter_map(|grades| shown(combine, &criteria, &grades.join(" ")).parse().ok())
                .collect();
            let least = possible.iter().copied().min_by(f64::total_cmp);
            let greatest = possible.iter().copied().max_by(f64::total_cmp);
            let told = shown(combine, &criteria, &grades.join(" "));
            let ends: Option<Vec<f64>> = match told.strip_prefix('[') {
                Some(_) => serde_json::from_str(&told).ok(),
                None => told.parse().ok().map(|score| vec![score, score]),
            };
            prop_assert_eq!(ends, least.zip(greatest).map(|(least, greatest)| vec![least, greatest]));
        }
    }

    #[test]
    fn the_rationale_names_what_is_not_met() {
        let criteria = ["a1", "b1", "c1", "d1"].map(criterion).into();
        let spec = spec(criteria, CombinedCriteria::Mean);
        let rationale = |grades: [&str; 4]| {
            let grades = grades.map(grade);
            combined(&spec, &grades.each_ref().map(Option::as_ref)).unwrap().rationale.into_owned()
        };
        assert_eq!(rationale(["1", "0", "-", "0.5"]), "b: so it is\nd: so it is");
        assert_eq!(rationale(["1", "1", "-", "1"]), "every criterion is met");
        let failed = rationale(["1", "x", "0", "x"]);
        assert_eq!(failed, "Error during grading: `b`, `d` could not be judged: it is down");
    }
}
