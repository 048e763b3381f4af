//! Why a compressed file cannot be unpacked.

/// What builds without the feature say of Parquet.
pub const NO_PARQUET: &str =
    "this build of evalrs does not read Parquet: `cargo install` it with `--features parquet`";

/// Why a file cannot be taken out of what it is compressed to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    /// The limit was reached.
    #[error("the decompressed size exceeds {} MB", .0 >> 20)]
    TooLarge(usize),
    /// It is damaged, or something else.
    #[error("its content does not match its name, or it is damaged: {0}")]
    Damaged(std::io::Error),
    /// The build leaves it out.
    #[cfg_attr(feature = "parquet", expect(dead_code, reason = "reported by builds without it"))]
    #[error("{NO_PARQUET}")]
    NoParquet,
}
