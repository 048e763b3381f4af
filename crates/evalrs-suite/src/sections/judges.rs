//! Who judges by a rubric: one judge, or a panel of several.
//!
//! A panel's judges are read from merged fields, their own over the grader's, so that what is inherited keeps its
//! place and is checked anew for each of them.

use crate::fields::{Field, FieldSet};
use crate::findings::Findings;
use crate::reader::Reader;
use crate::section::Section;
use crate::sections::command_judges::{
    COMMAND, COMMAND_JUDGE, command_judge, inherited, refuse_without_command,
};
use crate::sections::model::{JUDGE, check_taken, judge, provider_name};
use evalrs_base::yaml::tree::{Yaml, YamlEntry, YamlNode};
use evalrs_eval::judge::Judge;
use evalrs_eval::judge::provider::AGENTS;
use evalrs_model::spec::{JudgeSpec, RubricSpec};

pub(crate) static PANELLIST: Section = Section::new("a judge of `panel`", &[JUDGE, COMMAND_JUDGE]);

/// The most judges of a panel.
const MAX_JUDGES: usize = 100;

/// Reads the judges of a rubric grader: those of its `panel`, else the one that the grader's own fields are.
/// `has_rubric` is whether its rubric was read: only then is it known what front matter says.
pub(crate) fn judges(
    fields: &mut FieldSet<'_>,
    has_rubric: bool,
    reader: &mut Reader<'_>,
) -> Vec<JudgeSpec> {
    let judges = match fields.take("panel") {
        None => return vec![any_judge(fields, reader)],
        Some(panel) => of_panel(panel, fields, has_rubric, reader),
    };
    // What every judge of the panel says itself is checked too.
    match fields.take(COMMAND) {
        Some(command) => command_judge(command, fields, reader),
        None => judge(fields, reader),
    };
    judges
}

/// A model or an agent that is called, or a command that is run.
fn any_judge(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> JudgeSpec {
    if let Some(command) = fields.take(COMMAND) {
        return command_judge(command, fields, reader);
    }
    refuse_without_command(fields);
    check_taken(fields, reader);
    judge(fields, reader)
}

fn of_panel(
    panel: Field<'_>,
    grader: &FieldSet<'_>,
    has_rubric: bool,
    reader: &mut Reader<'_>,
) -> Vec<JudgeSpec> {
    const EXAMPLE: &str = "write `panel: [{model: a}, {model: b}]`";
    let Yaml::Seq(items) = &panel.value.value else {
        return panel.wrong_type("a list of judges", EXAMPLE).unwrap_or_default();
    };
    if items.is_empty() {
        panel.error("`panel` has no judges", EXAMPLE);
    }
    if items.len() > MAX_JUDGES {
        let message = format!("a panel has at most {MAX_JUDGES} judges");
        return panel.refuse_at_key(&message, "").unwrap_or_default();
    }
    let read: Vec<Option<JudgeSpec>> =
        items.iter().map(|item| one_of_panel(item, grader, has_rubric, reader)).collect();
    let judges = read.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default();
    check_different(&judges, items, reader.findings);
    judges
}

/// Reads one judge of a panel from its fields and those it inherits.
fn one_of_panel(
    item: &YamlNode,
    grader: &FieldSet<'_>,
    has_rubric: bool,
    reader: &mut Reader<'_>,
) -> Option<JudgeSpec> {
    let Yaml::Map(own) = &item.value else {
        let message = format!("a judge of `panel` must be a mapping, not {}", item.noun());
        return reader.findings.refuse(item.span, &message, "write `{model: NAME}`");
    };
    let entries = grader.inherited(COMMAND_JUDGE, &grader.inherited(JUDGE, own));
    let entries = inherited(entries, own);
    let mut fields = FieldSet::new(&entries, &PANELLIST, reader.findings);
    let is_named = ["model", "agent_file", COMMAND].iter().any(|name| fields.take(name).is_some());
    if has_rubric && !is_named {
        reader.findings.error(item.span, "this judge of the panel has no `model`", "");
    }
    if fields.take(COMMAND).is_none() {
        check_inherited(item, grader);
    }
    let judge = any_judge(&mut fields, reader);
    fields.finish();
    Some(judge)
}

/// Warns of a key or an address that was meant for another provider: the one would be sent to the other.
fn check_inherited(item: &YamlNode, grader: &FieldSet<'_>) {
    let of_grader = |name: &str| grader.take(name).filter(|_| item.get(name).is_none());
    let own = item.entry("provider").or_else(|| item.entry("agent_file"));
    let theirs = provider_name(grader);
    let is_other = |own: &&YamlEntry| match own.key.as_str() {
        "provider" => own.value.to_json() != *theirs,
        _ => own.value.value != Yaml::Null && theirs != AGENTS,
    };
    let Some(own) = own.filter(is_other) else { return };
    let name = match (of_grader("base_url"), of_grader("api_key_env")) {
        (Some(_), None) => "base_url",
        (None, Some(_)) => "api_key_env",
        _ => return,
    };
    let message = format!("this judge of another provider inherits `{name}` of the grader");
    let hint = format!("set `{name}` for this judge too; `{name}: null` is its provider's default");
    grader.findings.warning(own.value.span, &message, &hint);
}

/// Reports judges that are one judge: their judgments would have the same keys, and one would count twice.
fn check_different(judges: &[JudgeSpec], items: &[YamlNode], findings: &Findings) {
    let panel = RubricSpec { judges: judges.to_vec(), ..RubricSpec::new("", JudgeSpec::default()) };
    let seats = Judge::new(panel, &|_| None).seats;
    for (at, (seat, item)) in seats.iter().zip(items).enumerate() {
        let Some(first) = seats[..at].iter().position(|known| known.is_same_judge(seat)) else {
            continue;
        };
        let first = findings.place(items[first].span);
        let message = "this judge is in the panel already: one judgment would count twice";
        let hint = format!(
            "the first is on line {}, column {}; for more judgments by each judge write `votes: 2`",
            first.line, first.column
        );
        findings.error(item.span, message, &hint);
    }
}
