//! How far graders agreed with human labels in the runs of a history, and where a mean that goes up does not mean
//! a better judge.

use serde::Serialize;

use super::line::{HistoryAgreement, HistoryLine};

/// That a grader passes more, or scores higher, and says less often what people say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreesLess {
    /// The grader.
    pub grader: String,
    /// The run it is compared with.
    pub since: String,
    /// The mean then, and now.
    pub mean: [f64; 2],
    /// The agreement then.
    pub before: HistoryAgreement,
    /// The agreement now.
    pub now: HistoryAgreement,
}

/// The graders of a run whose mean is higher than in the last run of the same questions with labels, and whose agreement is
/// lower. A rubric may be another one: that is what people edit.
pub(super) fn agree_less(earlier: &[HistoryLine], now: &HistoryLine) -> Vec<AgreesLess> {
    let compared = now.metrics.0.iter().filter_map(|(grader, metric)| {
        let agreement = metric.agreement?;
        let mut same = earlier.iter().rev().filter(|line| {
            line.dataset.is_some() && line.dataset == now.dataset && line.target == now.target
        });
        let compared = same.find_map(|line| {
            let old = line.metrics.get(grader)?;
            Some(AgreesLess {
                grader: grader.clone(),
                since: line.id.clone(),
                mean: [old.mean?, metric.mean?],
                before: old.agreement?,
                now: agreement,
            })
        })?;
        let agreed = compared.before.accuracy.zip(agreement.accuracy);
        let is_less = agreed.is_some_and(|(before, now)| now < before);
        (compared.mean[1] > compared.mean[0] && is_less).then_some(compared)
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::{AgreesLess, HistoryAgreement, agree_less};
    use crate::history::{HISTORY_FORMAT, HistoryLine, HistoryMetric};
    use evalrs_base::ordered_map::OrderedMap;

    fn line(id: &str, mean: f64, accuracy: Option<f64>) -> HistoryLine {
        let agreement = accuracy.map(|share| HistoryAgreement {
            n: 10,
            accuracy: Some(share),
            ..HistoryAgreement::default()
        });
        let metric = HistoryMetric { mean: Some(mean), agreement, ..HistoryMetric::default() };
        HistoryLine {
            format: HISTORY_FORMAT,
            id: id.to_owned(),
            suite: String::new(),
            started: String::new(),
            metrics: OrderedMap(vec![("q".to_owned(), metric)]),
            declared: OrderedMap::default(),
            gate: crate::gate::GateReport::default(),
            digests: OrderedMap::default(),
            dataset: Some("d".to_owned()),
            target: None,
            cost: None,
        }
    }

    #[test]
    fn a_mean_that_rises_while_agreement_falls_is_named() {
        let other = |line: HistoryLine| HistoryLine { dataset: Some("e".to_owned()), ..line };
        let old = line("a", 0.5, Some(0.8));
        let unknown = line("b", 0.7, None);
        for (earlier, now, since) in [
            (vec![old.clone()], line("c", 0.6, Some(0.7)), Some("a")),
            // A run without labels in between says nothing.
            (vec![old.clone(), unknown.clone()], line("c", 0.6, Some(0.7)), Some("a")),
            (vec![old.clone()], line("c", 0.6, Some(0.8)), None),
            (vec![old.clone()], line("c", 0.5, Some(0.7)), None),
            (vec![old.clone()], line("c", 0.4, Some(0.7)), None),
            (vec![old.clone()], line("c", 0.6, None), None),
            (vec![unknown], line("c", 0.9, Some(0.1)), None),
            (vec![other(old)], line("c", 0.6, Some(0.7)), None),
            (vec![], line("c", 0.6, Some(0.7)), None),
        ] {
            let found = agree_less(&earlier, &now);
            let ids: Vec<&str> = found.iter().map(|one: &AgreesLess| one.since.as_str()).collect();
            assert_eq!(ids, since.into_iter().collect::<Vec<_>>(), "{earlier:?} {now:?}");
        }
    }
}
