//! The grades of a sample and where they come from. Long texts are cut; `--json` has all of them.

use serde_json::Value;

use super::fields::{FieldTable, called_how, heading};
use crate::page::{
    Block, Column, Page, Table, Text, bad, changed, command, doubtful, faint, good, quoted, strong,
    text,
};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_base::text::{count, cut, grouped, score};
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_metrics::explain::conversation::ExplainedConversation;
use evalrs_metrics::explain::{
    Against, ExplainReport, ExplainedAction, ExplainedGrade, ExplainedOutcome,
};
use evalrs_metrics::results::GradeLine;
use evalrs_model::key::Ingredient;

/// The columns that a text may take in all its lines.
const TEXT: usize = 320;

/// The columns that the value of an ingredient may take.
const VALUE: usize = 64;

/// The digits of a digest that are shown.
const DIGITS: usize = 12;

/// The results of the sample, each with its grades.
pub fn page(explanation: &ExplainReport) -> Page {
    let several_trials = explanation.results.iter().any(|result| result.trial > 0);
    let mut page = Page::default();
    for result in &explanation.results {
        let trial = several_trials.then_some(result.trial);
        let model = result.model.as_deref();
        let name = heading(&explanation.sample_id, model, trial, &explanation.suite);
        page.add(Block::Heading(text![name, ": ", grades_in_short(&result.graders)]));
        let mut fields = FieldTable::new();
        fields.add("input", shortened(&plain(&result.input)));
        if !result.ground_truth.is_null() {
            fields.add("expected", shortened(&plain(&result.ground_truth)));
        }
        result.conversation.iter().for_each(|found| add_conversation(found, &mut fields));
        page.join(Block::Table(fields.0));
        for (grader, grade) in &result.graders.0 {
            add_grade(grader, grade, &mut page);
        }
    }
    page
}

/// `2 passed, 1 failed`.
fn grades_in_short(graders: &OrderedMap<ExplainedGrade>) -> Text {
    let graded = |is_counted: fn(&GradeLine) -> bool| {
        let lines = graders.0.iter().filter_map(|(_, grade)| grade.grade.as_ref());
        lines.filter(|line| is_counted(line)).count()
    };
    let passed = graded(|line| line.error.is_none() && line.pass);
    let failed = graded(|line| line.error.is_none() && !line.pass);
    let errors = graded(|line| line.error.is_some());
    let open = graders.0.len() - passed - failed - errors;
    let counts = [
        (passed, good(&format!("{passed} passed"))),
        (failed, bad(&format!("{failed} failed"))),
        (errors, doubtful(&count(errors, "error"))),
        (open, doubtful(&format!("{open} not judged yet"))),
    ];
    let counts = counts.into_iter().filter(|(n, _)| *n > 0).map(|(_, words)| words);
    Text::joined(counts, ", ")
}

fn add_conversation(conversation: &ExplainedConversation, fields: &mut FieldTable) {
    fields.add("target", conversation_state(conversation));
    fields.add("key", quoted(&conversation.key));
    let Some(run) = &conversation.earlier else { return };
    fields.add(
        "compared",
        match conversation.differs.as_slice() {
            _ if conversation.is_same => text!["the same as in run ", quoted(run)],
            [] => text!["another conversation than in run ", quoted(run)],
            names => text!["differs from run ", quoted(run), " in ", quoted(&names.join(", "))],
        },
    );
}

fn conversation_state(conversation: &ExplainedConversation) -> Text {
    let Some(kept) = &conversation.outcome else { return "not run yet".into() };
    if let Some(failure) = &kept.failure {
        return text![doubtful("failed"), ": ", shortened(&failure.message)];
    }
    let answer = kept.reply.as_deref().map(TargetAnswer::read).and_then(Result::ok);
    let took = answer.map(|answer| format!(" in {:.1} s", answer.duration_ms as f64 / 1000.0));
    let again = match kept.origin.generation {
        0 => String::new(),
        times => format!(", run again {times} times"),
    };
    let run = format!("run {}{}{again}", kept.origin.at, took.unwrap_or_default());
    text![run, ", cached in ", quoted(&kept.origin.layer)]
}

/// A value as a person would write it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shortened(text: &str) -> Text {
    quoted(&cut(text, TEXT))
}

fn add_grade(name: &str, grade: &ExplainedGrade, page: &mut Page) {
    page.add(Block::Heading(text![quoted(name), ": ", verdict(grade)]));
    let mut fields = FieldTable::new();
    fields.extend(grade.grade.as_ref().map(|line| ("rationale", shortened(&line.rationale))));
    fields.extend(grade.label.as_ref().map(|label| ("label", quoted(&label.shown()))));
    fields.add("submission", shortened(&grade.submission));
    if let Some(function) = grade.settings.get("function") {
        let options = grade.settings.get("config").map_or_else(String::new, Value::to_string);
        fields.add("function", shortened(format!("{} {options}", plain(function)).trim_end()));
        fields.add("looked at", grade.looked_at.join(", "));
    }
    let program = grade.settings.get("program");
    for (name, member) in [("inputs", "inputs"), ("loads", "dependencies")] {
        let files = program.and_then(|program| program.get(member)?.as_object());
        let files: Vec<&str> =
            files.into_iter().flat_map(|files| files.keys().map(String::as_str)).collect();
        fields.extend((!files.is_empty()).then(|| (name, shortened(&files.join(", ")))));
    }
    if grade.actions.is_empty() && grade.grade.is_some() {
        fields.add("key", "none: no judge is called");
    }
    match &grade.against {
        None => fields.add("compared", "no earlier run is recorded"),
        Some(against) => {
            fields.add("compared", compared(against));
            let key = against.key.as_ref().filter(|_| !against.is_same);
            fields.extend(key.map(|key| ("key then", quoted(key))));
        }
    }
    page.join(Block::Table(fields.0));
    let texts = grade.against.iter().filter(|against| !against.is_same);
    for change in texts.flat_map(|against| &against.texts) {
        let pieces = changed(&change.before, &change.after);
        let change = [(0, text![faint(change.name), ":"]), (1, pieces)];
        page.join(Block::Lines(change.to_vec()));
    }
    grade.actions.iter().for_each(|action| add_action(action, page));
}

