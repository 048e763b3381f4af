//! Tests in a table: each column a variable, columns that begin with `__` what else a test says.

use serde_json::{Map, Value, json};

use super::case::{AssertionSpec, TestCase};
use super::config_reader::ConfigReader;
use super::files::{ending, path_and_function};
use super::kinds::is_kind;
use crate::imported::SourcePlace;
use crate::reading::put;

/// The tests of the table `text`, from the file at `path`.
pub(super) fn read(
    path: &str,
    text: &str,
    reader: &mut ConfigReader<'_>,
) -> Result<Vec<TestCase>, String> {
    let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = table.headers().map_err(|error| error.to_string())?.clone();
    let mut tests = Vec::new();
    for record in table.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line =
            record.position().map_or(0, |position| usize::try_from(position.line()).unwrap_or(0));
        let cells = headers.iter().map(str::trim).zip(record.iter());
        tests.push(row(cells, &SourcePlace::new(path, line), reader));
    }
    Ok(tests)
}

fn row<'c>(
    cells: impl Iterator<Item = (&'c str, &'c str)>,
    place: &SourcePlace,
    reader: &mut ConfigReader<'_>,
) -> TestCase {
    let mut test = TestCase { place: place.clone(), ..TestCase::default() };
    let mut asserts: Vec<Value> = Vec::new();
    let mut thresholds: Vec<(usize, f64)> = Vec::new();
    let mut metric = None;
    for (name, cell) in cells {
        match name {
            _ if name.starts_with("__expected") => {
                if !cell.trim().is_empty() {
                    asserts.push(assertion(cell.trim()));
                }
            }
            "__prefix" => _ = test.options.insert("prefix".to_owned(), json!(cell)),
            "__suffix" => _ = test.options.insert("suffix".to_owned(), json!(cell)),
            "__description" if !cell.is_empty() => test.description = Some(cell.to_owned()),
            "__providerOutput" if !cell.is_empty() => test.provider_output = Some(json!(cell)),
            "__metric" if !cell.is_empty() => metric = Some(cell.to_owned()),
            "__threshold" => {
                test.threshold = cell.trim().parse().ok().filter(|threshold| *threshold != 0.0);
            }
            "__description" | "__providerOutput" | "__metric" | "__metadata" => {}
            _ if name.starts_with("__metadata:") => metadata(&mut test.metadata, name, cell),
            _ if name.starts_with("__config:") => match threshold_of(name, cell) {
                Some(threshold) => thresholds.push(threshold),
                None => {
                    let what = format!("the column `{name}`");
                    let why = "it is not a threshold of an assertion";
                    reader.imported.leave_out("tests", place.clone(), what, why);
                }
            },
            _ => _ = test.vars.insert(name.to_owned(), json!(cell)),
        }
    }
    for (at, threshold) in thresholds {
        if let Some(assert) = asserts.get_mut(at) {
            assert["threshold"] = json!(threshold);
        }
    }
    let read = |mut assert: Value| {
        put(&mut assert, "metric", metric.as_deref());
        AssertionSpec::read(&assert, place, &reader.counter)
    };
    test.asserts = asserts.into_iter().map(read).collect();
    test
}

fn metadata(metadata: &mut Map<String, Value>, column: &str, cell: &str) {
    let name = column.trim_start_matches("__metadata:");
    match name.strip_suffix("[]") {
        _ if cell.trim().is_empty() => {}
        Some(name) => {
            metadata.insert(name.to_owned(), cell.split(',').map(str::trim).collect());
        }
        None => _ = metadata.insert(name.to_owned(), json!(cell)),
    }
}

/// Which assertion a column `__config:__expected2:threshold` is of, and the threshold.
fn threshold_of(column: &str, cell: &str) -> Option<(usize, f64)> {
    let expected = column.strip_prefix("__config:__expected")?.strip_suffix(":threshold")?;
    let at = if expected.is_empty() { 1 } else { expected.parse::<usize>().ok()? };
    Some((at.checked_sub(1)?, cell.trim().parse().ok()?))
}

