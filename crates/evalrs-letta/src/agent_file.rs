//! Agent files: what must be right in one before it is sent to a server.
//!
//! A server takes files that cannot work, and says so at the first message, once for every sample. So what a judge
//! needs is checked where the suite is read, all of it at once. What else a file may hold is the server's to judge.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::agent_state::{lacking, name_of, quoted};
use evalrs_base::json_syntax::slip;

/// The lists that every agent file has, though they may be empty.
const LISTS: [&str; 7] = ["agents", "groups", "blocks", "files", "sources", "tools", "mcp_servers"];
/// What a server has to know of the model of an agent.
const MODEL_FIELDS: [&str; 3] = ["model", "model_endpoint_type", "context_window"];

/// Something that is wrong with an agent file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFileProblem {
    /// The bytes of the file that it is about.
    pub span: Range<usize>,
    pub message: String,
    pub hint: Option<String>,
}

/// What is known of a judge by its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeFile {
    /// Its model.
    pub model: Option<String>,
    /// The message sent to servers instead of a file that no server could run: none of its messages is in the agent's
    /// context, as in files exported without messages.
    pub mended: Option<String>,
}

/// Reads the file of an agent that gives its verdicts by `tool`; `has_model` is whether it is given another model.
pub fn read_judge(
    text: &str,
    tool: &str,
    has_model: bool,
) -> Result<JudgeFile, Vec<AgentFileProblem>> {
    let mut check = AgentFileCheck { text, problems: Vec::new() };
    let file = check.judge(tool, has_model);
    match file {
        Some(file) if check.problems.is_empty() => Ok(file),
        _ => Err(check.problems),
    }
}

struct AgentFileCheck<'t> {
    text: &'t str,
    problems: Vec<AgentFileProblem>,
}

/// A part of a file, and where it is written.
struct FilePart {
    value: Value,
    span: Range<usize>,
}

impl<'t> AgentFileCheck<'t> {
    fn judge(&mut self, tool: &str, has_model: bool) -> Option<JudgeFile> {
        let members = self.members()?;
        if !members.contains_key("agents") {
            let message = "this is not a current agent file: it has no list `agents`";
            let hint = "export the agent again: files of the first servers are no longer supported";
            self.problem(0..0, message, Some(hint.to_owned()));
            return None;
        }
        for name in LISTS {
            let is_list = members.get(name).is_some_and(|part| part.get().starts_with('['));
            if !is_list {
                let span = members.get(name).map_or(0..0, |part| self.span(part));
                let message = format!("the agent file has no list `{name}`");
                self.problem(span, message, Some(format!("write `\"{name}\": []`")));
            }
        }
        let tools = self.items(&members, "tools");
        let agent = self.only_agent(&members)?;
        self.check_tool(tool, &tools, &agent);
        self.check_model(&agent, has_model);
        let config = &agent.value["llm_config"];
        let model = ["handle", "model"].iter().find_map(|name| config[*name].as_str());
        let model = model.or(agent.value["model"].as_str()).map(str::to_owned);
        let mended = self.mended(&agent);
        Some(JudgeFile { model, mended })
    }

    /// The file with a system message in the agent's context, if nothing is in it. Servers import it without one, and fail
    /// at every message.
    fn mended(&mut self, agent: &FilePart) -> Option<String> {
        let is_empty = |name: &str| agent.value[name].as_array().is_none_or(Vec::is_empty);
        if !is_empty("messages") && !is_empty("in_context_message_ids") {
            return None;
        }
        let Some(system) = agent.value["system"].as_str() else {
            let message = "the judge has neither messages in its context nor a `system` prompt";
            let hint = "export it with its messages";
            self.problem(agent.span.clone(), message, Some(hint.to_owned()));
            return None;
        };
        let content = json!([{"type": "text", "text": system}]);
        let id = "message-0";
        let message = json!({"type": "message", "id": id, "role": "system", "content": content});
        let mut file: Value = serde_json::from_str(self.text).ok()?;
        file["agents"][0]["messages"] = json!([message]);
        file["agents"][0]["in_context_message_ids"] = json!([id]);
        Some(file.to_string())
    }

