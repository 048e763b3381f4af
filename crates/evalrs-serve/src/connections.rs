//! Connections: how many there may be, and how long who is connected may take to say what is wanted. Where there are too many, the
//! one that has waited longest for a request is closed, so that those who say nothing keep nobody waiting.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};

use super::locks::locked;

/// The most connections at once; further ones wait for their turn.
pub(super) const MOST_CONNECTIONS: u32 = 400;
/// How long the head of a request may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(20);
/// How long nobody is accepted after it did not work, as where no more files can be open.
const PAUSE: Duration = Duration::from_millis(200);

/// Connections without a request, in the order in which they began to wait for one.
#[derive(Default)]
struct IdleConnections {
    count: u64,
    /// The number of a wait → what closes the connection.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// One connection among those that may be idle.
struct ConnectionTurn {
    all: Arc<Mutex<IdleConnections>>,
    close: Arc<Notify>,
    wait: Mutex<u64>,
}

impl ConnectionTurn {
    /// One that waits for its first request.
    fn new(all: &Arc<Mutex<IdleConnections>>) -> Arc<Self> {
        let turn = Self { all: Arc::clone(all), close: Arc::default(), wait: Mutex::default() };
        turn.wait();
        Arc::new(turn)
    }

    /// It waits for a request from now on.
    fn wait(&self) {
        let mut all = locked(&self.all);
        all.count += 1;
        let count = all.count;
        all.waiting.insert(count, Arc::clone(&self.close));
        *locked(&self.wait) = count;
    }

    /// It does not wait for a request.
    fn go_on(&self) {
        locked(&self.all).waiting.remove(&*locked(&self.wait));
    }
}

/// A request until all of its answer was sent, or nobody wants it.
struct RequestUnderWay(Arc<ConnectionTurn>);

impl RequestUnderWay {
    fn new(turn: &Arc<ConnectionTurn>) -> Self {
        turn.go_on();
        Self(Arc::clone(turn))
    }

    /// The body of its answer, which ends it.
    fn body(self, body: Body) -> Body {
        let mut under_way = Some(self);
        let end = poll_fn(move |_| {
            drop(under_way.take());
            Poll::Ready(None)
        });
        Body::from_stream(body.into_data_stream().chain(end))
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// Answers at most `most` connections at once until `end` says so; then returns when all answers are given.
pub(super) async fn accept(
    listener: TcpListener,
    app: Router,
    most: u32,
    mut end: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(most as usize));
    let idle = Arc::<Mutex<IdleConnections>>::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = end.changed() => break,
        };
        // Its second member is who has connected.
        let Ok(connection) = accepted.map(|accepted| accepted.0) else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if room.available_permits() == 0
            && let Some((_, close)) = locked(&idle).waiting.pop_first()
        {
            close.notify_one();
        }
        let place = tokio::select! {
            place = Arc::clone(&room).acquire_owned() => place,
            _ = end.changed() => break,
        };
        let Ok(place) = place else { return };
        let turn = ConnectionTurn::new(&idle);
        let answering = answer(connection, app.clone(), Arc::clone(&turn), end.clone());
        tokio::spawn(async move {
            answering.await;
            turn.go_on();
            drop(place);
        });
    }
    // All places are free once nobody is connected.
    let _ = room.acquire_many(most).await;
}

async fn answer(
    stream: TcpStream,
    app: Router,
    turn: Arc<ConnectionTurn>,
    mut end: watch::Receiver<bool>,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    let close = Arc::clone(&turn.close);
    let app = TowerToHyperService::new(app);
    let service = service_fn(move |request| {
        let under_way = RequestUnderWay::new(&turn);
        let answering = app.call(request);
        async move { answering.await.map(|answer| answer.map(|body| under_way.body(body))) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Who goes away in the middle is not missed.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = close.notified() => {}
        _ = end.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::{get, post};
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;

    use super::super::answer::JsonBody;
    use super::super::bodies::with_whole_body;
    use super::{MOST_CONNECTIONS, accept};

    /// What a server says to somebody who says `said` and nothing more, on a clock that runs ahead.
    async fn told(said: &str) -> String {
        let app = Router::new()
            .route("/", post(async |_: JsonBody<Value>| "ok"))
            .layer(axum::middleware::from_fn(with_whole_body));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(said.as_bytes()).await.unwrap();
        let (tell, end) = watch::channel(false);
        let server = tokio::spawn(accept(listener, app, MOST_CONNECTIONS, end));
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

    /// The first line of what is answered to a request over a connection that stays open; empty where it was closed.
    async fn asked(client: &mut TcpStream) -> String {
        let request = "GET / HTTP/1.1\r\nhost: here\r\n\r\n";
        // One that was closed may say so only when it is read.
        let _ = client.write_all(request.as_bytes()).await;
        let mut answer = vec![0; 1000];
        let length = client.read(&mut answer).await.unwrap_or(0);
        let text = String::from_utf8_lossy(&answer[..length]).into_owned();
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_connection_that_waits_longest_makes_room() {
        const OK: &str = "HTTP/1.1 200 OK";
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let app = Router::new().route("/", get(async || "ok"));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (tell, end) = watch::channel(false);
            let server = tokio::spawn(accept(listener, app, 3, end));
            let connect = async || TcpStream::connect(address).await.unwrap();
            let mut clients = [connect().await, connect().await, connect().await];
            // The first has had an answer and waits for less long than the second.
            for at in [1, 2, 0] {
                assert_eq!(asked(&mut clients[at]).await, OK, "{at}");
            }
            let mut fourth = connect().await;
            assert_eq!(asked(&mut fourth).await, OK);
            for (at, expected) in [(1, ""), (2, OK), (0, OK)] {
                assert_eq!(asked(&mut clients[at]).await, expected, "{at}");
            }
            drop((clients, fourth));
            tell.send(true).unwrap();
            server.await.unwrap();
        });
    }
}
