//! Explanations as pages: what is shown, how it folds, and hostile texts.

use anstream::adapter::strip_str;
use serde_json::{Map, json};

use super::page;
use crate::page::markdown;
use crate::page::terminal::{PageScreen, write};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_base::text::columns;
use evalrs_metrics::explain::sent::SentOrigin;
use evalrs_metrics::explain::{
    Against, ExplainReport, ExplainedAction, ExplainedGrade, ExplainedOutcome, ExplainedResult,
    TextChange, ValueChange,
};
use evalrs_metrics::results::GradeLine;
use evalrs_model::key::Ingredient;
use evalrs_model::outcome::{Failure, FailureKind};

const EVIL: &str = "evil\u{1b}[2J\u{202e}\r\n";

fn kept() -> ExplainedOutcome {
    ExplainedOutcome {
        reply: Some(format!("{EVIL} reply")),
        failure: None,
        model: Some("m-1".to_owned()),
        usage: json!({"input": 1234, "output": 56, "cost": 0.0012}),
        cost: Cost::from_dollars(0.0012),
        origin: SentOrigin {
            at: "2026-01-01T00:00:00Z".to_owned(),
            by: "evalrs 0.1.0".to_owned(),
            imported_from: Some("human.jsonl".to_owned()),
            layer: "the committed file cache/s.judgments.jsonl".to_owned(),
            generation: 2,
        },
    }
}

fn action(outcome: Option<ExplainedOutcome>) -> ExplainedAction {
    let part = |name: &str, preview: Option<&str>, digest: Option<&str>| Ingredient {
        name: name.to_owned(),
        preview: preview.map(str::to_owned),
        digest: digest.map(str::to_owned),
        number: false,
    };
    ExplainedAction {
        turn: Some(1),
        model: "m".to_owned(),
        vote: 0,
        reversed: Some(true),
        key: "0123456789abcdef".repeat(4),
        ingredients: vec![
            part("user", Some(EVIL), Some("fedcba9876543210")),
            part("seed", None, None),
            part("headers", Some(""), None),
        ],
        texts: Map::new(),
        to_ask: outcome.is_none().then_some("rubric edited"),
        stored_for: None,
        outcome,
    }
}

fn explanation() -> ExplainReport {
    let line = GradeLine {
        score: 0.5,
        pass: false,
        rationale: format!("{EVIL} because {}", "of many words ".repeat(40)),
        error: None,
        key: None,
        metadata: Map::new(),
        per_turn: None,
    };
    let change = TextChange {
        name: "rubric",
        before: format!("Is it short? {EVIL}"),
        after: format!("Is it kind? {EVIL}"),
    };
    let grade = ExplainedGrade {
        pending: None,
        settings: Map::new(),
        looked_at: vec!["submission"],
        submission: String::new(),
        label: None,
        grade: Some(line),
        actions: vec![action(Some(kept())), action(None)],
        against: Some(Against {
            run: "RUN".to_owned(),
            key: None,
            is_same: false,
            by_ingredients: false,
            differs: vec!["rubric".to_owned(), "temperature".to_owned()],
            values: vec![ValueChange {
                name: "temperature".to_owned(),
                before: "0".to_owned(),
                after: EVIL.to_owned(),
            }],
            texts: vec![change],
        }),
    };
    let result = ExplainedResult {
        model: Some(EVIL.to_owned()),
        trial: 1,
        input: json!(["a", EVIL]),
        ground_truth: json!(null),
        conversation: None,
        graders: OrderedMap(vec![(EVIL.to_owned(), grade)]),
    };
    ExplainReport {
        format: 1,
        suite: "support".to_owned(),
        sample_id: EVIL.to_owned(),
        results: vec![result],
    }
}

fn shown(width: usize, cuts: bool) -> String {
    let mut out = Vec::new();
    write(&page(&explanation()), PageScreen { width, cuts }, &mut out).unwrap();
    let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
    assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
    assert_harmless(&text);
    text
}

fn assert_harmless(text: &str) {
    let is_obeyed = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
    assert!(!text.contains(is_obeyed), "{text:?}");
}

