//! Judges of Harbor's Reward Kit: TOML files with a `[judge]` and its criteria. Each becomes a rubric in criteria.
//!
//! Such a file has no data. Whoever imports it grades the trajectories of Harbor's jobs with it, or rows of their own.

use serde_json::{Map, Value, json};

use super::graders::{JudgeModel, unknown_provider};
use super::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use super::reading::{self, GivenNames, criterion_name, items_in, line_of, text_in};
use super::source::ImportSource;
use evalrs_base::file_path::join;

/// Whether a source is such a file, or a folder of them.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    match source.list(&source.path) {
        Some(_) => files(source).iter().any(|path| source.begins(path, is_judge)),
        None => reading::ends_in(&source.path, "toml") && is_judge(&reading::head(source)),
    }
}

/// Either table is enough: the other may be in neither.
fn is_judge(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim(), "[judge]" | "[[criterion]]"))
}

/// The TOML files of a folder, and of the folders in it: each of these is a reward.
fn files(source: &ImportSource<'_>) -> Vec<String> {
    let is_toml = |path: &String| reading::ends_in(path, "toml");
    let Some(names) = source.list(&source.path) else { return vec![source.path.clone()] };
    let mut found = Vec::new();
    for path in names.iter().map(|name| source.beside(name)) {
        match source.list(&path) {
            Some(inner) => found.extend(inner.iter().map(|name| join(&path, name)).filter(is_toml)),
            None => found.extend(Some(path).filter(is_toml)),
        }
    }
    found
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut imported = ImportedSource::default();
    let mut names = GivenNames::default();
    let mut graders = Map::new();
    for path in files(source) {
        let text = reading::text(source, &path)?;
        let is_reward = path.rsplit('/').next() == Some("reward.toml");
        if is_judge(&text) {
            let name = names.give(reward_name(&path));
            let grader = RewardkitJudge::read(&path, &text)?.grader(&name, &mut imported);
            graders.extend(grader.map(|grader| (name, grader)));
        } else if is_reward {
            let why = "how rewards are combined is for `reward` or the gate of a suite";
            imported.leave_out("rewards", SourcePlace::new(&path, 0), "reward.toml", why);
        }
    }
    if graders.is_empty() {
        let message = format!("no judge in `{}` maps", source.path);
        return Err(imported.nothing_mapped(message, "name a TOML file with a `[judge]`"));
    }
    imported.note("No rows were imported: write them as `dataset.jsonl`, each with an `input` and an `output`, or import the jobs of Harbor and copy the graders into that suite.");
    let suite = json!({"name": "rewardkit", "dataset": "dataset.jsonl", "graders": graders});
    imported.add_suite(ONLY_SUITE, suite, Vec::new());
    Ok(imported)
}

/// The reward that a file is: its own name, or that of its folder.
fn reward_name(path: &str) -> &str {
    match reading::stem(path) {
        "judge" => path.rsplit('/').nth(1).unwrap_or("judge"),
        stem => stem,
    }
}

/// A judge and its criteria.
struct RewardkitJudge<'a> {
    path: &'a str,
    text: &'a str,
    value: Value,
}

impl<'a> RewardkitJudge<'a> {
    fn read(path: &'a str, text: &'a str) -> Result<Self, ImportError> {
        let value = toml::from_str(text).map_err(|problem: toml::de::Error| {
            ImportError::unread(path, problem.message(), "it is read as TOML")
        })?;
        Ok(Self { path, text, value })
    }

    fn place(&self, needle: &str) -> SourcePlace {
        SourcePlace::new(self.path, line_of(self.text, needle))
    }

    /// The rubric `name`; none if it has no criterion that maps.
    fn grader(&self, name: &str, imported: &mut ImportedSource) -> Option<Value> {
        let mut criteria = Map::new();
        let mut required = Vec::new();
        for criterion in items_in(&self.value, "criterion") {
            let description = text_in(criterion, "description").unwrap_or_default();
            match criterion_of(criterion, description) {
                Ok(mapped) => {
                    let given = text_in(criterion, "name").unwrap_or(description);
                    let name = criterion_name(given, &criteria);
                    if criterion.get("optional") != Some(&Value::Bool(true)) {
                        required.push(name.clone());
                    }
                    criteria.insert(name, mapped);
                    imported.count("criteria");
                }
                Err(why) => {
                    let what = reading::beginning(description, 60);
                    imported.leave_out("criteria", self.place(description), what, why);
                }
            }
        }
        if criteria.is_empty() {
            return None;
        }
        let judge = self.value.get("judge").cloned().unwrap_or_else(|| json!({}));
        let is_alone = text_in(&judge, "mode") == Some("individual");
        let batching = if is_alone { "each" } else { "together" };
        let mut grader = json!({"kind": "rubric", "criteria": criteria, "batching": batching});
        self.put_judge(&judge, name, &mut grader, imported);
        self.put_scoring(&required, &mut grader, imported);
        Some(grader)
    }

