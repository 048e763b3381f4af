//! Assertions that a model judges: rubrics and similarity. The words of the rubrics are those of evalrs.

use serde_json::{Value, json};

use super::case::AssertionSpec;
use super::components;
use super::files::ending;
use super::mapped_assertion::{AssertionContext, MappedAssertion, SLOT};
use super::providers::judge;
use crate::reading::{extend, text_in};

/// A rubric, and the least score that passes where the assertion says none.
struct Rubric {
    prompt: &'static str,
    threshold: f64,
    note: &'static str,
}

const OWN_WORDS: &str = "Rubrics are judged with the prompts of evalrs, not of promptfoo: borderline verdicts may differ.";
const OWN_METHOD: &str = "`answer-relevance` and `context-*` are rubrics here; promptfoo computes their scores in several steps, so scores are not the same.";

fn rubric(kind: &str) -> Option<Rubric> {
    let own = |prompt, threshold, note| Some(Rubric { prompt, threshold, note });
    match kind {
        "llm-rubric" => own(
            "Does the answer meet these criteria?\n\nCriteria:\n{row.assert.@grader@}\n\nAnswer:\n{submission}\n\nScore 1 if it meets them in full and 0 if it does not; a score in between says how far it does.",
            1.0,
            OWN_WORDS,
        ),
        "factuality" | "model-graded-factuality" => own(
            "Compare the facts in the answer with those in the reference. Style, grammar and punctuation do not matter.\n\nQuestion:\n{input}\n\nReference:\n{row.assert.@grader@}\n\nAnswer:\n{submission}\n\nScore 0 if the answer contradicts the reference, else 1: it may say more or less than the reference, or differ in ways that do not matter for the facts.",
            1.0,
            OWN_WORDS,
        ),
        "model-graded-closedqa" => own(
            "Does the answer to the task meet the criterion?\n\nTask:\n{input}\n\nAnswer:\n{submission}\n\nCriterion:\n{row.assert.@grader@}\n\nScore 1 if it does and 0 if it does not.",
            1.0,
            OWN_WORDS,
        ),
        "g-eval" => own(
            "Rate the answer by the criterion. Work out first which steps lead to a judgment, then take them.\n\nTask:\n{input}\n\nAnswer:\n{submission}\n\nCriterion:\n{row.assert.@grader@}\n\nScore 1 if it is met fully, 0 if not at all.",
            0.7,
            OWN_WORDS,
        ),
        "answer-relevance" => own(
            "How relevant is the answer to the question? Whether it is true does not matter.\n\nQuestion:\n{input}\n\nAnswer:\n{submission}\n\nScore 1 if all of it answers the question, 0 if nothing of it does.",
            0.0,
            OWN_METHOD,
        ),
        "context-faithfulness" => own(
            "Which of the statements in the answer follow from the context?\n\nContext:\n{row.vars.context}\n\nAnswer:\n{submission}\n\nThe score is the share of its statements that follow from the context.",
            0.0,
            OWN_METHOD,
        ),
        "context-recall" => own(
            "Which of the statements in the reference are supported by the context?\n\nContext:\n{row.vars.context}\n\nReference:\n{row.assert.@grader@}\n\nThe score is the share of statements of the reference that the context supports. The answer does not matter.",
            0.0,
            OWN_METHOD,
        ),
        "context-relevance" => own(
            "How much of the context is needed to answer the question?\n\nQuestion:\n{row.vars.query}\n\nContext:\n{row.vars.context}\n\nThe score is the share of sentences of the context that are needed. The answer does not matter.",
            0.0,
            OWN_METHOD,
        ),
        _ => None,
    }
}

/// The grader of an assertion that a model judges.
pub(super) fn grader(
    spec: &AssertionSpec,
    value: &Value,
    context: &AssertionContext<'_>,
) -> Result<MappedAssertion, String> {
    let kind = spec.kind.as_str();
    if kind == "similar" || kind == "similar:cosine" {
        return similar(spec, value, context);
    }
    if spec.has_components {
        return in_components(spec, value, context);
    }
    let rubric = rubric(kind).ok_or_else(|| format!("unknown `{kind}`"))?;
    let own_prompt = spec.rubric_prompt.as_ref().or_else(|| context.options.get("rubricPrompt"));
    let (prompt, note) = match own_prompt.filter(|prompt| !prompt.is_null()) {
        Some(prompt) if kind != "g-eval" => (of_template(prompt, context)?, None),
        Some(_) => return Err("its own `rubricPrompt` is for the steps of promptfoo".to_owned()),
        None => (rubric.prompt.to_owned(), Some(rubric.note)),
    };
    for variable in ["context", "query"] {
        let is_shown = prompt.contains(&format!("{{row.vars.{variable}}}"));
        if is_shown && !context.vars.contains_key(variable) {
            return Err(format!(
                "it needs the variable `{variable}`, which the test does not have"
            ));
        }
    }
    let wanted = match value {
        Value::Null if prompt.contains(SLOT) && own_prompt.is_none() => {
            return Err("it has no `value`".to_owned());
        }
        Value::Null => None,
        Value::Array(items) if items.len() != 1 => {
            return Err("its `value` is a list; write an assertion for each".to_owned());
        }
        Value::Array(items) => items.first().cloned(),
        value => Some(value.clone()),
    };
    let least = spec.threshold.unwrap_or(rubric.threshold);
    if !(0.0..=1.0).contains(&least) {
        return Err("its `threshold` is not from 0 to 1".to_owned());
    }
    let mut settings = json!({"kind": "rubric", "prompt": prompt});
    let judge = judge(provider(spec, context), "text");
    if let Ok(judge) = &judge {
        extend(&mut settings, judge);
    }
    pass_from(least, spec, &mut settings);
    let other_judge = judge.err();
    Ok(MappedAssertion { note, other_judge, ..MappedAssertion::new(settings, wanted) })
}

