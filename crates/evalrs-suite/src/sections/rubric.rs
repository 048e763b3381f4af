//! The fields only rubric graders have: the prompt, and how the answers become one score.
//!
//! A rubric file is read here because its text is part of the suite. The judges are read by [`super::judges`].

use serde_json::{Value, json};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Choice, ListOf, Mapping, Text, Texts, Truth, Whole};
use crate::section::{Section, fields, section};
use crate::sections::allow::{ALLOW, allowed};
use crate::sections::ballots::{COMBINE, SCALE, VOTE_COUNT, VOTES, Votes, scale, votes};
use crate::sections::command_judges::COMMAND_JUDGE;
use crate::sections::grader_fields::SUBMISSION;
use crate::sections::judges::{PANELLIST, judges};
use crate::sections::model::JUDGE;
use crate::sections::rubric_file::RubricText;
use crate::sections::{command_judges, model, rubric_file};
use crate::written::{extend, without_empty};
use evalrs_base::yaml::tree::Yaml;
use evalrs_eval::judge::template::{PAIR_NAMES, names, open_names};
use evalrs_model::spec::{CompareTo, JudgeSpec, Lint, RubricSpec};

/// A grader with judges.
pub(crate) static RUBRIC: Section = Section::new(
    "a rubric grader",
    &[
        fields![
            "kind": Choice(&["rubric", "model_judge", "letta_judge"]), required => "a judge grades by a rubric";
            "prompt": Text => "the rubric; a grader has `prompt` or `prompt_path`";
            "prompt_path": Text => "a file with the rubric; its front matter may set some options";
        ],
        SUBMISSION,
        fields![
            "panel": ListOf(&Mapping(&PANELLIST)) => "several judges, up to 100: each entry has the grader's options but for its own";
        ],
        JUDGE,
        COMMAND_JUDGE,
        fields![
            "compare_to": AnyOf(&[Text, Mapping(&COMPARE_TO)]) => "what the submission is compared with: a field of the row, or a recorded run; if absent, the submission is scored alone";
            "rubric_vars": Texts => "variables that every row must have";
            "combine": COMBINE, or "\"median\"" => "how votes become one score; `majority` is the most frequent score";
            "votes": AnyOf(&[VOTE_COUNT, Mapping(&VOTES)]), or "1" => "independent judgments by each judge: N, or `{n, combine}`";
            "confirm_fails": Whole(0, 100, "between 0 and 100"), or "0" => "more votes by each judge on submissions below the pass threshold";
            "scale": Mapping(&SCALE) => "the range that the judge scores in, mapped to 0 to 1; 0 to 1 if absent";
            "fence": Truth, or "true" => "whether texts in the rubric get tags around them";
            "unfenced": Texts => "placeholders whose texts get no tags: `input`, `submission`, `ground_truth`, `row` (every field and variable of the row), or one name";
            "allow": ALLOW => "warnings about this rubric to switch off, by name";
            "allow_unknown": Truth, or "false" => "`true` sends unknown names in braces as they are; `false` makes them an error before the first call";
        ],
    ],
);

pub(crate) static COMPARE_TO: Section = section!["`compare_to`",
    "field": Text => "a field of the row, a dotted path";
    "run": Text => "the record of a run";
];

