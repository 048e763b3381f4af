//! What a file holds, by its beginning.

use serde_json::Value;

use crate::imported::ImportError;
use crate::reading::items_in;
use crate::source::ImportSource;
use evalrs_eval::dataset::without_odd_numbers;
use evalrs_model::spec::DatasetFormat;
use evalrs_trajectory::is_session_line;

/// The most bytes of a file of lines that are looked at, and the most lines.
const HEAD: usize = 512 * 1024;
const LINES: usize = 200;

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DataShape {
    /// Lines of Claude Code, with a conversation.
    Session,
    /// The same of a session in which nothing was written.
    NoConversation,
    /// The messages of one conversation, in a list or one on each line.
    Conversation {
        has_tools: bool,
    },
    /// Rows with messages under `key`.
    Conversations {
        key: String,
        has_tools: bool,
    },
    /// Rows of anything else, or a table.
    Rows,
    Empty,
    Unknown,
}

impl DataShape {
    /// The order in which a folder is read by what its files are; none of what no folder is read by.
    pub(super) fn rank(&self) -> Option<u8> {
        match self {
            Self::Session => Some(0),
            Self::Conversation { .. } => Some(1),
            Self::Conversations { .. } => Some(2),
            Self::NoConversation | Self::Rows | Self::Empty | Self::Unknown => None,
        }
    }

    /// Whether tools were called.
    pub(super) fn has_tools(&self) -> bool {
        match self {
            Self::Conversation { has_tools } | Self::Conversations { has_tools, .. } => *has_tools,
            _ => false,
        }
    }
}

/// The ending of the name of a file that may hold data.
pub(super) fn ending(file: &str) -> Option<&str> {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending)?;
    ["jsonl", "ndjson", "json", "csv", "tsv"].contains(&ending).then_some(ending)
}

/// The pattern of the files of a folder with this ending, also in folders below it.
pub(super) fn pattern(ending: Option<&str>, is_deep: bool) -> &'static str {
    match (ending, is_deep) {
        (Some("json"), false) => "/*.json",
        (Some("json"), true) => "/**/*.json",
        (Some("ndjson"), false) => "/*.ndjson",
        (Some("ndjson"), true) => "/**/*.ndjson",
        (_, false) => "/*.jsonl",
        (_, true) => "/**/*.jsonl",
    }
}

/// What a file holds; unknown where it cannot be read.
pub(super) fn of(source: &ImportSource<'_>, path: &str) -> DataShape {
    match DatasetFormat::of_name(path) {
        Some(DatasetFormat::Csv | DatasetFormat::Tsv) => DataShape::Rows,
        Some(DatasetFormat::Json) => {
            let Ok(bytes) = source.bytes(path) else { return DataShape::Unknown };
            of_json(&String::from_utf8_lossy(&bytes))
        }
        Some(DatasetFormat::Jsonl) => match source.beginning(path, HEAD) {
            Ok(head) => of_lines(&String::from_utf8_lossy(&head)),
            Err(_) => DataShape::Unknown,
        },
        Some(DatasetFormat::Yaml) | None => DataShape::Unknown,
    }
}

fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

fn of_json(text: &str) -> DataShape {
    let text = without_mark(text);
    if text.trim().is_empty() {
        return DataShape::Empty;
    }
    match serde_json::from_str(&without_odd_numbers(text)) {
        Ok(Value::Array(items)) => of_items(&items),
        Ok(value @ Value::Object(_))
            if items_in(&value, "messages").next().is_some_and(is_chat) =>
        {
            DataShape::Conversation { has_tools: items_in(&value, "messages").any(is_of_tool) }
        }
        _ => DataShape::Unknown,
    }
}

fn of_lines(head: &str) -> DataShape {
    let head = without_mark(head);
    if head.trim().is_empty() {
        return DataShape::Empty;
    }
    let lines = head.lines().filter(|line| !line.trim().is_empty()).take(LINES);
    // The last line may be cut.
    let read = lines.map_while(|line| serde_json::from_str(&without_odd_numbers(line)).ok());
    let items: Vec<Value> = read.collect();
    if items.is_empty() && ["\"sessionId\"", "\"type\""].iter().all(|key| head.contains(key)) {
        // One line of a session holds a picture, or a whole file.
        return DataShape::Session;
    }
    if items.is_empty() { DataShape::Unknown } else { of_items(&items) }
}

fn of_items(items: &[Value]) -> DataShape {
    let Some(first) = items.first() else { return DataShape::Empty };
    if items.iter().any(is_message_of_session) {
        DataShape::Session
    } else if items.iter().all(is_session_line) {
        DataShape::NoConversation
    } else if items.iter().all(is_chat) {
        DataShape::Conversation { has_tools: items.iter().any(is_of_tool) }
    } else if let Some(key) = messages_key(first) {
        let messages = || items.iter().flat_map(|item| items_in(item, &key));
        DataShape::Conversations { has_tools: messages().any(is_of_tool), key }
    } else if items.iter().all(Value::is_object) {
        DataShape::Rows
    } else {
        DataShape::Unknown
    }
}

fn is_message_of_session(line: &Value) -> bool {
    is_session_line(line) && line.get("message").is_some()
}

fn is_chat(message: &Value) -> bool {
    message.get("role").is_some_and(Value::is_string)
}

fn is_of_tool(message: &Value) -> bool {
    message.get("tool_calls").is_some_and(Value::is_array)
}

/// The name under which a row has messages.
fn messages_key(row: &Value) -> Option<String> {
    let has = |name: &str| items_in(row, name).next().is_some_and(is_chat);
    let names = row.as_object()?.keys();
    let known = ["messages", "trajectory"].into_iter().find(|name| has(name)).map(str::to_owned);
    known.or_else(|| names.cloned().find(|name| has(name)))
}

/// That a file is empty.
pub(super) fn empty(path: &str) -> ImportError {
    ImportError::unreadable(
        format!("`{path}` is empty"),
        "name a file with sessions of Claude Code, chat messages, or answers in CSV or JSON Lines",
    )
}
