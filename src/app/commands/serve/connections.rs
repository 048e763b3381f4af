//! Connections: how many there may be, and how long who is connected may take to say what is wanted.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// The most connections at once; further ones wait for their turn.
const MOST_CONNECTIONS: u32 = 400;
/// How long the head of a request may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(20);
/// How long nobody is accepted after it did not work, as where no more files can be open.
const PAUSE: Duration = Duration::from_millis(200);

/// Answers connections until `end` says so; then returns when all answers are given.
pub(super) async fn accept(listener: TcpListener, app: Router, mut end: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS as usize));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = end.changed() => break,
        };
        // Its second member is who has connected.
        let Ok(connection) = accepted.map(|accepted| accepted.0) else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let answering = answer(connection, app.clone(), end.clone());
        tokio::spawn(async move {
            answering.await;
            drop(place);
        });
    }
    // All places are free once nobody is connected.
    let _ = room.acquire_many(MOST_CONNECTIONS).await;
}

/// Answers the requests of one connection.
async fn answer(stream: TcpStream, app: Router, mut end: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    let service = TowerToHyperService::new(app);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Who goes away in the middle is not missed.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = end.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::post;
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;

    use super::super::answer::JsonBody;
    use super::accept;

    /// What a server says to somebody who says `said` and nothing more, on a clock that runs ahead.
    async fn told(said: &str) -> String {
        let app = Router::new().route("/", post(async |_: JsonBody<Value>| "ok"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(said.as_bytes()).await.unwrap();
        let (tell, end) = watch::channel(false);
        let server = tokio::spawn(accept(listener, app, end));
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        drop(client);
        tell.send(true).unwrap();
        server.await.unwrap();
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn who_says_nothing_more_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let head = "POST / HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n";
        for (said, expected) in [
            (
                format!("{head}connection: close\r\ncontent-length: 2\r\n\r\n{{}}"),
                "HTTP/1.1 200 OK",
            ),
            (format!("{head}content-length: 9\r\n\r\n{{"), "HTTP/1.1 400 Bad Request"),
            (head.to_owned(), ""),
            (String::new(), ""),
        ] {
            let first = runtime.block_on(async {
                tokio::time::pause();
                let first = told(&said).await;
                tokio::time::resume();
                first
            });
            assert_eq!(first, expected, "{said}");
        }
    }
}
