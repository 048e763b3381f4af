//! Scorers of a log as graders: their recorded scores, graders of evalrs that compute the same, and
//! judges.

use serde_json::{Map, Value, json};

use super::log::InspectLog;
use super::rows::{self, ScoreColumn};
use super::template::{SentPrompt, template};
use crate::graders::{JudgeModel, is_score, recorded_score, unknown_provider};
use crate::imported::{ImportedSource, ONLY_SUITE};
use crate::reading::{as_text, beginning, content_text, first, items_in, text_at};

/// The functions that scorers are made of.
const PROGRAM: &str = include_str!("scorers.py");

#[derive(Default)]
pub(super) struct LogGraders {
    pub plain: Map<String, Value>,
    /// Those that ask a model.
    pub judged: Map<String, Value>,
    /// The functions that `plain` names.
    pub program: Option<String>,
}

/// Where the functions of a suite stand.
pub(super) fn program_path(file: &str) -> String {
    if file == ONLY_SUITE { "scorers.py".to_owned() } else { format!("{file}.scorers.py") }
}

struct LoggedScorer<'a> {
    /// What it is registered as.
    scorer: String,
    options: &'a Value,
}

/// What became of a scorer that evalrs can do itself.
enum MappedScorer {
    Grader(Value),
    /// A function: its body.
    Function(String),
    Judge(Value),
}

/// The graders of the scores of a log.
pub(super) fn graders(
    log: &InspectLog,
    rows: &[Value],
    columns: &[ScoreColumn],
    file: &str,
    imported: &mut ImportedSource,
) -> LogGraders {
    let mut graders = LogGraders::default();
    let mut functions = String::new();
    for column in columns {
        let ScoreColumn { name, key, .. } = column;
        match recorded(column, rows) {
            Ok(grader) => _ = graders.plain.insert(format!("{key}_recorded"), grader),
            Err(_) if column.values.iter().all(Value::is_object) => {}
            Err(why) => {
                let what = format!("the scores `{name}`");
                imported.leave_out("scorers", log.place_of(name), what, why);
            }
        }
        let Some(scorer) = logged(log, name) else { continue };
        match mapped(log, rows, name, &scorer, imported) {
            Ok(MappedScorer::Grader(grader)) => _ = graders.plain.insert(key.clone(), grader),
            Ok(MappedScorer::Judge(grader)) => _ = graders.judged.insert(key.clone(), grader),
            Ok(MappedScorer::Function(body)) => {
                let function = format!("score_{}", key.replace('-', "_"));
                let head = format!("\n\ndef {function}(sample, submission):");
                functions.extend([head.as_str(), "\n    return ", &body, "\n"]);
                let mut grader = json!({"kind": "tool", "function": format!("{}:{function}", program_path(file))});
                grader["extractor"] = json!("final_output");
                grader["sees"] = json!(["ground_truth"]);
                graders.plain.insert(key.clone(), grader);
            }
            Err(why) => {
                let what = format!("the scorer `{}` of `{name}`", scorer.scorer);
                imported.leave_out("scorers", log.place_of(name), what, why);
                continue;
            }
        }
        if !rows.iter().all(has_target)
            && let Some(grader) = graders.plain.get_mut(key)
        {
            grader["only"] = Value::from("has(row.ground_truth)");
        }
        imported.count("scorers");
    }
    graders.program = (!functions.is_empty()).then(|| format!("{PROGRAM}{functions}"));
    graders
}

/// A grader that takes over what was recorded.
fn recorded(column: &ScoreColumn, rows: &[Value]) -> Result<Value, String> {
    let path = format!("scores.{}.value", column.key);
    let letters = ["C", "I", "P", "N"];
    let is_letter = |value: &Value| value.as_str().is_some_and(|text| letters.contains(&text));
    let config = if column.values.iter().all(is_letter) {
        json!({"path": path, "map": {"C": 1, "I": 0, "P": 0.5, "N": 0}})
    } else if column.values.iter().all(is_score) {
        json!({"path": path})
    } else if column.values.iter().all(Value::is_number) {
        let numbers = || column.values.iter().filter_map(Value::as_f64);
        let least = numbers().fold(f64::INFINITY, f64::min);
        let most = numbers().fold(f64::NEG_INFINITY, f64::max);
        return Err(format!(
            "its numbers are between {least} and {most}, and the log does not record their range: add `recorded_score` with `path: {path}` and `scale: {{min, max}}`"
        ));
    } else {
        let odd = column.values.iter().find(|value| !is_letter(value) && !is_score(value));
        let example = beginning(&odd.map(as_text).unwrap_or_default(), 40);
        return Err(format!(
            "its values are neither letters of Inspect nor numbers from 0 to 1, such as `{example}`: add `recorded_score` with `path: {path}` and a `map`"
        ));
    };
    let mut grader = recorded_score(&config);
    if column.is_partial {
        let fails = rows.iter().any(|row| row.get("error").is_some());
        let or_fails = if fails { " or has(row.error)" } else { "" };
        grader["only"] = Value::from(format!("has(row.{path}){or_fails}"));
    }
    Ok(grader)
}

