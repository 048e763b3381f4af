//! Placeholders that stand for nothing, in the wrong braces, or for what the judge is sent anyway.

use super::linted_rubric::{LintedRubric, RowFacts};
use crate::judge::template::{NAMES, PAIR_NAMES, is_arranged, pieces};
use evalrs_base::diagnostic::{Diagnostic, clipped, suggest};
use evalrs_model::spec::Lint;

/// What other tools call what is judged.
const OUTPUTS: [&str; 18] = [
    "output",
    "outputs",
    "answer",
    "response",
    "completion",
    "actual_output",
    "actual",
    "prediction",
    "generation",
    "reply",
    "result",
    "model_output",
    "model_answer",
    "model_response",
    "agent_output",
    "agent_response",
    "student_answer",
    "candidate",
];
/// What they call the question.
const INPUTS: [&str; 10] = [
    "question",
    "prompt",
    "query",
    "instruction",
    "task",
    "problem",
    "user_input",
    "inputs",
    "user_query",
    "user_message",
];
/// What they call the reference answer.
const REFERENCES: [&str; 14] = [
    "expected",
    "expected_output",
    "expected_answer",
    "reference",
    "reference_answer",
    "target",
    "ideal",
    "gold",
    "gold_answer",
    "correct_answer",
    "criterion",
    "label",
    "hint",
    "ground_truths",
];
/// What they call the first and the second of two submissions.
const FIRST: [&str; 6] =
    ["answer_a", "response_a", "output_a", "output_1", "response_1", "answer_1"];
const SECOND: [&str; 6] =
    ["answer_b", "response_b", "output_b", "output_2", "response_2", "answer_2"];

/// Our name for what other tools call `name`.
fn ours(name: &str, compares: bool) -> Option<&'static str> {
    let name = name.to_lowercase();
    let of_pair = [(&FIRST[..], PAIR_NAMES[0]), (&SECOND, PAIR_NAMES[1])];
    let known = [(&OUTPUTS[..], "submission"), (&INPUTS, "input"), (&REFERENCES, "ground_truth")];
    let pair = of_pair.into_iter().filter(|_| compares);
    pair.chain(known).find(|(theirs, _)| theirs.contains(&name.as_str())).map(|(_, ours)| ours)
}

/// Refuses names in braces that stand for something in no row: every judgment would be paid for in vain.
pub(super) fn unknown(linted: LintedRubric<'_>, facts: &RowFacts) -> Vec<Diagnostic> {
    let text = linted.rubric.prompt.as_str();
    let compares = linted.rubric.compare_to.is_some();
    let mut found: Vec<(&str, Diagnostic)> = Vec::new();
    for Placeholder { at, name, .. } in placeholders(text) {
        let is_known = NAMES.contains(&name) || compares && PAIR_NAMES.contains(&name);
        let is_missing = facts.missing.iter().any(|missing| missing == name);
        // Where every row that is judged must have it, the rows say what is wrong.
        let is_required = linted.rubric.rubric_vars.iter().any(|required| required == name);
        if is_known || is_required || !is_missing || found.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let message = format!(
            "the rubric of `{}` names `{{{}}}`, which no row has",
            linted.name(),
            clipped(name)
        );
        let place = linted.places.of_text(text, at, name.len() + 2);
        let problem = Diagnostic::error(place, message).lint(Lint::UnknownPlaceholder.name());
        let hint = instead(name, compares, facts);
        let hint = format!("{hint} (braces that are meant: `allow_unknown: true`)");
        found.push((name, problem.hint(hint)));
    }
    found.into_iter().map(|(_, problem)| problem).collect()
}

