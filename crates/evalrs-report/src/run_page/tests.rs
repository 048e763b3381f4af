//! What the report of a run promises, on a terminal and in a comment.

use anstream::adapter::strip_str;

use super::{ReportView, page};
use crate::FORMATS;
use crate::ending::RunEnding;
use crate::format::{ProcessFacts, ReportFormat, ReportOptions, ReportSink, ReportedRun};
use crate::origin::ReportOrigin;
use crate::page::markdown::{LEFT_OUT, LimitedPage, shown};
use crate::page::terminal::{BAD, DOUBTFUL, FAINT, GOOD, PageScreen, TITLE, write};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_base::text::columns;
use evalrs_metrics::diff::since::{MovedAgreement, RunMove, RunMoves};
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_model::delta::Movement;
use evalrs_model::outcome::Usage;
use evalrs_test_runs as fixtures;
use evalrs_test_runs::Run;

const TERMINAL: ReportView = ReportView {
    failures: 10,
    details: false,
    lists: true,
    facts: true,
    moves: true,
    against: false,
};

fn facts() -> ProcessFacts {
    ProcessFacts {
        asked: Some(4),
        cached: Some(96),
        failed: Some(2),
        spent: Usage { cost: Cost::from_dollars(0.002), ..Usage::of_tokens(1000, 50) },
        saved: Usage { cost: Cost::from_dollars(0.0481), ..Usage::of_tokens(24_000, 1200) },
        seconds: Some(12.34),
        report: Some(".evalrs/runs/7".to_owned()),
        ..ProcessFacts::default()
    }
}

fn styled(run: &Run, facts: &ProcessFacts, view: ReportView, screen: PageScreen) -> String {
    let origin = ReportOrigin { command: "suite.yaml".to_owned(), ..ReportOrigin::default() };
    run.written(|report, out| {
        let run = ReportedRun { report, facts, origin: &origin };
        write(&page(&run, view), screen, out)
    })
}

fn plain(run: &Run, facts: &ProcessFacts, width: usize) -> String {
    let screen = PageScreen { width, cuts: true };
    strip_str(&styled(run, facts, TERMINAL, screen)).to_string()
}

fn detailed(run: &Run, width: usize) -> String {
    let view = ReportView { details: true, ..TERMINAL };
    let screen = PageScreen { width, cuts: true };
    strip_str(&styled(run, &ProcessFacts::default(), view, screen)).to_string()
}

fn markdown(run: &Run, failures: usize) -> String {
    let view = ReportView { failures, lists: true, ..ReportView::default() };
    let facts = facts();
    let origin = ReportOrigin::default();
    run.written(|report, out| {
        let run = ReportedRun { report, facts: &facts, origin: &origin };
        out.write_all(shown(&page(&run, view)).as_bytes())
    })
}

/// So many samples with one grade each.
fn suite(samples: usize) -> Run {
    let scores = |at: usize| f64::from(u8::from(!at.is_multiple_of(3)));
    let results = (0..samples).map(|at| fixtures::graded(at, scores(at)));
    let mut run = Run { results: results.collect(), ..fixtures::empty() }.summed();
    run.summary.samples = samples;
    run
}

fn moves() -> RunMoves {
    let moved = |sample: &str, movement, scores: [Option<f64>; 2]| RunMove {
        sample_id: sample.to_owned(),
        model: None,
        trial: 0,
        at: None,
        grader: "accuracy".to_owned(),
        movement,
        before: scores[0],
        now: scores[1],
        agrees: None,
    };
    RunMoves {
        since: "RUN".to_owned(),
        broken: 1,
        fixed: 11,
        errored: 1,
        new: 2,
        agreement: OrderedMap(vec![(
            "accuracy".to_owned(),
            MovedAgreement { before: 0.5, now: 0.54 },
        )]),
        verdicts: vec![
            moved("a", Movement::Broken, [Some(1.0), Some(0.0)]),
            moved("b", Movement::Errored, [Some(1.0), None]),
            moved("<@c>", Movement::Fixed, [Some(0.0), Some(1.0)]),
        ],
        ..RunMoves::default()
    }
}

