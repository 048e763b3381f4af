//! Where programs of a suite run, and what they may see.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub struct ProgramContext<'a> {
    /// The folder of the suite: paths in keys are seen from it, and programs run there.
    pub folder: &'a str,
    /// The folder of which it is told which files a program loads.
    pub workspace: &'a str,
    pub environment: &'a BTreeMap<String, String>,
    /// Whether programs see all of it, as if they were run by hand. Only what a spec names decides keys.
    pub sees_all: bool,
}
