//! The `graders` section: which kind each grader is, and what those of a submission share.
//!
//! Which functions, extractors and options there are is asked of the registry.

use serde_json::{Value, json};

use crate::fields::{Field, FieldSet};
use crate::load::MINIMAL;
use crate::reader::{Reader, is_misspelt};
use crate::section::FieldShape::{AnyOf, Mapping};
use crate::section::{FieldShape, Section, names};
use crate::sections::criteria::{BUILTIN, CRITERIA};
use crate::sections::expressions::condition;
use crate::sections::extractors::extractor;
use crate::sections::grader_fields::{Graders, pass_threshold, pattern};
use crate::sections::program_files::written_call;
use crate::sections::program_grader::{INLINE_PROGRAM, PROGRAM, written_program};
use crate::sections::rewards::COMBINATION;
use crate::sections::rubric::RUBRIC;
use crate::sections::rubric_file::{RubricText, rubric_places};
use crate::sections::similarity::SIMILARITY;
use crate::sections::tools::{PYTHON_TOOL, TOOL, tool};
use crate::sections::votes::VOTES_OF_OTHERS;
use crate::sections::{criteria, program_grader, programs, rewards, rubric, similarity, votes};
use crate::written::{extend, without_empty};
use evalrs_base::diagnostic::suggest;
use evalrs_base::yaml::tree::{Yaml, YamlNode};
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{CriteriaSpec, ExtractorSpec, GraderKind, GraderSpec, RewardSpec};

/// A grader, identified by its `kind`.
pub(crate) const GRADER: FieldShape = AnyOf(&[
    Mapping(&TOOL),
    Mapping(&PYTHON_TOOL),
    Mapping(&RUBRIC),
    Mapping(&CRITERIA),
    Mapping(&BUILTIN),
    Mapping(&SIMILARITY),
    Mapping(&PROGRAM),
    Mapping(&INLINE_PROGRAM),
    Mapping(&VOTES_OF_OTHERS),
    Mapping(&COMBINATION),
]);

/// Reads `graders`, or the one `grader` of older suites, which is named `default`.
pub(crate) fn graders(fields: &FieldSet<'_>, root: &YamlNode, reader: &mut Reader<'_>) -> Graders {
    let mut graders = Graders::default();
    match (fields.take("graders"), fields.take("grader")) {
        (Some(_), Some(single)) => {
            single.error_at_key("a suite has `graders` or one `grader`, not both", "");
        }
        (None, Some(single)) => graders.add("default", single, reader),
        (Some(many), None) => {
            if let Yaml::Seq(items) = &many.value.value {
                graders.names.extend(items.iter().filter_map(listed_name));
                let hint = "write `graders: {accuracy: {kind: tool, function: contains}}`";
                many.error("`graders` must be a mapping of names to graders, not a list", hint);
                return graders;
            }
            let Some(entries) = many.entries() else { return graders };
            if entries.is_empty() {
                many.error_at_key("`graders` is empty", MINIMAL);
            }
            for entry in entries {
                graders.add(&entry.key, entry, reader);
            }
        }
        (None, None) if is_misspelt("graders", root) => {}
        (None, None) => reader.report_missing("graders", root),
    }
    graders
}

/// What a grader in a list is probably called: `{name: a, …}` or `{a: {…}}`. References to it are not reported as well.
fn listed_name(item: &YamlNode) -> Option<String> {
    match item.get("name").map(|name| &name.value) {
        Some(Yaml::Str(name)) => Some(name.clone()),
        _ => item.entries().first().map(|entry| entry.key.clone()),
    }
}

impl Graders {
    fn add(&mut self, name: &str, entry: Field<'_>, reader: &mut Reader<'_>) {
        self.names.push(name.to_owned());
        if name.trim().is_empty() {
            entry.error_at_key("a grader must have a name", "");
        }
        if name.contains('.') {
            let message = format!("the name `{name}` has a dot");
            let hint = "what follows a dot is the name of a criterion; write `_` instead";
            entry.error_at_key(&message, hint);
        }
        let Some(fields) = entry.fields(&TOOL) else { return };
        let spec = match kind(name, entry, &fields, reader) {
            None => None,
            Some(WrittenKind::Rubric) if is_in_criteria(&entry.value) => {
                criteria::add(name, entry, fields, self, reader);
                None
            }
            Some(WrittenKind::Combine) => {
                self.rewards.push(name.to_owned());
                rewards::combined(name, fields, self)
            }
            Some(kind) => grader(name, kind, entry, fields, reader),
        };
        self.specs.extend(spec);
    }
}

