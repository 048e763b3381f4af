//! Rubrics in criteria: the graders that they become, and what is wrong with them.

use super::*;
use crate::sections::builtin::builtin_rubrics;
use evalrs_model::spec::{
    CombinedCriteria, CriteriaPerRequest, GraderKind, GraderSpec, RewardSpec, RubricSpec,
};

/// A suite with one rubric `q` that has these fields.
fn with(fields: &str) -> String {
    format!("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    model: m\n{fields}")
}

fn judged(grader: &GraderSpec) -> &RubricSpec {
    match &grader.kind {
        GraderKind::Rubric(rubric) => rubric,
        other => panic!("no rubric: {other:?}"),
    }
}

#[test]
fn each_criterion_is_a_grader_behind_its_rubric() {
    let fields = "    preamble: |\n      You judge a shop.\n    only: input == 'a'\n    votes: 3\n    criteria:\n      \
        polite: Is it polite?\n      invents: {question: Does it invent?, expect: 'No', only: input == 'b'}\n      \
        tone: {question: How warm?, scale: {min: 1, max: 5}, pass_threshold: 0.75}\n";
    let suite = suite(&with(fields));
    let names: Vec<&str> = suite.graders.iter().map(|grader| grader.name.as_str()).collect();
    assert_eq!(names, ["q", "q.polite", "q.invents", "q.tone"]);
    let [whole, polite, invents, tone] = &suite.graders[..] else { panic!("{names:?}") };
    let GraderKind::Reward(RewardSpec::Criteria(spec)) = &whole.kind else { panic!("{whole:?}") };
    assert_eq!(spec.combine, CombinedCriteria::Weighted);
    assert_eq!(judged(polite).prompt, "You judge a shop.\n\nIs it polite?");
    assert_eq!((judged(polite).votes, judged(tone).votes), (3, 3));
    let expects = |grader: &GraderSpec| judged(grader).yes_no().map(|rule| rule.expect);
    assert_eq!([polite, invents, tone].map(expects), [Some(true), Some(false), None]);
    assert_eq!(
        (tone.pass_threshold, polite.pass_threshold, whole.pass_threshold),
        (0.75, 1.0, 1.0)
    );
    let only = |grader: &GraderSpec| grader.only.as_ref().map(|only| only.text().to_owned());
    assert_eq!(only(polite).as_deref(), Some("input == 'a'"));
    assert_eq!(only(invents).as_deref(), Some("(input == 'a') and (input == 'b')"));
}

#[test]
fn criteria_may_stand_in_a_file_of_their_own() {
    let of_file = |file: &str| {
        let suite = with("    criteria: quality.yaml\n");
        let reading = read(&Memory::new(&[("suite.yaml", &suite), ("quality.yaml", file)]));
        assert!(reading.files.contains(&"quality.yaml".to_owned()));
        (rendered(&reading), reading.suite)
    };
    let (said, suite) = of_file("polite: Is it polite?\ntone: {question: Warm?, weight: 2}\n");
    assert_eq!(said, "");
    assert_eq!(
        suite,
        Some(self::suite(&with(
            "    criteria: {polite: Is it polite?, tone: {question: Warm?, weight: 2}}\n"
        )))
    );
    for (file, expected) in [
        ("polite: {question: Is it?, weight: no}\n", "quality.yaml:1:"),
        ("- polite\n", "`criteria` must be a mapping of names to questions, not a list"),
        ("polite: [\n", "quality.yaml"),
    ] {
        let (said, suite) = of_file(file);
        assert!(suite.is_none() && said.contains(expected), "{said}");
    }
}

