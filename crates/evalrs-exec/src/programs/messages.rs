//! What evalrs and a worker say to each other, one JSON document a line, and what comes of it.
//!
//! Pure. Texts lose their secrets here, before anything of them is cut or kept.

use std::io::Write;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::endings;
use super::tail::{KEPT, last};
use crate::Start;
use evalrs_eval::program::{minor_version, reply};
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply};
use evalrs_model::spec::Language;
use evalrs_system::version_in;

/// A line of a worker. It is one of `loaded`, `unloadable`, `result` and `error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkerMessage<'a> {
    pub loaded: Option<LoadedMessage>,
    pub unloadable: Option<Unloadable>,
    pub id: Option<u64>,
    #[serde(borrow, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    pub error: Option<RaisedException>,
    files: Vec<String>,
    missed: Vec<String>,
    reads: Vec<String>,
}

/// A `null` is a result too.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LoadedMessage {
    /// What runs it, with its version: `python 3.11.7`.
    runtime: String,
    /// Whether it works on several requests at once.
    pub(super) overlaps: bool,
    #[serde(flatten)]
    pub reported: ReportedFiles,
    /// What people should know of it.
    pub warnings: Vec<String>,
}

impl LoadedMessage {
    /// Why its results must not be kept: what runs it is not of the version that their keys hold. What either side does
    /// not know is not compared.
    pub(super) fn other_version(&self, start: &Start) -> Option<String> {
        let keyed = start.runtime.as_ref().filter(|runtime| !runtime.version.is_empty())?;
        let ran = version_in(&self.runtime)?;
        if minor_version(&ran) == minor_version(&keyed.version) {
            return None;
        }
        Some(format!(
            "`{}` runs in {}, but the keys of its results have {} {}, which its runtime reports for `--version`: name the right runtime with `runtime: PATH`",
            start.spec.shown(),
            self.runtime,
            keyed.name,
            minor_version(&keyed.version),
        ))
    }
}

/// Files that a worker reports, absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ReportedFiles {
    /// Modules that it has loaded, and what says which ones it loads.
    pub files: Vec<String>,
    /// Where it looked for a module that was not there.
    pub missed: Vec<String>,
    /// Other files that were opened to be read.
    pub reads: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Unloadable {
    message: String,
    details: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RaisedException {
    message: String,
    transient: bool,
    /// Where it was raised, as seen from the workspace: `graders/g.py:12`.
    place: String,
    details: String,
}

impl<'a> WorkerMessage<'a> {
    /// Reads a line. What is none is shown in the error.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|_| {
            let text = String::from_utf8_lossy(&line[..line.len().min(400)]);
            let shown: String = text.chars().take(100).collect();
            format!("its worker sent an invalid message: {shown}")
        })
    }

    /// The files that it reports beside its answer, if any.
    pub(super) fn reported(&mut self) -> Option<ReportedFiles> {
        let [files, missed, reads] =
            [&mut self.files, &mut self.missed, &mut self.reads].map(std::mem::take);
        let reported = ReportedFiles { files, missed, reads };
        (reported != ReportedFiles::default()).then_some(reported)
    }
}

/// The first line to a worker, with its end. `stripper` prints a module without its types.
pub(super) fn load_line(start: &Start, stripper: &[String]) -> String {
    let mut load = serde_json::json!({
        "path": start.path,
        "function": start.spec.function,
        "role": start.spec.role.name(),
        "workspace": start.workspace,
    });
    if start.spec.language == Language::JavaScript {
        load["strip"] = stripper.into();
    }
    if let Some(text) = &start.spec.inline {
        load["source"] = text.as_str().into();
    }
    if !start.spec.sees.is_empty() {
        load["sees"] = true.into();
    }
    format!("{}\n", serde_json::json!({ "load": load }))
}

/// Adds the line of a request to what is to be written. `input` is compact JSON.
pub(super) fn write_request(id: u64, input: &str, to: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = writeln!(to, r#"{{"id":{id},"input":{input}}}"#);
}

/// The outcome of a result, which is checked. `stderr` has no secrets any more.
pub(super) fn result(start: &Start, text: &str, stderr: Option<String>) -> Outcome {
    let text = without_secrets(start, &on_one_line(text));
    match reply::check(&start.spec, &text) {
        Ok(()) => Outcome::Reply(Reply::new(text)),
        Err(message) => Outcome::Failure(endings::invalid(message, &text, stderr)),
    }
}

/// JSON as it came, but on one line.
fn on_one_line(text: &str) -> std::borrow::Cow<'_, str> {
    let compact = |text: &str| Some(serde_json::from_str::<Value>(text).ok()?.to_string());
    if text.contains(['\n', '\r'])
        && let Some(compact) = compact(text)
    {
        return compact.into();
    }
    text.into()
}

/// JSON without secrets. They are looked for in its texts, where they may be written with escapes: numbers stay.
fn without_secrets(start: &Start, text: &str) -> String {
    if start.secrets().next().is_none() {
        return text.to_owned();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return start.without_secrets(text);
    };
    // What holds none stays as it is written.
    if hide(start, &mut value) { value.to_string() } else { text.to_owned() }
}

