//! A judge on loopback that answers every request with one verdict, after a moment.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What it says.
pub(crate) const VERDICT: &str = r#"{"rationale": "The answer is correct and polite but leaves one question open.", "score": 0.8}"#;

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Answers everything after `latency`, on a thread of its own; returns its base URL.
pub(crate) fn serve(latency: Duration) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            let mut open = FuturesUnordered::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => open.push(answer_all(accepted.unwrap().0, latency)),
                    Some(()) = open.next() => {}
                }
            }
        });
    });
    url
}

async fn answer_all(mut stream: TcpStream, latency: Duration) {
    let content = serde_json::json!({
        "model": "judge-1",
        "choices": [{"message": {"role": "assistant", "content": VERDICT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 412, "completion_tokens": 25},
    });
    let body = content.to_string();
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).await.is_ok_and(|read| read > 0) {
        let header = line.trim_end().to_ascii_lowercase();
        line.clear();
        if let Some(said) = header.strip_prefix("content-length:") {
            length = said.trim().parse().unwrap();
        }
        if header.is_empty() {
            reader.read_exact(&mut vec![0; length]).await.unwrap();
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            if writer.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