#[test]
fn criteria_share_requests_in_their_order() {
    let of = |batching: &str| {
        let criteria = "criteria: {a: A?, b: {question: B?, only: input == 'x'}, c: {question: C?, scale: {min: 1, max: 5}}}";
        let suite = suite(&with(&format!("    preamble: P\n    {criteria}\n{batching}")));
        let batches = suite.graders[1..].iter().map(|grader| {
            let batch = judged(grader).criterion.as_ref().unwrap().batch.as_ref()?;
            assert_eq!(batch.preamble, "P");
            let texts = batch.criteria.iter().map(|one| one.question.text.as_str());
            Some(texts.collect::<Vec<_>>().join(" "))
        });
        batches.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    assert_eq!(of(""), ["", "", ""]);
    assert_eq!(of("    batching: each\n"), ["", "", ""]);
    assert_eq!(of("    batching: 1\n"), ["", "", ""]);
    assert_eq!(of("    batching: 2\n"), ["A? B?", "A? B?", "C?"]);
    assert_eq!(of("    batching: together\n"), ["A? B? C?"; 3]);
}

#[test]
fn a_ready_made_rubric_is_the_same_rubric_written_out() {
    for (name, text) in builtin_rubrics() {
        let written: String = text.lines().flat_map(|line| ["    ", line, "\n"]).collect();
        assert_eq!(
            suite(&with(&format!("    builtin: {name}\n"))),
            suite(&with(&written)),
            "{name}"
        );
    }
    let suite =
        suite(&with("    builtin: conciseness@1\n    combine: all\n    batching: together\n"));
    let GraderKind::Reward(RewardSpec::Criteria(spec)) = &suite.graders[0].kind else { panic!() };
    assert_eq!(
        (&spec.combine, spec.batching),
        (&CombinedCriteria::All, CriteriaPerRequest::Together)
    );
}

#[test]
fn what_is_wrong_with_criteria_is_said() {
    let of = |criterion: &str| format!("    criteria: {{a: A?, {criterion}}}\n");
    for (fields, expected) in [
        (of("Score: B?"), "`Score` cannot be the name of a criterion"),
        (
            of("pass_rate: B?"),
            "`pass_rate` cannot be the name of a criterion: it means something else",
        ),
        (of("b: {weight: 2}"), "a criterion needs a `question`"),
        (of("b: {question: B?, weight: 0}"), "`weight` must be between 1e-9 and 1e9"),
        (of("b: {question: B?, expect: maybe}"), "`expect` must be `yes` or `no`, not text"),
        (of("b: {question: B?, unsure: never}"), "unknown unsure `never`"),
        (
            of("b: {question: B?, scale: {min: 1, max: 5}, expect: no}"),
            "a criterion with a `scale` has no `expect`",
        ),
        (of("b: {question: B?, pass_treshold: 1}"), "pass_treshold"),
        ("    criteria: {}\n".to_owned(), "`criteria` is empty"),
        (
            "    criteria: {a: A?}\n    batching: all\n".to_owned(),
            "`batching` must be `each`, `together` or a number, not text",
        ),
        (
            "    criteria: {a: A?}\n    batching: 0\n".to_owned(),
            "`batching` must be between 1 and 100",
        ),
        ("    builtin: factuality\n".to_owned(), "`builtin: factuality` has no version"),
        ("    builtin: factuality@7\n".to_owned(), "`factuality` has no version 7"),
        ("    builtin: factualty@1\n".to_owned(), "unknown ready-made rubric `factualty@1`"),
        (
            "    builtin: factuality@1\n    criteria: {a: A?}\n".to_owned(),
            "a ready-made rubric has no field `criteria`",
        ),
        (
            "    criteria: [A?]\n".to_owned(),
            "`criteria` must be a mapping of names to questions, not a list",
        ),
        ("    criteria: {a: A?}\n    prompt: B?\n".to_owned(), "prompt"),
        ("    criteria: {a: A?}\n    not: true\n".to_owned(), "a rubric in criteria has no `not`"),
        ("    criteria: {a: A?}\n    combine: a + b\n".to_owned(), "unknown criterion `b`"),
        ("    criteria: {a: A?}\n    combine: a +\n".to_owned(), "the expression"),
        (
            "    criteria: {a: A?}\ngate: {metric_key: q.b, op: gte, value: 1}\n".to_owned(),
            "unknown grader `q.b`",
        ),
        (
            "    prompt: A?\n  x.y: {kind: tool, function: contains}\n".to_owned(),
            "the name `x.y` has a dot",
        ),
    ] {
        let reading = read(&Memory::new(&[("suite.yaml", &with(&fields))]));
        let said: Vec<&str> =
            reading.diagnostics.iter().map(|problem| problem.message.as_str()).collect();
        assert!(
            reading.suite.is_none() && said.iter().any(|said| said.contains(expected)),
            "{fields}{said:?}"
        );
    }
}
