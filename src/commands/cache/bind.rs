//! `evalrs cache import --as`: judgments made elsewhere, bound to the actions that a suite plans now.
//!
//! A row names a sample, a score and why. What the judge would have been asked is known from the suite, so the row
//! becomes the outcome of that action, with where it comes from beside it. All files are read before anything is kept:
//! a file with a mistake in it imports nothing.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::write_json;
use crate::action::KeyMap;
use crate::cli::ImportArgs;
use crate::commands::Console;
use crate::commands::place::Surroundings;
use crate::commands::run::loaded_session;
use crate::dataset::judgments::{Field, Judgment, judgments};
use crate::dataset::split::{self, Start};
use crate::db::inputs::{Chunk, Overrides};
use crate::db::queries::{self, Grader};
use crate::db::results;
use crate::diagnostic::Diagnostic;
use crate::driver::session::Session;
use crate::error::{Error, ExitStatus};
use crate::evaluate::{Method, Planned};
use crate::judge::{Ballot, Judge, question::Order, question::Question, reply};
use crate::outcome::{Origin, Outcome, Reply, Stored, read_body};
use crate::path::Row;
use crate::report::text::count;
use crate::store::Entry;
use crate::suite::DatasetFormat;

/// What the rows so far hold, of all files.
#[derive(Default)]
struct Seen {
    /// The next vote of a sample, model, trial and judge whose rows number none.
    next_votes: HashMap<(String, Option<String>, u32, usize), u32>,
    /// The score of each action.
    scores: KeyMap<f64>,
}

impl Seen {
    fn next_vote(&mut self, judgment: &Judgment, judge: usize) -> u32 {
        let who = (judgment.id.clone(), judgment.model.clone(), judgment.trial, judge);
        let next = self.next_votes.entry(who).or_default();
        *next += 1;
        *next - 1
    }
}

/// What came of the rows of one file.
#[derive(Default)]
struct Bound {
    entries: Vec<Entry>,
    /// Judgments in the file.
    judgments: usize,
    /// Judgments that another row holds too: equal submissions are judged once.
    twice: usize,
    /// Judgments of samples that the suite does not evaluate.
    strangers: usize,
    /// Judgments that the grader does not ask for: more votes than it has, or grades that need no judge.
    unwanted: usize,
}

/// Binds the judgments of every file to the grader's actions and keeps them.
pub(super) fn bind(args: &ImportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let [suite, grader] = &args.bind[..] else {
        return Err(Error::plain("`--as` takes a suite and a grader", "`--as suite.yaml quality`"));
    };
    let paths = paths(&args.fields)?;
    let surroundings = Surroundings::find(suite, args.store.cache_dir.as_deref(), console.system)?;
    let mut session = loaded_session(suite, &surroundings, Overrides::default(), console)?;
    while session.read_unread(console.system) {}
    let binder = Binder::new(&session, grader)?;
    let at = console.system.now();
    let (mut files, mut seen) = (Vec::new(), Seen::default());
    for path in &args.files {
        let bytes = console.system.read(path).into_bytes().map_err(|reason| {
            Error::plain(format!("cannot read `{path}`: {reason}"), "nothing was imported")
        })?;
        files.push((
            path,
            binder.file(path, &bytes, (&paths, &at, &mut seen)).map_err(Error::Diagnostics)?,
        ));
    }
    let mut store = surroundings.store(console)?;
    let mut said = Vec::new();
    let mut nothing_bound = true;
    for (path, bound) in &files {
        let keys: Vec<_> = bound.entries.iter().map(|entry| entry.key).collect();
        let held = store.get_many(&keys);
        let pairs = bound.entries.iter().zip(&held);
        let fresh: Vec<Entry> =
            pairs.filter_map(|(entry, held)| fresh(entry, held.as_ref())).collect();
        if let Err(error) = store.put_many(&fresh) {
            writeln!(console.err, "error: {error}")?;
            return Ok(ExitStatus::Incomplete);
        }
        nothing_bound &= bound.entries.is_empty();
        let (new, there) = (fresh.len(), bound.entries.len() - fresh.len() + bound.twice);
        said.push(json!({
            "path": path, "judgments": bound.judgments, "new": new, "already_there": there,
            "of_no_sample": bound.strangers, "not_asked_for": bound.unwanted,
        }));
        if !args.json {
            writeln!(
                console.out,
                "{path}: {}, {new} new, {there} already there, {} of no sample, {} not asked for",
                count(bound.judgments, "judgment"),
                bound.strangers,
                bound.unwanted
            )?;
        }
    }
    if args.json {
        write_json(
            &json!({"format": 1, "suite": suite, "grader": grader, "files": said}),
            console,
        )?;
    }
    if nothing_bound {
        let message = "no judgment belongs to a sample of the suite";
        return Err(Error::plain(
            message,
            "check the ids, and say where fields stand: `--fields id=ID,score=SCORE`",
        ));
    }
    Ok(ExitStatus::Success)
}

