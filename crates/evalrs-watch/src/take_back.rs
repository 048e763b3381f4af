//! Taking a save back: which files are written for it, and what they have to say until then.
//!
//! Whatever is written over is in one of the saves, so that it can be taken back as well. A file that says anything else was
//! edited since: then nothing is written at all.

use std::sync::Arc;

use super::save_texts::SaveTexts;
use evalrs_system::{FileBytes, System};

/// What some editors begin a file with. Texts are read without it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file to be reverted to its text in a save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The file.
    pub path: String,
    /// Its text when it was read last.
    pub expected: Arc<str>,
    /// What it is to say.
    pub text: Arc<str>,
}

/// The files whose text in `wanted` differs from the last one read; `newest_first` are the texts of all saves.
pub(super) fn edits(wanted: &SaveTexts, newest_first: &[&SaveTexts]) -> Vec<FileEdit> {
    let edits = wanted.files().filter_map(|(path, text)| {
        let expected = newest_first.iter().find_map(|texts| texts.file(path))?;
        (expected != text).then(|| FileEdit {
            path: path.clone(),
            expected: Arc::clone(expected),
            text: Arc::clone(text),
        })
    });
    edits.collect()
}

/// Writes the files, each of them whole, if none says anything else than expected. An error is a sentence.
pub fn write_edits(system: &dyn System, edits: &[FileEdit]) -> Result<(), String> {
    let starts = edits.iter().map(|edit| checked(system, edit)).collect::<Result<Vec<_>, _>>()?;
    for (edit, start) in edits.iter().zip(starts) {
        let contents = [start, edit.text.as_bytes()].concat();
        system
            .write(&edit.path, &mut |file| file.write_all(&contents))
            .map_err(|error| format!("the save is not reverted: {error}"))?;
    }
    Ok(())
}

/// What the file begins with, if it says what is expected, or what it is to say. One that is gone can be written: nothing is
/// lost.
fn checked(system: &dyn System, edit: &FileEdit) -> Result<&'static [u8], String> {
    let FileEdit { path, expected, text } = edit;
    let bytes = match system.read(path) {
        FileBytes::Missing => return Ok(&[]),
        FileBytes::Folder => return Err(format!("nothing is written: `{path}` is a folder")),
        FileBytes::Unreadable(reason) => return Err(format!("nothing is written: {reason}")),
        FileBytes::Bytes(bytes) => bytes,
    };
    let after_mark = bytes.strip_prefix(BYTE_ORDER_MARK);
    let found = after_mark.unwrap_or(&bytes);
    if [expected, text].iter().any(|known| known.as_bytes() == found) {
        return Ok(if after_mark.is_some() { BYTE_ORDER_MARK } else { &[] });
    }
    Err(format!("nothing is written: `{path}` was edited since, and no save has its current text"))
}

#[cfg(test)]
mod tests {
    use super::{FileEdit, write_edits};
    use evalrs_system::memory::MemorySystem;
    use evalrs_system::{FileBytes, System};

    fn edit(path: &str) -> FileEdit {
        FileEdit { path: path.to_owned(), expected: "new".into(), text: "old".into() }
    }

    /// What two files say after both were taken back.
    fn taken_back(one: Option<&str>, two: Option<&str>) -> (Result<(), String>, [FileBytes; 2]) {
        let system = MemorySystem::default();
        for (path, text) in [("one", one), ("two", two)] {
            if let Some(text) = text {
                system.set(path, text);
            }
        }
        let written = write_edits(&system, &[edit("one"), edit("two")]);
        (written, ["one", "two"].map(|path| system.read(path)))
    }

    #[test]
    fn files_are_written_over_only_if_they_say_what_a_save_said() {
        let text = |text: &str| FileBytes::Bytes(text.as_bytes().to_vec());
        for (one, two, expected) in [
            (Some("new"), Some("new"), ["old", "old"]),
            (Some("old"), Some("\u{feff}new"), ["old", "\u{feff}old"]),
            (None, Some("new"), ["old", "old"]),
        ] {
            assert_eq!(taken_back(one, two), (Ok(()), expected.map(text)), "{one:?} {two:?}");
        }
        let (written, files) = taken_back(Some("new"), Some("newer"));
        assert!(written.is_err_and(|why| why.contains("`two` was edited since")));
        assert_eq!(files, [text("new"), text("newer")]);
    }
}
