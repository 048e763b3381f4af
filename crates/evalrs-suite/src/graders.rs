//! The `graders` section: every grader but what only judges, programs and rewards have.
//!
//! Which functions, extractors and options there are is asked of the [`super::Registry`].

use serde_json::{Map, Value};

use super::fields::{FieldSet, Findings};
use super::reader::{Reader, is_misspelt};
use super::rubric_places::rubric_places;
use super::sections::{
    COMBINATION, EXTRACTOR_OPTIONS, INLINE_PROGRAM, PROGRAM, PYTHON_TOOL, RUBRIC, TOOL,
    VOTES_OF_OTHERS,
};
use super::similarity_section::SIMILARITY;
use super::{conditions, load, programs, rewards, rubric, similarity, votes};
use evalrs_base::diagnostic::suggest;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::{Yaml, YamlEntry, YamlNode};
use evalrs_model::spec::{
    ExtractorSpec, GraderKind, GraderSpec, Language, OptionProblem, Role, Scale, ToolSpec,
};

#[derive(Default)]
pub(super) struct Graders {
    /// Every name, also of graders that are wrong.
    pub names: Vec<String>,
    /// The names of those that are made of the scores of others.
    pub rewards: Vec<String>,
    /// Those that are right.
    pub specs: Vec<GraderSpec>,
    /// Every expression, whose names are checked at the end.
    pub expressions: Vec<rewards::WrittenExpression>,
}

