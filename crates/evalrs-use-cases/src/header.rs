//! What a report says of an evaluation before any result: the inputs and the settings it rests on.

use serde_json::{Map, Value, json};

use evalrs_base::ordered_map::OrderedMap;
use evalrs_engine::inspect::reasons::grader_settings;
use evalrs_engine::session::Session;
use evalrs_graph::queries::{self, gate_rule, narrowing};
use evalrs_graph::results;
use evalrs_metrics::results::ReportHeader;
use evalrs_metrics::results::report::{Report, Results};
use evalrs_model::record_format::FORMAT;
use evalrs_suite::written_metrics;

/// The header of a session that is loaded.
pub fn header(session: &Session) -> ReportHeader {
    let suite = session.suite();
    let inputs =
        session.digests().into_iter().map(|(path, digest)| (session.relative(&path), digest));
    let narrowing = narrowing(&session.db, session.root);
    let gate = gate_rule(&session.db, session.root).as_ref().map(evalrs_metrics::gate::rule);
    let metrics = suite.map(|suite| written_metrics(&suite.metrics)).unwrap_or_default();
    let mut settings = Map::from_iter([
        ("max_samples".to_owned(), json!(narrowing.max_samples)),
        ("tags".to_owned(), json!(narrowing.tags)),
        ("samples".to_owned(), json!(narrowing.samples)),
        ("trials".to_owned(), json!(narrowing.trials)),
        ("graders".to_owned(), Value::Array(grader_settings(session))),
        ("gate".to_owned(), json!(gate)),
    ]);
    if let Some((partition, cut)) = part_of(session) {
        settings.insert("partition".to_owned(), json!(partition));
        settings.insert("cut".to_owned(), json!(cut));
    }
    if !metrics.is_empty() {
        settings.insert("metrics".to_owned(), Value::Object(metrics));
    }
    ReportHeader {
        format: FORMAT,
        suite: suite.map(|suite| suite.name.clone()).unwrap_or_default(),
        description: suite.and_then(|suite| suite.description.clone()),
        evalrs: env!("CARGO_PKG_VERSION").to_owned(),
        inputs: OrderedMap(inputs.collect()),
        settings,
    }
}

/// Which part of the samples is evaluated, as `2/7`, and the digest of the cut; none where all are.
fn part_of(session: &Session) -> Option<(String, &str)> {
    let partition = session.root.overrides(&session.db).partition.as_ref()?;
    let cut = queries::selection(&session.db, session.root).cut.as_ref()?;
    Some((format!("{}/{}", partition.part?, partition.of), &cut.digest))
}

/// Has `take` use the report of what a session has come to.
pub fn with_report<T>(session: &Session, take: impl FnOnce(&Report<'_>) -> T) -> T {
    let summary = results::summary(&session.db, session.root);
    let header = header(session);
    let lines = || -> Results<'_> { Box::new(results::lines(&session.db, session.root)) };
    take(&Report { header: &header, summary: &summary, results: &lines, briefs: None })
}
