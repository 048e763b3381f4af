//! Extractors of what the target called.

use super::ExtractView;
use super::options::{ExtractorInfo, Opt, OptionKind, Pick};
use crate::pipeline::trajectory::MessageBody;

/// The option of extractors of one tool.
const TOOL: &[Opt] =
    &[Opt { name: "tool_name", kind: OptionKind::Name, description: "The name of the tool." }];

pub(super) const TOOL_ARGUMENTS: ExtractorInfo = ExtractorInfo {
    id: "tool_arguments",
    name: "Tool arguments",
    description: "The arguments of the first call of a tool as they were written; `{}` if there is none.",
    options: TOOL,
    compile: |options| {
        let tool_name = options.text("tool_name").unwrap_or_default().to_owned();
        Ok(Pick::infallible(move |from| {
            let call = from.tool_calls().find(|call| call.name == tool_name);
            call.map_or_else(|| "{}".to_owned(), |call| call.arguments.clone())
        }))
    },
    ..ExtractorInfo::PLAIN
};

pub(super) const TOOL_OUTPUT: ExtractorInfo = ExtractorInfo {
    id: "tool_output",
    name: "Tool output",
    description: "What the first call of a tool returned.",
    options: TOOL,
    compile: |options| {
        let tool_name = options.text("tool_name").unwrap_or_default().to_owned();
        Ok(Pick::infallible(move |from| tool_output(from, &tool_name)))
    },
    ..ExtractorInfo::PLAIN
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
