//! One executor of judges and programs: each action goes to the one that knows its kind.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::select;
use tracing::{Instrument, debug_span};

use super::batch_service::BatchService;
use super::endpoint::{Endpoint, EndpointId, JudgeEndpointId, LimitSettings};
use super::executor::{
    ActionFuture, ChangeFuture, CheckFuture, CloseFuture, DiscoveredFiles, ExecutionLimits,
    Executor, LoadFuture, Notice, ProgramLoader, Room,
};
use super::launch::Launch;
use super::programs::ProgramExecutor;
use super::start::Start;
use super::targets::TargetExecutor;
use evalrs_eval::program::ProgramIdentity;
use evalrs_model::key::ActionKey;

/// An executor for each kind of action.
pub struct Executors {
    /// Calls judges.
    pub judges: Box<dyn Executor>,
    /// Runs programs.
    pub programs: Rc<ProgramExecutor>,
    /// Holds conversations of targets.
    pub targets: TargetExecutor,
}

impl Executor for Executors {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let (kind, executing): (&str, ActionFuture<'_>) = match launch {
            Launch::Judge(_) => ("judge", self.judges.execute(launch)),
            Launch::Program(launch) => ("program", self.programs.execute(launch)),
            Launch::Target(launch) => {
                ("target", Box::pin(self.targets.execute(*launch, &self.programs)))
            }
        };
        let span = debug_span!("action", kind);
        if span.is_disabled() { executing } else { Box::pin(executing.instrument(span)) }
    }

    fn limits(&self) -> &dyn ExecutionLimits {
        self
    }

    fn loader(&self) -> &dyn ProgramLoader {
        self
    }

    fn batches(&self) -> Option<&dyn BatchService> {
        self.judges.batches()
    }

    fn close(&self) -> CloseFuture<'_> {
        Box::pin(async {
            // Nothing of a function goes on while its folder is removed.
            self.programs.kill_workers();
            self.targets.finish(&self.programs).await;
            let left = self.judges.close().await;
            // Without a way to ask servers no agent is made on one.
            #[cfg(feature = "judge")]
            let left = [left, self.targets.deleted().await].concat();
            left
        })
    }
}

impl ExecutionLimits for Executors {
    fn begin(&self) {
        self.judges.limits().begin();
        self.programs.begin();
        self.targets.begin();
    }

    fn halt(&self, reason: &str) {
        self.judges.limits().halt(reason);
        self.programs.halt(reason);
    }

    fn open(&self, endpoint: &Endpoint, limits: LimitSettings) -> JudgeEndpointId {
        self.judges.limits().open(endpoint, limits)
    }

    fn room(&self, endpoint: EndpointId) -> Room {
        match endpoint {
            EndpointId::Judge(_) => self.judges.limits().room(endpoint),
            EndpointId::Program => self.programs.room(),
            EndpointId::Target => self.targets.room(),
        }
    }

    fn closed_model(&self, endpoint: JudgeEndpointId, model: &str) -> Option<String> {
        self.judges.limits().closed_model(endpoint, model)
    }

    fn changed(&self) -> ChangeFuture<'_> {
        let local = select(self.programs.changed(), Box::pin(self.targets.changed()));
        let either = select(self.judges.limits().changed(), local);
        Box::pin(async {
            either.await;
        })
    }

    fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.judges.limits().take_notices();
        notices.extend(self.programs.take_notices());
        notices.extend(self.targets.take_notices());
        notices
    }
}

impl ProgramLoader for Executors {
    fn load(&self, start: Arc<Start>, base: ActionKey) -> LoadFuture<'_> {
        self.programs.load(start, base)
    }

    fn check_sandbox<'a>(&'a self, start: &'a Start) -> CheckFuture<'a> {
        self.programs.check_sandbox(start)
    }

    fn sandbox(&self) -> Option<&'static str> {
        self.programs.sandbox()
    }

    fn take_discovered(&self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        let written = self.targets.take_written();
        self.programs.take_discovered().into_iter().chain(written).collect()
    }
}
