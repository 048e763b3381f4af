//! The rows of a configuration: each test with each combination of its variables and each prompt; and who answers them.

use serde_json::{Map, Value, json};

use super::case::TestCase;
use super::config::Config;
use super::providers::{Answers, ProviderSpec};
use super::suite::{BuiltSuite, SuiteBuilder};
use super::vars::{self, LoadedVars};
use crate::folder::data_file;
use crate::imported::{ImportedSource, ONLY_SUITE};
use crate::reading::put;

/// The most rows of a suite.
const MAX_ROWS: usize = 200_000;

/// The providers of a configuration, by how they are called.
#[derive(Default)]
struct AnsweringProviders {
    echoes: bool,
    /// Some cannot be called here, and their outputs are missing.
    others: bool,
    /// A target each, and its models.
    targets: Vec<ProviderTarget>,
    /// What all providers do to their answers.
    transform: Option<Value>,
}

/// A target that is run.
struct ProviderTarget {
    target: Value,
    models: Vec<Value>,
}

/// The suites of a configuration.
pub(super) fn suites(config: &Config, name: &str, mut builder: SuiteBuilder<'_>) -> ImportedSource {
    let answering = answering(&config.providers, &mut builder.imported);
    let has_one_target = answering.targets.len() == 1 && !answering.echoes && !answering.others;
    let rows = Rows { config, answering: &answering, is_live: has_one_target };
    let mut at = 0;
    for test in &config.tests {
        rows.add(test, &mut at, &mut builder);
        if builder.rows.len() > MAX_ROWS {
            builder.imported.note(format!("Only the first {MAX_ROWS} rows were imported."));
            break;
        }
    }
    let BuiltSuite { mut suite, mut rows, mut imported } =
        builder.finish(name, config.description.as_deref());
    let unasked = rows.iter().filter(|row| row["input"] == "").count();
    if rows.is_empty() {
        imported.note("No test could be read, so that nothing to run.");
        return imported;
    }
    if unasked > 0 {
        imported.note(
            "`input` is empty where the prompt is not known: rubrics that show it show nothing.",
        );
    }
    let is_live = has_one_target && unasked == 0;
    if is_live {
        answering.targets[0].add_to(&mut suite, config.repeat);
    } else if has_one_target || answering.others || config.providers.is_empty() {
        for row in rows.iter_mut().filter(|row| row.get("output").is_none()) {
            row["output"] = Value::Null;
        }
        imported.note("Outputs are missing: write them into `output` of the rows, which is null, or import the results of promptfoo (`promptfoo eval -o results.json`).");
    }
    let has_questions = unasked < rows.len();
    imported.add_suite(ONLY_SUITE, suite, rows);
    let others = answering.targets.iter().filter(|_| !is_live && has_questions);
    for (at, target) in others.enumerate() {
        let mut suite = json!({"extends": format!("{ONLY_SUITE}.yaml"), "name": format!("{name}, target {}", at + 1)});
        if unasked > 0 {
            suite["dataset"] = json!({"where": "input != ''", "path": data_file(ONLY_SUITE)});
        }
        target.add_to(&mut suite, config.repeat);
        imported.add_suite(&format!("target-{}", at + 1), suite, Vec::new());
    }
    imported
}

impl ProviderTarget {
    /// Has it answer the samples of a suite.
    fn add_to(&self, suite: &mut Value, repeat: Option<u64>) {
        let mut target = self.target.clone();
        match &self.models[..] {
            [] => {}
            [one] => target["model"] = one.clone(),
            several => suite["models"] = json!(several),
        }
        suite["target"] = target;
        put(suite, "num_runs", repeat.filter(|repeat| *repeat > 1));
    }
}

fn answering(providers: &[ProviderSpec], imported: &mut ImportedSource) -> AnsweringProviders {
    let mut answering = AnsweringProviders::default();
    for provider in providers {
        match provider.answers() {
            Ok(answers) => {
                imported.count("providers");
                answering.add(answers);
            }
            Err(why) => {
                answering.others = true;
                let what = format!("`{}`", provider.name());
                imported.leave_out("providers", provider.place.clone(), what, why);
            }
        }
    }
    let mut transforms = providers.iter().map(|provider| provider.transform.clone());
    let first = transforms.next().flatten();
    if transforms.all(|transform| transform == first) {
        answering.transform = first;
    } else {
        imported.note("Providers transform their answers in different ways, which graders here do not: grade the transformed answers.");
    }
    answering
}

