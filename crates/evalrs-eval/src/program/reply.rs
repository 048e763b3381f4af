//! Reads what a program gave back, which is JSON whatever it is written in.
//!
//! One validation for executables, modules and functions. What a program gives is kept as it came and read again
//! whenever a grade is made of it. Null in place of a score is a program that has nothing to say of a sample.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::grade::Grade;
use crate::judge::json::is_equal;
use evalrs_base::json_syntax::kind_of;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_letta::requests::is_id;
use evalrs_model::spec::{Language, ProgramSpec, Role};

/// What people call `reasoning` who do not know that name.
const REASON: &str = "reason";

/// The characters of a result that are shown when it is wrong.
const SHOWN: usize = 100;

/// What workers write for numbers that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The value that a program wrote: one, with nothing around it, in which no key occurs twice with different values.
fn json(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|_| {
        let shown: String = text.chars().take(SHOWN).collect();
        let is_result =
            |line: &str| line.starts_with('{') && serde_json::from_str::<Value>(line).is_ok();
        let hint = if text.lines().any(is_result) { " (write logs to standard error)" } else { "" };
        format!("Grader output is not valid JSON: {shown}{hint}")
    })?;
    // What is no object has no keys.
    let members: OrderedMap<Value> = serde_json::from_str(text).unwrap_or_default();
    let mut first = HashMap::new();
    let mut all = members.0.iter();
    // A program may write a hundred thousand members: each is looked up once.
    match all.find(|(key, value)| !is_equal(first.entry(key).or_insert(value), value)) {
        Some((key, _)) => {
            Err(format!("Invalid grader result: `{key}` stands there twice, with different values"))
        }
        None => Ok(value),
    }
}

/// Says what is wrong with a result, if anything: it then is a failure of the program.
pub fn check(spec: &ProgramSpec, text: &str) -> Result<(), String> {
    match spec.role {
        Role::Grade => grade(spec, text).map(drop),
        Role::Extract => submission(text).map(drop),
        Role::Reward => reward(text).map(drop),
        Role::Compare => rankings(text).map(drop),
        // What a target gives is read as an answer, what a judge says as a verdict, and a tool may answer anything.
        Role::Target | Role::Tool | Role::SuiteSetup | Role::Judge => Ok(()),
        Role::AgentFactory => agent_id(text).map(drop),
    }
}

/// The grade in a result. Executables and modules give a `GraderResult`; a function, and the text of a suite, may give a number, a truth or an
/// object with one of `score` and `pass`.
pub fn grade(spec: &ProgramSpec, text: &str) -> Result<Grade, String> {
    let is_loose = spec.language == Language::Python || spec.inline.is_some();
    match json(text)? {
        Value::Null => Ok(Grade::not_applicable(NOTHING_TO_SAY)),
        Value::Object(members) if says_nothing(&members) => nothing_to_say(members),
        Value::Object(members) if is_loose => loose(members),
        Value::Object(members) => grader_result(members),
        Value::Bool(pass) if is_loose => {
            Ok(Grade { pass: Some(pass), ..Grade::new(f64::from(u8::from(pass)), "") })
        }
        value @ Value::Number(_) if is_loose => Ok(Grade::new(score(Some(&value))?, "")),
        Value::String(text) if is_loose && NO_NUMBERS.contains(&text.as_str()) => {
            Err(no_score(&text))
        }
        value => {
            let expected =
                if is_loose { "a number, true or false, or an object" } else { "an object" };
            Err(format!("Invalid grader result: expected {expected}, found {}", kind_of(&value)))
        }
    }
}

/// The submission in a result.
pub fn submission(text: &str) -> Result<String, String> {
    match json(text)? {
        Value::String(text) => Ok(text),
        other => Err(format!("an extractor returns text, not {}", kind_of(&other))),
    }
}

/// The id of the agent that was made.
pub fn agent_id(text: &str) -> Result<String, String> {
    let found = match json(text)? {
        Value::String(id) if is_id(&id) => return Ok(id),
        Value::String(id) => format!("`{}`", id.chars().take(SHOWN).collect::<String>()),
        other => kind_of(&other).to_owned(),
    };
    Err(format!("an agent script returns the id of an agent, not {found}"))
}

/// The score and the metadata in a result.
pub(crate) fn reward(text: &str) -> Result<Grade, String> {
    match json(text)? {
        Value::Null => Ok(Grade::not_applicable(NOTHING_TO_SAY)),
        Value::Object(members) if says_nothing(&members) => nothing_to_say(members),
        Value::Object(members) => loose(members),
        value => Ok(Grade::new(score(Some(&value))?, "")),
    }
}

/// Why a grade is not applicable whose program gives none and does not say why.
const NOTHING_TO_SAY: &str = "the program has nothing to say of it";

