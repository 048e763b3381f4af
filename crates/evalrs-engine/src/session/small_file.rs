//! Small files: suites, rubrics and what else is read as a whole, each with its digest.

use super::digest::FileDigest;
use evalrs_base::diagnostic::Place;
use evalrs_base::file_text::FileText;
use evalrs_base::yaml::source::mask_lines;
use evalrs_eval::dataset::split;
use evalrs_system::{FileBytes, System};

/// The largest suite, rubric or other small file, in bytes.
const SMALL_FILE_LIMIT: usize = 4 << 20;
/// The largest results of a run to compare with, and the largest file of labels, in bytes.
const BIG_FILE_LIMIT: usize = 512 << 20;

/// A suite, rubric or other small file that was read.
#[derive(Clone, Debug)]
pub(crate) struct SmallFile {
    pub text: FileText,
    /// The digest of its bytes, if it could be read.
    pub digest: Option<FileDigest>,
}

impl SmallFile {
    /// Reads the file at `path`. The results of a run may be larger than others.
    pub(crate) fn read(system: &dyn System, path: &str, is_run: bool) -> Self {
        let text = match system.read(path) {
            FileBytes::Missing => FileText::Missing,
            FileBytes::Folder => FileText::Unreadable("it is a folder".to_owned()),
            FileBytes::Unreadable(reason) => FileText::Unreadable(reason),
            FileBytes::Bytes(bytes) => {
                let limit = if is_run { BIG_FILE_LIMIT } else { SMALL_FILE_LIMIT };
                let text = small_text(path, &bytes, limit);
                return Self { text, digest: Some(FileDigest::of(&bytes)) };
            }
        };
        Self { text, digest: None }
    }
}

fn small_text(path: &str, bytes: &[u8], limit: usize) -> FileText {
    if bytes.len() > limit {
        return FileText::Unreadable(format!("it is larger than {} MB", limit >> 20));
    }
    match split::decode(path, bytes) {
        Ok(text) => FileText::Text(text.into()),
        Err(mut diagnostic) => {
            diagnostic.place = diagnostic.place.map(|place| masked(&place, bytes));
            FileText::NoText(Box::new(diagnostic))
        }
    }
}

/// The place with the secrets of its line hidden: suites may hold some.
fn masked(place: &Place, bytes: &[u8]) -> Place {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let line = text.split('\n').nth(place.line.saturating_sub(1)).unwrap_or_default();
    let at = line.char_indices().nth(place.column.saturating_sub(1));
    let span = at.map_or(0..0, |(at, c)| at..at + c.len_utf8());
    let shown = Place::in_line(place.path.as_str(), place.line, &mask_lines(line), span);
    Place { column: place.column, ..shown }
}
