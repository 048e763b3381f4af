//! Cuts a YAML file into records: one for each entry of its list, written as JSON.
//!
//! It is read as suites are: YAML 1.2, bounded depth, bounded aliases, every key once. Nothing is interpolated.

use std::borrow::Cow;

use super::raw_record::{LineCounter, RECORD_LIMIT, RawRecord, RecordStart, line_place, too_long};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::yaml::source::Sources;
use evalrs_base::yaml::tree::{Yaml, YamlNode, parse_part};

/// The largest file that is read, in bytes: its tree takes several times as much memory.
const MAX_BYTES: usize = 32 << 20;

/// The entries of the list that the file is; one record if it is a mapping.
pub(super) fn items<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Diagnostic> {
    let root = tree(path, text)?;
    let Yaml::Seq(items) = &root.value else {
        if root.value == Yaml::Null {
            return Ok(Vec::new());
        }
        let place = place_of(path, text, &root);
        return Err(Diagnostic::error(place, "the dataset is not a YAML list")
            .label("expected `- `")
            .hint("a .yaml dataset is one list of mappings: `- {input: …, output: …}`; `records: PATH` names a list inside a mapping"));
    };
    let mut lines = LineCounter::default();
    let record = |item: &YamlNode| {
        let start = lines.advance(text, (item.span.start as usize).min(text.len()));
        let start = RecordStart { is_converted: true, ..start };
        let json = item.to_json().to_string();
        if json.len() > RECORD_LIMIT {
            return Err(too_long(line_place(path, text, start), json.len()));
        }
        Ok(RawRecord { text: Cow::Owned(json), start })
    };
    items.iter().map(record).collect()
}

pub(super) fn as_json(path: &str, text: &str) -> Result<String, Diagnostic> {
    Ok(tree(path, text)?.to_json().to_string())
}

fn tree(path: &str, text: &str) -> Result<YamlNode, Diagnostic> {
    if text.len() > MAX_BYTES {
        let message = format!(
            "the file is larger than {} MB, the most that is read of YAML",
            MAX_BYTES >> 20
        );
        return Err(Diagnostic::error(Place::file(path), message).hint("write it as JSON Lines"));
    }
    let mut sources = Sources::default();
    let file = sources.add(path, text);
    let mut problems = Vec::new();
    let root = parse_part(text, file, &sources, &mut problems);
    match problems.into_iter().find(Diagnostic::is_error) {
        Some(problem) => Err(problem),
        None => root.ok_or_else(|| Diagnostic::error(Place::file(path), "the file is not YAML")),
    }
}

fn place_of(path: &str, text: &str, node: &YamlNode) -> Place {
    let start = (node.span.start as usize).min(text.len());
    let next = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    Place::in_text(path, text, start..start + next)
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn entries_are_records_and_say_where_they_stand() {
        let text = "# people\n- {id: a, input: no, n: 1}\n- id: b\n  input: |\n    two\n    lines\n  ground_truth: 0.5\n";
        let rows = items("d.yaml", text).expect("good");
        let found: Vec<(u32, &str)> =
            rows.iter().map(|row| (row.start.line, row.text.as_ref())).collect();
        assert_eq!(
            found,
            [
                (2, r#"{"id":"a","input":"no","n":1}"#),
                (3, r#"{"id":"b","input":"two\nlines\n","ground_truth":0.5}"#),
            ]
        );
        assert_eq!(items("d.yaml", "# nothing\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_list_is_said_where_it_stands() {
        let level = |at: u8| {
            let [own, next] = [at, at + 1].map(|at| char::from(b'a' + at));
            format!("- &{next} [{}]\n", vec![format!("*{own}"); 8].join(","))
        };
        let levels: Vec<String> = (0..9).map(level).collect();
        let bomb = format!("- &a [1,1,1,1,1,1,1,1]\n{}", levels.concat());
        for (text, message) in [
            ("a: 1", "the dataset is not a YAML list"),
            ("- a: 1\n  a: 2", "`a` is written twice in this mapping"),
            ("- [", "this `[` is never closed"),
            (&bomb, "the aliases of this file expand to more than 100,000 values"),
            (&"[".repeat(5_000), "lists and mappings are nested deeper than 128 levels"),
        ] {
            assert_eq!(items("d.yaml", text).unwrap_err().message, message);
        }
    }
}
