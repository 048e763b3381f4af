//! Reads a configuration: its files, the parts left out with their places, and the targets of references.

use super::case::AssertionCounter;
use super::files::ConfigFiles;
use crate::imported::ImportedSource;
use evalrs_base::yaml::tree::{Yaml, YamlNode};

/// Reads a configuration.
pub(super) struct ConfigReader<'a> {
    pub files: &'a ConfigFiles<'a>,
    pub counter: AssertionCounter,
    pub imported: ImportedSource,
    pub root: &'a YamlNode,
}

impl<'a> ConfigReader<'a> {
    pub(super) fn new(root: &'a YamlNode, files: &'a ConfigFiles<'a>) -> Self {
        Self {
            files,
            counter: AssertionCounter::default(),
            imported: ImportedSource::default(),
            root,
        }
    }

    /// Names a part that cannot be read.
    pub(super) fn leave_out(
        &mut self,
        part: &'static str,
        node: &YamlNode,
        what: impl Into<String>,
        why: impl Into<String>,
    ) {
        let place = self.files.place(node);
        self.imported.leave_out(part, place, what, why);
    }

    /// Names a part that is not what it must be.
    pub(super) fn leave_out_kind(
        &mut self,
        part: &'static str,
        node: &YamlNode,
        what: &str,
        expected: &str,
    ) {
        self.leave_out(part, node, what, format!("it is {}, not {expected}", node.noun()));
    }

    /// The value of a `$ref` to another part of the configuration.
    pub(super) fn dereferenced<'n>(&self, node: &'n YamlNode) -> &'n YamlNode
    where
        'a: 'n,
    {
        let mut found = node;
        for _ in 0..8 {
            let Some(Yaml::Str(reference)) = found.get("$ref").map(|node| &node.value) else {
                break;
            };
            let Some(path) = reference.strip_prefix("#/") else { break };
            let target = path.split('/').try_fold(self.root, |at, key| match &at.value {
                Yaml::Seq(items) => items.get(key.parse::<usize>().ok()?),
                _ => at.get(key),
            });
            let Some(target) = target else { break };
            found = target;
        }
        found
    }
}

/// What a node says if it is text.
pub(super) fn text(node: Option<&YamlNode>) -> Option<String> {
    match node.map(|node| &node.value) {
        Some(Yaml::Str(text)) => Some(text.clone()),
        _ => None,
    }
}