/// A rubric whose components are criteria.
fn in_components(
    spec: &AssertionSpec,
    value: &Value,
    context: &AssertionContext<'_>,
) -> Result<MappedAssertion, String> {
    if spec.kind != "llm-rubric" || spec.negated {
        return Err("only `llm-rubric` has `rubricComponents`".to_owned());
    }
    if spec.rubric_prompt.is_some() {
        return Err("its own `rubricPrompt` is for the components of promptfoo".to_owned());
    }
    let mut settings = json!({"kind": "rubric"});
    extend(&mut settings, &components::criteria(value)?);
    let judge = judge(provider(spec, context), "text");
    if let Ok(judge) = &judge {
        extend(&mut settings, judge);
    }
    settings["pass_threshold"] = json!(spec.threshold.unwrap_or(1.0));
    Ok(MappedAssertion {
        note: Some(OWN_WORDS),
        other_judge: judge.err(),
        ..MappedAssertion::new(settings, None)
    })
}

/// Says from which score on an assertion passes, or fails where it is negated.
fn pass_from(least: f64, spec: &AssertionSpec, settings: &mut Value) {
    settings["pass_threshold"] = json!(if spec.negated { 1.0 - least } else { least });
    if spec.negated {
        settings["not"] = json!(true);
    }
}

/// Who judges: what the assertion says, else the test.
fn provider<'a>(spec: &'a AssertionSpec, context: &'a AssertionContext<'_>) -> Option<&'a Value> {
    spec.provider.as_ref().or_else(|| context.options.get("provider"))
}

fn similar(
    spec: &AssertionSpec,
    value: &Value,
    context: &AssertionContext<'_>,
) -> Result<MappedAssertion, String> {
    let wanted = match value {
        Value::Array(items) if items.len() == 1 => items.first().cloned(),
        Value::Array(_) => {
            return Err("its `value` is a list; write an assertion for each".to_owned());
        }
        value => Some(value.clone()),
    };
    let wanted = wanted.filter(Value::is_string).ok_or("its `value` is not a text")?;
    let mut settings = json!({
        "kind": "similarity",
        "ground_truth": format!("row.assert.{SLOT}"),
        "model": "text-embedding-3-large",
    });
    if let Ok(judge) = judge(provider(spec, context), "embedding") {
        extend(&mut settings, &judge);
    }
    pass_from(spec.threshold.unwrap_or(0.75), spec, &mut settings);
    Ok(MappedAssertion::new(settings, wanted))
}

/// A rubric of the user's own, with the placeholders of evalrs.
fn of_template(prompt: &Value, context: &AssertionContext<'_>) -> Result<String, String> {
    let text = match prompt {
        Value::String(reference) if reference.starts_with("file://") => {
            let unreadable = |why: String| format!("cannot read `{reference}`: {why}");
            match ending(reference).as_str() {
                "json" | "yaml" | "yml" => {
                    messages(&context.files.tree(reference).map_err(unreadable)?.to_json())?
                }
                "txt" | "md" | "j2" => context.files.text(reference).map_err(unreadable)?,
                _ => return Err(format!("the program `{reference}` makes its rubric")),
            }
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(parsed @ Value::Array(_)) => messages(&parsed)?,
            _ => text.clone(),
        },
        prompt => messages(prompt)?,
    };
    placeholders(&text)
}

/// The texts of chat messages, one after the other.
fn messages(prompt: &Value) -> Result<String, String> {
    let messages = prompt.as_array().into_iter().flatten();
    let texts: Vec<&str> = messages.filter_map(|message| text_in(message, "content")).collect();
    if texts.is_empty() {
        return Err("its `rubricPrompt` is neither text nor chat messages".to_owned());
    }
    Ok(texts.join("\n\n"))
}

/// Placeholders of promptfoo as those of evalrs.
fn placeholders(text: &str) -> Result<String, String> {
    let mut rubric = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        rubric.push_str(&rest[..at]);
        let end =
            rest[at..].find("}}").ok_or("its `rubricPrompt` has a template that is not closed")?
                + at;
        let name = rest[at + 2..end].trim();
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let placeholder = match name {
            "output" => "{submission}".to_owned(),
            "rubric" | "criteria" | "completion" | "ideal" => format!("{{row.assert.{SLOT}}}"),
            "input" | "prompt" => "{input}".to_owned(),
            _ if is_name => format!("{{row.vars.{name}}}"),
            _ => return Err(format!("its `rubricPrompt` has the expression `{name}`")),
        };
        rubric += &placeholder;
        rest = &rest[end + 2..];
    }
    rubric.push_str(rest);
    if rubric.contains("{%") {
        return Err("its `rubricPrompt` has a tag `{% … %}`".to_owned());
    }
    Ok(rubric)
}
