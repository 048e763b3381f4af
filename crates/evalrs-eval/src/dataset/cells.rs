//! Cuts a CSV or TSV file into records: one JSON object of strings a row, empty cells left out.
//!
//! Cells are text as written; what JSON may stand in them is `fields`' business. Spaces around the names of
//! columns mean nothing, spaces in cells do.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::fields::is_field;
use super::raw_record::{
    LineCounter, RECORD_LIMIT, RawRecord, RecordStart, line_place, record_place, too_long,
};
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_model::spec::DatasetFormat;

/// What separates cells, and whether quotes mean something.
#[derive(Clone, Copy, Debug)]
struct CellDialect {
    separator: u8,
    has_quotes: bool,
}

impl CellDialect {
    /// That of a file. In one with tabs, quotes are characters like others unless all of them are used as in CSV: some
    /// write such files without ever quoting. Spreadsheets write semicolons where a comma is the decimal sign.
    fn of(text: &str, format: DatasetFormat) -> Self {
        let quoted = Self { separator: b'\t', has_quotes: true };
        let header = || text.lines().find(|line| !line.is_empty()).unwrap_or_default();
        match format {
            DatasetFormat::Tsv => Self { has_quotes: !has_slip(text, quoted), ..quoted },
            _ if header().contains(';') && !header().contains(',') => {
                Self { separator: b';', ..quoted }
            }
            _ => Self { separator: b',', ..quoted },
        }
    }

    fn reader(self) -> csv::ReaderBuilder {
        let mut builder = csv::ReaderBuilder::new();
        builder.flexible(true).delimiter(self.separator).quoting(self.has_quotes);
        builder
    }

    fn separators(self) -> &'static str {
        match self.separator {
            b'\t' => "tabs",
            b';' => "semicolons",
            _ => "commas",
        }
    }
}

/// Whether a quote of the file is not as it must be.
fn has_slip(text: &str, dialect: CellDialect) -> bool {
    let mut reader = dialect.reader().has_headers(false).from_reader(text.as_bytes());
    let mut row = csv::StringRecord::new();
    let mut from = 0;
    while reader.read_record(&mut row).is_ok_and(|has_more| has_more) {
        let end = (reader.position().byte() as usize).min(text.len());
        let from_line = skip_blank_lines(text, from).min(end);
        if text.get(from_line..end).is_some_and(|row| quote_slip(row, dialect).is_some()) {
            return true;
        }
        from = end;
    }
    false
}

/// The rows under the header, or everything that is wrong with the file's shape.
pub(super) fn rows<'a>(
    path: &str,
    text: &'a str,
    format: DatasetFormat,
) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    let dialect = CellDialect::of(text, format);
    let mut reader = dialect.reader().from_reader(text.as_bytes());
    let headers = match reader.headers() {
        Ok(headers) => names_of(headers),
        Err(error) => return Err(vec![bad_csv(path, text, &error)]),
    };
    check_headers(path, text, &headers, dialect)?;
    let headers = unique(headers);
    let mut records = Vec::new();
    let mut problems = Vec::new();
    let mut lines = LineCounter::default();
    let mut row = csv::StringRecord::new();
    loop {
        let offset = skip_blank_lines(text, reader.position().byte() as usize);
        match reader.read_record(&mut row) {
            Ok(false) => break,
            Err(error) => {
                problems.push(bad_csv(path, text, &error));
                break;
            }
            Ok(true) => {}
        }
        let end = (reader.position().byte() as usize).min(text.len());
        let start = RecordStart { is_converted: true, ..lines.advance(text, offset) };
        let read = CsvRow { bytes: offset..end, cells: row.len(), columns: headers.len(), dialect };
        if let Some(problem) = row_problem(path, text, start, &read) {
            problems.push(problem);
            continue;
        }
        // Empty is absent, but for an agent that said nothing.
        let cells = headers.iter().zip(row.iter());
        let kept = cells.filter(|(name, cell)| !cell.is_empty() || *name == "output");
        let object: Map<String, Value> =
            kept.map(|(name, cell)| (name.clone(), Value::from(cell))).collect();
        if row.iter().any(|cell| !cell.is_empty()) {
            records.push(RawRecord { text: Cow::Owned(Value::Object(object).to_string()), start });
        }
    }
    if problems.is_empty() { Ok(records) } else { Err(problems) }
}

/// The names of the columns; none if the header cannot be read.
pub fn column_names(text: &str, format: DatasetFormat) -> Vec<String> {
    let mut reader = CellDialect::of(text, format).reader().from_reader(text.as_bytes());
    reader.headers().map(|headers| unique(names_of(headers))).unwrap_or_default()
}

/// What is odd about the row that starts at `start`, if it has fewer cells than there are columns: a cell that is not
/// there is empty, but may not have been meant to be.
pub fn short_row(text: &str, start: RecordStart) -> Option<String> {
    let columns = column_names(text, DatasetFormat::Csv).len();
    let rest = text.get(start.offset..)?;
    let dialect = CellDialect::of(text, DatasetFormat::Csv);
    let mut reader = dialect.reader().has_headers(false).from_reader(rest.as_bytes());
    let cells = reader.records().next()?.ok()?.len();
    let plural = if cells == 1 { "" } else { "s" };
    (cells < columns)
        .then(|| format!("the row has {cells} cell{plural}, the header has {columns} columns"))
}

