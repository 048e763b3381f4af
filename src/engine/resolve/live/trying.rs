//! Loads programs: those that were saved before the session may hold them, the others before anything is keyed.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::Live;
use crate::effects::exec::{Discovered, Executor};
use crate::effects::fs_watch::ChangedPaths;
use crate::engine::resolve::settings::ActionKind;
use crate::engine::resolve::settle::Settling;
use crate::engine::session::reload::{Preflight, Reloaded};
use crate::pipeline::outcome::Failure;

type LoadedProgram = (Preflight, Result<Discovered, Failure>);

/// Programs that are being loaded.
#[derive(Default)]
pub(crate) struct Trying<'a> {
    loading: FuturesUnordered<Pin<Box<dyn Future<Output = LoadedProgram> + 'a>>>,
    /// What is to be said of the first reading, if they can be.
    first: Option<Reloaded>,
    /// Whether one could not be: its workers are to be forgiven.
    has_failed: bool,
}

impl<'a> Trying<'a> {
    fn begin(&mut self, preflights: &[Preflight], executor: &'a dyn Executor) {
        for preflight in preflights.iter().cloned() {
            let loading = executor.load(preflight.start(), preflight.base());
            self.loading.push(Box::pin(async move { (preflight, loading.await) }));
        }
    }

    /// Notes what came of one.
    pub(crate) fn note(&mut self, result: &Result<Discovered, Failure>) {
        self.has_failed |= result.is_err();
    }

    /// Waits for the next that was loaded, or cannot be; for ever where there is none.
    pub(crate) async fn next(&mut self) -> LoadedProgram {
        match self.loading.next().await {
            Some(loaded) => loaded,
            None => std::future::pending().await,
        }
    }
}

impl Live<'_> {
    /// Files were saved: programs that could not be loaded are tried again by the next
    /// [`Self::reload`].
    pub fn try_again(&mut self, touched: &ChangedPaths) {
        self.settling.session.retry_preflights(touched);
    }

    /// Reads again what was touched, as [`crate::engine::session::Session::reload`] does. If the session has changed,
    /// [`Self::begin`] has to be called. Where programs are to be tried that is begun: [`Self::reload_tried`] has to be
    /// called once [`Self::is_trying`] is over.
    pub fn reload(
        &mut self,
        touched: &ChangedPaths,
        environment: Option<BTreeMap<String, String>>,
    ) -> Reloaded {
        self.trying.loading.clear();
        let Settling { session, world, settings, .. } = &mut self.settling;
        if self.trying.first.take().is_some() {
            // Nobody was told of it yet.
            session.load_state.note(false);
        }
        session.preflights.is_closed = !settings.ask.may_ask(ActionKind::Program);
        let reloaded = session.reload(world.system, touched, environment);
        self.look_at(reloaded)
    }

    /// Whether programs are loaded that were saved.
    pub fn is_trying(&self) -> bool {
        !self.trying.loading.is_empty()
    }

    /// Reloads what [`Self::reload`] came upon, after its programs were tried.
    pub fn reload_tried(&mut self) -> Reloaded {
        let Settling { session, world, .. } = &mut self.settling;
        let reloaded = match self.trying.first.take() {
            Some(first) => first,
            None => session.reload_once_more(world.system),
        };
        self.look_at(reloaded)
    }

    fn look_at(&mut self, reloaded: Reloaded) -> Reloaded {
        let reloaded = match reloaded {
            Reloaded::Changed { .. } => self.first_tried(reloaded),
            other => other,
        };
        let executor = self.settling.world.executor;
        match &reloaded {
            Reloaded::Untried(preflights) => self.trying.begin(preflights, executor),
            Reloaded::Broken { .. } => {}
            Reloaded::Changed { .. } => self.trying.has_failed = false,
            Reloaded::Same => {
                if std::mem::take(&mut self.trying.has_failed) {
                    executor.begin();
                }
            }
        }
        reloaded
    }

    /// Of what was read for the first time nothing was there that a program could take from the screen; so its programs
    /// are tried when it is read. What the store knows to be loaded is not.
    fn first_tried(&mut self, changed: Reloaded) -> Reloaded {
        let settling = &mut self.settling;
        let system = settling.world.system;
        settling.session.learn_dependencies(settling.store.as_ref(), system);
        let programs = settling.session.not_loaded();
        match settling.session.needed_preflights(&programs, system) {
            Ok(preflights) if preflights.is_empty() => changed,
            Ok(preflights) => {
                self.trying.first = Some(changed);
                Reloaded::Untried(preflights)
            }
            Err(problems) => settling.session.first_is_broken(problems, system),
        }
    }

    /// Whether it is known which files programs load. Where no store tells, they are loaded: nothing is planned until
    /// then, because nothing could be keyed.
    pub(crate) fn has_loaded_programs(&mut self) -> bool {
        let settling = &mut self.settling;
        let in_flight = &mut self.in_flight;
        if in_flight.is_loading() {
            return false;
        }
        if settling.session.to_load().is_empty() {
            return true;
        }
        let system = settling.world.system;
        settling.session.learn_dependencies(settling.store.as_ref(), system);
        if !settling.settings.ask.may_ask(ActionKind::Program) {
            settling.session.assume_no_dependencies(system);
        }
        for (program, start, base) in settling.session.to_load() {
            match settling.session.discovered_in_preflight(program, system) {
                Some(discovered) => {
                    let entry = settling.session.loaded(program, Ok(discovered), system);
                    in_flight.keep_also(entry.into_iter().collect());
                }
                None => in_flight.load(program, settling.world.executor.load(start, base)),
            }
        }
        !in_flight.is_loading()
    }
}
