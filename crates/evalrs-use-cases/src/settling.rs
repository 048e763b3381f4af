//! How commands settle a session: with what executes its actions, until nothing is left or somebody says stop.

use std::pin::Pin;
use std::sync::Arc;

use super::open::{ExecutorSettings, executor};
use super::signals::interrupted;
use crate::console::Console;
use crate::error::Error;
use crate::progress::bar::RunBar;
use crate::progress::plain::PlainProgress;
use evalrs_engine::progress::{Progress, Quiet};
use evalrs_engine::resolve::resolver::{Effects, GradeFollower};
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::resolve::settle::{CannotAsk, SettledPlans, Settlement, settle};
use evalrs_engine::session::Session;
use evalrs_exec::Executor;
use evalrs_store::OutcomeStore;
use evalrs_system::System;

/// Who settles a session, and follows it.
pub struct SettledBy<'a> {
    pub system: &'a dyn System,
    /// More than 0 reports every step.
    pub verbosity: u8,
    /// Shows what happens.
    pub progress: &'a mut dyn Progress,
    /// Follows the grades as they are made.
    pub grades: &'a mut dyn GradeFollower,
    /// The signal that ends it early; Ctrl-C by default.
    pub stop: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
}

/// Settles a session; outcomes are kept in `store`.
pub fn settle_session(
    session: &mut Session,
    store: Arc<dyn OutcomeStore>,
    settings: &Settings,
    by: SettledBy<'_>,
) -> Result<Settlement, Error> {
    let SettledBy { system, verbosity, progress, grades, stop } = by;
    let executor = executor(&ExecutorSettings {
        concurrency: settings.max_concurrent,
        verbosity,
        identical_failures: settings.max_identical_failures,
    });
    let world = Effects { store, system, executor: executor.as_ref(), progress, grades };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Listened to from now on, and not from when somebody waits.
    let stop = stop.unwrap_or_else(|| {
        let _entered = runtime.enter();
        Box::pin(interrupted())
    });
    let mut plans = SettledPlans::default();
    let settled = runtime.block_on(settle(session, world, settings, &mut plans, stop));
    let was_interrupted = settled.as_ref().is_ok_and(|settled| settled.interrupted);
    let left = runtime.block_on(closed(executor.as_ref(), was_interrupted));
    let settled = settled.map(|settled| Settlement {
        warnings: settled.warnings.into_iter().chain(left).collect(),
        ..settled
    });
    settled.map_err(|cannot| Error::plain(cannot.to_string(), hint_for(&cannot)))
}

/// The same with progress on the console, until somebody interrupts it.
pub fn settle_on_console(
    session: &mut Session,
    store: Arc<dyn OutcomeStore>,
    settings: &Settings,
    console: &mut Console<'_>,
) -> Result<Settlement, Error> {
    let mut progress: Box<dyn Progress + '_> = if console.is_terminal {
        Box::new(RunBar::default())
    } else {
        Box::new(PlainProgress::new(&mut *console.err))
    };
    let by = SettledBy {
        system: console.system,
        verbosity: console.verbosity,
        progress: progress.as_mut(),
        grades: &mut Quiet,
        stop: None,
    };
    let settled = settle_session(session, store, settings, by)?;
    drop(progress);
    console.warn(&settled.warnings)?;
    Ok(settled)
}

/// Undoes what actions did in the world, and reports what is left of it. Whoever has interrupted the actions may
/// interrupt that too; who has not may have meant them, and is waited for once.
pub async fn closed(executor: &dyn Executor, was_interrupted: bool) -> Vec<String> {
    let mut closing = executor.close();
    let mut presses = u8::from(was_interrupted);
    loop {
        tokio::select! {
            biased;
            left = &mut closing => return left,
            () = interrupted() => presses += 1,
        }
        if presses > 1 {
            return vec![CUT_SHORT.to_owned()];
        }
    }
}

/// The message when the last commands were ended.
const CUT_SHORT: &str = "interrupted again, so the cleanup is incomplete: folders of conversations, agents on servers, and effects that `teardown` undoes may remain";

fn hint_for(cannot: &CannotAsk) -> String {
    match cannot {
        CannotAsk::NoKey { meant: Some(provider), model, .. } => format!(
            "`{model}` looks like a model of the provider `{provider}`: write `provider: {provider}`, or set `base_url` to its server"
        ),
        CannotAsk::NoKey { .. } => "set it (a `.env` file beside the suite will do), name another variable with `api_key_env`, or replay stored judgments with `--frozen`".to_owned(),
        CannotAsk::Unloadable { details, .. } => {
            let details = details.as_deref().map(|details| format!("\n{}", details.trim_end()));
            format!("nothing was called or run{}", details.unwrap_or_default())
        }
        CannotAsk::NoSandbox { .. } => "nothing was called or run; `sandbox: none` runs it without one, where it is trusted".to_owned(),
        CannotAsk::NoPrice { model } => format!(
            "set it in evalrs.toml, in US dollars per million tokens: `[prices.\"{model}\"]` with `input = 0.0` and `output = 0.0`, or limit the calls: `--max-calls`"
        ),
    }
}
