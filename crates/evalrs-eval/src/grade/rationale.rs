//! How graders say what holds and what does not, in the words of Letta Evals where it has some.

use super::verdict::Grade;
use python_re::RegexProblem;

/// The longest text of which a rationale shows all, in characters.
const SHOWN_CHARACTERS: usize = 200;

/// How much a rationale shows of what was expected and of what came, in characters.
const SHOWN_BESIDE: usize = 60;

/// The rationale of a submission that is not what was expected, with both beside it.
pub fn with_compared(rationale: &str, expected: &str, found: &str) -> String {
    format!(
        "{rationale} (expected `{}`, found `{}`)",
        beginning(expected, SHOWN_BESIDE),
        beginning(found, SHOWN_BESIDE)
    )
}

/// The text, or its beginning.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// 1.0 or 0.0, and a rationale that ends as Python prints a boolean.
pub(super) fn verdict(what: &str, holds: bool) -> Grade {
    let said = if holds { "True" } else { "False" };
    Grade::new(f64::from(u8::from(holds)), format!("{what}: {said}"))
}

/// The same; what is wrong follows in parentheses unless it is nothing.
pub(super) fn explained(what: &str, wrong: Option<String>) -> Grade {
    match wrong {
        None => verdict(what, true),
        Some(why) => Grade::new(0.0, format!("{what}: False ({why})")),
    }
}

/// The grade where the reference answer is not what the grader needs.
pub(super) fn unusable_reference(why: impl std::fmt::Display) -> Grade {
    Grade::failed("invalid_ground_truth", format!("the ground_truth cannot be used: {why}"))
}

/// The grade where a pattern could not be matched.
pub(super) fn regex_failure(problem: &RegexProblem) -> Grade {
    match problem {
        RegexProblem::Syntax { .. } => Grade::new(0.0, format!("Invalid regex pattern: {problem}")),
        RegexProblem::TooLarge | RegexProblem::TooManySteps => {
            Grade::failed("regex_limit", problem.to_string())
        }
        RegexProblem::Unsupported(_) => Grade::failed("regex_unsupported", problem.to_string()),
    }
}

/// The text, or its beginning if it is long.
pub(super) fn shorten(text: &str) -> String {
    beginning(text, SHOWN_CHARACTERS)
}
