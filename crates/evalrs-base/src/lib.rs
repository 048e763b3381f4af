//! What knows nothing of evaluation, and everybody above needs: diagnostics, texts, numbers, formats of files.
//!
//! Each module does one thing and knows few of the others. Look for what you need before you write it:
//!
//! - what users are told: `diagnostic` (what is wrong, where, and the likely fix), `json_syntax` (the same of JSON), `text` (text
//!   that is harmless on a terminal, measured, cut and in columns);
//! - what users write: `yaml` (a tree whose values know their places), `json_exact` and `json_path`, `path` (dotted paths into
//!   rows), `file_text` (what is known of a file), `file_path` (paths as texts);
//! - bytes of files: `compression` and `archive`, both within limits, since a small file may stand for a terabyte;
//! - numbers: `exact` (sums in any order), `threshold` (the one comparison with one), `random` (the same on every machine),
//!   `tokens` (estimates) and `price` (money);
//! - `python`: text as Python sees it, since many results must be what a Python program would give. Patterns of Python are the
//!   crate `python-re`;
//! - `ordered_map`: a map whose entries keep their order.
//!
//! Whatever reads a text of others has a limit for its size and depth. Nothing here opens a file, tells the time, or has heard
//! of suites, graders, judges or runs.

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
