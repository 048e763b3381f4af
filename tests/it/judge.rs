//! A scripted judge on loopback: each test says what it answers and in which order, and reads what it was asked.
//!
//! Nothing here sleeps: whoever waits is woken by the request or reply it waits for. A test that waits in vain fails.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};

/// What the judge does with a request.
pub(crate) enum Answer {
    /// Replies with this status, these headers and this body.
    Http(u16, Vec<(&'static str, String)>, String),
    /// A reply whose body breaks off.
    Torn(String),
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
    #[expect(clippy::needless_pass_by_value, reason = "callers write the message where it is used")]
    pub(crate) fn completion(message: Value, finish: &str) -> Self {
        let body = json!({
            "model": "scripted-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        });
        Self::Http(200, Vec::new(), body.to_string())
    }

    /// A message of Anthropic with this text.
    pub(crate) fn message(text: &str, stop_reason: &str) -> Self {
        let body = json!({
            "type": "message",
            "model": "scripted-1",
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}],
            "stop_reason": stop_reason,
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 2},
        });
        Self::Http(200, Vec::new(), body.to_string())
    }

    /// A candidate of Google with this text.
    pub(crate) fn candidate(text: &str, finish_reason: &str) -> Self {
        let parts = json!([{"text": "Hm.", "thought": true}, {"text": text}]);
        let body = json!({
            "modelVersion": "scripted-1",
            "candidates": [{
                "content": {"role": "model", "parts": parts},
                "finishReason": finish_reason,
            }],
            "usageMetadata": {
                "promptTokenCount": 10, "candidatesTokenCount": 1, "thoughtsTokenCount": 1,
            },
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
    /// The method.
    pub(crate) method: String,
    /// The path, with its query.
    pub(crate) path: String,
    /// The headers, lower-cased names.
    pub(crate) headers: Vec<(String, String)>,
    /// The body; null where it is no JSON.
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) raw: String,
    /// See [`Asked::sent`].
    sent: String,
    /// See [`Asked::prompt`].
    prompt: String,
}

/// The text of the last message of a body, whatever the API.
fn last_text(body: &Value) -> String {
    let last = |name: &str| body[name].as_array().and_then(|messages| messages.last());
    let of_parts = |parts: &Value| {
        let parts = parts.as_array().into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    match last("messages").map(|message| &message["content"]) {
        Some(Value::String(text)) => text.clone(),
        Some(parts) => of_parts(parts),
        None => last("contents").map(|last| of_parts(&last["parts"])).unwrap_or_default(),
    }
}

impl Asked {
    fn new(method: String, path: String, headers: Vec<(String, String)>, raw: String) -> Self {
        let body = serde_json::from_str(&raw).unwrap_or_default();
        Self { method, path, headers, raw, ..Self::of_body(body) }
    }

    /// A request with this body.
    pub(crate) fn of_body(body: Value) -> Self {
        let sent = last_text(&body);
        let prompt = plain(&sent);
        let [method, path, raw] = [const { String::new() }; 3];
        Self { method, path, headers: Vec::new(), body, raw, sent, prompt }
    }

    /// The text of the last message without fences and without what scores mean: most tests are of other things.
    pub(crate) fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The text of the last message, whatever the API.
    pub(crate) fn sent(&self) -> &str {
        &self.sent
    }

    /// The prompt without what is said there about the form of the reply.
    pub(crate) fn question(&self) -> &str {
        self.prompt().split("\n\nReply with").next().unwrap_or_default()
    }

    /// A header, by its lower-cased name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }
}

type Script = dyn Fn(usize, &Asked) -> Answer + Send + Sync;

/// How long anybody waits for something that must come.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// In which order replies are given.
pub(crate) enum Order {
    /// Each as soon as it is known.
    AtOnce,
    /// The same, but no more than so many in all: further ones are held.
    UpTo(usize),
    /// Each as soon as it is known, to requests whose prompts hold one of these texts; all others are held.
    Released(Vec<String>),
    /// One at a time, a random one of those that wait, and only while as many wait as can.
    Shuffled {
        /// How many requests the client has under way.
        at_once: usize,
        /// How many requests there will be.
        total: usize,
        /// Which one is next.
        random: fastrand::Rng,
    },
}

/// What the judge knows.
struct Ledger {
    asked: Vec<Asked>,
    /// How many requests were unanswered when each came, itself included.
    at_once: Vec<usize>,
    /// Requests whose replies are known and not given yet.
    waiting: BTreeSet<usize>,
    /// Replies that were begun, some of them to clients that are gone.
    begun: usize,
    /// Requests whose replies were written to the end, in that order.
    given: Vec<usize>,
    /// Requests whose clients went away while their replies were held, in that order.
    hung_up: Vec<usize>,
    order: Order,
    /// The one request that is replied to, where the order is one at a time.
    turn: Option<usize>,
    closed: bool,
}

impl Ledger {
    /// Whether request `number` is replied to now.
    fn is_due(&mut self, number: usize) -> bool {
        let (begun, turn) = (self.begun, self.turn);
        match &mut self.order {
            Order::AtOnce => true,
            Order::UpTo(most) => begun < *most,
            Order::Released(texts) => {
                let prompt = self.asked[number].prompt();
                texts.iter().any(|text| prompt.contains(text))
            }
            Order::Shuffled { at_once, total, random } => {
                let most = (*at_once).min(total.saturating_sub(self.given.len()));
                if turn.is_none() && self.waiting.len() >= most {
                    let next = random.usize(..self.waiting.len());
                    self.turn = self.waiting.iter().nth(next).copied();
                }
                self.turn == Some(number)
            }
        }
    }
}

struct Desk {
    ledger: Mutex<Ledger>,
    changed: Condvar,
}

impl Desk {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// Waits until request `number` is due. False if the client or the judge has gone home.
    fn wait_for_turn(self: &Arc<Self>, number: usize, stream: &TcpStream) -> bool {
        let mut ledger = self.ledger();
        let mut is_watched = false;
        ledger.waiting.insert(number);
        self.changed.notify_all();
        while !ledger.closed && ledger.waiting.contains(&number) {
            let turn = ledger.turn;
            let is_due = ledger.is_due(number);
            if ledger.turn != turn {
                // The one whose turn it is now may be another one, and asleep.
                self.changed.notify_all();
            }
            if is_due {
                ledger.waiting.remove(&number);
                ledger.begun += 1;
                return true;
            }
            if !is_watched {
                self.notice_hang_up(number, stream);
                is_watched = true;
            }
            ledger = self.changed.wait(ledger).unwrap();
        }
        false
    }

    /// Listens for the end of the connection while the reply to request `number` is held.
    ///
    /// A client sends nothing more before it has the reply: what comes first is the end. What comes later finds that the
    /// reply is held no more.
    fn notice_hang_up(self: &Arc<Self>, number: usize, stream: &TcpStream) {
        let (desk, stream) = (Arc::clone(self), stream.try_clone().unwrap());
        std::thread::spawn(move || {
            if !stream.peek(&mut [0]).is_ok_and(|read| read > 0) {
                desk.hang_up(number);
            }
        });
    }

    /// Takes request `number` off the list if it is still held: nobody waits for its reply.
    fn hang_up(&self, number: usize) {
        let mut ledger = self.ledger();
        if ledger.waiting.remove(&number) {
            ledger.hung_up.push(number);
            if ledger.turn == Some(number) {
                ledger.turn = None;
            }
            self.changed.notify_all();
        }
    }

    fn finish(&self, number: usize, was_written: bool) {
        let mut ledger = self.ledger();
        if was_written {
            ledger.given.push(number);
        }
        ledger.turn = None;
        self.changed.notify_all();
    }
}

/// Which replies were given so far, for a script that is written before its judge is there.
#[derive(Clone)]
pub(crate) struct GivenReplies(Arc<Desk>);

impl GivenReplies {
    /// Whether the reply to request `number` has ended.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.0.ledger().given.contains(&number)
    }
}

/// A judge that listens until it is dropped.
pub(crate) struct Judge {
    port: u16,
    desk: Arc<Desk>,
}

impl Judge {
    /// A judge that answers request `n` (from 0) as `script` says.
    pub(crate) fn new(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ledger = Ledger {
            asked: Vec::new(),
            at_once: Vec::new(),
            waiting: BTreeSet::new(),
            begun: 0,
            given: Vec::new(),
            hung_up: Vec::new(),
            order: Order::AtOnce,
            turn: None,
            closed: false,
        };
        let desk = Arc::new(Desk { ledger: Mutex::new(ledger), changed: Condvar::new() });
        let judge = Self { port, desk: Arc::clone(&desk) };
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if desk.ledger().closed {
                    return;
                }
                let (desk, script) = (Arc::clone(&desk), Arc::clone(&script));
                std::thread::spawn(move || serve(&stream, &desk, script.as_ref()));
            }
        });
        judge
    }

