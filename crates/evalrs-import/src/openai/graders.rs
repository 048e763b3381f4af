//! The six kinds of graders of hosted evals.

use serde_json::{Map, Value, json};

use super::templates::{TemplatePart, parts, render, rubric};
use crate::graders::JudgeModel;
use crate::imported::{ImportedFile, ImportedSource, SourcePlace};
use crate::reading::{GivenNames, items_in, plain_name, put, text_at, text_in};

/// From where to where scores go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreRange {
    pub min: f64,
    pub max: f64,
}

impl ScoreRange {
    pub(super) const UNIT: Self = Self { min: 0.0, max: 1.0 };

    /// The range that a grader says.
    pub(super) fn of(grader: &Value) -> Option<Self> {
        let range = grader.get("range")?.as_array()?;
        let bound = |at: usize, default| range.get(at).and_then(Value::as_f64).unwrap_or(default);
        Some(Self { min: bound(0, 0.0), max: bound(1, 1.0) })
    }
}

/// Whether a value is a grader.
pub(super) fn is_grader(value: &Value) -> bool {
    const KINDS: [&str; 6] =
        ["string_check", "text_similarity", "score_model", "label_model", "python", "multi"];
    text_at(value, &["/type"]).is_some_and(|kind| KINDS.contains(&kind))
}

/// Makes graders of graders.
pub(super) struct GraderReader<'a> {
    pub graders: Map<String, Value>,
    pub files: Vec<ImportedFile>,
    rows: &'a mut Vec<Value>,
    names: GivenNames,
}

/// What the answer is compared with.
enum ReferenceSource {
    Text(String),
    /// The path of a field of the row.
    Field(String),
}

impl<'a> GraderReader<'a> {
    pub(super) fn new(rows: &'a mut Vec<Value>) -> Self {
        Self { graders: Map::new(), files: Vec::new(), rows, names: GivenNames::default() }
    }

    /// Adds a grader, or reports why not.
    pub(super) fn add(
        &mut self,
        grader: &Value,
        place: &SourcePlace,
        imported: &mut ImportedSource,
    ) {
        let kind = text_at(grader, &["/type"]).unwrap_or("grader");
        let name = self.names.give(text_at(grader, &["/name"]).unwrap_or(kind));
        match self.grader(&name, grader, imported) {
            Ok(mapped) => {
                self.graders.insert(name, mapped);
                imported.count("graders");
            }
            Err(why) => {
                imported.leave_out("graders", place.clone(), format!("`{name}` ({kind})"), why);
            }
        }
    }

    fn grader(
        &mut self,
        name: &str,
        grader: &Value,
        imported: &mut ImportedSource,
    ) -> Result<Value, String> {
        match text_at(grader, &["/type"]).unwrap_or_default() {
            "string_check" => self.string_check(name, grader),
            "text_similarity" => self.text_similarity(name, grader, imported),
            "score_model" => score_model(grader, imported),
            "label_model" => label_model(grader, imported),
            "python" => self.python(name, grader),
            "multi" => self.multi(name, grader, imported),
            other => Err(format!("unknown kind `{other}`")),
        }
    }

    fn string_check(&mut self, name: &str, grader: &Value) -> Result<Value, String> {
        let operation = text_at(grader, &["/operation"]).ok_or("it has no `operation`")?;
        let input = parts(text_at(grader, &["/input"]).unwrap_or_default());
        let reference = parts(text_at(grader, &["/reference"]).unwrap_or_default());
        let is_symmetric = matches!(operation, "eq" | "ne");
        let compared = match (input.as_slice(), reference.as_slice()) {
            ([TemplatePart::Output], _) => self.compared(name, &reference)?,
            (_, [TemplatePart::Output]) if is_symmetric => self.compared(name, &input)?,
            _ => {
                let why =
                    "it does not compare `{{ sample.output_text }}` with something of the item";
                return Err(why.to_owned());
            }
        };
        let mut mapped = match operation {
            "eq" | "ne" => {
                tool("string_match", json!({"case_sensitive": true, "normalize_whitespace": false}))
            }
            "like" => tool("contains_any", json!({"case_sensitive": true})),
            "ilike" => tool("contains", Value::Null),
            other => return Err(format!("unknown operation `{other}`")),
        };
        if operation == "ne" {
            mapped["not"] = json!(true);
        }
        Ok(compared.of(mapped))
    }

