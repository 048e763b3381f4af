//! The six kinds of graders of hosted evals.

use serde_json::{Map, Value, json};

use super::score_range::ScoreRange;
use super::templates::{TemplatePart, parts, render, rubric};
use crate::imported::{ImportedFile, ImportedSource, SourcePlace};
use crate::reading::{GivenNames, JudgeModel, first, plain_name, text_at};

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

/// What a grader compares, and with what.
struct ReferenceMembers {
    /// Members of the grader that say what it reads and what that is compared with.
    members: Map<String, Value>,
}

impl<'a> GraderReader<'a> {
    pub(super) fn new(rows: &'a mut Vec<Value>) -> Self {
        Self { graders: Map::new(), files: Vec::new(), rows, names: GivenNames::default() }
    }

    /// Adds a grader, or says why not.
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
            other => Err(format!("there is no kind `{other}`")),
        }
    }

    fn string_check(&mut self, name: &str, grader: &Value) -> Result<Value, String> {
        let operation = text_at(grader, &["/operation"]).ok_or("it says no `operation`")?;
        let input = parts(text_at(grader, &["/input"]).unwrap_or_default());
        let reference = parts(text_at(grader, &["/reference"]).unwrap_or_default());
        let is_symmetric = matches!(operation, "eq" | "ne");
        let compared = match (input.as_slice(), reference.as_slice()) {
            ([TemplatePart::Output], _) => self.compared(name, &reference)?,
            (_, [TemplatePart::Output]) if is_symmetric => self.compared(name, &input)?,
            _ => {
                return Err(
                    "it does not compare `{{ sample.output_text }}` with something of the item"
                        .to_owned(),
                );
            }
        };
        let mut mapped = match operation {
            "eq" | "ne" => with_config(
                "string_match",
                json!({"case_sensitive": true, "normalize_whitespace": false}),
            ),
            "like" => with_config("contains_any", json!({"case_sensitive": true})),
            "ilike" => with_config("contains", json!({})),
            other => return Err(format!("there is no operation `{other}`")),
        };
        if operation == "ne" {
            mapped.insert("not".to_owned(), Value::Bool(true));
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
            text_at(grader, &["/evaluation_metric"]).ok_or("it says no `evaluation_metric`")?;
        let input = parts(text_at(grader, &["/input"]).unwrap_or_default());
        if input != [TemplatePart::Output] {
            return Err("its input is not `{{ sample.output_text }}`".to_owned());
        }
        let reference = parts(text_at(grader, &["/reference"]).unwrap_or_default());
        let compared = self.compared(name, &reference)?;
        let mut mapped = match metric {
            "bleu" => with_config("bleu", json!({})),
            "rouge_l" => with_config("rouge_l", json!({})),
            "rouge_1" | "rouge_2" | "rouge_3" | "rouge_4" | "rouge_5" => {
                let n: u64 = metric.trim_start_matches("rouge_").parse().unwrap_or(1);
                with_config("rouge_n", json!({"n": n}))
            }
            "cosine" => {
                let mut similarity = Map::new();
                similarity.insert("kind".to_owned(), Value::from("similarity"));
                similarity.insert("model".to_owned(), Value::from("text-embedding-3-large"));
                similarity
            }
            "fuzzy_match" => return Err("OpenAI computes it with rapidfuzz and does not say how: `levenshtein` or `edit_similarity` come near".to_owned()),
            other => return Err(format!("evalrs does not compute `{other}`")),
        };
        if metric != "cosine" {
            imported.note(format!("`{name}`: OpenAI does not say which variant of {metric} it computes; that of evalrs is described in docs/suite.md, and scores may differ by some hundredths."));
        }
        put_threshold(&mut mapped, grader, 0.0, 1.0);
        Ok(compared.of(mapped))
    }

    /// What the answer is compared with: a text, a field of the item, or what a template gives for each item.
    fn compared(
        &mut self,
        name: &str,
        reference: &[TemplatePart],
    ) -> Result<ReferenceMembers, String> {
        let mut members = Map::new();
        match reference {
            [] => return Err("it has no `reference`".to_owned()),
            [TemplatePart::Text(text)] => {
                members.insert("value".to_owned(), Value::from(text.as_str()));
            }
            [TemplatePart::Item(path)] => {
                members.insert("ground_truth".to_owned(), Value::from(format!("row.item.{path}")));
            }
            _ => {
                for row in self.rows.iter_mut() {
                    let text = render(reference, row.get("item").unwrap_or(&Value::Null));
                    let text = text.ok_or("its reference names what items do not hold")?;
                    let Some(row) = row.as_object_mut() else { continue };
                    let references = row.entry("references").or_insert_with(|| json!({}));
                    references[name] = Value::from(text);
                }
                members.insert(
                    "ground_truth".to_owned(),
                    Value::from(format!("row.references.{name}")),
                );
            }
        }
        Ok(ReferenceMembers { members })
    }

    /// A function of Python: its source, and a function that hands it what it expects.
    fn python(&mut self, name: &str, grader: &Value) -> Result<Value, String> {
        let source = text_at(grader, &["/source"]).ok_or("it has no `source`")?;
        if !source.contains("def grade(") {
            return Err("its source has no function `grade`".to_owned());
        }
        let path = format!("graders/{}.py", plain_name(name));
        let text = format!("{}\n{PYTHON_CALL}", source.trim_end());
        self.files.push(ImportedFile { path: path.clone(), text });
        let mut mapped = Map::new();
        mapped.insert("kind".to_owned(), Value::from("tool"));
        mapped.insert("function".to_owned(), Value::from(format!("{path}:graded_by_evalrs")));
        mapped.insert("extractor".to_owned(), Value::from("final_output"));
        mapped.insert("sees".to_owned(), json!(["row"]));
        put_threshold(&mut mapped, grader, 0.0, 1.0);
        Ok(Value::Object(mapped))
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
        let mut mapped = Map::new();
        mapped.insert("kind".to_owned(), Value::from("combine"));
        mapped.insert("combine".to_owned(), Value::from(formula.text()));
        put_threshold(&mut mapped, grader, 0.0, 1.0);
        Ok(Value::Object(mapped))
    }
}

