//! The files that are compared: what each is called, which records it holds, and those records.

use std::fmt;

use serde_json::Value;

use crate::check;
use crate::lines::{BadLine, InlineLine, JsonRecord, decode, object};

/// A file that is compared, and what reports call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFile {
    /// Not empty once [`check_labels`] has passed it.
    pub label: String,
    /// As it was written.
    pub path: String,
}

impl RunFile {
    /// The file that a word names: `label:path`, or a path, which is called by its name without the last extension. A
    /// letter before a colon is a drive where there are drives.
    pub(crate) fn named(word: &str, has_drives: bool) -> Self {
        let is_drive = |label: &str| has_drives && label.len() == 1;
        match word.split_once(':').filter(|(label, _)| !is_drive(label)) {
            Some((label, path)) => Self { label: label.to_owned(), path: path.to_owned() },
            None => Self { label: stem(word).to_owned(), path: word.to_owned() },
        }
    }
}

/// The name of a file without its last extension; the whole name where that would leave nothing.
fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Reports what is wrong with the labels: reports tell runs apart by nothing else.
pub(crate) fn check_labels(files: &[RunFile]) -> Result<(), String> {
    for (at, RunFile { label, path }) in files.iter().enumerate() {
        if label.trim().is_empty() {
            return Err(format!("Empty label for `{path}`: name it with --run LABEL:{path}"));
        }
        if let Some(first) = files[..at].iter().find(|first| first.label == *label) {
            return Err(format!(
                "Duplicate label '{label}' ({} and {path}): give each its own with --run LABEL:PATH",
                first.path
            ));
        }
    }
    Ok(())
}

/// What the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunFormat {
    /// One result a prompt.
    Capture,
    /// Several trials a prompt.
    Trials,
}

impl fmt::Display for RunFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capture => "capture",
            Self::Trials => "trials",
        })
    }
}

/// The lines with something on them, without the white space around it.
fn lines(text: &str) -> impl Iterator<Item = InlineLine<'_>> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.split('\n').enumerate();
    lines
        .map(|(at, line)| InlineLine { number: at + 1, text: line.trim() })
        .filter(|line| !line.text.is_empty())
}

/// What the file at `path` holds, by its first record.
fn detect(path: &str, text: &str) -> Result<RunFormat, String> {
    let first = lines(text).next().ok_or_else(|| format!("Empty file: {path}"))?;
    let record = match serde_json::from_str(first.text) {
        Ok(Value::Object(record)) => record,
        Ok(_) => return Err(format!("Expected object in first line of: {path}")),
        Err(_) => return Err(format!("Invalid JSON in first line of: {path}")),
    };
    let has = |name: &str, is: fn(&Value) -> bool| record.get(name).is_some_and(is);
    if has("trials", Value::is_array) && has("k", Value::is_number) {
        Ok(RunFormat::Trials)
    } else if has("trajectory", Value::is_array) && has("timing", Value::is_object) {
        Ok(RunFormat::Capture)
    } else {
        Err(format!(
            "Unable to detect format for: {path} (a result has `trajectory` and `timing`, a result of trials `trials` \
             and `k`)"
        ))
    }
}

/// What all files hold: path and text of each.
pub(crate) fn detect_all(files: &[(&str, &[u8])]) -> Result<RunFormat, String> {
    let mut first: Option<(&str, RunFormat)> = None;
    for (path, bytes) in files {
        let text = decode(bytes).map_err(|bad| in_file("JSON", &bad, path))?;
        let format = detect(path, text)?;
        match first {
            Some((other, expected)) if expected != format => {
                return Err(format!(
                    "Format mismatch: {other} is {expected}, but {path} is {format}: compare files of one kind"
                ));
            }
            Some(_) => {}
            None => first = Some((path, format)),
        }
    }
    first.map(|(_, format)| format).ok_or_else(|| "no such file".to_owned())
}

/// The records of the file at `path`, all of which are what they should be.
pub(crate) fn records(
    path: &str,
    bytes: &[u8],
    format: RunFormat,
) -> Result<Vec<JsonRecord>, String> {
    let text = decode(bytes).map_err(|bad| in_file("JSON", &bad, path))?;
    let read = |line: InlineLine<'_>| {
        let record = object(line).map_err(|bad| in_file("JSON", &bad, path))?;
        let (checked, what) = match format {
            RunFormat::Capture => (check::captured(&record), "result"),
            RunFormat::Trials => (check::tried(&record), "trial result"),
        };
        checked.map_err(|reason| in_file(what, &line.bad(reason), path))?;
        Ok(record)
    };
    lines(text).map(read).collect()
}

