//! The `dataset` and `target` sections: where samples and trajectories are.
//!
//! Only what the suite says is read here; whether the files are there is found when they are opened. A target
//! that needs a live agent is accepted with its fields, since its recorded results can still be graded.

use super::fields::Findings;
use super::read::Reader;
use super::tree::{Entry, Kind};
use crate::pipeline::spec::{DatasetFormat, DatasetSpec, FieldMap, TargetSpec};
use crate::pipeline::trajectory::TrajectoryFormat;

const DATASET_FORMATS: [(&str, DatasetFormat); 4] = [
    ("jsonl", DatasetFormat::Jsonl),
    ("ndjson", DatasetFormat::Jsonl),
    ("json", DatasetFormat::Json),
    ("csv", DatasetFormat::Csv),
];

const TRAJECTORY_FORMATS: [(&str, TrajectoryFormat); 6] = [
    ("letta", TrajectoryFormat::Letta),
    ("openai_chat", TrajectoryFormat::OpenaiChat),
    ("anthropic", TrajectoryFormat::Anthropic),
    ("claude_code", TrajectoryFormat::ClaudeCode),
    ("steps", TrajectoryFormat::Steps),
    ("text", TrajectoryFormat::Text),
];

/// Our names for what a row holds.
const ROW_FIELDS: [&str; 18] = [
    "id",
    "input",
    "ground_truth",
    "reference",
    "output",
    "trajectory",
    "messages",
    "metadata",
    "tags",
    "rubric",
    "rubric_path",
    "rubric_vars",
    "extra_vars",
    "agent_args",
    "trial",
    "model",
    "agent_state",
    "label",
];

/// Fields of targets that run an agent, over all dialects.
const AGENT_FIELDS: [&str; 24] = [
    "base_url",
    "api_key",
    "timeout",
    "project_id",
    "max_retries",
    "model_configs",
    "model_handles",
    "agent_id",
    "agent_file",
    "agent_script",
    "working_dir",
    "allowed_tools",
    "disallowed_tools",
    "skills_dir",
    "flags",
    "permission_mode",
    "sandbox",
    "memory_dir",
    "memory_workspace",
    "max_steps",
    "command",
    "path",
    "model",
    "env",
];

/// Reads `dataset: PATH` or `dataset: {path, format, fields}`.
pub(super) fn dataset(field: &Entry, reader: &mut Reader<'_>) -> Option<DatasetSpec> {
    if let Kind::Str(_) = field.value.value {
        let path = reader.path(field)?;
        let format = format_of(&path, field, &mut reader.findings)?;
        return Some(DatasetSpec { path, format, fields: FieldMap::default() });
    }
    if !matches!(field.value.value, Kind::Map(_)) {
        reader.findings.wrong_type(field, "a path or a mapping with `path`");
        return None;
    }
    let mut fields = reader.findings.fields(field)?;
    let path_field = fields.take("path");
    let path = if let Some(path) = path_field {
        reader.path(path)
    } else {
        reader.findings.error(field.key_span, "the dataset has no `path`");
        None
    };
    let format = match (fields.take("format"), path_field, &path) {
        (Some(format), _, _) => reader.findings.choice(format, &DATASET_FORMATS),
        (None, Some(path_field), Some(path)) => format_of(path, path_field, &mut reader.findings),
        _ => None,
    };
    let map = fields.take("fields").map(|field| field_map(field, &mut reader.findings));
    fields.finish("a dataset", &mut reader.findings);
    Some(DatasetSpec { path: path?, format: format?, fields: map.unwrap_or_default() })
}

fn format_of(path: &str, field: &Entry, findings: &mut Findings) -> Option<DatasetFormat> {
    let format = DatasetFormat::of_name(path);
    if format.is_none() {
        findings.error(field.value.span, "the dataset's format does not show in its name").hint = Some(
            "name it .jsonl, .ndjson, .json or .csv, or write `dataset: {path: …, format: jsonl}`"
                .to_owned(),
        );
    }
    format
}

impl DatasetFormat {
    /// The format that shows in the name of a file.
    pub fn of_name(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        let ends =
            |name: &str| lower.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
        DATASET_FORMATS.iter().find(|(name, _)| ends(name)).map(|(_, format)| *format)
    }
}

fn field_map(field: &Entry, findings: &mut Findings) -> FieldMap {
    let mut map = FieldMap::default();
    let Some(mut fields) = findings.fields(field) else { return map };
    for name in ROW_FIELDS {
        if let Some(path) = fields.take(name).and_then(|path| findings.text(path)) {
            map.paths.push((name.to_owned(), path));
        }
    }
    map.paths.sort();
    if let Some(outputs) = fields.take("outputs")
        && findings.fields(outputs).is_some()
    {
        for output in outputs.value.entries() {
            if let Some(path) = findings.text(output) {
                map.outputs.push((output.key.clone(), path));
            }
        }
    }
    fields.finish("a sample", findings);
    map
}

/// Reads the `target` section.
pub(super) fn target(field: &Entry, reader: &mut Reader<'_>) -> Option<TargetSpec> {
    let mut fields = reader.findings.fields(field)?;
    let Some(kind) = fields.take("kind") else {
        reader.findings.error(field.key_span, "the target has no `kind`").hint =
            Some("`kind: recorded` grades what was recorded already".to_owned());
        return None;
    };
    let kinds = ["recorded", "agent", "letta_agent", "letta_code", "command", "program", "http"];
    let name = reader.findings.text(kind)?;
    if !kinds.contains(&name.as_str()) {
        reader.findings.unknown(kind, &name, "target kind", &kinds);
        return None;
    }
    if name != "recorded" {
        for known in AGENT_FIELDS {
            fields.take(known);
        }
        fields.finish("a target that runs an agent", &mut reader.findings);
        return Some(TargetSpec::NotRunnable { kind: name });
    }
    let path = fields.take("path").and_then(|path| reader.path(path));
    let format = fields
        .take("format")
        .and_then(|format| reader.findings.choice(format, &TRAJECTORY_FORMATS));
    fields.finish("a recorded target", &mut reader.findings);
    Some(TargetSpec::Recorded { path, format })
}
