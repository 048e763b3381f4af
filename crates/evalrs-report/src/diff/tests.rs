//! Comparisons, and how they are shown.

mod agreement;

use anstream::adapter::strip_str;
use serde_json::{Value, json};

use super::{DiffView, page};
use crate::page::markdown;
use crate::page::terminal::{PageScreen, write};
use evalrs_base::text::columns;
use evalrs_metrics::diff::{
    CaseName, Diff, DiffLabels, DiffSide, SideCase, SideGrade, SideName, compare, mark_regressions,
    unlike,
};
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_model::key::ActionKey;
use evalrs_model::spec::Op;

/// `1`, `0.5`, `e` for an error, `n` for not applicable, `-` for none; scores from 0.5 on pass.
///
/// A run edits what it judges, so that each has a key of its own.
fn grade(text: &str, run: &str) -> Option<SideGrade> {
    let of = |score: f64, error| SideGrade {
        score,
        pass: score >= 0.5,
        error,
        applies: true,
        key: Some(ActionKey([run.bytes().last().unwrap_or_default(); 32])),
        answer: None,
    };
    match text {
        "-" => None,
        "e" => Some(of(0.0, true)),
        "n" => Some(SideGrade { applies: false, ..of(0.0, false) }),
        score => Some(of(score.parse().unwrap(), false)),
    }
}

/// Graders, then a line a case: `sample/model/trial grade grade`.
fn side(run: &str, graders: &[&str], cases: &[&str]) -> DiffSide {
    let case = |text: &&str| {
        let mut words = text.split(' ');
        let mut name = words.next().unwrap().split('/');
        SideCase {
            name: CaseName {
                sample_id: name.next().unwrap().to_owned(),
                model: name.next().filter(|model| !model.is_empty()).map(str::to_owned),
                trial: name.next().map_or(0, |trial| trial.parse().unwrap()),
            },
            grades: words.map(|text| grade(text, run)).collect(),
        }
    };
    DiffSide {
        name: SideName {
            suite: "support".to_owned(),
            run: run.to_owned(),
            results: cases.len(),
            complete: true,
            ..SideName::default()
        },
        graders: graders.iter().map(|name| (*name).to_owned()).collect(),
        cases: cases.iter().map(case).collect(),
        ..DiffSide::default()
    }
}

fn moves(diff: &Diff) -> Vec<String> {
    let shown = |moved: &evalrs_metrics::diff::VerdictMove| {
        let CaseName { sample_id, model, trial } = &moved.case;
        let model = model.as_deref().unwrap_or_default();
        let grader = &moved.grader;
        let kind = crate::movement::name(moved.movement);
        format!("{kind} {sample_id}/{model}/{trial} {grader} {:+}", moved.distance())
    };
    diff.moved.iter().map(shown).collect()
}

#[test]
fn verdicts_are_matched_by_name_and_sorted_by_what_they_mean() {
    let before = side(
        "1",
        &["g", "k"],
        &["a 1 0", "b 0.75 0", "c 0 -", "d e 1", "e 1 1", "f 0.25 0.5", "gone 1 1"],
    );
    let now = side(
        "2",
        &["k", "g"],
        &["new 1 1", "f 0.75 0.5", "e 0 0", "d 1 0.25", "c 1 0.375", "b 0 0", "a 0 1"],
    );
    let diff = compare(&before, &now, None, &DiffLabels::default());
    assert_eq!(
        moves(&diff),
        [
            "broken e//0 k -1",
            "broken e//0 g -1",
            "broken b//0 g -0.75",
            "raised c//0 g +0.375",
            // As far as each other: in the order of the graders, then of the cases.
            "raised f//0 k +0.25",
            "fixed f//0 g +0.25",
            "answered d//0 g +0.25",
        ]
    );
    assert_eq!(
        diff.graders.0.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["k", "g"]
    );
    let k = diff.graders.get("k").unwrap();
    let g = diff.graders.get("g").unwrap();
    // `c` has no grade by `k` before: it is no pair. `d` was an error of `g`.
    assert_eq!((k.paired.n, k.counts.new, k.counts.unchanged), (5, 1, 3));
    assert_eq!((g.paired.n, g.paired.fixed, g.paired.broken), (5, 1, 2));
    assert_eq!((g.counts.answered, g.counts.moved()), (1, 5));
    assert_eq!(
        (diff.cases.both, diff.cases.only_before.count, diff.cases.only_now.count),
        (6, 1, 1)
    );
    assert_eq!(diff.cases.only_before.first[0].sample_id, "gone");
    assert_eq!(unlike(&diff), Vec::<String>::new());
    let only = compare(&before, &now, Some("k"), &DiffLabels::default());
    assert_eq!(moves(&only), ["broken e//0 k -1", "raised f//0 k +0.25"]);
}

