//! Calls programs again that a suite wants to be sure of, while nothing else waits.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::engine::resolve::repeat::CalledAgain;
use crate::engine::resolve::settle::Settling;
use crate::pipeline::key::KeySet;

/// Programs that are being called again.
#[derive(Default)]
pub(crate) struct Checking<'a> {
    calls: FuturesUnordered<Pin<Box<dyn Future<Output = CalledAgain> + 'a>>>,
    /// What was looked at since the last save.
    seen: KeySet,
}

impl<'a> Checking<'a> {
    /// Calls some programs again that were called since the last save. To be dropped with the next one.
    pub(crate) fn begin(&mut self, settling: &Settling<'a>) {
        let asked = settling.settled.asked.iter().copied();
        let asked: KeySet = asked.filter(|key| self.seen.insert(*key)).collect();
        for waiting in settling.to_repeat(&asked) {
            if let Some(call) = settling.call_again(&waiting) {
                self.calls.push(Box::pin(call));
            }
        }
    }

    /// Waits for the next that was called; for ever where there is none.
    pub(crate) async fn next(&mut self) -> CalledAgain {
        match self.calls.next().await {
            Some(again) => again,
            None => std::future::pending().await,
        }
    }
}
