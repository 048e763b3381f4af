//! The signals that end a command: Ctrl-C, and on Unix SIGTERM and SIGHUP.

use std::future::Future;

/// Resolves on Ctrl-C, SIGTERM or SIGHUP. A signal that cannot be listened to ends the process, as by default.
#[cfg(unix)]
pub fn interrupted() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    // Listened to from now on, and not from when somebody waits: the screen is taken over before that.
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    async move {
        if signals.is_empty() {
            std::future::pending::<()>().await;
        }
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures_util::future::select_all(any).await;
    }
}

#[cfg(not(unix))]
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
