//! Over SQLite itself.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, Row};
use serde_json::{Map, Value, json};

/// See [`super::rows`].
pub(super) fn rows(
    path: &str,
    query: &str,
    most: usize,
) -> Result<Vec<Map<String, Value>>, String> {
    let reason = |error: Error| error.to_string();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(reason)?;
    let mut statement = connection.prepare(query).map_err(reason)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = statement.query([]).map_err(reason)?;
    let mut rows = Vec::new();
    let mut size = 0;
    while let Some(row) = found.next().map_err(reason)? {
        let row = read(row, &names).map_err(reason)?;
        size += row.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
        if size > most {
            return Err(format!("it holds more than {most} bytes of text"));
        }
        rows.push(row);
    }
    Ok(rows)
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

    use super::rows;

    /// A database in a file, and somebody who has it open and has written what is not in the file itself yet.
    struct OpenDatabase {
        folder: tempfile::TempDir,
        writer: Connection,
    }

    fn database() -> OpenDatabase {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join("d.db")).unwrap();
        writer
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
                 CREATE TABLE t (a TEXT, b INT, c REAL, d BLOB);
                 INSERT INTO t VALUES ('x', 1, 0.5, x'00'), (NULL, -9007199254740993, 1e300, NULL);",
            )
            .unwrap();
        OpenDatabase { folder, writer }
    }

    impl OpenDatabase {
        fn path(&self) -> String {
            self.folder.path().join("d.db").to_str().unwrap().to_owned()
        }
    }

    #[test]
    fn rows_that_a_writer_has_not_checkpointed_are_read() {
        let database = database();
        let expected = json!([
            {"a": "x", "b": 1, "c": 0.5, "d": null},
            {"a": null, "b": -9_007_199_254_740_993_i64, "c": 1e300, "d": null},
        ]);
        let found = rows(&database.path(), "SELECT * FROM t ORDER BY rowid", 100).unwrap();
        assert_eq!(serde_json::to_value(found).unwrap(), expected);
        // Nor does a transaction of somebody else show before its end, or keep anybody waiting.
        database.writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM t;").unwrap();
        assert_eq!(rows(&database.path(), "SELECT * FROM t", 100).unwrap().len(), 2);
        database.writer.execute_batch("COMMIT").unwrap();
        assert!(rows(&database.path(), "SELECT * FROM t", 100).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let database = database();
        let path = database.path();
        let no_database = database.folder.path().join("n.db");
        for (path, query, expected) in [
            (path.as_str(), "SELECT * FROM u", "no such table: u"),
            (path.as_str(), "SELECT 'abc' AS a", "more than 2 bytes of text"),
            (path.as_str(), "DELETE FROM t", "readonly"),
            (no_database.to_str().unwrap(), "SELECT 1", "unable to open"),
        ] {
            let error = rows(path, query, 2).unwrap_err();
            assert!(error.contains(expected), "{query}: {error}");
        }
        assert_eq!(rows(&path, "SELECT count(*) AS n FROM t", 2).unwrap()[0]["n"], Value::from(2));
    }
}