impl ReferenceMembers {
    /// The grader with what it compares.
    fn of(self, mut mapped: Map<String, Value>) -> Value {
        for (member, value) in self.members {
            let is_option =
                member == "value" && mapped.get("kind").and_then(Value::as_str) == Some("tool");
            let function =
                mapped.get("function").and_then(Value::as_str).unwrap_or_default().to_owned();
            let takes_several =
                matches!(function.as_str(), "contains_any" | "rouge_n" | "rouge_l" | "bleu");
            if is_option {
                let config = mapped.entry("config").or_insert_with(|| json!({}));
                if takes_several {
                    config["values"] = json!([value]);
                } else {
                    config["value"] = value;
                }
            } else {
                mapped.insert(member, value);
            }
        }
        mapped.insert("extractor".to_owned(), Value::from("final_output"));
        Value::Object(mapped)
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

fn with_config(function: &str, config: Value) -> Map<String, Value> {
    let mut mapped = Map::new();
    mapped.insert("kind".to_owned(), Value::from("tool"));
    mapped.insert("function".to_owned(), Value::from(function));
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        mapped.insert("config".to_owned(), config);
    }
    mapped
}

/// Puts the least score that passes, on the scale from 0 to 1.
fn put_threshold(mapped: &mut Map<String, Value>, grader: &Value, min: f64, max: f64) {
    let Some(threshold) = grader.get("pass_threshold").and_then(Value::as_f64) else { return };
    let share = (threshold - min) / (max - min);
    if (0.0..=1.0).contains(&share) {
        mapped.insert("pass_threshold".to_owned(), Value::from(share));
    }
}

/// The messages of a judge as one rubric.
fn prompt(grader: &Value) -> Result<String, String> {
    let messages = match first(grader, &["/input"]) {
        Some(Value::Array(messages)) => messages.clone(),
        Some(Value::String(text)) => vec![json!({"content": text})],
        _ => return Err("it has no `input`".to_owned()),
    };
    let mut texts = Vec::new();
    for message in &messages {
        let text = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(part)) => part_text(part)?,
            Some(Value::Array(list)) => {
                let parts: Result<Vec<String>, String> =
                    list.iter().filter_map(Value::as_object).map(part_text).collect();
                parts?.join("\n")
            }
            _ => return Err("a message of it has no content".to_owned()),
        };
        texts.push(rubric(&parts(&text))?);
    }
    Ok(texts.join("\n\n"))
}

fn part_text(part: &Map<String, Value>) -> Result<String, String> {
    let text = part.get("text").and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| "a message of it holds an image or a file".to_owned())
}

/// What all judges have: the rubric, the model, and how it is sampled.
fn judge(grader: &Value, prompt: String, imported: &mut ImportedSource) -> Map<String, Value> {
    let mut mapped = Map::new();
    mapped.insert("kind".to_owned(), Value::from("rubric"));
    mapped.insert("prompt".to_owned(), Value::from(prompt));
    let JudgeModel { model, provider, .. } =
        JudgeModel::of(text_at(grader, &["/model"]).unwrap_or("gpt-4o-mini"));
    mapped.insert("model".to_owned(), Value::from(model));
    if let Some(provider) = provider {
        mapped.insert("provider".to_owned(), Value::from(provider));
    }
    mapped.insert("extractor".to_owned(), Value::from("final_output"));
    let sampling = first(grader, &["/sampling_params"])
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    // Unlike evalrs, OpenAI leaves the temperature to the model.
    mapped
        .insert("temperature".to_owned(), sampling.get("temperature").cloned().unwrap_or_default());
    for (theirs, ours) in [
        ("seed", "seed"),
        ("top_p", "top_p"),
        ("max_completions_tokens", "max_tokens"),
        ("max_completion_tokens", "max_tokens"),
    ] {
        if let Some(value) = sampling.get(theirs).filter(|value| value.is_number()) {
            mapped.insert(ours.to_owned(), value.clone());
        }
    }
    if let Some(effort) = sampling.get("reasoning_effort").filter(|effort| effort.is_string()) {
        mapped.insert("extra_body".to_owned(), json!({"reasoning_effort": effort}));
    }
    imported.note("The messages of a judge are one rubric here, a blank line between them; its reply is JSON with a score and a rationale.");
    mapped
}