/// Reads a grader that grades a submission.
fn grader(
    name: &str,
    kind: WrittenKind,
    entry: Field<'_>,
    mut fields: FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<GraderSpec> {
    fields.read_as(kind.section(entry));
    let mut text = match kind {
        WrittenKind::Rubric => rubric::text(entry, &fields, reader),
        _ => None,
    };
    // What the suite says wins over the front matter of the rubric.
    let front = text.as_mut().map(|text| std::mem::take(&mut text.front)).unwrap_or_default();
    let mut fields = fields.over(&front);
    if let Some(text) = &text {
        let places = rubric_places(entry, &fields, text);
        reader.rubric_places.push((name.to_owned(), places));
    }
    let display_name = fields.text("display_name");
    let extractor = extractor(&fields, reader);
    let has_threshold = fields.take("pass_threshold").is_some();
    if matches!(kind, WrittenKind::Rubric | WrittenKind::Similarity) && !has_threshold {
        reader.without_threshold.push((name.to_owned(), entry.key_span));
    }
    let pass_threshold = pass_threshold(&fields);
    let ground_truth_pattern = pattern(&fields, reader);
    let ground_truth = fields.text("ground_truth");
    let negated = truth("not", &fields);
    let only = condition("only", &fields);
    let include_subagents = truth("include_subagents", &fields);
    let kind = of_kind(kind, text, entry, &mut fields, reader);
    fields.finish();
    Some(GraderSpec {
        name: name.to_owned(),
        display_name,
        extractor: ExtractorSpec { include_subagents: include_subagents?, ..extractor? },
        pass_threshold: pass_threshold?,
        ground_truth_pattern,
        ground_truth: ground_truth.map(|path| without_row(&path).to_owned()),
        negated: negated?,
        only,
        kind: kind?,
    })
}

/// Reads what graders of one kind alone have; `text` is that of a rubric.
fn of_kind(
    kind: WrittenKind,
    text: Option<RubricText>,
    entry: Field<'_>,
    fields: &mut FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<GraderKind> {
    Some(match kind {
        WrittenKind::Tool => return tool(entry, fields, reader),
        WrittenKind::Program => {
            GraderKind::Program(Box::new(program_grader::program(entry, fields, reader)?))
        }
        WrittenKind::Votes => GraderKind::Tool(votes::votes(entry, fields, reader)?),
        WrittenKind::Combine => return None,
        WrittenKind::Similarity => {
            GraderKind::Rubric(Box::new(similarity::similarity(fields, reader)))
        }
        WrittenKind::Rubric => {
            GraderKind::Rubric(Box::new(rubric::rubric(text, entry, fields, reader)?))
        }
    })
}

/// The truth value in the field `name`: false where it is absent, none where it is wrong.
fn truth(name: &str, fields: &FieldSet<'_>) -> Option<bool> {
    fields.take(name).map_or(Some(false), Field::truth)
}

/// A path in the row: `row.` before it says the same.
fn without_row(path: &str) -> &str {
    path.strip_prefix("row.").unwrap_or(path)
}

#[derive(Clone, Copy)]
enum WrittenKind {
    Tool,
    Rubric,
    Similarity,
    Program,
    Votes,
    Combine,
}

impl WrittenKind {
    /// The fields of the grader `entry`, which is of this kind.
    fn section(self, entry: Field<'_>) -> &'static Section {
        match self {
            Self::Tool => &TOOL,
            Self::Rubric => &RUBRIC,
            Self::Similarity => &SIMILARITY,
            Self::Program if entry.value.get("javascript").is_some() => &INLINE_PROGRAM,
            Self::Program => &PROGRAM,
            Self::Votes => &VOTES_OF_OTHERS,
            Self::Combine => &COMBINATION,
        }
    }
}

const KINDS: [(&str, WrittenKind); 8] = [
    ("tool", WrittenKind::Tool),
    ("rubric", WrittenKind::Rubric),
    ("model_judge", WrittenKind::Rubric),
    ("letta_judge", WrittenKind::Rubric),
    ("similarity", WrittenKind::Similarity),
    ("program", WrittenKind::Program),
    (votes::KIND, WrittenKind::Votes),
    (rewards::COMBINE, WrittenKind::Combine),
];

/// What others call kinds of graders and grading functions, and what they are here.
const FOREIGN: [(&str, &str); 15] = [
    ("llm-rubric", "rubric"),
    ("llm_rubric", "rubric"),
    ("llm-judge", "rubric"),
    ("llm_judge", "rubric"),
    ("llm", "rubric"),
    ("judge", "rubric"),
    ("model-graded-closedqa", "rubric"),
    ("g-eval", "rubric"),
    ("similar", "similarity"),
    ("python", "program"),
    ("javascript", "program"),
    ("equals", "exact_match"),
    ("icontains", "contains"),
    ("regex", "regex_match"),
    ("is-json", "json_schema"),
];

fn kind(
    name: &str,
    entry: Field<'_>,
    fields: &FieldSet<'_>,
    reader: &Reader<'_>,
) -> Option<WrittenKind> {
    let Some(field) = fields.take("kind") else {
        return no_kind(name, entry, reader);
    };
    let kind = field.text()?;
    if let Some((_, written)) = KINDS.iter().find(|(known, _)| *known == kind) {
        return Some(*written);
    }
    let hint = meant(&kind, reader.registry.graders).map(|meant| {
        match meant.strip_prefix("kind: ").filter(|kind| !kind.contains(',')) {
            Some(kind) => format!("did you mean `{kind}`?"),
            None => format!("write `{meant}`"),
        }
    });
    field.not_one_of(&names(&KINDS), &kind, &field.unknown_message(&kind, "grader kind"), hint)
}

fn no_kind(name: &str, entry: Field<'_>, reader: &Reader<'_>) -> Option<WrittenKind> {
    let signs = [
        ("function", "tool"),
        ("path", "program"),
        ("javascript", "program"),
        ("combine", rewards::COMBINE),
    ];
    let has = |field: &str| entry.value.get(field).is_some();
    let has_rubric = has("prompt") || has("prompt_path");
    let sign = signs.into_iter().find(|(field, _)| has(field) && !has_rubric);
    let likely = sign.map(|(_, kind)| format!("write `kind: {kind}`"));
    let written = entry.inner("type");
    let Some((field, Yaml::Str(said))) = written.map(|field| (field, &field.entry.value.value))
    else {
        let hint = likely.as_deref().unwrap_or("write `kind: rubric`");
        return entry.refuse_at_key(&format!("the grader `{name}` has no `kind`"), hint);
    };
    let meant = meant(said, reader.registry.graders).map(|meant| format!("write `{meant}`"));
    let message = format!("the grader `{name}` has no `kind`, and a grader has no field `type`");
    let otherwise = "write `kind: tool` and a `function`, or `kind: rubric` and a `prompt`";
    field.refuse_at_key(&message, meant.or(likely).as_deref().unwrap_or(otherwise))
}

/// The kind or function of ours for `said`, a name of other tools or a slip.
fn meant(said: &str, functions: &[&str]) -> Option<String> {
    let foreign = FOREIGN.iter().find(|(theirs, _)| *theirs == said);
    let ours = foreign.map_or(said, |(_, ours)| ours);
    if KINDS.iter().any(|(kind, _)| *kind == ours) {
        return Some(format!("kind: {ours}"));
    }
    let function = suggest(ours, functions.iter().copied())?;
    Some(format!("kind: tool, function: {function}"))
}

/// Whether a rubric is a list of criteria.
fn is_in_criteria(grader: &YamlNode) -> bool {
    ["criteria", "builtin"].into_iter().any(|name| grader.get(name).is_some())
}

/// A grader, or the `reward` section that it was made of.
pub(crate) fn written(spec: &GraderSpec, path: &str) -> Value {
    let (kind, own) = match &spec.kind {
        GraderKind::Tool(tool) => {
            ("tool", without_empty(json!({"function": tool.function, "config": tool.config})))
        }
        GraderKind::Rubric(spec) => match &spec.embedding {
            Some(embedding) => ("similarity", similarity::written(spec, embedding)),
            None => ("rubric", rubric::written(spec, path)),
        },
        GraderKind::Program(spec) => ("program", written_program("path", spec, path)),
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            ("combine", json!({"combine": expression.text}))
        }
        // It is written with its criteria.
        GraderKind::Reward(RewardSpec::Criteria(_)) => ("rubric", json!({})),
        GraderKind::Reward(RewardSpec::Program(spec)) => {
            ("custom", written_program("function", spec, path))
        }
    };
    let mut grader = without_empty(json!({"kind": kind, "display_name": spec.display_name}));
    extend(&mut grader, own);
    // What makes one score of others extracts nothing.
    if !matches!(spec.kind, GraderKind::Reward(_)) {
        let program = spec.extractor.program.as_deref();
        let extractor = json!({
            "extractor": program.map_or_else(|| spec.extractor.name.clone(), written_call),
            "extractor_options": program.map(|program| programs::written(program, path)),
            "extractor_config": spec.extractor.options(),
            "include_subagents": spec.extractor.include_subagents.then_some(true),
        });
        extend(&mut grader, without_empty(extractor));
    }
    let common = json!({
        "pass_threshold": spec.pass_threshold,
        "ground_truth_pattern": spec.ground_truth_pattern,
        "ground_truth": spec.ground_truth.as_ref().map(|path| format!("row.{path}")),
        "not": spec.negated.then_some(true),
        "only": spec.only.as_ref().map(RowCondition::text),
    });
    extend(&mut grader, without_empty(common));
    grader
}

/// A rubric in criteria, which are `graders` of their own.
pub(crate) fn written_criteria(
    whole: &GraderSpec,
    spec: &CriteriaSpec,
    graders: &[&GraderSpec],
    path: &str,
) -> Value {
    let Some(first) = graders.first() else { return Value::Null };
    // All that is of the rubric as a whole stands in each of its criteria, but for a few.
    let common = GraderSpec {
        display_name: whole.display_name.clone(),
        pass_threshold: whole.pass_threshold,
        only: whole.only.clone(),
        ..(*first).clone()
    };
    criteria::written(spec, graders, written(&common, path))
}