    /// Who judges, how often, and what is shown.
    fn put_judge(
        &self,
        judge: &Value,
        name: &str,
        grader: &mut Value,
        imported: &mut ImportedSource,
    ) {
        let said = text_in(judge, "judge").unwrap_or_default();
        let agent = text_in(judge, "model").filter(|_| !said.contains('/'));
        let model = JudgeModel::of(agent.unwrap_or(said));
        if !said.is_empty() && !said.contains('/') {
            let why = "an agent judges there; here its model judges, which sees no files: set `model` if there is none";
            imported.leave_out(
                "judges",
                self.place("judge"),
                format!("the judge of `{name}`"),
                why,
            );
        }
        if !model.model.is_empty() {
            model.put_into(grader);
        }
        if model.is_elsewhere {
            imported.note(unknown_provider(&model.model, name));
        }
        if let Some(samples) = judge.get("samples").and_then(Value::as_u64).filter(|n| *n > 1) {
            grader["votes"] = json!({"n": samples, "combine": "median"});
        }
        if judge.get("atif-trajectory").is_some() {
            grader["extractor"] = json!("trajectory");
        }
        let shown = ["files", "reference", "prompt_template"];
        for name in shown.into_iter().filter(|name| judge.get(*name).is_some()) {
            let why = "a judge of evalrs sees what the row and the rubric hold: put the text there";
            imported.leave_out("judges", self.place(name), name, why);
        }
    }

    /// How scores become one. `required` are the criteria that are not optional.
    fn put_scoring(&self, required: &[String], grader: &mut Value, imported: &mut ImportedSource) {
        let scoring = self.value.get("scoring").cloned().unwrap_or_default();
        let aggregation = text_in(&scoring, "aggregation").unwrap_or("weighted-mean");
        match aggregation.replace('_', "-").as_str() {
            "weighted-mean" => {}
            "all-pass" => grader["combine"] = json!("all"),
            "any-pass" => grader["combine"] = json!("any"),
            "required-pass" => grader["combine"] = json!(format!("min({})", required.join(", "))),
            "threshold" => {
                let least = scoring.get("threshold").and_then(Value::as_f64).unwrap_or(0.5);
                grader["pass_threshold"] = json!(least);
            }
            other => {
                let why = "scores of evalrs are from 0 to 1; the weighted mean is in its place";
                imported.leave_out("scoring", self.place("aggregation"), other, why);
            }
        }
    }
}

