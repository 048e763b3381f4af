//! What is imported: a file or folder of another tool, and the files that it names.
//!
//! Every text that is read is searched for live keys, so that no importer can forget to.

use std::cell::{OnceCell, RefCell};

use serde_json::{Map, Value};

use super::secrets::{FoundSecret, SecretFindings};
use evalrs_base::file_path::{folder_of, join};
use evalrs_system::FileBytes;

/// The most bytes of a file that are looked at to recognize it.
pub(super) const HEAD: usize = 64 * 1024;

/// Files by their paths; the edge reads them, and refuses those that a source has no business with.
pub trait SourceFiles {
    /// Reads a file.
    fn read(&self, path: &str) -> FileBytes;
    /// The first bytes of a file, at most so many.
    fn beginning(&self, path: &str, most: usize) -> Result<Vec<u8>, String> {
        let mut bytes = self.read(path).into_bytes()?;
        bytes.truncate(most);
        Ok(bytes)
    }
    /// The names in a folder, sorted; none if it is not a folder.
    fn list(&self, folder: &str) -> Option<Vec<String>>;
    /// The rows that `query` has of a database of SQLite, by the names of their columns; or why there are none. Each `?` in it
    /// stands for one of `texts`.
    fn rows(
        &self,
        database: &str,
        query: &str,
        texts: &[&str],
    ) -> Result<Vec<Map<String, Value>>, String>;
}

/// What a user wants to have imported.
pub struct ImportSource<'a> {
    /// The file or folder, as the user names it.
    pub path: String,
    files: &'a dyn SourceFiles,
    /// Read once, however many ask for it.
    head: OnceCell<Vec<u8>>,
    secrets: RefCell<SecretFindings>,
}

impl<'a> ImportSource<'a> {
    pub fn new(path: impl Into<String>, files: &'a dyn SourceFiles) -> Self {
        Self { path: path.into(), files, head: OnceCell::new(), secrets: RefCell::default() }
    }

    /// Whether it is a folder.
    pub(crate) fn is_folder(&self) -> bool {
        self.files.list(&self.path).is_some()
    }

    /// The folder that paths in the source start from.
    pub fn folder(&self) -> &str {
        if self.is_folder() { &self.path } else { folder_of(&self.path) }
    }

    /// The names in a folder, sorted; none if it is not a folder.
    pub fn list(&self, folder: &str) -> Option<Vec<String>> {
        self.files.list(folder)
    }

    /// The bytes of a file, or why there are none. Live keys in it are not noticed: texts are read by [`Self::text`].
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.read(path).into_bytes()
    }

    /// The first bytes of a file, at most so many. Live keys in them are not noticed.
    pub(crate) fn beginning(&self, path: &str, most: usize) -> Result<Vec<u8>, String> {
        self.files.beginning(path, most)
    }

    /// Whether a file begins as `is_own` says.
    pub(crate) fn begins(&self, path: &str, is_own: impl Fn(&str) -> bool) -> bool {
        self.bytes(path).is_ok_and(|bytes| {
            is_own(&String::from_utf8_lossy(bytes.get(..HEAD).unwrap_or(&bytes)))
        })
    }

    /// The text of a file, without a byte-order mark, or why there is none. Live keys in it are noted.
    pub fn text(&self, path: &str) -> Result<String, String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        self.note_secrets(path, &text);
        Ok(text)
    }

    /// The first bytes of the source's own file, for those that recognize it.
    pub fn head(&self) -> &[u8] {
        self.head.get_or_init(|| {
            let mut bytes = self.bytes(&self.path).unwrap_or_default();
            bytes.truncate(HEAD);
            bytes.shrink_to_fit();
            bytes
        })
    }

    /// The rows that `query` has of a database of SQLite. Live keys in their texts are noted.
    pub fn rows(
        &self,
        database: &str,
        query: &str,
        texts: &[&str],
    ) -> Result<Vec<Map<String, Value>>, String> {
        let rows = self.files.rows(database, query, texts)?;
        for text in rows.iter().flat_map(Map::values).filter_map(Value::as_str) {
            self.secrets.borrow_mut().search_part(database, text);
        }
        Ok(rows)
    }

    /// The path of `name` in the source's folder.
    pub fn beside(&self, name: &str) -> String {
        join(self.folder(), name)
    }

    /// Looks for live keys in a text that did not come through [`Self::text`], such as a member of an archive.
    pub(crate) fn note_secrets(&self, file: &str, text: &str) {
        self.secrets.borrow_mut().search(file, text);
    }

    /// Says that a value in a place that is for keys is left out, whatever it looks like.
    pub(crate) fn note_secret(&self, secret: FoundSecret, value: &str) {
        self.secrets.borrow_mut().add(secret, value);
    }

    /// Whether a text holds one of the keys that were found so far.
    pub(crate) fn holds_secret(&self, text: &str) -> bool {
        self.secrets.borrow().is_in(text)
    }

    /// What was found.
    pub fn into_secrets(self) -> SecretFindings {
        self.secrets.into_inner()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Map, Value};

    use super::SourceFiles;
    use evalrs_system::FileBytes;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    /// Files in memory.
    impl SourceFiles for MemorySystem {
        fn read(&self, path: &str) -> FileBytes {
            System::read(self, path)
        }

        fn list(&self, folder: &str) -> Option<Vec<String>> {
            System::list(self, folder)
        }

        /// What the file holds as JSON in place of tables: lists of rows under the names that the query selects from. With a
        /// text those in which it stands.
        fn rows(
            &self,
            database: &str,
            query: &str,
            texts: &[&str],
        ) -> Result<Vec<Map<String, Value>>, String> {
            let bytes = System::read(self, database).into_bytes()?;
            let tables: Map<String, Value> =
                serde_json::from_slice(&bytes).map_err(|_| "file is not a database".to_owned())?;
            let table = query.split_once(" FROM ").and_then(|(_, rest)| rest.split(' ').next());
            let rows = table.and_then(|table| tables.get(table)).cloned();
            let rows = rows.ok_or_else(|| format!("no such table in `{query}`"))?;
            let rows: Vec<Map<String, Value>> =
                serde_json::from_value(rows).map_err(|error| error.to_string())?;
            let is_wanted = |row: &Map<String, Value>| {
                texts.iter().all(|text| row.values().any(|value| value == text))
            };
            Ok(rows.into_iter().filter(is_wanted).collect())
        }
    }
}