fn verdict(grade: &ExplainedGrade) -> Text {
    match (&grade.grade, grade.pending) {
        (None, Some(pending)) => text![doubtful("pending"), ": ", pending],
        (None, None) => doubtful("not judged yet"),
        (Some(GradeLine { error: Some(_), .. }), _) => doubtful("error"),
        (Some(line), _) => {
            let verdict = if line.pass { good("passed") } else { bad("failed") };
            text![score(line.score), ", ", verdict]
        }
    }
}

fn add_action(action: &ExplainedAction, page: &mut Page) {
    let how = called_how(action.turn, action.reversed);
    let vote = format!(", vote {}{how}", action.vote);
    page.add(Block::Paragraph(text![strong("judgment"), " of ", quoted(&action.model), vote]));
    let mut fields = FieldTable::new();
    fields.add("key", quoted(&action.key));
    match &action.outcome {
        Some(kept) => add_kept(kept, &mut fields),
        None => fields.add("outcome", "not cached"),
    }
    fields.extend(action.to_ask.map(|reason| ("to call", reason.into())));
    if let Some(endpoint) = &action.stored_for {
        let cure = command(&format!("endpoint: {endpoint}"));
        let cure = text!["the endpoint ", command(endpoint), "; ", cure, " in the suite finds it"];
        fields.add("cached for", cure);
    }
    page.join(Block::Table(fields.0));
    page.add(Block::Table(ingredients(&action.ingredients)));
}

/// What a key is made of: a row for each part that has a value.
fn ingredients(parts: &[Ingredient]) -> Table {
    let mut table = Table::new([
        Column::names(faint("ingredient")),
        Column::names(faint("digest")),
        Column::words(faint("value")).of_lines(1),
    ]);
    let [mut absent, mut empty] = [const { Vec::new() }; 2];
    for part in parts {
        let digest: String =
            part.digest.iter().flat_map(|text| text.chars()).take(DIGITS).collect();
        let value = match (&part.preview, &part.digest) {
            (None, _) => {
                absent.push(part.name.as_str());
                continue;
            }
            (Some(text), None) if text.is_empty() => {
                empty.push(part.name.as_str());
                continue;
            }
            (Some(text), None) => quoted(&cut(text, VALUE)),
            (Some(text), Some(_)) => quoted(&cut(&format!("{text}…"), VALUE)),
        };
        table.row([quoted(&part.name), faint(&digest), value]);
    }
    for (names, what) in [(absent, "absent"), (empty, "empty")] {
        let note = text![faint(&format!("{what}: ")), quoted(&names.join(", "))];
        table.extend_notes((!names.is_empty()).then_some(note));
    }
    table.without_empty_columns()
}

fn add_kept(kept: &ExplainedOutcome, fields: &mut FieldTable) {
    match (&kept.reply, &kept.failure) {
        (Some(reply), _) => fields.add("reply", shortened(reply)),
        (None, Some(failure)) => {
            let message = shortened(&failure.message);
            fields.add("failure", text![doubtful(failure.kind.name()), ": ", message]);
            fields.extend(failure.reply.iter().map(|reply| ("replied", shortened(reply))));
        }
        (None, None) => {}
    }
    fields.extend(
        kept.model.as_ref().map(|model| ("by", text![quoted(model), ", by its own report"])),
    );
    let used = |name: &str| kept.usage.get(name).and_then(Value::as_u64).map(grouped);
    let tokens = used("input").zip(used("output"));
    let tokens = tokens.map(|(input, output)| format!("{input} tokens in, {output} out"));
    let paid = kept.usage.get("cost").and_then(Value::as_f64).and_then(Cost::from_dollars);
    let paid = paid.filter(|paid| Some(*paid) != kept.cost).map(|paid| format!("{paid} paid"));
    let cost = kept.cost.map(|cost| cost.to_string());
    let used: Vec<String> = tokens.into_iter().chain(cost).chain(paid).collect();
    fields.extend((!used.is_empty()).then(|| ("used", used.join("; ").into())));
    let by = text![kept.origin.at.as_str(), " by ", quoted(&kept.origin.by)];
    match &kept.origin.imported_from {
        None => fields.add("called", by),
        Some(file) => fields.add("imported", text![by, " from ", quoted(file)]),
    }
    let generation = match kept.origin.generation {
        0 => String::new(),
        n => format!(", generation {n}"),
    };
    fields.add("cached in", text![quoted(&kept.origin.layer), generation]);
}

/// What differs from an earlier run, with both values where they are short.
fn compared(against: &Against) -> Text {
    let run = quoted(&against.run);
    if against.is_same {
        let same = if against.key.is_some() { "key" } else { "texts" };
        return text![format!("the same {same} as in run "), run];
    }
    let differs = against.differs.iter().map(|name| {
        let change = against.values.iter().find(|change| change.name == *name);
        let values =
            change.map(|change| text![" ", quoted(&change.before), " → ", quoted(&change.after)]);
        text![quoted(name), values.unwrap_or_default()]
    });
    let by = if against.by_ingredients { "" } else { ", by their records" };
    text!["differs from run ", run, " in ", Text::joined(differs, ", "), by]
}

#[cfg(test)]
mod tests;