/// Reads what a `rubric` or `model_judge` grader has beyond other graders; `text` is its rubric.
pub(crate) fn rubric(
    text: Option<RubricText>,
    entry: Field<'_>,
    fields: &mut FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<RubricSpec> {
    check_kind(fields);
    let judges = judges(fields, text.is_some(), reader);
    let compare_to = compare_to(fields);
    // Agents give their verdicts by a tool that takes a score.
    if let Some(field) = fields.take("compare_to").filter(|_| compare_to.is_some())
        && judges.iter().any(|judge| judge.agent.is_some())
    {
        let message = "a judge that is an agent cannot compare: its tool takes a score";
        field.error_at_key(message, "remove `compare_to`, or use a model as judge");
    }
    let rubric_vars = fields.texts("rubric_vars");
    let mut allow = fields.take("allow").map(allowed).unwrap_or_default();
    if fields.truth("allow_unknown") == Some(true) {
        allow.push(Lint::UnknownPlaceholder);
    }
    let fence = fields.truth("fence").unwrap_or(true);
    let unfenced = unfenced(text.as_ref(), fields);
    let Votes { count, combine } = votes(fields);
    let confirm_fails = fields.whole("confirm_fails");
    let scale_field = fields.take("scale");
    let scale = scale_field.and_then(scale);
    if compare_to.is_some() {
        if let Some(field) = scale_field {
            let message = "a grader with `compare_to` has no `scale`";
            field.error_at_key(message, "a win is 1, a tie 0.5, a loss 0");
        }
        if let Some(text) = &text {
            check_comparison(text, entry);
        }
    }
    Some(RubricSpec {
        prompt: text?.text,
        judges,
        scale,
        rubric_vars: rubric_vars.unwrap_or_default(),
        votes: count,
        combine,
        confirm_fails: confirm_fails.unwrap_or(0),
        compare_to,
        fence,
        unfenced,
        allow,
        criterion: None,
        embedding: None,
    })
}

/// Reports a kind of grader that is judged by an agent alone, and names none.
fn check_kind(fields: &FieldSet<'_>) {
    let Some(kind) = fields.take("kind") else { return };
    let is_agents = kind.value.value == Yaml::Str("letta_judge".to_owned());
    if is_agents && fields.take("agent_file").is_none() && fields.take("panel").is_none() {
        let hint = "export a judge from your Letta server, and write `agent_file: judge.af`";
        kind.error("a grader of kind `letta_judge` needs an `agent_file`", hint);
    }
}

/// Reads the rubric of a grader: `prompt`, or the file of `prompt_path` with what it includes.
pub(crate) fn text(
    entry: Field<'_>,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<RubricText> {
    let not_empty =
        |field: &Field<'_>| !matches!(&field.value.value, Yaml::Str(text) if text.is_empty());
    let inline = fields.take("prompt").filter(not_empty);
    let file = fields.take("prompt_path").filter(not_empty);
    let (text, field) = match (inline, file) {
        (Some(_), Some(file)) => {
            let message = "a rubric grader has `prompt` or `prompt_path`, not both";
            return file.refuse_at_key(message, "keep one");
        }
        (Some(inline), None) => {
            let text = inline.text()?;
            let file = reader.findings.place(inline.value.span).path;
            reader.looked.rubrics.push((entry.key.clone(), file));
            (RubricText { text, parts: vec![inline.value.span], front: Vec::new() }, inline)
        }
        (None, Some(file)) => {
            let path = file.path()?;
            reader.looked.rubrics.push((entry.key.clone(), path.clone()));
            (rubric_file::read(&path, file.value.span, reader)?, file)
        }
        (None, None) => {
            return entry.refuse_at_key("a rubric grader needs `prompt` or `prompt_path`", "");
        }
    };
    if text.text.trim().is_empty() {
        return field.refuse("the rubric is empty", "");
    }
    Some(text)
}

/// Reads `compare_to: PATH` and `compare_to: {field: PATH}` or `{run: PATH}`. A plain path is a run if it ends in
/// `.jsonl` or has a slash.
fn compare_to(fields: &FieldSet<'_>) -> Option<CompareTo> {
    let field = fields.take("compare_to")?;
    if let Yaml::Map(_) = field.value.value {
        let inner = field.fields(&COMPARE_TO)?;
        let of_row = inner.take("field");
        let run = inner.take("run");
        inner.finish();
        return match (of_row, run) {
            (Some(of_row), None) => of_row.text().map(|path| in_row(&path)),
            (None, Some(run)) => run.path().map(CompareTo::Run),
            _ => {
                let message = "`compare_to` has either `field` or `run`";
                field.refuse_at_key(message, "write `compare_to: {field: PATH}` or `{run: FILE}`")
            }
        };
    }
    let text = field.text()?;
    if text.to_ascii_lowercase().ends_with(".jsonl") || text.contains('/') {
        return field.path().map(CompareTo::Run);
    }
    Some(in_row(&text))
}

/// The field at a path that may begin with `row.`, as it does in rubrics.
fn in_row(path: &str) -> CompareTo {
    CompareTo::Field(path.strip_prefix("row.").unwrap_or(path).to_owned())
}

/// A rubric that arranges two submissions itself has to show both.
fn check_comparison(text: &RubricText, entry: Field<'_>) {
    let [first, second] = PAIR_NAMES.map(|name| names(&text.text, name));
    let (name, lacks) = match (first, second) {
        (true, false) => (PAIR_NAMES[0], "but not `{submission_b}`"),
        (false, true) => (PAIR_NAMES[1], "but not `{submission_a}`"),
        (false, false) if names(&text.text, "submission") => {
            ("submission", "but neither `{submission_a}` nor `{submission_b}`")
        }
        _ => return,
    };
    let span = text.find(name, entry);
    let message = format!("this rubric compares, and names `{{{name}}}` {lacks}");
    let hint = "name both, or neither: then question and submissions follow after the rubric";
    entry.findings.error(span, &message, hint);
}

/// The placeholders whose texts stand without fences, each of which the rubric can show.
pub(crate) fn unfenced(text: Option<&RubricText>, fields: &FieldSet<'_>) -> Vec<String> {
    let Some(field) = fields.take("unfenced") else { return Vec::new() };
    let taken = field.texts().unwrap_or_default();
    let Some(text) = text else { return taken };
    let mut known = vec!["input", "submission", "ground_truth", "row"];
    known.extend(open_names(&text.text, false));
    for name in &taken {
        if !known.contains(&name.as_str()) {
            let message = format!("`unfenced` names `{name}`, and the rubric has no `{{{name}}}`");
            field.error(&message, &format!("known: `{}`", known.join("`, `")));
        }
    }
    taken
}

/// A rubric and its judges as they are written back.
pub(crate) fn written(spec: &RubricSpec, path: &str) -> Value {
    let mut rubric = json!({"prompt": spec.prompt});
    let any_judge = |spec: &JudgeSpec| match &spec.program {
        None => model::written(spec),
        Some(program) => command_judges::written(spec, program, path),
    };
    let judges = match &spec.judges[..] {
        [one] => any_judge(one),
        panel => json!({"panel": panel.iter().map(any_judge).collect::<Vec<_>>()}),
    };
    extend(&mut rubric, judges);
    extend(&mut rubric, without_empty(json!(spec)));
    // The first `row.` of a path is a prefix, so a field called `row` needs one more.
    if let Some(CompareTo::Field(path)) = &spec.compare_to
        && path.starts_with("row.")
    {
        rubric["compare_to"]["field"] = json!(format!("row.{path}"));
    }
    rubric
}
