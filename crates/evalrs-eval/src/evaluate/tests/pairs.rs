//! Two submissions that are compared, turns, and scores of ballots side by side.

use super::*;

#[test]
fn of_two_submissions_one_wins_in_both_orders_or_neither() {
    for (shorts, score, [forward, reversed], bias, why) in [
        ("A B", 1.0, ["win", "win"], Value::Null, "r0"),
        ("B A", 0.0, ["loss", "loss"], Value::Null, "r0"),
        ("tie tie", 0.5, ["tie", "tie"], Value::Null, "r0"),
        ("A A", 0.5, ["win", "loss"], json!("first"), "As A: r0\nAs B: r1"),
        ("B B", 0.5, ["loss", "win"], json!("second"), "As A: r0\nAs B: r1"),
        ("A tie", 0.5, ["win", "tie"], json!("first"), "As A: r0\nAs B: r1"),
        ("tie A", 0.5, ["tie", "loss"], json!("first"), "As A: r0\nAs B: r1"),
        ("tie B", 0.5, ["tie", "win"], json!("second"), "As A: r0\nAs B: r1"),
    ] {
        let orders = json!({"forward": forward, "reversed": reversed});
        assert_eq!(
            joined(comparing(1), shorts),
            json!({"score": score, "why": why, "orders": orders, "position_bias": bias}),
            "{shorts}"
        );
    }
    assert_eq!(joined(comparing(1), "A !"), json!({"error": "server"}));
    assert_eq!(joined(comparing(1), "? B"), json!({"error": "invalid_reply"}));
    assert_eq!(joined(comparing(1), "A -"), Value::Null);
    assert_eq!(
        joined(comparing(3), "A B A A B !"),
        json!({
            "score": 0.75, "why": "r0", "votes": [1.0, 0.5, null], "agreement": 0.0, "spread": 0.5,
            "wins": 1, "ties": 1, "losses": 0, "position_bias_votes": {"first": 1, "second": 0}, "failed_votes": 1,
        })
    );
}

#[test]
fn a_text_compared_with_itself_is_one_action_and_a_tie() {
    let row = ROW.replace("\"hi\"", "\"hello\"");
    let grader = ready(comparing(1));
    let sample = Sample::new(&row);
    let planned = sample.plan(&grader);
    let all = keys(&planned);
    assert_eq!((all.len(), all[0]), (2, all[1]));
    for winner in ["A", "B", "tie"] {
        let outcomes = outcomes(&planned, &[winner, winner]);
        let graded = grade(&planned, &grader, &|key| outcomes.get(&key).cloned(), 0.5).unwrap();
        let told = graded.grade.metadata.unwrap();
        assert_eq!((graded.grade.score, &told["position_bias"]), (0.5, &Value::Null), "{winner}");
        assert_eq!(told["usage"]["input_tokens"], 10, "{winner}: one judgment");
    }
}

