//! Reads files of judgments that were made elsewhere.

use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::path::Row;
use evalrs_engine::session::shortened::shortened;
use evalrs_eval::dataset::split::{self, RecordStart};
use evalrs_eval::votes::judgments::{Judgment, JudgmentLayout, JudgmentReader};
use evalrs_model::spec::DatasetFormat;
use evalrs_system::FileBytes;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::Error;

pub(super) fn read(path: &str, console: &Console<'_>) -> Result<Vec<u8>, Error> {
    bytes_of(path, console.system.read(path))
}

/// What was read of the file at `path`.
pub(super) fn bytes_of(path: &str, read: FileBytes) -> Result<Vec<u8>, Error> {
    read.into_bytes().map_err(|reason| {
        Error::plain(format!("cannot read `{path}`: {reason}"), "nothing was imported")
    })
}

/// Hands the judgments of a file over, one by one. Gives everything that is wrong with the file or refused.
pub(super) fn each_judgment(
    path: &str,
    bytes: &[u8],
    layout: &JudgmentLayout,
    take: &mut dyn FnMut(Judgment, RecordStart) -> Result<(), String>,
) -> Result<(), Vec<Diagnostic>> {
    let text = split::decode(path, bytes).map_err(|problem| vec![problem])?;
    let format = DatasetFormat::of_name(path).unwrap_or(DatasetFormat::Jsonl);
    let rows = split::split(path, text, format)?;
    let reader = JudgmentReader::new(layout, &rows.iter().map(|row| row.text.as_ref()));
    let mut problems = Vec::new();
    for row in &rows {
        let mut problem = |message: String| {
            let place = split::line_place(path, text, row.start);
            problems.push(Diagnostic::error(place, message));
        };
        match reader.judgments(Row::new(&row.text)) {
            Ok(read) => read
                .into_iter()
                .for_each(|judgment| take(judgment, row.start).unwrap_or_else(&mut problem)),
            Err(message) => problem(message),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(shortened(problems)) }
}
