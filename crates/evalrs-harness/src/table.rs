//! Results for people and spreadsheets: what `evalrs format` writes.

use std::fmt::Write;

use serde_json::Value;

use super::json::to_json;
use super::lines::JsonRecord;
use super::words::{fenced, fixed, has_tool_errors, joined_input, percent, shortened, text_of};

/// The characters of an input that are shown.
const INPUT: usize = 100;
/// The characters of an output that are shown.
const OUTPUT: usize = 500;

/// The result of a grader for a record.
struct RecordedVerdict<'a> {
    pass: bool,
    score: f64,
    reasoning: &'a str,
}

fn verdict(record: &JsonRecord) -> Option<RecordedVerdict<'_>> {
    let score = record.get("score")?.as_object()?;
    Some(RecordedVerdict {
        pass: score.get("pass")?.as_bool()?,
        score: score.get("score")?.as_f64()?,
        reasoning: text_of(score, "reasoning"),
    })
}

/// The milliseconds that a record took.
fn duration(record: &JsonRecord) -> Result<f64, String> {
    let total = record.get("timing").and_then(|timing| timing.get("total")).and_then(Value::as_f64);
    total.ok_or_else(|| "`timing.total` is missing".to_owned())
}

/// A line a record.
pub(crate) fn jsonl(records: &[JsonRecord]) -> String {
    records.iter().map(to_json).collect::<Vec<_>>().join("\n")
}

/// The head of the table, and whether its records are graded.
fn csv_head(records: &[JsonRecord]) -> (&'static str, bool) {
    if records.iter().any(|record| record.contains_key("score")) {
        ("id,input,hint,output,tool_errors,duration_ms,pass,score,reasoning", true)
    } else {
        ("id,input,hint,output,tool_errors,duration_ms", false)
    }
}

/// A table with a row a record. An error says which record has no duration.
pub(crate) fn csv(records: &[JsonRecord]) -> Result<String, (usize, String)> {
    let (head, is_graded) = csv_head(records);
    let mut rows = vec![head.to_owned()];
    for (at, record) in records.iter().enumerate() {
        let mut cells = vec![
            quoted(text_of(record, "id")),
            quoted(&joined_input(record.get("input"), " | ")),
            quoted(text_of(record, "hint")),
            quoted(text_of(record, "output")),
            has_tool_errors(record).to_string(),
            super::json::number(duration(record).map_err(|problem| (at, problem))?),
        ];
        if is_graded {
            cells.extend(match verdict(record) {
                Some(verdict) => {
                    [verdict.pass.to_string(), fixed(verdict.score, 3), quoted(verdict.reasoning)]
                }
                None => [const { String::new() }; 3],
            });
        }
        rows.push(cells.join(","));
    }
    Ok(rows.join("\n"))
}

/// A cell of text. Line breaks are written as `\n`, so that a record is a line.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\"").replace('\n', "\\n"))
}

/// A report. `generated` is the time, RFC 3339.
pub(crate) fn markdown(records: &[JsonRecord], generated: &str) -> String {
    let mut text = format!(
        "# Evaluation Results\n\nGenerated: {generated}\nTotal: {} test cases\n\n",
        records.len()
    );
    let graded: Vec<RecordedVerdict<'_>> = records.iter().filter_map(verdict).collect();
    if !graded.is_empty() {
        let passed = graded.iter().filter(|verdict| verdict.pass).count();
        let sum: f64 = graded.iter().map(|verdict| verdict.score).sum();
        let count = graded.len() as f64;
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "## Summary\n\n- **Pass rate**: {passed}/{} ({})\n- **Average score**: {}\n\n",
            graded.len(),
            percent(passed as f64 / count),
            fixed(sum / count, 3)
        );
    }
    text.push_str("## Results\n\n");
    for record in records {
        write_record(&mut text, record);
    }
    text.truncate(text.trim_end().len());
    text
}

