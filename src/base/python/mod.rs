//! Python text rules, for graders that must agree with Python byte for byte.

pub(crate) mod regex;
pub(crate) mod text;