    /// Which replies were given so far.
    pub(crate) fn given_replies(&self) -> GivenReplies {
        GivenReplies(Arc::clone(&self.desk))
    }

    /// A judge whose every verdict is a function of the prompt alone.
    pub(crate) fn by_length() -> Self {
        Self::new(|_, asked| Answer::score((asked.prompt().len() % 101) as f64 / 100.0))
    }

    /// Sets the order of the replies that were not begun yet.
    pub(crate) fn order(&self, order: Order) {
        self.desk.ledger().order = order;
        self.desk.changed.notify_all();
    }

    /// The same judge with its replies in this order.
    pub(crate) fn in_order(self, order: Order) -> Self {
        self.order(order);
        self
    }

    /// Holds every reply that was not begun yet, until [`Self::release`] names it.
    pub(crate) fn hold(&self) {
        self.order(Order::Released(Vec::new()));
    }

    /// Lets go the replies to prompts that hold `text`, those to come included.
    pub(crate) fn release(&self, text: &str) {
        let mut ledger = self.desk.ledger();
        match &mut ledger.order {
            Order::Released(texts) => texts.push(text.to_owned()),
            _ => panic!("no reply is held by its prompt"),
        }
        self.desk.changed.notify_all();
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.root())
    }

    /// Its base URL for APIs that have the version in their paths.
    pub(crate) fn root(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.desk.ledger().asked.clone()
    }

    /// How many requests there were.
    pub(crate) fn count(&self) -> usize {
        self.desk.ledger().asked.len()
    }

    /// The questions since there were `mark` requests, in the order they came.
    pub(crate) fn asked_since(&self, mark: usize) -> Vec<String> {
        let ledger = self.desk.ledger();
        ledger.asked[mark..].iter().map(|asked| asked.question().to_owned()).collect()
    }

    /// The questions whose clients went away while the replies were held, in that order.
    pub(crate) fn hung_up(&self) -> Vec<String> {
        let ledger = self.desk.ledger();
        let question = |number: &usize| ledger.asked[*number].question().to_owned();
        ledger.hung_up.iter().map(question).collect()
    }

    /// How many requests were unanswered when each came, itself included.
    pub(crate) fn at_once(&self) -> Vec<usize> {
        self.desk.ledger().at_once.clone()
    }

    /// The requests whose replies were written to the end, in the order of the replies.
    pub(crate) fn given(&self) -> Vec<Asked> {
        let ledger = self.desk.ledger();
        ledger.given.iter().map(|number| ledger.asked[*number].clone()).collect()
    }

    /// Waits until there were so many requests.
    pub(crate) fn wait_asked(&self, count: usize) {
        self.wait(|ledger| ledger.asked.len() >= count);
    }

    /// Waits until so many replies were written to the end.
    pub(crate) fn wait_given(&self, count: usize) {
        self.wait(|ledger| ledger.given.len() >= count);
    }

    /// Waits until so many clients went away while their replies were held.
    pub(crate) fn wait_hung_up(&self, count: usize) {
        self.wait(|ledger| ledger.hung_up.len() >= count);
    }

    fn wait(&self, is_so: impl Fn(&Ledger) -> bool) {
        let ledger = self.desk.ledger();
        let waited = self.desk.changed.wait_timeout_while(ledger, PATIENCE, |now| !is_so(now));
        let (ledger, timeout) = waited.unwrap();
        let [asked, given, hung_up] =
            [ledger.asked.len(), ledger.given.len(), ledger.hung_up.len()];
        drop(ledger);
        assert!(
            !timeout.timed_out(),
            "waited in vain: {asked} asked, {given} given, {hung_up} hung up"
        );
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.desk.ledger().closed = true;
        self.desk.changed.notify_all();
        // Wakes the thread that accepts, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: &TcpStream, desk: &Arc<Desk>, script: &Script) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let number = {
            let mut ledger = desk.ledger();
            ledger.asked.push(request.clone());
            let unanswered = ledger.asked.len() - ledger.begun - ledger.hung_up.len();
            ledger.at_once.push(unanswered);
            desk.changed.notify_all();
            ledger.asked.len() - 1
        };
        match script(number, &request) {
            Answer::HangUp => break,
            Answer::Torn(body) => {
                let mut stream = stream;
                let reply = reply(200, Vec::new(), &(body + &" ".repeat(1_000)));
                let _ = stream.write_all(&reply.as_bytes()[..reply.len() - 1_000]);
                break;
            }
            Answer::Silence => {
                let _ = reader.read(&mut [0]);
                break;
            }
            Answer::Http(status, headers, body) => {
                if !desk.wait_for_turn(number, stream) {
                    break;
                }
                let mut stream = stream;
                let reply = reply(status, headers, &body);
                let was_written = stream.write_all(reply.as_bytes()).is_ok();
                desk.finish(number, was_written);
                if !was_written {
                    break;
                }
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn reply(status: u16, headers: Vec<(&'static str, String)>, body: &str) -> String {
    let length = body.len();
    let mut reply = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
    );
    for (name, value) in headers {
        reply.extend([name, ": ", &value, "\r\n"]);
    }
    reply.push_str("\r\n");
    reply.push_str(body);
    reply
}

fn read_request(reader: &mut impl BufRead) -> Option<Asked> {
    let mut headers = Vec::new();
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let method = words.next()?;
    let path = words.next()?;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked::new(method, path, headers, String::from_utf8(body).unwrap()))
}

/// The fences of a message, and what is said there of the meaning of scores.
static FENCES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<[a-z-]+-[0-9a-f]{12}>\n|\n</[a-z-]+-[0-9a-f]{12}>").unwrap());
static MEANINGS: LazyLock<Regex> = LazyLock::new(|| {
    let scores = r" [-0-9.]+ is complete failure, [-0-9.]+ is full success; use numbers between them for partial success\.";
    Regex::new(&format!(r"{scores}| Say `tie` where neither is better\.")).unwrap()
});

/// A message without fences and without what scores mean.
pub(crate) fn plain(sent: &str) -> String {
    MEANINGS.replace_all(&FENCES.replace_all(sent, ""), "").into_owned()
}
