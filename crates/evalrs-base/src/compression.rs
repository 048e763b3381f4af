//! Files that are compressed, or tables in Parquet: what their names say, and their bytes as they were, within a limit.
//!
//! A file of some kilobytes may stand for a terabyte. What is taken out is counted while it is, and nothing is kept beyond
//! the limit.

pub mod error;
#[cfg(feature = "parquet")]
mod parquet;

use std::io::Read;

pub use error::NO_PARQUET;
pub(crate) use error::UnpackError;

/// The most bytes that the compressed files of a dataset may stand for, all together.
pub const MAX_UNPACKED: usize = 2 << 30;

/// Whether this build reads Parquet.
pub const READS_PARQUET: bool = cfg!(feature = "parquet");

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstandard,
    /// Apache Parquet: its rows are read as JSON Lines.
    Parquet,
}

impl Compression {
    /// What the end of a name says.
    pub fn of_name(path: &str) -> Option<Self> {
        let extension = path.rsplit_once('.')?.1;
        let is = |name: &str| extension.eq_ignore_ascii_case(name);
        match extension {
            _ if is("gz") => Some(Self::Gzip),
            _ if is("zst") || is("zstd") => Some(Self::Zstandard),
            _ if is("parquet") => Some(Self::Parquet),
            _ => None,
        }
    }

    /// A name without the ending that says that it is compressed.
    pub fn stripped(path: &str) -> &str {
        match Self::of_name(path) {
            Some(_) => path.rsplit_once('.').map_or(path, |(before, _)| before),
            None => path,
        }
    }

    /// The decompressed bytes of `packed`, if there are at most `limit`.
    pub(crate) fn unpack(self, packed: &[u8], limit: usize) -> Result<Vec<u8>, UnpackError> {
        match self {
            Self::Gzip => {
                let decoder = flate2::read::MultiGzDecoder::new(packed);
                read_into(room_for(packed, limit), decoder, limit)
            }
            Self::Zstandard => {
                let decoder = zstd::stream::read::Decoder::with_buffer(packed);
                read_within(decoder.map_err(UnpackError::Damaged)?, limit)
            }
            #[cfg(feature = "parquet")]
            Self::Parquet => parquet::json_lines(packed, limit),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => Err(UnpackError::NoParquet),
        }
    }
}

/// The bytes of the file at `path` as they were before it was compressed, if its name says that it is.
pub fn unpacked(path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    unpacked_within(path, bytes, &mut MAX_UNPACKED.clone())
}

/// The same, if there are at most `left` bytes, the rest of a limit for several, from which they are
/// subtracted.
pub fn unpacked_within(path: &str, bytes: Vec<u8>, left: &mut usize) -> Result<Vec<u8>, String> {
    let Some(compression) = Compression::of_name(path) else { return Ok(bytes) };
    let unpacked = compression.unpack(&bytes, *left).map_err(|error| error.to_string())?;
    *left -= unpacked.len();
    Ok(unpacked)
}

/// The most bytes that one byte of a gzip file may stand for.
const MOST_OF_BYTE: usize = 1032;

/// Room for the content of a gzip file, by the size at its end: if it grew, a large text would be in memory twice. What it
/// says may be wrong, and then the room is not used.
fn room_for(packed: &[u8], limit: usize) -> Vec<u8> {
    let told = packed.last_chunk().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    let most = packed.len().saturating_mul(MOST_OF_BYTE).min(limit);
    let mut room = Vec::new();
    // Without room it grows.
    let _ = room.try_reserve_exact(told.min(most));
    room
}

/// The whole output of a decoder, if it has at most `limit` bytes.
pub(crate) fn read_within(decoder: impl Read, limit: usize) -> Result<Vec<u8>, UnpackError> {
    read_into(Vec::new(), decoder, limit)
}

/// The same, read into an empty text.
fn read_into(mut bytes: Vec<u8>, decoder: impl Read, limit: usize) -> Result<Vec<u8>, UnpackError> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(most).read_to_end(&mut bytes).map_err(UnpackError::Damaged)?;
    if bytes.len() > limit { Err(UnpackError::TooLarge(limit)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::Compression;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn names_say_how_a_file_is_compressed() {
        for (name, expected, stripped) in [
            ("a.jsonl.gz", Some(Compression::Gzip), "a.jsonl"),
            ("a.JSON.ZST", Some(Compression::Zstandard), "a.JSON"),
            ("gz", None, "gz"),
            ("a.parquet", Some(Compression::Parquet), "a"),
            ("a.jsonl", None, "a.jsonl"),
        ] {
            let found = Compression::of_name(name);
            assert_eq!(found, expected, "{name}");
            assert_eq!(Compression::stripped(name), stripped);
        }
    }

    #[test]
    fn bytes_come_back_within_the_limit_and_bombs_do_not() {
        let text = "{\"a\": 1}\n".repeat(1_000).into_bytes();
        let zstd = zstd::encode_all(&text[..], 3).unwrap();
        // Both may be written in parts, one after the other.
        let parts = [gzip(&text[..4_500]), gzip(&text[4_500..])].concat();
        for (kind, packed) in [
            (Compression::Gzip, &gzip(&text)),
            (Compression::Gzip, &parts),
            (Compression::Zstandard, &zstd),
        ] {
            assert_eq!(kind.unpack(packed, text.len()).unwrap(), text);
            let problem = kind.unpack(packed, text.len() - 1).unwrap_err();
            assert_eq!(problem.to_string(), "the decompressed size exceeds 0 MB");
            let cut = kind.unpack(&packed[..packed.len() - 9], 1 << 20).unwrap_err();
            assert!(cut.to_string().starts_with("its content does not match its name"), "{cut}");
        }
        let whole = Compression::Gzip.unpack(&gzip(&text), 1 << 20).unwrap();
        assert_eq!(whole.capacity(), text.len(), "it never grew");
        let mut lying = gzip(&text);
        let size = lying.len() - 4;
        lying[size..].fill(0xff);
        assert!(Compression::Gzip.unpack(&lying, 1 << 20).is_err());
        let bomb = gzip(&vec![b' '; 64 << 20]);
        assert!(bomb.len() < 1 << 20);
        assert!(Compression::Gzip.unpack(&bomb, 1 << 20).is_err());
        assert!(Compression::Gzip.unpack(b"no archive", 1 << 20).is_err());
    }
}