#[test]
fn trials_and_models_are_cases_of_one_sample() {
    let before = side("1", &["g"], &["a/m/0 0", "a/m/1 0", "a/n/0 1", "b/m/0 1"]);
    let now = side("2", &["g"], &["a/m/1 1", "a/n/0 1", "a/m/0 1", "a//0 1", "b/m/0 0"]);
    let diff = compare(&before, &now, None, &DiffLabels::default());
    assert_eq!(moves(&diff), ["broken b/m/0 g -1", "fixed a/m/1 g +1", "fixed a/m/0 g +1"]);
    let paired = &diff.graders.get("g").unwrap().paired;
    assert_eq!((paired.n, paired.fixed, paired.samples_fixed, paired.samples_broken), (4, 2, 1, 1));
    assert_eq!(
        diff.cases.only_now.first,
        [CaseName { sample_id: "a".to_owned(), model: None, trial: 0 }]
    );
}

#[test]
fn what_is_not_alike_is_said() {
    let check = |suite: &str, graders: &[&str], cases: &[&str], expected: &[&str]| {
        let mut now = side("2", graders, cases);
        suite.clone_into(&mut now.name.suite);
        let diff = compare(&side("1", &["g"], &["a 1"]), &now, None, &DiffLabels::default());
        assert_eq!(unlike(&diff), expected);
        assert!(shown(&diff, 100).starts_with("diff  "));
    };
    let no_case = "no sample, model and trial is in both";
    check("support", &["g"], &["a 1"], &[]);
    check("billing", &["g"], &["a 1"], &["the suites are `support` and `billing`"]);
    check("support", &["k"], &["a 1"], &["no grader is in both: `g` against `k`"]);
    check("support", &[], &[], &["no grader is in both: `g` against no grader", no_case]);
    check("support", &["g"], &["a//1 1"], &[no_case]);
}

fn gate(status: GateStatus, value: f64) -> GateReport {
    GateReport {
        status: Some(status),
        value: Some(value),
        op: Some(Op::Gte),
        threshold: Some(0.8),
        rule: Some("g avg_score >= 0.8".to_owned()),
        ..GateReport::default()
    }
}

fn settings(rubric: &str, threshold: f64, tags: &Value) -> Value {
    json!({"tags": tags, "graders": [{"name": "g", "prompt": rubric, "pass_threshold": threshold}]})
}

/// Two runs that differ in everything, whose texts are hostile.
fn hostile() -> Diff {
    let cases = |scores: [&str; 6]| -> Vec<String> {
        let names = ["a\u{1b}[2J", "b", "c|`x`", "d", "e", "f"];
        names.iter().zip(scores).map(|(name, score)| format!("{name} {score} 1")).collect()
    };
    let old = cases(["1", "0.25", "1", "0", "0.5", "1"]);
    let new = cases(["0", "1", "e", "1", "0.75", "1"]);
    let mut old: Vec<&str> = old.iter().map(String::as_str).collect();
    let mut new: Vec<&str> = new.iter().map(String::as_str).collect();
    old.push("only-old 1 1");
    new.extend(["n1//1 1 1", "n2 1 1", "n3 1 1", "n4 1 1", "n5 1 1", "n6 1 1"]);
    let mut before = side("20260101T000000-000001", &["g", "gone"], &old);
    let mut now = side("20260101T000000-000002", &["g", "new\u{202e}"], &new);
    let rubric = "Is the reply polite, short and correct? Answer in one sentence.";
    before.settings = settings(rubric, 0.5, &json!([])).as_object().cloned();
    let rubric = rubric.replace("polite", "friendly \u{1b}[31m@team");
    now.settings = settings(&rubric, 0.75, &json!(["x|y"])).as_object().cloned();
    before.inputs = json!({"data.jsonl": "1", "gone.txt": "2"}).as_object().cloned();
    now.inputs = json!({"data.jsonl": "3", "new.txt": "4"}).as_object().cloned();
    before.gate = gate(GateStatus::Passed, 0.9);
    now.gate = gate(GateStatus::Failed, 0.7);
    before.name.at = Some("2026-01-01T00:00:00Z".to_owned());
    now.name.save = Some(3);
    now.name.complete = false;
    now.name.files = vec!["rubric.txt".to_owned()];
    let mut diff = compare(&before, &now, None, &DiffLabels::default());
    diff.moved[0].before.rationale =
        Some("It is polite and says when the parcel comes.".to_owned());
    diff.moved[0].now.rationale =
        Some("It is rude\u{7} and says when the parcel comes.".to_owned());
    diff.moved[1].now.rationale = Some("no answer\n::error::".repeat(30));
    diff
}