fn score_model(grader: &Value, imported: &mut ImportedSource) -> Result<Value, String> {
    let range = ScoreRange::of(grader);
    let ScoreRange { min, max } = range.unwrap_or(ScoreRange::UNIT);
    if min >= max {
        return Err("its `range` is empty".to_owned());
    }
    let mut mapped = judge(grader, prompt(grader)?, imported);
    if range.is_some() {
        mapped.insert("scale".to_owned(), json!({"min": min, "max": max}));
    }
    put_threshold(&mut mapped, grader, min, max);
    Ok(Value::Object(mapped))
}

fn label_model(grader: &Value, imported: &mut ImportedSource) -> Result<Value, String> {
    let list = |name: &str| -> Vec<String> {
        let labels = grader.get(name).and_then(Value::as_array);
        labels
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|label| format!("`{label}`"))
            .collect()
    };
    let passing = list("passing_labels");
    let failing: Vec<String> =
        list("labels").into_iter().filter(|label| !passing.contains(label)).collect();
    if passing.is_empty() || failing.is_empty() {
        return Err("it does not say which labels pass and which do not".to_owned());
    }
    let labels = format!(
        "Choose one label. The score of {} is 1, of {} it is 0; no other score is possible. Name the label first in the rationale.",
        passing.join(", "),
        failing.join(", ")
    );
    let prompt = format!("{}\n\n{labels}", prompt(grader)?.trim_end());
    Ok(Value::Object(judge(grader, prompt, imported)))
}

/// A grader inside a `multi`.
struct InnerGrader {
    name: String,
    grader: Value,
}

/// The graders of a `multi`: a mapping by name, or one alone.
fn inner_graders(grader: &Value) -> Result<Vec<InnerGrader>, String> {
    let graders = grader.get("graders").and_then(Value::as_object).ok_or("it has no `graders`")?;
    if is_grader(&Value::Object(graders.clone())) {
        let name = graders.get("name").and_then(Value::as_str).unwrap_or("grader").to_owned();
        return Ok(vec![InnerGrader { name, grader: Value::Object(graders.clone()) }]);
    }
    let inner = graders
        .iter()
        .map(|(name, grader)| InnerGrader { name: name.clone(), grader: grader.clone() });
    let inner: Vec<InnerGrader> = inner.collect();
    if inner.iter().any(|inner| text_at(&inner.grader, &["/type"]) == Some("multi")) {
        return Err("it holds another `multi`".to_owned());
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

/// The formula of a `multi`: words, and what stands between them.
struct Formula {
    tokens: Vec<String>,
    /// Which words became names of graders.
    known: Vec<bool>,
}

impl Formula {
    fn read(text: &str) -> Result<Self, String> {
        let mut tokens: Vec<String> = Vec::new();
        for c in text.chars() {
            let is_word = c.is_alphanumeric() || c == '_' || c == '.';
            let continues = tokens.last().and_then(|last| last.chars().last());
            let continues =
                continues.is_some_and(|last| last.is_alphanumeric() || last == '_' || last == '.');
            match tokens.last_mut() {
                Some(last) if is_word && continues => last.push(c),
                _ => tokens.push(c.to_string()),
            }
        }
        if text.contains('^') || text.contains("**") {
            return Err(
                "its formula has powers, which expressions of evalrs do not have".to_owned()
            );
        }
        let known = vec![false; tokens.len()];
        Ok(Self { tokens, known })
    }

    fn replace(&mut self, name: &str, with: &str) {
        for (token, known) in self.tokens.iter_mut().zip(&mut self.known) {
            if token == name && !*known {
                with.clone_into(token);
                *known = true;
            }
        }
    }

    /// Whether every word is a grader, a number or a function that expressions have.
    fn check(&self) -> Result<(), String> {
        let is_allowed = |token: &str| {
            token.parse::<f64>().is_ok()
                || ["min", "max", "abs"].contains(&token)
                || !token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        let wrong = self
            .tokens
            .iter()
            .zip(&self.known)
            .find(|(token, known)| !**known && !is_allowed(token));
        match wrong {
            Some((token, _)) => {
                Err(format!("its formula has `{token}`, which expressions of evalrs do not have"))
            }
            None => Ok(()),
        }
    }

    fn text(&self) -> String {
        self.tokens.concat()
    }
}
