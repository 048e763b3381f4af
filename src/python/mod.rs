//! Python text rules, for graders that must agree with Python byte for byte.

pub mod regex;
pub mod text;
