//! Ranges of scores in the text of a rubric that are not the scale of its grader.
//!
//! A judge is told the scale beside the rubric. One that reads another range in the rubric mixes the two, or replies with a
//! score that is off the scale, is asked again and is an error in the end. What the text declares counts, not bands of
//! scores, numbers of things, nor ranges of parts that are then brought to the scale.

use super::linted_rubric::LintedRubric;
use super::words::{RubricToken, RubricTokenKind, tokens};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::threshold;
use evalrs_model::spec::{Lint, Scale};

/// What a score is called.
const SCORES: [&str; 11] = [
    "score", "scores", "rating", "ratings", "grade", "grades", "mark", "marks", "scored", "rated",
    "graded",
];
/// An instruction to a judge.
const VERBS: [&str; 8] = ["score", "rate", "grade", "mark", "evaluate", "assess", "judge", "rank"];
/// An instruction to a judge about a number.
const GIVING: [&str; 11] = [
    "return", "output", "give", "assign", "write", "respond", "reply", "answer", "provide",
    "produce", "award",
];
const NUMBERS: [&str; 3] = ["number", "integer", "value"];
/// What may stand between a score and its range.
const BETWEEN: [&str; 28] = [
    "from", "between", "in", "the", "range", "a", "an", "of", "on", "number", "integer", "whole",
    "value", "float", "decimal", "real", "as", "is", "be", "should", "must", "that", "has", "have",
    "needs", "to", "within", "lie",
];
/// Who a judge is in the text of a rubric.
const JUDGES: [&str; 5] = ["you", "judge", "grader", "evaluator", "please"];
/// What shows that numbers after it are not the range of a score.
const CONDITIONS: [&str; 25] = [
    "if", "when", "whether", "unless", "where", "which", "that", "is", "are", "was", "has", "have",
    "contains", "contain", "lists", "list", "names", "name", "includes", "include", "uses", "use",
    "than", "because", "least",
];
/// The words that may follow a range of scores; after any other word it is an amount.
const FOLLOWING: [&str; 22] = [
    "where",
    "with",
    "inclusive",
    "based",
    "for",
    "according",
    "depending",
    "how",
    "scale",
    "and",
    "as",
    "using",
    "in",
    "on",
    "by",
    "being",
    "that",
    "or",
    "to",
    "overall",
    "only",
    "both",
];
/// What shows that scores of another range are brought to the scale.
const CONVERSIONS: [&str; 9] = [
    "divide",
    "divided",
    "dividing",
    "normalize",
    "normalized",
    "normalise",
    "normalised",
    "rescale",
    "convert",
];
/// The most words between a verb and the range.
const MAX_OBJECT: usize = 10;
/// The most words in which a text says what its scores mean.
const MAX_LEGEND: usize = 60;

/// A range of numbers in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WrittenRange {
    min: f64,
    max: f64,
    /// Its first token, and the one behind its last.
    first: usize,
    end: usize,
    declared: DeclaredRange,
}

/// How a text declares a range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DeclaredRange {
    /// As the scale.
    Scale,
    /// As what a score lies in.
    Scores,
    /// As what a score is out of.
    OutOf,
    /// As one score.
    Anchor,
}

/// Warns of the first range in the text that is declared and is not the scale.
pub(super) fn range_not_scale(linted: LintedRubric<'_>) -> Option<Diagnostic> {
    if linted.rubric.compare_to.is_some() {
        return None;
    }
    let scale = linted.rubric.scale.unwrap_or(Scale::UNIT);
    let text = linted.rubric.prompt.as_str();
    let tokens = tokens(text);
    let found = off_scale(&tokens, scale)?;
    let at = tokens.get(found.first)?.bytes.start;
    let end = tokens.get(found.end - 1)?.bytes.end;
    let Scale { min, max } = scale;
    let said = match found.declared {
        DeclaredRange::Anchor => format!("mentions a score of {}", found.max),
        DeclaredRange::OutOf => format!("has scores out of {}", found.max),
        DeclaredRange::Scale | DeclaredRange::Scores => {
            format!("has scores from {} to {}", found.min, found.max)
        }
    };
    let message = format!(
        "the rubric of `{}` {said}, but the judge is instructed to score from {min} to {max}",
        linted.name()
    );
    let hint = match found.declared {
        DeclaredRange::Anchor => format!(
            "write the `scale` that the text means, such as `scale: {{min: 1, max: {}}}`, or scores from {min} to {max}",
            found.max
        ),
        _ => format!(
            "write `scale: {{min: {}, max: {}}}` beside the rubric, or {min} to {max} in it",
            found.min, found.max
        ),
    };
    Some(linted.at_text(Lint::RangeNotScale, at, end - at, message).hint(hint))
}

