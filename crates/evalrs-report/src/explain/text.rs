//! An explanation for a terminal. Texts of samples and judges are made harmless and shortened; `--json` has all of them.

use std::io::{self, Write};

use serde_json::Value;

use super::sent::asked_how;
use crate::digest::label;
use crate::terminal_page::{DOUBTFUL, FAINT, TITLE, faint};
use evalrs_base::price::Cost;
use evalrs_base::text::table::{TableCell, lines, words as text_cell};
use evalrs_base::text::word_diff::{render, word_diff};
use evalrs_base::text::{cut, cut_middle, grouped, sanitize, score, wrapped};
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_metrics::explain::conversation::ExplainedConversation;
use evalrs_metrics::explain::{
    Against, ExplainReport, ExplainedAction, ExplainedGrade, ExplainedOutcome, SHORT,
};
use evalrs_model::key::Ingredient;

/// The columns of a label.
const LABEL: usize = 12;

/// The lines a text may take.
const LINES: usize = 4;

/// The digits of a digest that are shown.
const DIGITS: usize = 12;

/// The words shown on either side of a change.
const CONTEXT: usize = 6;

/// Writes the explanation for a terminal of `width` columns.
pub fn write(explanation: &ExplainReport, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let several_trials = explanation.results.iter().any(|result| result.trial > 0);
    for (at, result) in explanation.results.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let trial = several_trials.then_some(result.trial);
        let name = label(&explanation.sample_id, result.model.as_deref(), trial);
        let suite = sanitize(&explanation.suite);
        let title = cut_middle(&name, width.saturating_sub(suite.len() + 2).max(20));
        writeln!(out, "{TITLE}{title}{TITLE:#}  {}", faint(&cut(&suite, width / 2)))?;
        let mut page = FieldPage { width, indent: 0, lines: Vec::new() };
        page.field("input", &plain(&result.input));
        if !result.ground_truth.is_null() {
            page.field("expected", &plain(&result.ground_truth));
        }
        page.fields(result.conversation.iter().flat_map(fields));
        for (grader, grade) in &result.graders.0 {
            page.indent = 0;
            page.line("");
            add_grade(grader, grade, &mut page);
        }
        page.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

/// What is told of a conversation: a label and a text each.
fn fields(conversation: &ExplainedConversation) -> Vec<(&'static str, String)> {
    let mut fields = vec![("target", told(conversation)), ("key", conversation.key.clone())];
    let against =
        match (&conversation.earlier, conversation.is_same, conversation.differs.as_slice()) {
            (None, _, _) => None,
            (Some(run), true, _) => Some(format!("the same as in run {run}")),
            (Some(run), false, []) => Some(format!("another than in run {run}")),
            (Some(run), false, names) => {
                Some(format!("differs from run {run} in {}", names.join(", ")))
            }
        };
    fields.extend(against.map(|text| ("", text)));
    fields
}

fn told(conversation: &ExplainedConversation) -> String {
    let Some(kept) = &conversation.outcome else { return "not held yet".to_owned() };
    if let Some(failure) = &kept.failure {
        return format!("failed: {}", cut(&failure.message, 4 * SHORT));
    }
    let answer = kept.reply.as_deref().map(TargetAnswer::read);
    let took = answer
        .and_then(Result::ok)
        .map(|answer| format!(", which took {:.1} s", answer.duration_ms as f64 / 1000.0));
    let again = match kept.origin.generation {
        0 => String::new(),
        times => format!(", held anew {times} times"),
    };
    format!(
        "held {}{}{again}, from {}",
        kept.origin.at,
        took.unwrap_or_default(),
        kept.origin.layer
    )
}

/// A value as a person would write it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Lines of labels and texts, and how far the next ones stand in.
struct FieldPage {
    width: usize,
    indent: usize,
    lines: Vec<String>,
}

impl FieldPage {
    fn line(&mut self, text: &str) {
        self.lines.push(format!("{:indent$}{text}", "", indent = self.indent));
    }

    fn fields<'f>(&mut self, fields: impl IntoIterator<Item = (&'f str, String)>) {
        fields.into_iter().for_each(|(label, text)| self.field(label, &text));
    }

    /// A label and a text that may take some lines.
    fn field(&mut self, label: &str, text: &str) {
        let room = self.width.saturating_sub(self.indent + LABEL).max(8);
        let mut lines = wrapped(&cut(text, room * LINES), room);
        if lines.is_empty() {
            lines.push("(empty)".to_owned());
        }
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.line(&format!("{FAINT}{label:<LABEL$}{FAINT:#}{line}"));
        }
    }
}

