//! Rows of Parquet files as JSON Lines, within a limit.
//!
//! Texts, numbers, lists and records are what JSON has for them; times and decimals are texts, bytes Base64, and numbers that
//! JSON does not have, such as NaN, null.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::error::UnpackError;

/// The rows of the file `bytes`, a line each, if they have at most `limit` bytes.
pub(super) fn json_lines(bytes: &[u8], limit: usize) -> Result<Vec<u8>, UnpackError> {
    // The reader asserts what a damaged file may get wrong. Nothing of it is used afterwards.
    std::panic::catch_unwind(|| read_lines(bytes, limit)).unwrap_or_else(|_| {
        Err(UnpackError::Damaged(std::io::Error::other("its pages contradict each other")))
    })
}

fn read_lines(bytes: &[u8], limit: usize) -> Result<Vec<u8>, UnpackError> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(damaged)?;
    let mut lines = Vec::new();
    for row in reader.get_row_iter(None).map_err(damaged)? {
        let row = row.map_err(damaged)?.to_json_value();
        serde_json::to_writer(&mut lines, &row)
            .map_err(|error| UnpackError::Damaged(error.into()))?;
        lines.push(b'\n');
        if lines.len() > limit {
            return Err(UnpackError::TooLarge(limit));
        }
    }
    Ok(lines)
}

fn damaged(error: ParquetError) -> UnpackError {
    UnpackError::Damaged(std::io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{UnpackError, json_lines};

    const ROWS: &[u8] = include_bytes!("../../../../tests/it/fixtures/rows.parquet");

    #[test]
    fn rows_are_what_json_has_for_them() {
        let lines = String::from_utf8(json_lines(ROWS, 1 << 20).unwrap()).unwrap();
        let rows: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 5);
        let expected = json!({
            "id": "s2", "input": "question 2", "output": "no", "ground_truth": "yes", "n": 2, "share": null,
            "tags": ["a", "b"], "when": "2026-01-01 02:00:00.000000 +00:00", "price": "0.50",
            "meta": {"k": 2, "deep": [{"x": 1}]}, "raw": "AP8=", "none": null,
        });
        assert_eq!(rows[2], expected);
        assert!(matches!(json_lines(ROWS, 300), Err(UnpackError::TooLarge(300))));
    }

    /// Nothing that a file says may end the process.
    #[test]
    fn damaged_files_are_errors() {
        for length in (0..ROWS.len()).step_by(7) {
            assert!(json_lines(&ROWS[..length], 1 << 20).is_err(), "{length} bytes");
        }
        for at in 0..ROWS.len() {
            let mut damaged = ROWS.to_vec();
            damaged[at] ^= 1 << (at % 8);
            let _ = json_lines(&damaged, 1 << 20);
        }
    }
}
