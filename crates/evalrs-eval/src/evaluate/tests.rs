//! Planning and joining of judges: which actions a submission gets, and what their outcomes make of it.

mod pairs;

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::baseline::{self, RecordedRun};
use super::scope::GraderScope;
use super::{
    BallotId, Case, GradePlan, Method, ReadyGrader, ReadyTool, Submission, action, ballot_scores,
    cell, each_wanted, grade, plan,
};
use crate::action::Action;
use crate::dataset::fields::RowSpec;
use crate::dataset::row::RowRecord;
use crate::judge::Judge;
use evalrs_base::file_text::FileText;
use evalrs_model::delta::CellState;
use evalrs_model::key::{ActionKey, KeyMap, KeyVersion};
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply, Usage};
use evalrs_model::spec::{
    Combine, CompareTo, CriterionQuestion, DatasetFormat, DatasetSpec, JudgeSpec, JudgedCriterion,
    RubricSpec, Scale, Unsure, YesNo,
};

/// A grader whose judges are these models.
fn rubric(models: &[&str]) -> RubricSpec {
    let judge = |model: &&str| JudgeSpec { model: (*model).to_owned(), ..JudgeSpec::default() };
    let mut rubric = RubricSpec::new("Is it kind?", JudgeSpec::default());
    rubric.judges = models.iter().map(judge).collect();
    rubric
}

fn ready(rubric: RubricSpec) -> ReadyGrader {
    let method = Method::Judge(Box::new(Judge::new(rubric, &|_| None)));
    ReadyGrader {
        method,
        reference: None,
        ground_truth: None,
        negated: false,
        scope: GraderScope::default(),
        include_subagents: false,
    }
}

/// One row, what was submitted for it, and what a recorded run submitted.
struct Sample<'a> {
    row: &'a str,
    submission: Submission,
    run: RecordedRun,
}

impl<'a> Sample<'a> {
    fn new(row: &'a str) -> Self {
        Self { row, submission: Submission::Text("hello".into()), run: RecordedRun::default() }
    }