fn in_file(what: &str, bad: &BadLine, path: &str) -> String {
    format!("Invalid {what} {bad} (in {path})")
}

#[cfg(test)]
mod tests {
    use super::{RunFile, check_labels, detect_all, records};
    use crate::compare::run_file::RunFormat;

    #[test]
    fn runs_are_called_by_their_labels_or_their_files() {
        for (word, has_drives, label, path) in [
            ("old:runs/a.jsonl", false, "old", "runs/a.jsonl"),
            ("old:C:\\runs\\a.jsonl", true, "old", "C:\\runs\\a.jsonl"),
            ("a:x.jsonl", false, "a", "x.jsonl"),
            ("C:\\runs\\a.jsonl", true, "a", "C:\\runs\\a.jsonl"),
            ("runs/a.b.jsonl", false, "a.b", "runs/a.b.jsonl"),
            ("runs/plain", false, "plain", "runs/plain"),
            (".jsonl", false, ".jsonl", ".jsonl"),
            (":x", false, "", "x"),
            ("x:", false, "x", ""),
        ] {
            let expected = RunFile { label: label.to_owned(), path: path.to_owned() };
            assert_eq!(RunFile::named(word, has_drives), expected, "{word}");
        }
    }

    #[test]
    fn labels_tell_runs_apart() {
        let told = |words: &[&str]| {
            let files: Vec<RunFile> =
                words.iter().map(|word| RunFile::named(word, false)).collect();
            check_labels(&files).err().unwrap_or_default()
        };
        assert_eq!(told(&["a:x", "b:x"]), "");
        assert_eq!(told(&[":x", "b:x"]), "Empty label for `x`: name it with --run LABEL:x");
        assert_eq!(
            told(&["old/results.jsonl", "new/results.jsonl"]),
            "Duplicate label 'results' (old/results.jsonl and new/results.jsonl): give each its own with --run LABEL:PATH"
        );
    }

    const CAPTURE: &str = r#"{"id":"a","input":"q","output":"o","trajectory":[],"timing":{"start":0,"end":1,"total":1},"toolErrors":false}"#;
    const TRIALS: &str = r#"{"id":"a","input":"q","k":1,"trials":[{"trialNum":1,"output":"","trajectory":[],"duration":3}]}"#;

    #[test]
    fn files_hold_what_their_first_record_is() {
        let told = |texts: &[&str]| {
            let names = ["a", "b"];
            let files: Vec<_> =
                names.into_iter().zip(texts).map(|(name, text)| (name, text.as_bytes())).collect();
            detect_all(&files).map_or_else(|problem| problem, |format| format.to_string())
        };
        for (texts, expected) in [
            ([CAPTURE, CAPTURE], "capture"),
            ([TRIALS, "\n \n{\"trials\":[],\"k\":0}"], "trials"),
            ([CAPTURE, "\u{feff}  \n"], "Empty file: b"),
            (["{", CAPTURE], "Invalid JSON in first line of: a"),
            (["[]", CAPTURE], "Expected object in first line of: a"),
            (
                ["{\"trials\":[],\"k\":null,\"timing\":{}}", CAPTURE],
                "Unable to detect format for: a (a result has `trajectory` and `timing`, a result of trials `trials` and `k`)",
            ),
            (
                [CAPTURE, TRIALS],
                "Format mismatch: a is capture, but b is trials: compare files of one kind",
            ),
        ] {
            assert_eq!(told(&texts), expected);
        }
    }

    #[test]
    fn records_have_their_true_lines_and_files() {
        let told = |text: &str, format| match records("a.jsonl", text.as_bytes(), format) {
            Ok(records) => records.len().to_string(),
            Err(problem) => problem,
        };
        let two = format!("{CAPTURE}\n  \r\n {CAPTURE} \r\n\n");
        assert_eq!(told(&two, RunFormat::Capture), "2");
        assert_eq!(told(TRIALS, RunFormat::Trials), "1");
        assert_eq!(
            told(&format!("\n{TRIALS}\n{CAPTURE}"), RunFormat::Trials),
            "Invalid trial result at line 3: `k` is missing (in a.jsonl)"
        );
        assert_eq!(
            told(TRIALS, RunFormat::Capture),
            "Invalid result at line 1: `output` is missing (in a.jsonl)"
        );
        assert_eq!(
            told(&format!("{CAPTURE}\n1"), RunFormat::Capture),
            "Invalid JSON at line 2: expected an object, found a number (in a.jsonl)"
        );
        assert!(records("a", b"\xff", RunFormat::Capture).is_err());
    }
}
