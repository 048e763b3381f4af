//! Rows of databases of SQLite, in builds with the feature `sqlite`. They are read as of one moment, also while others write.

#[cfg(feature = "sqlite")]
mod sqlite;

use serde_json::{Map, Value};

/// What `query` finds in the database in the file `path`, each row by the names of its columns; an error if that is more than
/// `most` bytes of text.
pub(crate) fn rows(
    path: &str,
    query: &str,
    most: usize,
) -> Result<Vec<Map<String, Value>>, String> {
    #[cfg(feature = "sqlite")]
    return sqlite::rows(path, query, most);
    #[cfg(not(feature = "sqlite"))]
    {
        let _ = (path, query, most);
        Err("this build of evalrs does not read SQLite: `cargo install` it with `--features sqlite`".to_owned())
    }
}
