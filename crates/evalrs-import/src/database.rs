//! Rows of databases of SQLite, in builds with the feature `sqlite`. A query sees one moment, also while others write.

pub mod database_rows;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use database_rows::DatabaseRows;

/// The most bytes of the rows of a query.
#[cfg(feature = "sqlite")]
const MAX_BYTES: usize = 1 << 30;

/// The most steps of SQLite that a query may take, in thousands: some ten seconds. What is a table elsewhere may be a view
/// here, and need not end.
#[cfg(feature = "sqlite")]
const MAX_STEPS: u32 = 1_000_000;

/// What `query` finds in the database in the file `path`. Each `?` in it stands for one of `texts`.
pub fn rows(path: &str, query: &str, texts: &[&str]) -> Result<DatabaseRows, String> {
    #[cfg(feature = "sqlite")]
    return sqlite::rows(
        path,
        query,
        texts,
        sqlite::QueryLimits { bytes: MAX_BYTES, steps: MAX_STEPS },
    );
    #[cfg(not(feature = "sqlite"))]
    {
        let _ = (path, query, texts);
        Err("this build of evalrs does not read SQLite: `cargo install` it with `--features sqlite`".to_owned())
    }
}
