//! Whole blocks of made-up boards, as a reader of a log sees them.

pub(crate) mod fixtures;

use anstream::adapter::strip_str;

use self::fixtures::BoardFixture;
use super::PlainDisplay;
use crate::board::{Activity, Board, Display, VerdictFilter, WatchEvent};
use crate::list_query::ListQuery;
use evalrs_base::price::Cost;
use evalrs_base::text::columns;
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_model::delta::MovementCounts;

fn told_in(width: usize, told: &[(WatchEvent, &BoardFixture)]) -> String {
    let mut out = Vec::new();
    let mut plain = PlainDisplay::new(&mut out, width);
    for (event, board) in told {
        plain.event(event, *board).unwrap();
    }
    strip_str(&String::from_utf8(out).unwrap()).to_string()
}

fn told(event: WatchEvent, board: &BoardFixture) -> String {
    told_in(100, &[(event, board)])
}

#[test]
fn the_start_tells_how_things_stand() {
    insta::assert_snapshot!(told(WatchEvent::Evaluated, &fixtures::start()), @r"
    start
      judgments: 2 made, 198 cached, 2 failed
      spent $0.0012, 1100 tokens; saved $0.12, 108900 tokens; session $0.0012, 2 judgments
      gate FAILED  quality avg_score >= 0.8: 0.790
      grader            mean [95 %]         pass [95 %]  errors   judged  n/a
      Is good  0.790 [0.750, 0.830]  70.0% [60.0, 78.0]       0  100/100    0
      tone                    0.950              100.0%       2   98/100    3
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      200 grades
    ");
}

#[test]
fn a_save_tells_what_moved() {
    insta::assert_snapshot!(told(WatchEvent::Evaluated, &fixtures::moved()), @r"
    save 3: rubric.txt, house-rules.txt
      judgments: 100 made, 100 cached, 4 superseded
      spent $0.060, 55000 tokens; saved $0.12, 108900 tokens; session $0.0612 of $1.00, 102 of 500
        judgments
      gate PASSED (was FAILED)  quality avg_score >= 0.8: 0.830
      grader            mean [95 %]  since last         pass [95 %]  errors   judged  n/a  since start
      Is good  0.790 [0.750, 0.830]      +0.050  70.0% [60.0, 78.0]       0  100/100    0       +0.040
      tone                    0.950      -0.013              100.0%       2   98/100    3        0.000
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      1 fixed, 1 broken, 1 became an error, 1 error was answered, 1 raised, 1 lowered, 194 unchanged
      broken    Is good  gift-card   1.000 → 0.500  (-0.500)
          It answers the question, [-is polite and-]{+but never+} says where to go. …
      errored   tone     refund      0.900 → error
          no answer in time (30 s)
      fixed     Is good  late order  0.250 → 0.900  (+0.650)
          [-The bot does not apologise for the delay and sends-]
          {+An apology comes first, then a date, then a way to complain;+} …
      answered  Is good  a           error → 0.400
          Too short.
      lowered   Is good  b           0.500 → 0.400  (-0.100)
      raised    tone     c           0.850 → 0.900  (+0.050)
          Good[-, if stiff-].
    ");
}

#[test]
fn a_save_may_move_nothing() {
    insta::assert_snapshot!(told(WatchEvent::Evaluated, &fixtures::unmoved()), @r"
    save 3: suite.yaml
      judgments: 0 made, 200 cached
      spent nothing; saved $0.12, 108900 tokens; session $0.0012, 2 judgments
      gate PASSED  quality avg_score >= 0.8: 0.830
      grader            mean [95 %]  since last         pass [95 %]  errors   judged  n/a  since start
      Is good  0.790 [0.750, 0.830]       0.000  70.0% [60.0, 78.0]       0  100/100    0       +0.040
      tone                    0.950           -              100.0%       2   98/100    3            -
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      no verdict moved: 200 unchanged
    ");
}

#[test]
fn what_is_held_says_how_to_go_on() {
    let held = fixtures::held();
    let story =
        [(WatchEvent::Saved, &held), (WatchEvent::Planned, &held), (WatchEvent::Paused, &held)];
    insta::assert_snapshot!(told_in(100, &story), @r"
    save 1: rubric.txt: 1000 of 1000 judgments to make

    save 1: rubric.txt
      judgments: 20 made, 0 cached, 980 not made
      spent $0.0012, 1100 tokens; saved $0.12, 108900 tokens; session $0.0012, 2 judgments
      grader            mean [95 %]  since last         pass [95 %]  errors   judged
      Is good  0.790 [0.750, 0.830]      -0.040  70.0% [60.0, 78.0]       0  20/1000
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      1 broken, 19 unchanged, 980 pending
      broken  Is good  gift-card  0.900 → 0.100  (-0.800)
          [-Right-]{+Wrong+}.
      20 of 1000 judgments made; press Enter to make the other 980 (about $0.12), `n` for the next 200
        (about $0.0245), or keep editing
    ");
}

#[test]
fn the_sentence_of_what_is_held_counts_right() {
    let check = |asked, waiting, expected: Option<f64>, sentence: &str| {
        let mut made = fixtures::held();
        made.overview.actions.asked = asked;
        let expected = expected.and_then(Cost::from_dollars);
        made.overview.state = Activity::Paused { waiting, expected };
        assert_eq!(super::held(&made.overview), sentence);
    };
    check(
        1,
        1,
        Some(0.5),
        "1 of 2 judgments made; press Enter to make the other 1 (about $0.50), or keep editing",
    );
    check(
        1,
        400,
        Some(0.5),
        "1 of 401 judgments made; press Enter to make the other 400 (about $0.50), `n` for the next 200 (about $0.25), or keep editing",
    );
    check(
        0,
        201,
        None,
        "201 judgments are paused; press Enter to make them, `n` for the next 200, or keep editing",
    );
    check(0, 200, None, "200 judgments are paused; press Enter to make them, or keep editing");
    check(0, 1, None, "1 judgment is paused; press Enter to make it, or keep editing");
    check(
        0,
        9,
        Some(2.0),
        "9 judgments are paused; press Enter to make them (about $2.00), or keep \
                            editing",
    );
}

#[test]
fn what_is_broken_shows_its_place_and_what_still_holds() {
    let broken = fixtures::broken();
    let story = [(WatchEvent::Broken, &broken), (WatchEvent::Restored, &fixtures::unmoved())];
    insta::assert_snapshot!(told_in(100, &story), @r#"
    error: unknown key `gatee`
     --> suite.yaml:2:1
      |
    2 | gatee: 1
      | ^^^^^
      |
      = help: did you mean `gate`?

    error: cannot read the rubric
     --> rubric.txt
    still showing save 3
    fixed: save 3 still holds
    "#);
    let mut nothing = BoardFixture::default();
    nothing.overview.problems = broken.overview.problems;
    assert!(!told(WatchEvent::Broken, &nothing).contains("still showing"));
}

#[test]
fn labels_of_people_are_compared() {
    insta::assert_snapshot!(told(WatchEvent::Evaluated, &fixtures::labelled()), @r"
    save 3: rubric.txt, house-rules.txt
      judgments: 100 made, 100 cached, 4 superseded
      spent $0.060, 55000 tokens; saved $0.12, 108900 tokens; session $0.0612 of $1.00, 102 of 500
        judgments
      labels of Is good: 97.5% of 40 verdicts agree, kappa 0.95 (0.85 to 1.00), 1 label without a
        verdict
      since last: agrees more, 95.0% → 97.5%, kappa 0.90 → 0.95, false fails -1; 1 now agrees, 0 no
        longer agree (of 40 of 41 labels: those judged both times)
      since start: agrees less, 100.0% → 97.5%, kappa not defined → 0.95; 1 now agrees, 0 no longer
        agree (of 40 of 41 labels: those judged both times)
      labels of tone: 0.0% of 1 verdict agrees, kappa not defined, mean distance 0.800
      gate PASSED (was FAILED)  quality avg_score >= 0.8: 0.830
      grader            mean [95 %]  since last         pass [95 %]  errors   judged  n/a  since start
      Is good  0.790 [0.750, 0.830]      +0.050  70.0% [60.0, 78.0]       0  100/100    0       +0.040
      tone                    0.950      -0.013              100.0%       2   98/100    3        0.000
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      1 fixed, 1 broken, 1 became an error, 1 error was answered, 1 raised, 1 lowered, 196 unchanged
      broken    Is good  gift-card   1.000 → 0.500  (-0.500)
          It answers the question, [-is polite and-]{+but never+} says where to go. …
      errored   tone     refund      0.900 → error
          no answer in time (30 s)
      fixed     Is good  late order  0.250 → 0.900  (+0.650)
          [-The bot does not apologise for the delay and sends-]
          {+An apology comes first, then a date, then a way to complain;+} …
      answered  Is good  a           error → 0.400
          Too short.
      lowered   Is good  b           0.500 → 0.400  (-0.100)
      raised    tone     c           0.850 → 0.900  (+0.050)
          Good[-, if stiff-].
                      label pass  label fail
      Is good passes          23           1
      Is good fails            0          16
                   label pass  label fail
      tone passes           0           0
      tone fails            1           0
      2 disagreements  grader   verdict     label  rationale
      d                Is good  0.900 pass  fail   It says all that is asked for, in good order, and in…
      e                tone     0.100 fail  0.900  Rude.
    ");
}

#[test]
fn a_budget_that_is_used_up_is_said() {
    let mut made = fixtures::unmoved();
    let overview = &mut made.overview;
    overview.state = Activity::Stopped("the budget of $0.10 is used up".to_owned());
    overview.notes = vec!["2 samples of the suite have no row".to_owned()];
    overview.spent.budget = Cost::from_dollars(0.1);
    overview.actions.cached = 150;
    overview.actions.waiting = 50;
    overview.counts = MovementCounts { unchanged: 150, pending: 50, ..MovementCounts::default() };
    let story = [(WatchEvent::Evaluated, &made), (WatchEvent::Ended, &made)];
    insta::assert_snapshot!(told_in(100, &story), @r"
    save 3: suite.yaml
      judgments: 0 made, 150 cached, 50 not made
      spent nothing; saved $0.12, 108900 tokens; session $0.0012 of $0.10, 2 judgments
      gate PASSED  quality avg_score >= 0.8: 0.830
      grader            mean [95 %]  since last         pass [95 %]  errors   judged  n/a  since start
      Is good  0.790 [0.750, 0.830]       0.000  70.0% [60.0, 78.0]       0  100/100    0       +0.040
      tone                    0.950           -              100.0%       2   98/100    3            -
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      no verdict moved: 150 unchanged, 50 pending
      2 samples of the suite have no row
      stopped: the budget of $0.10 is used up

    end: 3 saves, $0.0012 of $0.10, 2 judgments, 1100 tokens
    ");
}

#[test]
fn the_end_tells_how_far_a_session_came() {
    insta::assert_snapshot!(told(WatchEvent::Ended, &fixtures::ended()), @r"
    end: 3 saves, $0.0612 of $1.00, 102 of 500 judgments, 792 cached, 56100 tokens
      grader            mean          agrees     kappa  labels   judged
      Is good  0.790 → 0.830  100.0% → 97.5%  - → 0.95      40  100/100
      tone             0.950            0.0%         -       1   98/100
      gate FAILED → PASSED
      what changed: evalrs diff latest@start latest
    ");
    let mut unlabelled = fixtures::ended();
    unlabelled.overview.metrics.iter_mut().for_each(|metric| metric.labels = None);
    insta::assert_snapshot!(told_in(40, &[(WatchEvent::Ended, &unlabelled)]), @r"
    end: 3 saves, $0.0612 of $1.00, 102 of…
      grader            mean   judged
      Is good  0.790 → 0.830  100/100
      tone             0.950   98/100
      gate FAILED → PASSED
      what changed: evalrs diff latest@start latest
    ");
}

#[test]
fn a_narrow_terminal_has_less() {
    insta::assert_snapshot!(told_in(60, &[(WatchEvent::Evaluated, &fixtures::labelled())]), @r"
    save 3: rubric.txt, house-rules.txt
      judgments: 100 made, 100 cached, 4 superseded
      spent $0.060, 55000 tokens; saved $0.12, 108900 tokens;
        session $0.0612 of $1.00, 102 of 500 judgments
      labels of Is good: 97.5% of 40 verdicts agree, kappa
        0.95 (0.85 to 1.00), 1 label without a verdict
      since last: agrees more, 95.0% → 97.5%, kappa 0.90 →
        0.95, false fails -1; 1 now agrees, 0 no longer agree
        (of 40 of 41 labels: those judged both times)
      since start: agrees less, 100.0% → 97.5%, kappa not
        defined → 0.95; 1 now agrees, 0 no longer agree (of 40
        of 41 labels: those judged both times)
      labels of tone: 0.0% of 1 verdict agrees, kappa not
        defined, mean distance 0.800
      gate PASSED (was FAILED)  quality avg_score >= 0.8: 0.830
      grader            mean [95 %]  since last …
      Is good  0.790 [0.750, 0.830]      +0.050
      tone                    0.950      -0.013
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      1 fixed, 1 broken, 1 became an error, 1 error was
        answered, 1 raised, 1 lowered, 196 unchanged
      broken    Is good  gift-card   1.000 → 0.500
          It answers the question, [-is polite and-]{+but
          never+} says where to go. …
      errored   tone     refund      0.900 → error
          no answer in time (30 s)
      fixed     Is good  late order  0.250 → 0.900
          [-The bot does not apologise for the delay and…-]
          {+An apology comes first, then a date, then a w…+} …
      answered  Is good  a           error → 0.400
          Too short.
      lowered   Is good  b           0.500 → 0.400
      raised    tone     c           0.850 → 0.900
          Good[-, if stiff-].
                      label pass  label fail
      Is good passes          23           1
      Is good fails            0          16
                   label pass  label fail
      tone passes           0           0
      tone fails            1           0
      2 disagreemen…  grader   verdict     label  rationale
      d               Is good  0.900 pass  fail   It says all t…
      e               tone     0.100 fail  0.900  Rude.
    ");
    for width in [40, 45, 50, 60, 72, 80, 200] {
        for made in [fixtures::labelled(), fixtures::held(), fixtures::start()] {
            for event in [WatchEvent::Evaluated, WatchEvent::Paused, WatchEvent::Planned] {
                let text = told_in(width, &[(event, &made)]);
                // The value of a gate and its bounds are never cut.
                for line in text.lines().filter(|line| !line.contains("gate UNDECIDED")) {
                    assert!(columns(line) <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn long_lists_end_with_how_much_more_there_is() {
    let mut made = fixtures::moved();
    for at in 0..30 {
        made = made.with((&format!("more-{at}"), 0), (0.9, 0.1), ["Right.", "Wrong."]);
        made = made.labelled(evalrs_model::spec::Label::Pass(true));
    }
    made.overview.metrics[0].labels =
        Some(evalrs_metrics::metric::labels::LabelAgreement::default());
    let text = told(WatchEvent::Evaluated, &made);
    assert!(
        text.contains("\n  … and 16 more\n")
            && text.contains("\n  labels of Is good: none has a verdict\n"),
        "{text}"
    );
    assert!(text.ends_with("\n  … and 20 more\n"), "{text}");
    assert_eq!(text.matches("[-Right-]{+Wrong+}.").count(), 14, "{text}");
}

#[test]
fn counts_read_right() {
    let one = MovementCounts {
        broken: 1,
        errored: 1,
        fixed: 1,
        answered: 1,
        lowered: 1,
        raised: 1,
        new: 1,
        unchanged: 1,
        pending: 1,
        not_applicable: 1,
    };
    let table = [
        (
            one,
            "1 fixed, 1 broken, 1 became an error, 1 error was answered, 1 raised, 1 lowered, 1 new, 1 unchanged, 1 pending, 1 not applicable",
        ),
        (
            MovementCounts { errored: 2, answered: 3, ..MovementCounts::default() },
            "2 became errors, 3 errors were answered",
        ),
        (
            MovementCounts { new: 2, pending: 1, ..MovementCounts::default() },
            "no verdict moved: 2 new, 1 pending",
        ),
        (MovementCounts::default(), "no verdict moved"),
    ];
    for (counts, expected) in table {
        assert_eq!(super::moved::counts(&counts), expected);
    }
}

#[test]
fn sentences_are_lines() {
    let mut out = Vec::new();
    let mut plain = PlainDisplay::new(&mut out, 100);
    for event in [
        WatchEvent::Waiting("rate limited by http://a (429); retrying in 12 s\u{1b}[2J".to_owned()),
        WatchEvent::Note("labels.csv:\nno rows".to_owned()),
    ] {
        plain.event(&event, &fixtures::moved()).unwrap();
    }
    let text = strip_str(std::str::from_utf8(&out).unwrap()).to_string();
    assert_eq!(text, "rate limited by http://a (429); retrying in 12 s\nlabels.csv: no rows\n");
}

#[test]
fn only_what_has_judges_speaks_of_judgments_and_only_a_gate_of_gates() {
    let mut made = fixtures::unmoved();
    made.overview.actions = crate::board::ActionCounts::default();
    made.overview.spent = crate::board::Spending::default();
    made.overview.gate = GateReport::default();
    made.overview.save = 2;
    insta::assert_snapshot!(told(WatchEvent::Evaluated, &made), @r"
    save 2 of 3: suite.yaml
      grader            mean [95 %]  since last         pass [95 %]  errors   judged  n/a  since start
      Is good  0.790 [0.750, 0.830]       0.000  70.0% [60.0, 78.0]       0  100/100    0       +0.040
      tone                    0.950           -              100.0%       2   98/100    3            -
      metric              value [95 %]  since last   n  errors
      by_subject  0.800 [0.700, 0.900]      -0.010  98       2
      no verdict moved: 200 unchanged
    ");
    assert_eq!(told(WatchEvent::Planned, &made), "");
    made.overview.gate = GateReport {
        conditions: vec![fixtures::gate(GateStatus::Failed, 0.5)],
        rule: Some("all of 1 condition".to_owned()),
        status: Some(GateStatus::Failed),
        ..GateReport::default()
    };
    let text = told(WatchEvent::Evaluated, &made);
    let gate = "  gate FAILED (was PASSED)  all of 1 condition\n    failed  quality avg_score >= 0.8: 0.500\n";
    assert!(text.contains(gate), "{text}");
}

#[test]
fn hostile_texts_stay_texts() {
    let attack = "\u{1b}[2J\u{9b}31m\n::error::x\u{202e}\r";
    let mut made = fixtures::moved().with((attack, 0), (0.9, 0.1), [attack, "a\u{1b}]0;t\u{7}\nb"]);
    let overview = &mut made.overview;
    overview.files = vec![attack.to_owned()];
    overview.notes = vec![attack.to_owned()];
    overview.metrics[0].label = attack.to_owned();
    overview.state = Activity::Stopped(attack.to_owned());
    for id in made.rows(&ListQuery::of(VerdictFilter::All)) {
        assert!(made.row(id).is_some());
    }
    let text = told_in(
        100,
        &[
            (WatchEvent::Evaluated, &made),
            (WatchEvent::Planned, &made),
            (WatchEvent::Paused, &made),
            (WatchEvent::Waiting(attack.to_owned()), &made),
            (WatchEvent::Note(attack.to_owned()), &made),
            (WatchEvent::Ended, &made),
        ],
    );
    let harmless = |char: char| !char.is_control() && char != '\u{202e}';
    assert!(text.lines().all(|line| line.chars().all(harmless)), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("::error::")), "{text}");
}
