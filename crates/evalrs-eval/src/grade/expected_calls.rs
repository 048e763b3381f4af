//! The calls that a suite or a row expects, with the values that an argument may have and those that may be missing.
//!
//! Alternatives stand beside the arguments and not in them, so that no literal argument can be taken for them.

use serde_json::{Map, Value};

use super::rationale::unusable_reference;
use super::verdict::Grade;

/// A call as the suite or the dataset expects it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ExpectedCall {
    /// The tool.
    pub name: String,
    /// None if the arguments do not matter.
    pub arguments: Option<Value>,
    /// Argument → the values of which it may have any.
    pub one_of: Map<String, Value>,
    /// The arguments that may be missing.
    pub optional: Vec<String>,
}

/// The list of calls that a text holds as JSON.
pub(super) fn list(text: &str) -> Result<Vec<Value>, Grade> {
    serde_json::from_str(text).map_err(|_| unusable_reference("it is not a JSON list of calls"))
}

/// The calls of a list, or the index of the first invalid one and why.
pub(super) fn expected_calls(calls: &[Value]) -> Result<Vec<ExpectedCall>, (usize, String)> {
    let numbered = calls.iter().enumerate();
    numbered.map(|(at, call)| expected_call(call).map_err(|why| (at, why.to_owned()))).collect()
}

fn expected_call(call: &Value) -> Result<ExpectedCall, &'static str> {
    if let Value::String(name) = call {
        return Ok(ExpectedCall { name: name.clone(), ..ExpectedCall::default() });
    }
    let one_of = alternatives(call.get("one_of"))?;
    let optional = optional_names(call.get("optional"))?;
    // OpenAI puts name and arguments one level deeper.
    let call = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = call.get("name").and_then(Value::as_str).ok_or("a call needs a `name`")?;
    let keys = ["arguments", "args", "kwargs", "input"];
    let arguments = match keys.iter().find_map(|key| call.get(*key)) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.trim().is_empty() => Some(Value::Object(Map::new())),
        Some(Value::String(text)) => {
            Some(serde_json::from_str(text).map_err(|_| "the arguments of a call are not JSON")?)
        }
        Some(value) => Some(value.clone()),
    };
    // Where only some arguments are told of, there are no others.
    let is_told = !one_of.is_empty() || !optional.is_empty();
    let arguments = arguments.or_else(|| is_told.then(|| Value::Object(Map::new())));
    let known = arguments.as_ref().and_then(Value::as_object);
    if is_told && known.is_none() {
        return Err("`one_of` and `optional` are of arguments that are an object");
    }
    let has = |name: &String| known.is_some_and(|known| known.contains_key(name));
    if one_of.keys().any(has) {
        return Err("an argument stands both in `arguments` and in `one_of`");
    }
    if !optional.iter().all(|name| has(name) || one_of.contains_key(name)) {
        return Err("`optional` names an argument that is neither in `arguments` nor in `one_of`");
    }
    Ok(ExpectedCall { name: name.to_owned(), arguments, one_of, optional })
}

/// `one_of`: argument → the values of which it may have any.
fn alternatives(written: Option<&Value>) -> Result<Map<String, Value>, &'static str> {
    const WRONG: &str = "`one_of` must be an object of lists with at least one value each";
    let Some(written) = written.filter(|value| !value.is_null()) else { return Ok(Map::new()) };
    let members = written.as_object().ok_or(WRONG)?;
    let is_right =
        members.values().all(|value| value.as_array().is_some_and(|values| !values.is_empty()));
    is_right.then(|| members.clone()).ok_or(WRONG)
}

/// `optional`: the names of arguments that may be missing.
fn optional_names(written: Option<&Value>) -> Result<Vec<String>, &'static str> {
    const WRONG: &str = "`optional` must be a list of names of arguments";
    let Some(written) = written.filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let names = written.as_array().ok_or(WRONG)?;
    names.iter().map(|name| name.as_str().map(str::to_owned).ok_or(WRONG)).collect()
}