const VIEW: DiffView = DiffView { moved: 3, details: false };

fn shown(diff: &Diff, width: usize) -> String {
    shown_with(diff, VIEW, width)
}

fn shown_with(diff: &Diff, view: DiffView, width: usize) -> String {
    let mut out = Vec::new();
    write(&page(diff, view), PageScreen { width, cuts: false }, &mut out).unwrap();
    let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
    assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "{text:?}");
    assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
    text
}

#[test]
fn everything_that_differs_at_60_columns() {
    insta::assert_snapshot!(shown(&hostile(), 60), @r#"
    diff  support: 2 fixed, 1 broken, 1 errored, 1 raised, 6
      new results, 1 removed result

    old  20260101T000000-000001  2026-01-01T00:00:00Z  passed
      g avg_score >= 0.8: 0.900
    new  20260101T000000-000002@3  failed, not every grade is
      known, after an edit of rubric.txt
      g avg_score >= 0.8: 0.700

    5 verdicts moved
             sample           grader      old → new
    broken   a [trial 0]      g       1.000 → 0.000
      It is [-polite-]{+rude+} and says when the parcel comes.
    errored  c|`x` [trial 0]  g       1.000 → error
      new: no answer ::error::no answer ::error::no answer
        ::error::no answer ::error::no answer ::error::no answer
        ::error::no answer ::error::no answer ::erro…
    fixed    d [trial 0]      g       0.000 → 1.000
    2 more: --moved 5

    tags: [] → ["x|y"]
    g.prompt: Is the reply [-polite-]{+friendly @team+}, short
      and correct? Answer in one sentence.
    g.pass_threshold: 0.5 → 0.75
    files that differ: data.jsonl, new.txt (new), gone.txt
      (gone)

    g
      n: 5  mean: 0.550 → 0.750
      change [95 %]: +0.200 [-0.767, +1.000]  fixed: 2
      broken: 1
    95 % intervals: Student t

    only in the old: 1 grader: gone
    only in the new: 1 grader: new
    only in the old: 1 result: only-old [trial 0]
    only in the new: 6 results: n1 [trial 1], n2 [trial 0], n3
      [trial 0], n4 [trial 0], n5 [trial 0] and 1 more
    "#);
}

#[test]
fn everything_that_differs_at_80_columns() {
    insta::assert_snapshot!(shown(&hostile(), 80), @r#"
    diff  support: 2 fixed, 1 broken, 1 errored, 1 raised, 6 new results, 1
      removed result

    old  20260101T000000-000001  2026-01-01T00:00:00Z  passed
      g avg_score >= 0.8: 0.900
    new  20260101T000000-000002@3  failed, not every grade is known, after an edit
      of rubric.txt
      g avg_score >= 0.8: 0.700

    5 verdicts moved
             sample           grader      old → new
    broken   a [trial 0]      g       1.000 → 0.000
      It is [-polite-]{+rude+} and says when the parcel comes.
    errored  c|`x` [trial 0]  g       1.000 → error
      new: no answer ::error::no answer ::error::no answer ::error::no answer
        ::error::no answer ::error::no answer ::error::no answer ::error::no answer
        ::erro…
    fixed    d [trial 0]      g       0.000 → 1.000
    2 more: --moved 5

    tags: [] → ["x|y"]
    g.prompt: Is the reply [-polite-]{+friendly @team+}, short and correct? Answer
      in one sentence.
    g.pass_threshold: 0.5 → 0.75
    files that differ: data.jsonl, new.txt (new), gone.txt (gone)

    grader  n           mean            change [95 %]  fixed  broken
    g       5  0.550 → 0.750  +0.200 [-0.767, +1.000]      2       1
    95 % intervals: Student t

    only in the old: 1 grader: gone
    only in the new: 1 grader: new
    only in the old: 1 result: only-old [trial 0]
    only in the new: 6 results: n1 [trial 1], n2 [trial 0], n3 [trial 0], n4
      [trial 0], n5 [trial 0] and 1 more
    "#);
}

#[test]
fn everything_that_differs_at_120_columns() {
    insta::assert_snapshot!(shown(&hostile(), 120), @r#"
    diff  support: 2 fixed, 1 broken, 1 errored, 1 raised, 6 new results, 1 removed result

    old  20260101T000000-000001  2026-01-01T00:00:00Z  passed
      g avg_score >= 0.8: 0.900
    new  20260101T000000-000002@3  failed, not every grade is known, after an edit of rubric.txt
      g avg_score >= 0.8: 0.700

    5 verdicts moved
             sample           grader      old → new
    broken   a [trial 0]      g       1.000 → 0.000
      It is [-polite-]{+rude+} and says when the parcel comes.
    errored  c|`x` [trial 0]  g       1.000 → error
      new: no answer ::error::no answer ::error::no answer ::error::no answer ::error::no answer ::error::no answer
        ::error::no answer ::error::no answer ::erro…
    fixed    d [trial 0]      g       0.000 → 1.000
    2 more: --moved 5

    tags: [] → ["x|y"]
    g.prompt: Is the reply [-polite-]{+friendly @team+}, short and correct? Answer in one sentence.
    g.pass_threshold: 0.5 → 0.75
    files that differ: data.jsonl, new.txt (new), gone.txt (gone)

    grader  n           mean            change [95 %]  fixed  broken
    g       5  0.550 → 0.750  +0.200 [-0.767, +1.000]      2       1
    95 % intervals: Student t

    only in the old: 1 grader: gone
    only in the new: 1 grader: new
    only in the old: 1 result: only-old [trial 0]
    only in the new: 6 results: n1 [trial 1], n2 [trial 0], n3 [trial 0], n4 [trial 0], n5 [trial 0] and 1 more
    "#);
    for width in [40, 200] {
        shown(&hostile(), width);
    }
}

#[test]
fn details_have_every_number() {
    let details = DiffView { moved: 0, details: true };
    insta::assert_snapshot!(shown_with(&hostile(), details, 80), @r#"
    diff  support: 2 fixed, 1 broken, 1 errored, 1 raised, 6 new results, 1
      removed result

    old  20260101T000000-000001  2026-01-01T00:00:00Z  passed
      g avg_score >= 0.8: 0.900
    new  20260101T000000-000002@3  failed, not every grade is known, after an edit
      of rubric.txt
      g avg_score >= 0.8: 0.700

    5 verdicts moved
    5 more: --moved 5

    tags: [] → ["x|y"]
    g.prompt: Is the reply [-polite-]{+friendly @team+}, short and correct? Answer
      in one sentence.
    g.pass_threshold: 0.5 → 0.75
    files that differ: data.jsonl, new.txt (new), gone.txt (gone)

    grader  n           mean            change [95 %]  fixed  broken
    g       5  0.550 → 0.750  +0.200 [-0.767, +1.000]      2       1
    95 % intervals: Student t

    numbers           mean      pass rate  stderr  detects      p
    g        0.550 → 0.750  60.0% → 80.0%   0.348        -  1.000

    only in the old: 1 grader: gone
    only in the new: 1 grader: new
    only in the old: 1 result: only-old [trial 0]
    only in the new: 6 results: n1 [trial 1], n2 [trial 0], n3 [trial 0], n4
      [trial 0], n5 [trial 0] and 1 more
    "#);
}

#[test]
fn nothing_differs_in_a_few_lines() {
    let one = side("1", &["g"], &["a 1", "b 0"]);
    let diff = compare(&one, &one, None, &DiffLabels::default());
    insta::assert_snapshot!(shown(&diff, 80), @"
    diff  support: nothing moved

    old  1  no gate
    new  1  no gate

    grader  n      pass rate  change [95 %]
    g       2  50.0% → 50.0%            0.0
    ");
}

#[test]
fn worse_graders_are_named_first() {
    let cases =
        |score: &str| -> Vec<String> { (0..20).map(|at| format!("s{at} {score} 0.5")).collect() };
    let [old, new] = [cases("1"), cases("0")];
    let [old, new] = [&old, &new].map(|cases| cases.iter().map(String::as_str).collect::<Vec<_>>());
    let [old, new] = [side("1", &["g", "k"], &old), side("2", &["g", "k"], &new)];
    let mut diff = compare(&old, &new, None, &DiffLabels::default());
    assert!(mark_regressions(&mut diff, 0.05));
    let second = |diff: &Diff| shown(diff, 80).lines().nth(1).unwrap().to_owned();
    assert_eq!(second(&diff), "worse by more than chance explains: g");
    let mut diff = compare(&new, &old, None, &DiffLabels::default());
    assert!(!mark_regressions(&mut diff, 0.05));
    assert_eq!(second(&diff), "no grader became worse by more than chance explains");
}

#[test]
fn of_many_graders_those_that_moved_are_shown() {
    let names: Vec<String> = (0..70).map(|at| format!("g{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let case = |last: &str| format!("a {} {last}", ["1"; 69].join(" "));
    let [old, new] = [case("1"), case("0")].map(|case| side("1", &names, &[&case]));
    let diff = compare(&old, &new, None, &DiffLabels::default());
    let text = shown(&diff, 80);
    assert!(text.contains("\ng69     1"), "{text}");
    assert!(text.contains("10 graders not shown: --details") && !text.contains("g68"), "{text}");
}

#[test]
fn a_comment_interprets_nothing() {
    insta::assert_snapshot!(markdown::shown(&page(&hostile(), VIEW)), @"
    ### diff  `support`: 2 fixed, 1 broken, 1 errored, 1 raised, 6 new results, 1 removed result

    - old  `20260101T000000-000001`  `2026-01-01T00:00:00Z`  passed
      - `g avg_score >= 0.8: 0.900`
    - new  `20260101T000000-000002@3`  failed, not every grade is known, after an edit of `rubric.txt`
      - `g avg_score >= 0.8: 0.700`

    <details><summary>5 verdicts moved</summary>

    |  | sample | grader | old → new |  |
    |:--|:--|:--|--:|:--|
    | broken | `a [trial 0]` | `g` | 1.000 → 0.000 | `It is [-polite-]{+rude+} and says when the parcel comes.` |
    | errored | <code>c&#124;&#96;x&#96; &#91;trial 0&#93;</code> | `g` | 1.000 → error | new: `no answer ::error::no answer ::error::no answer ::error::no answer ::error::no answer ::error::no answer ::error::no answer ::error::no answer ::erro…` |
    | fixed | `d [trial 0]` | `g` | 0.000 → 1.000 |  |

    2 more: `--moved 5`

    </details>

    - `tags`: `[]` → <code>&#91;&#34;x&#124;y&#34;&#93;</code>
    - `g.prompt`: `Is the reply [-polite-]{+friendly @team+}, short and correct? Answer in one sentence.`
    - `g.pass_threshold`: `0.5` → `0.75`
    - files that differ: `data.jsonl`, `new.txt` (new), `gone.txt` (gone)

    | grader | n | mean | change [95 %] | fixed | broken |
    |:--|--:|--:|--:|--:|--:|
    | `g` | 5 | 0.550 → 0.750 | +0.200 [-0.767, +1.000] | 2 | 1 |

    95 % intervals: Student t

    - only in the old: 1 grader: `gone`
    - only in the new: 1 grader: `new`
    - only in the old: 1 result: `only-old [trial 0]`
    - only in the new: 6 results: `n1 [trial 1]`, `n2 [trial 0]`, `n3 [trial 0]`, `n4 [trial 0]`, `n5 [trial 0]` and 1 more
    ");
}

#[test]
fn machines_read_every_number() {
    let diff = compare(
        &side("1", &["g"], &["a 1", "b 0"]),
        &side("2", &["g"], &["a 0.25"]),
        None,
        &DiffLabels::default(),
    );
    insta::assert_snapshot!(serde_json::to_string(&diff).unwrap(), @r#"{"format":1,"before":{"suite":"support","run":"1","save":null,"at":null,"evalrs":"","files":[],"results":2,"complete":true},"now":{"suite":"support","run":"2","save":null,"at":null,"evalrs":"","files":[],"results":1,"complete":true},"settings":[],"files":[],"graders":{"g":{"paired":{"n":1,"mean_before":1.0,"mean_now":0.25,"difference":-0.75,"stderr":null,"interval":[-0.99375,0.95625],"interval_method":"clopper_pearson","difference_p_value":null,"minimum_detectable_effect":null,"pass_rate_before":1.0,"pass_rate_now":0.0,"fixed":0,"broken":1,"samples_fixed":0,"samples_broken":1,"p_value":1.0},"counts":{"broken":1,"errored":0,"fixed":0,"answered":0,"lowered":0,"raised":0,"new":0,"unchanged":0,"pending":0}}},"graders_only_before":[],"graders_only_now":[],"cases":{"both":1,"only_before":{"count":1,"first":[{"sample_id":"b","model":null,"trial":0}]},"only_now":{"count":0,"first":[]}},"gate":{"before":{"status":null,"value":null,"op":null,"threshold":null,"lowest":null,"highest":null,"rule":null},"now":{"status":null,"value":null,"op":null,"threshold":null,"lowest":null,"highest":null,"rule":null}},"moved":[{"case":{"sample_id":"a","model":null,"trial":0},"grader":"g","movement":"broken","before":{"score":1.0,"pass":true,"error":false,"key":"3131313131313131313131313131313131313131313131313131313131313131","rationale":null},"now":{"score":0.25,"pass":false,"error":false,"key":"3232323232323232323232323232323232323232323232323232323232323232","rationale":null}}]}"#);
}