/// Reads `graders`, or the one `grader` of older suites, which is named `default`.
pub(super) fn graders(fields: &FieldSet<'_>, root: &YamlNode, reader: &mut Reader<'_>) -> Graders {
    let mut graders = Graders::default();
    match (fields.take("graders"), fields.take("grader")) {
        (Some(_), Some(single)) => {
            let message = "a suite has `graders` or one `grader`, not both";
            reader.findings.error(single.key_span, message);
        }
        (None, Some(single)) => graders.add("default", single, reader),
        (Some(many), None) => {
            if let Yaml::Seq(items) = &many.value.value {
                graders.names.extend(items.iter().filter_map(listed_name));
                let message = "`graders` must be a mapping of names to graders, not a list";
                reader.findings.error(many.value.span, message).hint = Some(
                    "write `graders: {accuracy: {kind: tool, function: contains}}`".to_owned(),
                );
                return graders;
            }
            let Some(entries) = reader.findings.entries(many) else { return graders };
            if entries.is_empty() {
                reader.findings.error(many.key_span, "`graders` is empty").hint =
                    Some(load::MINIMAL.to_owned());
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
    fn add(&mut self, name: &str, entry: &YamlEntry, reader: &mut Reader<'_>) {
        self.names.push(name.to_owned());
        if name.trim().is_empty() {
            reader.findings.error(entry.key_span, "a grader must have a name");
        }
        let Some(fields) = reader.findings.fields(entry, &TOOL) else { return };
        let spec = match kind(name, entry, &fields, reader) {
            None => None,
            Some(WrittenKind::Combine) => {
                self.rewards.push(name.to_owned());
                rewards::combined(name, fields, self, reader)
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
    entry: &YamlEntry,
    mut fields: FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<GraderSpec> {
    fields.read_as(match kind {
        WrittenKind::Tool => &TOOL,
        WrittenKind::Rubric => &RUBRIC,
        WrittenKind::Similarity => &SIMILARITY,
        WrittenKind::Program if entry.value.get("javascript").is_some() => &INLINE_PROGRAM,
        WrittenKind::Program => &PROGRAM,
        WrittenKind::Votes => &VOTES_OF_OTHERS,
        WrittenKind::Combine => &COMBINATION,
    });
    let mut text = match kind {
        WrittenKind::Rubric => rubric::text(entry, &fields, reader),
        _ => None,
    };
    // What the suite says wins over the front matter of the rubric.
    let front = text.as_mut().map(|text| std::mem::take(&mut text.front)).unwrap_or_default();
    let mut fields = fields.over(&front);
    if let Some(text) = &text {
        let places = rubric_places(entry, &fields, text, &reader.findings);
        reader.rubric_places.push((name.to_owned(), places));
    }
    let display_name = fields.text("display_name", &mut reader.findings);
    let extractor = extractor(&fields, reader);
    let has_threshold = fields.take("pass_threshold").is_some();
    if matches!(kind, WrittenKind::Rubric | WrittenKind::Similarity) && !has_threshold {
        reader.without_threshold.push((name.to_owned(), entry.key_span));
    }
    let pass_threshold = pass_threshold(&fields, &mut reader.findings);
    let ground_truth_pattern = pattern(&fields, reader);
    let ground_truth = fields.text("ground_truth", &mut reader.findings);
    let negated = match fields.take("not") {
        Some(field) => reader.findings.truth(field),
        None => Some(false),
    };
    let only = conditions::condition("only", &fields, &mut reader.findings);
    let include_subagents = match fields.take("include_subagents") {
        Some(field) => reader.findings.truth(field),
        None => Some(false),
    };
    let kind = match kind {
        WrittenKind::Tool => tool(entry, &mut fields, reader),
        WrittenKind::Program => {
            let program = programs::program(entry, &mut fields, reader);
            program.map(|program| GraderKind::Program(Box::new(program)))
        }
        WrittenKind::Votes => votes::votes(entry, &fields, reader).map(GraderKind::Tool),
        WrittenKind::Combine => None,
        WrittenKind::Similarity => {
            let rubric = similarity::similarity(&mut fields, reader);
            Some(GraderKind::Rubric(Box::new(rubric)))
        }
        WrittenKind::Rubric => {
            let rubric = rubric::rubric(text, entry, &mut fields, reader);
            rubric.map(|rubric| GraderKind::Rubric(Box::new(rubric)))
        }
    };
    fields.finish(&mut reader.findings);
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

/// A path in the row: `row.` before it says the same.
fn without_row(path: &str) -> &str {
    path.strip_prefix("row.").unwrap_or(path)
}

/// The least score that is a pass: 1.0 by default, none if the field is invalid.
pub(super) fn pass_threshold(fields: &FieldSet<'_>, findings: &mut Findings) -> Option<f64> {
    match fields.take("pass_threshold") {
        Some(field) => {
            let threshold = fields.number("pass_threshold", findings);
            if let (None, Some(fraction)) = (threshold, on_scale(field, fields))
                && let Some(problem) = findings.diagnostics.last_mut()
            {
                problem.hint = Some(format!(
                    "scores are mapped to 0 to 1: on this scale write `pass_threshold: {fraction}`"
                ));
            }
            threshold
        }
        None => Some(1.0),
    }
}

/// What a threshold that is written on the scale of its judge is from 0 to 1.
fn on_scale(field: &YamlEntry, fields: &FieldSet<'_>) -> Option<f64> {
    let scale = fields.take("scale")?;
    let number = |name: &str| scale.value.get(name)?.to_json().as_f64();
    let scale = Scale { min: number("min")?, max: number("max")? };
    let threshold = field.value.to_json().as_f64().filter(|score| scale.contains(*score))?;
    let fraction = (scale.unit(threshold) * 1000.0).round() / 1000.0;
    (0.0..=1.0).contains(&fraction).then_some(fraction)
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
    entry: &YamlEntry,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<WrittenKind> {
    let Some(field) = fields.take("kind") else {
        no_kind(name, entry, reader);
        return None;
    };
    let kind = reader.findings.text(field)?;
    match KINDS.iter().find(|(known, _)| *known == kind) {
        Some((_, written)) => Some(*written),
        None => {
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let meant = meant(&kind, reader.registry.graders);
            let diagnostic = reader.findings.unknown(field, &kind, "grader kind", &names);
            if let (Some(meant), None) = (meant, &diagnostic.hint) {
                diagnostic.hint = Some(match meant.strip_prefix("kind: ") {
                    Some(kind) if !kind.contains(',') => format!("did you mean `{kind}`?"),
                    _ => format!("write `{meant}`"),
                });
            }
            None
        }
    }
}

fn no_kind(name: &str, entry: &YamlEntry, reader: &mut Reader<'_>) {
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
    let written = entry.value.entries().iter().find(|field| field.key == "type");
    let Some((field, Yaml::Str(said))) = written.map(|field| (field, &field.value.value)) else {
        reader.findings.error(entry.key_span, format!("the grader `{name}` has no `kind`")).hint =
            Some(likely.unwrap_or_else(|| "write `kind: rubric`".to_owned()));
        return;
    };
    let meant = meant(said, reader.registry.graders).map(|meant| format!("write `{meant}`"));
    let message = format!("the grader `{name}` has no `kind`, and a grader has no field `type`");
    reader.findings.error(field.key_span, message).hint =
        Some(meant.or(likely).unwrap_or_else(|| {
            "write `kind: tool` and a `function`, or `kind: rubric` and a `prompt`".to_owned()
        }));
}

/// The kind or function of ours that `said`, a name of other tools or a slip, stands for.
fn meant(said: &str, functions: &[&str]) -> Option<String> {
    let foreign = FOREIGN.iter().find(|(theirs, _)| *theirs == said);
    let ours = foreign.map_or(said, |(_, ours)| ours);
    if KINDS.iter().any(|(kind, _)| *kind == ours) {
        return Some(format!("kind: {ours}"));
    }
    let function = suggest(ours, functions.iter().copied())?;
    Some(format!("kind: tool, function: {function}"))
}

fn tool(
    entry: &YamlEntry,
    fields: &mut FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<GraderKind> {
    let config_field = fields.take("config");
    let config = options(config_field, &mut reader.findings);
    let field = fields.take("function")?;
    let function = reader.findings.text(field)?;
    if programs::is_python(&function) {
        if let Some(config) = config_field {
            let message = "functions of Python files have no `config`";
            reader.findings.error(config.key_span, message).hint =
                Some("write it into the file, or into the `metadata` of the rows".to_owned());
        }
        fields.read_as(&PYTHON_TOOL);
        let spec = programs::python(field, &function, Role::Grade, reader);
        let spec = programs::with_sight(spec, fields, reader);
        let spec = programs::with_settings(spec, field, fields, reader)?;
        return Some(GraderKind::Program(Box::new(spec)));
    }
    if !reader.registry.graders.contains(&function.as_str()) {
        if Language::of_file(&function) == Language::JavaScript || function.contains('/') {
            let message = format!("`{function}` is a file, not a grading function");
            reader.findings.error(field.value.span, message).hint =
                Some(format!("write `kind: program` and `path: {function}`"));
            return None;
        }
        reader.findings.unknown(field, &function, "grading function", reader.registry.graders);
        return None;
    }
    let mut spec = ToolSpec { function, config: config? };
    votes::join_path(&mut spec, field.value.span, &reader.findings);
    let problems = (reader.registry.check_grader)(&spec);
    report(&problems, entry.value.get("config"), field, &mut reader.findings);
    Some(GraderKind::Tool(spec))
}

fn extractor(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<ExtractorSpec> {
    let config_field = fields.take("extractor_config");
    let config = options(config_field, &mut reader.findings);
    let field = fields.take("extractor");
    let settings = fields.take("extractor_options");
    let name = match field {
        Some(field) => reader.findings.text(field)?,
        None => "last_assistant".to_owned(),
    };
    if let Some(field) = field.filter(|_| programs::is_python(&name)) {
        return python_extractor(field, &name, settings, config, reader);
    }
    if let Some(settings) = settings {
        let message = "`extractor_options` is of extractors written in Python";
        reader.findings.error(settings.key_span, message).hint =
            Some(format!("the options of `{name}` are under `extractor_config`"));
    }
    if let Some(field) = field
        && !reader.registry.extractors.contains(&name.as_str())
    {
        reader.findings.unknown(field, &name, "extractor", reader.registry.extractors);
        return None;
    }
    let config = config?;
    let problems = (reader.registry.check_extractor)(&name, &config);
    if let Some(at) = field.or(config_field) {
        report(&problems, config_field.map(|field| &field.value), at, &mut reader.findings);
    }
    Some(ExtractorSpec::new(name, Value::Object(config).to_string()))
}

/// The extractor `file.py:name`. What its options mean is known to the function alone.
fn python_extractor(
    field: &YamlEntry,
    name: &str,
    settings: Option<&YamlEntry>,
    config: Option<Map<String, Value>>,
    reader: &mut Reader<'_>,
) -> Option<ExtractorSpec> {
    let spec = programs::python(field, name, Role::Extract, reader);
    let inner = match settings {
        None => FieldSet::new(&[], &EXTRACTOR_OPTIONS),
        Some(settings) => reader.findings.fields(settings, &EXTRACTOR_OPTIONS)?,
    };
    let spec = programs::with_sight(spec, &inner, reader);
    let spec = programs::with_settings(spec, field, &inner, reader);
    inner.finish(&mut reader.findings);
    let name = reader.findings.sources.relative_to_suite(field.value.span.file, name);
    let program = Some(Box::new(spec?));
    Some(ExtractorSpec { program, ..ExtractorSpec::new(name, Value::Object(config?).to_string()) })
}

/// Options as JSON; none if they are not a mapping.
pub(super) fn options(
    field: Option<&YamlEntry>,
    findings: &mut Findings,
) -> Option<Map<String, Value>> {
    let Some(field) = field else { return Some(Map::new()) };
    findings.entries(field)?;
    match field.value.to_json() {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Reports what is wrong with options where they are written, or else at the name of their owner.
pub(super) fn report(
    problems: &[OptionProblem],
    config: Option<&YamlNode>,
    owner: &YamlEntry,
    findings: &mut Findings,
) {
    for problem in problems {
        let span = config.and_then(|config| option_span(config, &problem.at));
        let span = span.unwrap_or(owner.value.span);
        findings.error(span, problem.message.as_str()).hint.clone_from(&problem.hint);
    }
}

/// The entry that the keys lead to, or the deepest one there is.
fn option_span(config: &YamlNode, keys: &[String]) -> Option<SourceSpan> {
    let mut node = config;
    let mut span = None;
    for key in keys {
        match &node.value {
            Yaml::Map(entries) => {
                let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { break };
                let whole = SourceSpan { end: entry.value.span.end, ..entry.key_span };
                let near = entry.value.span.file == whole.file && whole.start <= whole.end;
                span = Some(if near { whole } else { entry.key_span });
                node = &entry.value;
            }
            Yaml::Seq(items) => {
                let item = key.parse().ok().and_then(|index: usize| items.get(index));
                let Some(item) = item else { break };
                span = Some(item.span);
                node = item;
            }
            _ => break,
        }
    }
    span
}

fn pattern(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let field = fields.take("ground_truth_pattern")?;
    let pattern = reader.findings.text(field)?;
    if let Some(problem) = (reader.registry.check_pattern)(&pattern) {
        reader.findings.error(
            field.value.span,
            format!("`ground_truth_pattern` is not a valid pattern: {problem}"),
        );
    }
    Some(pattern)
}