#[test]
fn hostile_texts_are_harmless_at_80_columns() {
    insta::assert_snapshot!(shown(80, false), @r#"
    sample  evil  [evil ] [trial 1] of support: 1 failed
    input  ["a","evil\u001b[2J\r\n"]

    evil : 0.500, failed
    rationale   evil  because of many words of many words of many words of many
                words of many words of many words of many words of many words of
                many words of many words of many words of many words of many words
                of many words of many words of many words of many words of many
                words of many words of many words of many words of many wor…
    submission  (empty)
    compared    differs from run RUN in rubric, temperature 0 → evil , by their
                records
    rubric:
      Is it [-short-]{+kind+}? evil

    judgment of m, vote 0, turn 1, in reverse order
    key        0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    reply      evil  reply
    by         m-1, by its own report
    used       1,234 tokens in, 56 out; $0.0012
    imported   2026-01-01T00:00:00Z by evalrs 0.1.0 from human.jsonl
    cached in  the committed file cache/s.judgments.jsonl, generation 2

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers

    judgment of m, vote 0, turn 1, in reverse order
    key      0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    outcome  not cached
    to call  rubric edited

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers
    "#);
}

#[test]
fn hostile_texts_are_harmless_at_120_columns() {
    insta::assert_snapshot!(shown(120, true), @r#"
    sample  evil  [evil ] [trial 1] of support: 1 failed
    input  ["a","evil\u001b[2J\r\n"]

    evil : 0.500, failed
    rationale   evil  because of many words of many words of many words of many words of many words of many words of many
                words of many words of many words of many words of many words of many words of many words of many words of
                many words of many words of many words of many words of many words of many words of many words of many wor…
    submission  (empty)
    compared    differs from run RUN in rubric, temperature 0 → evil , by their records
    rubric:
      Is it [-short-]{+kind+}? evil

    judgment of m, vote 0, turn 1, in reverse order
    key        0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    reply      evil  reply
    by         m-1, by its own report
    used       1,234 tokens in, 56 out; $0.0012
    imported   2026-01-01T00:00:00Z by evalrs 0.1.0 from human.jsonl
    cached in  the committed file cache/s.judgments.jsonl, generation 2

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers

    judgment of m, vote 0, turn 1, in reverse order
    key      0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    outcome  not cached
    to call  rubric edited

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers
    "#);
}

#[test]
fn everything_fits_into_60_columns() {
    insta::assert_snapshot!(shown(60, true), @r#"
    sample  evil  [evil ] [trial 1] of support: 1 failed
    input  ["a","evil\u001b[2J\r\n"]

    evil : 0.500, failed
    rationale   evil  because of many words of many words of
                many words of many words of many words of many
                words of many words of many words of many words
                of many words of many words of many words of…
    submission  (empty)
    compared    differs from run RUN in rubric, temperature 0 →
                evil , by their records
    rubric:
      Is it [-short-]{+kind+}? evil

    judgment of m, vote 0, turn 1, in reverse order
    key        0123456789abcdef0123456789abcdef0123456789abcdef0
               123456789abcdef
    reply      evil  reply
    by         m-1, by its own report
    used       1,234 tokens in, 56 out; $0.0012
    imported   2026-01-01T00:00:00Z by evalrs 0.1.0 from
               human.jsonl
    cached in  the committed file cache/s.judgments.jsonl,
               generation 2

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers

    judgment of m, vote 0, turn 1, in reverse order
    key      0123456789abcdef0123456789abcdef0123456789abcdef012
             3456789abcdef
    outcome  not cached
    to call  rubric edited

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers
    "#);
}

#[test]
fn everything_fits_into_36_columns() {
    insta::assert_snapshot!(shown(36, true), @r#"
    sample  evil  [evil ] [trial 1] of
      support: 1 failed
    input  ["a","evil\u001b[2J\r\n"]

    evil : 0.500, failed
    rationale   evil  because of many
                words of many words of
                many words of many words
                of many words of many…
    submission  (empty)
    compared    differs from run RUN in
                rubric, temperature 0 →
                evil , by their records
    rubric:
      Is it [-short-]{+kind+}? evil

    judgment of m, vote 0, turn 1, in
      reverse order
    key        0123456789abcdef012345678
               9abcdef0123456789abcdef01
               23456789abcdef
    reply      evil  reply
    by         m-1, by its own report
    used       1,234 tokens in, 56 out;
               $0.0012
    imported   2026-01-01T00:00:00Z by
               evalrs 0.1.0 from
               human.jsonl
    cached in  the committed file
               cache/s.judgments.jsonl,
               generation 2

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers

    judgment of m, vote 0, turn 1, in
      reverse order
    key      0123456789abcdef0123456789a
             bcdef0123456789abcdef012345
             6789abcdef
    outcome  not cached
    to call  rubric edited

    ingredient  digest        value
    user        fedcba987654  evil …
    absent: seed
    empty: headers
    "#);
}

#[test]
fn what_others_wrote_is_code_in_markdown() {
    let failure = Failure::new(FailureKind::Refused, format!("no {EVIL}"));
    let mut failed = ExplainedOutcome { reply: None, failure: Some(failure), ..kept() };
    failed.origin.generation = 0;
    let mut explanation = explanation();
    let grade = &mut explanation.results[0].graders.0[0].1;
    grade.submission = "@team <b>`a`</b> | [x](http://x)\n::error::".to_owned();
    grade.actions = vec![action(Some(failed))];
    let text = markdown::shown(&page(&explanation));
    assert_harmless(&text);
    insta::assert_snapshot!(text, @r#"
    ### sample  `evil  [evil ] [trial 1]` of `support`: 1 failed

    |  |  |
    |:--|:--|
    | input | `["a","evil\u001b[2J\r\n"]` |

    ### `evil `: 0.500, failed

    |  |  |
    |:--|:--|
    | rationale | `evil  because of many words of many words of many words of many words of many words of many words of many words of many words of many words of many words of many words of many words of many words of…` |
    | submission | <code>&#64;team &#60;b&#62;&#96;a&#96;&#60;&#47;b&#62; &#124; &#91;x&#93;&#40;http&#58;&#47;&#47;x&#41; &#58;&#58;error&#58;&#58;</code> |
    | compared | differs from run `RUN` in `rubric`, `temperature` `0` → `evil `, by their records |

    - rubric:
      - `Is it [-short-]{+kind+}? evil`

    judgment of `m`, vote 0, turn 1, in reverse order

    |  |  |
    |:--|:--|
    | key | `0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef` |
    | failure | refused: `no evil ` |
    | by | `m-1`, by its own report |
    | used | 1,234 tokens in, 56 out; $0.0012 |
    | imported | 2026-01-01T00:00:00Z by `evalrs 0.1.0` from `human.jsonl` |
    | cached in | `the committed file cache/s.judgments.jsonl` |

    | ingredient | digest | value |
    |:--|:--|:--|
    | `user` | fedcba987654 | `evil …` |

    absent: `seed`

    empty: `headers`
    "#);
}
