//! A session of `watch` on a page: a server on a thread of its own, the events of the session, and its record as it is
//! after each save.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::sync::oneshot;

use super::args::ServeSessionArgs;
use super::job::EvaluationJob;
use super::served::{ServedSuite, ServedWorkspace};
use super::{answer_until, bound, open_browser};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::Error;

/// The events of pages: the names are those of `watch --json`.
const NAMES: [&str; 9] = [
    "saved",
    "broken_files",
    "fixed_files",
    "planned",
    "verdict",
    "paused",
    "evaluated",
    "waiting",
    "note",
];

/// The suite of a session, and how its page is served.
#[derive(Clone, Copy, Debug)]
pub struct WatchedSuite<'a> {
    /// The suite file.
    pub suite: &'a str,
    /// The file of labels, where that is not the one beside the suite.
    pub labels: Option<&'a str>,
    /// The folder of the store, if set.
    pub cache_dir: Option<&'a str>,
    /// The port, and whether a browser is opened.
    pub page: &'a ServeSessionArgs,
}

/// A session that is served. It ends when it is dropped.
pub struct SessionServer {
    /// Where the page of the session is.
    pub url: String,
    job: Arc<EvaluationJob>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SessionServer {
    /// Serves the session whose record is `id` of those in `home`, and the suite that calls itself `name`.
    pub fn begin(
        watched: &WatchedSuite<'_>,
        name: String,
        home: &str,
        id: &str,
        console: &mut Console<'_>,
    ) -> Result<Self, Error> {
        let listener = bound(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), watched.page.port))?;
        let url = format!("http://{}/", listener.local_addr()?);
        let suites = vec![ServedSuite { name: name.clone(), path: watched.suite.to_owned() }];
        let served = ServedWorkspace {
            first: watched.suite.to_owned(),
            labels: watched.labels.map(str::to_owned),
            cache_dir: watched.cache_dir.map(str::to_owned),
            ..ServedWorkspace::new(suites, home.to_owned())
        };
        let job = served.jobs.follow(id.to_owned(), name);
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(move || {
            let until = async {
                let _ = stopped.await;
            };
            // Whoever looks at the page sees that it went away.
            let _ = runtime.block_on(answer_until(listener, Arc::new(served), None, until));
        })?;
        if watched.page.open {
            open_browser(&url, console)?;
        }
        Ok(Self { url, job, stop: Some(stop), thread: Some(thread) })
    }

    /// Takes the lines of `watch --json` and sends them to pages.
    pub fn events(&self) -> SessionEvents {
        SessionEvents { job: Arc::clone(&self.job), line: Vec::new() }
    }

    /// The record of the session is another one now.
    pub fn note_record(&self) {
        self.job.note_record();
    }
}

impl Drop for SessionServer {
    fn drop(&mut self) {
        self.job.end(Some(0), None);
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends lines of JSON as events.
pub struct SessionEvents {
    job: Arc<EvaluationJob>,
    line: Vec<u8>,
}

impl Write for SessionEvents {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        for line in std::mem::take(&mut self.line).split(|byte| *byte == b'\n') {
            let event: Option<Value> = serde_json::from_slice(line).ok();
            let told = event.as_ref().and_then(|event| event["event"].as_str());
            // The end is told once the record is written.
            if let Some(name) = NAMES.into_iter().find(|name| told == Some(name)) {
                self.job.tell(name, &event);
            }
        }
        Ok(())
    }
}
