//! What knows nothing of evaluation: diagnostics, files and clock behind a trait, patterns, tokens, prices.

pub mod diagnostic;
pub(crate) mod glob;
pub mod path;
pub(crate) mod price;
pub(crate) mod python;
pub mod system;
pub(crate) mod threshold;
pub(crate) mod tokens;
pub(crate) mod typescript;