/// Whether a program gives no score on purpose: the score is null, and so is `pass` where it is there.
fn says_nothing(members: &Map<String, Value>) -> bool {
    members.get("score").is_some_and(Value::is_null)
        && members.get("pass").is_none_or(Value::is_null)
}

/// The grade of a program that has nothing to say of a sample, and may say why.
fn nothing_to_say(mut members: Map<String, Value>) -> Result<Grade, String> {
    members.retain(|_, value| !value.is_null());
    let why = why(&mut members, &["rationale", "reasoning", REASON])?;
    Ok(Grade::not_applicable(if why.is_empty() { NOTHING_TO_SAY.to_owned() } else { why }))
}

/// Takes out why a grade is as it is, by the first of the names that people give it. A text that is not the first is what
/// else they say, and none of it is refused.
fn why(members: &mut Map<String, Value>, names: &[&'static str]) -> Result<String, String> {
    for name in names {
        match members.remove(*name) {
            None => {}
            Some(Value::String(text)) => return Ok(text),
            Some(_) if *name == REASON => {}
            other => return Err(invalid(name, "text", other.as_ref())),
        }
    }
    Ok(String::new())
}

/// `pass` and `score` are both needed, and neither follows from the other.
fn grader_result(mut members: Map<String, Value>) -> Result<Grade, String> {
    let pass = match members.get("pass") {
        Some(Value::Bool(pass)) => *pass,
        other => return Err(invalid("pass", "true or false", other)),
    };
    let score = score(members.get("score"))?;
    let reasoning = why(&mut members, &["reasoning", REASON])?;
    let mut metadata = Map::new();
    match members.remove("outcome") {
        None => {}
        Some(outcome @ Value::Object(_)) => drop(metadata.insert("outcome".to_owned(), outcome)),
        other => return Err(invalid("outcome", "an object", other.as_ref())),
    }
    let grade = Grade::new(score, reasoning).with_metadata(metadata);
    Ok(Grade { pass: Some(pass), ..grade })
}

/// An object of a function: `score` or `pass`, and if it likes `rationale` (or `reasoning`), `metadata`, `outcome`.
fn loose(mut members: Map<String, Value>) -> Result<Grade, String> {
    let pass = match members.get("pass") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(pass)) => Some(*pass),
        other => return Err(invalid("pass", "true or false", other)),
    };
    let score = match (members.get("score"), pass) {
        (None, Some(pass)) => f64::from(u8::from(pass)),
        (score, _) => self::score(score)?,
    };
    members.retain(|name, value| {
        !(value.is_null() && ["rationale", "reasoning"].contains(&name.as_str()))
    });
    let rationale = why(&mut members, &["rationale", "reasoning", REASON])?;
    let mut metadata = match members.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        other => return Err(invalid("metadata", "an object", other.as_ref())),
    };
    if let Some(outcome) = members.remove("outcome").filter(|outcome| !outcome.is_null()) {
        metadata.insert("outcome".to_owned(), outcome);
    }
    let grade = Grade::new(score, rationale).with_metadata(metadata);
    Ok(Grade { pass, ..grade })
}

fn score(value: Option<&Value>) -> Result<f64, String> {
    match value {
        Some(Value::String(text)) if NO_NUMBERS.contains(&text.as_str()) => Err(no_score(text)),
        Some(Value::Number(number)) => match number.as_f64() {
            // Adding zero turns -0.0 into 0.0: they are one score.
            Some(score) if (0.0..=1.0).contains(&score) => Ok(score + 0.0),
            _ => Err(no_score(number)),
        },
        _ => Err(invalid("score", "a number between 0.0 and 1.0", value)),
    }
}

fn no_score(found: impl std::fmt::Display) -> String {
    format!("Invalid grader result: `score` must be between 0.0 and 1.0, found {found}")
}

fn invalid(member: &str, expected: &str, found: Option<&Value>) -> String {
    let found = found.map_or("nothing", kind_of);
    format!("Invalid grader result: `{member}` must be {expected}, found {found}")
}

/// Where a run came in.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRanking {
    /// The label of the run.
    pub run: String,
    /// 1 for the best.
    pub rank: u32,
    /// What it was ranked by, on a scale of the grader's own.
    pub score: f64,
}

/// The rankings in a result. Runs that are not there were not ranked, and none is there twice.
pub fn rankings(text: &str) -> Result<Vec<RunRanking>, String> {
    let result = match json(text)? {
        Value::Object(result) => result,
        other => return Err(invalid_comparison("the result", "an object", Some(&other))),
    };
    let all = match result.get("rankings") {
        Some(Value::Array(all)) => all,
        other => return Err(invalid_comparison("`rankings`", "a list", other)),
    };
    if let Some(reasoning) = result.get("reasoning").filter(|reasoning| !reasoning.is_string()) {
        return Err(invalid_comparison("`reasoning`", "text", Some(reasoning)));
    }
    let mut read: Vec<RunRanking> = Vec::with_capacity(all.len());
    for (at, value) in all.iter().enumerate() {
        let ranking = ranking(at, value)?;
        if read.iter().any(|other| other.run == ranking.run) {
            let run = ranking.run;
            return Err(format!("Invalid comparison result: run `{run}` is ranked twice"));
        }
        read.push(ranking);
    }
    Ok(read)
}