#[test]
fn both_texts_are_shown_in_both_orders() {
    let grader =
        ready(RubricSpec { prompt: "<{submission_a}|{submission_b}>".to_owned(), ..comparing(2) });
    let starts: Vec<String> = Sample::new(ROW)
        .prompts(&grader, 4)
        .into_iter()
        .map(|prompt| prompt.split_inclusive('>').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(starts, ["<hello|hi>", "<hi|hello>", "<hello|hi>", "<hi|hello>"]);
}

#[test]
fn what_there_is_to_compare_with_or_why_nothing() {
    let long = r#"{"id": "s", "input": "q", "output": "hello", "old": {"text": "hi", "none": null, "empty": "", "list": ["a", 1]}}"#;
    let field = |path: &str| CompareTo::Field(path.to_owned());
    let run = || CompareTo::Run("runs/1".to_owned());
    let record = |text: &str| {
        let submissions = json!({"kind": text});
        json!({"format": 1, "sample_id": "s", "submissions": submissions}).to_string()
    };
    let no = |message: &str| Err(message.to_owned());
    for (compare_to, record, expected) in [
        (field("old.text"), String::new(), Ok("hi")),
        (field("old.list"), String::new(), Ok("[\"a\",1]")),
        (field("old.list[0]"), String::new(), Ok("a")),
        (field("old.z"), String::new(), no("the row has no `old.z` to compare with")),
        (field("old.none"), String::new(), no("the row has no `old.none` to compare with")),
        (
            field("old.empty"),
            String::new(),
            no("`old.empty` is empty: there is nothing to compare with"),
        ),
        (run(), record("before"), Ok("before")),
        (run(), String::new(), no("the recorded run has no submission of this sample")),
        (run(), record(""), no("the submission of the recorded run is empty for this sample")),
    ] {
        let shown = format!("{compare_to:?}");
        let grader = ready(RubricSpec { compare_to: Some(compare_to), ..comparing(1) });
        let (run, _) = baseline::read("results.jsonl", &record);
        let sample = Sample { run, ..Sample::new(long) };
        let found = match sample.plan(&grader) {
            GradePlan::Graded(grade) => {
                let error = grade.error.unwrap();
                assert_eq!(error.kind, "compare_to");
                Err(error.message)
            }
            _ => {
                let prompt = sample.prompts(&grader, 1).remove(0);
                let (_, other) = prompt.split_once("Submission B:\n\n").unwrap();
                Ok(other.split("\n\nSay by").next().unwrap_or_default().to_owned())
            }
        };
        assert_eq!(found, expected.map(str::to_owned), "{shown}");
    }
}

#[test]
fn turns_are_compared_turn_by_turn() {
    let row = r#"{"id": "s", "input": ["q", "r"], "output": "x", "other": ["a", "b"], "one": "c"}"#;
    let turns = ["x", "y"].map(|text| Submission::Text(text.into()));
    let sample = |run| Sample {
        submission: Submission::Turns(turns.clone().into()),
        run,
        ..Sample::new(row)
    };
    let graders = |compare_to: CompareTo| {
        ready(RubricSpec {
            prompt: "{submission_a}{submission_b}!".to_owned(),
            compare_to: Some(compare_to),
            ..comparing(1)
        })
    };
    let record = json!({
        "format": 1, "sample_id": "s", "submissions": {"kind": "both"},
        "grades": {"kind": {"per_turn": [{"submission": "d"}]}},
    });
    let (run, _) = baseline::read("results.jsonl", &record.to_string());
    for (compare_to, run, expected) in [
        (CompareTo::Field("other".to_owned()), RecordedRun::default(), [Some("xa"), Some("yb")]),
        (CompareTo::Field("one".to_owned()), RecordedRun::default(), [Some("xc"), Some("yc")]),
        (CompareTo::Run("r".to_owned()), run, [Some("xd"), None]),
    ] {
        let grader = graders(compare_to);
        let sample = sample(run);
        let shown = [0, 1].map(|turn| {
            let action = sample.with(|case| {
                action(
                    case,
                    &grader,
                    &|_| FileText::Missing,
                    BallotId { turn, ballot: 0 },
                    KeyVersion::Current,
                )
            });
            action.map(|action| user(action).split('!').next().unwrap_or_default().to_owned())
        });
        assert_eq!(shown, expected.map(|text| text.map(str::to_owned)));
    }
}

#[test]
fn keys_are_those_of_the_actions_that_are_rendered_again() {
    let grader =
        ready(RubricSpec { confirm_fails: 1, judges: rubric(&["a", "b"]).judges, ..comparing(2) });
    let sample = Sample::new(ROW);
    let rendered = |ballot: u32| {
        let files = |_: &str| FileText::Missing;
        let action = sample.with(|case| {
            action(case, &grader, &files, BallotId { turn: 0, ballot }, KeyVersion::Current)
        });
        action.unwrap().key()
    };
    let planned = keys(&sample.plan(&grader));
    assert_eq!(planned, (0..).take(planned.len()).map(rendered).collect::<Vec<_>>());
    assert_eq!(planned.len(), 2 * 2 * 2 + 2 * 2);
    assert_eq!(planned.iter().collect::<BTreeSet<_>>().len(), planned.len());
}

#[test]
fn scores_of_the_first_ballots_make_a_matrix() {
    let grader = ready(RubricSpec { votes: 2, confirm_fails: 1, ..rubric(&["a", "b"]) });
    let planned = Sample::new(ROW).plan(&grader);
    let outcomes = outcomes(&planned, &["0.5", "?", "-", "0", "1", "1"]);
    let scores =
        |planned: &GradePlan| ballot_scores(planned, &grader, &|key| outcomes.get(&key).cloned());
    let row = vec![Some(0.5), None, None, Some(0.0)];
    assert_eq!(scores(&planned), std::slice::from_ref(&row));
    let empty = GradePlan::Graded(crate::grade::Grade::new(0.0, "empty"));
    let turns = GradePlan::Turns([planned.clone(), empty, planned].into());
    assert_eq!(scores(&turns), [row.clone(), row]);
}

/// The grade of turns with these scores.
fn of_turns(scores: &[f64], threshold: f64) -> crate::evaluate::FinishedGrade {
    let turn = |score: &f64| GradePlan::Graded(crate::grade::Grade::new(*score, ""));
    let planned = GradePlan::Turns(scores.iter().map(turn).collect());
    grade(&planned, &ready(rubric(&["a"])), &|_| None, threshold).unwrap()
}

#[test]
fn turns_that_all_pass_pass_together() {
    for threshold in [0.05, 0.1, 0.2, 0.4, 0.65, 0.7, 0.8] {
        let graded = of_turns(&[threshold; 3], threshold);
        assert_eq!(graded.grade.score.to_bits(), threshold.to_bits());
        assert_eq!(graded.grade.rationale, "3/3 passed: ✓ ✓ ✓");
        assert!(graded.grade.passes(threshold));
    }
    assert!(of_turns(&[0.7, 0.7, 1.0], 0.8).grade.passes(0.8));
}

#[test]
fn a_turn_without_a_reference_answer_is_an_error_of_the_whole() {
    let config = serde_json::Map::new();
    let spec = evalrs_model::spec::ToolSpec { function: "contains".to_owned(), config };
    let tool = ReadyTool {
        grader: crate::grade::compile(&spec).unwrap(),
        reads_trajectory: false,
        reads_totals: false,
        reads_row: false,
        records_votes: false,
    };
    let grader = ReadyGrader {
        method: Method::Tool(tool),
        reference: None,
        ground_truth: None,
        negated: false,
        scope: GraderScope::default(),
        include_subagents: false,
    };
    let turns = ["b", "d"].map(|text| Submission::Text(text.into()));
    let mut sample = Sample::new(r#"{"id": "s", "input": ["a", "c"], "ground_truth": ["b", ""]}"#);
    sample.submission = Submission::Turns(turns.into());
    let graded = grade(&sample.plan(&grader), &grader, &|_| None, 1.0).unwrap();
    assert_eq!(graded.grade.rationale, "No ground_truth answer provided");
    assert_eq!(graded.grade.error.unwrap().kind, "no_ground_truth");
    let of_turns: Vec<f64> =
        graded.per_turn.unwrap().iter().map(|grade: &crate::grade::Grade| grade.score).collect();
    assert_eq!(of_turns, [1.0, 0.0]);
}

#[test]
fn no_turn_is_no_verdict() {
    let grade = of_turns(&[], 0.5).grade;
    assert_eq!((grade.score.to_bits(), grade.passes(0.0)), (0, false));
    assert_eq!(grade.error.unwrap().kind, "no_turns");
}

fn any_outcome() -> impl Strategy<Value = Option<Outcome>> {
    let short = prop_oneof![
        6 => prop::sample::select(vec!["0", "0.25", "0.5", "0.7", "1", "5", "A", "B", "tie"]),
        1 => Just("!"),
        1 => Just("?"),
    ];
    prop_oneof![20 => (short, 0..9_usize).prop_map(|(short, at)| Some(outcome(short, at))), 1 => Just(None)]
}

fn any_rubric() -> impl Strategy<Value = RubricSpec> {
    let combine = prop_oneof![Just(Combine::Median), Just(Combine::Mean), Just(Combine::Majority)];
    let scale = prop_oneof![
        Just(None),
        Just(Some(Scale { min: 1.0, max: 5.0 })),
        Just(Some(Scale { min: 0.0, max: 0.7 }))
    ];
    (1..4_usize, 1..4_u32, 0..3_u32, combine, scale, any::<bool>()).prop_map(
        |(judges, votes, confirm_fails, combine, scale, compares)| RubricSpec {
            votes,
            combine,
            confirm_fails,
            scale,
            compare_to: compares.then(|| CompareTo::Field("other".to_owned())),
            ..rubric(&["a", "b", "c"][..judges])
        },
    )
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn turns_pass_where_their_exact_mean_does(
        (parts, scores, other) in prop::sample::select(vec![10_i32, 20, 3]).prop_flat_map(|parts| {
            (Just(parts), prop::collection::vec(0..=parts, 1..20), 0..=parts)
        }),
    ) {
        let turns: Vec<f64> = scores.iter().map(|score| f64::from(*score) / f64::from(parts)).collect();
        let sum: i32 = scores.iter().sum();
        let n = i32::try_from(scores.len()).unwrap();
        let mean = f64::from(sum) / f64::from(parts * n);
        prop_assert_eq!(of_turns(&turns, mean).grade.passes(mean), true);
        let threshold = f64::from(other) / f64::from(parts);
        let passes = of_turns(&turns, threshold).grade.passes(threshold);
        prop_assert_eq!(passes, sum >= other * n);
    }

    #[test]
    fn the_cell_of_a_grade_is_the_grade(
        rubric in any_rubric(),
        outcomes in prop::collection::vec(any_outcome(), 60),
        threshold in prop::sample::select(vec![0.0, 0.3, 0.5, 0.7, 1.0]),
        by_turns in any::<bool>(),
        negated in any::<bool>(),
    ) {
        let grader = super::ReadyGrader { negated, ..ready(rubric) };
        let mut sample = Sample::new(ROW);
        if by_turns {
            sample.submission = Submission::Turns(["x", "", "hi"].map(|text| Submission::Text(text.into())).into());
        }
        let planned = sample.plan(&grader);
        let known: KeyMap<Arc<Outcome>> = keys(&planned)
            .into_iter()
            .zip(&outcomes)
            .filter_map(|(key, outcome)| Some((key, Arc::new(outcome.clone()?))))
            .collect();
        let outcomes = |key| known.get(&key).cloned();
        let whole = grade(&planned, &grader, &outcomes, threshold);
        let short = cell(&planned, &grader, &outcomes, threshold);
        prop_assert_eq!(whole.is_some(), short.is_some());
        let mut waits = false;
        each_wanted(&planned, &grader, &outcomes, threshold, &mut |_, key| waits |= outcomes(key).is_none());
        prop_assert_eq!(whole.is_none(), waits, "a grade waits for what is wanted, and for nothing else");
        if let (Some(whole), Some(short)) = (whole, short) {
            prop_assert_eq!(short.score.to_bits(), whole.grade.score.to_bits());
            let passes = short.state == CellState::Passed;
            prop_assert_eq!(passes, whole.grade.passes(threshold));
            prop_assert_eq!(short.state == CellState::Errored, whole.grade.error.is_some());
            prop_assert_eq!((0.0..=1.0).contains(&short.score), true);
        }
    }
}