impl AnsweringProviders {
    fn add(&mut self, answers: Answers) {
        match answers {
            Answers::Echo => self.echoes = true,
            Answers::Http { target } => {
                self.targets.push(ProviderTarget { target, models: Vec::new() });
            }
            Answers::Chat { target, model } => {
                match self.targets.iter_mut().find(|known| known.target == target) {
                    Some(known) if !known.models.contains(&model) => known.models.push(model),
                    Some(_) => {}
                    None => self.targets.push(ProviderTarget { target, models: vec![model] }),
                }
            }
        }
    }
}

struct Rows<'a> {
    config: &'a Config,
    answering: &'a AnsweringProviders,
    /// Whether a target answers all of them, so that nothing is recorded.
    is_live: bool,
}

impl Rows<'_> {
    /// Adds the rows of a test; `at` counts combinations as promptfoo does.
    fn add(&self, test: &TestCase, at: &mut usize, builder: &mut SuiteBuilder<'_>) {
        let expands = test.options.get("disableVarExpansion") != Some(&Value::Bool(true));
        let combinations = match vars::combinations(&test.vars, builder.files) {
            Ok(combinations) if expands => combinations,
            Ok(_) => vec![test.vars.clone()],
            Err(why) => {
                builder.imported.leave_out("tests", test.place.clone(), "a test", why);
                return;
            }
        };
        for combination in combinations {
            *at += 1;
            let LoadedVars { vars, unknown } = vars::loaded(combination, builder.files);
            for why in unknown {
                builder.imported.leave_out("variables", test.place.clone(), "a variable", why);
            }
            self.add_prompts(test, &vars, *at, builder);
        }
        builder.imported.count("tests");
    }

    fn add_prompts(
        &self,
        test: &TestCase,
        vars: &Map<String, Value>,
        at: usize,
        builder: &mut SuiteBuilder<'_>,
    ) {
        let graders = builder.graders(test, vars, self.answering.transform.as_ref());
        let affix = |name: &str| test.options.get(name).and_then(Value::as_str).unwrap_or_default();
        let prompts =
            if self.config.prompts.is_empty() { &[None][..] } else { &self.config.prompts };
        for (number, prompt) in prompts.iter().enumerate() {
            let raw =
                prompt.as_ref().map(|raw| format!("{}{raw}{}", affix("prefix"), affix("suffix")));
            let input = raw.map(|raw| vars::prompt(&raw, vars)).transpose();
            let input = input.unwrap_or_else(|why| {
                let what = "a prompt with the variables of this test";
                builder.imported.leave_out("prompts", test.place.clone(), what, why);
                None
            });
            let id = match prompts.len() {
                1 => format!("test-{at}"),
                _ => format!("test-{at}.prompt-{}", number + 1),
            };
            let mut row = json!({"id": id, "input": input.as_deref().unwrap_or_default()});
            put(&mut row, "description", test.description.as_deref());
            row["vars"] = json!(vars::known(vars));
            row["assert"] = json!(graders.wanted);
            row["graders"] = json!(graders.names);
            if !test.metadata.is_empty() {
                row["metadata"] = json!(test.metadata);
            }
            self.answer(test, input, &mut row);
            builder.rows.push(row);
        }
    }

    /// What the row records of an answer.
    fn answer(&self, test: &TestCase, input: Option<String>, row: &mut Value) {
        if self.is_live {
            if let Some(messages) = input.as_deref().and_then(messages) {
                row["input"] = messages;
            }
            return;
        }
        let own = test.provider_output.clone();
        let output = own.or_else(|| {
            input.filter(|_| self.answering.echoes && !self.answering.others).map(Value::from)
        });
        if self.answering.echoes && output.is_some() {
            row["latency_ms"] = json!(0);
            row["cost"] = json!(0);
        }
        row["output"] = output.unwrap_or_default();
    }
}

/// The chat messages that a prompt is, if it is a list of them.
fn messages(prompt: &str) -> Option<Value> {
    let parsed: Value = serde_json::from_str(prompt).ok()?;
    let messages = parsed.as_array()?;
    let is_message = |one: &Value| one.get("role").is_some() && one.get("content").is_some();
    (!messages.is_empty() && messages.iter().all(is_message)).then_some(parsed)
}
