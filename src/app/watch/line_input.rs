//! Commands as lines on standard input of `evalrs watch`.
//!
//! Three steps: a thread hands lines over, for a read of standard input cannot be cancelled; [`parse`] says what a line
//! means; [`resolve`] finds the verdict it names. The end of the input ends no session: it only means that no
//! command follows.

use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;
use tokio::sync::mpsc;

use super::board::{Board, Overview, UserCommand, VerdictFilter, VerdictId, VerdictRow};
use super::json::grader_key;
use crate::base::diagnostic::clipped;

/// The longest line that is read, in bytes; of a longer one the rest is skipped.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// The lines that wait to be read before the thread does.
const MAX_WAITING_LINES: usize = 16;

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineCommand {
    /// Ends the session.
    Quit,
    /// Asks what was held back.
    RunRest,
    /// Looks at the evaluation before, or back at the newest.
    Undo,
    /// Asks a verdict anew.
    Refresh(VerdictName),
    /// Pins a sample, or no more.
    Pin(VerdictName),
}

/// The verdict that is meant: the first one in dataset order that has all that is said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictName {
    /// The sample.
    pub sample_id: String,
    /// The grader, by its name in the suite or for people.
    pub grader: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The trial, from 0.
    pub trial: Option<u32>,
}

/// A line as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCommand {
    /// Clients of the first format say `wish`.
    #[serde(alias = "wish")]
    command: JsonCommandKind,
    sample_id: Option<String>,
    grader: Option<String>,
    model: Option<String>,
    trial: Option<u32>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JsonCommandKind {
    Quit,
    #[serde(alias = "run_rest")]
    Resume,
    Undo,
    Refresh,
    Pin,
}

/// What a line asks for: an empty one for the rest, `q` or `quit`, `u` or `undo`; or an object `{"command": ...}` where
/// `json`. Else a sentence on what is wrong with it.
pub(crate) fn parse(line: &str, json: bool) -> Result<LineCommand, String> {
    match line.trim() {
        "" => Ok(LineCommand::RunRest),
        "q" | "quit" => Ok(LineCommand::Quit),
        "u" | "undo" => Ok(LineCommand::Undo),
        object if json => {
            let line: JsonCommand = serde_json::from_str(object)
                .map_err(|error| format!("invalid command: {error}"))?;
            line.request()
        }
        other => Err(format!(
            "unknown command `{}`: an empty line resumes, `u` shows the previous save, `q` quits",
            clipped(other)
        )),
    }
}

impl JsonCommand {
    fn request(self) -> Result<LineCommand, String> {
        let names = self.grader.is_some() || self.model.is_some() || self.trial.is_some();
        let simple = match self.command {
            JsonCommandKind::Refresh | JsonCommandKind::Pin => {
                let sample_id = self.sample_id.ok_or("`refresh` and `pin` need `sample_id`")?;
                let grader = self.grader;
                let model = self.model;
                let trial = self.trial;
                let name = VerdictName { sample_id, grader, model, trial };
                return Ok(match self.command {
                    JsonCommandKind::Pin => LineCommand::Pin(name),
                    _ => LineCommand::Refresh(name),
                });
            }
            JsonCommandKind::Quit => LineCommand::Quit,
            JsonCommandKind::Resume => LineCommand::RunRest,
            JsonCommandKind::Undo => LineCommand::Undo,
        };
        if names || self.sample_id.is_some() {
            return Err("only `refresh` and `pin` take a verdict".to_owned());
        }
        Ok(simple)
    }
}

/// The command that a line is, or a sentence where the board has no such verdict.
pub(crate) fn resolve(request: LineCommand, board: &dyn Board) -> Result<UserCommand, String> {
    Ok(match request {
        LineCommand::Quit => UserCommand::Quit,
        LineCommand::RunRest => UserCommand::RunRest,
        LineCommand::Undo => UserCommand::Undo,
        LineCommand::Refresh(name) => UserCommand::Refresh(find(&name, board)?),
        LineCommand::Pin(name) => UserCommand::Pin(find(&name, board)?),
    })
}