/// A criterion; an error is why it has no counterpart.
fn criterion_of(criterion: &Value, description: &str) -> Result<Value, String> {
    if description.trim().is_empty() {
        return Err("it has no `description`".to_owned());
    }
    let number = |name: &str| criterion.get(name).and_then(Value::as_f64);
    let is_negated = criterion.get("negate") == Some(&Value::Bool(true));
    let kind = text_in(criterion, "type").unwrap_or("binary");
    let mut mapped = json!({"question": description});
    let scale = match kind {
        "binary" => None,
        "likert" => Some([1.0, number("points").unwrap_or(5.0)]),
        "numeric" => Some([number("min").unwrap_or(0.0), number("max").unwrap_or(1.0)]),
        "rubric" => {
            let levels = items_in(criterion, "levels").filter_map(Value::as_str);
            let levels: Vec<String> =
                levels.enumerate().map(|(at, level)| format!("{at}: {level}")).collect();
            let greatest = levels.len().saturating_sub(1);
            mapped["question"] = json!(format!("{description}\n\n{}", levels.join("\n")));
            Some([0.0, greatest as f64])
        }
        other => return Err(format!("its `type` is `{other}`")),
    };
    match scale {
        None if is_negated => mapped["expect"] = json!("no"),
        None => {}
        Some(_) if is_negated => {
            return Err("a score is not turned round: ask for the opposite".to_owned());
        }
        Some([min, max]) if min < max => mapped["scale"] = json!({"min": min, "max": max}),
        Some([min, max]) => return Err(format!("its scores are from {min} to {max}")),
    }
    match number("weight") {
        None => {}
        Some(weight) if weight > 0.0 => mapped["weight"] = json!(weight),
        Some(weight) => return Err(format!("its weight is {weight}")),
    }
    Ok(mapped)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{import, recognizes};
    use crate::imported::ImportedSource;
    use crate::source::ImportSource;
    use evalrs_system::memory::MemorySystem;

    const QUALITY: &str = r#"
[judge]
judge = "anthropic/claude-sonnet-4-6"
files = ["/app/main.py"]
samples = 3
atif-trajectory = "/logs/trajectory.json"

[[criterion]]
description = "Is the code correct?"
weight = 2.0

[[criterion]]
description = "Does it delete files?"
name = "deletes-files"
negate = true
optional = true

[[criterion]]
description = "How readable is it?"
type = "likert"
points = 7

[[criterion]]
description = "Coverage"
type = "numeric"
min = 0
max = 100

[[criterion]]
description = "Depth"
type = "rubric"
levels = ["none", "some", "all"]

[[criterion]]
description = "Free"
type = "numeric"
negate = true

[scoring]
aggregation = "required_pass"
"#;

    fn imported(files: &[(&str, &str)], path: &str) -> ImportedSource {
        let system = MemorySystem::with(files);
        let source = ImportSource::new(path, &system);
        assert!(recognizes(&source), "{path}");
        import(&source).unwrap()
    }

    fn grader(text: &str) -> Value {
        let imported = imported(&[("t/quality.toml", text)], "t/quality.toml");
        imported.suites[0].suite["graders"]["quality"].clone()
    }

    #[test]
    fn a_judge_is_a_rubric_in_criteria() {
        let imported = imported(&[("t/quality.toml", QUALITY)], "t/quality.toml");
        let expected = json!({
            "kind": "rubric",
            "criteria": {
                "is_the_code_correct": {"question": "Is the code correct?", "weight": 2.0},
                "deletes_files": {"question": "Does it delete files?", "expect": "no"},
                "how_readable_is_it": {"question": "How readable is it?", "scale": {"min": 1.0, "max": 7.0}},
                "coverage": {"question": "Coverage", "scale": {"min": 0.0, "max": 100.0}},
                "depth": {"question": "Depth\n\n0: none\n1: some\n2: all", "scale": {"min": 0.0, "max": 2.0}},
            },
            "batching": "together",
            "model": "claude-sonnet-4-6",
            "provider": "anthropic",
            "votes": {"n": 3, "combine": "median"},
            "extractor": "trajectory",
            "combine": "min(is_the_code_correct, how_readable_is_it, coverage, depth)",
        });
        assert_eq!(imported.suites[0].suite["graders"]["quality"], expected);
        assert_eq!(imported.mapped["criteria"], 5);
        let left: Vec<String> = imported
            .not_mapped
            .iter()
            .map(|part| format!("{} {}", part.place.line, part.what))
            .collect();
        assert_eq!(left, ["35 Free", "4 files"]);
    }

    #[test]
    fn scores_are_combined_as_the_file_says() {
        let one = "[[criterion]]\ndescription = 'Is it right?'\n";
        for (text, name, expected) in [
            ("", "combine", Value::Null),
            ("[scoring]\naggregation = 'all-pass'\n", "combine", json!("all")),
            ("[scoring]\naggregation = 'any_pass'\n", "combine", json!("any")),
            (
                "[scoring]\naggregation = 'threshold'\nthreshold = 0.7\n",
                "pass_threshold",
                json!(0.7),
            ),
            ("[judge]\nmode = 'individual'\n", "batching", json!("each")),
            ("[judge]\njudge = 'claude-code'\nmodel = 'anthropic/m'\n", "model", json!("m")),
        ] {
            assert_eq!(grader(&format!("{one}{text}"))[name], expected, "{text}");
        }
    }

    #[test]
    fn a_folder_has_a_rubric_for_each_reward() {
        let one = "[[criterion]]\ndescription = 'Is it right?'\n";
        let files = [
            ("tests/quality.toml", one),
            ("tests/style/judge.toml", one),
            ("tests/reward.toml", "[[reward]]\nname = 'reward'\n"),
            ("tests/other.toml", "[tool]\n"),
        ];
        let imported = imported(&files, "tests");
        let graders = imported.suites[0].suite["graders"].as_object().unwrap();
        assert_eq!(graders.keys().collect::<Vec<_>>(), ["quality", "style"]);
        assert_eq!(imported.not_mapped[0].what, "reward.toml");
    }

    #[test]
    fn what_is_no_judge_says_why() {
        for (text, why) in [
            ("[judge]\njudge = 'anthropic/m'\n", "no judge in `j.toml` maps"),
            ("[judge]\njudge = [\n", "cannot read `j.toml`"),
            ("[[criterion]]\ntype = 'binary'\n", "no judge in `j.toml` maps"),
        ] {
            let system = MemorySystem::with(&[("j.toml", text)]);
            let problem = import(&ImportSource::new("j.toml", &system)).unwrap_err();
            let said = problem.message();
            assert!(said.contains(why), "{said}");
        }
    }
}