/// What was probably meant by `{name}`.
pub fn instead(name: &str, compares: bool, facts: &RowFacts) -> String {
    let known = if compares { [&NAMES[..], &PAIR_NAMES].concat() } else { NAMES.to_vec() };
    let is_field = facts.row_fields.iter().any(|field| field == name);
    if let Some(ours) = ours(name, compares).filter(|_| is_field) {
        // A field of rows by the name that other tools give to what is judged, `output`, is read into the submission.
        let field = clipped(name);
        return format!("did you mean `{{{ours}}}`? The field of the rows is `{{row.{field}}}`");
    }
    if is_field {
        return format!("the rows have a field of that name: write `{{row.{}}}`", clipped(name));
    }
    if PAIR_NAMES.contains(&name) {
        return "only a grader with `compare_to` compares two submissions".to_owned();
    }
    if let Some(near) = ours(name, compares).or_else(|| suggest(name, known.iter().copied())) {
        return format!("did you mean `{{{near}}}`?");
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{{{name}}}`")).collect();
    format!("a rubric can name {}, the names in `rubric_vars`, and `{{row.KEY}}`", known.join(", "))
}

/// A name in braces.
struct Placeholder<'a> {
    at: usize,
    name: &'a str,
}

fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut at = 0;
    pieces(text).filter_map(move |(before, placeholder)| {
        at += before.len();
        let placeholder = placeholder?;
        let found = Placeholder { at, name: &placeholder[1..placeholder.len() - 1] };
        at += placeholder.len();
        Some(found)
    })
}

/// Warns of `{{submission}}` and `{ submission }`, as templates of other tools have it.
pub(super) fn doubled(linted: LintedRubric<'_>) -> Vec<Diagnostic> {
    let text = linted.rubric.prompt.as_str();
    let compares = linted.rubric.compare_to.is_some();
    let warning = |braced: BracedName<'_>| {
        let is_ours = NAMES.contains(&braced.name) || compares && PAIR_NAMES.contains(&braced.name);
        let meant = if is_ours { braced.name } else { ours(braced.name, compares)? };
        let written = &text[braced.at..braced.at + braced.length];
        let says = match (braced.has_spaces, braced.is_double) {
            (true, _) => "is not a placeholder: the judge gets it as it is written",
            (false, true) if is_ours => "has two pairs of braces: the judge gets one",
            _ => return None,
        };
        let message = format!("in the rubric of `{}`, `{written}` {says}", linted.name());
        let warning = linted.at_text(Lint::DoubledBraces, braced.at, braced.length, message);
        Some(warning.hint(format!("write `{{{meant}}}`")))
    };
    braced(text).into_iter().filter_map(warning).collect()
}

/// A name in one or two pairs of braces, with or without spaces.
struct BracedName<'a> {
    at: usize,
    length: usize,
    name: &'a str,
    is_double: bool,
    has_spaces: bool,
}

fn braced(text: &str) -> Vec<BracedName<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let braces = text[at..].len() - text[at..].trim_start_matches('{').len();
        from = at + braces;
        let inner = &text[from..];
        let Some(end) = inner.find('}').filter(|_| braces <= 2) else { continue };
        let name = inner[..end].trim_matches(' ');
        if name.is_empty()
            || !name.chars().all(|c| c.is_alphanumeric() || c == '_')
            || !inner[end..].starts_with(&"}}"[..braces])
        {
            continue;
        }
        let has_spaces = name.len() < end;
        let length = braces + end + braces;
        found.push(BracedName { at, length, name, is_double: braces == 2, has_spaces });
    }
    found
}

/// Warns of what a judge is sent more than once.
pub(super) fn sent_twice(linted: LintedRubric<'_>) -> Vec<Diagnostic> {
    let text = linted.rubric.prompt.as_str();
    let compares = linted.rubric.compare_to.is_some();
    let is_arranged = is_arranged(text, compares);
    let mut counts = [0; NAMES.len() + PAIR_NAMES.len()];
    let mut found = Vec::new();
    for Placeholder { at, name, .. } in placeholders(text) {
        let known = NAMES.iter().chain(&PAIR_NAMES).position(|known| *known == name);
        let Some(known) = known.filter(|known| compares || *known < NAMES.len()) else { continue };
        counts[known] += 1;
        let (why, hint) = if counts[known] == 2 {
            (
                "the rubric names it twice".to_owned(),
                "name it once, and speak of it in words elsewhere: \"the submission\"",
            )
        } else if counts[known] == 1 && compares && is_arranged && name == "submission" {
            (
                "it is one of `{submission_a}` and `{submission_b}` and shows which".to_owned(),
                "remove `{submission}`",
            )
        } else if counts[known] == 1 && !is_arranged && name != "submission" {
            let named =
                if compares { "`{submission_a}` and `{submission_b}`" } else { "`{submission}`" };
            (
                format!("a rubric that does not name {named} is followed by it anyway"),
                "remove it, or put `{submission}` where the submission belongs",
            )
        } else {
            continue;
        };
        let message = format!("the judge of `{}` gets `{{{name}}}` twice: {why}", linted.name());
        let warning = linted.at_text(Lint::SentTwice, at, name.len() + 2, message);
        found.push(warning.hint(hint));
    }
    found
}
