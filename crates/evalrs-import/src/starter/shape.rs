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
    /// Messages: those of one conversation, or of one in each row, under `key`.
    Chats {
        key: Option<String>,
        has_tools: bool,
    },
    /// Rows of anything else, or a table.
    Rows,
    /// Nothing, or a session in which nothing was written.
    Empty,
    Unknown,
}

impl DataShape {
    /// The order in which a folder is read by what its files are; none of what no folder is read by.
    pub(super) fn rank(&self) -> Option<u8> {
        match self {
            Self::Session => Some(0),
            Self::Chats { key: None, .. } => Some(1),
            Self::Chats { .. } => Some(2),
            Self::Rows | Self::Empty | Self::Unknown => None,
        }
    }
}

/// The ending of the name of a file that may hold data.
pub(super) fn ending(file: &str) -> Option<&str> {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending)?;
    ["jsonl", "ndjson", "json", "csv", "tsv"].contains(&ending).then_some(ending)
}

/// What a file holds; unknown where it cannot be read.
pub(super) fn of(source: &ImportSource<'_>, path: &str) -> DataShape {
    let format = DatasetFormat::of_name(path);
    let bytes = match format {
        Some(DatasetFormat::Csv | DatasetFormat::Tsv) => return DataShape::Rows,
        Some(DatasetFormat::Json) => source.bytes(path),
        Some(DatasetFormat::Jsonl) => match source.beginning(path, HEAD) {
            // A picture in the first line, or a whole file.
            Ok(head) if head.len() == HEAD && !head.contains(&b'\n') => source.bytes(path),
            head => head,
        },
        Some(DatasetFormat::Yaml) | None => return DataShape::Unknown,
    };
    let Ok(bytes) = bytes else { return DataShape::Unknown };
    let text = String::from_utf8_lossy(&bytes);
    match text.trim_start_matches('\u{feff}').trim() {
        "" => DataShape::Empty,
        text if format == Some(DatasetFormat::Json) => of_json(text),
        text => of_lines(text),
    }
}

fn of_json(text: &str) -> DataShape {
    match serde_json::from_str(&without_odd_numbers(text)) {
        Ok(Value::Array(items)) => of_items(&items),
        Ok(value) if items_in(&value, "messages").next().is_some_and(is_chat) => {
            DataShape::Chats { key: None, has_tools: items_in(&value, "messages").any(is_of_tool) }
        }
        _ => DataShape::Unknown,
    }
}

fn of_lines(head: &str) -> DataShape {
    let lines = head.lines().filter(|line| !line.trim().is_empty()).take(LINES);
    // The last line may be cut.
    let read = lines.map_while(|line| serde_json::from_str(&without_odd_numbers(line)).ok());
    let items: Vec<Value> = read.collect();
    if items.is_empty() { DataShape::Unknown } else { of_items(&items) }
}

fn of_items(items: &[Value]) -> DataShape {
    if items.iter().any(|line| is_session_line(line) && line.get("message").is_some()) {
        DataShape::Session
    } else if items.iter().all(is_session_line) {
        DataShape::Empty
    } else if items.iter().all(is_chat) {
        DataShape::Chats { key: None, has_tools: items.iter().any(is_of_tool) }
    } else if let Some(key) = items.first().and_then(messages_key) {
        let has_tools = items.iter().flat_map(|item| items_in(item, &key)).any(is_of_tool);
        DataShape::Chats { key: Some(key), has_tools }
    } else if items.iter().all(Value::is_object) {
        DataShape::Rows
    } else {
        DataShape::Unknown
    }
}

fn is_chat(message: &Value) -> bool {
    message.get("role").is_some_and(Value::is_string)
}

fn is_of_tool(message: &Value) -> bool {
    message.get("tool_calls").is_some_and(Value::is_array)
}

/// The name under which a row has messages.
fn messages_key(row: &Value) -> Option<String> {
    let own = ["messages", "trajectory"].into_iter();
    let names = own.chain(row.as_object()?.keys().map(String::as_str));
    let has = |name: &&str| items_in(row, name).next().is_some_and(is_chat);
    names.into_iter().find(has).map(str::to_owned)
}

/// That a file has nothing to start from.
pub(super) fn empty(path: &str) -> ImportError {
    ImportError::unreadable(
        format!("`{path}` has no conversation and no rows"),
        "name a file with sessions of Claude Code, chat messages, or answers in CSV or JSON Lines",
    )
}
