//! Where the records of a dataset were read, for messages.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use evalrs_base::diagnostic::Place;
use evalrs_eval::dataset::split::{RecordStart, record_place, split};
use evalrs_model::spec::DatasetFormat;

/// The files that records were read from, and where each starts.
pub(crate) struct RecordOrigins {
    /// The files, by number.
    pub files: Vec<OriginFile>,
    /// Where the records start: of a file that was not cut whole, once that is wanted.
    starts: OnceCell<Vec<RecordStart>>,
}

pub(crate) struct OriginFile {
    pub path: String,
    pub file: Arc<String>,
}

impl OriginFile {
    /// Its text, without a byte order mark.
    pub(crate) fn text(&self) -> &str {
        without_mark(&self.file)
    }
}

impl RecordOrigins {
    /// Those of files of which nobody knows where their records start.
    pub(crate) fn of(files: Vec<OriginFile>) -> Self {
        Self { files, starts: OnceCell::new() }
    }

    pub(crate) fn with_starts(self, starts: Vec<RecordStart>) -> Self {
        Self { starts: OnceCell::from(starts), ..self }
    }

    /// Where a record starts.
    pub(crate) fn start(&self, at: usize) -> RecordStart {
        let starts = self.starts.get_or_init(|| {
            let file = self.files.first();
            let rows = file.map(|file| split(&file.path, file.text(), DatasetFormat::Jsonl));
            let rows = rows.and_then(Result::ok).unwrap_or_default();
            rows.iter().map(|row| row.start).collect()
        });
        starts.get(at).copied().unwrap_or_default()
    }

    /// The bytes `span` of the record that starts at `start`; its first line if none, or if the record is not its text.
    pub(crate) fn place(&self, start: RecordStart, span: Option<Range<usize>>) -> Place {
        let Some(file) = self.files.get(start.file as usize) else { return Place::file("") };
        let span = span.filter(|_| !start.is_converted);
        record_place(&file.path, file.text(), start, span)
    }
}

pub(crate) fn without_mark(file: &str) -> &str {
    file.strip_prefix('\u{feff}').unwrap_or(file)
}
