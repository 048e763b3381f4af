//! Extractors of what the target said.

use super::options::{ExtractorInfo, Opt, OptionKind, Pick};
use super::{ExtractView, assistant};

pub(super) const LAST_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "last_assistant",
    name: "Last assistant message",
    description: "The last assistant message.",
    compile: |_| {
        Ok(Pick::infallible(|from| from.said().next_back().unwrap_or_default().to_owned()))
    },
    ..ExtractorInfo::PLAIN
};

pub(super) const FIRST_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "first_assistant",
    name: "First assistant message",
    description: "The first assistant message.",
    compile: |_| Ok(Pick::infallible(|from| from.said().next().unwrap_or_default().to_owned())),
    ..ExtractorInfo::PLAIN
};

/// The option of extractors that join messages.
const SEPARATOR: &[Opt] = &[Opt {
    name: "separator",
    kind: OptionKind::Text { default: "\n" },
    description: "What stands between two messages.",
}];

pub(super) const ALL_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "all_assistant",
    name: "All assistant messages",
    description: "All assistant messages, joined.",
    options: SEPARATOR,
    compile: |options| {
        let separator = options.text("separator").unwrap_or("\n").to_owned();
        Ok(Pick::infallible(move |from| from.said().collect::<Vec<_>>().join(&separator)))
    },
    ..ExtractorInfo::PLAIN
};

pub(super) const LAST_TURN: ExtractorInfo = ExtractorInfo {
    id: "last_turn",
    name: "Last turn",
    description: "The assistant messages of the last turn, joined.",
    options: SEPARATOR,
    compile: |options| {
        let separator = options.text("separator").unwrap_or("\n").to_owned();
        Ok(Pick::infallible(move |from| last_turn(from).join(&separator)))
    },
    ..ExtractorInfo::PLAIN
};

pub(super) const FINAL_OUTPUT: ExtractorInfo = ExtractorInfo {
    id: "final_output",
    name: "Final output",
    description: "The recorded output of the row, else the last assistant message.",
    compile: |_| Ok(Pick::infallible(|from| from.final_output().to_owned())),
    ..ExtractorInfo::PLAIN
};

pub(super) const TRAJECTORY: ExtractorInfo = ExtractorInfo {
    id: "trajectory",
    name: "Trajectory",
    description: "The whole trajectory as JSON, without ids and times.",
    compile: |_| Ok(Pick::infallible(|from| from.to_json().to_string())),
    ..ExtractorInfo::PLAIN
};

pub(super) const AFTER_MARKER: ExtractorInfo = ExtractorInfo {
    id: "after_marker",
    name: "After marker",
    description: "What follows a marker in the newest assistant message that contains it, trimmed.",
    options: &[
        Opt { name: "marker", kind: OptionKind::Name, description: "The text to look for." },
        Opt {
            name: "include_marker",
            kind: OptionKind::Flag,
            description: "Whether the marker itself is part of the submission.",
        },
    ],
    compile: |options| {
        let marker = options.text("marker").unwrap_or_default().to_owned();
        let include_marker = options.flag("include_marker");
        Ok(Pick::infallible(move |from| {
            let mut newest = from.said().rev();
            newest.find_map(|text| after_marker(text, &marker, include_marker)).unwrap_or_default()
        }))
    },
    ..ExtractorInfo::PLAIN
};

/// What the target said in its last turn.
fn last_turn<'a>(from: &ExtractView<'a>) -> Vec<&'a str> {
    let last = from.trajectory.turns.last().map_or(&[][..], |turn| &turn.messages);
    let seen = last.iter().filter(|message| from.include_subagents || !message.subagent);
    seen.filter_map(assistant).collect()
}

/// What follows the first `marker` in `text`, trimmed as Python's `str.strip` does.
fn after_marker(text: &str, marker: &str, include_marker: bool) -> Option<String> {
    let at = text.find(marker)?;
    let from = if include_marker { at } else { at + marker.len() };
    let is_space = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    text.get(from..).map(|rest| rest.trim_matches(is_space).to_owned())
}
