//! Extractors of what the target called.

use schemars::JsonSchema;
use serde::Deserialize;

use super::extractor::{ExtractorInfo, with_options};
use super::view::ExtractView;
use crate::options::schema;
use evalrs_trajectory::MessageBody;

/// Options of extractors of one tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneTool {
    /// The name of the tool.
    #[schemars(length(min = 1))]
    tool_name: String,
}

pub(super) const TOOL_ARGUMENTS: ExtractorInfo = ExtractorInfo {
    id: "tool_arguments",
    name: "Tool arguments",
    description: "The arguments of the first call of a tool as they were written; `{}` if there is none.",
    options: schema::<OneTool>,
    compile: |config| {
        with_options(config, |tool: &OneTool, from| {
            let call = from.tool_calls().find(|call| call.name == tool.tool_name);
            call.map_or_else(|| "{}".to_owned(), |call| call.arguments.clone())
        })
    },
};

pub(super) const TOOL_OUTPUT: ExtractorInfo = ExtractorInfo {
    id: "tool_output",
    name: "Tool output",
    description: "What the first call of a tool returned.",
    options: schema::<OneTool>,
    compile: |config| {
        with_options(config, |tool: &OneTool, from| tool_output(from, &tool.tool_name))
    },
};

/// What the first call of a tool returned. Formats without call ids pair calls and returns in order.
fn tool_output(from: &ExtractView<'_>, tool_name: &str) -> String {
    let mut calls = from.tool_calls().enumerate();
    let Some((index, call)) = calls.find(|(_, call)| call.name == tool_name) else {
        return String::new();
    };
    let earlier = from.tool_calls().take(index);
    let skip = match call.id {
        Some(_) => 0,
        None => earlier.filter(|call| call.id.is_none()).count(),
    };
    let mut returns = from.messages().filter_map(|message| match &message.body {
        MessageBody::ToolReturn(answer) if answer.call_id == call.id => Some(&answer.output),
        _ => None,
    });
    returns.nth(skip).cloned().unwrap_or_default()
}
