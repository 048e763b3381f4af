//! The settings of a grader as they stand in `header.json`.
//!
//! They hold what a later `plan` or `explain` compares: of a judge, the very ingredients that its keys are made of,
//! so that no setting can be in the keys and be missing here. No secret is among them, and no path of a machine.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use evalrs_eval::evaluate::ReadyGrader;
use evalrs_eval::judge::Judge;
use evalrs_eval::program::ProgramIdentity;
use evalrs_model::key::Ingredient;
use evalrs_model::spec::ProgramSpec;
use evalrs_model::spec::{CompareTo, GraderKind, GraderSpec, RewardSpec, RubricSpec};

/// How the paths of a suite are written in reports.
pub(crate) type Relative<'a> = &'a dyn Fn(&str) -> String;

/// The settings of one grader as it is made ready.
pub fn of_grader(grader: &GraderSpec, ready: &ReadyGrader, relative: Relative<'_>) -> Value {
    let mut object = json!({
        "name": grader.name,
        "extractor": grader.extractor.name,
        "pass_threshold": grader.pass_threshold,
    });
    let has_config = !matches!(&*grader.extractor.config, "" | "{}");
    let optional = [
        ("extractor_config", has_config.then(|| grader.extractor.options().into())),
        ("include_subagents", grader.extractor.include_subagents.then(|| true.into())),
        ("ground_truth_pattern", grader.ground_truth_pattern.as_deref().map(Value::from)),
        ("ground_truth", grader.ground_truth.as_deref().map(Value::from)),
        ("not", grader.negated.then(|| true.into())),
        ("only", grader.only.as_ref().map(|condition| condition.text().into())),
    ];
    for (name, value) in optional.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        object[name] = value;
    }
    match &grader.kind {
        GraderKind::Tool(tool) => {
            object["function"] = Value::from(tool.function.as_str());
            if !tool.config.is_empty() {
                object["config"] = Value::Object(tool.config.clone());
            }
        }
        GraderKind::Rubric(rubric) => {
            put_rubric(&mut object, rubric, ready.judge(), relative);
        }
        GraderKind::Program(program) | GraderKind::Reward(RewardSpec::Program(program)) => {
            object["program"] = of_program(program, ready.program(), relative);
        }
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            object["combine"] = Value::from(expression.text.as_str());
        }
        GraderKind::Reward(RewardSpec::Criteria(spec)) => {
            object["combine"] = Value::from(spec.combine.text());
            let criteria = spec.criteria.iter().map(|one| {
                let settings = json!({"weight": one.weight, "required": one.is_required});
                (one.name.clone(), settings)
            });
            object["criteria"] = Value::Object(criteria.collect());
        }
    }
    object
}

/// The settings of a program: where it is, and the ingredients that all of its keys have in common.
fn of_program(
    spec: &ProgramSpec,
    identity: Option<&Arc<ProgramIdentity>>,
    relative: Relative<'_>,
) -> Value {
    let mut settings = match identity {
        Some(identity) => of_judge(&identity.settings()),
        None => json!({"function": spec.function}),
    };
    match &spec.inline {
        Some(text) => settings["javascript"] = Value::from(text.as_str()),
        None => settings["path"] = Value::from(relative(&spec.path)),
    }
    if let Some(identity) = identity {
        let known = &identity.known;
        // Every file by its name: as an ingredient a long list is but a digest.
        for (name, files) in [("inputs", &known.inputs), ("dependencies", &known.dependencies)] {
            let files = files.iter().map(|(path, digest)| (path.clone(), json!(digest)));
            settings[name] = Value::Object(files.collect());
        }
    }
    settings
}

fn put_rubric(
    object: &mut Value,
    rubric: &RubricSpec,
    judge: Option<&Judge>,
    relative: Relative<'_>,
) {
    object["model"] = Value::from(rubric.judges[0].model.as_str());
    object["prompt"] = Value::from(rubric.whole_prompt());
    let judges = judge.map(|judge| judge.seats.iter().map(|seat| of_judge(&seat.settings())));
    object["judges"] = judges.map_or(Value::Null, Iterator::collect);
    if let Some(embedding) = &rubric.embedding {
        object["value"] = json!(embedding.value);
    }
    if let Some(yes_no) = rubric.yes_no() {
        object["yes_no"] = json!(yes_no);
    }
    object["scale"] = json!(rubric.scale.map(|scale| [scale.min, scale.max]));
    object["votes"] = Value::from(rubric.votes);
    object["combine"] = json!(rubric.combine);
    object["confirm_fails"] = Value::from(rubric.confirm_fails);
    if !rubric.fence {
        object["fence"] = Value::from(false);
    }
    if !rubric.unfenced.is_empty() {
        object["unfenced"] = json!(rubric.unfenced);
    }
    object["compare_to"] = match &rubric.compare_to {
        None => Value::Null,
        Some(CompareTo::Field(path)) => json!({"field": path}),
        Some(CompareTo::Run(path)) => json!({"run": relative(path)}),
    };
}

