//! Graders under the names that people know them by.
//!
//! Formats for people are written from a report whose graders are renamed once, here; formats for machines keep
//! the keys of the suite. A gate's rule keeps them too: it is what the suite says.

use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::metric::Metric;
use evalrs_metrics::results::report::{Report, Results};
use evalrs_metrics::results::{ResultLine, Summary};

/// Has `write` write the report with its graders renamed.
pub fn labelled<T>(report: &Report<'_>, write: impl FnOnce(&Report<'_>) -> T) -> T {
    let labels = &report.summary.labels;
    if labels.0.is_empty() {
        return write(report);
    }
    let summary = renamed_summary(report.summary, labels);
    let results = || -> Results<'_> {
        Box::new((report.results)().map(|line| ResultLine {
            submissions: renamed(line.submissions, labels),
            grades: renamed(line.grades, labels),
            not_applicable: renamed(line.not_applicable, labels),
            ..line
        }))
    };
    write(&Report { header: report.header, summary: &summary, results: &results, briefs: None })
}

fn renamed_summary(summary: &Summary, labels: &OrderedMap<String>) -> Summary {
    let groups = |groups: &OrderedMap<OrderedMap<Metric>>| {
        let groups = groups.0.iter();
        let renamed =
            groups.map(|(name, metrics)| (name.clone(), renamed(metrics.clone(), labels)));
        OrderedMap(renamed.collect())
    };
    Summary {
        metrics: renamed(summary.metrics.clone(), labels),
        by_model: summary.by_model.as_ref().map(groups),
        by_tag: summary.by_tag.as_ref().map(groups),
        trials: renamed(summary.trials.clone(), labels),
        agreement: renamed(summary.agreement.clone(), labels),
        label_agreement: renamed(summary.label_agreement.clone(), labels),
        held_out: renamed(summary.held_out.clone(), labels),
        annotators: renamed(summary.annotators.clone(), labels),
        disputed: renamed(summary.disputed.clone(), labels),
        calibration: renamed(summary.calibration.clone(), labels),
        people: renamed(summary.people.clone(), labels),
        usage: renamed(summary.usage.clone(), labels),
        ..summary.clone()
    }
}

fn renamed<T>(map: OrderedMap<T>, labels: &OrderedMap<String>) -> OrderedMap<T> {
    let entries = map.0.into_iter();
    let renamed = entries.map(|(name, value)| (labels.get(&name).cloned().unwrap_or(name), value));
    OrderedMap(renamed.collect())
}

#[cfg(test)]
mod tests {
    use super::labelled;
    use crate::format::{ProcessFacts, ReportedRun};
    use crate::origin::ReportOrigin;
    use crate::page::markdown::shown;
    use crate::run_page::{ReportView, page};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_test_runs as fixtures;

    #[test]
    fn people_read_labels_and_machines_keys() {
        let mut run = fixtures::hostile();
        run.summary.labels = OrderedMap(vec![("accuracy".to_owned(), "Is right".to_owned())]);
        let text = run.written(|report, out| {
            let origin = ReportOrigin::default();
            let facts = ProcessFacts::default();
            let text = labelled(report, |report| {
                let run = ReportedRun { report, facts: &facts, origin: &origin };
                shown(&page(&run, ReportView::default()))
            });
            out.write_all(text.as_bytes())
        });
        assert!(text.contains("| `Is right` |") && !text.contains("`accuracy`"), "{text}");
        let lines = run.written(evalrs_metrics::results::report::write_lines);
        assert!(lines.contains("\"accuracy\":{") && !lines.contains("Is right"), "{lines}");
    }
}