fn write_record(to: &mut String, record: &JsonRecord) {
    let mut block = |lines: &str| {
        to.push_str(lines);
        to.push_str("\n\n");
    };
    block(&format!("### {}", text_of(record, "id")));
    block(&format!("**Input**: {}", shortened(&joined_input(record.get("input"), " → "), INPUT)));
    let hint = text_of(record, "hint");
    if !hint.is_empty() {
        block(&format!("**Hint**: {hint}"));
    }
    let output = shortened(text_of(record, "output"), OUTPUT);
    block(&format!("**Output**:\n{}", fenced(&format!("{output}\n"))));
    if let Some(RecordedVerdict { pass, score, reasoning }) = verdict(record) {
        let [sign, word] = if pass { ["✅", "PASS"] } else { ["❌", "FAIL"] };
        let reasoning = if reasoning.is_empty() {
            String::new()
        } else {
            format!("\n**Reasoning**: {reasoning}")
        };
        block(&format!("**Score**: {sign} {} ({word}){reasoning}", fixed(score, 3)));
    }
    if has_tool_errors(record) {
        block("⚠️ **Tool errors detected**");
    }
    let error = text_of(record, "error");
    if !error.is_empty() {
        block(&format!("❌ **Error**: {error}"));
    }
    block("---");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{JsonRecord, csv, jsonl, markdown};

    fn records(values: &Value) -> Vec<JsonRecord> {
        values.as_array().unwrap().iter().map(|value| value.as_object().unwrap().clone()).collect()
    }

    fn two() -> Vec<JsonRecord> {
        records(&json!([
            {"id": "a", "input": ["one", "two"], "output": "say \"hi\"\nand bye", "toolErrors": true,
                "timing": {"total": 12.0}, "score": {"pass": true, "score": 0.0625, "reasoning": "fine"}},
            {"id": "b", "input": "q", "hint": "h", "output": "o", "timing": {"total": 3}, "error": "killed"},
        ]))
    }

    #[test]
    fn tables_have_columns_of_grades_if_anything_is_graded() {
        insta::assert_snapshot!(csv(&two()).unwrap(), @r#"
        id,input,hint,output,tool_errors,duration_ms,pass,score,reasoning
        "a","one | two","","say ""hi""\nand bye",true,12,true,0.063,"fine"
        "b","q","h","o",false,3,,,
        "#);
        let plain = csv(&two()[1..]).unwrap();
        assert_eq!(plain.lines().next(), Some("id,input,hint,output,tool_errors,duration_ms"));
        let untimed = records(
            &json!([{"id": "a", "input": "", "output": "", "timing": {"total": 1}}, {"id": "b"}]),
        );
        assert_eq!(csv(&untimed), Err((1, "`timing.total` is missing".to_owned())));
        assert_eq!(jsonl(&two()[1..]).lines().count(), 1);
    }

    #[test]
    fn reports_show_what_decides() {
        insta::assert_snapshot!(markdown(&two(), "2026-01-01T00:00:00Z"), @r#"
        # Evaluation Results

        Generated: 2026-01-01T00:00:00Z
        Total: 2 test cases

        ## Summary

        - **Pass rate**: 1/1 (100.0%)
        - **Average score**: 0.063

        ## Results

        ### a

        **Input**: one → two

        **Output**:
        ```
        say "hi"
        and bye
        ```

        **Score**: ✅ 0.063 (PASS)
        **Reasoning**: fine

        ⚠️ **Tool errors detected**

        ---

        ### b

        **Input**: q

        **Hint**: h

        **Output**:
        ```
        o
        ```

        ❌ **Error**: killed

        ---
        "#);
        assert!(!markdown(&[], "x").contains("Summary"));
        let fence = records(&json!([{"id": "a", "input": "q", "output": "```\n# not a title"}]));
        assert!(markdown(&fence, "x").contains("````\n```\n# not a title\n````"));
    }
}
