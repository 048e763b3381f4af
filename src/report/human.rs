//! How every format for people says that verdicts agree with labels: a line a grader.

use unicode_width::UnicodeWidthStr;

use super::Summary;
use super::text::{count, cut, percent, sanitize};
use crate::metric::labels::LabelAgreement;

/// The columns that the name of a grader may take.
const GRADER: usize = 24;

/// One line for each grader that has labels, in the order of the suite.
pub fn lines(summary: &Summary) -> Vec<String> {
    let graders = summary.label_agreement.0.iter();
    graders.map(|(grader, agreement)| line(&cut(&sanitize(grader), GRADER), agreement)).collect()
}

/// The same for a screen of so many columns: a line that is too long goes on in a second one.
pub fn lines_within(summary: &Summary, width: usize) -> Vec<String> {
    let broken = |line: String| match line.split_once("; ") {
        Some((first, rest)) if line.width() > width => {
            vec![format!("{first};"), format!("  {rest}")]
        }
        _ => vec![line],
    };
    lines(summary).into_iter().flat_map(broken).collect()
}

fn line(grader: &str, agreement: &LabelAgreement) -> String {
    let LabelAgreement { n, without_verdict, false_pass, false_fail, .. } = *agreement;
    if n == 0 {
        return format!("{grader} has no verdict for {}", count(without_verdict, "label"));
    }
    let kappa = match (agreement.kappa, agreement.kappa_interval) {
        (Some(kappa), Some((low, high))) => format!("kappa {kappa:.2} ({low:.2} to {high:.2})"),
        _ => "no kappa".to_owned(),
    };
    let left_out = match without_verdict {
        0 => String::new(),
        without => format!("; {without} more without a verdict"),
    };
    format!(
        "{grader} agrees with {}: accuracy {}, {kappa}; {false_pass} passed against the label, {false_fail} failed against it{left_out}",
        count(n, "label"),
        percent(agreement.accuracy),
    )
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::metric::labels::LabelAgreement;

    #[test]
    fn agreement_is_one_line() {
        let judged = LabelAgreement {
            n: 40,
            both_pass: 20,
            false_pass: 4,
            false_fail: 2,
            both_fail: 14,
            accuracy: Some(0.85),
            kappa: Some(0.7),
            kappa_interval: Some((0.48, 0.917)),
            ..LabelAgreement::default()
        };
        let all_alike = LabelAgreement {
            n: 1,
            accuracy: Some(1.0),
            kappa: None,
            kappa_interval: None,
            without_verdict: 3,
            false_pass: 0,
            false_fail: 0,
            ..judged
        };
        let unjudged = LabelAgreement { without_verdict: 1, ..LabelAgreement::default() };
        let lines = [judged, all_alike, unjudged].map(|agreement| line("helpful", &agreement));
        insta::assert_snapshot!(lines.join("\n"), @r"
        helpful agrees with 40 labels: accuracy 85.0%, kappa 0.70 (0.48 to 0.92); 4 passed against the label, 2 failed against it
        helpful agrees with 1 label: accuracy 100.0%, no kappa; 0 passed against the label, 0 failed against it; 3 more without a verdict
        helpful has no verdict for 1 label
        ");
    }
}
