//! `evalrs cache audit`: counts the judgments of a suite that others made, and repeats some of them.
//!
//! What is repeated is drawn at random, so that whoever forges cannot know which. Nothing of it is kept: a stored judgment stays
//! what it is until somebody refreshes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::audit_report::{Audit, JudgmentRepeats, RepeatedJudgment};
use crate::cli::AuditArgs;
use evalrs_engine::inspect::foreign::{
    ForeignJudgment, SessionJudgments, said_score, session_judgments,
};
use evalrs_engine::resolve::settings::{BatchSettings, Refresh, Settings};
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_model::outcome::read_body;
use evalrs_store::{Entry, OutcomeStore, OverlayStore};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::{loaded_session, new_session, overrides};
use evalrs_use_cases::settling::settle_on_console;

/// Counts what others made; with `--recheck` repeats some and says which differ.
pub(super) fn audit(args: &AuditArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let over = overrides(&args.select);
    let (mut surroundings, mut session) =
        loaded_session(&args.suite, &args.store, over.clone(), console)?;
    surroundings.believe(&args.trust.believe)?;
    surroundings.needed_shared_cache()?;
    let store = surroundings.store(console)?;
    let settings = Settings {
        batches: BatchSettings::default(),
        ..surroundings.settings(&args.limits, session.suite())
    };
    let mut found = session_judgments(&mut session, store.as_ref(), console.system, &settings);
    let mut audit = Audit {
        suite: session.suite().map(|suite| suite.name.clone()).unwrap_or_default(),
        stored: found.stored,
        foreign: counted(&found.foreign),
        cost: None,
        repeated: None,
    };
    let Some(wanted) = args.recheck.filter(|_| !found.foreign.is_empty()) else {
        let cost = found.cost(&session, &surroundings.prices());
        audit.cost = cost.map(|cost| cost.to_string());
        audit.show(args.json, console)?;
        return Ok(ExitStatus::Success);
    };
    fastrand::shuffle(&mut found.foreign);
    found.foreign.truncate(wanted as usize);
    let drawn = DrawnJudgments {
        session: &session,
        found: &found,
        store: &store,
        surroundings: &surroundings,
    };
    let over = Overrides { samples: drawn.samples(), ..over };
    let repeats = repeat(&drawn, &settings, args, over, console)?;
    let status = repeats.status();
    audit.repeated = Some(repeats);
    audit.show(args.json, console)?;
    Ok(status)
}

/// Writer → how many judgments are theirs.
fn counted(foreign: &[ForeignJudgment]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for judgment in foreign {
        *counted.entry(judgment.writer.to_string()).or_default() += 1;
    }
    counted
}

/// The judgments that were drawn, and where they were found.
struct DrawnJudgments<'a> {
    session: &'a Session,
    found: &'a SessionJudgments,
    store: &'a Arc<dyn OutcomeStore>,
    surroundings: &'a SuiteContext,
}

impl DrawnJudgments<'_> {
    /// The samples that they are of.
    fn samples(&self) -> Vec<String> {
        let cells = self.found.foreign.iter().map(|judgment| judgment.call.cell);
        let ids = cells.map(|cell| results::sample_id(&self.session.db, cell.chunk, cell.case));
        let mut ids: Vec<String> = ids.flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// One of them beside what came of its call now.
    fn repeat(&self, judgment: &ForeignJudgment, now: Option<&Entry>) -> RepeatedJudgment {
        let Self { session, store, .. } = *self;
        let call = &judgment.call;
        let said = |entry: Option<&Entry>| {
            let body = entry.map(|entry| read_body(&entry.body)).transpose();
            let body = body.map_err(|error| error.to_string())?.ok_or("it was not repeated")?;
            said_score(session, call, &body)
        };
        let cell = call.cell;
        let head = results::head(&session.db, cell.chunk, cell.case);
        let grader = session.grader(cell.grader);
        RepeatedJudgment {
            sample: head.as_ref().map(|head| head.sample_id.clone()).unwrap_or_default(),
            model: head.as_ref().and_then(|head| head.model.clone()),
            trial: head.map_or(0, |head| head.trial),
            grader: grader.map(|grader| grader.name(&session.db).clone()).unwrap_or_default(),
            writer: judgment.writer.to_string(),
            key: call.key.to_string(),
            stored: said(store.get_many(&[call.key]).pop().flatten().as_ref()),
            now: said(now),
        }
    }
}

/// Makes the calls of the judgments that were drawn, and no others.
fn repeat(
    drawn: &DrawnJudgments<'_>,
    settings: &Settings,
    args: &AuditArgs,
    over: Overrides,
    console: &mut Console<'_>,
) -> Result<JudgmentRepeats, Error> {
    let mut session = new_session(&args.suite, drawn.surroundings, over);
    // Its warnings have been said.
    session.load(console.system);
    let foreign = &drawn.found.foreign;
    let keys = foreign.iter().map(|judgment| judgment.call.key);
    let settings =
        Settings { refresh: Refresh::Only(Arc::new(keys.clone().collect())), ..settings.clone() };
    let store = Arc::new(OverlayStore::over(Arc::clone(drawn.store)));
    let stored = Arc::clone(&store) as Arc<dyn OutcomeStore>;
    let settled = settle_on_console(&mut session, stored, &settings, console)?;
    let keys: Vec<_> = keys.collect();
    let now = store.above.get_many(&keys);
    let pairs = foreign.iter().zip(&now);
    let repeats = pairs.map(|(judgment, now)| drawn.repeat(judgment, now.as_ref())).collect();
    Ok(JudgmentRepeats {
        tolerance: args.tolerance.unwrap_or(0.0),
        was_interrupted: settled.interrupted,
        repeats,
    })
}