/// The assertion that a cell says: `contains: Paris`, `similar(0.8): a city`, or the text that is expected.
fn assertion(cell: &str) -> Value {
    let cut = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| cell.strip_prefix(prefix));
    if let Some(code) = cut(&["javascript:", "fn:", "eval:"]) {
        return json!({"type": "javascript", "value": code.trim()});
    }
    if let Some(rubric) = cut(&["grade:", "llm-rubric:"]) {
        return json!({"type": "llm-rubric", "value": rubric});
    }
    if let Some(code) = cut(&["python:"]) {
        return json!({"type": "python", "value": code.trim()});
    }
    if cell.starts_with("file://") {
        let is_python = ending(&path_and_function(cell).0) == "py";
        return json!({"type": if is_python { "python" } else { "javascript" }, "value": cell});
    }
    typed(cell).unwrap_or_else(|| json!({"type": "equals", "value": cell}))
}

/// `not-TYPE(THRESHOLD): VALUE`, if TYPE is one.
fn typed(cell: &str) -> Option<Value> {
    const WITH_THRESHOLD: [&str; 12] = [
        "answer-relevance",
        "classifier",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "cost",
        "latency",
        "levenshtein",
        "perplexity",
        "perplexity-score",
        "rouge-n",
        "starts-with",
    ];
    let (head, value) = match cell.split_once(':') {
        Some((head, value)) => (head, Some(value)),
        None => (cell, None),
    };
    let (written, threshold) = match head.strip_suffix(')').and_then(|head| head.split_once('(')) {
        Some((written, threshold)) => (written, Some(threshold.parse::<f64>().ok()?)),
        None => (head, None),
    };
    let kind = written.strip_prefix("not-").unwrap_or(written);
    if !is_kind(kind) {
        return None;
    }
    let mut assertion = json!({"type": written});
    let value = value.map(|value| match kind {
        "contains-all" | "contains-any" | "icontains-all" | "icontains-any" => {
            value.split(',').map(str::trim).collect()
        }
        _ => json!(value.trim()),
    });
    put(&mut assertion, "value", value);
    let default = match kind {
        "similar" => Some(0.8),
        _ if WITH_THRESHOLD.contains(&kind) => Some(0.75),
        _ => None,
    };
    // Other types have no threshold here, whatever stands in parentheses.
    put(&mut assertion, "threshold", default.map(|default| threshold.unwrap_or(default)));
    Some(assertion)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{assertion, threshold_of};

    #[test]
    fn cells_are_assertions() {
        for (cell, expected) in [
            ("Paris", json!({"type": "equals", "value": "Paris"})),
            ("contains: Paris", json!({"type": "contains", "value": "Paris"})),
            ("not-contains:x:y", json!({"type": "not-contains", "value": "x:y"})),
            ("contains-any: a, b", json!({"type": "contains-any", "value": ["a", "b"]})),
            (
                "similar(0.9): a city",
                json!({"type": "similar", "value": "a city", "threshold": 0.9}),
            ),
            ("similar: a city", json!({"type": "similar", "value": "a city", "threshold": 0.8})),
            ("latency(2000)", json!({"type": "latency", "threshold": 2000.0})),
            ("is-json", json!({"type": "is-json"})),
            ("fn: output.length > 3", json!({"type": "javascript", "value": "output.length > 3"})),
            ("grade: polite", json!({"type": "llm-rubric", "value": " polite"})),
            ("file://a.py:f", json!({"type": "python", "value": "file://a.py:f"})),
            ("Note: this", json!({"type": "equals", "value": "Note: this"})),
        ] {
            assert_eq!(assertion(cell), expected, "{cell}");
        }
        assert_eq!(threshold_of("__config:__expected2:threshold", " 0.5 "), Some((1, 0.5)));
        assert_eq!(threshold_of("__config:__expected0:threshold", "1"), None);
        assert_eq!(threshold_of("__config:x:y", "1"), None);
    }
}