/// Removes secrets from every text of a value. Whether there were any.
fn hide(start: &Start, value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let clean = start.without_secrets(text);
            let is_found = clean != *text;
            *text = clean;
            is_found
        }
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| hide(start, item) | found)
        }
        Value::Object(members) => {
            let is_named = members.keys().any(|name| start.without_secrets(name) != *name);
            if is_named {
                let renamed = std::mem::take(members).into_iter();
                *members =
                    renamed.map(|(name, value)| (start.without_secrets(&name), value)).collect();
            }
            members.values_mut().fold(is_named, |found, member| hide(start, member) | found)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) fn raised(start: &Start, error: &RaisedException) -> Failure {
    let kind = if error.transient { FailureKind::Unloadable } else { FailureKind::Exception };
    let message = match error.place.as_str() {
        "" => error.message.clone(),
        place => format!("{} ({place})", error.message),
    };
    let failure = Failure::new(kind, start.without_secrets(&message));
    Failure { stderr: detailed(start, &error.details), ..failure }
}

/// The failure of a program that its worker could not load; `stderr` is what it wrote meanwhile.
pub(super) fn not_loaded(start: &Start, said: &Unloadable, stderr: Option<String>) -> Failure {
    let failure = Failure::new(FailureKind::Unloadable, start.without_secrets(&said.message));
    Failure { stderr: detailed(start, &said.details).or(stderr), ..failure }
}

fn detailed(start: &Start, details: &str) -> Option<String> {
    let details = start.without_secrets(details.trim_end());
    (!details.is_empty()).then(|| last(&details, KEPT).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::test_data::{function_of, start_of};
    use super::{LoadedMessage, WorkerMessage, load_line, result, without_secrets, write_request};
    use crate::Secret;
    use evalrs_model::outcome::Outcome;

    #[test]
    fn lines_are_read_and_written() {
        let message = WorkerMessage::read(br#"{"id":3,"result":null,"files":["/b","/a"]}"#);
        let mut message = message.unwrap();
        assert_eq!((message.id, message.result.unwrap().get()), (Some(3), "null"));
        assert_eq!(message.reported().unwrap().files, ["/b", "/a"]);
        assert!(WorkerMessage::read(br#"{"id":3}"#).unwrap().result.is_none());
        let problem = WorkerMessage::read(b"hello \xff").unwrap_err();
        assert_eq!(problem, "its worker sent an invalid message: hello \u{fffd}");
        let mut line = Vec::new();
        write_request(7, r#"{"a":1}"#, &mut line);
        assert_eq!(line, b"{\"id\":7,\"input\":{\"a\":1}}\n");
        assert_eq!(
            load_line(&start_of("/s/g"), &[]),
            "{\"load\":{\"path\":\"/s/g\",\"function\":\"\",\"role\":\"grade\",\"workspace\":\"/s\"}}\n"
        );
    }

    #[test]
    fn a_worker_of_another_version_than_its_keys_say_is_refused() {
        for (keyed, ran, expected) in [
            ("3.11.7", "python 3.11.9", None),
            ("3.11", "python 3.11.9", None),
            ("", "python 3.11.9", None),
            ("3.11.7", "", None),
            ("3.11.7", "sh", None),
            ("3.1.7", "python 3.11.9", Some("python 3.11.9 python 3.1")),
            ("20.20.2", "node 18.1.0", Some("node 18.1.0 python 20.20")),
        ] {
            let mut start = function_of("/s/g.py", ("python", "/bin/it"));
            start.runtime.as_mut().unwrap().version = keyed.to_owned();
            let loaded = LoadedMessage { runtime: ran.to_owned(), ..LoadedMessage::default() };
            let expected = expected.map(|shown| {
                let (ran, held) = shown.split_once(" python ").unwrap();
                format!(
                    "`g.py:grade` runs in {ran}, but the keys of its results have python {held}, which its runtime \
                     reports for `--version`: name the right runtime with `runtime: PATH`"
                )
            });
            assert_eq!(loaded.other_version(&start), expected, "{keyed} {ran}");
        }
    }

    #[test]
    fn results_are_kept_as_they_came_on_one_line() {
        let start = start_of("/g");
        let text = |text: &str| match result(&start, text, None) {
            Outcome::Reply(reply) => reply.text,
            Outcome::Failure(failure) => failure.message,
        };
        assert_eq!(text(r#"{"pass": true, "score": 1.0}"#), r#"{"pass": true, "score": 1.0}"#);
        assert_eq!(text("{\"pass\": true,\n \"score\": 1.0}"), r#"{"pass":true,"score":1.0}"#);
        assert_eq!(text("hello\nyou"), "Grader output is not valid JSON: hello\nyou");
    }

    #[test]
    fn secrets_are_taken_out_of_texts_and_not_of_numbers() {
        let mut start = start_of("/g");
        let secrets = [
            ("A_TOKEN", "pass\"word1234"),
            ("B_TOKEN", "0.1234567890"),
            ("C_TOKEN", "123456789012"),
        ];
        let secret = |(name, value): (&str, &str)| (name.to_owned(), Secret::new(value.to_owned()));
        start.env = secrets.map(secret).into();
        for (text, expected) in [
            (r#"{"a": 0.1234567890}"#, r#"{"a": 0.1234567890}"#),
            (
                r#"{"pass\"word1234": ["pass\"word1234 0.1234567890"]}"#,
                r#"{"[secret]":["[secret] [secret]"]}"#,
            ),
            ("no json 0.1234567890", "no json [secret]"),
            ("no key 123456789012", "no key 123456789012"),
        ] {
            assert_eq!(without_secrets(&start, text), expected);
        }
    }
}
