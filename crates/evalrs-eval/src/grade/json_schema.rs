//! `json_schema`: the submission is JSON that satisfies a schema.

use jsonschema::Validator;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::given::reference;
use super::grader::{GradeResult, GraderInfo, Subject, ToolGrader};
use super::json::{NO_JSON, json_of, parse_as};
use super::rationale::{explained, shorten, unusable_reference};
use crate::options::{self, problem};
use evalrs_model::spec::OptionProblem;

/// How many violations of a schema a rationale lists.
const SHOWN_ERRORS: usize = 5;

pub(super) const JSON_SCHEMA: GraderInfo = GraderInfo {
    id: "json_schema",
    name: "JSON Schema",
    description: "The submission is JSON that satisfies a JSON Schema: an option, or the ground truth.",
    ..GraderInfo::new::<JsonSchemaOptions>(|config| {
        Ok(ToolGrader::new(JsonSchemaGrader::compile(config)?, JsonSchemaGrader::grade))
    })
};

/// Options of `json_schema`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct JsonSchemaOptions {
    /// The JSON Schema; the row's ground truth if absent.
    pub schema: Option<Map<String, Value>>,
    /// Whether the whole submission must be JSON; else a fenced block in it is enough.
    pub whole: bool,
}

/// `json_schema`, with its schema compiled if an option gave it.
struct JsonSchemaGrader {
    validator: Option<Validator>,
    whole: bool,
}

impl JsonSchemaGrader {
    fn compile(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let options: JsonSchemaOptions = options::read(config)?;
        let validator = options.schema.map(|schema| compile(&Value::Object(schema))).transpose();
        let validator = validator.map_err(|why| vec![problem(&["schema"], why)])?;
        Ok(Self { validator, whole: options.whole })
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let own;
        let validator = if let Some(validator) = &self.validator {
            validator
        } else {
            own = compile(&json_of(reference(subject)?)?).map_err(unusable_reference)?;
            &own
        };
        let Some(found) = parse_as(subject.submission, self.whole) else {
            return Ok(explained("JSON schema", Some(NO_JSON.to_owned())));
        };
        let errors: Vec<String> = validator.iter_errors(&found).map(|e| violation(&e)).collect();
        let wrong = (!errors.is_empty()).then(|| {
            let more = errors.len().saturating_sub(SHOWN_ERRORS);
            let shown = &errors[..errors.len() - more];
            let more = if more > 0 { format!("; +{more} more") } else { String::new() };
            format!("{}{more}", shown.join("; "))
        });
        Ok(explained("JSON schema", wrong))
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::validator_for(schema).map_err(|error| {
        let path = error.instance_path().as_str().to_owned();
        format!("it is not a JSON Schema, at `{path}`: {}", shorten(&error.masked().to_string()))
    })
}

/// Where a violation is and what it is; the value itself may be long and is left out.
fn violation(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let place = if path.is_empty() { "the whole".to_owned() } else { format!("`{path}`") };
    format!("{place}: {}", shorten(&error.masked().to_string()))
}
