//! Writes the label that a person gives into a file of labels: whole or not at all, one writer at a time.
//!
//! The file is read under the lock, so that two sessions, a page and a session, or an editor that saved before lose nothing.

use evalrs_base::file_path::join;
use evalrs_eval::dataset::label_edit::{LabelChange, LabelEdit, NewLabel, edited, undone};
use evalrs_model::spec::LabelsSpec;
use evalrs_system::file_lock::FileLock;
use evalrs_system::{FileBytes, System};

/// Why a label was not written, a sentence.
#[derive(Debug, PartialEq, Eq)]
pub enum UnwrittenLabel {
    /// What is in the file does not go with it, or evalrs does not write such files.
    Refused(String),
    /// The file system says no.
    Failed(String),
}

impl UnwrittenLabel {
    /// The sentence.
    pub fn into_message(self) -> String {
        match self {
            Self::Refused(message) | Self::Failed(message) => message,
        }
    }
}

/// Whether evalrs writes files of labels like that at `path`; else why not.
pub fn check_writable(path: &str, layout: &LabelsSpec) -> Result<(), UnwrittenLabel> {
    let why = if !layout.is_own_layout() {
        format!(
            "`labels` of the suite describes the format of `{path}`: evalrs writes labels to its own files only"
        )
    } else if !path.to_ascii_lowercase().ends_with(".jsonl") {
        format!("`{path}` is not JSON Lines: evalrs writes labels to `.jsonl` files only")
    } else {
        return Ok(());
    };
    Err(UnwrittenLabel::Refused(why))
}

/// Writes the label into the file at `path`; the lock is in the folder `home`. What the file held before is in the file or was
/// replaced by this label. Returns what it changed.
pub fn write_label(
    system: &dyn System,
    home: &str,
    path: &str,
    label: &NewLabel,
) -> Result<LabelChange, UnwrittenLabel> {
    let mut change = LabelChange::default();
    edit_file(system, home, path, &mut |text| {
        let edit = edited(text, label)?;
        let LabelEdit { text, change: own } = edit;
        change = own;
        Ok(text)
    })?;
    Ok(change)
}

/// Takes back what a label changed in the file at `path`.
pub fn undo_label(
    system: &dyn System,
    home: &str,
    path: &str,
    change: &LabelChange,
) -> Result<(), UnwrittenLabel> {
    edit_file(system, home, path, &mut |text| undone(text, change))
}

fn edit_file(
    system: &dyn System,
    home: &str,
    path: &str,
    edit: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<(), UnwrittenLabel> {
    let _lock = FileLock::wait(&join(home, "labels.lock"))
        .map_err(|error| UnwrittenLabel::Failed(format!("the labels cannot be locked: {error}")))?;
    let text = match system.read(path) {
        FileBytes::Bytes(bytes) => String::from_utf8(bytes)
            .map_err(|_| UnwrittenLabel::Refused(format!("`{path}` is not UTF-8")))?,
        FileBytes::Missing => String::new(),
        FileBytes::Folder => return Err(UnwrittenLabel::Refused(format!("`{path}` is a folder"))),
        FileBytes::Unreadable(reason) => return Err(UnwrittenLabel::Failed(reason)),
    };
    let text = edit(&text).map_err(UnwrittenLabel::Refused)?;
    system
        .write(path, &mut |file| file.write_all(text.as_bytes()))
        .map_err(|error| UnwrittenLabel::Failed(format!("the label is not written: {error}")))
}

/// The name under which a person labels: `EVALRS_WHO`, else the name of the account; none where nobody knows it.
pub fn labeller(environment: impl Fn(&str) -> Option<String>) -> Option<String> {
    let names = ["EVALRS_WHO", "USER", "LOGNAME", "USERNAME"].into_iter();
    names.filter_map(environment).map(|name| name.trim().to_owned()).find(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::labeller;

    #[test]
    fn who_labels_is_who_says_so_else_the_account() {
        for (given, expected) in [
            (&[("EVALRS_WHO", "ann"), ("USER", "root")][..], Some("ann")),
            (&[("EVALRS_WHO", " "), ("USER", "root")][..], Some("root")),
            (&[("USERNAME", "Bob")][..], Some("Bob")),
            (&[][..], None),
        ] {
            let value = |name: &str| {
                given.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(labeller(value).as_deref(), expected);
        }
    }
}
