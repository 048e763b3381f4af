//! Loads programs that were saved, before the session may hold them.

use std::collections::BTreeMap;

use super::Live;
use crate::resolve::resolver::Resolver;
use crate::resolve::settings::ActionKind;
use crate::session::reload::ReloadResult;
use evalrs_system::changed_paths::ChangedPaths;

impl Live<'_> {
    /// Files were saved: programs that could not be loaded are loaded again by the next [`Self::reload`].
    pub fn retry_preflights(&mut self, touched: &ChangedPaths) {
        self.resolver.session.preflights.begin(touched);
    }

    /// Reads again what was touched, as [`crate::session::Session::reload`] does. If the session has changed,
    /// [`Self::begin`] has to be called. Where programs need a preflight that is begun: [`Self::reload_after_preflight`] has
    /// to be called once [`Self::is_in_preflight`] is over.
    pub fn reload(
        &mut self,
        touched: &ChangedPaths,
        environment: Option<BTreeMap<String, String>>,
    ) -> ReloadResult {
        self.preflights.loading.clear();
        let Resolver { session, world, settings, .. } = &mut self.resolver;
        if self.preflights.first.take().is_some() {
            // It was not shown yet.
            session.load_state.note(false);
        }
        session.preflights.is_closed = !settings.ask.may_ask(ActionKind::Program);
        let reloaded = session.reload(world.system, touched, environment);
        self.begin_preflights(reloaded)
    }

    /// Reads the file of labels again, as [`crate::session::Session::reload_labels`] does. Plans stay as they are.
    pub fn reload_labels(&mut self) -> bool {
        let Resolver { session, world, .. } = &mut self.resolver;
        session.reload_labels(world.system)
    }

    /// Whether programs that were saved are being loaded.
    pub fn is_in_preflight(&self) -> bool {
        !self.preflights.loading.is_empty()
    }

    /// Reloads what [`Self::reload`] came upon, after its programs were loaded or could not be.
    pub fn reload_after_preflight(&mut self) -> ReloadResult {
        let Resolver { session, world, .. } = &mut self.resolver;
        let reloaded = match self.preflights.first.take() {
            Some(first) => first,
            None => session.reload_once_more(world.system),
        };
        self.begin_preflights(reloaded)
    }

    fn begin_preflights(&mut self, reloaded: ReloadResult) -> ReloadResult {
        let reloaded = match reloaded {
            ReloadResult::Changed { .. } => self.first_preflights(reloaded),
            other => other,
        };
        let executor = self.resolver.world.executor;
        match &reloaded {
            ReloadResult::NeedsPreflight(preflights) => {
                self.preflights.begin(preflights, executor.loader());
            }
            ReloadResult::Broken { .. } => {}
            ReloadResult::Changed { .. } => self.preflights.has_failed = false,
            ReloadResult::Same => {
                if std::mem::take(&mut self.preflights.has_failed) {
                    executor.limits().begin();
                }
            }
        }
        reloaded
    }

    /// What is read for the first time can take nothing from the screen; so its programs are loaded when it is read. Those
    /// of which the store knows what they load are not.
    fn first_preflights(&mut self, changed: ReloadResult) -> ReloadResult {
        let Resolver { session, world, .. } = &mut self.resolver;
        let system = world.system;
        session.learn_dependencies(world.store.as_ref(), system);
        let programs = session.not_loaded();
        match session.needed_preflights(&programs, system) {
            Ok(preflights) if preflights.is_empty() => changed,
            Ok(preflights) => {
                self.preflights.first = Some(changed);
                ReloadResult::NeedsPreflight(preflights)
            }
            Err(problems) => session.first_is_broken(problems, system),
        }
    }
}
