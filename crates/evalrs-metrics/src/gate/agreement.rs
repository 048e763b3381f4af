//! How far a grader agrees with labels, as a value for a gate, and how far verdicts that are missing could move it.

use super::range::{GateLack, Range};
use crate::metric::labels::LabelAgreement;
use evalrs_model::spec::Aggregation;

/// Agreement or kappa over the verdicts that there are. Its ends are those over all labels, whatever the verdicts that are
/// missing would have been.
pub(super) fn range(
    compared: &LabelAgreement,
    aggregation: Aggregation,
) -> Result<Range, Option<GateLack>> {
    let LabelAgreement { both_pass, false_pass, false_fail, both_fail, .. } = *compared;
    let LabelAgreement { n, accuracy, kappa, without_verdict, .. } = *compared;
    let accuracy = accuracy.ok_or(None)?;
    if aggregation == Aggregation::Agreement {
        let share = |agreeing: usize| agreeing as f64 / (n + without_verdict) as f64;
        let agreeing = both_pass + both_fail;
        return Ok(Range {
            value: accuracy,
            lowest: share(agreeing),
            highest: share(agreeing + without_verdict),
        });
    }
    let have_labels_alike = both_pass + false_fail == 0 || false_pass + both_fail == 0;
    let kappa = kappa.ok_or(Some(if have_labels_alike {
        GateLack::DifferentLabels
    } else {
        GateLack::DifferentVerdicts
    }))?;
    let passes = compared.passes_without_verdict;
    let fails = without_verdict - passes;
    // Of fixed labels kappa is a quotient of two linear functions of how many of these verdicts pass, so that its ends are
    // among the corners. The verdicts that there are differ, so that it is defined in each.
    let corners = [(0, 0), (0, fails), (passes, 0), (passes, fails)];
    let ends = corners.map(|(true_passes, false_passes)| {
        let all = LabelAgreement {
            n: n + without_verdict,
            both_pass: both_pass + true_passes,
            false_fail: false_fail + passes - true_passes,
            false_pass: false_pass + false_passes,
            both_fail: both_fail + fails - false_passes,
            ..LabelAgreement::default()
        };
        all.kappa_with_interval().map_or(0.0, |found| found.0)
    });
    Ok(Range {
        value: kappa,
        lowest: ends.into_iter().fold(kappa, f64::min),
        highest: ends.into_iter().fold(kappa, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{GateInputs, GateReport, GateStatus, decide_with};
    use super::{Aggregation, GateLack, LabelAgreement};
    use evalrs_model::delta::{Cell, CellState};
    use evalrs_model::spec::{Condition, Gate, Label, Op};

    /// Both pass, only the verdict does, only the label does, none does; then labels that pass and fail without a verdict.
    fn compared(counts: [usize; 6]) -> Option<LabelAgreement> {
        use CellState::{Errored, Failed, Passed};
        let kinds = [
            (Passed, true),
            (Passed, false),
            (Failed, true),
            (Failed, false),
            (Errored, true),
            (Errored, false),
        ];
        let pairs = kinds.into_iter().zip(counts).flat_map(|((state, label), count)| {
            std::iter::repeat_n((Cell { score: 0.0, state }, Label::Pass(label)), count)
        });
        LabelAgreement::of(pairs, 0.5)
    }

    fn decided(aggregation: Aggregation, op: Op, value: f64, counts: [usize; 6]) -> GateReport {
        let metric_key = "a".to_owned();
        let gate = Gate::Simple(Condition { metric_key, aggregation, op, value, pass: None });
        let labels = |name: &str| compared(counts).filter(|_| name == "a");
        decide_with(&gate, GateInputs { grades: &|_| None, metrics: &|_| None, labels: &labels })
    }

    #[test]
    fn agreement_is_decided_where_missing_verdicts_change_nothing() {
        use Aggregation::{Agreement, Kappa};
        use GateStatus::{Failed, Passed, Undecided};
        for (aggregation, op, value, counts, status, range) in [
            (Agreement, Op::Gte, 0.7, [20, 5, 10, 15, 0, 0], Passed, [0.7, 0.7, 0.7]),
            (Agreement, Op::Gt, 0.7, [20, 5, 10, 15, 0, 0], Failed, [0.7, 0.7, 0.7]),
            (Agreement, Op::Gte, 0.6, [2, 1, 0, 1, 1, 0], Passed, [0.75, 0.6, 0.8]),
            (Agreement, Op::Gte, 0.7, [2, 1, 0, 1, 1, 0], Undecided, [0.75, 0.6, 0.8]),
            (Agreement, Op::Gte, 0.9, [2, 1, 0, 1, 0, 1], Failed, [0.75, 0.6, 0.8]),
            (Kappa, Op::Gte, 0.4, [20, 5, 10, 15, 0, 0], Passed, [0.4, 0.4, 0.4]),
            (Kappa, Op::Lt, 0.4, [20, 5, 10, 15, 0, 0], Failed, [0.4, 0.4, 0.4]),
        ] {
            let report = decided(aggregation, op, value, counts);
            let found = [report.value, report.lowest, report.highest];
            assert_eq!(report.status, Some(status), "{:?} of {counts:?}", report.rule);
            let is_close = found.into_iter().zip(range).all(|(found, expected)| {
                found.is_some_and(|found| (found - expected).abs() < 1e-12)
            });
            assert!(is_close, "{found:?} of {counts:?}");
        }
    }

    #[test]
    fn missing_verdicts_move_kappa_no_further_than_its_ends() {
        let tables = [
            [20, 5, 10, 15, 4, 3],
            [1, 0, 0, 1, 6, 0],
            [3, 1, 0, 1, 0, 5],
            [0, 4, 3, 0, 2, 2],
            [9, 1, 1, 1, 3, 1],
        ];
        for counts in tables {
            let report = decided(Aggregation::Kappa, Op::Gte, 0.0, counts);
            let [both_pass, false_pass, false_fail, both_fail, passes, fails] = counts;
            let mut least = f64::INFINITY;
            let mut most = f64::NEG_INFINITY;
            for true_passes in 0..=passes {
                for false_passes in 0..=fails {
                    let all = compared([
                        both_pass + true_passes,
                        false_pass + false_passes,
                        false_fail + passes - true_passes,
                        both_fail + fails - false_passes,
                        0,
                        0,
                    ]);
                    let kappa = all.and_then(|all| all.kappa).unwrap();
                    least = least.min(kappa);
                    most = most.max(kappa);
                }
            }
            let is = |end: Option<f64>, expected: f64| {
                end.is_some_and(|end| (end - expected).abs() < 1e-12)
            };
            assert!(is(report.lowest, least) && is(report.highest, most), "{counts:?}: {report:?}");
        }
    }

    #[test]
    fn what_nobody_labelled_passes_no_gate() {
        use Aggregation::{Agreement, Kappa};
        for (aggregation, counts, lacks) in [
            (Agreement, [0; 6], Some(GateLack::Labels)),
            (Kappa, [0; 6], Some(GateLack::Labels)),
            (Agreement, [0, 0, 0, 0, 2, 1], None),
            (Kappa, [4, 0, 1, 0, 0, 0], Some(GateLack::DifferentLabels)),
            (Kappa, [4, 1, 0, 0, 0, 0], Some(GateLack::DifferentVerdicts)),
        ] {
            for op in [Op::Gte, Op::Lt] {
                let report = decided(aggregation, op, -1.0, counts);
                assert_eq!(report.status, Some(GateStatus::Undecided), "{counts:?}");
                assert_eq!((report.value, report.lacks), (None, lacks), "{counts:?}");
                assert_eq!(report.first_lack(), lacks);
            }
        }
    }
}