    fn text_similarity(
        &mut self,
        name: &str,
        grader: &Value,
        imported: &mut ImportedSource,
    ) -> Result<Value, String> {
        let metric =
            text_at(grader, &["/evaluation_metric"]).ok_or("it has no `evaluation_metric`")?;
        let input = parts(text_at(grader, &["/input"]).unwrap_or_default());
        if input != [TemplatePart::Output] {
            return Err("its input is not `{{ sample.output_text }}`".to_owned());
        }
        let reference = parts(text_at(grader, &["/reference"]).unwrap_or_default());
        let compared = self.compared(name, &reference)?;
        let mut mapped = match metric {
            "bleu" | "rouge_l" => tool(metric, Value::Null),
            "rouge_1" | "rouge_2" | "rouge_3" | "rouge_4" | "rouge_5" => {
                let n: u64 = metric.trim_start_matches("rouge_").parse().unwrap_or(1);
                tool("rouge_n", json!({"n": n}))
            }
            "cosine" => json!({"kind": "similarity", "model": "text-embedding-3-large"}),
            "fuzzy_match" => return Err("OpenAI computes it with rapidfuzz and does not document how: `levenshtein` or `edit_similarity` are close".to_owned()),
            other => return Err(format!("evalrs does not compute `{other}`")),
        };
        if metric != "cosine" {
            imported.note(format!("`{name}`: OpenAI does not document which variant of {metric} it computes; docs/suite/text-scores.md describes that of evalrs, and scores may differ by some hundredths."));
        }
        put_threshold(&mut mapped, grader, ScoreRange::UNIT);
        Ok(compared.of(mapped))
    }

    /// What the answer is compared with: a text, a field of the item, or what a template gives for each item.
    fn compared(
        &mut self,
        name: &str,
        reference: &[TemplatePart],
    ) -> Result<ReferenceSource, String> {
        match reference {
            [] => Err("it has no `reference`".to_owned()),
            [TemplatePart::Text(text)] => Ok(ReferenceSource::Text(text.clone())),
            [TemplatePart::Item(path)] => Ok(ReferenceSource::Field(format!("row.item.{path}"))),
            _ => {
                for row in self.rows.iter_mut() {
                    let text = render(reference, &row["item"]);
                    let text = text.ok_or("its reference names a field that items do not have")?;
                    row["references"][name] = json!(text);
                }
                Ok(ReferenceSource::Field(format!("row.references.{name}")))
            }
        }
    }

    /// A function of Python: its source, and a function that hands it what it expects.
    fn python(&mut self, name: &str, grader: &Value) -> Result<Value, String> {
        let source = text_at(grader, &["/source"]).ok_or("it has no `source`")?;
        if !source.contains("def grade(") {
            return Err("its source has no function `grade`".to_owned());
        }
        let path = format!("graders/{}.py", plain_name(name));
        let text = format!("{}\n{PYTHON_CALL}", source.trim_end());
        let mut mapped = tool(&format!("{path}:graded_by_evalrs"), Value::Null);
        mapped["extractor"] = json!("final_output");
        mapped["sees"] = json!(["row"]);
        self.files.push(ImportedFile { path, text });
        put_threshold(&mut mapped, grader, ScoreRange::UNIT);
        Ok(mapped)
    }

    /// Graders inside a grader, and the formula that makes one score of theirs.
    fn multi(
        &mut self,
        name: &str,
        grader: &Value,
        imported: &mut ImportedSource,
    ) -> Result<Value, String> {
        let formula =
            text_at(grader, &["/calculate_output"]).ok_or("it has no `calculate_output`")?;
        let members = inner_graders(grader)?;
        let mut formula = Formula::read(formula)?;
        let mut made = Vec::new();
        for InnerGrader { name: inner, grader } in &members {
            let own = self.names.give(&format!("{name}_{inner}"));
            let mapped = self
                .grader(&own, grader, imported)
                .map_err(|why| format!("its grader `{inner}` does not map: {why}"))?;
            formula.replace(inner, &native(&own, &mapped));
            made.push((own, mapped));
        }
        formula.check()?;
        for (own, mapped) in made {
            self.graders.insert(own, mapped);
        }
        let mut mapped = json!({"kind": "combine", "combine": formula.text()});
        put_threshold(&mut mapped, grader, ScoreRange::UNIT);
        Ok(mapped)
    }
}

