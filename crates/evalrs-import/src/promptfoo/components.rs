//! Rubrics in components: each is a criterion with a score of its own, and one request has all, as in promptfoo.

use serde_json::{Map, Value, json};

use crate::reading::criterion_name;

/// The fields of a rubric in criteria, of the `value` of an assertion with `rubricComponents`.
pub(super) fn criteria(value: &Value) -> Result<Value, String> {
    let components = value.get("components").and_then(Value::as_array);
    let components = components.filter(|all| !all.is_empty());
    let components = components.ok_or("its `value` has no `components`")?;
    let mut criteria = Map::new();
    for (at, component) in components.iter().enumerate() {
        let text = component.get("value").and_then(Value::as_str);
        let text = text.ok_or_else(|| format!("component {} has no text as `value`", at + 1))?;
        let metric = component.get("metric").and_then(Value::as_str).unwrap_or(text);
        let weight = component.get("weight").and_then(Value::as_f64).unwrap_or(1.0);
        if weight <= 0.0 {
            return Err(format!("component {} has no weight above 0", at + 1));
        }
        let question = format!(
            "Does the answer meet this criterion?\n\n{text}\n\nScore 1 if it meets it in full and 0 if it does not; a score in between says how far it does."
        );
        let criterion =
            json!({"question": question, "weight": weight, "scale": {"min": 0, "max": 1}});
        criteria.insert(criterion_name(metric, &criteria), criterion);
    }
    Ok(json!({"batching": "together", "criteria": criteria}))
}
