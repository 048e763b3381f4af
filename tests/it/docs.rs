//! Documentation.
