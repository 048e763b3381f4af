//! What knows nothing of evaluation: diagnostics, texts, numbers, YAML.

pub mod archive;
pub mod compression;
pub mod diagnostic;
pub mod exact;
pub mod file_path;
pub mod file_text;
pub mod json_exact;
pub mod json_path;
pub mod json_syntax;
pub mod ordered_map;
pub mod path;
pub mod price;
pub mod python;
pub mod random;
pub mod text;
pub mod threshold;
pub mod tokens;
pub mod yaml;
