//! What the readers of sections share.

use super::fields::{FieldSet, Findings};
use super::load::{self, Looked};
use super::programs::Spans;
use super::{Files, Registry};
use evalrs_base::diagnostic::suggest;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::{YamlEntry, YamlNode};
use evalrs_eval::lint::rubric_places::RubricPlaces;
use evalrs_model::spec::Sandbox;

/// What the readers of sections share.
pub(super) struct Reader<'a> {
    pub files: &'a dyn Files,
    pub registry: &'a Registry<'a>,
    /// The sandbox of programs that say none.
    pub sandbox: Sandbox,
    pub findings: Findings,
    pub looked: Looked,
    /// The programs that were read.
    pub programs: Vec<Spans>,
    /// The rubric graders that say no `pass_threshold`, each with its place.
    pub(super) without_threshold: Vec<(String, SourceSpan)>,
    /// Where what is said of each rubric is written, by grader.
    pub rubric_places: Vec<(String, RubricPlaces)>,
}

impl Reader<'_> {
    /// The value of `field` as a path, joined to the folder of the file that wrote it.
    pub(crate) fn path(&mut self, field: &YamlEntry) -> Option<String> {
        let path = self.findings.text(field)?;
        Some(self.findings.sources.join(field.value.span.file, &path))
    }

    /// The field `name` of the suite at `root`, which must have it.
    pub(super) fn required<'n>(
        &mut self,
        name: &str,
        fields: &FieldSet<'n>,
        root: &YamlNode,
    ) -> Option<&'n YamlEntry> {
        let field = fields.take(name);
        if field.is_none() && !is_misspelt(name, root) {
            self.report_missing(name, root);
        }
        field
    }

    /// Reports that the suite at `root` has no field `name`, or that it is null.
    pub(super) fn report_missing(&mut self, name: &str, root: &YamlNode) {
        let at = root.entries().iter().find(|entry| entry.key == name);
        let span = at.map_or(root.span, |entry| entry.key_span);
        self.findings.error(span, format!("the suite has no `{name}`")).hint =
            Some(load::MINIMAL.to_owned());
    }
}

/// Whether a field of the mapping is probably `name`, misspelt: it is reported as unknown, which is enough.
pub(super) fn is_misspelt(name: &str, root: &YamlNode) -> bool {
    let mut keys = root.entries().iter().map(|entry| entry.key.as_str());
    !keys.clone().any(|key| key == name) && keys.any(|key| suggest(key, [name]).is_some())
}