fn off_scale(tokens: &[RubricToken], scale: Scale) -> Option<WrittenRange> {
    let is_scale = |min: f64, max: f64| is_same(min, scale.min) && is_same(max, scale.max);
    let ranges = || (0..tokens.len()).filter_map(|at| plain_range(tokens, at));
    if ranges().any(|range| is_scale(range.min, range.max))
        || tokens.iter().any(|token| token.is_word(&CONVERSIONS))
    {
        return None;
    }
    let declared: Vec<WrittenRange> = (0..tokens.len())
        .filter_map(|at| {
            point_scale(tokens, at)
                .or_else(|| out_of(tokens, at))
                .or_else(|| declared_range(tokens, at))
                .or_else(|| listed(tokens, at))
                .or_else(|| legend(tokens, at))
                .or_else(|| anchor(tokens, at))
        })
        .collect();
    if declared
        .iter()
        .any(|range| range.declared == DeclaredRange::OutOf && is_same(range.max, scale.max))
    {
        return None;
    }
    let names_greatest = tokens.iter().any(|token| token.number() == Some(scale.max));
    let is_off = |range: &WrittenRange| match range.declared {
        DeclaredRange::Scale => !is_scale(range.min, range.max) && !is_points(range, scale),
        DeclaredRange::Anchor => !scale.contains(range.max),
        DeclaredRange::Scores => {
            let is_inside = scale.contains(range.min) && scale.contains(range.max);
            !is_inside || range.max > 1.0 && !names_greatest
        }
        DeclaredRange::OutOf => range.max > scale.max || !names_greatest,
    };
    let anchors = declared.iter().filter(|range| range.declared == DeclaredRange::Anchor);
    let greatest = anchors.map(|range| range.max).fold(f64::MIN, f64::max);
    let found = *declared.iter().find(|range| is_off(range))?;
    // Of several scores the greatest says what the scale is meant to be.
    let max = if found.declared == DeclaredRange::Anchor { greatest } else { found.max };
    let of_anchor =
        |range: &&WrittenRange| range.declared == found.declared && is_same(range.max, max);
    declared.iter().find(of_anchor).copied().or(Some(found))
}

fn is_same(left: f64, right: f64) -> bool {
    threshold::compare(left, right).is_eq()
}

/// Whether a scale of this many points has as many whole numbers.
fn is_points(range: &WrittenRange, scale: Scale) -> bool {
    is_same(range.min, 1.0) && is_same(scale.max - scale.min + 1.0, range.max)
}

/// `A to B`, `A-B`, `A..B`, `[A, B]` and `between A and B`, of growing numbers.
fn plain_range(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    let min = tokens.get(at)?.number()?;
    let mut next = after_percent(tokens, at + 1);
    let separator = tokens.get(next)?;
    let before = at.checked_sub(1).map(|at| &tokens[at]);
    let is_between = || before.is_some_and(|before| before.is_word(&["between"]));
    let is_in_brackets = || {
        before.is_some_and(|before| before.is_sign(&['[']))
            && tokens.get(next + 2).is_some_and(|token| token.is_sign(&[']']))
    };
    if separator.is_sign(&['-', '–', '—', '~']) {
        let is_word = tokens.get(next + 1).is_some_and(|token| token.is_word(&["to"]));
        next += if is_word { 3 } else { 1 };
    } else if separator.is_sign(&['.']) && tokens.get(next + 1)?.is_sign(&['.']) {
        next += 2;
    } else if separator.is_word(&["to", "through"])
        || separator.is_word(&["and"]) && is_between()
        || separator.is_sign(&[',']) && is_in_brackets()
    {
        next += 1;
    } else {
        return None;
    }
    let max = tokens.get(next)?.number().filter(|max| *max > min)?;
    let end = after_percent(tokens, next + 1);
    Some(WrittenRange { min, max, first: at, end, declared: DeclaredRange::Scores })
}

fn after_percent(tokens: &[RubricToken], at: usize) -> usize {
    at + usize::from(tokens.get(at).is_some_and(|token| token.is_sign(&['%'])))
}

