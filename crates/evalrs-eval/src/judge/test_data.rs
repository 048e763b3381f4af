//! An action for tests.

use super::JudgeAction;
use super::question::Question;
use evalrs_model::spec::{ReplyFormat, Scale};

/// What asks `model` for a verdict on `user`.
pub(crate) fn action(model: &str, user: &str) -> JudgeAction {
    JudgeAction {
        provider: "openai".to_owned(),
        endpoint: "test".to_owned(),
        model: model.to_owned(),
        system: "You judge.".to_owned(),
        user: user.to_owned(),
        quotable: Vec::new(),
        shared: 0,
        temperature: Some(0.5),
        seed: None,
        max_tokens: None,
        top_p: None,
        extra_body: String::new(),
        headers: String::new(),
        response_format: ReplyFormat::Auto,
        question: Question::Score(Scale { min: 1.0, max: 5.0 }),
        vote: 0,
        agent: None,
        program: None,
    }
}
