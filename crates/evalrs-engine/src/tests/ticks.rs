//! While nothing lands, displays are told that time passes.

use std::time::Duration;

use super::*;
use crate::progress::{Event, Progress};

/// Answers after a while.
struct Slow(Scripted);

impl Executor for Slow {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let answering = self.0.execute(launch);
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(100)).await;
            answering.await
        })
    }
}

/// Counts how often it was told that time has passed.
#[derive(Default)]
struct Ticks(usize);

impl Progress for Ticks {
    fn event(&mut self, event: &Event) {
        self.0 += usize::from(*event == Event::Tick);
    }
}

#[test]
fn displays_are_told_that_time_passes_while_nothing_lands() {
    let system = MemorySystem::with(&[("suite.yaml", SUITE), ("data.jsonl", &rows())]);
    let mut session = fresh();
    assert!(!session.load(&system).iter().any(Diagnostic::is_error));
    let executor = Slow(Scripted::default());
    let mut ticks = Ticks::default();
    let world = Effects {
        store: Arc::new(MemoryStore::default()),
        system: &system,
        executor: &executor,
        progress: &mut ticks,
        grades: &mut Quiet,
    };
    let mut plans = SettledPlans::default();
    let settings = Settings::default();
    let stop = std::future::pending();
    let settling = settle(&mut session, world, &settings, &mut plans, stop);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(settling).unwrap();
    assert_eq!(ticks.0, 3, "within 100 s");
}
