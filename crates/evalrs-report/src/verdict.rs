//! What the gate says, in one sentence. Every format for people uses these words.

use super::page::{Block, Page, Text, TextRole, quoted, text};
use evalrs_base::text::{columns, cut_words};
use evalrs_metrics::gate::sign;
use evalrs_metrics::gate::{GateLack, GateReport, GateStatus};

/// `passed`, `failed`, `undecided` or `no gate`.
pub fn word(gate: &GateReport) -> &'static str {
    match gate.status {
        Some(GateStatus::Passed) => "passed",
        Some(GateStatus::Failed) => "failed",
        Some(GateStatus::Undecided) => "undecided",
        None => "no gate",
    }
}

/// The same in its colour.
pub(crate) fn status(gate: &GateReport) -> Text {
    let role = match gate.status {
        Some(GateStatus::Passed) => TextRole::Good,
        Some(GateStatus::Failed) => TextRole::Bad,
        Some(GateStatus::Undecided) => TextRole::Doubtful,
        None => TextRole::Strong,
    };
    Text::of(word(gate), role)
}

/// Adds the finding of a gate below a heading, whole, and those of its conditions; nothing without a gate.
pub(crate) fn gate_lines(gate: &GateReport, page: &mut Page) {
    let finding = finding(gate);
    if !finding.is_empty() {
        page.join(Block::Paragraph(quoted(&finding)));
    }
    let mut conditions = Vec::new();
    push_conditions(&gate.conditions, 1, &mut conditions);
    page.join(Block::Lines(conditions));
}

/// Adds a line for each condition, and deeper ones for its own.
pub(crate) fn push_conditions(
    conditions: &[GateReport],
    depth: usize,
    lines: &mut Vec<(usize, Text)>,
) {
    for gate in conditions {
        lines.push((depth, text![status(gate), "  ", quoted(&finding(gate))]));
        push_conditions(&gate.conditions, depth + 1, lines);
    }
}

/// Whether the gate stands in the way: it failed or could not decide.
pub(crate) fn blocks(gate: &GateReport) -> bool {
    matches!(gate.status, Some(GateStatus::Failed | GateStatus::Undecided))
}

/// The finding: the rule and what the value is. Empty without a gate.
pub(crate) fn finding(gate: &GateReport) -> String {
    finding_within(gate, usize::MAX)
}

/// The finding in about `width` columns: a long rule is cut, the value never.
pub fn finding_within(gate: &GateReport, width: usize) -> String {
    let Some(status) = gate.status else { return String::new() };
    let value = match (status, gate.value) {
        (_, None) if gate.lacks.is_some() => {
            format!(": {}", gate.lacks.map_or("", without_value))
        }
        (_, None) if gate.op.is_some() => ": nothing was graded".to_owned(),
        (_, None) => String::new(),
        (GateStatus::Undecided, Some(value)) => {
            format!(": {} ({})", telling(value, gate), ends(gate))
        }
        (_, Some(value)) => format!(": {}", telling(value, gate)),
    };
    let room = width.saturating_sub(columns(&value)).max(1);
    format!("{}{value}", cut_words(&rule(gate), room))
}

/// How far what is missing could have moved the value.
fn ends(gate: &GateReport) -> String {
    let [lowest, highest] =
        [gate.lowest, gate.highest].map(|end| end.map(|end| telling(end, gate)));
    match (lowest, highest) {
        (Some(lowest), Some(highest)) => {
            format!("{lowest} to {highest} depending on missing grades")
        }
        (Some(lowest), None) => format!("at least {lowest}, depending on missing values"),
        (None, Some(highest)) => format!("at most {highest}, depending on missing values"),
        (None, None) => "missing values could change it by any amount".to_owned(),
    }
}

/// Why agreement with labels has no value.
fn without_value(lacks: GateLack) -> &'static str {
    match lacks {
        GateLack::Labels => "nobody labelled what it grades",
        GateLack::DifferentLabels => "not defined, as people say the same of all",
        GateLack::DifferentVerdicts => "not defined, as the grader says the same of all",
    }
}

