//! A server on loopback that answers every request after a moment.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Answers each request with the JSON that `answer` makes of its body, on a thread of its own; returns the address of `path`.
pub(crate) fn serve(
    path: &str,
    latency: Duration,
    answer: impl Fn(&str) -> String + Send + 'static,
) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            let mut open = FuturesUnordered::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        open.push(answer_all(accepted.unwrap().0, latency, &answer));
                    }
                    Some(()) = open.next() => {}
                }
            }
        });
    });
    url
}

async fn answer_all(mut stream: TcpStream, latency: Duration, answer: &impl Fn(&str) -> String) {
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
            let mut asked = vec![0; length];
            reader.read_exact(&mut asked).await.unwrap();
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            let body = answer(&String::from_utf8_lossy(&asked));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            let reply = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            if writer.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
