//! Placeholders, fences and messages.

use serde_json::{Map, Value, json};

use super::{MessageKind, Placeholders, ShownParts, names, open_names, rubric_pieces};
use crate::judge::fence::{MessagePiece, read};
use crate::judge::question::{Order, Question};
use evalrs_base::path::Row;
use evalrs_model::spec::{JudgeSpec, RubricSpec, Scale};

fn render(template: &str, placeholders: &Placeholders<'_>) -> String {
    super::unfenced(template, placeholders, Order::Forward)
}

fn vars() -> Map<String, Value> {
    match json!({"tone": "kind", "n": 3, "list": ["a"], "input2": "{submission}"}) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[test]
fn placeholders_are_replaced_in_one_pass_and_other_braces_stay() {
    let vars = vars();
    let placeholders = Placeholders {
        input: "Q {submission}",
        submission: "S {ground_truth} {tone}",
        other: None,
        ground_truth: None,
        vars: &vars,
        row: Row::new(r#"{"a": {"b": [1, "two"]}}"#),
    };
    for (template, expected) in [
        ("{input}", "Q {submission}"),
        ("<{submission}>", "<S {ground_truth} {tone}>"),
        ("[{ground_truth}]", "[]"),
        ("{tone} {n} {list} {input2}", "kind 3 [\"a\"] {submission}"),
        ("{row.a.b[1]} {row.a} {row.z}", "two {\"b\":[1,\"two\"]} {row.z}"),
        (
            "{unknown} {\"score\": 1} {} {{tone}} { tone }",
            "{unknown} {\"score\": 1} {} {kind} { tone }",
        ),
        ("{a{tone}", "{akind"),
        ("open {", "open {"),
        ("é{tone}é", "ékindé"),
        ("", ""),
    ] {
        assert_eq!(render(template, &placeholders), expected, "{template}");
    }
}

#[test]
fn names_are_open_unless_they_stand_for_something_always() {
    let rubric =
        "{input} {a} {submission_a} {row.x} {a} {submission_b} {submission} {ground_truth}";
    let pair = ["a", "submission_a", "row.x", "submission_b"];
    assert_eq!(open_names(rubric, false), pair);
    assert_eq!(open_names(rubric, true), ["a", "row.x"]);
}

fn message(template: &str, other: Option<&str>, order: Order) -> super::JudgeMessage {
    fenced(template, other, order, &RubricSpec::new("", JudgeSpec::default()))
}

fn fenced(
    template: &str,
    other: Option<&str>,
    order: Order,
    fences: &RubricSpec,
) -> super::JudgeMessage {
    let vars = vars();
    let placeholders = Placeholders {
        input: "QUESTION",
        submission: "SUBMITTED",
        other,
        ground_truth: Some("TRUTH"),
        vars: &vars,
        row: Row::new(r#"{"lang": "rust", "trajectory": [{"a": 1}]}"#),
    };
    let question = match other {
        None => Question::Score(Scale { min: 1.0, max: 5.0 }),
        Some(_) => Question::Compare,
    };
    super::message(
        template,
        &placeholders,
        MessageKind { question: &question, order, tool: None, fences },
    )
}

/// A message with digits that are easy to read.
fn shown(message: &super::JudgeMessage) -> String {
    let at = message.user.find('-').unwrap();
    let tag = message.user[at + 1..].split('>').next().unwrap();
    let tag = tag.rsplit('-').next().unwrap();
    assert!(message.system.contains(&format!("`-{tag}`")), "{}", message.system);
    message.user.replace(tag, "0")
}

#[test]
fn a_rubric_that_names_the_submission_is_the_whole_message() {
    let message_of = |template| shown(&message(template, None, Order::Forward));
    insta::assert_snapshot!(message_of("Judge: {submission}\n"), @r#"
    Judge: <submission-0>
    SUBMITTED
    </submission-0>

    Reply with one JSON object and nothing else: {"rationale": <string>, "score": <number from 1 to 5>}. 1 is complete failure, 5 is full success; use numbers between them for partial success.
    "#);
    insta::assert_snapshot!(message_of("Is it {tone}?"), @r#"
    The agent was asked:

    <input-0>
    QUESTION
    </input-0>

    The expected answer:

    <ground-truth-0>
    TRUTH
    </ground-truth-0>

    The agent submitted:

    <submission-0>
    SUBMITTED
    </submission-0>

    Judge the submission by this rubric:

    Is it <row-0>
    kind
    </row-0>?

    Reply with one JSON object and nothing else: {"rationale": <string>, "score": <number from 1 to 5>}. 1 is complete failure, 5 is full success; use numbers between them for partial success.
    "#);
    assert!(!names("{Submission} {submission }", "submission"));
}

#[test]
fn two_submissions_are_shown_in_both_orders() {
    let both = |template: &str, order| message(template, Some("OTHER"), order);
    let rubric = "{submission_a} or {submission_b}?";
    let forward = both(rubric, Order::Forward);
    let reversed = both(rubric, Order::Reversed);
    assert_eq!(forward.system, reversed.system, "the tag does not say the order");
    insta::assert_snapshot!(shown(&forward), @r#"
    <submission-a-0>
    SUBMITTED
    </submission-a-0> or <submission-b-0>
    OTHER
    </submission-b-0>?

    Reply with one JSON object and nothing else: {"rationale": <string>, "winner": "A" or "B" or "tie"}. Say `tie` where neither is better.
    "#);
    assert!(reversed.user.find("OTHER") < reversed.user.find("SUBMITTED"));
    for half in ["Is {submission} better?", "{submission_a}?", "Which is kinder?"] {
        let user = both(half, Order::Forward).user;
        let place = |part: &str| user.find(part).unwrap();
        assert!(place("Submission A:") < place("<submission-a-"), "{user}");
        assert!(place("Submission B:") < place("<submission-b-"), "{user}");
        assert!(place("TRUTH") < place("OTHER"), "{user}");
    }
    let alone = message("Is {submission_a} good?", None, Order::Forward);
    assert!(alone.user.contains("\nSUBMITTED\n"), "{}", alone.user);
}

#[test]
fn messages_about_one_sample_share_their_beginning() {
    let [one, other] =
        ["Is it kind?", "Is it short?\nVery?"].map(|rubric| message(rubric, None, Order::Forward));
    assert_eq!(one.system, other.system);
    let until = |text: &str| text.find("Judge the submission").map(|at| text[..at].to_owned());
    assert_eq!(until(&one.user), until(&other.user));
}

#[test]
fn every_value_is_fenced_but_those_that_are_taken_out() {
    let rubric = "{input} {submission} {ground_truth} {tone} {row.lang} {row.trajectory} {no}";
    let all = [
        ("input", "QUESTION"),
        ("submission", "SUBMITTED"),
        ("ground-truth", "TRUTH"),
        ("row", "kind"),
        ("row", "rust"),
        ("trajectory", r#"[{"a":1}]"#),
    ];
    for (unfenced, left) in [
        (&[][..], &[0, 1, 2, 3, 4, 5][..]),
        (&["ground_truth"], &[0, 1, 3, 4, 5]),
        (&["row"], &[0, 1, 2]),
        (&["row.lang", "submission"], &[0, 2, 3, 5]),
        (&["tone"], &[0, 1, 2, 4, 5]),
    ] {
        let mut fences = RubricSpec::new("", JudgeSpec::default());
        fences.unfenced = unfenced.iter().map(|name| (*name).to_owned()).collect();
        let message = fenced(rubric, None, Order::Forward, &fences);
        let tag = message.system.split("`-").nth(1).and_then(|rest| rest.split('`').next());
        let left: Vec<(&str, &str)> = left.iter().map(|at| all[*at]).collect();
        assert_eq!(read(&message.user, tag.unwrap()), Some(left), "{unfenced:?}");
    }
    let bare = RubricSpec { fence: false, ..RubricSpec::new("", JudgeSpec::default()) };
    let message = fenced("Is {submission} kind?", None, Order::Forward, &bare);
    assert!(message.user.starts_with("Is SUBMITTED kind?\n"), "{}", message.user);
    assert!(!message.system.contains("tags"), "{}", message.system);
    assert_eq!(&message.user[message.quotable[0].clone()], "SUBMITTED");
}

#[test]
fn an_agent_is_told_everything_in_one_message() {
    let vars = Map::new();
    let placeholders = Placeholders {
        input: "QUESTION",
        submission: "SUBMITTED",
        other: None,
        ground_truth: None,
        vars: &vars,
        row: Row::new("{}"),
    };
    let fences = RubricSpec::new("", JudgeSpec::default());
    let question = Question::Score(Scale::UNIT);
    let kind = MessageKind {
        question: &question,
        order: Order::Forward,
        tool: Some("grade"),
        fences: &fences,
    };
    let message = super::message("Is it kind?", &placeholders, kind);
    assert_eq!(message.system, "");
    let quoted: Vec<&str> =
        message.quotable.iter().map(|range| &message.user[range.clone()]).collect();
    assert_eq!(quoted, ["QUESTION", "SUBMITTED"]);
    assert!(message.user.contains("two tags that end in `-"), "{}", message.user);
    assert!(message.user.contains("Call the tool `grade` once"), "{}", message.user);
}

#[test]
fn own_words_of_a_rubric_are_bare() {
    let vars = Map::new();
    let placeholders = Placeholders {
        input: "",
        submission: "",
        other: None,
        ground_truth: None,
        vars: &vars,
        row: Row::new("{}"),
    };
    let fences = RubricSpec::new("", JudgeSpec::default());
    let shown = ShownParts { placeholders: &placeholders, pair: None, fences: &fences };
    let pieces = rubric_pieces("a {x} b", &shown);
    assert!(pieces.iter().all(|piece| matches!(piece, MessagePiece::Own(_))));
}
