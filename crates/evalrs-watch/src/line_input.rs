//! Commands as lines on standard input of `evalrs watch`.
//!
//! A thread hands lines over, for a read of standard input cannot be cancelled; `parse` says what a line means to
//! somebody who looks at a board. The end of the input ends no session: it only means that no command follows.

use std::io::{BufRead, BufReader, Read};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::sync::mpsc;

use super::board::{
    Board, LabelInput, NEXT_JUDGMENTS, Overview, UserCommand, VerdictFilter, VerdictId, VerdictRow,
};
use super::json::grader_key;
use super::list_query::ListQuery;
use evalrs_base::diagnostic::clipped;
use evalrs_eval::label_keys::TOP;
use evalrs_model::spec::LabelPick;

/// The longest line that is read, in bytes; of a longer one the rest is skipped.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// The lines that wait to be read before the thread does.
const MAX_WAITING_LINES: usize = 16;

/// A line as JSON. The verdict that is meant is the first one in dataset order that has all that is said of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineCommand {
    /// Clients of the first format say `wish`.
    #[serde(alias = "wish")]
    command: LineCommandKind,
    sample_id: Option<String>,
    /// By its name in the suite or for people.
    grader: Option<String>,
    model: Option<String>,
    /// From 0.
    trial: Option<u32>,
    /// The human label: true, false, the key of a score (a digit from 0 to 9, or "!"), or null, which removes it.
    #[serde(default, deserialize_with = "said")]
    label: Option<Value>,
    /// How the verdict came to be labelled: `random`, `disagreement`, `threshold` or `chosen`.
    picked: Option<String>,
    /// How many of the paused judgments to make.
    count: Option<u64>,
    save: Option<u32>,
}