fn rule(gate: &GateReport) -> String {
    match (&gate.rule, gate.op, gate.threshold) {
        (Some(rule), ..) => rule.clone(),
        (None, Some(op), Some(threshold)) => format!("{} {threshold}", sign(op)),
        _ => String::new(),
    }
}

/// The value with three decimals, or as many more as it takes for the rounded number to compare with the
/// threshold as the value does: 0.7999 must not read as `0.800` beside `failed: >= 0.8`.
fn telling(value: f64, gate: &GateReport) -> String {
    let holds =
        |value: f64| gate.op.map(|op| gate.threshold.map(|threshold| op.holds(value, threshold)));
    (3..=16)
        .map(|decimals| format!("{:.decimals$}", value + 0.0))
        .find(|text| text.parse().is_ok_and(|rounded| holds(rounded) == holds(value)))
        .unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evalrs_model::spec::Op;

    fn gate(status: GateStatus, value: Option<f64>, op: Op, threshold: f64) -> GateReport {
        GateReport {
            status: Some(status),
            value,
            op: Some(op),
            threshold: Some(threshold),
            lowest: Some(0.5),
            highest: Some(0.75),
            rule: Some(format!("a avg_score {} {threshold}", sign(op))),
            ..GateReport::default()
        }
    }

    #[test]
    fn findings_never_contradict_themselves() {
        use GateStatus::{Failed, Passed, Undecided};
        let cases = [
            (gate(Passed, Some(0.912), Op::Gte, 0.8), "a avg_score >= 0.8: 0.912"),
            (gate(Failed, Some(0.7999), Op::Gte, 0.8), "a avg_score >= 0.8: 0.7999"),
            (
                gate(Failed, Some(0.649_999_999_998), Op::Gte, 0.65),
                "a avg_score >= 0.65: 0.649999999998",
            ),
            (
                gate(Passed, Some(0.649_999_999_999_999_9), Op::Gte, 0.65),
                "a avg_score >= 0.65: 0.650",
            ),
            (gate(Failed, Some(0.800_04), Op::Lte, 0.8), "a avg_score <= 0.8: 0.80004"),
            (gate(Failed, Some(0.500_1), Op::Eq, 0.5), "a avg_score == 0.5: 0.5001"),
            (gate(Undecided, None, Op::Gte, 0.8), "a avg_score >= 0.8: nothing was graded"),
            (
                gate(Undecided, Some(0.5), Op::Gte, 0.6),
                "a avg_score >= 0.6: 0.500 (0.500 to 0.750 depending on missing grades)",
            ),
            (
                GateReport { lowest: None, ..gate(Undecided, Some(0.5), Op::Gte, 0.6) },
                "a avg_score >= 0.6: 0.500 (at most 0.750, depending on missing values)",
            ),
            (
                GateReport { highest: None, ..gate(Undecided, Some(0.5), Op::Gte, 0.6) },
                "a avg_score >= 0.6: 0.500 (at least 0.500, depending on missing values)",
            ),
            (
                GateReport {
                    lowest: None,
                    highest: None,
                    ..gate(Undecided, Some(0.5), Op::Gte, 0.6)
                },
                "a avg_score >= 0.6: 0.500 (missing values could change it by any amount)",
            ),
            (
                GateReport { lacks: Some(GateLack::Labels), ..gate(Undecided, None, Op::Gte, 0.8) },
                "a avg_score >= 0.8: nobody labelled what it grades",
            ),
            (GateReport::default(), ""),
        ];
        for (gate, expected) in cases {
            assert_eq!(finding(&gate), expected);
        }
    }

    #[test]
    fn a_long_rule_does_not_hide_the_value() {
        let gate = gate(GateStatus::Failed, Some(0.25), Op::Gte, 0.8);
        assert_eq!(finding_within(&gate, 20), "a avg_score…: 0.250");
    }
}
