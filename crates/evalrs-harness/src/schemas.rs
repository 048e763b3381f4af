//! JSON Schemas of the records, draft 2020-12, each complete in itself.
//!
//! The records are declared in `schemas/records.d.ts`, in a small part of TypeScript, and this file makes schemas of the
//! declarations. They are strict: what writes a record is checked with them. What reads records (`check`) is tolerant,
//! as agent-eval-harness is.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use evalrs_model::record_format::LINE_FORMAT;

/// The text of the declarations without comments, cut into words and signs.
static TOKENS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = include_str!("schemas/records.d.ts");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    for sign in "{}[]()<>?:;,|=".chars() {
        text = text.replace(sign, &format!(" {sign} "));
    }
    text.split_whitespace().map(str::to_owned).collect()
});

/// A declaration: `export type NAME = TYPE;`, or without `export` one that only others use.
struct Declaration {
    name: &'static str,
    is_exported: bool,
    /// The text behind `=`, and the rest.
    tokens: &'static [String],
}

static DECLARATIONS: LazyLock<Vec<Declaration>> = LazyLock::new(|| {
    let tokens: &'static [String] = &TOKENS;
    let starts = (0..tokens.len()).filter(|at| {
        // A member may be called `type` too.
        tokens[*at] == "type" && tokens.get(at + 2).is_some_and(|sign| sign == "=")
    });
    let declared = starts.map(|at| Declaration {
        name: &tokens[at + 1],
        is_exported: at > 0 && tokens[at - 1] == "export",
        tokens: &tokens[at + 3..],
    });
    declared.collect()
});

/// Whose schemas there are: those of agent-eval-harness in its order, and behind them those of evalrs alone.
pub fn names() -> impl Iterator<Item = &'static str> {
    DECLARATIONS.iter().filter(|declared| declared.is_exported).map(|declared| declared.name)
}

/// The schema of a record, if there is one of this name.
pub fn schema(name: &str) -> Option<Value> {
    let name = names().find(|known| *known == name)?;
    let Value::Object(body) = named(name)? else { return None };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(name));
    schema.extend(body);
    Some(Value::Object(schema))
}

/// The schema of a type by its name.
fn named(name: &str) -> Option<Value> {
    Some(match name {
        "string" | "number" | "boolean" | "null" => json!({"type": name}),
        "unknown" => json!({}),
        "Count" => json!({"type": "integer", "minimum": 0}),
        "Rank" => json!({"type": "integer", "minimum": 1}),
        "Share" => json!({"type": "number", "minimum": 0, "maximum": 1}),
        "LineFormat" => json!({"const": LINE_FORMAT}),
        _ => {
            let declared = DECLARATIONS.iter().find(|declared| declared.name == name)?;
            TypeReader { tokens: declared.tokens }.union()?
        }
    })
}

/// Reads the type at the beginning of `tokens`, and leaves what follows it. None where it is not one.
struct TypeReader {
    tokens: &'static [String],
}