/// The scorer of the score `name`.
fn logged<'a>(log: &'a InspectLog, name: &str) -> Option<LoggedScorer<'a>> {
    let plain = |scorer: &str| scorer.rsplit('/').next().unwrap_or(scorer).to_owned();
    let mut results = log.scores();
    if let Some(score) = results.find(|score| text_at(score, &["/name"]) == Some(name)) {
        let scorer = plain(text_at(score, &["/scorer", "/name"])?);
        return Some(LoggedScorer { scorer, options: &score["params"] });
    }
    let scorer = items_in(&log.header["eval"], "scorers").find(|scorer| {
        text_at(scorer, &["/name"]).is_some_and(|registered| plain(registered) == name)
    })?;
    Some(LoggedScorer { scorer: name.to_owned(), options: &scorer["options"] })
}

/// A scorer as a grader, or why not.
fn mapped(
    log: &InspectLog,
    rows: &[Value],
    name: &str,
    scorer: &LoggedScorer<'_>,
    imported: &mut ImportedSource,
) -> Result<MappedScorer, String> {
    if !rows.iter().any(has_target) && !scorer.scorer.starts_with("model_graded") {
        return Err("no sample has a target, which it compares with".to_owned());
    }
    let options = PythonOptions(scorer.options);
    Ok(match scorer.scorer.as_str() {
        "includes" => MappedScorer::Grader(includes(rows, options)),
        "match" => MappedScorer::Function(format!(
            "match_in(sample, submission, location={}, ignore_case={}, numeric={})",
            options.text("location", "end")?,
            options.truth("ignore_case", true),
            options.truth("numeric", false)
        )),
        "pattern" => MappedScorer::Function(format!(
            "pattern_in(sample, submission, {}, ignore_case={}, match_all={})",
            options.text("pattern", "")?,
            options.truth("ignore_case", true),
            options.truth("match_all", false)
        )),
        "answer" => answer(options)?,
        "exact" => MappedScorer::Function("exact_text(sample, submission)".to_owned()),
        "f1" if first(scorer.options, &["/answer_fn"]).is_some() => {
            return Err("it picks the answer with a function of its own".to_owned());
        }
        "f1" => MappedScorer::Function(format!(
            "f1_of(sample, submission, stop_words={})",
            first(scorer.options, &["/stop_words"]).map_or("()".to_owned(), Value::to_string)
        )),
        "choice" if shuffles(log) => {
            let why = "the choices were shuffled, and the answers name shuffled letters";
            return Err(why.to_owned());
        }
        "choice" => MappedScorer::Function("choices_in(sample, submission)".to_owned()),
        "model_graded_qa" | "model_graded_fact" => {
            MappedScorer::Judge(judge(log, rows, name, scorer, imported)?)
        }
        _ => return Err("evalrs has no such scorer; its recorded scores are imported".to_owned()),
    })
}

/// Whether there is something that an answer of the row is compared with.
fn has_target(row: &Value) -> bool {
    row.get("ground_truth").is_some()
}

/// Options of a scorer, as Python writes them.
#[derive(Clone, Copy)]
struct PythonOptions<'a>(&'a Value);

impl PythonOptions<'_> {
    fn is_true(self, name: &str, default: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    fn truth(self, name: &str, default: bool) -> &'static str {
        if self.is_true(name, default) { "True" } else { "False" }
    }

    /// A text as a literal: JSON's are Python's.
    fn text(self, name: &str, default: &str) -> Result<String, String> {
        match &self.0[name] {
            Value::Null if default.is_empty() => Err(format!(
                "the log does not record its \
                                                              `{name}`"
            )),
            Value::Null => Ok(json!(default).to_string()),
            text @ Value::String(_) => Ok(text.to_string()),
            _ => Err(format!("its `{name}` is not a text")),
        }
    }
}

