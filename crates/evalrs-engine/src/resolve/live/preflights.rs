//! Programs that are being loaded before the session may hold them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::session::programs::read_program::ReadProgram;
use crate::session::reload::ReloadResult;
use evalrs_exec::{DiscoveredFiles, ProgramLoader};
use evalrs_model::outcome::Failure;

type LoadedProgram = (ReadProgram, Result<DiscoveredFiles, Failure>);

#[derive(Default)]
pub(crate) struct Preflights<'a> {
    pub loading: FuturesUnordered<Pin<Box<dyn Future<Output = LoadedProgram> + 'a>>>,
    /// What the first reading comes to if all of them can be loaded.
    pub first: Option<ReloadResult>,
    /// Whether one could not be: then its workers get another chance.
    pub has_failed: bool,
}

impl<'a> Preflights<'a> {
    pub(super) fn begin(&mut self, programs: &[ReadProgram], loader: &'a dyn ProgramLoader) {
        for read in programs.iter().cloned() {
            let loading = loader.load(Arc::clone(&read.start), read.base());
            self.loading.push(Box::pin(async move { (read, loading.await) }));
        }
    }

    /// Waits for the next that was loaded, or cannot be; none where none is being loaded.
    pub(super) async fn next(&mut self) -> Option<LoadedProgram> {
        let loaded = self.loading.next().await;
        self.has_failed |= loaded.as_ref().is_some_and(|(_, result)| result.is_err());
        loaded
    }
}
