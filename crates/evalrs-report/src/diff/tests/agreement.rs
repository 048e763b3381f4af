//! Tables of how far two evaluations agree with the same labels.

use std::collections::HashMap;

use serde_json::json;

use super::{VIEW, shown, shown_with, side};
use crate::diff::{DiffView, page};
use crate::page::markdown;
use evalrs_base::random::SplitMix;
use evalrs_metrics::diff::{
    AgreementDiff, CaseName, Diff, DiffGraderLabels, DiffLabels, DiffSide, compare,
};
use evalrs_metrics::metric::label_change::AgreementMove::{NoLongerAgrees, NowAgrees};
use evalrs_model::key::ActionKey;
use evalrs_model::spec::Label;

fn name(sample: &str) -> CaseName {
    CaseName { sample_id: sample.to_owned(), model: None, trial: 0 }
}

/// What people say, `sample` by `sample`, for the grader `g`, of which scores of labels from 0.5 on pass.
fn labels(said: &[(&str, Label)]) -> DiffLabels {
    let labels = said.iter().map(|(sample, label)| (name(sample), *label)).collect();
    DiffLabels(HashMap::from([("g".to_owned(), DiffGraderLabels { threshold: 0.5, labels })]))
}

fn agreement(diff: &Diff) -> &AgreementDiff {
    diff.graders.get("g").unwrap().agreement.as_ref().unwrap()
}

/// Nine labelled cases: `a` to `f` were judged twice, the others once or not at all.
fn compared() -> Diff {
    let pass = Label::Pass;
    let before = side(
        "1",
        &["g", "k"],
        &["a 1 1", "b 0 1", "c 1 1", "d 0 1", "e 1 1", "f 0 1", "g e 1", "h 1 1", "i n 1", "x 1 1"],
    );
    let now = side(
        "2",
        &["g", "k"],
        &["a 1 1", "b 1 1", "c 0 1", "d 1 1", "e 0 1", "f 1 1", "g 1 1", "h e 1", "i 1 1", "x 0 1"],
    );
    let said = [
        ("a", pass(true)),
        ("b", pass(false)),
        ("c", pass(true)),
        ("d", Label::Score(0.25)),
        ("e", Label::Score(0.25)),
        ("f", pass(false)),
        ("g", pass(true)),
        ("h", pass(true)),
        ("i", pass(true)),
        ("not there", pass(true)),
    ];
    compare(&before, &now, None, &labels(&said))
}

#[test]
fn both_are_compared_with_the_same_labels_where_both_judged() {
    let diff = compared();
    let found = agreement(&diff);
    assert_eq!((found.n, found.labelled, found.judged_before, found.judged_now), (6, 9, 7, 8));
    let table = |side: &evalrs_metrics::metric::labels::LabelAgreement| {
        [side.both_pass, side.false_pass, side.false_fail, side.both_fail]
    };
    assert_eq!((table(&found.before), table(&found.now)), ([2, 1, 0, 3], [1, 3, 1, 1]));
    assert_eq!((found.before.accuracy, found.now.accuracy), (Some(5.0 / 6.0), Some(2.0 / 6.0)));
    // One agrees now, four do no longer: McNemar's exact test of 1 and 4 is 0.375.
    assert_eq!((found.difference, found.p_value), (Some(-0.5), Some(0.375)));
    assert_eq!(found.now_agree, [name("e")]);
    assert_eq!(found.no_longer_agree, ["b", "c", "d", "f"].map(name));
    // Kappa of [2, 1, 0, 3] is 2/3, of [1, 3, 1, 1] it is -0.2.
    let change = found.kappa_difference.unwrap();
    assert!((change - (-0.2 - 2.0 / 3.0)).abs() < 1e-12, "{change}");
    assert_eq!(diff.graders.get("k").unwrap().agreement, None);
}

#[test]
fn verdicts_that_moved_say_what_people_say() {
    let diff = compared();
    let moves = diff.moved.iter().map(|moved| {
        let label = moved.label.map(|label| (label.passes, label.agreed, label.agrees));
        (moved.case.sample_id.as_str(), label, moved.against_people())
    });
    let agreed = |passes, agrees: bool| Some((passes, Some(!agrees), Some(agrees)));
    assert_eq!(
        moves.collect::<Vec<_>>(),
        [
            // A pass that people do not share is worse news than a fail that nobody labelled.
            ("b", agreed(false, false), Some(NoLongerAgrees)),
            ("c", agreed(true, false), Some(NoLongerAgrees)),
            ("d", agreed(false, false), Some(NoLongerAgrees)),
            ("f", agreed(false, false), Some(NoLongerAgrees)),
            ("x", None, None),
            ("e", agreed(false, true), Some(NowAgrees)),
            ("g", Some((true, None, Some(true))), None),
            ("h", Some((true, Some(true), None)), None),
        ]
    );
}

