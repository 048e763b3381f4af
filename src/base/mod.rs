//! What knows nothing of evaluation: diagnostics, files and clock behind a trait, patterns, tokens, prices.
//!
//! In the order of who may use whom: each module uses only those before it.

pub(crate) mod compression;
pub(crate) mod archive;
pub mod diagnostic;
pub mod file_text;
pub(crate) mod exact;
pub(crate) mod random;
pub(crate) mod json_syntax;
pub(crate) mod ordered_map;
pub(crate) mod json_exact;
pub(crate) mod json_path;
pub mod path;
pub mod price;
pub(crate) mod python;
pub mod system;
pub(crate) mod glob;
pub(crate) mod text;
pub(crate) mod threshold;
pub(crate) mod tokens;
pub(crate) mod typescript;