impl ReferenceSource {
    /// The grader with what it compares.
    fn of(self, mut mapped: Value) -> Value {
        match self {
            Self::Text(text) if mapped["kind"] == "tool" => {
                let function = text_in(&mapped, "function").unwrap_or_default();
                let takes_several =
                    matches!(function, "contains_any" | "rouge_n" | "rouge_l" | "bleu");
                if takes_several {
                    mapped["config"]["values"] = json!([text]);
                } else {
                    mapped["config"]["value"] = json!(text);
                }
            }
            Self::Text(text) => mapped["value"] = json!(text),
            Self::Field(path) => mapped["ground_truth"] = json!(path),
        }
        mapped["extractor"] = json!("final_output");
        mapped
    }
}

/// What hands a function of hosted evals what it expects.
const PYTHON_CALL: &str = r#"

def graded_by_evalrs(sample, submission):
    import json

    row = sample.row or {}
    try:
        output_json = json.loads(submission)
    except ValueError:
        output_json = None
    calls = [call for message in row.get("messages") or [] for call in message.get("tool_calls") or []]
    message = {"role": "assistant", "content": submission, "tool_calls": calls or None}
    answered = {
        "output_text": submission,
        "output_json": output_json,
        "output_tools": calls,
        "choices": [{"message": message}],
    }
    return float(grade(answered, row.get("item") or {}))
"#;

fn tool(function: &str, config: Value) -> Value {
    let mut mapped = json!({"kind": "tool", "function": function});
    put(&mut mapped, "config", Some(config).filter(|config| !config.is_null()));
    mapped
}

/// Puts the least score that passes, on the scale from 0 to 1.
fn put_threshold(mapped: &mut Value, grader: &Value, range: ScoreRange) {
    let threshold = grader.get("pass_threshold").and_then(Value::as_f64);
    let share = threshold.map(|threshold| (threshold - range.min) / (range.max - range.min));
    put(mapped, "pass_threshold", share.filter(|share| (0.0..=1.0).contains(share)));
}

/// The messages of a judge as one rubric.
fn prompt(grader: &Value) -> Result<String, String> {
    let messages = match grader.get("input") {
        Some(Value::Array(messages)) => messages,
        Some(Value::String(text)) => &vec![json!({"content": text})],
        _ => return Err("it has no `input`".to_owned()),
    };
    let mut texts = Vec::new();
    for message in messages {
        let text = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(part @ Value::Object(_)) => part_text(part)?.to_owned(),
            Some(Value::Array(list)) => {
                let parts = list.iter().filter(|part| part.is_object()).map(part_text);
                parts.collect::<Result<Vec<_>, _>>()?.join("\n")
            }
            _ => return Err("a message of it has no content".to_owned()),
        };
        texts.push(rubric(&parts(&text))?);
    }
    Ok(texts.join("\n\n"))
}

fn part_text(part: &Value) -> Result<&str, &'static str> {
    text_in(part, "text").ok_or("a message of it contains an image or a file")
}

/// What all judges have: the rubric, the model, and how it is sampled.
fn judge(grader: &Value, prompt: &str, imported: &mut ImportedSource) -> Value {
    let mut mapped = json!({"kind": "rubric", "prompt": prompt});
    JudgeModel::of(text_at(grader, &["/model"]).unwrap_or("gpt-4o-mini")).put_into(&mut mapped);
    mapped["extractor"] = json!("final_output");
    let sampling = &grader["sampling_params"];
    // Unlike evalrs, OpenAI leaves the temperature to the model.
    mapped["temperature"] = sampling["temperature"].clone();
    for (theirs, ours) in [
        ("seed", "seed"),
        ("top_p", "top_p"),
        ("max_completions_tokens", "max_tokens"),
        ("max_completion_tokens", "max_tokens"),
    ] {
        put(&mut mapped, ours, Some(&sampling[theirs]).filter(|value| value.is_number()).cloned());
    }
    if let Some(effort) = text_in(sampling, "reasoning_effort") {
        mapped["extra_body"] = json!({"reasoning_effort": effort});
    }
    imported.note("The messages of a judge are one rubric here, a blank line between them; its reply is JSON with a score and a rationale.");
    mapped
}

