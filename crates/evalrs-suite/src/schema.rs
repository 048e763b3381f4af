//! The JSON Schemas of suites, roll-ups and `evalrs.toml`, draft 2020-12, for editors.
//!
//! It takes every suite that is read without an error and refuses fields that are unknown or missing, values of another type
//! and numbers out of range. A suite that extends another says only what differs: nothing is missing there. Text with `${`
//! may become anything.

use serde_json::{Map, Value, json};

use crate::rollup::ROLLUP;
use crate::section::{FieldShape, FieldSpec, MAX_SECONDS, Section};
use crate::sections::suite::{EXTENDS, SUITE};
use crate::workspace::WORKSPACE;

/// Text that is a truth value in YAML 1.1, or not known before the environment is.
const TRUTH: &str = r"^([yY]|[yY][eE][sS]|[nN]|[nN][oO]|[oO][nN]|[oO][fF][fF]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[01])$|\$\{";

/// The schema that `evalrs schemas suite` prints.
pub fn suite_schema() -> Value {
    let mut whole = Definitions::default();
    let mut partial = Definitions { prefix: "partial_", ..Definitions::default() };
    let whole_suite = whole.object(SUITE.fields());
    let partial_suite = partial.object(SUITE.fields().chain(EXTENDS));
    let mut defs = whole.of_sections();
    defs.extend(partial.of_sections());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evalrs suite",
        "type": "object",
        "if": {"required": ["extends"]},
        "then": partial_suite,
        "else": whole_suite,
        "$defs": defs,
    })
}

/// The schema that `evalrs schemas rollup` prints.
pub fn rollup_schema() -> Value {
    of_section(&ROLLUP, "evalrs roll-up")
}

/// The schema that `evalrs schemas workspace` prints: that of `evalrs.toml`.
pub fn workspace_schema() -> Value {
    of_section(&WORKSPACE, "evalrs.toml")
}

fn of_section(section: &Section, title: &str) -> Value {
    let mut definitions = Definitions::default();
    let mut schema = definitions.object(section.fields());
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = title.into();
    schema["$defs"] = Value::Object(definitions.of_sections());
    schema
}

/// The sections that were met so far, each under a name of its own.
#[derive(Default)]
struct Definitions {
    /// What names begin with. Sections whose names do need not have every field that a section must have.
    prefix: &'static str,
    sections: Vec<(String, &'static Section)>,
}

impl Definitions {
    /// The definition of every section that was met. One may name further ones, and itself.
    fn of_sections(mut self) -> Map<String, Value> {
        let mut defs = Map::new();
        while let Some((name, section)) = self.sections.get(defs.len()).cloned() {
            defs.insert(name, self.object(section.fields()));
        }
        defs
    }

    fn object(&mut self, fields: impl Iterator<Item = &'static FieldSpec>) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in fields {
            properties.insert(field.name.to_owned(), self.property(field));
            required.extend((field.is_required && self.prefix.is_empty()).then_some(field.name));
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    fn property(&mut self, field: &FieldSpec) -> Value {
        let mut property = json!({"description": field.doc});
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
        let owner =
            section.owner.trim_start_matches("a ").replace(['`', '[', ']'], "").replace(' ', "_");
        let of_owner = self.sections.iter().filter(|(_, met)| met.owner == section.owner).count();
        let name = match of_owner {
            0 => format!("{}{owner}", self.prefix),
            others => format!("{}{owner}_{}", self.prefix, others + 1),
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
