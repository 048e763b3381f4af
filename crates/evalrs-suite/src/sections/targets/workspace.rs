//! The `workspace` of a target: a fresh folder for every conversation.

use strum::VariantNames;

use crate::fields::FieldSet;
use crate::section::FieldShape::{AnyOf, Choice, Mapping, Text, Truth};
use crate::section::{FieldShape, Section, section};
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{KeepWorkspace, WorkspaceSpec};

pub(crate) const WORKSPACE_SHAPE: FieldShape = AnyOf(&[Truth, Mapping(&WORKSPACE)]);

pub(crate) static WORKSPACE: Section = section!["`workspace`",
    "template": Text => "the folder to copy; the workspace is empty if absent";
    "git": Truth, or "false" => "whether the workspace is a git repository, so that `{row.workspace_diff}` shows what changed";
    "keep": Choice(KeepWorkspace::VARIANTS), or "\"failed\"" => "whose folders to keep: those of failed conversations, all, or none";
];

pub(crate) fn workspace(fields: &FieldSet<'_>) -> Option<WorkspaceSpec> {
    let field = fields.take("workspace")?;
    if let Yaml::Bool(wanted) = field.value.value {
        let spec = WorkspaceSpec { template: None, is_git: false, keep: KeepWorkspace::default() };
        return wanted.then_some(spec);
    }
    let inner = field.fields(&WORKSPACE)?;
    let template = inner.path("template");
    let is_git = inner.truth("git").unwrap_or(false);
    let keep = inner.variant("keep").unwrap_or_default();
    inner.finish();
    Some(WorkspaceSpec { template, is_git, keep })
}

/// The template of a workspace as an input: what is in it decides what an agent does.
pub(crate) fn template(fields: &FieldSet<'_>) -> Option<String> {
    let node = fields.take("workspace")?.entry.value.get("template")?;
    let path = fields.findings.sources().relative_to_suite(node.span.file, node.text()?);
    // As the files in it are called.
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let plain = parts.collect::<Vec<_>>().join("/");
    Some(if path.starts_with('/') { format!("/{plain}") } else { plain })
}
