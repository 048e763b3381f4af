//! Programs that are being loaded before the session may hold them.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::session::preflight::Preflight;
use crate::session::reload::ReloadResult;
use evalrs_exec::{DiscoveredFiles, ProgramLoader};
use evalrs_model::outcome::Failure;

type LoadedProgram = (Preflight, Result<DiscoveredFiles, Failure>);

#[derive(Default)]
pub(crate) struct Preflights<'a> {
    pub loading: FuturesUnordered<Pin<Box<dyn Future<Output = LoadedProgram> + 'a>>>,
    /// What the first reading comes to if all of them can be loaded.
    pub first: Option<ReloadResult>,
    /// Whether one could not be: then its workers get another chance.
    pub has_failed: bool,
}

impl<'a> Preflights<'a> {
    pub(super) fn begin(&mut self, preflights: &[Preflight], loader: &'a dyn ProgramLoader) {
        for preflight in preflights.iter().cloned() {
            let loading = loader.load(preflight.start(), preflight.base());
            self.loading.push(Box::pin(async move { (preflight, loading.await) }));
        }
    }

    /// Waits for the next that was loaded, or cannot be; none where none is being loaded.
    pub(super) async fn next(&mut self) -> Option<LoadedProgram> {
        let loaded = self.loading.next().await;
        self.has_failed |= loaded.as_ref().is_some_and(|(_, result)| result.is_err());
        loaded
    }
}
