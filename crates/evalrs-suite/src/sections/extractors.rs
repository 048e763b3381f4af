//! Which part of a trajectory is graded: the `extractor` of a grader and its options.

use serde_json::{Map, Value};

use crate::fields::FieldSet;
use crate::reader::Reader;
use crate::section::Section;
use crate::sections::options::{options, report};
use crate::sections::programs::PROGRAM_SETTINGS;
use crate::sections::{program_files, programs};
use evalrs_base::yaml::tree::YamlEntry;
use evalrs_model::spec::{ExtractorSpec, Role};

pub(crate) static EXTRACTOR_OPTIONS: Section =
    Section::new("`extractor_options`", &[PROGRAM_SETTINGS]);

pub(crate) fn extractor(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<ExtractorSpec> {
    let config_field = fields.take("extractor_config");
    let config = options(config_field, &mut reader.findings);
    let field = fields.take("extractor");
    let settings = fields.take("extractor_options");
    let name = match field {
        Some(field) => reader.findings.text(field)?,
        None => "last_assistant".to_owned(),
    };
    if let Some(field) = field.filter(|_| program_files::is_python(&name)) {
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
    let spec = program_files::python(field, name, Role::Extract, reader);
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
