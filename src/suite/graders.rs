//! The `graders` section: every grader but what only judges have.
//!
//! Which functions, extractors and options there are is asked of the [`super::Registry`]. Graders that are
//! known but not available in this version say so, instead of being unknown.

use serde_json::{Map, Value};

use super::fields::{Fields, Findings};
use super::load;
use super::read::Reader;
use super::source::Span;
use super::tree::{Entry, Kind, Node};
use super::{ExtractorSpec, GraderKind, GraderSpec, rubric};
use crate::grade::{OptionProblem, ToolSpec};

/// The graders of a suite.
#[derive(Default)]
pub(super) struct Graders {
    /// Every name, also of graders that are wrong.
    pub(super) names: Vec<String>,
    /// Those that are right.
    pub(super) specs: Vec<GraderSpec>,
}

/// Reads `graders`, or the one `grader` of older suites, which is named `default`.
pub(super) fn graders(fields: &mut Fields<'_>, root: &Node, reader: &mut Reader<'_>) -> Graders {
    let mut graders = Graders::default();
    match (fields.take("graders"), fields.take("grader")) {
        (Some(_), Some(single)) => {
            let message = "a suite has `graders` or one `grader`, not both";
            reader.findings.error(single.key_span, message);
        }
        (None, Some(single)) => graders.add("default", single, reader),
        (Some(many), None) => {
            if reader.findings.fields(many).is_none() {
                return graders;
            }
            if many.value.entries().is_empty() {
                reader.findings.error(many.key_span, "`graders` is empty").hint =
                    Some(load::MINIMAL.to_owned());
            }
            for entry in many.value.entries() {
                graders.add(&entry.key, entry, reader);
            }
        }
        (None, None) => {
            let at = root.entries().iter().find(|entry| entry.key == "graders");
            let span = at.map_or(root.span, |entry| entry.key_span);
            reader.findings.error(span, "the suite has no `graders`").hint =
                Some(load::MINIMAL.to_owned());
        }
    }
    graders
}

impl Graders {
    fn add(&mut self, name: &str, entry: &Entry, reader: &mut Reader<'_>) {
        self.names.push(name.to_owned());
        self.specs.extend(grader(name, entry, reader));
    }
}

fn grader(name: &str, entry: &Entry, reader: &mut Reader<'_>) -> Option<GraderSpec> {
    if name.trim().is_empty() {
        reader.findings.error(entry.key_span, "a grader must have a name");
    }
    let mut fields = reader.findings.fields(entry)?;
    let kind = kind(name, entry, &mut fields, reader)?;
    let mut text = match kind {
        Written::Rubric => rubric::text(entry, &mut fields, reader),
        Written::Tool => None,
    };
    // What the suite says wins over the front matter of the rubric.
    let front = text.as_mut().map(|text| std::mem::take(&mut text.front)).unwrap_or_default();
    let mut fields = fields.over(&front);
    let display_name = fields.take("display_name").and_then(|field| reader.findings.text(field));
    let extractor = extractor(&mut fields, reader);
    let pass_threshold = fields
        .take("pass_threshold")
        .map_or(Some(1.0), |field| reader.findings.number(field, 0.0..=1.0, "between 0 and 1"));
    let ground_truth_pattern = pattern(&mut fields, reader);
    let include_subagents =
        fields.take("include_subagents").map_or(Some(false), |field| reader.findings.truth(field));
    let (owner, kind) = match kind {
        Written::Tool => ("a tool grader", tool(entry, &mut fields, reader).map(GraderKind::Tool)),
        Written::Rubric => {
            let rubric = rubric::rubric(text, entry, &mut fields, reader);
            ("a rubric grader", rubric.map(|rubric| GraderKind::Rubric(Box::new(rubric))))
        }
    };
    fields.finish(owner, &mut reader.findings);
    let (extractor, config) = extractor?;
    Some(GraderSpec {
        name: name.to_owned(),
        display_name,
        extractor: ExtractorSpec { name: extractor, config, include_subagents: include_subagents? },
        pass_threshold: pass_threshold?,
        ground_truth_pattern,
        kind: kind?,
    })
}

#[derive(Clone, Copy)]
enum Written {
    Tool,
    Rubric,
}

const KINDS: [(&str, Option<Written>); 5] = [
    ("tool", Some(Written::Tool)),
    ("rubric", Some(Written::Rubric)),
    ("model_judge", Some(Written::Rubric)),
    ("letta_judge", None),
    ("program", None),
];

