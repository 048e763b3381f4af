//! The labels that a comparison of records rests on: those of the suite as it is now, in its rows and in its file, for both sides.
//!
//! The suite is read and nothing is asked. A comparison without it is one without labels: records keep none.

use std::collections::HashMap;

use serde_json::Value;

use super::context::SuiteContext;
use super::open::new_session;
use super::remembered::are_unlabelled;
use crate::console::Console;
use crate::error::Error;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{folder_of, join};
use evalrs_base::text::sanitize;
use evalrs_engine::inspect::preview::preview;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::labels::{has_labels, labels};
use evalrs_graph::queries::Threshold;
use evalrs_graph::results;
use evalrs_metrics::diff::{CaseName, DiffGraderLabels, DiffLabels};
use evalrs_store::record::read::PastRun;
use evalrs_system::System;

/// Where the labels of a run are looked for.
#[derive(Clone, Copy, Debug)]
pub struct LabelSource<'a> {
    /// The run.
    pub past: &'a PastRun,
    /// The suite file that the command line names.
    pub suite: Option<&'a str>,
    /// The file of labels that it names.
    pub labels: Option<&'a str>,
    /// The folder of records.
    pub home: &'a str,
    /// The folder of the store, if set.
    pub cache_dir: Option<&'a str>,
}

impl LabelSource<'_> {
    /// The labels as they are now; none where nobody knows the suite of the run, or where it is another one by now.
    pub fn read(self, console: &mut Console<'_>) -> Result<DiffLabels, Error> {
        let path = self.suite.map(str::to_owned).or_else(|| self.recorded(console.system));
        let Some(path) = path.filter(|path| console.system.open(path).is_ok()) else {
            return self.without("the suite of the records does not exist any more");
        };
        if self.labels.is_none() && are_unlabelled(&path, self.cache_dir, console) {
            return Ok(DiffLabels::default());
        }
        let over = Overrides { labels: self.labels.map(str::to_owned), ..Overrides::default() };
        let surroundings = SuiteContext::find(&path, self.cache_dir, console.system)?;
        let mut session = new_session(&path, &surroundings, over);
        let diagnostics = session.load(console.system);
        if diagnostics.iter().any(Diagnostic::is_error) {
            if self.labels.is_some() {
                return Err(Error::Diagnostics(diagnostics));
            }
            let path = sanitize(&path);
            writeln!(
                console.err,
                "warning: verdicts are not compared with labels: `{path}` has errors, which `evalrs validate {path}` shows"
            )?;
            return Ok(DiffLabels::default());
        }
        let name = session.suite().map_or("", |suite| suite.name.as_str());
        if name != self.past.header.suite {
            return self.without("the suite has another name than that of the records");
        }
        // A label that is of one answer alone counts where that answer is known: of programs and targets, from the store.
        let is_live = session.suite().is_some_and(|suite| suite.target.live().is_some());
        if is_live || !session.starts().is_empty() {
            let store = surroundings.store(console)?;
            preview(&mut session, store.as_ref(), console.system, &Settings::default());
        }
        Ok(all_labels(&session))
    }

    /// Nothing, unless somebody named labels.
    fn without(self, why: &str) -> Result<DiffLabels, Error> {
        if self.labels.is_none() {
            return Ok(DiffLabels::default());
        }
        let message = format!("no verdict can be compared with `--labels`: {why}");
        Err(Error::plain(message, "`--suite SUITE` names the suite that the labels are for"))
    }

    /// The suite file that the record of the run names.
    fn recorded(self, system: &dyn System) -> Option<String> {
        let bytes = system.read(&join(&self.past.folder, "run.json")).into_bytes().ok()?;
        let facts: Value = serde_json::from_slice(&bytes).ok()?;
        let suite = facts["origin"]["suite"].as_str().filter(|suite| !suite.is_empty())?;
        Some(join(folder_of(self.home), suite))
    }
}

/// The labels of all cases, for each grader that has some.
pub(super) fn all_labels(session: &Session) -> DiffLabels {
    let db = &session.db;
    let graders = session.graders().iter().filter(|grader| has_labels(db, **grader));
    let found = graders.map(|grader| {
        let Threshold(threshold) = grader.pass_threshold(db);
        let mut own = HashMap::new();
        for (sample_id, identity, chunk, case) in results::cases(db, session.root) {
            let Some(label) = labels(db, chunk, *grader).get(case).copied().flatten() else {
                continue;
            };
            let model = identity.model.clone();
            own.insert(CaseName { sample_id, model, trial: identity.trial }, label);
        }
        (grader.name(db).clone(), DiffGraderLabels { threshold, labels: own })
    });
    DiffLabels(found.collect())
}
