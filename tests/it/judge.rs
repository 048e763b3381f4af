//! A scripted judge on loopback: each test says what it answers, and reads what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What the judge does with a request.
pub(crate) enum Answer {
    /// Replies with this status, these headers and this body.
    Http(u16, Vec<(&'static str, String)>, String),
    /// Closes the connection without a reply.
    HangUp,
    /// Never replies: until the client goes away.
    Silence,
}

impl Answer {
    /// A chat completion with this text.
    pub(crate) fn text(text: &str) -> Self {
        Self::completion(json!({"role": "assistant", "content": text}), "stop")
    }

    /// A chat completion with this message.
    pub(crate) fn completion(message: Value, finish: &str) -> Self {
        let body = json!({
            "model": "scripted-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        });
        Self::Http(200, Vec::new(), body.to_string())
    }

    /// A verdict.
    pub(crate) fn score(score: f64) -> Self {
        Self::text(&json!({"score": score, "rationale": format!("scored {score}")}).to_string())
    }

    /// An error in the shape of the first party.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::Http(status, Vec::new(), json!({"error": {"message": message}}).to_string())
    }
}

/// A request as the judge saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The headers, lower-cased names.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Value,
}

impl Asked {
    /// The text of the last message.
    pub(crate) fn prompt(&self) -> &str {
        self.body["messages"]
            .as_array()
            .and_then(|messages| messages.last()?["content"].as_str())
            .unwrap_or_default()
    }
}

type Script = dyn Fn(usize, &Asked) -> Answer + Send + Sync;

/// A judge that listens until the test ends.
pub(crate) struct Judge {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    answered: Arc<AtomicUsize>,
}

impl Judge {
    /// A judge that answers request `n` (from 0) as `script` says.
    pub(crate) fn new(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let judge = Self { port, asked: Arc::default(), answered: Arc::default() };
        let (asked, answered, script) =
            (Arc::clone(&judge.asked), Arc::clone(&judge.answered), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, answered, script) =
                    (Arc::clone(&asked), Arc::clone(&answered), Arc::clone(&script));
                std::thread::spawn(move || serve(&stream, &asked, &answered, script.as_ref()));
            }
        });
        judge
    }

    /// A judge whose every verdict is a function of the prompt alone.
    pub(crate) fn by_length() -> Self {
        Self::new(|_, asked| Answer::score((asked.prompt().len() % 101) as f64 / 100.0))
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many requests there were.
    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// How many replies were written to the end.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

fn serve(stream: &TcpStream, asked: &Mutex<Vec<Asked>>, answered: &AtomicUsize, script: &Script) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let number = {
            let mut asked = asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        match script(number, &request) {
            Answer::HangUp => return,
            Answer::Silence => {
                let _ = reader.read(&mut [0]);
                return;
            }
            Answer::Http(status, headers, body) => {
                let mut reply = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
                    body.len()
                );
                for (name, value) in headers {
                    reply.push_str(&format!("{name}: {value}\r\n"));
                }
                reply.push_str("\r\n");
                reply.push_str(&body);
                let mut stream = stream;
                if stream.write_all(reply.as_bytes()).is_err() {
                    return;
                }
                answered.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Asked> {
    let mut headers = Vec::new();
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
            }
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { headers, body: serde_json::from_slice(&body).unwrap() })
}