fn names_of(headers: &csv::StringRecord) -> Vec<String> {
    headers.iter().map(|name| name.trim().to_owned()).collect()
}

/// The same with a name of its own for each column: the second `name` is `name.2`, the third `name.3`, where no other column
/// is called so.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = names.iter().cloned().collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let own_name = |name: String| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 || name.is_empty() {
            return name;
        }
        loop {
            let numbered = format!("{name}.{count}");
            if taken.insert(numbered.clone()) {
                return numbered;
            }
            *count += 1;
        }
    };
    names.into_iter().map(own_name).collect()
}

fn check_headers(
    path: &str,
    text: &str,
    headers: &[String],
    dialect: CellDialect,
) -> Result<(), Vec<Diagnostic>> {
    let line = text[..skip_blank_lines(text, 0)].matches('\n').count();
    let first = text.lines().nth(line).unwrap_or_default();
    let place = |name: &str| {
        let from = first.rfind(name).unwrap_or(0);
        Place::in_line(path, line + 1, first, from..from + name.len())
    };
    if let [only] = headers
        && let Some(separator) = [',', '\t', '|'].into_iter().find(|other| only.contains(*other))
    {
        let commas = dialect.separators();
        let message = format!("the header has one column: its names are not separated by {commas}");
        let hint = match separator {
            '\t' => "name a file of tab-separated cells .tsv, or set `format: tsv`".to_owned(),
            other => format!("save the file with {commas} instead of `{other}`"),
        };
        return Err(vec![Diagnostic::error(place(only), message).hint(hint)]);
    }
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for name in headers {
        // Which of two answers is meant is not known; of other columns a suite can name either.
        if is_field(name) && !seen.insert(name) {
            let message = format!("the column `{}` appears twice", clipped(name));
            let problem = Diagnostic::error(place(name), message);
            problems.push(problem.hint("give every column its own name"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

struct CsvRow {
    /// Its place.
    bytes: std::ops::Range<usize>,
    cells: usize,
    /// The columns of the header.
    columns: usize,
    dialect: CellDialect,
}

fn row_problem(path: &str, text: &str, start: RecordStart, row: &CsvRow) -> Option<Diagnostic> {
    let CsvRow { bytes, cells, columns, dialect } = row;
    let written = text.get(bytes.clone()).unwrap_or_default();
    if written.len() > RECORD_LIMIT {
        return Some(too_long(line_place(path, text, start), written.len()));
    }
    if let Some((at, slip)) = quote_slip(written, *dialect) {
        let place = record_place(path, text, start, Some(at..at + 1));
        return Some(slip.diagnostic(place));
    }
    if cells <= columns {
        return None;
    }
    let message = format!("the row has {cells} cells, the header has {columns} columns");
    let problem = Diagnostic::error(line_place(path, text, start), message);
    let breaks = written.trim_end().matches('\n').count();
    Some(if breaks > 0 {
        let last = start.line as usize + breaks;
        problem.hint(format!(
            "a quoted cell carries this row on to line {last}: is one of its quotes never closed?"
        ))
    } else {
        let commas = dialect.separators();
        problem.hint(format!("put cells that contain {commas} or line breaks into double quotes"))
    })
}

/// What is wrong with a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteSlip {
    /// It opens a cell and is never closed.
    Open,
    /// It closes a cell that goes on.
    Inside,
}

impl QuoteSlip {
    fn diagnostic(self, place: Place) -> Diagnostic {
        match self {
            Self::Open => Diagnostic::error(place, "this quoted cell is never closed")
                .label("everything after this quote was read as one cell"),
            Self::Inside => Diagnostic::error(place, "text follows the closing quote of a cell")
                .label("this quote closes the cell"),
        }
        .hint("every quoted cell ends with a quote; a quote inside it is written twice")
    }
}

/// The first quote of a row that is not as it must be. Only a quote that begins a cell means anything.
fn quote_slip(row: &str, dialect: CellDialect) -> Option<(usize, QuoteSlip)> {
    if !dialect.has_quotes {
        return None;
    }
    let bytes = row.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'"' {
            match closing_quote(bytes, at) {
                Some(closing) => at = closing + 1,
                None => return Some((at, QuoteSlip::Open)),
            }
            let is_end = |byte: u8| matches!(byte, b'\n' | b'\r') || byte == dialect.separator;
            if bytes.get(at).is_some_and(|byte| !is_end(*byte)) {
                return Some((at - 1, QuoteSlip::Inside));
            }
        }
        at += memchr::memchr(dialect.separator, bytes.get(at..)?)? + 1;
    }
    None
}

/// The quote that closes the cell whose quote is at `opening`.
fn closing_quote(bytes: &[u8], opening: usize) -> Option<usize> {
    let mut at = opening + 1;
    loop {
        at += memchr::memchr(b'"', bytes.get(at..)?)?;
        match bytes.get(at + 1) {
            Some(b'"') => at += 2,
            _ => return Some(at),
        }
    }
}

fn skip_blank_lines(text: &str, mut offset: usize) -> usize {
    while matches!(text.as_bytes().get(offset), Some(b'\n' | b'\r')) {
        offset += 1;
    }
    offset.min(text.len())
}

fn bad_csv(path: &str, text: &str, error: &csv::Error) -> Diagnostic {
    let place = match error.position() {
        Some(position) => {
            let offset = (position.byte() as usize).min(text.len());
            Place::in_text(path, text, offset..offset)
        }
        None => Place::file(path),
    };
    Diagnostic::error(place, format!("bad CSV: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{CellDialect, QuoteSlip, column_names, quote_slip, rows};
    use evalrs_model::spec::DatasetFormat;

    #[test]
    fn quotes_mean_something_only_at_the_ends_of_a_cell() {
        use QuoteSlip::{Inside, Open};
        for (row, expected) in [
            ("a,b", None),
            ("a,\"b\"", None),
            ("a,\"b\"\r\n", None),
            ("a,\"b", Some((2, Open))),
            ("\"a\"\"", Some((0, Open))),
            ("\"a\"\"\",b", None),
            ("a,5\" pipe", None),
            ("\"a\",5\" pipe,\"c,\n", Some((12, Open))),
            ("\"a,b\",\"\"", None),
            ("\"say \"hi\" now\",b", Some((5, Inside))),
            ("\"", Some((0, Open))),
            ("a,", None),
            ("", None),
        ] {
            assert_eq!(
                quote_slip(row, CellDialect::of("", DatasetFormat::Csv)),
                expected,
                "{row:?}"
            );
        }
    }

    #[test]
    fn cells_are_text_as_written() {
        let text =
            "\r\n id ,input,note\r\n1,\"two\r\nlines, \"\"quoted\"\"\",\r\n\r\n2, 5\" pipe ,x";
        let rows = rows("d.csv", text, DatasetFormat::Csv).expect("good");
        let found: Vec<(u32, &str)> =
            rows.iter().map(|row| (row.start.line, row.text.as_ref())).collect();
        assert_eq!(
            found,
            [
                (3, r#"{"id":"1","input":"two\r\nlines, \"quoted\""}"#),
                (6, r#"{"id":"2","input":" 5\" pipe ","note":"x"}"#),
            ]
        );
    }

    #[test]
    fn columns_of_one_name_are_numbered_unless_they_are_fields() {
        for (text, expected) in [
            ("n,n, n ,x\n1,2,3,4\n", r#"{"n":"1","n.2":"2","n.3":"3","x":"4"}"#),
            ("n,n.2,n\n1,2,3\n", r#"{"n":"1","n.2":"2","n.3":"3"}"#),
            ("n,n,n.2\n1,2,3\n", r#"{"n":"1","n.3":"2","n.2":"3"}"#),
        ] {
            let rows = rows("d.csv", text, DatasetFormat::Csv).expect("good");
            assert_eq!(rows[0].text, expected);
            let names = column_names(text, DatasetFormat::Csv).join(" ");
            assert!(names.starts_with("n n.2 n.3") || names == "n n.3 n.2", "{names}");
        }
        for name in ["output", "prompt", "label"] {
            let text = format!("{name},{name}\na,b\n");
            let problems = rows("d.csv", &text, DatasetFormat::Csv).unwrap_err();
            assert_eq!(problems[0].message, format!("the column `{name}` appears twice"));
        }
    }

    #[test]
    fn quotes_between_tabs_mean_something_where_all_of_them_are_closed() {
        for (text, expected) in [
            ("id\tinput\n1\t\"two\nlines\"\n", r#"{"id":"1","input":"two\nlines"}"#),
            (
                "id\tinput\n1\t\"Hi\" she said, twice\n",
                r#"{"id":"1","input":"\"Hi\" she said, twice"}"#,
            ),
            ("id\tinput\n1\t\"open\n", r#"{"id":"1","input":"\"open"}"#),
        ] {
            let rows = rows("d.tsv", text, DatasetFormat::Tsv).expect("good");
            assert_eq!(rows.iter().map(|row| row.text.as_ref()).collect::<Vec<_>>(), [expected]);
        }
        let semicolons = "\n\"id\";input\n1;\"a; b, c\"\n";
        let read = rows("d.csv", semicolons, DatasetFormat::Csv).expect("good");
        assert_eq!(read[0].text, r#"{"id":"1","input":"a; b, c"}"#);
        let problems = rows("d.csv", "id\tinput\n1\tx\n", DatasetFormat::Csv).unwrap_err();
        assert_eq!(
            problems[0].hint.as_deref(),
            Some("name a file of tab-separated cells .tsv, or set `format: tsv`")
        );
    }
}