fn find(name: &VerdictName, board: &dyn Board) -> Result<VerdictId, String> {
    let overview = board.overview();
    let rows = board.rows(VerdictFilter::All, "");
    let found = rows.into_iter().find(|id| {
        let row = board.row(*id);
        row.is_some_and(|row| name.is_of(&row, overview))
    });
    found.ok_or_else(|| {
        let grader = name.grader.as_deref();
        let grader = grader.map_or_else(String::new, |grader| format!(" by `{}`", clipped(grader)));
        format!("there is no verdict of sample `{}`{grader}", clipped(&name.sample_id))
    })
}

impl VerdictName {
    fn is_of(&self, row: &VerdictRow, overview: &Overview) -> bool {
        let is_grader = |name: &String| *name == row.grader || name == grader_key(overview, row);
        self.sample_id == row.sample_id
            && self.grader.as_ref().is_none_or(is_grader)
            && self.model.as_ref().is_none_or(|model| row.model.as_ref() == Some(model))
            && self.trial.is_none_or(|trial| trial == row.trial)
    }
}

/// Lines of an input, read by a thread of their own.
#[derive(Debug)]
pub(crate) struct CommandReader {
    lines: mpsc::Receiver<String>,
    json: bool,
}

impl CommandReader {
    /// Begins to read `input`. An input that cannot be read has no lines.
    pub(crate) fn new(input: impl Read + Send + 'static, json: bool) -> Self {
        let (sender, lines) = mpsc::channel(MAX_WAITING_LINES);
        let read = move || {
            let mut input = BufReader::new(input);
            while let Some(line) = next_line(&mut input) {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        };
        // Where there is no thread to be had, the session goes on without commands.
        let _ = std::thread::Builder::new().name("requests".to_owned()).spawn(read);
        Self { lines, json }
    }

    /// The next request, or what is wrong with the next line; waits for ever once there is none. Loses nothing when
    /// it is dropped before it is done.
    pub(crate) async fn next(&mut self) -> Result<LineCommand, String> {
        match self.lines.recv().await {
            Some(line) => parse(&line, self.json),
            None => std::future::pending().await,
        }
    }
}

/// The next line, or its beginning if it is very long; none at the end. A last line without its end counts only if
/// something stands in it: an input that is closed is not Enter.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).ok()?;
    if line.is_empty() {
        return None;
    }
    let is_whole = line.last() == Some(&b'\n');
    if !is_whole && line.len() as u64 == MAX_LINE_BYTES {
        input.skip_until(b'\n').ok()?;
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{CommandReader, LineCommand, MAX_LINE_BYTES, VerdictName, parse, resolve};
    use crate::app::watch::board::{Board, UserCommand, VerdictFilter};
    use crate::app::watch::plain::tests::fixtures;

    fn name(sample_id: &str) -> VerdictName {
        VerdictName { sample_id: sample_id.to_owned(), grader: None, model: None, trial: None }
    }

    #[test]
    fn lines_are_commands() {
        let quality = VerdictName { grader: Some("quality".to_owned()), ..name("a") };
        let second = VerdictName { model: Some("m".to_owned()), trial: Some(1), ..name("a") };
        let table = [
            (false, "\n", Ok(LineCommand::RunRest)),
            (false, " \r\n", Ok(LineCommand::RunRest)),
            (false, "q\n", Ok(LineCommand::Quit)),
            (true, "quit", Ok(LineCommand::Quit)),
            (true, "\n", Ok(LineCommand::RunRest)),
            (false, "u\n", Ok(LineCommand::Undo)),
            (true, r#"{"command":"resume"}"#, Ok(LineCommand::RunRest)),
            (true, r#" {"command": "undo"} "#, Ok(LineCommand::Undo)),
            (true, r#"{"wish":"run_rest"}"#, Ok(LineCommand::RunRest)),
            (true, r#"{"wish":"pin","sample_id":"a"}"#, Ok(LineCommand::Pin(name("a")))),
            (true, r#"{"command":"quit"}"#, Ok(LineCommand::Quit)),
            (true, r#"{"command":"pin","sample_id":"a"}"#, Ok(LineCommand::Pin(name("a")))),
            (
                true,
                r#"{"command":"refresh","sample_id":"a","grader":"quality"}"#,
                Ok(LineCommand::Refresh(quality)),
            ),
            (
                true,
                r#"{"command":"refresh","sample_id":"a","model":"m","trial":1}"#,
                Ok(LineCommand::Refresh(second)),
            ),
            (true, r#"{"command":"pin"}"#, Err("`refresh` and `pin` need `sample_id`")),
            (
                true,
                r#"{"command":"quit","sample_id":"a"}"#,
                Err("only `refresh` and `pin` take a verdict"),
            ),
            (
                false,
                "x\n",
                Err(
                    "unknown command `x`: an empty line resumes, `u` shows the previous save, `q` quits",
                ),
            ),
            (true, "[", Err("invalid command: EOF while parsing a list at line 1 column 1")),
        ];
        for (json, line, expected) in table {
            assert_eq!(parse(line, json), expected.map_err(str::to_owned), "{line}");
        }
        for line in [
            r#"{"command":"fly"}"#,
            r#"{"command":"quit","when":1}"#,
            r#"{"command":"quit","wish":"quit"}"#,
            "{}",
            "x",
        ] {
            assert!(parse(line, true).is_err(), "{line}");
        }
        assert!(parse(r#"{"command":"quit"}"#, false).is_err());
    }

    #[test]
    fn verdicts_are_found_by_name() {
        let board = fixtures::moved();
        let id = |sample_id: &str, grader: usize| {
            let ids = board.rows(VerdictFilter::All, "");
            let is_it = |row: &crate::app::watch::board::VerdictRow| {
                row.sample_id == sample_id && row.id.grader == grader
            };
            ids.into_iter().find(|id| board.row(*id).is_some_and(|row| is_it(&row))).unwrap()
        };
        let by = |sample_id: &str, grader: &str| VerdictName {
            grader: Some(grader.to_owned()),
            ..name(sample_id)
        };
        let gift = id("gift-card", 0);
        let table = [
            (LineCommand::RunRest, Ok(UserCommand::RunRest)),
            (LineCommand::Pin(name("gift-card")), Ok(UserCommand::Pin(gift))),
            (LineCommand::Refresh(by("gift-card", "quality")), Ok(UserCommand::Refresh(gift))),
            (LineCommand::Refresh(by("gift-card", "Is good")), Ok(UserCommand::Refresh(gift))),
            (LineCommand::Refresh(by("refund", "tone")), Ok(UserCommand::Refresh(id("refund", 1)))),
            (
                LineCommand::Refresh(by("gift-card", "taste")),
                Err("there is no verdict of sample `gift-card` by `taste`"),
            ),
            (
                LineCommand::Pin(VerdictName { trial: Some(7), ..name("refund") }),
                Err("there is no verdict of sample `refund`"),
            ),
        ];
        for (request, expected) in table {
            let expected = expected.map_err(str::to_owned);
            assert_eq!(resolve(request.clone(), &board), expected, "{request:?}");
        }
    }

    #[tokio::test]
    async fn lines_are_read_until_there_are_none() {
        let most = usize::try_from(MAX_LINE_BYTES).unwrap();
        let long = format!("{}\n", "x".repeat(most * 3));
        let full = format!("{}\n", "x".repeat(most));
        let parts: [&[u8]; 5] = [b"\n", long.as_bytes(), b"u\n", full.as_bytes(), b"\xff\nq"];
        let mut requests = CommandReader::new(std::io::Cursor::new(parts.concat()), false);
        assert_eq!(requests.next().await, Ok(LineCommand::RunRest));
        assert!(requests.next().await.unwrap_err().starts_with("unknown command `xxx"));
        assert_eq!(requests.next().await, Ok(LineCommand::Undo));
        assert!(requests.next().await.is_err());
        assert!(requests.next().await.unwrap_err().starts_with("unknown command `\u{fffd}`"));
        assert_eq!(requests.next().await, Ok(LineCommand::Quit));
        while !requests.lines.is_closed() {
            tokio::task::yield_now().await;
        }
        tokio::select! {
            biased;
            request = requests.next() => panic!("{request:?} after the end"),
            () = tokio::task::yield_now() => {}
        }
    }
}