impl TypeReader {
    fn next(&mut self) -> Option<&'static str> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    /// Passes over `sign`, if it is next.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.tokens.first().is_some_and(|next| next == sign);
        if is_next {
            self.next();
        }
        is_next
    }

    /// Passes over `sign`, which must be next.
    fn expect(&mut self, sign: &str) -> Option<()> {
        self.takes(sign).then_some(())
    }

    /// `A | B`; of texts an enumeration.
    fn union(&mut self) -> Option<Value> {
        let mut members = vec![self.with_lists()?];
        while self.takes("|") {
            members.push(self.with_lists()?);
        }
        if members.len() == 1 {
            return members.pop();
        }
        let texts = members.iter().map(|member| member["const"].as_str());
        Some(match texts.collect::<Option<Vec<&str>>>() {
            Some(texts) => json!({"type": "string", "enum": texts}),
            None => json!({"anyOf": members}),
        })
    }

    /// `A`, `A[]`.
    fn with_lists(&mut self) -> Option<Value> {
        let mut schema = self.one()?;
        while self.takes("[") {
            self.expect("]")?;
            schema = json!({"type": "array", "items": schema});
        }
        Some(schema)
    }

    fn one(&mut self) -> Option<Value> {
        match self.next()? {
            "{" => self.object(),
            "[" => self.tuple(),
            "(" => {
                let schema = self.union()?;
                self.expect(")")?;
                Some(schema)
            }
            "Record" => self.map(),
            "OneOf" => {
                self.expect("<")?;
                let mut schema = self.union()?;
                self.expect(">")?;
                Some(json!({"oneOf": schema["anyOf"].take()}))
            }
            literal => match serde_json::from_str(literal) {
                Ok(Value::String(text)) => Some(json!({"type": "string", "const": text})),
                Ok(Value::Number(number)) => Some(json!({"const": number})),
                _ => named(literal),
            },
        }
    }

    /// The rest of `{ name: A; other?: B }`: these members and no others.
    fn object(&mut self) -> Option<Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        while !self.takes("}") {
            let name = self.next()?.trim_matches('"');
            if !self.takes("?") {
                required.push(name);
            }
            self.expect(":")?;
            properties.insert(name.to_owned(), self.union()?);
            self.takes(";");
        }
        Some(json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }))
    }

    /// The rest of `Record<string, A>`: any names, whose values are all of a type.
    fn map(&mut self) -> Option<Value> {
        for sign in ["<", "string", ","] {
            self.expect(sign)?;
        }
        let values = self.union()?;
        self.expect(">")?;
        Some(json!({
            "type": "object",
            "propertyNames": {"type": "string"},
            "additionalProperties": values,
        }))
    }

    /// The rest of `[A, B]`.
    fn tuple(&mut self) -> Option<Value> {
        let mut items = vec![self.union()?];
        while self.takes(",") {
            items.push(self.union()?);
        }
        self.expect("]")?;
        let least = items.len();
        Some(json!({"type": "array", "prefixItems": items, "items": false, "minItems": least}))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DECLARATIONS, TypeReader, names, schema};
    use evalrs_eval::adapter::BUILT_IN;

    fn accepts(name: &str, value: &Value) -> bool {
        jsonschema::draft202012::new(&schema(name).unwrap()).unwrap().is_valid(value)
    }

    #[test]
    fn every_name_has_a_schema_that_is_one() {
        assert_eq!(names().count(), 26);
        for name in names() {
            let schema = schema(name).unwrap();
            let heads: Vec<&String> = schema.as_object().unwrap().keys().take(2).collect();
            assert_eq!(heads, ["$schema", "title"]);
            assert_eq!(schema["title"], name);
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
            assert!(!schema.to_string().contains("$ref"), "{name} is complete in itself");
        }
        assert_eq!(schema("promptcase"), None);
    }

    #[test]
    fn every_declaration_is_read_to_its_end() {
        for declared in DECLARATIONS.iter() {
            let mut reader = TypeReader { tokens: declared.tokens };
            assert!(reader.union().is_some() && reader.takes(";"), "{}", declared.name);
        }
    }

    #[test]
    fn schemas_take_what_is_written_and_nothing_else() {
        let score = json!({"pass": true, "score": 0.5, "reasoning": "r", "outcome": {"a": 1}});
        let step = json!({"type": "tool_call", "name": "Read", "status": "failed", "timestamp": 1});
        let timing = json!({"start": 1, "end": 2, "sessionCreation": 0, "total": 1});
        for (name, value, expected) in [
            ("GraderResult", score.clone(), true),
            ("GraderResult", json!({"pass": true, "score": 1.1}), false),
            ("GraderResult", json!({"pass": true, "score": 1, "more": 1}), false),
            ("GraderResult", json!({"score": 1}), false),
            ("TrajectoryStep", step.clone(), true),
            ("TrajectoryStep", json!({"type": "song", "content": "", "timestamp": 1}), false),
            ("PromptCase", json!({"id": "a", "input": ["q"], "metadata": {"k": [1]}}), true),
            ("PromptCase", json!({"id": "a", "input": [1]}), false),
            (
                "CaptureResult",
                json!({"id": "a", "input": "q", "output": "o", "trajectory": [step], "metadata": {}, "timing": timing, "toolErrors": true, "score": score}),
                true,
            ),
            ("CaptureResult", json!({"id": "a", "input": "q", "output": "o"}), false),
            (
                "ValidationResult",
                json!({"id": "a", "reference": "r", "passes": true, "graderResult": {"pass": true, "score": 1}}),
                true,
            ),
            (
                "McpServerConfig",
                json!({"name": "n", "command": "c", "args": [], "env": [{"name": "A", "value": "b"}]}),
                true,
            ),
            ("McpServerConfig", json!({"type": "http", "name": "n"}), false),
            (
                "JsonRpcResponse",
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "m"}}),
                true,
            ),
            ("JsonRpcResponse", json!({"jsonrpc": "2.0", "id": null, "result": 1}), false),
            ("Session", json!({"id": "s", "_meta": null}), true),
        ] {
            assert_eq!(accepts(name, &value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn the_schema_of_adapters_takes_those_that_are_built_in() {
        for (name, text) in BUILT_IN {
            let mut adapter: Value = serde_json::from_str(text).unwrap();
            assert!(accepts("AdapterSchema", &adapter), "{name}");
            adapter["sessionMode"] = json!("once");
            assert!(!accepts("AdapterSchema", &adapter), "{name}");
        }
    }

    #[test]
    fn what_an_agent_wrote_becomes_steps_that_the_schema_takes() {
        let set = "agent-trajectories";
        let name = "claude-code-2.0.25-stream.jsonl";
        let Some(stream) = evalrs_test_data::text(set, name) else { return };
        let adapter = evalrs_eval::adapter::Adapter::read(BUILT_IN[0].1).unwrap();
        let lines: Vec<&str> = stream.lines().collect();
        let raw = json!({
            "id": "a", "input": "q", "rawLines": lines, "metadata": {"category": "real"},
            "timing": {"start": 0, "end": 9, "total": 9, "sessionCreation": 0},
        });
        let record = crate::extract::extracted(raw.as_object().unwrap(), &adapter);
        let record = json!(record.unwrap());
        let steps = record["trajectory"].as_array().unwrap();
        assert!(steps.len() > 20, "{}", steps.len());
        for step in steps {
            assert!(accepts("TrajectoryStep", step), "{step}");
        }
        assert!(accepts("CaptureResult", &record), "{record}");
    }
}