    fn with<T>(&self, of: impl FnOnce(&Case<'_>) -> T) -> T {
        let dataset = DatasetSpec::file("data.jsonl", DatasetFormat::Jsonl);
        let spec = RowSpec::new(&dataset, None);
        of(&Case {
            record: RowRecord { row: self.row, recorded: "", case: 0 },
            spec: &spec,
            submission: &self.submission,
            baseline: self.run.find("s", None, 0, "kind"),
            votes: None,
            cost: None,
        })
    }

    fn plan(&self, grader: &ReadyGrader) -> GradePlan {
        self.with(|case| plan(case, grader, &|_| FileText::Missing))
    }

    /// What the judge is shown by each ballot.
    fn prompts(&self, grader: &ReadyGrader, ballots: u32) -> Vec<String> {
        let rendered = |ballot| {
            user(
                self.with(|case| {
                    action(
                        case,
                        grader,
                        &|_| FileText::Missing,
                        BallotId { turn: 0, ballot },
                        KeyVersion::Current,
                    )
                })
                .unwrap(),
            )
        };
        (0..ballots).map(rendered).collect()
    }
}

/// What the judge is shown.
fn user(action: Action) -> String {
    match action {
        Action::Judge(action) => action.user,
        other => panic!("no judge: {other:?}"),
    }
}

const ROW: &str = r#"{"id": "s", "input": "q", "output": "hello", "other": "hi"}"#;

fn keys(planned: &GradePlan) -> Vec<ActionKey> {
    planned.keys().into_iter().map(|(_, key)| key).collect()
}

/// An outcome in short: a score, a winner, `!` for a failure, `?` for a reply that is no verdict.
fn outcome(short: &str, ballot: usize) -> Outcome {
    let usage = Some(Usage::of_tokens(10, 1));
    let text = match short {
        "!" => {
            let message = format!("ballot {ballot} failed");
            let kind = FailureKind::Server;
            return Outcome::Failure(Failure { usage, ..Failure::new(kind, message) });
        }
        "?" => "no verdict".to_owned(),
        "A" | "B" | "tie" => {
            json!({"winner": short, "rationale": format!("r{ballot}")}).to_string()
        }
        "yes" | "no" | "cannot_tell" | "not_applicable" => {
            json!({"reason": format!("r{ballot}"), "verdict": short}).to_string()
        }
        score => format!("{{\"score\": {score}, \"rationale\": \"r{ballot}\"}}"),
    };
    Outcome::Reply(Reply { usage, ..Reply::new(text) })
}

/// Outcomes for the keys of a plan, in the order of the ballots; `-` is none yet.
fn outcomes(planned: &GradePlan, shorts: &[&str]) -> KeyMap<Arc<Outcome>> {
    let ballots = keys(planned).into_iter().zip(shorts).enumerate();
    let there = ballots.filter(|(_, (_, short))| **short != "-");
    there.map(|(at, (key, short))| (key, Arc::new(outcome(short, at)))).collect()
}

/// The grade in short, without what every grade has.
fn joined(rubric: RubricSpec, shorts: &str) -> Value {
    let grader = ready(rubric);
    let sample = Sample::new(ROW);
    let planned = sample.plan(&grader);
    let shorts: Vec<&str> = shorts.split(' ').collect();
    let outcomes = outcomes(&planned, &shorts);
    let graded = grade(&planned, &grader, &|key| outcomes.get(&key).cloned(), 0.5);
    let Some(graded) = graded else { return Value::Null };
    let mut shown = json!({"score": graded.grade.score, "why": graded.grade.rationale});
    if let Some(error) = graded.grade.error {
        shown = json!({"error": error.kind});
    }
    let told = graded.grade.metadata.map(|told| *told).unwrap_or_default();
    let left_out = ["usage", "model", "error", "reply"];
    let told = told.into_iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
    shown.as_object_mut().unwrap().extend(told);
    shown
}

#[test]
fn votes_become_one_score() {
    let of = |combine, votes| RubricSpec { votes, combine, ..rubric(&["m"]) };
    for (combine, votes, shorts, expected) in [
        (
            Combine::Median,
            3,
            "0.2 0.9 0.4",
            json!({"score": 0.4, "why": "r2", "votes": [0.2, 0.9, 0.4], "agreement": 0.0, "spread": 0.7}),
        ),
        (
            Combine::Median,
            4,
            "0 1 1 0.5",
            json!({"score": 0.75, "why": "r1", "votes": [0.0, 1.0, 1.0, 0.5], "agreement": 1.0 / 6.0, "spread": 1.0}),
        ),
        (
            Combine::Mean,
            3,
            "0.7 0.7 0.7",
            json!({"score": 0.7, "why": "r0", "votes": [0.7, 0.7, 0.7], "agreement": 1.0, "spread": 0.0}),
        ),
        (
            Combine::Majority,
            5,
            "1 0 0.5 0 1",
            json!({"score": 0.5, "why": "r2", "votes": [1.0, 0.0, 0.5, 0.0, 1.0], "agreement": 0.2, "spread": 1.0}),
        ),
        (
            Combine::Majority,
            4,
            "0.5 0 0.5 1",
            json!({"score": 0.5, "why": "r0", "votes": [0.5, 0.0, 0.5, 1.0], "agreement": 1.0 / 6.0, "spread": 1.0}),
        ),
        (
            Combine::Mean,
            3,
            "1 ! 0.5",
            json!({"score": 0.75, "why": "r0", "votes": [1.0, null, 0.5], "agreement": 0.0, "spread": 0.5, "failed_votes": 1}),
        ),
        (Combine::Mean, 2, "1 !", json!({"error": "server"})),
        (Combine::Mean, 3, "? 1 !", json!({"error": "invalid_reply"})),
        (Combine::Mean, 3, "1 1 -", Value::Null),
        (
            Combine::Majority,
            2,
            "0 -0.0",
            json!({"score": 0.0, "why": "r0", "votes": [0.0, 0.0], "agreement": 1.0, "spread": 0.0}),
        ),
    ] {
        assert_eq!(joined(of(combine, votes), shorts), expected, "{combine:?} of {shorts}");
    }
}

#[test]
fn a_panel_tells_who_said_what() {
    let scale =
        RubricSpec { scale: Some(Scale { min: 1.0, max: 5.0 }), votes: 2, ..rubric(&["a", "b"]) };
    let mean = RubricSpec { combine: Combine::Mean, ..scale };
    assert_eq!(
        joined(mean, "1 2 ? 5"),
        json!({
            "score": (8.0 / 3.0 - 1.0) / 4.0, "why": "r1", "votes": [1.0, 2.0, null, 5.0], "agreement": 0.0, "spread": 4.0,
            "native_score": 8.0 / 3.0,
            "models": [{"model": "a", "scores": [1.0, 2.0]}, {"model": "b", "scores": [null, 5.0]}],
            "failed_votes": 1,
        })
    );
    assert_eq!(
        joined(rubric(&["a", "b"]), "! !"),
        json!({
            "error": "server",
            "models": [{"model": "a", "scores": [null]}, {"model": "b", "scores": [null]}],
        })
    );
    let one = RubricSpec { scale: Some(Scale { min: 1.0, max: 5.0 }), ..rubric(&["a"]) };
    assert_eq!(joined(one, "4"), json!({"score": 0.75, "why": "r0", "native_score": 4.0}));
}

#[test]
fn another_judge_or_vote_adds_its_own_actions_alone() {
    let asked = |models: &[&str], votes, confirm_fails| {
        let grader = ready(RubricSpec { votes, confirm_fails, ..rubric(models) });
        keys(&Sample::new(ROW).plan(&grader)).into_iter().collect::<BTreeSet<_>>()
    };
    let added = |before: &BTreeSet<ActionKey>, after: &BTreeSet<ActionKey>| {
        [after.difference(before).count(), before.difference(after).count()]
    };
    let pair = asked(&["a", "b"], 3, 0);
    assert_eq!(pair.len(), 6);
    for (what, after, expected) in [
        ("a judge more", asked(&["a", "b", "c"], 3, 0), [3, 0]),
        ("a judge in front", asked(&["c", "a", "b"], 3, 0), [3, 0]),
        ("a judge less", asked(&["b"], 3, 0), [0, 3]),
        ("in another order", asked(&["b", "a"], 3, 0), [0, 0]),
        ("two votes more", asked(&["a", "b"], 5, 0), [4, 0]),
        ("two votes less", asked(&["a", "b"], 1, 0), [0, 4]),
        ("votes that confirm follow those there are", asked(&["a", "b"], 3, 2), [4, 0]),
        ("and are those of a later vote", asked(&["a", "b"], 1, 2), [0, 0]),
    ] {
        assert_eq!(added(&pair, &after), expected, "{what}");
    }
}

#[test]
fn a_verdict_below_the_threshold_is_confirmed() {
    let confirming = || RubricSpec { confirm_fails: 2, ..rubric(&["m"]) };
    for (shorts, score, confirmed) in [
        ("0.5 - -", json!(0.5), Value::Null),
        ("0.4 - -", Value::Null, Value::Null),
        ("0.4 1 -", Value::Null, Value::Null),
        ("0.4 1 1", json!(1.0), json!(false)),
        ("0.4 0 1", json!(0.4), json!(true)),
        ("0.4 0 !", json!(0.2), json!(true)),
        ("! - -", Value::Null, Value::Null),
        ("? - -", Value::Null, Value::Null),
    ] {
        let shown = joined(confirming(), shorts);
        assert_eq!(shown["score"], score, "{shorts}: {shown}");
        assert_eq!(shown["confirmed"], confirmed, "{shorts}: {shown}");
        assert_eq!(shown["votes"].is_array(), !confirmed.is_null(), "{shorts}: {shown}");
        // A ballot that failed is no verdict to be confirmed.
        assert_eq!(shown["error"].is_string(), shorts.starts_with(['!', '?']), "{shorts}: {shown}");
    }
    assert_eq!(joined(confirming(), "0.4 ! !")["error"], "server");
    assert_eq!(joined(confirming(), "0.4 0 1")["votes"], json!([0.4, 0.0, 1.0]));
    assert_eq!(joined(RubricSpec { votes: 2, ..confirming() }, "0 1 - -")["score"], 0.5);
}

/// The ballots that are wanted, at a threshold of 0.5.
fn wanted(planned: &GradePlan, grader: &ReadyGrader, shorts: &str) -> usize {
    let shorts: Vec<&str> = shorts.split(' ').collect();
    let outcomes = outcomes(planned, &shorts);
    let mut wanted = Vec::new();
    let known = |key| outcomes.get(&key).cloned();
    each_wanted(planned, grader, &known, 0.5, &mut |ballot, key| wanted.push((ballot, key)));
    assert_eq!(wanted, planned.keys()[..wanted.len()]);
    wanted.len()
}

#[test]
fn ballots_that_confirm_are_wanted_only_below_the_threshold() {
    let grader = ready(RubricSpec { votes: 2, confirm_fails: 1, ..rubric(&["a", "b"]) });
    let planned = Sample::new(ROW).plan(&grader);
    for (shorts, expected) in [
        ("- - - -", 4),
        ("0 0 0 -", 4),
        ("0 0 0 0", 6),
        ("0 0 0.9 0.9", 6),
        ("0 0.5 0.5 1", 4),
        ("0 0 0 !", 6),
        ("0 0 ! !", 4),
        ("! ! ! !", 4),
        ("0 0 0 0 1 1", 6),
    ] {
        assert_eq!(wanted(&planned, &grader, shorts), expected, "{shorts}");
    }
    let plain = ready(RubricSpec { votes: 2, ..rubric(&["a"]) });
    assert_eq!(wanted(&Sample::new(ROW).plan(&plain), &plain, "0 0"), 2);
}

#[test]
fn the_opposite_is_confirmed_where_it_fails() {
    let rubric = RubricSpec { confirm_fails: 1, ..rubric(&["a"]) };
    let grader = ReadyGrader { negated: true, ..ready(rubric) };
    let planned = Sample::new(ROW).plan(&grader);
    for (shorts, expected, score) in
        [("0.25 -", 1, 0.75), ("0.75 1", 2, 0.125), ("0.75 0", 2, 0.625)]
    {
        assert_eq!(wanted(&planned, &grader, shorts), expected, "{shorts}");
        let outcomes = outcomes(&planned, &shorts.split(' ').collect::<Vec<_>>());
        let known = |key| outcomes.get(&key).cloned();
        let graded = grade(&planned, &grader, &known, 0.5).unwrap().grade;
        let confirmed = graded.metadata.as_ref().and_then(|told| told.get("confirmed"));
        assert_eq!(confirmed, (expected == 2).then(|| json!(score < 0.5)).as_ref(), "{shorts}");
        let counted = cell(&planned, &grader, &known, 0.5).unwrap();
        assert_eq!((counted.score, graded.score), (score, score), "{shorts}");
        assert_eq!(counted.state, CellState::of_verdict(score >= 0.5), "{shorts}");
    }
}

#[test]
fn answers_count_as_the_criterion_says() {
    let deciding = |expect: bool, unsure: Unsure, votes: u32| {
        let yes_no = Some(YesNo { expect, may_not_apply: true, unsure });
        let question = CriterionQuestion { text: String::new(), yes_no, scale: None };
        let criterion = Some(Box::new(JudgedCriterion { question, batch: None }));
        ready(RubricSpec { criterion, votes, ..rubric(&["m"]) })
    };
    let scored = |grader: &ReadyGrader, shorts: &str| {
        let planned = Sample::new(ROW).plan(grader);
        let shorts: Vec<&str> = shorts.split(' ').collect();
        let outcomes = outcomes(&planned, &shorts);
        let known = |key| outcomes.get(&key).cloned();
        let graded = grade(&planned, grader, &known, 1.0).unwrap().grade;
        let counted = cell(&planned, grader, &known, 1.0).unwrap();
        let state = match (graded.applies, &graded.error) {
            (false, _) => CellState::NotApplicable,
            (_, Some(_)) => CellState::Errored,
            _ => CellState::of_verdict(graded.passes(1.0)),
        };
        assert_eq!((counted.score, counted.state), (graded.score, state), "{shorts:?}");
        match (state, graded.error) {
            (CellState::NotApplicable, _) => "-".to_owned(),
            (_, Some(error)) => error.kind,
            _ => graded.score.to_string(),
        }
    };
    for (expect, unsure, shorts, expected) in [
        (true, Unsure::NotMet, "yes", "1"),
        (true, Unsure::NotMet, "no", "0"),
        (false, Unsure::NotMet, "yes", "0"),
        (false, Unsure::NotMet, "no", "1"),
        (true, Unsure::NotMet, "cannot_tell", "0"),
        (false, Unsure::NotMet, "cannot_tell", "0"),
        (true, Unsure::Error, "cannot_tell", "cannot_tell"),
        (true, Unsure::Skip, "cannot_tell", "-"),
        (true, Unsure::Error, "not_applicable", "-"),
        (true, Unsure::NotMet, "!", "server"),
        (true, Unsure::NotMet, "0.5", "invalid_reply"),
        (true, Unsure::NotMet, "yes yes no", "1"),
        (true, Unsure::NotMet, "yes no cannot_tell", "0"),
        (true, Unsure::NotMet, "yes yes not_applicable", "1"),
        (true, Unsure::NotMet, "yes not_applicable not_applicable", "-"),
        (true, Unsure::Skip, "no cannot_tell cannot_tell", "-"),
        (true, Unsure::Error, "yes yes cannot_tell", "1"),
        (true, Unsure::Error, "yes cannot_tell cannot_tell", "cannot_tell"),
        (true, Unsure::NotMet, "! ! yes", "server"),
    ] {
        let grader = deciding(expect, unsure, shorts.split(' ').count() as u32);
        assert_eq!(scored(&grader, shorts), expected, "{expect} {unsure:?} {shorts}");
    }
}

fn comparing(votes: u32) -> RubricSpec {
    RubricSpec {
        votes,
        compare_to: Some(CompareTo::Field("other".to_owned())),
        fence: false,
        ..rubric(&["m"])
    }
}
