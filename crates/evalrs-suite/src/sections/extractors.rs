//! Which part of a trajectory is graded: the `extractor` of a grader and its options.

use serde_json::{Map, Value};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::Section;
use crate::sections::options::{options, report};
use crate::sections::programs::PROGRAM_SETTINGS;
use crate::sections::{program_files, programs};
use evalrs_model::spec::{ExtractorSpec, Role};

pub(crate) static EXTRACTOR_OPTIONS: Section =
    Section::new("`extractor_options`", &[PROGRAM_SETTINGS]);

pub(crate) fn extractor(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<ExtractorSpec> {
    let config_field = fields.take("extractor_config");
    let config = options(config_field);
    let field = fields.take("extractor");
    let settings = fields.take("extractor_options");
    let name = match field {
        Some(field) => field.text()?,
        None => "last_assistant".to_owned(),
    };
    if let Some(field) = field.filter(|_| program_files::is_python(&name)) {
        return python_extractor(field, &name, settings, config, reader);
    }
    if let Some(settings) = settings {
        let hint = format!("the options of `{name}` are under `extractor_config`");
        settings.error_at_key("`extractor_options` applies to extractors written in Python", &hint);
    }
    if let Some(field) = field
        && !reader.registry.extractors.contains(&name.as_str())
    {
        return field.unknown(&name, "extractor", reader.registry.extractors);
    }
    let config = config?;
    let problems = (reader.registry.check_extractor)(&name, &config);
    if let Some(at) = field.or(config_field) {
        report(&problems, config_field.map(|field| &field.entry.value), at);
    }
    Some(ExtractorSpec::new(name, Value::Object(config).to_string()))
}

/// The extractor `file.py:name`. What its options mean is known to the function alone.
fn python_extractor(
    field: Field<'_>,
    name: &str,
    settings: Option<Field<'_>>,
    config: Option<Map<String, Value>>,
    reader: &mut Reader<'_>,
) -> Option<ExtractorSpec> {
    let spec = program_files::python(field, name, Role::Extract);
    let inner = match settings {
        None => FieldSet::new(&[], &EXTRACTOR_OPTIONS, reader.findings),
        Some(settings) => settings.fields(&EXTRACTOR_OPTIONS)?,
    };
    let spec = programs::with_sight(spec, &inner);
    let spec = programs::with_settings(spec, field, &inner, reader);
    inner.finish();
    let name = reader.findings.sources().relative_to_suite(field.value.span.file, name);
    let program = Some(Box::new(spec?));
    Some(ExtractorSpec { program, ..ExtractorSpec::new(name, Value::Object(config?).to_string()) })
}