fn kind(
    name: &str,
    entry: &Entry,
    fields: &mut Fields<'_>,
    reader: &mut Reader<'_>,
) -> Option<Written> {
    let Some(field) = fields.take("kind") else {
        let likely = if entry.value.get("function").is_some() { "tool" } else { "rubric" };
        reader.findings.error(entry.key_span, format!("the grader `{name}` has no `kind`")).hint =
            Some(format!("write `kind: {likely}`"));
        return None;
    };
    let kind = reader.findings.text(field)?;
    match KINDS.iter().find(|(known, _)| *known == kind) {
        Some((_, Some(written))) => Some(*written),
        Some((known, None)) => {
            reader.unavailable(field, &format!("graders of kind `{known}` are"));
            None
        }
        None => {
            let names: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
            reader.findings.unknown(field, &kind, "grader kind", &names);
            None
        }
    }
}

fn tool(entry: &Entry, fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<ToolSpec> {
    let config = options(fields.take("config"), &mut reader.findings);
    let Some(field) = fields.take("function") else {
        reader.findings.error(entry.key_span, "a tool grader needs a `function`").hint =
            Some("for example `function: contains`".to_owned());
        return None;
    };
    let function = reader.findings.text(field)?;
    if is_python(&function) {
        reader.unavailable(field, "graders written in Python are");
        return None;
    }
    if !reader.registry.graders.contains(&function.as_str()) {
        reader.findings.unknown(field, &function, "grading function", reader.registry.graders);
        return None;
    }
    let spec = ToolSpec { function, config: config? };
    let problems = (reader.registry.check_grader)(&spec);
    report(&problems, entry.value.get("config"), field, &mut reader.findings);
    Some(spec)
}

fn extractor(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<(String, String)> {
    let config_field = fields.take("extractor_config");
    let config = options(config_field, &mut reader.findings);
    let field = fields.take("extractor");
    let name = match field {
        Some(field) => reader.findings.text(field)?,
        None => "last_assistant".to_owned(),
    };
    if let Some(field) = field {
        if is_python(&name) {
            reader.unavailable(field, "extractors written in Python are");
            return None;
        }
        if !reader.registry.extractors.contains(&name.as_str()) {
            reader.findings.unknown(field, &name, "extractor", reader.registry.extractors);
            return None;
        }
    }
    let config = config?;
    let problems = (reader.registry.check_extractor)(&name, &config);
    if let Some(at) = field.or(config_field) {
        report(&problems, config_field.map(|field| &field.value), at, &mut reader.findings);
    }
    Some((name, Value::Object(config).to_string()))
}

/// Whether a name is `file.py:name`, a function of a Python file.
fn is_python(name: &str) -> bool {
    name.contains(".py:")
}

/// Options as JSON; none if they are no mapping.
pub(super) fn options(
    field: Option<&Entry>,
    findings: &mut Findings,
) -> Option<Map<String, Value>> {
    let Some(field) = field else { return Some(Map::new()) };
    findings.fields(field)?;
    match field.value.to_json() {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Reports what is wrong with options where they are written, or else at the name of their owner.
fn report(
    problems: &[OptionProblem],
    config: Option<&Node>,
    owner: &Entry,
    findings: &mut Findings,
) {
    for problem in problems {
        let span = config.and_then(|config| option_span(config, &problem.at));
        let span = span.unwrap_or(owner.value.span);
        findings.error(span, problem.message.as_str()).hint.clone_from(&problem.hint);
    }
}

/// The entry that the keys lead to, or the deepest one there is.
fn option_span(config: &Node, keys: &[String]) -> Option<Span> {
    let (mut node, mut span) = (config, None);
    for key in keys {
        match &node.value {
            Kind::Map(entries) => {
                let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { break };
                let whole = Span { end: entry.value.span.end, ..entry.key_span };
                let near = entry.value.span.file == whole.file && whole.start <= whole.end;
                span = Some(if near { whole } else { entry.key_span });
                node = &entry.value;
            }
            Kind::Seq(items) => {
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

fn pattern(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let field = fields.take("ground_truth_pattern")?;
    let pattern = reader.findings.text(field)?;
    if let Some(problem) = (reader.registry.check_pattern)(&pattern) {
        reader
            .findings
            .error(field.value.span, format!("`ground_truth_pattern` is no pattern: {problem}"));
    }
    Some(pattern)
}