fn add_grade(name: &str, grade: &ExplainedGrade, page: &mut FieldPage) {
    let name = cut_middle(name, page.width / 2);
    let verdict = match &grade.grade {
        None if grade.pending.is_some() => {
            format!("{DOUBTFUL}pending{DOUBTFUL:#}: {}", grade.pending.unwrap_or_default())
        }
        None => format!("{DOUBTFUL}not judged yet{DOUBTFUL:#}"),
        Some(line) if line.error.is_some() => format!("{DOUBTFUL}error{DOUBTFUL:#}"),
        Some(line) => {
            let pass = if line.pass { "passed" } else { "not passed" };
            format!("{}, {pass}", score(line.score))
        }
    };
    page.line(&format!("{TITLE}{name}{TITLE:#}: {verdict}"));
    page.indent = 2;
    if let Some(line) = &grade.grade {
        page.field("rationale", &line.rationale);
    }
    page.field("submission", &grade.submission);
    page.fields(grade.label.as_ref().map(|label| ("label", label.shown())));
    if let Some(function) = grade.settings.get("function") {
        let options = grade.settings.get("config").map_or_else(String::new, Value::to_string);
        page.field("function", &format!("{} {options}", plain(function)));
        page.field("looked at", &grade.looked_at.join(", "));
    }
    if let Some(program) = grade.settings.get("program") {
        for (label, files) in [("inputs", "inputs"), ("loads", "dependencies")] {
            let files = program.get(files).and_then(Value::as_object);
            let names: Vec<&str> =
                files.into_iter().flat_map(|files| files.keys().map(String::as_str)).collect();
            if !names.is_empty() {
                page.field(label, &names.join(", "));
            }
        }
    }
    if grade.actions.is_empty() && grade.grade.is_some() {
        page.field("key", "none: no judge is asked");
    }
    for action in &grade.actions {
        add_action(action, page);
    }
    match &grade.against {
        None => page.line(&faint("there is no record of an earlier run")),
        Some(against) => add_against(against, page),
    }
}

fn add_action(action: &ExplainedAction, page: &mut FieldPage) {
    let asked = asked_how(action.turn, action.reversed);
    let model = cut_middle(&action.model, page.width / 2);
    let which = format!("of {model}, vote {}{asked}", action.vote);
    let which = cut(&which, page.width.saturating_sub(page.indent + "judgment ".len()));
    page.line(&format!("{TITLE}judgment{TITLE:#} {which}"));
    page.indent = 4;
    page.field("key", &action.key);
    match &action.outcome {
        Some(kept) => add_kept(kept, page),
        None => page.field("outcome", "not stored"),
    }
    page.fields(action.to_ask.map(|reason| ("to ask", reason.to_owned())));
    if let Some(endpoint) = &action.stored_for {
        let cure = format!(
            "the endpoint `{endpoint}`: it is found with `endpoint: {endpoint}` in the suite"
        );
        page.field("stored for", &cure);
    }
    let rows: Vec<Vec<TableCell>> = action.ingredients.iter().map(row).collect();
    for line in lines(&rows, page.width.saturating_sub(page.indent)) {
        page.line(&line);
    }
    page.indent = 2;
}

fn row(part: &Ingredient) -> Vec<TableCell> {
    let digest = part.digest.as_deref().unwrap_or_default();
    let text = match (&part.preview, &part.digest) {
        (None, _) => "(absent)".to_owned(),
        (Some(text), None) if text.is_empty() => "(empty)".to_owned(),
        (Some(text), None) => text.clone(),
        (Some(text), Some(_)) => format!("{text}…"),
    };
    let digest: String = digest.chars().take(DIGITS).collect();
    vec![text_cell(&part.name).styled(FAINT), text_cell(&digest).styled(FAINT), text_cell(&text)]
}

fn add_kept(kept: &ExplainedOutcome, page: &mut FieldPage) {
    match (&kept.reply, &kept.failure) {
        (Some(reply), _) => page.field("reply", reply),
        (None, Some(failure)) => {
            page.field("failure", &format!("{}: {}", failure.kind.name(), failure.message));
            page.fields(failure.reply.iter().map(|reply| ("replied", reply.clone())));
        }
        (None, None) => {}
    }
    let mut by = Vec::new();
    by.extend(kept.model.as_ref().map(|model| format!("{model} says it answered")));
    let used = |name: &str| kept.usage.get(name).and_then(Value::as_u64).map(grouped);
    if let (Some(input), Some(output)) = (used("input"), used("output")) {
        by.push(format!("{input} tokens in, {output} out"));
    }
    by.extend(kept.cost.map(|cost| cost.to_string()));
    let paid = kept.usage.get("cost").and_then(Value::as_f64).and_then(Cost::from_dollars);
    let paid = paid.filter(|paid| Some(*paid) != kept.cost);
    by.extend(paid.map(|paid| format!("{paid} paid")));
    if !by.is_empty() {
        let what = if kept.model.is_some() { "by" } else { "used" };
        page.field(what, &by.join("; "));
    }
    let (what, from) = match &kept.origin.imported_from {
        None => ("asked", String::new()),
        Some(file) => ("imported", format!(" from {file}")),
    };
    page.field(what, &format!("{} by {}{from}", kept.origin.at, kept.origin.by));
    let generation = match kept.origin.generation {
        0 => String::new(),
        n => format!(", generation {n}"),
    };
    page.field("kept in", &format!("{}{generation}", kept.origin.layer));
}