#[test]
fn hostile_texts_stay_texts_on_a_terminal() {
    let ending = RunEnding { code: 3, ..RunEnding::default() };
    let facts = ProcessFacts { ending, ..facts() };
    insta::assert_snapshot!(plain(&fixtures::hostile(), &facts, 100), @r"
    undecided  support-bot: 2 samples, 4 results, 2 errors
    quality|x avg_score >= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)

    exit code 3: 2 grades could not be made, and the gate depends on them: rerun `evalrs run suite.yaml`: it makes only the missing calls
    2 errors
    2 ×  timeout  first s1 quality|x  no answer ::warning::

    grader     passed  pass rate or mean [95 %]  errors
    accuracy      2/4                     50.0%
    quality|x     1/2                     0.625       2

    2 trials  pass@2  pass^2  flaky
    accuracy   1.000   0.000  2 of 2: s1 [m:1,x] 1/2, <s|2> [m:1,x] 1/2

    sample         accuracy  quality|x
    s1 [m:1,x]     ✓✗        0.25 !
    <s|2> [m:1,x]  ✓✗        1 !
    ✓ passed  ✗ failed  ! error

    3 failures
    sample         trial  grader     score  rationale
    s1 [m:1,x]         0  quality|x  0.250  </testcase> ]]>| ::error::@team `code` <img
                                            src=x>##[error]%0A
    s1 [m:1,x]         1  accuracy          expected `a` found `b`
    <s|2> [m:1,x]      1  accuracy          @everyone

    4 judgments: 1234 tokens in, 56 out, $0.0123
    calls: 4 made, 96 cached, 2 failed, in 12.3 s
    spent $0.0020, 1050 tokens; saved $0.0481, 25200 tokens
    report: .evalrs/runs/7
    ");
    insta::assert_snapshot!(detailed(&fixtures::hostile(), 100), @r"
    undecided  support-bot: 2 samples, 4 results, 2 errors
    quality|x avg_score >= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)

    2 errors
    2 ×  timeout  first s1 quality|x  no answer ::warning::
      rerun `evalrs run suite.yaml`: it makes only the missing calls

    grader     passed  pass rate or mean [95 %]  errors
    accuracy      2/4                     50.0%
    quality|x     1/2                     0.625       2

    2 trials  pass@1  pass@2  pass^1  pass^2  flaky
    accuracy   0.500   1.000   0.500   0.000  2 of 2: s1 [m:1,x] 1/2, <s|2> [m:1,x] 1/2

    sample         accuracy  quality|x
    s1 [m:1,x]     ✓✗        0.25 !
    <s|2> [m:1,x]  ✓✗        1 !
    ✓ passed  ✗ failed  ! error

    3 failures
    sample         trial  grader     score  rationale
    s1 [m:1,x]         0  quality|x  0.250  </testcase> ]]>| ::error::@team `code` <img
                                            src=x>##[error]%0A
    s1 [m:1,x]         1  accuracy          expected `a` found `b`
    <s|2> [m:1,x]      1  accuracy          @everyone

    numbers    n  mean [95 %]  pass [95 %]  stderr   naive    min  median    max  errors as 0
    accuracy   4        0.500        50.0%  0.0000  0.2887  0.000   0.500  1.000
    quality|x  4        0.625        50.0%  0.3750  0.3750  0.250   0.625  1.000        0.312

    variance  between samples  within  ICC(1)  stderr
    accuracy           0.0000  0.5000   -1.00  0.3536

    4 judgments: 1234 tokens in, 56 out, $0.0123
    ");
}