/// A range that is declared as the scale, or as the bounds of scores.
fn declared_range(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    let range = plain_range(tokens, at)?;
    let is_hyphen = |at: usize| tokens.get(at).is_some_and(|token| token.is_sign(&['-']));
    let next = range.end + usize::from(is_hyphen(range.end));
    let is_scale = tokens.get(next).is_some_and(|token| token.is_word(&["scale", "likert"]));
    let of_scale = skipped_back(tokens, at, &["of", "from", "between", "is"]);
    let after_scale = of_scale.is_some_and(|token| token.is_word(&["scale"]));
    if is_scale || after_scale {
        return Some(WrittenRange { declared: DeclaredRange::Scale, ..range });
    }
    let begins_as_scales_do = matches!(range.min, 0.0 | 1.0) || is_same(range.min, -range.max);
    let is_declared = follows_score(tokens, at) || follows_verb(tokens, at);
    (begins_as_scales_do && is_declared && ends_there(tokens, range.end)).then_some(range)
}

/// The token before `at`, and before these words and signs that open or announce something.
fn skipped_back<'t>(
    tokens: &'t [RubricToken],
    at: usize,
    words: &[&str],
) -> Option<&'t RubricToken> {
    let is_skipped =
        |token: &&RubricToken| token.is_word(words) || token.is_sign(&[':', '(', '[', '=', '∈']);
    tokens[..at].iter().rev().find(|token| !is_skipped(token))
}

fn follows_score(tokens: &[RubricToken], at: usize) -> bool {
    skipped_back(tokens, at, &BETWEEN).is_some_and(|token| token.is_word(&SCORES))
}

/// Whether `at` is what a verb at the beginning of a sentence or clause, or after `and`, is followed by, with an object between.
fn follows_verb(tokens: &[RubricToken], at: usize) -> bool {
    let announced = at.checked_sub(1).is_some_and(|at| {
        let before = &tokens[at];
        before.is_word(&["from", "between"])
            || before.is_word(&["of"]) && at > 0 && tokens[at - 1].is_word(&["range", "out"])
    });
    announced && object_of_verb(tokens, at)
}

fn object_of_verb(tokens: &[RubricToken], at: usize) -> bool {
    let mut has_number = false;
    for verb in (at.saturating_sub(MAX_OBJECT)..at).rev() {
        let token = &tokens[verb];
        let is_other = matches!(token.kind, RubricTokenKind::Number(_) | RubricTokenKind::Break);
        if is_other || token.is_word(&CONDITIONS) {
            return false;
        }
        has_number |= token.is_word(&NUMBERS);
        if (token.is_word(&VERBS) || has_number && token.is_word(&GIVING)) && begins(tokens, verb) {
            return true;
        }
    }
    false
}

/// Whether a verb is an instruction.
fn begins(tokens: &[RubricToken], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| &tokens[at]) else { return true };
    match &before.kind {
        RubricTokenKind::Break | RubricTokenKind::Sign(_) => true,
        RubricTokenKind::Word(word) => {
            let subject = at.checked_sub(2).map(|at| &tokens[at]);
            match word.as_str() {
                "and" | "then" | "please" | "also" | "you" => true,
                "should" | "must" => subject.is_none_or(|subject| subject.is_word(&JUDGES)),
                "to" => subject.is_some_and(|word| word.is_word(&["is", "task", "need", "are"])),
                _ => false,
            }
        }
        RubricTokenKind::Number(_) => false,
    }
}

/// Whether no noun follows that would make it an amount.
fn ends_there(tokens: &[RubricToken], end: usize) -> bool {
    tokens.get(end).is_none_or(|token| match &token.kind {
        RubricTokenKind::Break => true,
        RubricTokenKind::Sign(sign) => {
            matches!(sign, ')' | ']' | ',' | ':' | '(' | '–' | '—' | '=')
        }
        RubricTokenKind::Word(word) => FOLLOWING.contains(&word.as_str()),
        RubricTokenKind::Number(_) => false,
    })
}

/// `5-point scale`, which goes from 1 to 5.
fn point_scale(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    const WORDS: [(&str, f64); 6] =
        [("three", 3.0), ("four", 4.0), ("five", 5.0), ("six", 6.0), ("seven", 7.0), ("ten", 10.0)];
    let token = tokens.get(at)?;
    let spelt = WORDS.iter().find(|(word, _)| token.is_word(&[word]));
    let max = token.number().or_else(|| spelt.map(|(_, number)| *number))?;
    let is_hyphen = tokens.get(at + 1)?.is_sign(&['-']);
    let point = at + 1 + usize::from(is_hyphen);
    let is_scale = tokens.get(point)?.is_word(&["point", "points"])
        && tokens.get(point + 1)?.is_word(&["scale", "likert"]);
    let end = point + 2;
    let range = WrittenRange { min: 1.0, max, first: at, end, declared: DeclaredRange::Scale };
    is_scale.then_some(range)
}