#[test]
fn an_answer_that_changed_says_nothing_of_the_judge() {
    let with = |answers: [Option<u64>; 3], keys: [u8; 3], run: &str, score: &str| {
        let cases = ["a", "b", "c"].map(|name| format!("{name} {score}"));
        let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
        let mut made: DiffSide = side(run, &["g"], &cases);
        for ((case, answer), key) in made.cases.iter_mut().zip(answers).zip(keys) {
            let grade = case.grades[0].as_mut().unwrap();
            grade.answer = answer;
            grade.key = Some(ActionKey([key; 32]));
        }
        made
    };
    let said = labels(&["a", "b", "c"].map(|sample| (sample, Label::Pass(true))));
    let before = with([Some(1), Some(2), None], [1, 2, 3], "1", "1");
    let now = with([Some(1), Some(9), Some(3)], [4, 5, 6], "2", "0");
    let diff = compare(&before, &now, None, &said);
    let found = agreement(&diff);
    assert_eq!((found.n, found.labelled, found.other_answers), (2, 3, 1));
    assert_eq!(found.no_longer_agree, ["a", "c"].map(name));
    let label = diff.moved.iter().find(|moved| moved.case == name("b")).unwrap().label.unwrap();
    assert_eq!((label.agreed, label.agrees), (None, Some(false)));
    // A question with the same key has the same answer, whatever else differs.
    let now = with([Some(1), Some(9), Some(3)], [4, 2, 6], "2", "0");
    assert_eq!(agreement(&compare(&before, &now, None, &said)).n, 3);
}

#[test]
fn nothing_is_said_without_labels_and_little_where_nobody_judged_both() {
    let before = side("1", &["g"], &["a 1", "b 0"]);
    let now = side("2", &["g"], &["a 0", "b 1"]);
    let diff = compare(&before, &now, None, &labels(&[("z", Label::Pass(true))]));
    assert_eq!(diff.graders.get("g").unwrap().agreement, None);
    assert!(!shown(&diff, 80).contains("agree"), "{}", shown(&diff, 80));
    assert_eq!(serde_json::to_value(&diff).unwrap()["graders"]["g"].get("agreement"), None);
    let now = side("2", &["g"], &["a e", "b e"]);
    let diff = compare(&before, &now, None, &labels(&[("a", Label::Pass(true))]));
    let found = agreement(&diff);
    assert_eq!((found.n, found.labelled, found.judged_now), (0, 1, 0));
    assert!(shown(&diff, 80).contains("g: 0 of 1 labelled result compared: the new judged 0"));
}

