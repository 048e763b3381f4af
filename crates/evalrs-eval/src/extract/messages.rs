//! Extractors of what the target said.

use schemars::JsonSchema;
use serde::Deserialize;

use super::extractor::{ExtractorInfo, no_options, with_options, without_options};
use super::view::{ExtractView, assistant};
use crate::options::schema;

pub(super) const LAST_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "last_assistant",
    name: "Last assistant message",
    description: "The last assistant message.",
    options: no_options,
    compile: |config| {
        without_options(config, |from| from.said().next_back().unwrap_or_default().to_owned())
    },
};

pub(super) const FIRST_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "first_assistant",
    name: "First assistant message",
    description: "The first assistant message.",
    options: no_options,
    compile: |config| {
        without_options(config, |from| from.said().next().unwrap_or_default().to_owned())
    },
};

/// Options of extractors that join messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JoinedMessages {
    /// What stands between two messages.
    #[serde(default = "line_feed")]
    separator: String,
}

fn line_feed() -> String {
    "\n".to_owned()
}

pub(super) const ALL_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "all_assistant",
    name: "All assistant messages",
    description: "All assistant messages, joined.",
    options: schema::<JoinedMessages>,
    compile: |config| {
        with_options(config, |joined: &JoinedMessages, from| {
            from.said().collect::<Vec<_>>().join(&joined.separator)
        })
    },
};

pub(super) const LAST_TURN: ExtractorInfo = ExtractorInfo {
    id: "last_turn",
    name: "Last turn",
    description: "The assistant messages of the last turn, joined.",
    options: schema::<JoinedMessages>,
    compile: |config| {
        with_options(config, |joined: &JoinedMessages, from| {
            last_turn(from).join(&joined.separator)
        })
    },
};

pub(super) const FINAL_OUTPUT: ExtractorInfo = ExtractorInfo {
    id: "final_output",
    name: "Final output",
    description: "The recorded output of the row, else the last assistant message.",
    options: no_options,
    compile: |config| without_options(config, |from| from.final_output().to_owned()),
};

pub(super) const TRAJECTORY: ExtractorInfo = ExtractorInfo {
    id: "trajectory",
    name: "Trajectory",
    description: "The whole trajectory as JSON, without ids and times.",
    options: no_options,
    compile: |config| without_options(config, |from| from.to_json().to_string()),
};

pub(super) const AFTER_MARKER: ExtractorInfo = ExtractorInfo {
    id: "after_marker",
    name: "After marker",
    description: "What follows a marker in the newest assistant message that contains it, trimmed.",
    options: schema::<AfterMarker>,
    compile: |config| {
        with_options(config, |options: &AfterMarker, from| {
            from.said().rev().find_map(|text| options.rest(text)).unwrap_or_default()
        })
    },
};

/// Options of `after_marker`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AfterMarker {
    /// The text to look for.
    #[schemars(length(min = 1))]
    marker: String,
    /// Whether the marker itself is part of the submission.
    #[serde(default)]
    include_marker: bool,
}

impl AfterMarker {
    /// What follows the first marker in `text`, trimmed as Python's `str.strip` does.
    fn rest(&self, text: &str) -> Option<String> {
        let at = text.find(&self.marker)?;
        let from = if self.include_marker { at } else { at + self.marker.len() };
        let is_space = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
        text.get(from..).map(|rest| rest.trim_matches(is_space).to_owned())
    }
}

/// What the target said in its last turn.
fn last_turn<'a>(from: &ExtractView<'a>) -> Vec<&'a str> {
    let last = from.trajectory.turns.last().map_or(&[][..], |turn| &turn.messages);
    let seen = last.iter().filter(|message| from.include_subagents || !message.subagent);
    seen.filter_map(assistant).collect()
}
