//! What stands between evalrs and a judge: certificates, proxies, connections that break.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::judge::Judge;
use crate::space::Space;

/// A certificate that nobody has signed, for localhost, and its key.
const PEM: &str = include_str!("connections/localhost.pem");

const REPLY: &str = r#"{"choices": [{"message": {"content": "{\"score\": 1}"}}]}"#;

/// A workspace with one row, judged at `base_url` if the suite is to say so.
fn space(base_url: Option<&str>) -> Space {
    let base_url = base_url.map_or_else(String::new, |url| format!(", base_url: '{url}'"));
    let suite = format!(
        "name: s\ndataset: data.jsonl\ngraders:\n  \
         q: {{kind: rubric, prompt: 'Is {{submission}} kind?', model: judge-1{base_url}, max_retries: 2}}\n"
    );
    let tool = "name: t\ndataset: data.jsonl\ngraders: {c: {kind: tool, function: contains}}\n";
    let row = r#"{"id": "a", "input": "q", "output": "yes", "ground_truth": "yes"}"#;
    Space::new(&[("suite.yaml", &suite), ("tool.yaml", tool), ("data.jsonl", row)])
}

/// Runs the suite with these variables, and returns the message of the one failure.
fn failure(space: &Space, environment: &[(&str, &str)]) -> String {
    let mut command = space.command(&["run", "suite.yaml"]);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let result: serde_json::Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    result["grades"]["q"]["error"]["message"].as_str().unwrap_or_default().to_owned()
}

/// A server that does `serve` with every connection. Returns its port and the number of connections.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            serve(stream);
        }
    });
    (port, count)
}

/// Reads a request to its end.
fn read_request(stream: &mut impl Read) {
    let (mut read, mut part) = (Vec::new(), [0; 4096]);
    let is_whole = |read: &[u8]| {
        let text = String::from_utf8_lossy(read).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        body.len() >= length.map_or(0, |length| length.parse().unwrap())
    };
    while !is_whole(&read) {
        match stream.read(&mut part) {
            Ok(count) if count > 0 => read.extend_from_slice(&part[..count]),
            _ => return,
        }
    }
}

fn reply(length: usize, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// A port that nothing listens at.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A judge behind a certificate that nobody has signed.
fn judge_with_certificate() -> (u16, Arc<AtomicUsize>) {
    static CONFIG: OnceLock<Arc<rustls::ServerConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let certificate = CertificateDer::from_pem_slice(PEM.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(PEM.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
    });
    server(move |mut stream| {
        let mut connection = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
        let mut stream = rustls::Stream::new(&mut connection, &mut stream);
        read_request(&mut stream);
        let _ = stream.write_all(reply(REPLY.len(), REPLY).as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    })
}

#[test]
fn nothing_but_a_judge_needs_certificates() {
    let none = [("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")];
    let judge = Judge::by_length();
    let space = space(None);
    let run = |args: &[&str]| {
        let mut command = space.command(args);
        command.envs(none).env("OPENAI_BASE_URL", judge.url()).output().unwrap()
    };
    for (args, expected) in [
        (&["run", "tool.yaml"][..], 0),
        (&["run", "tool.yaml", "--frozen"], 0),
        (&["run", "tool.yaml", "--offline"], 0),
        (&["run", "suite.yaml", "--frozen"], 3),
        (&["run", "suite.yaml"], 0),
        (&["run", "suite.yaml", "--frozen"], 0),
    ] {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{args:?}: {said}");
    }
    assert_eq!(judge.count(), 1);
}

#[test]
fn a_certificate_that_is_not_trusted_is_named_and_asked_for_once() {
    let (port, count) = judge_with_certificate();
    let url = format!("https://localhost:{port}/v1");
    let space = space(Some(&url));
    for (file, expected) in [
        (None, "`SSL_CERT_FILE` names others"),
        (
            Some("/nonexistent"),
            "no certificate could be read from `SSL_CERT_FILE` (/nonexistent), so the built-in certificate authorities are trusted",
        ),
    ] {
        let before = count.load(Ordering::SeqCst);
        let environment: Vec<_> = file.map(|file| ("SSL_CERT_FILE", file)).into_iter().collect();
        let message = failure(&space, &environment);
        let start = format!(
            "{url} has a certificate that is not trusted: invalid peer certificate: UnknownIssuer; "
        );
        assert!(message.starts_with(&start) && message.ends_with(expected), "{message}");
        assert_eq!(count.load(Ordering::SeqCst) - before, 1, "it is not retried");
    }
    space.write("own.pem", PEM);
    let trusted = space.path("own.pem");
    let output = space.command(&["run", "suite.yaml"]).env("SSL_CERT_FILE", trusted).output();
    assert_eq!(output.unwrap().status.code(), Some(0), "its own file makes it trusted");
}

#[test]
fn a_connection_that_breaks_is_told_in_one_sentence() {
    let (port, _) = server(|mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(reply(REPLY.len() + 100, REPLY).as_bytes());
    });
    let url = format!("http://127.0.0.1:{port}/v1");
    let message = failure(&space(Some(&url)), &[]);
    assert!(message.starts_with(&format!("the connection to {url} broke: ")), "{message}");
    assert!(message.len() < 200 && message.matches(&url).count() == 1, "{message}");
    let message = failure(&space(Some(&url)), &[("OPENAI_API_KEY", "first line\nsecond line")]);
    assert!(message.starts_with(&format!("no request can be sent to {url}: ")), "{message}");
    assert!(message.len() < 200 && message.matches(&url).count() == 1, "{message}");
}

#[test]
fn where_nothing_listens_a_server_is_asked_for() {
    let url = format!("http://127.0.0.1:{}/v1", free_port());
    let message = failure(&space(Some(&url)), &[]);
    assert_eq!(message, format!("nothing listens at {url}: is a server running there?"));
}

#[test]
fn this_machine_is_asked_without_a_proxy_and_others_name_theirs() {
    let proxy = format!("http://user:password@127.0.0.1:{}", free_port());
    let judge = Judge::by_length();
    let here = space(None);
    let mut command = here.command(&["run", "suite.yaml"]);
    command.env("OPENAI_BASE_URL", judge.url()).env("HTTP_PROXY", &proxy);
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    let there = space(Some("http://judge.invalid/v1"));
    let message = failure(&there, &[("HTTP_PROXY", &proxy)]);
    let shown = proxy.replace("user:password@", "");
    assert_eq!(
        message,
        format!(
            "nothing listens at the proxy {shown} that the environment names for \
             http://judge.invalid/v1: list servers to reach directly in `NO_PROXY`"
        )
    );
    let (port, _) = server(|mut stream| read_request(&mut stream));
    let proxy = format!("http://127.0.0.1:{port}");
    let message = failure(&there, &[("ALL_PROXY", &proxy)]);
    assert!(message.contains(&format!(", through the proxy {proxy}: ")), "{message}");
}
