//! Results as a digest reads them: most of them only counted.

use super::ResultLine;

/// What a digest has to know of a result.
pub enum BriefResult<'a> {
    /// All of it.
    Whole(Box<ResultLine>),
    /// Which grades failed. No grade could not be made or is of nothing, and enough failures are kept already.
    Failed {
        /// Its trial, from 0.
        trial: u32,
        /// The names of the graders.
        graders: Vec<&'a str>,
    },
}

/// Results as a digest reads them, one after the other.
pub type BriefResults<'a> = Box<dyn Iterator<Item = BriefResult<'a>> + 'a>;
