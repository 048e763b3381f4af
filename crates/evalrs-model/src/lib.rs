//! What a suite says and what came of its actions, as plain data.

pub mod delta;
pub mod expression;
pub mod key;
pub mod outcome;
pub mod record_format;
pub mod spec;