#[test]
fn hostile_texts_stay_texts_in_a_comment() {
    insta::assert_snapshot!(markdown(&fixtures::hostile(), 2), @r"
    ### undecided  `support-bot`: 2 samples, 4 results, 2 errors

    <code>quality&#124;x avg&#95;score &#62;&#61; 0&#46;8&#58; 0&#46;312 &#40;0&#46;312 to 0&#46;812 depending on missing grades&#41;</code>

    <details><summary>2 errors</summary>

    |  |  |  |  |
    |--:|:--|:--|:--|
    | 2 × | `timeout` | first `s1` <code>quality&#124;x</code> | `no answer ::warning::`<br>rerun `evalrs run `: it makes only the missing calls |

    </details>

    | grader | passed | pass rate or mean [95 %] | errors |
    |:--|--:|--:|--:|
    | `accuracy` | 2/4 | 50.0% |  |
    | <code>quality&#124;x</code> | 1/2 | 0.625 | 2 |

    | 2 trials | pass@2 | pass^2 | flaky |
    |:--|--:|--:|:--|
    | `accuracy` | 1.000 | 0.000 | 2 of 2: `s1 [m:1,x]` 1/2, <code>&#60;s&#124;2&#62; &#91;m&#58;1&#44;x&#93;</code> 1/2 |

    | sample | `accuracy` | <code>quality&#124;x</code> |
    |:--|:--|:--|
    | `s1 [m:1,x]` | ✓✗ | 0.25 ! |
    | <code>&#60;s&#124;2&#62; &#91;m&#58;1&#44;x&#93;</code> | ✓✗ | 1 ! |

    ✓ passed  ✗ failed  ! error

    <details><summary>3 failures</summary>

    | sample | trial | grader | score | rationale |
    |:--|--:|:--|--:|:--|
    | `s1 [m:1,x]` | 0 | <code>quality&#124;x</code> | 0.250 | <code>&#60;&#47;testcase&#62; &#93;&#93;&#62;&#124; &#58;&#58;error&#58;&#58;&#64;team &#96;code&#96; &#60;img src&#61;x&#62;&#35;&#35;&#91;error&#93;&#37;0A</code> |
    | `s1 [m:1,x]` | 1 | `accuracy` |  | <code>expected &#96;a&#96; found &#96;b&#96;</code> |

    1 more: `--failures 3`

    </details>

    - 4 judgments: 1234 tokens in, 56 out, $0.0123
    ");
}

#[test]
fn only_our_own_styles_are_written() {
    let screen = PageScreen { width: 100, cuts: true };
    let text = styled(&fixtures::hostile(), &facts(), TERMINAL, screen);
    let mut rest = text.replace("\u{1b}[0m", "");
    for style in [GOOD, BAD, DOUBTFUL, TITLE, FAINT] {
        rest = rest.replace(&style.render().to_string(), "");
    }
    assert!(!rest.chars().any(|char| char.is_control() && char != '\n'), "{rest:?}");
    assert!(text.starts_with(&format!("{DOUBTFUL}undecided{DOUBTFUL:#}")));
}

#[test]
fn a_run_of_nothing_is_one_line() {
    let text = plain(&fixtures::empty(), &ProcessFacts::default(), 100);
    assert_eq!(text, "no gate  support-bot: 0 samples, 0 results\n");
    assert_eq!(
        markdown(&fixtures::empty(), 2),
        format!("### {}", text.replace("support-bot", "`support-bot`"))
    );
}

#[test]
fn a_large_run_is_short_and_never_too_wide() {
    let run = fixtures::large();
    let text = plain(&run, &facts(), 100);
    assert!(text.lines().count() < 60, "{text}");
    assert!(text.contains(" more: --failures "), "{text}");
    for width in [60, 80, 100, 200] {
        for line in plain(&run, &facts(), width).lines().chain(detailed(&run, width).lines()) {
            assert!(columns(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn all_numbers_are_in_the_details() {
    let run = fixtures::large();
    let text = detailed(&run, 200);
    for shown in ["ICC(1)", "naive", "median", "errors as 0", "tag-39", "pass@1"] {
        assert!(text.contains(shown), "{shown}: {text}");
        assert!(!plain(&run, &facts(), 200).contains(shown), "{shown}");
    }
}

#[test]
fn the_rule_of_the_gate_is_never_cut() {
    let rule = "a-grader-with-a-rather-long-name accuracy >= 0.9 and another accuracy >= 0.7";
    let mut run = suite(3);
    let leaf = GateReport {
        status: Some(GateStatus::Failed),
        rule: Some(rule.to_owned()),
        value: Some(0.5),
        ..GateReport::default()
    };
    run.summary.gate = GateReport { conditions: vec![leaf.clone()], ..leaf };
    for width in [40, 60, 80] {
        let text = plain(&run, &ProcessFacts::default(), width);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches(&format!("{rule}: 0.500")).count(), 2, "{text}");
        assert!(text.lines().all(|line| columns(line) <= width), "{text}");
    }
}

#[test]
fn conditions_are_a_nested_list() {
    let leaf = |status, rule: &str| GateReport {
        status: Some(status),
        rule: Some(rule.to_owned()),
        ..GateReport::default()
    };
    let mut run = fixtures::empty();
    let inner = GateReport {
        conditions: vec![leaf(GateStatus::Passed, "b"), leaf(GateStatus::Failed, "c")],
        ..leaf(GateStatus::Passed, "b or c")
    };
    run.summary.gate = GateReport {
        conditions: vec![leaf(GateStatus::Passed, "a"), inner],
        ..leaf(GateStatus::Passed, "a and (b or c)")
    };
    let list =
        "`a and (b or c)`\n\n- passed  `a`\n- passed  `b or c`\n  - passed  `b`\n  - failed  `c`\n";
    assert!(markdown(&run, 2).ends_with(list), "{}", markdown(&run, 2));
    let list = "a and (b or c)\n  passed  a\n  passed  b or c\n    passed  b\n    failed  c\n";
    assert!(plain(&run, &ProcessFacts::default(), 80).ends_with(list));
}

#[test]
fn what_moved_stands_below_the_gate_with_names() {
    let facts = ProcessFacts { moved: Some(moves()), ..ProcessFacts::default() };
    let text = plain(&suite(3), &facts, 60);
    insta::assert_snapshot!(text.split("\n\n").nth(1).unwrap(), @r"
    since the last run: 11 fixed, 1 broken, 1 errored,
      agreement +4.0 points, 2 new results
    broken   a     accuracy  1.000 → 0.000
    errored  b     accuracy  1.000 → error
    fixed    <@c>  accuracy  0.000 → 1.000
    10 more: evalrs diff
    ");
    let none = ProcessFacts { moved: Some(RunMoves::none("RUN")), ..ProcessFacts::default() };
    assert!(plain(&suite(3), &none, 60).contains("\n\nsince the last run: nothing moved\n\n"));
}

/// What a format writes of a run since which something moved, and the page beside it.
fn in_format(format: &ReportFormat, against: bool) -> [String; 2] {
    let facts = ProcessFacts { moved: Some(moves()), ..ProcessFacts::default() };
    let origin = ReportOrigin::default();
    let screen = PageScreen { width: 80, cuts: false };
    let options =
        ReportOptions { screen, failures: None, details: false, against, rolls_up: false };
    let mut page = Vec::new();
    let written = suite(3).written(|report, out| {
        let run = ReportedRun { report, facts: &facts, origin: &origin };
        let mut writer = (format.start)(options);
        writer.add(&run, &mut ReportSink { out: &mut *out, page: Some(&mut page) })?;
        writer.finish(out)
    });
    [written, String::from_utf8(page).unwrap()]
}

#[test]
fn only_people_are_shown_what_moved_and_a_comment_only_against_a_named_run() {
    for format in FORMATS {
        let [without, against] = [false, true].map(|against| {
            in_format(format, against).map(|text| text.contains("11 fixed") || text.contains("RUN"))
        });
        let expected = match format.name {
            "text" => [[true, false], [true, false]],
            "github" => [[false, true], [false, true]],
            "markdown" => [[false, false], [true, false]],
            _ => [[false, false], [false, false]],
        };
        assert_eq!([without, against], expected, "{}", format.name);
    }
    let github = FORMATS.iter().find(|format| format.name == "github").unwrap();
    let [since, against] = [false, true].map(|against| in_format(github, against).concat());
    assert!(since.contains("since the last run: 11 fixed"), "{since}");
    assert!(against.contains("against `RUN`: 11 fixed"), "{against}");
}

#[test]
fn forty_samples_are_a_matrix_and_forty_one_are_none() {
    for graders in [1, 2] {
        let matrix = |samples: usize| {
            let mut run = suite(samples);
            for result in &mut run.results {
                let (_, grade) = result.grades.0[0].clone();
                result.grades.0.extend((1..graders).map(|at| (format!("g{at}"), grade.clone())));
            }
            let mut run = run.summed();
            run.summary.samples = samples;
            plain(&run, &ProcessFacts::default(), 80)
        };
        let marks = |text: &str| [text.matches('✓').count(), text.matches('✗').count()];
        // One of each is in the legend.
        assert_eq!(marks(&matrix(40)), [26 * graders + 1, 14 * graders + 1], "{}", matrix(40));
        assert!(matrix(40).contains("\n✓ passed  ✗ failed\n"));
        assert_eq!(marks(&matrix(41)), [0, 0], "{}", matrix(41));
        assert_eq!(marks(&matrix(1)), [0, 0], "one row says what its graders do");
    }
}

#[test]
fn scores_errors_and_silent_graders_have_their_marks() {
    let mut results = vec![fixtures::graded(0, 1.0), fixtures::graded(1, 0.25)];
    results.push(fixtures::errored(2, "timeout", "no answer"));
    let (_, grade) = fixtures::graded(0, 1.0).grades.0.remove(0);
    results[0].grades.0.push(("kind".to_owned(), grade));
    let mut run = Run { results, ..fixtures::empty() }.summed();
    run.summary.samples = 3;
    let text = plain(&run, &ProcessFacts::default(), 80);
    insta::assert_snapshot!(text.split("\n\n").nth(3).unwrap(), @r"
    sample  accuracy  kind
    s0      1         ✓
    s1      0.25      ·
    s2      !         ·
    ✓ passed  ! error  · not applicable
    ");
}

#[test]
fn graders_of_one_result_each_are_named_in_its_row() {
    let one = fixtures::graded(0, 1.0).grades.0.remove(0).1;
    let results = (0..60).map(|at| {
        let mut line = fixtures::graded(at, 1.0);
        let grades = (0..2).map(|own| {
            let mut grade = one.clone();
            grade.pass = at != 7;
            grade.score = f64::from(u8::from(grade.pass));
            (format!("assert-{at}-{own}"), grade)
        });
        line.grades = OrderedMap(grades.collect());
        line
    });
    let mut run = Run { results: results.collect(), ..fixtures::empty() }.summed();
    run.summary.samples = 60;
    let text = plain(&run, &ProcessFacts::default(), 80);
    insta::assert_snapshot!(text, @r"
    no gate  support-bot: 60 samples, 60 results

    120 graders of one result each: 118 passed, see below

    sample
    s7      ✗ assert-7-0  ✗ assert-7-1
    ✗ failed
    59 samples not shown: --details

    2 failures
    sample  grader      rationale
    s7      assert-7-0  because
    s7      assert-7-1  because
    ");
    assert_eq!(detailed(&run, 80).matches("✓\u{a0}assert-").count(), 118);
}

#[test]
fn fewer_than_five_grades_have_no_interval() {
    for (samples, has_one) in [(4, false), (5, true)] {
        let text = plain(&suite(samples), &ProcessFacts::default(), 80);
        let row = text.lines().find(|line| line.starts_with("accuracy")).unwrap();
        assert_eq!(
            (row.contains('['), text.contains("95 % intervals:")),
            (has_one, has_one),
            "{text}"
        );
    }
}

#[test]
fn a_comment_stays_below_its_limit() {
    const COMMENT: usize = 65_535;
    let mut run = fixtures::large();
    for result in &mut run.results {
        result.sample_id = "|".repeat(10_000);
        for (_, grade) in &mut result.grades.0 {
            grade.rationale = "`".repeat(10_000);
        }
    }
    for failures in [20, 100_000] {
        let text = markdown(&run, failures);
        let written = run.written(|_, out| LimitedPage::new(COMMENT).add(&text, out));
        assert!(written.len() <= COMMENT, "{}", written.len());
        let count = |tag| written.matches(tag).count();
        assert_eq!(count("<details>"), count("</details>"), "{failures}");
        assert_eq!(written.contains(LEFT_OUT), failures > 20);
    }
}