/// The settings of one judge: ingredient → its text or number, or the digest of a text that is long.
pub(crate) fn of_judge(ingredients: &[Ingredient]) -> Value {
    let member = |part: &Ingredient| (part.name.clone(), value_of(part));
    Value::Object(ingredients.iter().map(member).collect::<Map<_, _>>())
}

fn value_of(part: &Ingredient) -> Value {
    match (&part.preview, &part.digest) {
        (None, _) => Value::Null,
        (Some(_), Some(digest)) => json!({"blake3": digest}),
        // The text of a number is one in JSON too.
        (Some(text), None) if part.number => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        (Some(text), None) => Value::from(text.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use evalrs_eval::evaluate::scope::GraderScope;
    use evalrs_eval::evaluate::{Method, ReadyGrader};
    use evalrs_eval::judge::Judge;
    use evalrs_model::spec::ToolSpec;
    use evalrs_model::spec::{
        Combine, CompareTo, ExtractorSpec, GraderKind, GraderSpec, HeaderSpec, HeaderValue,
        JudgeSpec, ReplyLimit, RubricSpec,
    };

    fn grader(kind: GraderKind) -> GraderSpec {
        GraderSpec {
            name: "quality".to_owned(),
            display_name: None,
            extractor: ExtractorSpec {
                name: "last_assistant".to_owned(),
                config: "{}".to_owned(),
                include_subagents: false,
                program: None,
            },
            pass_threshold: 1.0,
            ground_truth_pattern: None,
            ground_truth: None,
            negated: false,
            only: None,
            kind,
        }
    }

    fn ready(method: Method) -> ReadyGrader {
        ReadyGrader {
            method,
            reference: None,
            ground_truth: None,
            negated: false,
            scope: GraderScope::default(),
            include_subagents: false,
        }
    }

    fn shown(rubric: RubricSpec) -> String {
        let judge =
            Judge::new(rubric.clone(), &|_| Some("https://me:pass@judge.example/v1".into()));
        let grader = grader(GraderKind::Rubric(Box::new(rubric)));
        let ready = ready(Method::Judge(Box::new(judge.clone())));
        let settings = super::of_grader(&grader, &ready, &|path| format!("relative {path}"));
        settings.to_string()
    }

    #[test]
    fn a_judge_is_recorded_as_its_keys_know_it() {
        let secret = HeaderValue::Variable("TOKEN".to_owned());
        let open = HeaderValue::Text("on".to_owned());
        let header = |name: &str, value| HeaderSpec { name: name.to_owned(), value };
        let judge = JudgeSpec {
            model: "judge-1".to_owned(),
            seed: Some(7),
            max_tokens: ReplyLimit::Tokens(64),
            headers: vec![header("x-key", secret), header("X-Beta", open)],
            ..JudgeSpec::default()
        };
        let mut rubric = RubricSpec::new("Is {submission} kind?", judge);
        rubric.votes = 3;
        rubric.combine = Combine::Mean;
        rubric.compare_to = Some(CompareTo::Run("/abs/runs/1".to_owned()));
        let text = shown(rubric);
        insta::assert_snapshot!(text, @r#"{"name":"quality","extractor":"last_assistant","pass_threshold":1.0,"model":"judge-1","prompt":"Is {submission} kind?","judges":[{"provider":"openai","endpoint":"https://judge.example/v1","model":"judge-1","temperature":0,"seed":"7","max_tokens":64,"top_p":null,"extra_body":"","headers":"x-beta: on","response_format":"auto","response_schema":"{\"type\":\"object\",\"properties\":{\"rationale\":{\"type\":\"string\"},\"winner\":{\"type\":\"string\",\"enum\":[\"A\",\"B\",\"tie\"]}},\"required\":[\"rationale\",\"winner\"],\"additionalProperties\":false}"}],"scale":null,"votes":3,"combine":"mean","confirm_fails":0,"compare_to":{"run":"relative /abs/runs/1"}}"#);
    }

    #[test]
    fn a_function_is_recorded_with_its_options() {
        let config = serde_json::from_str(r#"{"tolerance": 0.5}"#).unwrap();
        let tool = ToolSpec { function: "numeric".to_owned(), config };
        let mut grader = grader(GraderKind::Tool(tool));
        grader.extractor.config = r#"{"path":"a"}"#.to_owned();
        grader.extractor.include_subagents = true;
        grader.ground_truth_pattern = Some("(.*)".to_owned());
        let ready = ready(Method::Unread);
        let text = super::of_grader(&grader, &ready, &str::to_owned).to_string();
        insta::assert_snapshot!(text, @r#"{"name":"quality","extractor":"last_assistant","pass_threshold":1.0,"extractor_config":{"path":"a"},"include_subagents":true,"ground_truth_pattern":"(.*)","function":"numeric","config":{"tolerance":0.5}}"#);
    }
}