/// The entry as it is kept over `held`. A judgment stands over none and over a failure, never over another judgment.
fn fresh(entry: &Entry, held: Option<&Entry>) -> Option<Entry> {
    match held {
        None => Some(entry.clone()),
        Some(held) if matches!(read_body(&held.body), Ok(Outcome::Reply(_))) => None,
        Some(held) => {
            let generation = held.generation.saturating_add(1);
            Some(Entry { generation, ..entry.clone() })
        }
    }
}

/// Reads `--fields id=idx,score=gpt4.score`.
fn paths(fields: &[String]) -> Result<Vec<(Field, String)>, Error> {
    let read = |field: &String| {
        let (name, path) = field.split_once('=')?;
        Some((Field::named(name.trim())?, path.trim().to_owned()))
    };
    fields
        .iter()
        .map(|field| {
            read(field).ok_or_else(|| {
                let names: Vec<&str> = Field::names().collect();
                Error::plain(
                    format!("`--fields` has `{field}`, which is no NAME=PATH"),
                    format!("names are `{}`", names.join("`, `")),
                )
            })
        })
        .collect()
}

/// A case of a sample: its model and trial, and where it is planned.
struct Case {
    model: Option<String>,
    trial: u32,
    chunk: Chunk,
    at: usize,
}

struct Binder<'a> {
    session: &'a Session,
    grader: Grader<'a>,
    judge: &'a Judge,
    cases: BTreeMap<String, Vec<Case>>,
}

impl<'a> Binder<'a> {
    fn new(session: &'a Session, name: &str) -> Result<Self, Error> {
        let (db, root) = (&session.db, session.root);
        let graders = queries::graders(db, root);
        let Some(grader) = graders.iter().find(|grader| grader.name(db) == name).copied() else {
            let known: Vec<&str> = graders.iter().map(|grader| grader.name(db).as_str()).collect();
            return Err(Error::plain(
                format!("the suite has no grader `{name}`"),
                format!("it has `{}`", known.join("`, `")),
            ));
        };
        let judge = match &queries::ready(db, grader).method {
            Method::Judge(judge) if matches!(judge.question(), Question::Score { .. }) => judge,
            Method::Judge(_) => {
                let message =
                    format!("`{name}` compares two submissions; only scores can be imported");
                return Err(Error::Plain { message, hint: None });
            }
            _ => {
                let message = format!("`{name}` asks no judge, so it has no judgments");
                return Err(Error::Plain { message, hint: None });
            }
        };
        let mut cases: BTreeMap<String, Vec<Case>> = BTreeMap::new();
        for (id, who, chunk, at) in results::cases(db, root) {
            let case = Case { model: who.model.clone(), trial: who.trial, chunk, at };
            cases.entry(id).or_default().push(case);
        }
        Ok(Self { session, grader, judge, cases })
    }

