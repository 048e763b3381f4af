//! How verdicts move between two evaluations, in words.

use super::intervals::signed;
use super::page::{Text, TextRole, quoted, text};
use evalrs_base::text::{count, score};
use evalrs_metrics::diff::since::RunMoves;
use evalrs_model::delta::Movement;

/// The word for a movement.
pub(crate) fn name(movement: Movement) -> &'static str {
    match movement {
        Movement::Broken => "broken",
        Movement::Errored => "errored",
        Movement::Fixed => "fixed",
        Movement::Answered => "answered",
        Movement::Lowered => "lowered",
        Movement::Raised => "raised",
        Movement::New => "new",
        Movement::Same => "unchanged",
        Movement::Pending => "pending",
        Movement::NotApplicable => "not applicable",
    }
}

/// The same in its colour: in that of its label, where the verdict agrees now (`true`) or does no longer.
pub(crate) fn word(movement: Movement, agrees: Option<bool>) -> Text {
    let role = match agrees {
        Some(true) => TextRole::Good,
        Some(false) => TextRole::Bad,
        None => role(movement),
    };
    Text::of(name(movement), role)
}

/// Two scores, none of what could not be graded.
pub(crate) fn scores(both: [Option<f64>; 2]) -> Text {
    let both = both.map(|grade| grade.map_or_else(|| "error".to_owned(), score));
    both.join(" → ").into()
}

/// How much moved, kind by kind, and how agreement changed; none where nothing did.
pub(crate) fn changes(moves: &RunMoves) -> Vec<Text> {
    let RunMoves { fixed, broken, errored, answered, lowered, raised, new, gone, .. } = *moves;
    let colored = moves.agreement.0.is_empty();
    let counts = [
        (fixed, Movement::Fixed),
        (broken, Movement::Broken),
        (errored, Movement::Errored),
        (answered, Movement::Answered),
        (lowered, Movement::Lowered),
        (raised, Movement::Raised),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, movement)| {
        let role = if colored { role(movement) } else { TextRole::Plain };
        Text::of(&format!("{count} {}", name(movement)), role)
    });
    let several = moves.agreement.0.len() > 1;
    let agreement = moves.agreement.0.iter().map(|(grader, moved)| {
        let points = (moved.now - moved.before) * 100.0;
        let role = if points < 0.0 { TextRole::Bad } else { TextRole::Good };
        let of = if several { text![" of ", quoted(grader)] } else { Text::default() };
        text!["agreement", of, " ", Text::of(&format!("{} points", signed(points, 1)), role)]
    });
    let others = [(new, "new"), (gone, "removed")];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(n, what)| count(n, &format!("{what} result")).into());
    counts.chain(agreement).chain(others).collect()
}

fn role(movement: Movement) -> TextRole {
    match movement {
        Movement::Fixed | Movement::Raised => TextRole::Good,
        Movement::Broken | Movement::Lowered => TextRole::Bad,
        _ => TextRole::Doubtful,
    }
}
