//! Bodies of requests: each is read to its end before the request is answered.
//!
//! A connection can only carry another request once the body of the last one was read. Where an answer comes first, the
//! HTTP library closes the connection after it, and a client that sends its next request there finds it closed.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use hyper::body::Body as _;

use super::answer::ApiError;

/// The largest body of a request that is answered, in bytes.
pub(super) const MOST_BODY: usize = 2 << 20;
/// The largest body that is read and dropped where the request is refused, in bytes.
const MOST_DROPPED: usize = 16 << 20;
/// How long the body of a request may take.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Answers a request once all of its body is there.
pub(super) async fn with_whole_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let refusal = match tokio::time::timeout(BODY_PATIENCE, whole(body)).await {
        Ok(Ok(body)) => return next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(refusal)) => refusal,
        Err(_) => ApiError::bad_request("the body did not come in time"),
    };
    closing(refusal.into_response())
}

async fn whole(body: Body) -> Result<Vec<u8>, ApiError> {
    let mut parts = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| ApiError::bad_request("the body is cut short"))?;
        if whole.len() + part.len() > MOST_BODY {
            return Err(ApiError::too_large());
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole)
}

/// A refusal, once the body that nobody needs is dropped. The connection ends with it where that is too much to read.
pub(super) async fn refused(refusal: Response, body: Body) -> Response {
    let least = body.size_hint().lower();
    if least > MOST_DROPPED as u64 {
        return closing(refusal);
    }
    match tokio::time::timeout(BODY_PATIENCE, dropped(body.into_data_stream())).await {
        Ok(true) => refusal,
        _ => closing(refusal),
    }
}

/// Whether a body was read to its end.
async fn dropped(mut body: BodyDataStream) -> bool {
    let mut length = 0;
    while let Some(part) = body.next().await {
        let Ok(part) = part else { return false };
        length += part.len();
        if length > MOST_DROPPED {
            return false;
        }
    }
    true
}

/// An answer after which the connection is closed, and says so.
fn closing(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::extract::Request;
    use axum::http::{StatusCode, header};
    use axum::middleware::{Next, from_fn};
    use axum::response::{IntoResponse, Response};
    use axum::routing::post;
    use futures_util::{StreamExt, stream};
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;

    use super::super::connections::accept;
    use super::{MOST_BODY, MOST_DROPPED, refused, with_whole_body};

    /// A server that answers before it looks at bodies: the handler needs none, and what says `refuse` is refused.
    fn app() -> Router {
        async fn guard(request: Request, next: Next) -> Response {
            if request.headers().contains_key("refuse") {
                return refused(StatusCode::FORBIDDEN.into_response(), request.into_body()).await;
            }
            next.run(request).await
        }
        let app = Router::new().route("/", post(async || "ok"));
        app.layer(from_fn(with_whole_body)).layer(from_fn(guard))
    }

    async fn answer(client: &mut TcpStream) -> String {
        let mut answer = vec![0; 1000];
        let length = client.read(&mut answer).await.unwrap();
        let text = String::from_utf8_lossy(&answer[..length]).into_owned();
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_body_that_comes_after_its_head_leaves_the_connection_open() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (tell, end) = watch::channel(false);
            let server = tokio::spawn(accept(listener, app(), 3, end));
            let plain = "POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\n";
            let refuse = plain.replace("host", "refuse: 1\r\nhost");
            for (head, expected) in
                [(plain, "HTTP/1.1 200 OK"), (&refuse, "HTTP/1.1 403 Forbidden")].repeat(2)
            {
                client.write_all(head.as_bytes()).await.unwrap();
                // The server reads the head alone.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                client.write_all(b"[]").await.unwrap();
                assert_eq!(answer(&mut client).await, expected);
            }
            drop(client);
            tell.send(true).unwrap();
            server.await.unwrap();
        });
    }

    /// The status of an answer to a body of parts of a MiB whose length is not said, and whether the connection goes on.
    async fn told(parts: usize, refuse: bool) -> (u16, bool) {
        let part = Bytes::from(vec![b' '; 1 << 20]);
        let parts = stream::iter(std::iter::repeat_n(part, parts)).map(Ok::<_, std::io::Error>);
        let mut request = Request::post("/").body(Body::from_stream(parts)).unwrap();
        if refuse {
            request.headers_mut().insert("refuse", header::HeaderValue::from_static("1"));
        }
        let answer = TowerToHyperService::new(app()).call(request).await.unwrap();
        (answer.status().as_u16(), !answer.headers().contains_key(header::CONNECTION))
    }

    #[test]
    fn a_body_that_is_too_large_ends_the_connection() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (mib, refuse, expected) in [
            (MOST_BODY >> 20, false, (200, true)),
            ((MOST_BODY >> 20) + 1, false, (413, false)),
            (MOST_DROPPED >> 20, true, (403, true)),
            ((MOST_DROPPED >> 20) + 1, true, (403, false)),
        ] {
            assert_eq!(runtime.block_on(told(mib, refuse)), expected, "{mib} {refuse}");
        }
    }
}