    fn members(&mut self) -> Option<BTreeMap<String, &'t RawValue>> {
        let error = match serde_json::from_str::<BTreeMap<String, &RawValue>>(self.text) {
            Ok(members) => return Some(members),
            Err(error) => error,
        };
        if error.is_data() {
            self.problem(0..0, "an agent file is a JSON object", None);
        } else {
            let slip = slip(self.text, &error);
            let hint = slip.hint.map(str::to_owned);
            self.problem(slip.span, format!("this agent file is not JSON: {}", slip.message), hint);
        }
        None
    }

    fn items(&self, members: &BTreeMap<String, &'t RawValue>, name: &str) -> Vec<FilePart> {
        let items = members.get(name).and_then(|list| serde_json::from_str(list.get()).ok());
        let items: Vec<&'t RawValue> = items.unwrap_or_default();
        let part = |item: &&'t RawValue| FilePart {
            value: serde_json::from_str(item.get()).unwrap_or_default(),
            span: self.span(item),
        };
        items.iter().map(part).collect()
    }

    /// Where a part of the text is written.
    fn span(&self, part: &'t RawValue) -> Range<usize> {
        let start = part.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        start..start + part.get().len()
    }

    fn only_agent(&mut self, members: &BTreeMap<String, &'t RawValue>) -> Option<FilePart> {
        let mut agents = self.items(members, "agents");
        if agents.len() != 1 {
            let span = self.span(members.get("agents")?);
            let message = format!("a judge is one agent, and this file has {}", agents.len());
            self.problem(span, message, Some("export the judge alone".to_owned()));
            return None;
        }
        agents.pop()
    }

    fn check_tool(&mut self, name: &str, tools: &[FilePart], agent: &FilePart) {
        let Some(tool) = tools.iter().find(|tool| name_of(&tool.value) == name) else {
            let known: Vec<&str> = tools.iter().map(|tool| name_of(&tool.value)).collect();
            let known = quoted(&known);
            let hint = match tools {
                [] => "give the agent a tool with the arguments `score` and `rationale`".to_owned(),
                _ => format!(
                    "it has {known}; `judge_tool_name` names the one that takes the \
                              verdict"
                ),
            };
            self.problem(agent.span.clone(), format!("the judge has no tool `{name}`"), Some(hint));
            return;
        };
        let id = &tool.value["id"];
        let own = agent.value["tool_ids"].as_array();
        if !own.is_some_and(|ids| ids.contains(id)) {
            let message = format!("the judge does not have the tool `{name}` that is in its file");
            let hint = format!("name its id in the agent's `tool_ids`: `\"tool_ids\": [{id}]`");
            self.problem(agent.span.clone(), message, Some(hint));
        }
        let lacking = lacking(&tool.value);
        if !lacking.is_empty() {
            let lacking = quoted(&lacking);
            let message = format!("the tool `{name}` does not take {lacking}");
            let hint = "a judge's tool has the arguments `score` and `rationale`";
            self.problem(tool.span.clone(), message, Some(hint.to_owned()));
        }
    }

    fn check_model(&mut self, agent: &FilePart, has_model: bool) {
        let config = &agent.value["llm_config"];
        let is_lacking = |name: &&str| config[*name].is_null();
        let lacking: Vec<&str> = MODEL_FIELDS.into_iter().filter(is_lacking).collect();
        if has_model || lacking.is_empty() {
            return;
        }
        let message = match config {
            Value::Object(_) => {
                format!("the judge's `llm_config` has no {}", quoted(&lacking))
            }
            _ => "the judge has no model: it has no `llm_config`".to_owned(),
        };
        let hint =
            "export it again, or give it a model of the server: `model: openai/gpt-4.1-mini`";
        self.problem(agent.span.clone(), message, Some(hint.to_owned()));
    }

    fn problem(&mut self, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(AgentFileProblem { span, message: message.into(), hint });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{JudgeFile, read_judge};
    use evalrs_test_data as test_data;
    use evalrs_test_data::letta_agent::judge_file;

    fn problems(text: &str) -> Vec<String> {
        let problems = read_judge(text, "submit_grade", false).unwrap_err();
        let shown = problems.into_iter().map(|problem| {
            let marked: String = text[problem.span].chars().take(12).collect();
            format!("{} [{marked}] {}", problem.message, problem.hint.unwrap_or_default())
        });
        shown.collect()
    }

    /// What is said of a good file after an edit.
    fn edited(edit: fn(&mut Value)) -> Vec<String> {
        let mut file = judge_file();
        edit(&mut file);
        problems(&file.to_string())
    }

    #[test]
    fn recorded_files_are_judges() {
        for (name, model) in [
            ("0.16.8/judge.af", "openai-proxy/gpt-4.1-mini"),
            ("0.16.8/judge-minimal.af", "gpt-4.1-mini"),
            ("0.14.0/judge.af", ""),
        ] {
            let Some(text) = test_data::text("../letta-protocol", name) else { return };
            let file = read_judge(&text, "submit_grade", false).unwrap();
            assert_eq!(file.mended, None, "{name}");
            assert!(file.model.is_some_and(|said| said.contains(model)), "{name}");
        }
        let Some(text) = test_data::text("../letta-protocol", "0.16.8/target.af") else { return };
        assert!(problems(&text)[0].starts_with("the judge has no tool `submit_grade`"));
    }

    #[test]
    fn a_file_is_read_or_refused_with_a_place() {
        let good = judge_file().to_string();
        let expected = JudgeFile { model: Some("gpt-4.1-mini".to_owned()), mended: None };
        assert_eq!(read_judge(&good, "submit_grade", false), Ok(expected));
        for (text, expected) in [
            ("", "this agent file is not JSON: the text ends inside a value [] "),
            ("[]", "an agent file is a JSON object [] "),
            ("{\"agents\": [}", "this agent file is not JSON: a value is expected here [}] "),
            (
                "{}",
                "this is not a current agent file: it has no list `agents` [] export the agent \
                 again",
            ),
        ] {
            assert!(problems(text)[0].starts_with(expected), "{text}: {:?}", problems(text));
        }
    }

    #[test]
    fn everything_a_judge_lacks_is_said_at_once() {
        for (edit, expected) in [
            (
                (|file| file["agents"] = json!([file["agents"][0], file["agents"][0]]))
                    as fn(&mut Value),
                &[
                    "a judge is one agent, and this file has 2 [[{\"id\":\"agen] export the judge alone",
                ][..],
            ),
            (
                |file| file["agents"] = json!([]),
                &["a judge is one agent, and this file has 0 [[]] "],
            ),
            (
                |file| file["groups"] = Value::Null,
                &["the agent file has no list `groups` [null] write `\"groups\": []`"],
            ),
            (
                |file| file["agents"] = json!(4),
                &["the agent file has no list `agents` [4] ", "a judge is one agent"],
            ),
            (
                |file| file["tools"] = json!([]),
                &["the judge has no tool `submit_grade` [{\"id\":\"agent] give the agent a tool"],
            ),
            (
                |file| file["tools"][0]["name"] = json!("grade"),
                &[
                    "the judge has no tool `submit_grade` [{\"id\":\"agent] it has `grade`; `judge_tool_name` names",
                ],
            ),
            (
                |file| file["agents"][0]["tool_ids"] = json!([]),
                &[
                    "the judge does not have the tool `submit_grade` that is in its file [{\"id\":\"agent] name its id in the agent's `tool_ids`: `\"tool_ids\": [\"tool-0\"]`",
                ],
            ),
            (
                |file| {
                    file["tools"][0]["json_schema"]["parameters"]["properties"] =
                        json!({"score": {}});
                },
                &[
                    "the tool `submit_grade` does not take `rationale` [{\"id\":\"tool-] a judge's tool has",
                ],
            ),
            (
                |file| {
                    file["agents"][0]["llm_config"] = Value::Null;
                    file["agents"][0]["tool_ids"] = Value::Null;
                },
                &["the judge does not have", "the judge has no model: it has no `llm_config`"],
            ),
            (
                |file| file["agents"][0]["llm_config"] = json!({"model": "m"}),
                &["the judge's `llm_config` has no `model_endpoint_type` and `context_window`"],
            ),
        ] {
            let said = edited(edit);
            assert_eq!(said.len(), expected.len(), "{said:?}");
            for (said, expected) in said.iter().zip(expected) {
                assert!(said.starts_with(expected), "{said}\n{expected}");
            }
        }
    }

    #[test]
    fn a_model_of_its_own_is_not_needed_where_it_is_given_one() {
        let mut file = judge_file();
        file["agents"][0]["llm_config"] = Value::Null;
        let read = |has_model| read_judge(&file.to_string(), "submit_grade", has_model);
        assert!(read(false).is_err());
        assert_eq!(read(true), Ok(JudgeFile { model: None, mended: None }));
    }

    #[test]
    fn an_agent_without_messages_gets_its_system_message() {
        for name in ["messages", "in_context_message_ids"] {
            let mut file = judge_file();
            file["agents"][0][name] = json!([]);
            let read = |file: &Value| read_judge(&file.to_string(), "submit_grade", false);
            let mended = read(&file).unwrap().mended.unwrap();
            assert_eq!(serde_json::from_str::<Value>(&mended).unwrap(), judge_file(), "{name}");
            file["agents"][0]["system"] = Value::Null;
            let message = read(&file).unwrap_err().remove(0).message;
            assert_eq!(
                message,
                "the judge has neither messages in its context nor a `system` prompt"
            );
        }
    }
}
