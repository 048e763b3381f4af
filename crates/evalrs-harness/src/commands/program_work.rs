//! What runs programs without a suite, and where is kept what they gave.

use std::path::Path;
use std::sync::Arc;

use evalrs_engine::resolve::prepare::{PrepareContext, PreparedProgram, prepare};
use evalrs_exec::Executor;
use evalrs_model::key::ActionKey;
use evalrs_model::spec::ProgramSpec;
use evalrs_store::{OutcomeStore, RunNote, StoreError};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::Error;
use evalrs_use_cases::open::{ExecutorSettings, executor};
use evalrs_use_cases::signals::interrupted;

/// Where programs are run.
pub(super) struct ProgramWork {
    /// The folders and the environment.
    surroundings: SuiteContext,
    pub executor: Box<dyn Executor>,
    /// What waits for them.
    pub runtime: tokio::runtime::Runtime,
    pub store: Arc<dyn OutcomeStore>,
}

impl ProgramWork {
    /// Opens the store. So many programs may run at once.
    pub(super) fn open(
        surroundings: SuiteContext,
        concurrency: usize,
        console: &mut Console<'_>,
    ) -> Result<Self, Error> {
        let executor = executor(&ExecutorSettings {
            concurrency,
            verbosity: console.verbosity,
            // Each record has a line in the output, whatever came of the others.
            identical_failures: 0,
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let store = surroundings.store(console)?;
        Ok(Self { surroundings, executor, runtime, store })
    }

    /// What a program is by now.
    pub(super) fn prepare(
        &self,
        spec: ProgramSpec,
        is_frozen: bool,
        system: &dyn System,
    ) -> Result<PreparedProgram, String> {
        self.runtime.block_on(self.prepared(spec, is_frozen, system))
    }

    /// The same where others are waited for meanwhile.
    pub(super) async fn prepared(
        &self,
        spec: ProgramSpec,
        is_frozen: bool,
        system: &dyn System,
    ) -> Result<PreparedProgram, String> {
        let place = PrepareContext {
            workspace: &self.surroundings.root,
            environment: &self.surroundings.environment,
            system,
            loader: (!is_frozen).then(|| self.executor.loader()),
            store: self.store.as_ref(),
        };
        prepare(spec, place).await
    }

    /// Ends when somebody says stop: it listens from now on, and not from when somebody waits.
    pub(super) fn stop(&self) -> impl Future<Output = ()> + use<> {
        let _entered = self.runtime.enter();
        interrupted()
    }

    /// Notes under a name what was used: a sweep of the store keeps it.
    pub(super) fn note_used(
        &self,
        name: &str,
        is_whole: bool,
        keys: &[ActionKey],
        system: &dyn System,
    ) -> Result<(), StoreError> {
        let folder = Path::new(&self.surroundings.cache_dir);
        evalrs_store::note_used(
            folder,
            name,
            Some(RunNote { of: "", is_whole }),
            system.now(),
            keys,
        )
    }
}