    /// The judgments of one file as store entries, or everything that is wrong with it.
    fn file(
        &self,
        path: &str,
        bytes: &[u8],
        (paths, at, seen): (&[(Field, String)], &str, &mut Seen),
    ) -> Result<Bound, Vec<Diagnostic>> {
        let text = split::decode(path, bytes).map_err(|problem| vec![problem])?;
        let format = DatasetFormat::of_name(path).unwrap_or(DatasetFormat::Jsonl);
        let rows = split::split(path, text, format)?;
        let (mut bound, mut problems) = (Bound::default(), Vec::new());
        for row in &rows {
            let mut problem = |start: Start, message: String| {
                let place = split::line_place(path, text, start);
                problems.push(Diagnostic::error(place, message));
            };
            let read = match judgments(Row { text: &row.text }, paths) {
                Ok(read) => read,
                Err(message) => {
                    problem(row.start, message);
                    continue;
                }
            };
            for judgment in read {
                bound.judgments += 1;
                let next = |judge| seen.next_vote(&judgment, judge);
                match self.entry(&judgment, next, (path, at)) {
                    Ok(Found::Entry(entry)) => {
                        match seen.scores.insert(entry.key, judgment.score) {
                            None => bound.entries.push(entry),
                            Some(score) if score.total_cmp(&judgment.score).is_eq() => {
                                bound.twice += 1;
                            }
                            Some(score) => problem(
                                row.start,
                                format!("the same judgment has the score {score} in another row"),
                            ),
                        }
                    }
                    Ok(Found::Stranger) => bound.strangers += 1,
                    Ok(Found::Unwanted) => bound.unwanted += 1,
                    Err(message) => problem(row.start, message),
                }
            }
        }
        if problems.is_empty() { Ok(bound) } else { Err(crate::driver::shortened(problems)) }
    }

    /// What the judgment is the outcome of. `next` gives votes that the row does not number.
    fn entry(
        &self,
        judgment: &Judgment,
        next: impl FnOnce(usize) -> u32,
        (path, at): (&str, &str),
    ) -> Result<Found, String> {
        let Some(case) = self.case(judgment)? else { return Ok(Found::Stranger) };
        let seat = self.seat(judgment)?;
        let vote = judgment.vote.unwrap_or_else(|| next(seat));
        let text = json!({"rationale": judgment.rationale, "score": judgment.score}).to_string();
        reply::read(&text, self.judge.question())?;
        let db = &self.session.db;
        let meant = Ballot { judge: seat, vote, order: Order::Forward };
        let ballots = self.judge.first_ballots() + self.judge.confirming_ballots();
        let ballot = (0..ballots).find(|at| self.judge.ballot(*at) == meant);
        let planned = queries::plans(db, case.chunk, self.grader).get(case.at);
        let is_planned = planned.is_some_and(|planned| {
            !planned.keys().is_empty() && !matches!(planned, Planned::Turns(_))
        });
        let action = ballot.filter(|_| is_planned).and_then(|ballot| {
            results::action_of(db, (case.chunk, case.at), self.grader, [0, ballot])
        });
        let Some(action) = action else { return Ok(Found::Unwanted) };
        let outcome = Outcome::Reply(Reply { text, model: None, usage: None });
        let file = path.rsplit('/').next().unwrap_or(path).to_owned();
        let stored = Stored {
            origin: Origin::Imported(file),
            ..Stored::new(&action, outcome, at.to_owned())
        };
        Ok(Found::Entry(Entry { key: action.key(), generation: 0, body: stored.to_body() }))
    }

    fn case(&self, judgment: &Judgment) -> Result<Option<&Case>, String> {
        let of_sample = self.cases.get(&judgment.id).map_or(&[][..], Vec::as_slice);
        let mut fitting = of_sample.iter().filter(|case| {
            case.trial == judgment.trial
                && (judgment.model.is_none() || judgment.model == case.model)
        });
        match (fitting.next(), fitting.next()) {
            (first, None) => Ok(first),
            (_, Some(_)) => Err(format!(
                "`{}` was run with several models; say which: `--fields model=PATH`",
                judgment.id
            )),
        }
    }

    fn seat(&self, judgment: &Judgment) -> Result<usize, String> {
        let judges = &self.judge.rubric.judges;
        match &judgment.judge {
            Some(model) => {
                let mut named =
                    judges.iter().enumerate().filter(|(_, judge)| judge.model == *model);
                match (named.next(), named.next()) {
                    (Some((at, _)), None) => Ok(at),
                    (None, _) => Err(format!("the grader has no judge `{model}`")),
                    (Some(_), Some(_)) => Err(format!("several judges are called `{model}`")),
                }
            }
            None if judges.len() == 1 => Ok(0),
            None => {
                Err("the grader has several judges; say which: `--fields judge=PATH`".to_owned())
            }
        }
    }
}

/// What a judgment belongs to.
enum Found {
    Entry(Entry),
    Stranger,
    Unwanted,
}