/// `score it out of 10`.
fn out_of(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    let is_out_of = tokens.get(at)?.is_word(&["out"]) && tokens.get(at + 1)?.is_word(&["of"]);
    let max = tokens.get(at + 2)?.number().filter(|_| is_out_of)?;
    let end = after_percent(tokens, at + 3);
    let before = at.checked_sub(1).map(|at| &tokens[at])?;
    let is_declared = before.is_word(&SCORES) || before.is_word(&["points"]);
    let is_declared = is_declared || object_of_verb(tokens, at);
    let range = WrittenRange { min: 0.0, max, first: at, end, declared: DeclaredRange::OutOf };
    (max > 1.0 && is_declared && ends_there(tokens, end)).then_some(range)
}

/// `Score 5: …` and `a score of 5 means …`.
fn anchor(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    let is_score = tokens.get(at)?.is_word(&["score", "rating"]);
    let number = at + 1 + usize::from(tokens.get(at + 1)?.is_word(&["of"]));
    let max = tokens.get(number)?.number().filter(|_| is_score)?;
    let is_end = tokens.get(number + 1).is_none_or(|token| {
        token.is_sign(&[':', '=', '–', '—', '-', ')'])
            && tokens.get(number + 2).is_none_or(|token| token.number().is_none())
            || token.is_word(&["if", "when", "means"])
            || token.kind == RubricTokenKind::Break
    });
    let end = number + 1;
    let range = WrittenRange { min: max, max, first: at, end, declared: DeclaredRange::Anchor };
    is_end.then_some(range)
}

/// `give 0, 1 or 2 points`.
fn listed(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    let min = tokens.get(at)?.number().filter(|min| matches!(min, 0.0 | 1.0))?;
    let verb = at.checked_sub(1)?;
    let is_told = tokens[verb].is_word(&VERBS) || tokens[verb].is_word(&GIVING);
    let mut max = min;
    let mut end = at + 1;
    let mut has_last = false;
    while let Some(separator) = tokens.get(end) {
        let is_or = |at: usize| tokens.get(at).is_some_and(|token| token.is_word(&["or"]));
        let is_comma = separator.is_sign(&[',']);
        let next = end + usize::from(is_comma) + usize::from(is_or(end + usize::from(is_comma)));
        let number = tokens.get(next).and_then(RubricToken::number);
        let Some(number) = number.filter(|number| next > end && *number > max) else { break };
        has_last = is_or(next - 1);
        max = number;
        end = next + 1;
    }
    let points = tokens.get(end).is_some_and(|token| token.is_word(&["point", "points"]));
    let after = tokens.get(end + usize::from(points));
    let is_end = after.is_none_or(|token| token.kind == RubricTokenKind::Break);
    let range = WrittenRange { min, max, first: at, end, declared: DeclaredRange::Scores };
    (is_told && has_last && is_end && begins(tokens, verb)).then_some(range)
}

/// `score: 1 = poor … 10 = excellent`.
fn legend(tokens: &[RubricToken], at: usize) -> Option<WrittenRange> {
    let meaning = |at: usize| {
        let number = tokens.get(at)?.number()?;
        let is_equal = tokens.get(at + 1)?.is_sign(&['=']);
        (is_equal && tokens.get(at + 2)?.word().is_some()).then_some(number)
    };
    let min = meaning(at).filter(|min| matches!(min, 0.0 | 1.0))?;
    let of = skipped_back(tokens, at, &["where", "it"])?;
    let mut range =
        WrittenRange { min, max: min, first: at, end: at, declared: DeclaredRange::Scores };
    for next in at + 1..tokens.len().min(at + MAX_LEGEND) {
        let before = &tokens[next - 1];
        let is_sign = matches!(before.kind, RubricTokenKind::Sign(_));
        let is_apart = !is_sign || before.is_sign(&[',', '…', '-', '–']);
        if let Some(number) = meaning(next).filter(|number| is_apart && *number > range.max) {
            range.max = number;
            range.end = next + 1;
        }
    }
    let is_legend = range.max > min && (of.is_word(&SCORES) || of.is_word(&["scale"]));
    is_legend.then_some(range)
}
