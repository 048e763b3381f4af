//! What is started for a turn of a conversation.

use super::form::{Adapter, HistoryTemplate, SessionMode};
use super::turn::TurnOutput;

/// How a turn is written down where an adapter does not say.
const DEFAULT_TURN: &str = "User: {{input}}\nAssistant: {{output}}";

/// The conversation so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdapterConversation {
    /// The agent's own name for it.
    pub session_id: Option<String>,
    /// The model that the agent should use; none is its own.
    model: Option<String>,
    /// Input and output of every turn.
    turns: Vec<Exchange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exchange {
    input: String,
    output: String,
}

/// What is started for a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What is written to its standard input, which is then closed; none: it gets nothing.
    pub stdin: Option<String>,
}

impl Adapter {
    /// What is started for the next turn of a conversation, in the folder `cwd`.
    pub fn turn(&self, conversation: &AdapterConversation, text: &str, cwd: &str) -> TurnCommand {
        let mut argv = self.command.clone();
        if !self.output.flag.is_empty() {
            argv.extend([self.output.flag.clone(), self.output.value.clone()]);
        }
        argv.extend(self.auto_approve.iter().flatten().cloned());
        if let Some(flag) = &self.cwd_flag {
            argv.extend([flag.clone(), cwd.to_owned()]);
        }
        if let (Some(flag), Some(model)) = (&self.model_flag, &conversation.model) {
            argv.extend([flag.clone(), model.clone()]);
        }
        let text = match self.session_mode {
            SessionMode::Stream => {
                if let (Some(resume), Some(id)) = (&self.resume, &conversation.session_id) {
                    argv.extend([resume.flag.clone(), id.clone()]);
                }
                text.to_owned()
            }
            SessionMode::Iterative => self.with_history(conversation, text),
        };
        if self.prompt.stdin {
            return TurnCommand { argv, stdin: Some(format!("{text}\n")) };
        }
        argv.extend(self.prompt.flag.iter().filter(|flag| !flag.is_empty()).cloned());
        argv.push(text);
        TurnCommand { argv, stdin: None }
    }

    /// The text of a turn after the conversation before it.
    fn with_history(&self, conversation: &AdapterConversation, text: &str) -> String {
        if conversation.turns.is_empty() {
            return text.to_owned();
        }
        let (system, template) = match &self.history_template {
            None => (None, DEFAULT_TURN),
            Some(HistoryTemplate::Turn(template)) => (None, template.as_str()),
            Some(HistoryTemplate::Whole { system, turn_format }) => {
                (system.as_ref(), turn_format.as_str())
            }
        };
        let turns = conversation.turns.iter().map(|turn| written(template, turn));
        let parts: Vec<String> = system.cloned().into_iter().chain(turns).collect();
        format!("{}\n\nUser: {text}", parts.join("\n\n"))
    }
}

/// A turn in a template, in one pass: text of the conversation is never a placeholder.
fn written(template: &str, turn: &Exchange) -> String {
    let mut written = String::new();
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        written.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{{input}}") {
            written.push_str(&turn.input);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{{output}}") {
            written.push_str(&turn.output);
            rest = after;
        } else {
            written.push('{');
            rest = &rest[1..];
        }
    }
    written + rest
}

impl AdapterConversation {
    /// The conversation is still empty.
    pub fn with_model(model: Option<String>) -> Self {
        Self { model, ..Self::default() }
    }

    /// Adds a turn that has ended.
    pub fn add(&mut self, input: &str, output: &TurnOutput) {
        if self.session_id.is_none() {
            self.session_id.clone_from(&output.session_id);
        }
        self.turns.push(Exchange { input: input.to_owned(), output: output.answer.clone() });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::AdapterConversation;
    use crate::adapter::tests::adapter;
    use crate::adapter::turn::TurnOutput;

    #[test]
    fn arguments_stand_in_the_order_of_the_form() {
        let all = adapter(&json!({
            "command": ["agent", "run"],
            "output": {"flag": "-o", "value": "json"},
            "autoApprove": ["-y", "-v"],
            "cwdFlag": "--dir",
            "modelFlag": "-m",
            "resume": {"flag": "--resume", "sessionIdPath": "$.id"},
        }))
        .unwrap();
        let mut conversation = AdapterConversation::default();
        let first = all.turn(&conversation, "hi -x", "/w");
        assert_eq!(first.argv.join(" "), "agent run -o json -y -v --dir /w -p hi -x");
        conversation
            .add("hi", &TurnOutput { session_id: Some("s1".to_owned()), ..TurnOutput::default() });
        conversation
            .add("ho", &TurnOutput { session_id: Some("s2".to_owned()), ..TurnOutput::default() });
        conversation.model = Some("m".to_owned());
        let next = all.turn(&conversation, "and", "/w");
        assert_eq!(next.argv.join(" "), "agent run -o json -y -v --dir /w -m m --resume s1 -p and");
        let plain = adapter(&json!({"prompt": {}})).unwrap().turn(&conversation, "-", "/w");
        assert_eq!((plain.argv.join(" ").as_str(), plain.stdin), ("agent -", None));
        let stdin =
            adapter(&json!({"prompt": {"stdin": true}})).unwrap().turn(&conversation, "x", "/w");
        assert_eq!((stdin.argv.len(), stdin.stdin.as_deref()), (1, Some("x\n")));
    }

    #[test]
    fn a_conversation_is_written_down_for_agents_that_keep_none() {
        let mut conversation = AdapterConversation::default();
        let answer = |text: &str| TurnOutput { answer: text.to_owned(), ..TurnOutput::default() };
        conversation.add("{{output}} $&", &answer("A{{input}}"));
        conversation.add("two", &answer("B"));
        let told = |template: Value| {
            let members =
                json!({"sessionMode": "iterative", "historyTemplate": template, "prompt": {}});
            adapter(&members).unwrap().turn(&conversation, "three", "/").argv.remove(1)
        };
        assert_eq!(
            told(Value::Null),
            "User: {{output}} $&\nAssistant: A{{input}}\n\nUser: two\nAssistant: B\n\nUser: three"
        );
        assert_eq!(
            told(json!("{{{input}}} {{x}}")),
            "{{{output}} $&} {{x}}\n\n{two} {{x}}\n\nUser: three"
        );
        assert_eq!(
            told(json!({"system": "Be kind.", "turnFormat": "Q {{input}}"})),
            "Be kind.\n\nQ {{output}} $&\n\nQ two\n\nUser: three"
        );
    }
}
