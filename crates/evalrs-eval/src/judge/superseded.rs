//! What judges were sent under key version 2, without fences: by it a judgment of then is found again.
//!
//! Nothing is sent in these words any more. They only tell a judgment that is stored under an earlier key from one that was
//! never made, and go when nobody has such judgments.

use super::question::Question;
use super::template::{self, JudgeMessage, MessageKind, Placeholders, is_arranged};

pub(super) fn message(
    rubric: &str,
    placeholders: &Placeholders<'_>,
    kind: MessageKind<'_>,
) -> JudgeMessage {
    let system = match kind.tool {
        None => system_message(kind.question),
        Some(_) => String::new(),
    };
    let user = user_message(rubric, placeholders, kind);
    JudgeMessage { system, user, ..JudgeMessage::default() }
}

fn system_message(question: &Question) -> String {
    let task = template::task(question);
    let meaning = template::meaning(question);
    format!(
        "You are an evaluator. {task} Reply with one JSON object: {}. {meaning}",
        question.shape()
    )
}

/// The user message; an agent calls its `tool`.
fn user_message(rubric: &str, placeholders: &Placeholders<'_>, kind: MessageKind<'_>) -> String {
    let MessageKind { question, order, tool, .. } = kind;
    let pair = template::pair(placeholders, order);
    let is_arranged = is_arranged(rubric, pair.is_some());
    let rubric = template::unfenced(rubric, placeholders, order);
    let rubric = rubric.trim_end();
    let format = match tool {
        None => format!("Reply with one JSON object and nothing else: {}.", question.shape()),
        Some(tool) => {
            format!("{} {}", template::call(question, tool), template::meaning(question))
        }
    };
    let message = if is_arranged {
        format!("{rubric}\n\n{format}")
    } else {
        let task = match pair {
            None => "Judge the submission by the rubric.",
            Some(_) => "Say by the rubric which submission is better.",
        };
        format!(
            "## Evaluation Rubric\n\n{rubric}\n\n---\n\n## Original Question Given to the Agent\n\n{}{}\n\n---\n\n\
             {}\n\n---\n\n## Your Instructions\n\n{task} {format}",
            placeholders.input,
            expected(placeholders),
            judged(placeholders, pair),
        )
    };
    match tool {
        None => message,
        Some(_) => format!("{}\n\n---\n\n{message}", template::task(question)),
    }
}

fn expected(placeholders: &Placeholders<'_>) -> String {
    match placeholders.ground_truth {
        Some(text) if !text.is_empty() => {
            format!("\n\n## Expected Answer (Ground Truth)\n\n{text}")
        }
        _ => String::new(),
    }
}

fn judged(placeholders: &Placeholders<'_>, pair: Option<[&str; 2]>) -> String {
    match pair {
        None => format!(
            "## The Agent's Submission (What You Are Evaluating)\n\n{}",
            placeholders.submission
        ),
        Some([first, second]) => {
            format!("## Submission A\n\n{first}\n\n---\n\n## Submission B\n\n{second}")
        }
    }
}
