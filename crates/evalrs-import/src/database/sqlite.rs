//! Over SQLite itself.

use std::path::Path;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Row, params_from_iter};
use serde_json::{Map, Value, json};

use super::database_rows::DatabaseRows;

/// What a value takes beside its text, in bytes.
const CELL: usize = 64;

/// The longest value or row, in bytes.
const LONGEST: i32 = 256 << 20;

/// What a query may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryLimits {
    /// The bytes of its rows.
    pub bytes: usize,
    /// Steps of SQLite, in thousands.
    pub steps: u32,
}

/// See [`super::rows`]; an error where that takes more than `most`.
pub(super) fn rows(
    path: &str,
    query: &str,
    texts: &[&str],
    most: QueryLimits,
) -> Result<DatabaseRows, String> {
    let reason = |error: Error| match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            format!("reading it takes more than {} thousand steps: a view may not end", most.steps)
        }
        Some(ErrorCode::TooBig) => format!("it has a value of more than {} MB", LONGEST >> 20),
        _ => error.to_string(),
    };
    let mut connection = open(path).map_err(reason)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST).map_err(reason)?;
    let mut left = most.steps;
    let is_enough = move || {
        left = left.saturating_sub(1);
        left == 0
    };
    connection.progress_handler(1_000, Some(is_enough)).map_err(reason)?;
    let mut statement = connection.prepare(query).map_err(reason)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = statement.query(params_from_iter(texts)).map_err(reason)?;
    let mut all = DatabaseRows::default();
    while let Some(row) = found.next().map_err(reason)? {
        let row = read(row, &names).map_err(reason)?;
        let texts = row.values().filter_map(Value::as_str);
        all.bytes += texts.map(str::len).sum::<usize>() + row.len() * CELL;
        if all.bytes > most.bytes {
            return Err(format!("it has more than {} bytes", most.bytes));
        }
        all.rows.push(row);
    }
    Ok(all)
}

/// Opens a database to be read, and leaves nothing beside it. Where no log of its writers is there, the file says everything;
/// only then can it be opened in a folder in which nothing may be written.
fn open(path: &str) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if Path::new(&format!("{path}-wal")).exists() {
        return Connection::open_with_flags(path, flags);
    }
    let uri = format!("file:{}?immutable=1", in_uri(path));
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}

/// An absolute path as a URI has it.
fn in_uri(path: &str) -> String {
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path };
    // `C:/x` is `/C:/x` there.
    if path.starts_with('/') { path } else { format!("/{path}") }
}

fn read(row: &Row<'_>, names: &[String]) -> Result<Map<String, Value>, Error> {
    let value = |(at, name): (usize, &String)| Ok((name.clone(), json_of(row.get_ref(at)?)));
    names.iter().enumerate().map(value).collect()
}

fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde_json::{Value, json};

    use super::{DatabaseRows, QueryLimits, rows};
    use evalrs_system::System;
    use evalrs_system::os::OsSystem;

    fn bytes(bytes: usize) -> QueryLimits {
        QueryLimits { bytes, steps: 1_000 }
    }

    /// A database in a file, and somebody who has it open and has written what is not in the file itself yet.
    struct OpenDatabase {
        folder: tempfile::TempDir,
        name: &'static str,
        writer: Connection,
    }

    fn database(name: &'static str) -> OpenDatabase {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join(name)).unwrap();
        writer
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
                 CREATE TABLE t (a TEXT, b INT, c REAL, d BLOB);
                 CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;
                 INSERT INTO t VALUES ('x', 1, 0.5, x'00'), (NULL, -9007199254740993, 1e300, NULL);",
            )
            .unwrap();
        OpenDatabase { folder, name, writer }
    }

    impl OpenDatabase {
        fn path(&self) -> String {
            self.folder.path().join(self.name).to_str().unwrap().to_owned()
        }

        fn rows(&self, query: &str, texts: &[&str]) -> DatabaseRows {
            rows(&self.path(), query, texts, bytes(10_000)).unwrap()
        }
    }

    #[test]
    fn rows_that_a_writer_has_not_checkpointed_are_read() {
        let database = database("d.db");
        let expected = json!([
            {"a": "x", "b": 1, "c": 0.5, "d": null},
            {"a": null, "b": -9_007_199_254_740_993_i64, "c": 1e300, "d": null},
        ]);
        let found = database.rows("SELECT * FROM t ORDER BY rowid", &[]).rows;
        assert_eq!(serde_json::to_value(found).unwrap(), expected);
        assert_eq!(database.rows("SELECT b FROM t WHERE a = ?", &["x"]).rows.len(), 1);
        assert_eq!(database.rows("SELECT b FROM t WHERE a = ?", &["' OR 1"]).rows.len(), 0);
        // Nor does a transaction of somebody else show before its end, or keep anybody waiting.
        database.writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM t;").unwrap();
        assert_eq!(database.rows("SELECT * FROM t", &[]).rows.len(), 2);
        database.writer.execute_batch("COMMIT").unwrap();
        assert!(database.rows("SELECT * FROM t", &[]).rows.is_empty());
    }

    #[test]
    fn a_database_that_nobody_writes_is_left_as_it_is() {
        let database = database("odd %41 ?#.db");
        let path = database.path();
        drop(database.writer);
        assert_eq!(rows(&path, "SELECT a FROM t", &[], bytes(10_000)).unwrap().rows.len(), 2);
        let names = OsSystem.list(database.folder.path().to_str().unwrap());
        assert_eq!(names.unwrap(), ["odd %41 ?#.db"]);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let database = database("d.db");
        let path = database.path();
        let no_database = database.folder.path().join("n.db");
        for (path, query, expected) in [
            (path.as_str(), "SELECT * FROM u", "no such table: u"),
            (path.as_str(), "SELECT 'abc' AS a", "more than 66 bytes"),
            (path.as_str(), "DELETE FROM t", "readonly"),
            (no_database.to_str().unwrap(), "SELECT 1", "unable to open"),
            (&path, "SELECT count(*) FROM endless", "takes more than 1000 thousand steps"),
            (&path, "SELECT zeroblob(300000000)", "a value of more than 256 MB"),
        ] {
            let error = rows(path, query, &[], bytes(66)).unwrap_err();
            assert!(error.contains(expected), "{query}: {error}");
        }
        let found = rows(&path, "SELECT count(*) AS n FROM t", &[], bytes(66)).unwrap();
        assert_eq!((&found.rows[0]["n"], found.bytes), (&Value::from(2), 64));
    }
}
