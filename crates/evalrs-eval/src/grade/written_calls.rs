//! Calls of tools that stand in a text: as JSON, as calls of Python, or wherever a pattern finds them.
//!
//! What of them cannot be read has arguments that are equal to nothing, so that it is a wrong call and not a missing one.

use python_re::{Regex, RegexProblem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::json::parse_as;
use evalrs_base::json_syntax::as_text;

/// Most calls that are read of one text.
const MAX_CALLS: usize = 1000;
/// How deep lists and dictionaries may be in each other.
const MAX_DEPTH: usize = 64;

/// How calls are written.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum CallSyntax {
    /// A JSON object with `name` and `arguments`, or a list of such, alone or in a fenced block.
    Json,
    /// As Python calls functions: `get_weather(city="NYC")`.
    Python,
}

/// A call that was found in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenCall {
    /// The tool.
    pub name: String,
    /// Its arguments, if they can be read.
    pub arguments: Option<Value>,
}

impl CallSyntax {
    /// The calls in a text, in order.
    pub(super) fn calls(self, text: &str) -> Vec<WrittenCall> {
        match self {
            Self::Json => json_calls(text),
            Self::Python => python_calls(text),
        }
    }
}

fn json_calls(text: &str) -> Vec<WrittenCall> {
    let calls = match parse_as(text, false) {
        Some(Value::Array(calls)) => calls,
        Some(Value::Object(mut call)) => match call.remove("tool_calls") {
            Some(Value::Array(calls)) => calls,
            _ => vec![Value::Object(call)],
        },
        _ => return Vec::new(),
    };
    calls.iter().take(MAX_CALLS).filter_map(json_call).collect()
}

fn json_call(call: &Value) -> Option<WrittenCall> {
    // OpenAI puts name and arguments one level deeper.
    let call = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = call.get("name")?.as_str()?.to_owned();
    let keys = ["arguments", "args", "kwargs", "input", "parameters"];
    let arguments = match keys.iter().find_map(|key| call.get(*key)) {
        None | Some(Value::Null) => Some(Value::Object(Map::new())),
        Some(Value::String(text)) => arguments_in(text),
        Some(value) => Some(value.clone()),
    };
    Some(WrittenCall { name, arguments })
}

/// The calls that a pattern finds: its groups `name` and `arguments`, else its first two.
pub(super) fn calls_by_pattern(
    pattern: &Regex,
    text: &str,
) -> Result<Vec<WrittenCall>, RegexProblem> {
    let group = |name: &str, number| pattern.group_index(name).unwrap_or(number);
    let name = group("name", 1);
    let arguments = group("arguments", 2);
    let mut calls = Vec::new();
    for found in pattern.find_all(text) {
        let found = found?;
        let of = |group: usize| text.get(found.groups.get(group)?.clone()?);
        if let Some(name) = of(name).filter(|name| !name.is_empty()) {
            let arguments = arguments_in(of(arguments).unwrap_or_default());
            calls.push(WrittenCall { name: name.to_owned(), arguments });
        }
        if calls.len() == MAX_CALLS {
            break;
        }
    }
    Ok(calls)
}

/// Arguments as a JSON object, or as Python writes them between the parentheses of a call.
fn arguments_in(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Object(Map::new()));
    }
    let object = serde_json::from_str(text).ok().filter(Value::is_object);
    object.or_else(|| {
        let mut reader = PythonReader { rest: text };
        let arguments = reader.arguments()?;
        reader.space();
        reader.rest.is_empty().then_some(arguments)
    })
}

/// The calls of a text: names directly before a parenthesis. One in the arguments of another is a part of that.
fn python_calls(text: &str) -> Vec<WrittenCall> {
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        rest = after;
        let name = last_name(before);
        if name.is_empty() {
            continue;
        }
        let mut reader = PythonReader { rest: after };
        let arguments = reader.arguments().filter(|_| reader.takes(')'));
        if arguments.is_some() {
            rest = reader.rest;
        }
        calls.push(WrittenCall { name: name.to_owned(), arguments });
        if calls.len() == MAX_CALLS {
            break;
        }
    }
    calls
}

/// The dotted name that a text ends with.
fn last_name(text: &str) -> &str {
    let start = text.trim_end_matches(|c: char| c.is_alphanumeric() || "_.".contains(c)).len();
    let name = text.get(start..).unwrap_or_default().trim_start_matches('.');
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !name.ends_with('.');
    if is_name { name } else { "" }
}

/// Reads literals of Python from the beginning of a text.
struct PythonReader<'a> {
    rest: &'a str,
}

