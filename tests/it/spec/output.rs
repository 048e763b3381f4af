//! What a command printed: as a transcript, without what differs from run to run, compared with what is expected.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::space::{Ran, Space, lines};

/// Standard output, standard error behind `! `, then the exit code and the requests to the judge if there are any.
pub(super) fn transcript(stdout: &str, ran: &Ran, requests: usize) -> String {
    let stderr = lines(ran.stderr().lines().map(|line| format!("! {line}")));
    let exit = Some(format!("exit {}", ran.code())).filter(|_| ran.code() != 0);
    let plural = if requests == 1 { "" } else { "s" };
    let asked = Some(format!("{requests} request{plural}")).filter(|_| requests > 0);
    let ends: Vec<String> = exit.into_iter().chain(asked).collect();
    let end = if ends.is_empty() { String::new() } else { format!("[{}]", ends.join(", ")) };
    let stdout = if stdout.is_empty() || stdout.ends_with('\n') {
        stdout.to_owned()
    } else {
        format!("{stdout}\n")
    };
    format!("{stdout}{stderr}{end}")
}

/// What differs from run to run, and its name.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let masks = [
        (r"in [0-9]+\.[0-9] s", "in N s"),
        (r"[0-9]{8}T[0-9]{6}-[0-9a-f]{6}", "RUN"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z", "TIME"),
        (r"(?-u:\b)[0-9a-f]{64}(?-u:\b)", "KEY"),
        (r"evalrs [0-9]+\.[0-9]+\.[0-9]+", "evalrs VERSION"),
        (r"127\.0\.0\.1:[0-9]+", "127.0.0.1:PORT"),
    ];
    masks.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name)).into()
});

/// A text with names in place of ids, times, keys, the version, the judge's port and the folder.
pub(super) fn masked(text: &str, space: &Space) -> String {
    let folder = space.path("").display().to_string();
    let mut text = text.replace(folder.trim_end_matches('/'), "DIR");
    for (pattern, name) in MASKS.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// A text behind a filter: `| pick PATH…` is the values at these paths of each JSON value, a line for each; `| fits
/// NAME PATH` is what is against the schema of this name at a path. A line that is not JSON stays as it is.
pub(super) fn filtered(text: &str, filter: &str, space: &Space) -> String {
    let Some((name, argument)) = filter.trim_start_matches(" | ").split_once(' ') else {
        return text.to_owned();
    };
    let shown = |value: &Value| match name {
        "pick" => picked(value, argument),
        _ => misfits(value, argument, space),
    };
    let parsed = |text: &str| serde_json::from_str(text).ok().map(|value| shown(&value));
    match parsed(text) {
        Some(shown) => shown,
        None if text.is_empty() => "no JSON\n".to_owned(),
        None => text.lines().map(|line| parsed(line).unwrap_or_else(|| lines([line]))).collect(),
    }
}

fn picked(value: &Value, paths: &str) -> String {
    let cells = paths.split(' ').map(|path| {
        let parts: Vec<&str> = path.split('.').collect();
        at(value, &parts).map_or("-".to_owned(), |value| cell(&value))
    });
    cells.collect::<Vec<_>>().join("  ") + "\n"
}

fn misfits(value: &Value, argument: &str, space: &Space) -> String {
    let mut words = argument.split([' ', '.']);
    let schema = space.run(&["schemas", words.next().unwrap_or_default()]).stdout();
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let Some(value) = at(value, &words.collect::<Vec<_>>()) else { return "-\n".to_owned() };
    lines(schema.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())))
}

/// The value at a path; `*` is every item of a list or every value of a mapping.
fn at(value: &Value, path: &[&str]) -> Option<Value> {
    let Some((name, rest)) = path.split_first() else { return Some(value.clone()) };
    match value {
        Value::Array(items) if *name == "*" => {
            Some(items.iter().filter_map(|item| at(item, rest)).collect())
        }
        Value::Object(fields) if *name == "*" => {
            Some(fields.values().filter_map(|item| at(item, rest)).collect())
        }
        Value::Array(items) => at(items.get(name.parse::<usize>().ok()?)?, rest),
        _ => at(value.get(name)?, rest),
    }
}

/// A value in a line: texts without quotes, numbers to nine digits behind the point.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', "\\n"),
        Value::Number(number) if number.is_f64() => {
            let rounded = (number.as_f64().unwrap() * 1e9).round() / 1e9;
            format!("{rounded:?}")
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(cell).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// Whether a text is as expected: `...` is any lines but the last one of [`transcript`], `[..]` any part of a line. Cells
/// of a table may say `[exit 0]`, `[0 requests]` and `[1 requests]`, which nothing prints.
pub(super) fn fits(expected: &[String], found: &str) -> bool {
    let found: Vec<&str> = found.lines().collect();
    let usual = |line: &String| {
        let line = line.replace("[exit 0, ", "[").replace(", 0 requests]", "]");
        line.replace(" 1 requests]", " 1 request]").replace("[1 requests]", "[1 request]")
    };
    let mut expected: Vec<String> = expected.iter().map(usual).collect();
    expected.retain(|line| !matches!(line.as_str(), "[exit 0]" | "[0 requests]"));
    fit(&expected, &found)
}

fn fit(expected: &[String], found: &[&str]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line == "..." => {
            let ends = usize::from(found.last().is_some_and(|line| is_end(line)));
            (0..=found.len() - ends).any(|skip| fit(rest, &found[skip..]))
        }
        Some((line, rest)) => found
            .split_first()
            .is_some_and(|(first, left)| line_fits(line, first) && fit(rest, left)),
    }
}

/// Whether a line is the exit code and the requests of a [`transcript`].
fn is_end(line: &str) -> bool {
    let ends = line.ends_with(" request]") || line.ends_with(" requests]");
    line.starts_with("[exit ") || line.starts_with('[') && ends
}

fn line_fits(expected: &str, found: &str) -> bool {
    let Some((start, rest)) = expected.split_once("[..]") else {
        return expected.trim_end() == found;
    };
    let Some(mut found) = found.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split("[..]").collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = found.split_once(part) else { return false };
        found = after;
    }
    found.ends_with(end)
}

/// The lines that differ, with those before and after that do not.
pub(super) fn changes(expected: &[String], found: &str) -> String {
    let found: Vec<&str> = found.lines().collect();
    let pairs = || expected.iter().zip(&found);
    let start = pairs().take_while(|(expected, found)| line_fits(expected, found)).count();
    let most = expected.len().min(found.len()) - start;
    let ends = expected.iter().rev().zip(found.iter().rev()).take(most);
    let end = ends.take_while(|(expected, found)| line_fits(expected, found)).count();
    let same = |line: &&str| format!("  {line}");
    let shown = found[..start].iter().map(same);
    let shown =
        shown.chain(expected[start..expected.len() - end].iter().map(|line| format!("- {line}")));
    let shown = shown.chain(found[start..found.len() - end].iter().map(|line| format!("+ {line}")));
    lines(shown.chain(found[found.len() - end..].iter().map(same)))
}
