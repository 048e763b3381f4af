//! A program that tells what it does in lines of JSON, and listens to lines: read event by event.
//!
//! It knows the shape of events (objects with a string `event`) and none of their meanings. Nothing here sleeps: whoever
//! waits for an event is woken by the line, and an event that never comes fails the test with all that came.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::judge::PATIENCE;
use crate::space::{Ran, Running};

/// Such a program; it is killed with the test.
pub(crate) struct Telling {
    running: Running,
    /// Its standard input, until it is closed.
    listening: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Every line that was taken, the oldest first.
    taken: Vec<String>,
    messages: Arc<Mutex<Vec<u8>>>,
    /// Closed when there are no more messages.
    all_said: Receiver<()>,
}

impl Telling {
    /// Starts a program as `command` says.
    pub(crate) fn new(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        let told = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            told.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let messages = Arc::new(Mutex::new(Vec::new()));
        let (mut said, heard) = (child.stderr.take().unwrap(), Arc::clone(&messages));
        let (open, all_said) = channel();
        std::thread::spawn(move || {
            let _open = open;
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = said.read(&mut bytes) {
                heard.lock().unwrap().extend(&bytes[..read]);
            }
        });
        let listening = child.stdin.take();
        Self {
            running: Running::of(child),
            listening,
            lines,
            taken: Vec::new(),
            messages,
            all_said,
        }
    }

    /// Waits for the next event.
    pub(crate) fn next_event(&mut self) -> Value {
        self.next_unless_over()
            .unwrap_or_else(|| self.fail("the program ended in place of an event"))
    }

    /// Waits for the next event of this name, past all others, and returns it.
    pub(crate) fn wait_event(&mut self, name: &str) -> Value {
        self.events_until(name).pop().unwrap()
    }

    /// Waits for the next event of this name; returns it, and before it all that came on the way.
    pub(crate) fn events_until(&mut self, name: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let Some(event) = self.next_unless_over() else {
                self.fail(&format!("the program ended without an event `{name}`"))
            };
            let is_last = event["event"] == name;
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// The next event; none after the last one.
    fn next_unless_over(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.taken.push(line);
                let event = serde_json::from_str(self.taken.last()?).unwrap_or_default();
                let is_event = |event: &Value| event["event"].is_string();
                Some(event).filter(is_event).or_else(|| self.fail("the last line is no event"))
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.fail("waited in vain for an event"),
        }
    }

    /// Fails with all that came.
    fn fail(&self, what: &str) -> ! {
        panic!("{what}:\n{}\n--- stderr\n{}", self.taken.join("\n"), self.messages())
    }

    fn messages(&self) -> String {
        String::from_utf8_lossy(&self.messages.lock().unwrap()).into_owned()
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        let listening = self.listening.as_mut().unwrap();
        listening.write_all(format!("{line}\n").as_bytes()).unwrap();
        listening.flush().unwrap();
    }

    /// Closes its standard input.
    pub(crate) fn hush(&mut self) {
        self.listening = None;
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.running.interrupt();
    }

    /// Kills it as the system does: it can do nothing about it.
    pub(crate) fn kill(self) {
        self.running.kill();
    }

    /// Waits for its end; returns the events that were not taken yet, and the whole of what it said.
    pub(crate) fn finish(mut self) -> (Vec<Value>, Ran) {
        let mut events = Vec::new();
        while let Some(event) = self.next_unless_over() {
            events.push(event);
        }
        let status = self.running.finish().0.status;
        assert_eq!(self.all_said.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
        let stdout = self.taken.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        let stderr = self.messages.lock().unwrap().clone();
        (events, Ran(Output { status, stdout, stderr }))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::Telling;

    /// A shell that runs `script`.
    #[expect(clippy::disallowed_methods, reason = "a shell tells whatever it is told to")]
    fn shell(script: &str) -> Telling {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Telling::new(command)
    }

    #[test]
    fn events_are_read_one_by_one_and_lines_are_heard() {
        let mut telling = shell(
            r#"echo '{"event": "saved", "save": 1}'; echo a message >&2; echo '{"event": "planned"}'
               read heard; echo "{\"event\": \"evaluated\", \"heard\": \"$heard\"}"
               while read heard; do :; done; echo '{"event": "ended"}'; exit 3"#,
        );
        assert_eq!(telling.next_event()["save"], 1);
        telling.say("rest");
        let events = telling.events_until("evaluated");
        assert_eq!((&events[0]["event"], &events[1]["heard"]), (&"planned".into(), &"rest".into()));
        telling.hush();
        let (events, ran) = telling.finish();
        assert_eq!((events.len(), ran.code()), (1, 3));
        assert_eq!(ran.stdout().lines().count(), 4);
        assert_eq!(ran.stderr(), "a message\n");
    }

    #[test]
    #[should_panic(expected = "without an event `evaluated`:\n{\"event\": \"saved\"}\n--- stderr")]
    fn an_event_that_never_comes_fails_with_those_that_came() {
        shell(r#"echo '{"event": "saved"}'"#).wait_event("evaluated");
    }

    #[test]
    #[should_panic(expected = "the last line is no event:\n{\"event\": \"saved\"}\nsaved")]
    fn a_line_that_is_no_event_fails() {
        shell(r#"echo '{"event": "saved"}'; echo saved"#).wait_event("evaluated");
    }

    #[test]
    fn it_can_be_interrupted_and_killed() {
        let telling = |script| {
            let mut telling = shell(script);
            assert_eq!(telling.next_event()["event"], "saved");
            telling
        };
        let telling_on = r#"trap 'echo "{\"event\": \"ended\"}"; exit 130' INT; echo '{"event": "saved"}'; while read heard; do :; done"#;
        let interrupted = telling(telling_on);
        interrupted.interrupt();
        let (events, ran) = interrupted.finish();
        assert_eq!((events.len(), ran.code()), (1, 130));
        telling(telling_on).kill();
    }
}