fn includes(rows: &[Value], options: PythonOptions<'_>) -> Value {
    let ignores_case = options.is_true("ignore_case", true);
    let has_several = rows.iter().any(|row| row.get("ground_truth").is_some_and(Value::is_array));
    if ignores_case && !has_several {
        return json!({"kind": "tool", "function": "contains", "extractor": "final_output"});
    }
    let config = json!({"case_sensitive": !ignores_case});
    json!({"kind": "tool", "function": "contains_any", "extractor": "final_output", "config": config})
}

fn answer(options: PythonOptions<'_>) -> Result<MappedScorer, String> {
    let kind = options.text("pattern", "")?;
    let pattern = match kind.trim_matches('"') {
        "letter" => r"answer\s*:\s*([a-z])(?!\w)",
        "word" => r"answer\s*:\s*(\w+)",
        "line" => r"answer\s*:\s*([^\n]+)",
        other => return Err(format!("evalrs does not know the answers `{other}`")),
    };
    Ok(MappedScorer::Function(format!("pattern_in(sample, submission, {})", Value::from(pattern))))
}

/// Whether the choices were shuffled before the call.
fn shuffles(log: &InspectLog) -> bool {
    items_in(&log.header["plan"], "steps").any(|step| {
        first(step, &["/params/shuffle"]).is_some_and(|shuffle| *shuffle != Value::Bool(false))
    })
}

/// A judge with the template that the log shows.
fn judge(
    log: &InspectLog,
    rows: &[Value],
    name: &str,
    scorer: &LoggedScorer<'_>,
    imported: &mut ImportedSource,
) -> Result<Value, String> {
    if rows.iter().any(|row| row.get("ground_truth").is_some_and(Value::is_array)) {
        return Err("some samples have several references, which it joins".to_owned());
    }
    let sent = sent_prompts(log, rows, name);
    if sent.is_empty() {
        let why = "the log does not contain the judge's prompts, from which its template is read";
        return Err(why.to_owned());
    }
    let template = template(&sent)
        .map_err(|why| format!("its template cannot be read from the log: {why}"))?;
    let mut grader = json!({
        "kind": "rubric",
        "prompt": format!("{}\n\nAs a score, the grade C is 1, P is 0.5 and I is 0.\n", template.trim_end()),
        "extractor": "final_output",
    });
    let model = judge_model(log, scorer.options);
    model.put_into(&mut grader);
    if model.is_elsewhere {
        imported.note(unknown_provider(&model.model, name));
    }
    imported.note(format!("`{name}` uses a judge, so it is in the suite `judged`: its template is from the log, with a line on the value of each grade. Inspect reads the letter after `GRADE:`, evalrs a score."));
    Ok(grader)
}

/// The most prompts that a template is looked for in.
const MAX_PROMPTS: usize = 200;

/// What the judge of a score was sent, of as many samples as are looked at.
fn sent_prompts(log: &InspectLog, rows: &[Value], name: &str) -> Vec<SentPrompt> {
    let pointer =
        format!("/scores/{}/metadata/grading/0", name.replace('~', "~0").replace('/', "~1"));
    let sent = log.samples.iter().filter_map(|sample| {
        let sent = sample.value.pointer(&pointer)?;
        let trial = rows::epoch(&sample.value).saturating_sub(1);
        let row = rows.iter().find(|row| {
            row.get("id") == sample.value.get("id") && row["trial"].as_u64() == Some(trial)
        })?;
        Some(SentPrompt {
            text: rows::attached(&content_text(&sent["content"], "\n"), &sample.value),
            parts: ["input", "output", "ground_truth"].map(|field| as_text(&row[field])),
        })
    });
    sent.take(MAX_PROMPTS).collect()
}

/// The model that judged: of the scorer, of the role, or the one that was evaluated.
fn judge_model(log: &InspectLog, options: &Value) -> JudgeModel {
    let places = ["/model/model", "/model/0/model", "/model/0", "/model"];
    let of_scorer = text_at(options, &places);
    let of_log = || text_at(&log.header, &["/eval/model_roles/grader/model", "/eval/model"]);
    JudgeModel::of(of_scorer.or_else(of_log).unwrap_or("gpt-4o-mini"))
}