fn add_against(against: &Against, page: &mut FieldPage) {
    let run = sanitize(&against.run);
    if against.is_same {
        let what = if against.key.is_some() { "the same key as" } else { "the same texts as" };
        return page.line(&format!("{TITLE}{what}{TITLE:#} in run {run}"));
    }
    page.line(&format!("{TITLE}differs{TITLE:#} from run {run}"));
    page.indent = 4;
    page.fields(against.key.iter().map(|key| ("key then", key.clone())));
    let by = if against.by_ingredients { "ingredients" } else { "by record" };
    let differs: Vec<String> = against.differs.iter().map(|name| changed(name, against)).collect();
    page.field(by, &differs.join(", "));
    for change in &against.texts {
        page.line(&faint(change.name));
        page.indent = 6;
        let pieces = word_diff(&change.before, &change.after);
        for line in render(&pieces, page.width.saturating_sub(page.indent), CONTEXT) {
            page.line(&line);
        }
        page.indent = 4;
    }
    page.indent = 2;
}

/// The name of what differs, with both values where they are short.
fn changed(name: &str, against: &Against) -> String {
    match against.values.iter().find(|change| change.name == name) {
        Some(change) => format!("{name} {} → {}", change.before, change.after),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::{Map, json};

    use super::write;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_base::price::Cost;
    use evalrs_base::text::columns;
    use evalrs_metrics::explain::sent::SentOrigin;
    use evalrs_metrics::explain::{
        Against, ExplainReport, ExplainedAction, ExplainedGrade, ExplainedOutcome, ExplainedResult,
        TextChange, ValueChange,
    };
    use evalrs_metrics::results::GradeLine;
    use evalrs_model::key::Ingredient;
    use evalrs_model::outcome::{Failure, FailureKind};

    const EVIL: &str = "evil\u{1b}[2J\u{202e}\r\n";

    fn kept() -> ExplainedOutcome {
        ExplainedOutcome {
            reply: Some(format!("{EVIL} reply")),
            failure: None,
            model: Some("m-1".to_owned()),
            usage: json!({"input": 1234, "output": 56, "cost": 0.0012}),
            cost: Cost::from_dollars(0.0012),
            origin: SentOrigin {
                at: "2026-01-01T00:00:00Z".to_owned(),
                by: "evalrs 0.1.0".to_owned(),
                imported_from: Some("human.jsonl".to_owned()),
                layer: "the committed file cache/s.judgments.jsonl".to_owned(),
                generation: 2,
            },
        }
    }

    fn action(outcome: Option<ExplainedOutcome>) -> ExplainedAction {
        let part = |name: &str, preview: Option<&str>, digest: Option<&str>| Ingredient {
            name: name.to_owned(),
            preview: preview.map(str::to_owned),
            digest: digest.map(str::to_owned),
            number: false,
        };
        ExplainedAction {
            turn: Some(1),
            model: "m".to_owned(),
            vote: 0,
            reversed: Some(true),
            key: "0123456789abcdef".repeat(4),
            ingredients: vec![
                part("user", Some(EVIL), Some("fedcba9876543210")),
                part("seed", None, None),
                part("headers", Some(""), None),
            ],
            texts: Map::new(),
            to_ask: outcome.is_none().then_some("rubric edited"),
            stored_for: None,
            outcome,
        }
    }

    fn explanation() -> ExplainReport {
        let failure = Failure::new(FailureKind::Refused, format!("no {EVIL}"));
        let mut failed = ExplainedOutcome { reply: None, failure: Some(failure), ..kept() };
        failed.origin.generation = 0;
        let line = GradeLine {
            score: 0.5,
            pass: false,
            rationale: format!("{EVIL} because {}", "of many words ".repeat(40)),
            error: None,
            key: None,
            metadata: Map::new(),
            per_turn: None,
        };
        let change = TextChange {
            name: "rubric",
            before: format!("Is it short? {EVIL}"),
            after: format!("Is it kind? {EVIL}"),
        };
        let grade = ExplainedGrade {
            pending: None,
            settings: Map::new(),
            looked_at: vec!["submission"],
            submission: String::new(),
            label: None,
            grade: Some(line),
            actions: vec![action(Some(kept())), action(Some(failed)), action(None)],
            against: Some(Against {
                run: "RUN".to_owned(),
                key: None,
                is_same: false,
                by_ingredients: false,
                differs: vec!["rubric".to_owned(), "temperature".to_owned()],
                values: vec![ValueChange {
                    name: "temperature".to_owned(),
                    before: "0".to_owned(),
                    after: EVIL.to_owned(),
                }],
                texts: vec![change],
            }),
        };
        let result = ExplainedResult {
            model: Some(EVIL.to_owned()),
            trial: 1,
            input: json!(["a", EVIL]),
            ground_truth: json!(null),
            conversation: None,
            graders: OrderedMap(vec![(EVIL.to_owned(), grade)]),
        };
        ExplainReport {
            format: 1,
            suite: "support".to_owned(),
            sample_id: EVIL.to_owned(),
            results: vec![result],
        }
    }

    fn shown(width: usize) -> String {
        let mut out = Vec::new();
        write(&explanation(), width, &mut out).unwrap();
        let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
        assert!(
            !text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
            "{text:?}"
        );
        text
    }

    #[test]
    fn hostile_texts_are_harmless() {
        insta::assert_snapshot!(shown(90), @r#"
    evil  [evil ] [trial 1]  support
    input       ["a","evil\u001b[2J\r\n"]

    evil : 0.500, not passed
      rationale   evil because of many words of many words of many words of many words of many
                  words of many words of many words of many words of many words of many words
                  of many words of many words of many words of many words of many words of
                  many words of many words of many words of many words of many words of many
                  w…
      submission  (empty)
      judgment of m, vote 0, turn 1, the other way round
        key         0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        reply       evil reply
        by          m-1 says it answered; 1,234 tokens in, 56 out; $0.0012
        imported    2026-01-01T00:00:00Z by evalrs 0.1.0 from human.jsonl
        kept in     the committed file cache/s.judgments.jsonl, generation 2
        user     fedcba987654  evil …
        seed                   (absent)
        headers                (empty)
      judgment of m, vote 0, turn 1, the other way round
        key         0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        failure     refused: no evil
        by          m-1 says it answered; 1,234 tokens in, 56 out; $0.0012
        imported    2026-01-01T00:00:00Z by evalrs 0.1.0 from human.jsonl
        kept in     the committed file cache/s.judgments.jsonl
        user     fedcba987654  evil …
        seed                   (absent)
        headers                (empty)
      judgment of m, vote 0, turn 1, the other way round
        key         0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        outcome     not stored
        to ask      rubric edited
        user     fedcba987654  evil …
        seed                   (absent)
        headers                (empty)
      differs from run RUN
        by record   rubric, temperature 0 → evil
        rubric
          Is it [-short-]{+kind+}? evil
    "#);
    }

    #[test]
    fn everything_fits_however_narrow() {
        insta::assert_snapshot!(shown(40), @r#"
        evil  [evil ] [trial 1]  support
        input       ["a","evil\u001b[2J\r\n"]

        evil : 0.500, not passed
          rationale   evil because of many words
                      of many words of many
                      words of many words of
                      many words of many words
                      of ma…
          submission  (empty)
          judgment of m, vote 0, turn 1, the ot…
            key         0123456789abcdef0123456…
            reply       evil reply
            by          m-1 says it answered;
                        1,234 tokens in, 56 out;
                        $0.0012
            imported    2026-01-01T00:00:00Z by
                        evalrs 0.1.0 from
                        human.jsonl
            kept in     the committed file
                        cache/s.judgments.jsonl,
                        generation 2
            user     fedcba987654  evil …
            seed                   (absent)
            headers                (empty)
          judgment of m, vote 0, turn 1, the ot…
            key         0123456789abcdef0123456…
            failure     refused: no evil
            by          m-1 says it answered;
                        1,234 tokens in, 56 out;
                        $0.0012
            imported    2026-01-01T00:00:00Z by
                        evalrs 0.1.0 from
                        human.jsonl
            kept in     the committed file
                        cache/s.judgments.jsonl
            user     fedcba987654  evil …
            seed                   (absent)
            headers                (empty)
          judgment of m, vote 0, turn 1, the ot…
            key         0123456789abcdef0123456…
            outcome     not stored
            to ask      rubric edited
            user     fedcba987654  evil …
            seed                   (absent)
            headers                (empty)
          differs from run RUN
            by record   rubric, temperature 0 →
                        evil
            rubric
              Is it [-short-]{+kind+}? evil
        "#);
    }
}