fn score_model(grader: &Value, imported: &mut ImportedSource) -> Result<Value, String> {
    let said = ScoreRange::of(grader);
    let range = said.unwrap_or(ScoreRange::UNIT);
    if range.min >= range.max {
        return Err("its `range` is empty".to_owned());
    }
    let mut mapped = judge(grader, &prompt(grader)?, imported);
    put(&mut mapped, "scale", said.map(|range| json!({"min": range.min, "max": range.max})));
    put_threshold(&mut mapped, grader, range);
    Ok(mapped)
}

fn label_model(grader: &Value, imported: &mut ImportedSource) -> Result<Value, String> {
    let list = |name: &str| -> Vec<String> {
        let labels = items_in(grader, name).filter_map(Value::as_str);
        labels.map(|label| format!("`{label}`")).collect()
    };
    let passing = list("passing_labels");
    let mut failing = list("labels");
    failing.retain(|label| !passing.contains(label));
    if passing.is_empty() || failing.is_empty() {
        return Err("it does not define which labels pass".to_owned());
    }
    let labels = format!(
        "Choose one label. The score of {} is 1, of {} it is 0; no other score is possible. Name the label first in the rationale.",
        passing.join(", "),
        failing.join(", ")
    );
    let prompt = format!("{}\n\n{labels}", prompt(grader)?.trim_end());
    Ok(judge(grader, &prompt, imported))
}

struct InnerGrader {
    name: String,
    grader: Value,
}

/// The graders of a `multi`: a mapping by name, or one alone.
fn inner_graders(grader: &Value) -> Result<Vec<InnerGrader>, String> {
    let all = grader.get("graders").filter(|all| all.is_object()).ok_or("it has no `graders`")?;
    if is_grader(all) {
        let name = text_in(all, "name").unwrap_or("grader").to_owned();
        return Ok(vec![InnerGrader { name, grader: all.clone() }]);
    }
    let inner = all.as_object().into_iter().flatten();
    let inner: Vec<InnerGrader> = inner
        .map(|(name, grader)| InnerGrader { name: name.clone(), grader: grader.clone() })
        .collect();
    if inner.iter().any(|inner| text_at(&inner.grader, &["/type"]) == Some("multi")) {
        return Err("it contains another `multi`".to_owned());
    }
    Ok(inner)
}

/// The score of a grader on the scale that OpenAI computes with.
fn native(name: &str, mapped: &Value) -> String {
    let bound = |which: &str| mapped.get("scale")?.get(which)?.as_f64();
    match bound("min").zip(bound("max")) {
        Some((min, max)) if (min, max) != (0.0, 1.0) => format!("({min} + {} * {name})", max - min),
        _ => name.to_owned(),
    }
}

/// The formula of a `multi`: words, and the characters between them.
struct Formula {
    tokens: Vec<FormulaToken>,
}

/// A word or a sign.
struct FormulaToken {
    text: String,
    /// Whether it became the name of a grader.
    is_known: bool,
}

impl Formula {
    fn read(text: &str) -> Result<Self, String> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let mut tokens: Vec<FormulaToken> = Vec::new();
        for c in text.chars() {
            match tokens.last_mut() {
                Some(last) if is_word(c) && last.text.ends_with(is_word) => last.text.push(c),
                _ => tokens.push(FormulaToken { text: c.to_string(), is_known: false }),
            }
        }
        if text.contains('^') || text.contains("**") {
            return Err(
                "its formula has powers, which expressions of evalrs do not have".to_owned()
            );
        }
        Ok(Self { tokens })
    }

    fn replace(&mut self, name: &str, with: &str) {
        for token in &mut self.tokens {
            if token.text == name && !token.is_known {
                *token = FormulaToken { text: with.to_owned(), is_known: true };
            }
        }
    }

    /// Whether every word is a grader, a number or a function that expressions have.
    fn check(&self) -> Result<(), String> {
        let is_allowed = |text: &str| {
            text.parse::<f64>().is_ok()
                || ["min", "max", "abs"].contains(&text)
                || !text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        match self.tokens.iter().find(|token| !token.is_known && !is_allowed(&token.text)) {
            Some(FormulaToken { text, .. }) => {
                Err(format!("its formula has `{text}`, which expressions of evalrs do not have"))
            }
            None => Ok(()),
        }
    }

    fn text(&self) -> String {
        self.tokens.iter().map(|token| token.text.as_str()).collect()
    }
}
