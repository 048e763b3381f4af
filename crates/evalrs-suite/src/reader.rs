//! What the readers of sections share: the names that a suite may use, the files it rests on, and what was found so far.

use serde_json::{Map, Value};

use crate::fields::{Field, FieldSet};
use crate::files::Files;
use crate::findings::Findings;
use crate::load::{FileLookups, MINIMAL};
use crate::program_places::ProgramSpans;
use evalrs_base::diagnostic::suggest;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::YamlNode;
use evalrs_eval::lint::rubric_places::RubricPlaces;
use evalrs_model::spec::{OptionProblem, Sandbox, SandboxKind, ToolSpec};

/// What graders, extractors and providers there are, and how their options are checked.
#[derive(Clone, Copy, Debug)]
pub struct Registry<'a> {
    pub graders: &'a [&'a str],
    pub extractors: &'a [&'a str],
    pub providers: &'a [&'a str],
    /// Checks the options of a known grading function.
    pub check_grader: fn(&ToolSpec) -> Vec<OptionProblem>,
    /// Checks the options of a known extractor.
    pub check_extractor: fn(&str, &Map<String, Value>) -> Vec<OptionProblem>,
    /// Says what is wrong with a `ground_truth_pattern`, if anything.
    pub check_pattern: fn(&str) -> Option<String>,
    /// Says why the judges of a provider do not take a setting, if they do not: provider, field.
    pub untaken_setting: fn(&str, &str) -> Option<&'static str>,
    /// What programs are kept from where the suite does not say.
    pub sandbox: SandboxKind,
}

/// What the readers of sections share.
pub(crate) struct Reader<'a> {
    pub files: &'a dyn Files,
    pub registry: &'a Registry<'a>,
    /// The sandbox of programs that say none.
    pub sandbox: Sandbox,
    pub findings: &'a Findings,
    pub looked: FileLookups,
    /// The programs that were read.
    pub programs: Vec<ProgramSpans>,
    /// The rubric graders that say no `pass_threshold`, each with its place.
    pub(crate) without_threshold: Vec<(String, SourceSpan)>,
    /// The places of the settings of each rubric, by grader.
    pub rubric_places: Vec<(String, RubricPlaces)>,
}

impl Reader<'_> {
    /// The field `name` of the suite at `root`, which must have it.
    pub(crate) fn required<'n>(
        &mut self,
        name: &str,
        fields: &FieldSet<'n>,
        root: &YamlNode,
    ) -> Option<Field<'n>> {
        let field = fields.take(name);
        if field.is_none() && !is_misspelt(name, root) {
            self.report_missing(name, root);
        }
        field
    }

    /// Reports that the suite at `root` has no field `name`, or that it is null.
    pub(crate) fn report_missing(&mut self, name: &str, root: &YamlNode) {
        let at = root.entry(name);
        let span = at.map_or(root.span, |entry| entry.key_span);
        self.findings.error(span, &format!("the suite has no `{name}`"), MINIMAL);
    }

    /// The text of the file that `field` names, which then is part of the suite.
    pub(crate) fn text_of(&mut self, field: Field<'_>) -> Option<String> {
        let span = Some(field.value.span);
        let text = self.looked.text(&field.path()?, span, self.files, self.findings)?;
        Some(text.to_string())
    }
}

/// Whether a field of the mapping is probably `name`, misspelt: it is reported as unknown, which is enough.
pub(crate) fn is_misspelt(name: &str, root: &YamlNode) -> bool {
    let mut keys = root.entries().iter().map(|entry| entry.key.as_str());
    !keys.clone().any(|key| key == name) && keys.any(|key| suggest(key, [name]).is_some())
}