fn ranking(at: usize, value: &Value) -> Result<RunRanking, String> {
    let Value::Object(members) = value else {
        return Err(invalid_comparison(&format!("`rankings[{at}]`"), "an object", Some(value)));
    };
    let wrong = |name: &str, expected: &str| {
        invalid_comparison(&format!("`rankings[{at}].{name}`"), expected, members.get(name))
    };
    let run = members.get("run").and_then(Value::as_str).ok_or_else(|| wrong("run", "a label"))?;
    let score = members.get("score").and_then(Value::as_f64);
    let score = score.ok_or_else(|| wrong("score", "a number"))?;
    let is_rank = |rank: &f64| (1.0..=f64::from(u32::MAX)).contains(rank) && rank.fract() == 0.0;
    let rank = members.get("rank").and_then(Value::as_f64).filter(is_rank);
    let rank = rank.ok_or_else(|| wrong("rank", "a whole number from 1"))?;
    Ok(RunRanking { run: run.to_owned(), rank: rank as u32, score })
}

fn invalid_comparison(member: &str, expected: &str, found: Option<&Value>) -> String {
    let found = match found {
        None => "nothing".to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(value) => kind_of(value).to_owned(),
    };
    format!("Invalid comparison result: {member} must be {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use super::{grade, rankings, reward, submission};
    use evalrs_model::spec::{Language, ProgramSpec, Role};

    fn told(language: Language, text: &str) -> String {
        let spec = ProgramSpec::new("g".to_owned(), language, "", Role::Grade);
        match grade(&spec, text) {
            Err(problem) => problem,
            Ok(grade) if !grade.applies => format!("- {}", grade.rationale),
            Ok(grade) => format!(
                "{} {:?} {:?} {}",
                grade.score,
                grade.pass,
                grade.rationale,
                grade.metadata.map(|all| serde_json::Value::Object(*all)).unwrap_or_default()
            ),
        }
    }

    #[test]
    fn a_grader_result_is_taken_as_it_is_and_nothing_is_guessed() {
        for (text, expected) in [
            (r#"{"pass":true,"score":1}"#, r#"1 Some(true) "" null"#),
            (r#"{"score":0.3,"pass":true,"reasoning":"r","x":1}"#, r#"0.3 Some(true) "r" null"#),
            (
                r#"{"pass":false,"score":1e-1,"outcome":{"a":1}}"#,
                r#"0.1 Some(false) "" {"outcome":{"a":1}}"#,
            ),
            (r#"{"pass":true,"score":1,"reason":"r"}"#, r#"1 Some(true) "r" null"#),
            (r#"{"pass":true,"score":1,"reasoning":"a","reason":"b"}"#, r#"1 Some(true) "a" null"#),
            (r#"{"pass":true,"score":1,"reason":{"a":1}}"#, r#"1 Some(true) "" null"#),
            (r#"{"pass":true,"score":1,"score":1.0}"#, r#"1 Some(true) "" null"#),
            (
                r#"{"pass":true,"score":1,"score":0}"#,
                "Invalid grader result: `score` stands there twice, with different values",
            ),
            (
                "loading\n{\"pass\":true,\"score\":1}",
                "Grader output is not valid JSON: loading\n{\"pass\":true,\"score\":1} (write logs to standard error)",
            ),
            (
                r#"{"score":1}"#,
                "Invalid grader result: `pass` must be true or false, found nothing",
            ),
            (
                r#"{"pass":"yes","score":1}"#,
                "Invalid grader result: `pass` must be true or false, found a string",
            ),
            (
                r#"{"pass":true,"score":"1"}"#,
                "Invalid grader result: `score` must be a number between 0.0 and 1.0, found a string",
            ),
            (
                r#"{"pass":true,"score":5}"#,
                "Invalid grader result: `score` must be between 0.0 and 1.0, found 5",
            ),
            (
                r#"{"pass":true,"score":1,"reasoning":null}"#,
                "Invalid grader result: `reasoning` must be text, found null",
            ),
            (
                r#"{"pass":true,"score":1,"outcome":[]}"#,
                "Invalid grader result: `outcome` must be an object, found a list",
            ),
            ("0.5", "Invalid grader result: expected an object, found a number"),
            ("loading\n{", "Grader output is not valid JSON: loading\n{"),
        ] {
            assert_eq!(told(Language::Executable, text), expected, "{text}");
            assert_eq!(told(Language::JavaScript, text), expected, "{text}");
        }
    }

    #[test]
    fn a_function_may_give_what_is_at_hand() {
        for (text, expected) in [
            ("0.5", r#"0.5 None "" null"#),
            ("-0.0", r#"0 None "" null"#),
            ("true", r#"1 Some(true) "" null"#),
            (r#"{"score":0.5}"#, r#"0.5 None "" null"#),
            (r#"{"pass":true}"#, r#"1 Some(true) "" null"#),
            (r#"{"score":0.2,"rationale":"r","metadata":{"a":1}}"#, r#"0.2 None "r" {"a":1}"#),
            (r#"{"score":0.2,"reasoning":"r","metadata":null}"#, r#"0.2 None "r" null"#),
            (
                r#"{"rationale":"r"}"#,
                "Invalid grader result: `score` must be a number between 0.0 and 1.0, found nothing",
            ),
            (r#""NaN""#, "Invalid grader result: `score` must be between 0.0 and 1.0, found NaN"),
            (
                r#"{"score":"-Infinity"}"#,
                "Invalid grader result: `score` must be between 0.0 and 1.0, found -Infinity",
            ),
            (
                r#""0.5""#,
                "Invalid grader result: expected a number, true or false, or an object, found a string",
            ),
            (r#"{"score":0.5,"reason":"r"}"#, r#"0.5 None "r" null"#),
            ("2", "Invalid grader result: `score` must be between 0.0 and 1.0, found 2"),
        ] {
            assert_eq!(told(Language::Python, text), expected, "{text}");
        }
    }

    #[test]
    fn who_gives_null_has_nothing_to_say() {
        for (text, expected) in [
            ("null", "- the program has nothing to say of it"),
            (r#"{"score":null}"#, "- the program has nothing to say of it"),
            (r#"{"pass":null,"score":null,"reasoning":"no refund"}"#, "- no refund"),
            (r#"{"score":null,"rationale":"no refund"}"#, "- no refund"),
            (
                r#"{"score":null,"rationale":1}"#,
                "Invalid grader result: `rationale` must be text, found a number",
            ),
        ] {
            for language in [Language::Executable, Language::JavaScript, Language::Python] {
                assert_eq!(told(language, text), expected, "{text}");
            }
        }
        let half = told(Language::Python, r#"{"pass":true,"score":null}"#);
        assert!(half.starts_with("Invalid grader result: `score` must be a number"), "{half}");
        assert_eq!(reward("null").map(|grade| grade.applies), Ok(false));
    }

    #[test]
    fn submissions_are_text_and_rewards_scores() {
        assert_eq!(submission(r#""a""#), Ok("a".to_owned()));
        assert_eq!(submission("1"), Err("an extractor returns text, not a number".to_owned()));
        assert_eq!(reward("0.25").map(|grade| grade.score), Ok(0.25));
        assert_eq!(reward(r#"{"score":1.0,"metadata":{}}"#).map(|grade| grade.score), Ok(1.0));
        assert!(reward("[]").is_err());
    }

    #[test]
    fn rankings_are_taken_as_they_are_and_nothing_is_guessed() {
        for (text, expected) in [
            (r#"{"rankings":[]}"#, "[]"),
            (
                r#"{"rankings":[{"run":"b","rank":1.0,"score":-3,"more":1},{"run":"a","rank":1,"score":0.5}],"reasoning":"r","x":1}"#,
                r#"[RunRanking { run: "b", rank: 1, score: -3.0 }, RunRanking { run: "a", rank: 1, score: 0.5 }]"#,
            ),
            ("[]", "the result must be an object, found a list"),
            (r#"{"winner":"a"}"#, "`rankings` must be a list, found nothing"),
            (r#"{"rankings":{}}"#, "`rankings` must be a list, found an object"),
            (r#"{"rankings":[],"reasoning":null}"#, "`reasoning` must be text, found null"),
            (r#"{"rankings":["a"]}"#, "`rankings[0]` must be an object, found a string"),
            (
                r#"{"rankings":[{"rank":1,"score":1}]}"#,
                "`rankings[0].run` must be a label, found nothing",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":1}]}"#,
                "`rankings[0].score` must be a number, found nothing",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":0,"score":1}]}"#,
                "`rankings[0].rank` must be a whole number from 1, found 0",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":"1","score":1}]}"#,
                "`rankings[0].rank` must be a whole number from 1, found a string",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":1,"score":1},{"run":"a","rank":2,"score":0}]}"#,
                "run `a` is ranked twice",
            ),
        ] {
            let told = match rankings(text) {
                Ok(rankings) => format!("{rankings:?}"),
                Err(problem) => problem.replace("Invalid comparison result: ", ""),
            };
            assert_eq!(told, expected, "{text}");
        }
        assert!(rankings("b wins").is_err());
    }
}
