//! The JSON Schema of suites, draft 2020-12, for editors.
//!
//! It takes every suite that is read without an error and refuses fields that are none, values of another type and
//! numbers out of range. It does not ask for fields that must be there below the top: a suite that extends another says
//! only what differs. Text with `${` may become anything.

use serde_json::{Map, Value, json};

use super::section::{FieldShape, FieldSpec, MAX_SECONDS, Section};
use super::sections::{EXTENDS, SUITE};

/// Text that is a truth value in YAML 1.1, or not known before the environment is.
const TRUTH: &str = r"^([yY]|[yY][eE][sS]|[nN]|[nN][oO]|[oO][nN]|[oO][fF][fF]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[01])$|\$\{";

/// The schema that `evalrs schemas suite` prints.
pub(crate) fn suite_schema() -> Value {
    let mut definitions = Definitions::default();
    let properties = definitions.properties(SUITE.fields().chain(EXTENDS));
    let mut defs = Map::new();
    // A section may name further ones, and itself.
    while let Some((name, section)) = definitions.sections.get(defs.len()).cloned() {
        let properties = definitions.properties(section.fields());
        defs.insert(name, object(&properties));
    }
    let required = SUITE.fields().filter(|field| field.is_required).map(|field| field.name);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evalrs suite",
        "anyOf": [{"required": ["extends"]}, {"required": required.collect::<Vec<_>>()}],
        "$defs": defs,
    });
    if let (Some(members), Value::Object(suite)) = (schema.as_object_mut(), object(&properties)) {
        members.extend(suite);
    }
    schema
}

fn object(properties: &Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// The sections that were met so far, each under a name of its own.
#[derive(Default)]
struct Definitions {
    sections: Vec<(String, &'static Section)>,
}

impl Definitions {
    fn properties(
        &mut self,
        fields: impl Iterator<Item = &'static FieldSpec>,
    ) -> Map<String, Value> {
        fields.map(|field| (field.name.to_owned(), self.property(field))).collect()
    }

    fn property(&mut self, field: &FieldSpec) -> Value {
        let mut property = json!({});
        if !field.doc.is_empty() {
            property["description"] = field.doc.into();
        }
        if let Some(default) = field.default.and_then(|json| serde_json::from_str(json).ok()) {
            property["default"] = default;
        }
        match field.shape {
            FieldShape::Anything => {}
            // A field that is null is a field that is absent.
            shape => {
                property["anyOf"] = match self.shape(shape) {
                    mut shape if shape.get("anyOf").is_some() => shape["anyOf"].take(),
                    shape => json!([shape]),
                };
                if let Some(shapes) = property["anyOf"].as_array_mut() {
                    shapes.push(json!({"type": "null"}));
                }
            }
        }
        property
    }

    fn shape(&mut self, shape: FieldShape) -> Value {
        match shape {
            FieldShape::Text => json!({"type": "string"}),
            FieldShape::Texts => json!({"type": ["array", "string"], "items": {"type": "string"}}),
            FieldShape::Truth => {
                json!({"anyOf": [{"enum": [true, false, 0, 1]}, {"type": "string", "pattern": TRUTH}]})
            }
            FieldShape::Number(..) | FieldShape::Whole(..) | FieldShape::Seconds => {
                json!({"anyOf": [bounds(shape), {"type": "string", "pattern": r"^\s*[-+.0-9]|\$\{"}]})
            }
            FieldShape::Choice(names) => json!({"anyOf": [{"enum": names}, variable()]}),
            FieldShape::Mapping(section) => {
                json!({"$ref": format!("#/$defs/{}", self.name(section))})
            }
            FieldShape::MapOf(values) => {
                json!({"type": "object", "additionalProperties": self.shape(*values)})
            }
            FieldShape::ListOf(items) => json!({"type": "array", "items": self.shape(*items)}),
            FieldShape::AnyOf(shapes) => {
                let shapes = shapes.iter().map(|shape| self.shape(*shape));
                json!({"anyOf": shapes.collect::<Vec<_>>()})
            }
            FieldShape::OrNull(shape) => json!({"anyOf": [self.shape(*shape), {"type": "null"}]}),
            FieldShape::Anything => json!(true),
        }
    }

    /// The name of a section, which is defined once: `rubric_grader`, `reward_2`.
    fn name(&mut self, section: &'static Section) -> String {
        if let Some((name, _)) = self.sections.iter().find(|(_, met)| std::ptr::eq(*met, section)) {
            return name.clone();
        }
        let owner = section.owner.trim_start_matches("a ").replace('`', "").replace(' ', "_");
        let of_owner = self.sections.iter().filter(|(_, met)| met.owner == section.owner).count();
        let name = match of_owner {
            0 => owner,
            others => format!("{owner}_{}", others + 1),
        };
        self.sections.push((name.clone(), section));
        name
    }
}

/// Text that is not known before the environment is.
fn variable() -> Value {
    json!({"type": "string", "pattern": r"\$\{"})
}

/// A number between the bounds of its shape.
fn bounds(shape: FieldShape) -> Value {
    let mut number = json!({"type": "number"});
    match shape {
        FieldShape::Number(least, greatest, _) => {
            if least > f64::MIN {
                number["minimum"] = least.into();
            }
            if greatest < f64::MAX {
                number["maximum"] = greatest.into();
            }
        }
        FieldShape::Whole(least, greatest, _) => {
            number["type"] = "integer".into();
            if least > i64::MIN {
                number["minimum"] = least.into();
            }
            if greatest < i64::from(u32::MAX) {
                number["maximum"] = greatest.into();
            }
        }
        _ => {
            number["exclusiveMinimum"] = 0.into();
            number["maximum"] = (MAX_SECONDS as u64).into();
        }
    }
    number
}

/// The JSON Schema of one field as the lists of graders show it: without what is inside of it.
pub(crate) fn listed(field: &FieldSpec) -> Value {
    let mut option = match field.shape.but_for_null() {
        FieldShape::Text => json!({"type": "string"}),
        FieldShape::Texts => json!({"type": ["array", "string"], "items": {"type": "string"}}),
        FieldShape::Truth => json!({"type": "boolean"}),
        FieldShape::Choice(names) => json!({"enum": names}),
        FieldShape::Mapping(_) | FieldShape::MapOf(_) => json!({"type": "object"}),
        FieldShape::ListOf(_) => json!({"type": "array", "items": {"type": "object"}}),
        shape @ (FieldShape::Number(..) | FieldShape::Whole(..) | FieldShape::Seconds) => {
            bounds(shape)
        }
        FieldShape::AnyOf(_) | FieldShape::OrNull(_) | FieldShape::Anything => json!({}),
    };
    option["description"] = field.doc.into();
    option
}