impl PythonReader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether the next character but white space is this one, which then is taken.
    fn takes(&mut self, character: char) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// `name=literal, …` up to what is none; arguments without a name cannot be compared.
    fn arguments(&mut self) -> Option<Value> {
        let mut all = Map::new();
        loop {
            self.space();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                return Some(Value::Object(all));
            }
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            let name = self.rest.get(..end).filter(|name| !name.is_empty())?.to_owned();
            self.rest = self.rest.get(end..)?;
            if !self.takes('=') {
                return None;
            }
            all.insert(name, self.literal(0)?);
            if !self.takes(',') {
                return Some(Value::Object(all));
            }
        }
    }

    fn literal(&mut self, depth: usize) -> Option<Value> {
        self.space();
        if depth > MAX_DEPTH {
            return None;
        }
        match self.rest.chars().next()? {
            quote @ ('"' | '\'') => self.text(quote).map(Value::from),
            '[' => self.items(']', |reader| reader.literal(depth + 1)).map(Value::Array),
            '(' => self.items(')', |reader| reader.literal(depth + 1)).map(Value::Array),
            '{' => {
                let members = self.items('}', |reader| {
                    let key = reader.literal(depth + 1)?;
                    let value = reader.takes(':').then(|| reader.literal(depth + 1))??;
                    Some((as_text(&key), value))
                });
                Some(Value::Object(Map::from_iter(members?)))
            }
            _ => self.word(),
        }
    }

    /// The items behind a bracket up to the one at the `end`, with commas between.
    fn items<T>(&mut self, end: char, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.rest = self.rest.get(1..)?;
        let mut items = Vec::new();
        while !self.takes(end) {
            items.push(item(self)?);
            if !self.takes(',') {
                return self.takes(end).then_some(items);
            }
        }
        Some(items)
    }

    /// A text in quotes, with the escapes that JSON and Python share.
    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.get(1..)?.char_indices();
        while let Some((at, character)) = characters.next() {
            if character == quote {
                self.rest = self.rest.get(1 + at + quote.len_utf8()..)?;
                return Some(text);
            }
            if character != '\\' {
                text.push(character);
                continue;
            }
            match characters.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => {
                    let digits: Option<String> =
                        (0..4).map(|_| characters.next().map(|(_, digit)| digit)).collect();
                    text.push(char::from_u32(u32::from_str_radix(&digits?, 16).ok()?)?);
                }
                escaped @ ('\\' | '"' | '\'' | '/') => text.push(escaped),
                other => text.extend(['\\', other]),
            }
        }
        None
    }

    /// A number, a truth or nothing, as Python or JSON write them.
    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| c.is_whitespace() || ",)]}:".contains(c));
        let end = end.unwrap_or(self.rest.len());
        let word = self.rest.get(..end)?;
        let value = match word {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            _ => Value::Number(number(word)?),
        };
        self.rest = self.rest.get(end..)?;
        Some(value)
    }
}

fn number(word: &str) -> Option<Number> {
    let word = word.strip_prefix('+').unwrap_or(word);
    if let Ok(whole) = word.parse::<i64>() {
        return Some(Number::from(whole));
    }
    let is_number = word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    word.parse().ok().filter(|_| is_number).and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use python_re::Regex;
    use serde_json::{Value, json};

    use super::{CallSyntax, WrittenCall, calls_by_pattern};

    /// Names and arguments; null where those cannot be read.
    fn shown(calls: &[WrittenCall]) -> Value {
        calls.iter().map(|call| json!([call.name, call.arguments])).collect()
    }

    #[test]
    fn calls_stand_in_texts_as_python_writes_them() {
        for (text, expected) in [
            (r#"get_weather(city="NYC")"#, json!([["get_weather", {"city": "NYC"}]])),
            ("[a.b(x=1, y=-2.5), c()]", json!([["a.b", {"x": 1, "y": -2.5}], ["c", {}]])),
            (
                "I call f(t='it\\'s', l=[1, (2,), {'k': None, 3: True}],) now",
                json!([["f", {"t": "it's", "l": [1, [2], {"k": null, "3": true}]}]]),
            ),
            ("f(g(x=1))", json!([["f", null], ["g", {"x": 1}]])),
            ("Paris (France) costs 3(4)", json!([])),
            ("f('NYC') g(x=y) h(x=", json!([["f", null], ["g", null], ["h", null]])),
            ("f(s=\"a) b(\", u=\"\\u00e9\")", json!([["f", {"s": "a) b(", "u": "é"}]])),
            ("x.f(a=1).g(b=2)", json!([["x.f", {"a": 1}], ["g", {"b": 2}]])),
            ("", json!([])),
            ("((((", json!([])),
        ] {
            assert_eq!(shown(&CallSyntax::Python.calls(text)), expected, "{text}");
        }
        let deep = format!("f(x={}1)", "[".repeat(100_000));
        assert_eq!(shown(&CallSyntax::Python.calls(&deep)), json!([["f", null]]));
    }

    #[test]
    fn calls_stand_in_texts_as_json() {
        let call = json!({"name": "f", "arguments": {"x": 1}});
        for (text, expected) in [
            (call.to_string(), json!([["f", {"x": 1}]])),
            (
                format!("Sure:\n```json\n[{call}, {call}]\n```"),
                json!([["f", {"x": 1}], ["f", {"x": 1}]]),
            ),
            (
                json!({"tool_calls": [{"function": {"name": "g", "arguments": "{\"y\": 2}"}}]})
                    .to_string(),
                json!([["g", {"y": 2}]]),
            ),
            (json!([{"name": "h", "parameters": null}, {"x": 1}]).to_string(), json!([["h", {}]])),
            (json!({"name": "i", "input": "no json"}).to_string(), json!([["i", null]])),
            ("no calls".to_owned(), json!([])),
        ] {
            assert_eq!(shown(&CallSyntax::Json.calls(&text)), expected, "{text}");
        }
    }

    #[test]
    fn a_pattern_says_where_calls_stand() {
        for (pattern, text, expected) in [
            (
                r"(?m)^Action: (\w+)\nInput: (.*)$",
                "Action: f\nInput: {\"x\": 1}\nAction: g\nInput: y=2",
                json!([["f", {"x": 1}], ["g", {"y": 2}]]),
            ),
            (
                r"<(?P<arguments>[^>]*)>(?P<name>\w+)",
                "<>f <x='a'>g <oh no>h",
                json!([["f", {}], ["g", {"x": "a"}], ["h", null]]),
            ),
            (r"(\w*)", "ab c", json!([["ab", {}], ["c", {}]])),
        ] {
            let regex = Regex::new(pattern).unwrap();
            assert_eq!(shown(&calls_by_pattern(&regex, text).unwrap()), expected, "{pattern}");
        }
    }
}