#[test]
fn the_comparison_leads_with_who_agrees_no_longer() {
    let diff = compared();
    insta::assert_snapshot!(shown(&diff, 80), @"
    diff  support: 4 fixed, 3 broken, 1 errored, agreement -50.0 points

    old  1  no gate
    new  2  no gate

    8 verdicts moved
            sample  grader  label
    fixed   b       g       no longer agrees
    broken  c       g       no longer agrees
    fixed   d       g       no longer agrees
    5 more: --moved 8

    g no longer agrees with 4 labels: b, c, d, f
    g now agrees with 1 label: e

    grader  n      agreement         change [95 %]  false passes  false fails
    g       6  83.3% → 33.3%  -50.0 [-71.9, +19.0]         1 → 3        0 → 1
    g: 6 of 9 labelled results compared: the old judged 7, the new judged 8

    grader   n        pass rate       change [95 %]  fixed  broken
    g        7    57.1% → 57.1%  0.0 [-47.4, +48.1]      3       3
    k       10  100.0% → 100.0%  0.0 [-21.2, +21.4]
    95 % intervals: Bayesian
    ");
}

#[test]
fn details_and_a_comment_have_agreement_too() {
    let diff = compared();
    let details = DiffView { moved: 0, details: true };
    insta::assert_snapshot!(shown_with(&diff, details, 80), @"
    diff  support: 4 fixed, 3 broken, 1 errored, agreement -50.0 points

    old  1  no gate
    new  2  no gate

    8 verdicts moved
    8 more: --moved 8

    g no longer agrees with 4 labels: b, c, d, f
    g now agrees with 1 label: e

    grader  n      agreement         change [95 %]  false passes  false fails
    g       6  83.3% → 33.3%  -50.0 [-71.9, +19.0]         1 → 3        0 → 1
    g: 6 of 9 labelled results compared: the old judged 7, the new judged 8

    grader   n        pass rate       change [95 %]  fixed  broken
    g        7    57.1% → 57.1%  0.0 [-47.4, +48.1]      3       3
    k       10  100.0% → 100.0%  0.0 [-21.2, +21.4]
    95 % intervals: paired bootstrap and Bayesian

    agreement         kappa         change [95 %]      p
    g          0.67 → -0.20  -0.87 [-2.00, +0.59]  0.375

    numbers           mean        pass rate  stderr  detects      p
    g        0.571 → 0.571    57.1% → 57.1%   0.378        -  1.000
    k        1.000 → 1.000  100.0% → 100.0%   0.000        -      -
    ");
    insta::assert_snapshot!(markdown::shown(&page(&diff, VIEW)), @"
    ### diff  `support`: 4 fixed, 3 broken, 1 errored, agreement -50.0 points

    - old  `1`  no gate
    - new  `2`  no gate

    <details><summary>8 verdicts moved</summary>

    |  | sample | grader | label |
    |:--|:--|:--|:--|
    | fixed | `b` | `g` | no longer agrees |
    | broken | `c` | `g` | no longer agrees |
    | fixed | `d` | `g` | no longer agrees |

    5 more: `--moved 8`

    </details>

    - `g` no longer agrees with 4 labels: `b`, `c`, `d`, `f`
    - `g` now agrees with 1 label: `e`

    | grader | n | agreement | change [95 %] | false passes | false fails |
    |:--|--:|--:|--:|--:|--:|
    | `g` | 6 | 83.3% → 33.3% | -50.0 [-71.9, +19.0] | 1 → 3 | 0 → 1 |

    `g`: 6 of 9 labelled results compared: the old judged 7, the new judged 8

    | grader | n | pass rate | change [95 %] | fixed | broken |
    |:--|--:|--:|--:|--:|--:|
    | `g` | 7 | 57.1% → 57.1% | 0.0 [-47.4, +48.1] | 3 | 3 |
    | `k` | 10 | 100.0% → 100.0% | 0.0 [-21.2, +21.4] |  |  |

    95 % intervals: Bayesian
    ");
    let whole = serde_json::to_value(&diff).unwrap();
    let found = &whole["graders"]["g"]["agreement"];
    assert_eq!(found["now_agree"], json!([{"sample_id": "e", "model": null, "trial": 0}]));
    assert_eq!(found["before"]["false_pass"], 1);
    assert_eq!(
        whole["moved"][0]["label"],
        json!({"passes": false, "score": null, "agreed": true, "agrees": false})
    );
}

/// A judge that is right in 73 %, then in 85 %, and more often than by chance in the same cases: the true change of kappa lies in
/// the interval in about 95 %.
#[test]
fn the_interval_of_a_change_of_kappa_holds_it() {
    const CASES: usize = 60;
    let mut generator = SplitMix::new(11);
    let mut drawn = |cases: usize| {
        let mut chance = |percent: u64| generator.below(100) < percent;
        let mut texts = [Vec::new(), Vec::new()];
        let mut said = Vec::new();
        for at in 0..cases {
            let passes = chance(60);
            let hard = chance(30);
            let right = [!hard || chance(10), if hard { chance(55) } else { chance(98) }];
            for (side, right) in texts.iter_mut().zip(right) {
                let score = u8::from(right == passes);
                side.push(format!("s{at} {score}"));
            }
            said.push((format!("s{at}"), Label::Pass(passes)));
        }
        let [before, now] = [("1", &texts[0]), ("2", &texts[1])].map(|(run, cases)| {
            let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
            side(run, &["g"], &cases)
        });
        let said: Vec<(&str, Label)> =
            said.iter().map(|(name, label)| (name.as_str(), *label)).collect();
        agreement(&compare(&before, &now, None, &labels(&said))).clone()
    };
    // Right in 73 and in 85.1 % of what people pass in 60 %: kappa is 0.4499 and 0.6934.
    let truth = 0.2435;
    let runs = 100;
    let held = (0..runs).filter(|_| {
        let (low, high) = drawn(CASES).kappa_interval.unwrap();
        low <= truth && truth <= high
    });
    let held = held.count();
    assert!(held * 100 >= runs * 91, "{held} of {runs}");
}