/// The given label, also null.
fn said<'de, D: Deserializer<'de>>(line: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(line).map(Some)
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LineCommandKind {
    Quit,
    #[serde(alias = "run_rest")]
    Resume,
    Undo,
    Refresh,
    Pin,
    Label,
    Look,
    TakeBack,
}

/// The command of a line: an empty one for the rest, `n` or `next` for the next ones of it, `q` or `quit`, `u` or `undo`; or an
/// object `{"command": ...}` where `json`. Else a sentence on what is wrong with it, or that the board has no such verdict.
fn parse(line: &str, json: bool, board: &dyn Board) -> Result<UserCommand, String> {
    match line.trim() {
        "" => Ok(UserCommand::RunRest),
        "n" | "next" => Ok(UserCommand::RunNext(NEXT_JUDGMENTS)),
        "q" | "quit" => Ok(UserCommand::Quit),
        "u" | "undo" => Ok(UserCommand::Undo),
        step @ ("[" | "]") => look_step(step == "]", board),
        object if json => {
            let line: LineCommand = serde_json::from_str(object)
                .map_err(|error| format!("invalid command: {error}"))?;
            line.resolve(board)
        }
        other => Err(format!(
            "unknown command `{}`: an empty line judges the rest, `n` the next {NEXT_JUDGMENTS}, `u` shows the previous save, `[` and `]` the saves before and after, `q` quits",
            clipped(other)
        )),
    }
}

fn look_step(is_forward: bool, board: &dyn Board) -> Result<UserCommand, String> {
    let Overview { save, newest, .. } = *board.overview();
    match is_forward {
        true if save < newest => Ok(UserCommand::LookAt(save + 1)),
        true => Err("this is the newest save".to_owned()),
        false if save > 0 => Ok(UserCommand::LookAt(save - 1)),
        false => Err("the start is the first save".to_owned()),
    }
}

impl LineCommand {
    fn resolve(&self, board: &dyn Board) -> Result<UserCommand, String> {
        let command = match self.command {
            LineCommandKind::Refresh => return self.find(board).map(UserCommand::Refresh),
            LineCommandKind::Pin => return self.find(board).map(UserCommand::Pin),
            LineCommandKind::Label => {
                let label = self.given_label()?;
                let picked = self.given_pick()?;
                let row = self.find(board)?;
                return Ok(UserCommand::Label { row, label, picked, next: None });
            }
            LineCommandKind::Look => UserCommand::LookAt(self.given_save()?),
            LineCommandKind::TakeBack => UserCommand::TakeBack(self.given_save()?),
            LineCommandKind::Quit => UserCommand::Quit,
            LineCommandKind::Resume => {
                self.count.map_or(UserCommand::RunRest, UserCommand::RunNext)
            }
            LineCommandKind::Undo => UserCommand::Undo,
        };
        if self.count.is_some() && !matches!(self.command, LineCommandKind::Resume) {
            return Err("only `resume` takes `count`".to_owned());
        }
        let Self { sample_id, grader, model, trial, .. } = self;
        if sample_id.is_some() || grader.is_some() || model.is_some() || trial.is_some() {
            return Err("only `refresh`, `pin` and `label` take a verdict".to_owned());
        }
        let takes_save = matches!(command, UserCommand::LookAt(_) | UserCommand::TakeBack(_));
        if self.save.is_some() && !takes_save {
            return Err("only `look` and `take_back` take a save".to_owned());
        }
        Ok(command)
    }

    fn given_save(&self) -> Result<u32, String> {
        self.save.ok_or_else(|| "`look` and `take_back` need `save`, its number".to_owned())
    }

    fn given_pick(&self) -> Result<LabelPick, String> {
        let Some(name) = &self.picked else { return Ok(LabelPick::Chosen) };
        let expected = "`picked` is random, disagreement, threshold or chosen";
        LabelPick::of_name(name).ok_or_else(|| expected.to_owned())
    }

    fn given_label(&self) -> Result<LabelInput, String> {
        const EXPECTED: &str = "`label` needs `label`: true, false, a digit from 0 to 9, \"!\", or null, which removes it";
        match self.label.as_ref().ok_or(EXPECTED)? {
            Value::Null => Ok(LabelInput::Nothing),
            Value::Bool(pass) => Ok(LabelInput::Pass(*pass)),
            Value::String(key) if *key == TOP.to_string() => Ok(LabelInput::Score(TOP)),
            value => {
                let digit = value.as_u64().and_then(|digit| u32::try_from(digit).ok());
                let key = digit.and_then(|digit| char::from_digit(digit, 10));
                key.map(LabelInput::Score).ok_or_else(|| EXPECTED.to_owned())
            }
        }
    }

    fn find(&self, board: &dyn Board) -> Result<VerdictId, String> {
        let sample_id =
            self.sample_id.as_ref().ok_or("`refresh`, `pin` and `label` need `sample_id`")?;
        let overview = board.overview();
        let is_meant = |row: &VerdictRow| {
            let is_grader =
                |name: &String| *name == row.grader || name == grader_key(overview, row);
            *sample_id == row.sample_id
                && self.grader.as_ref().is_none_or(is_grader)
                && (self.model.is_none() || self.model == row.model)
                && self.trial.is_none_or(|trial| trial == row.trial)
        };
        let rows = board.rows(&ListQuery::of(VerdictFilter::All)).into_iter();
        let row = rows.filter_map(|id| board.row(id)).find(is_meant);
        row.map(|row| row.id).ok_or_else(|| {
            let grader = self.grader.as_deref().map(|grader| format!(" by `{}`", clipped(grader)));
            let grader = grader.unwrap_or_default();
            format!("no verdict of sample `{}`{grader}", clipped(sample_id))
        })
    }
}

/// Lines of an input, read by a thread of their own.
#[derive(Debug)]
pub struct CommandReader {
    lines: mpsc::Receiver<String>,
    json: bool,
}

impl CommandReader {
    /// Begins to read `input`. An input that cannot be read has no lines.
    pub fn new(input: impl Read + Send + 'static, json: bool) -> Self {
        let (sender, lines) = mpsc::channel(MAX_WAITING_LINES);
        let thread = std::thread::Builder::new().name("requests".to_owned());
        // Where there is no thread to be had, the session goes on without commands.
        let _ = thread.spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(line) = next_line(&mut input)
                && sender.blocking_send(line).is_ok()
            {}
        });
        Self { lines, json }
    }

    /// The next line; waits for ever once there is none. Loses nothing when it is dropped before it is done.
    pub async fn next(&mut self) -> String {
        match self.lines.recv().await {
            Some(line) => line,
            None => std::future::pending().await,
        }
    }

    /// The command of a line, or a sentence on its error.
    pub fn command(&self, line: &str, board: &dyn Board) -> Result<UserCommand, String> {
        parse(line, self.json, board)
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
    use super::{CommandReader, MAX_LINE_BYTES, parse};
    use crate::board::{Board, LabelInput, UserCommand, VerdictFilter, VerdictRow};
    use crate::list_query::ListQuery;
    use crate::plain::tests::fixtures;

    fn check(json: bool, line: &str, expected: Result<UserCommand, &str>) {
        let found = parse(line, json, &fixtures::moved());
        assert_eq!(found, expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn lines_are_commands() {
        let unknown = "unknown command `x`: an empty line judges the rest, `n` the next 200, `u` shows the previous save, `[` and `]` the saves before and after, `q` quits";
        let table = [
            (false, "\n", Ok(UserCommand::RunRest)),
            (false, " \r\n", Ok(UserCommand::RunRest)),
            (false, "q\n", Ok(UserCommand::Quit)),
            (true, "quit", Ok(UserCommand::Quit)),
            (true, "\n", Ok(UserCommand::RunRest)),
            (false, "u\n", Ok(UserCommand::Undo)),
            (false, "n\n", Ok(UserCommand::RunNext(200))),
            (true, " next", Ok(UserCommand::RunNext(200))),
            (true, r#"{"command":"resume","count":50}"#, Ok(UserCommand::RunNext(50))),
            (true, r#"{"command":"quit","count":50}"#, Err("only `resume` takes `count`")),
            (true, r#"{"command":"resume"}"#, Ok(UserCommand::RunRest)),
            (true, r#" {"command": "undo"} "#, Ok(UserCommand::Undo)),
            (true, r#"{"wish":"run_rest"}"#, Ok(UserCommand::RunRest)),
            (true, r#"{"command":"quit"}"#, Ok(UserCommand::Quit)),
            (false, "[\n", Ok(UserCommand::LookAt(2))),
            (true, r#"{"command":"look","save":1}"#, Ok(UserCommand::LookAt(1))),
            (true, r#"{"command":"take_back","save":0}"#, Ok(UserCommand::TakeBack(0))),
            (false, "]", Err("this is the newest save")),
            (true, r#"{"command":"look"}"#, Err("`look` and `take_back` need `save`, its number")),
            (
                true,
                r#"{"command":"undo","save":1}"#,
                Err("only `look` and `take_back` take a save"),
            ),
            (true, r#"{"command":"pin"}"#, Err("`refresh`, `pin` and `label` need `sample_id`")),
            (
                true,
                r#"{"command":"quit","sample_id":"a"}"#,
                Err("only `refresh`, `pin` and `label` take a verdict"),
            ),
            (false, "x\n", Err(unknown)),
            (true, "{", Err("invalid command: EOF while parsing an object at line 1 column 1")),
        ];
        for (json, line, expected) in table {
            check(json, line, expected);
        }
        let board = fixtures::moved();
        for line in [
            r#"{"command":"fly"}"#,
            r#"{"command":"quit","when":1}"#,
            r#"{"command":"quit","wish":"quit"}"#,
            "{}",
            "x",
        ] {
            assert!(parse(line, true, &board).is_err(), "{line}");
        }
        assert!(parse(r#"{"command":"quit"}"#, false, &board).is_err());
    }

    #[test]
    fn verdicts_are_found_by_name() {
        let board = fixtures::moved();
        let id = |sample_id: &str, grader: usize| {
            let ids = board.rows(&ListQuery::of(VerdictFilter::All));
            let is_it = |row: &VerdictRow| row.sample_id == sample_id && row.id.grader == grader;
            ids.into_iter().find(|id| board.row(*id).is_some_and(|row| is_it(&row))).unwrap()
        };
        let gift = id("gift-card", 0);
        let table = [
            (r#"{"wish":"pin","sample_id":"gift-card"}"#, Ok(UserCommand::Pin(gift))),
            (r#"{"command":"pin","sample_id":"gift-card"}"#, Ok(UserCommand::Pin(gift))),
            (
                r#"{"command":"refresh","sample_id":"gift-card","grader":"quality"}"#,
                Ok(UserCommand::Refresh(gift)),
            ),
            (
                r#"{"command":"refresh","sample_id":"gift-card","grader":"Is good"}"#,
                Ok(UserCommand::Refresh(gift)),
            ),
            (
                r#"{"command":"refresh","sample_id":"refund","grader":"tone"}"#,
                Ok(UserCommand::Refresh(id("refund", 1))),
            ),
            (
                r#"{"command":"refresh","sample_id":"gift-card","grader":"taste"}"#,
                Err("no verdict of sample `gift-card` by `taste`"),
            ),
            (
                r#"{"command":"pin","sample_id":"refund","trial":7}"#,
                Err("no verdict of sample `refund`"),
            ),
            (
                r#"{"command":"pin","sample_id":"refund","model":"m"}"#,
                Err("no verdict of sample `refund`"),
            ),
        ];
        for (line, expected) in table {
            check(true, line, expected);
        }
    }

    #[test]
    fn a_label_is_pass_or_fail_or_a_key_or_nothing() {
        const WRONG: &str = "`label` needs `label`: true, false, a digit from 0 to 9, \"!\", or null, which removes it";
        let board = fixtures::moved();
        for (label, expected) in [
            ("true", Ok(LabelInput::Pass(true))),
            ("false", Ok(LabelInput::Pass(false))),
            ("null", Ok(LabelInput::Nothing)),
            ("0", Ok(LabelInput::Score('0'))),
            ("9", Ok(LabelInput::Score('9'))),
            ("\"!\"", Ok(LabelInput::Score('!'))),
            ("10", Err(WRONG)),
            ("-1", Err(WRONG)),
            ("0.5", Err(WRONG)),
            ("\"y\"", Err(WRONG)),
        ] {
            let line = format!(r#"{{"command":"label","sample_id":"gift-card","label":{label}}}"#);
            let found = parse(&line, true, &board).map(|command| match command {
                UserCommand::Label { label, .. } => label,
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected.map_err(str::to_owned), "{label}");
        }
    }

    #[tokio::test]
    async fn lines_are_read_until_there_are_none() {
        let most = usize::try_from(MAX_LINE_BYTES).unwrap();
        let long = format!("{}\n", "x".repeat(most * 3));
        let full = format!("{}\n", "x".repeat(most));
        let parts: [&[u8]; 5] = [b"\n", long.as_bytes(), b"u\n", full.as_bytes(), b"\xff\nq"];
        let mut requests = CommandReader::new(std::io::Cursor::new(parts.concat()), false);
        let board = fixtures::moved();
        let mut commands = Vec::new();
        for _ in 0..6 {
            let line = requests.next().await;
            commands.push(requests.command(&line, &board));
        }
        let beginning = |command: &Result<UserCommand, String>, of: &str| {
            command.as_ref().is_err_and(|why| why.starts_with(of))
        };
        assert_eq!(commands[0], Ok(UserCommand::RunRest));
        assert!(beginning(&commands[1], "unknown command `xxx"));
        assert_eq!(commands[2], Ok(UserCommand::Undo));
        assert!(beginning(&commands[3], "unknown command `xxx"));
        assert!(beginning(&commands[4], "unknown command `\u{fffd}`"));
        assert_eq!(commands[5], Ok(UserCommand::Quit));
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
