//! `evalrs watch --plain`: the blocks of a session as lines, and an output that nobody reads any more.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use super::{SUITE, TERSE, judge, save, space};
use crate::judge::{Judge, PATIENCE};
use crate::space::{Running, Space};

/// A session that writes lines.
struct Lines {
    running: Running,
    input: ChildStdin,
    /// What it writes, line by line. The pipe is closed after the first line that nobody receives.
    output: Receiver<String>,
}

impl Lines {
    fn begin(space: &Space, judge: &Judge, args: &[&str]) -> Self {
        let mut command = space.command(&["watch", "suite.yaml"]);
        command.args(args).env("OPENAI_BASE_URL", judge.url());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, written) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, output) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(written).lines();
            lines.map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { running: Running::of(child), input, output }
    }

    /// Reads until a line holds `text`, which has to come; returns what was read.
    fn until(&self, text: &str) -> String {
        let mut read = String::new();
        loop {
            let Ok(line) = self.output.recv_timeout(PATIENCE) else {
                panic!("`{text}` never came:\n{read}")
            };
            read.extend([&line, "\n"]);
            if line.contains(text) {
                return read;
            }
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Quits, and returns what was not read yet.
    fn quit(mut self) -> String {
        self.say("q");
        let mut rest = String::new();
        while let Ok(line) = self.output.recv_timeout(PATIENCE) {
            rest.extend([&line, "\n"]);
        }
        let ran = self.running.finish();
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{rest}");
        rest
    }
}

#[test]
fn each_save_is_a_block_of_lines() {
    let (space, judge) = (space(6), judge());
    let mut lines = Lines::begin(&space, &judge, &["--plain", "--preview", "4"]);
    let mut shown = lines.until("press Enter");
    lines.say("");
    shown += &lines.until("6 grades");
    save(&space, "rubric.txt", TERSE);
    shown += &lines.until("press Enter");
    lines.say("");
    for id in ["s1", "s3", "s5"] {
        shown += &lines.until(&format!("broken  quality  {id}"));
    }
    save(&space, "suite.yaml", &SUITE.replace("kind: rubric", "kind: ["));
    shown += &lines.until("still showing");
    save(&space, "suite.yaml", SUITE);
    let noted = {
        lines.say("what?");
        lines.until("unknown command")
    };
    assert!(noted.contains("`what?`"), "{noted}");
    for expected in [
        "4 of 6 judgments made; press Enter to make the other 2",
        "save 1: rubric.txt\n  judgments: 6 made, 0 cached\n",
        "gate FAILED (was PASSED)  quality avg_score >= 0.75: 0.500",
        "broken  quality  s5  1.000 → 0.000  (-1.000)",
        "still showing save 1",
    ] {
        assert!(shown.contains(expected), "no `{expected}`:\n{shown}");
    }
    let end = lines.quit();
    assert!(end.contains("12 judgments"), "{end}");
}

#[test]
fn n_in_a_line_asks_the_next_ones() {
    let (space, judge) = (space(230), judge());
    let mut lines = Lines::begin(&space, &judge, &["--plain"]);
    let shown = lines.until("or keep editing");
    assert!(shown.contains("the other 210, `n` for the next 200, or keep editing"), "{shown}");
    lines.say("n");
    let shown = lines.until("or keep editing");
    assert!(
        shown.contains("220 of 230 judgments made; press Enter to make the other 10, or"),
        "{shown}"
    );
    assert_eq!(judge.count(), 220);
    lines.quit();
}

#[test]
fn lines_are_written_where_there_is_no_screen() {
    let (space, judge) = (space(2), judge());
    let lines = Lines::begin(&space, &judge, &[]);
    lines.until("quality avg_score >= 0.75: 1.000");
    assert!(lines.quit().contains("end: 0 saves"));
}

#[test]
fn a_session_ends_once_nobody_reads_it() {
    for flag in ["--plain", "--json"] {
        let (space, judge) = (space(3), judge());
        let lines = Lines::begin(&space, &judge, &[flag]);
        lines.until("quality");
        let Lines { running, input, output } = lines;
        drop(output);
        save(&space, "rubric.txt", TERSE);
        let ran = running.finish();
        assert!(!ran.stderr().contains("panicked"), "{flag}: {}", ran.shown());
        drop(input);
        assert_eq!(space.run(&["cache", "verify", "suite.yaml"]).code(), 0, "{flag}");
    }
}
