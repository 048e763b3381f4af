//! `evalrs cache import --as`: judgments made elsewhere, bound to the actions that a suite plans now.
//!
//! A row names a sample, a score and why. What the judge would have been asked is known from the suite, so the row
//! becomes the outcome of that action, with where it comes from beside it. All files are read before anything is kept:
//! a file with a mistake in it imports nothing.

use std::collections::{BTreeMap, HashMap, hash_map};

use serde_json::json;

use crate::app::cli::ImportArgs;
use crate::app::commands::Console;
use crate::app::commands::open::loaded_session;
use crate::app::error::{Error, ExitStatus};
use crate::base::diagnostic::Diagnostic;
use crate::base::path::Row;
use crate::base::text::count;
use crate::effects::store::{Entry, OutcomeStore};
use crate::engine::session::Session;
use crate::graph::inputs::{Chunk, Overrides};
use crate::graph::queries::Grader;
use crate::graph::{queries, results};
use crate::pipeline::dataset::judgments::{Judgment, JudgmentField, judgments};
use crate::pipeline::dataset::split;
use crate::pipeline::dataset::split::RecordStart;
use crate::pipeline::evaluate::{BallotId, Method, Planned};
use crate::pipeline::judge::question::{Order, Question};
use crate::pipeline::judge::{Ballot, Judge, reply};
use crate::pipeline::key::KeyMap;
use crate::pipeline::outcome::{JudgmentOrigin, Outcome, Reply, Stored, read_body};
use crate::pipeline::spec::DatasetFormat;

/// What the rows so far hold, of all files.
#[derive(Default)]
struct ReadRows {
    /// The next vote of a sample, model, trial and judge whose rows number none.
    next_votes: HashMap<(String, Option<String>, u32, usize), u32>,
    /// The row that each action was first judged in.
    rows: KeyMap<Judged>,
}

/// A row that was read.
struct Judged {
    id: String,
    score: f64,
    /// Its file and line.
    place: String,
}

impl Judged {
    fn is_as(&self, score: f64) -> bool {
        self.score.total_cmp(&score).is_eq()
    }

    /// What is wrong where the sample `id` has another score for the same judgment.
    fn in_contrast_to(&self, id: &str) -> String {
        let Self { id: first, score, place } = self;
        let same = format!("the same judgment has the score {score} in `{place}`");
        if first == id {
            return same;
        }
        format!(
            "{same}: `{first}` and `{id}` are one question to the judge, because the rubric has nothing that tells them apart"
        )
    }
}

impl ReadRows {
    fn next_vote(&mut self, judgment: &Judgment, judge: usize) -> u32 {
        let who = (judgment.id.clone(), judgment.model.clone(), judgment.trial, judge);
        let next = self.next_votes.entry(who).or_default();
        *next += 1;
        *next - 1
    }
}

/// What came of the rows of one file.
#[derive(Default)]
struct BoundFile {
    /// The entries, each with its sample.
    entries: Vec<(String, Entry)>,
    /// Judgments in the file.
    judgments: usize,
    /// Judgments that another row holds too: equal submissions are judged once.
    twice: usize,
    /// Judgments of samples that the suite does not evaluate.
    unknown_samples: usize,
    /// Judgments that the grader does not ask for: more votes than it has, or grades that need no judge.
    unwanted: usize,
}

/// Binds the judgments of every file to the grader's actions and keeps them.
pub(super) fn bind(args: &ImportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let [suite, grader] = &args.bind[..] else {
        return Err(Error::plain("`--as` takes a suite and a grader", "`--as suite.yaml quality`"));
    };
    let paths = paths(&args.fields)?;
    let (surroundings, mut session) =
        loaded_session(suite, &args.store, Overrides::default(), console)?;
    while session.read_unread(console.system) {}
    let binder = Binder::new(&session, grader)?;
    let at = console.system.now().to_string();
    let mut files = Vec::new();
    let mut seen = ReadRows::default();
    for path in &args.files {
        let bytes = console.system.read(path).into_bytes().map_err(|reason| {
            Error::plain(format!("cannot read `{path}`: {reason}"), "nothing was imported")
        })?;
        files.push((
            path,
            binder.file(path, &bytes, &paths, &at, &mut seen).map_err(Error::Diagnostics)?,
        ));
    }
    let store = surroundings.store(console)?;
    let mut said = Vec::new();
    let mut nothing_bound = true;
    let mut refused = Vec::new();
    for (path, bound) in &files {
        let before = refused.len();
        let fresh = binder.fresh(&bound.entries, args.replace, store.as_ref(), &mut refused);
        let other = refused.len() - before;
        if let Err(error) = store.put_many(&fresh) {
            writeln!(console.err, "error: {error}")?;
            return Ok(ExitStatus::Incomplete);
        }
        nothing_bound &= bound.entries.is_empty();
        let new = fresh.len();
        let there = bound.entries.len() - fresh.len() - other + bound.twice;
        said.push(json!({
            "path": path, "judgments": bound.judgments, "new": new, "already_there": there,
            "of_another_score": other, "of_no_sample": bound.unknown_samples,
            "not_asked_for": bound.unwanted,
        }));
        if !args.json {
            let of_another_score = match other {
                0 => String::new(),
                other => format!("{other} of another score, "),
            };
            writeln!(
                console.out,
                "{path}: {}, {new} new, {there} already there, {of_another_score}{} of no sample, {} not asked for",
                count(bound.judgments, "judgment"),
                bound.unknown_samples,
                bound.unwanted
            )?;
        }
    }
    if args.json {
        console
            .write_json(&json!({"format": 1, "suite": suite, "grader": grader, "files": said}))?;
    }
    if nothing_bound {
        let message = "no judgment belongs to a sample of the suite";
        return Err(Error::plain(
            message,
            "check the ids, and say where fields stand: `--fields id=ID,score=SCORE`",
        ));
    }
    say_refused(&refused, console)
}

/// Nobody knows whether a score that is another one is right: it is taken where that is said.
fn say_refused(
    refused: &[(&String, [f64; 2])],
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let Some((id, [held, new])) = refused.first() else { return Ok(ExitStatus::Success) };
    let judgments = count(refused.len(), "judgment");
    let have = if refused.len() == 1 { "has" } else { "have" };
    writeln!(
        console.err,
        "error: {judgments} {have} another score in the store, which stands (`{id}`: {held} in the store, {new} in the file)\n  help: `--replace` takes the scores of the files"
    )?;
    Ok(ExitStatus::Incomplete)
}

/// An entry against what is held under its key.
enum ImportComparison {
    /// It is kept so: over nothing, or over a failure.
    New(Entry),
    /// A judgment of the same score is there.
    There,
    /// One of another score is there: how it would be kept over that, and both scores, the held one first.
    Other(Entry, [f64; 2]),
}

/// Reads `--fields id=idx,score=gpt4.score`.
fn paths(fields: &[String]) -> Result<Vec<(JudgmentField, String)>, Error> {
    let read = |field: &String| {
        let (name, path) = field.split_once('=')?;
        Some((JudgmentField::named(name.trim())?, path.trim().to_owned()))
    };
    fields
        .iter()
        .map(|field| {
            read(field).ok_or_else(|| {
                let names: Vec<&str> = JudgmentField::names().collect();
                Error::plain(
                    format!("`--fields` has `{field}`, which is not NAME=PATH"),
                    format!("names are `{}`", names.join("`, `")),
                )
            })
        })
        .collect()
}

/// A case of a sample: its model and trial, and where it is planned.
struct PlannedCase {
    model: Option<String>,
    trial: u32,
    chunk: Chunk,
    at: usize,
}

struct Binder<'a> {
    session: &'a Session,
    grader: Grader<'a>,
    judge: &'a Judge,
    cases: BTreeMap<String, Vec<PlannedCase>>,
}

impl<'a> Binder<'a> {
    fn new(session: &'a Session, name: &str) -> Result<Self, Error> {
        let db = &session.db;
        let root = session.root;
        let graders = queries::graders(db, root);
        let Some(grader) = graders.iter().find(|grader| grader.name(db) == name).copied() else {
            let known: Vec<&str> = graders.iter().map(|grader| grader.name(db).as_str()).collect();
            return Err(Error::plain(
                format!("the suite has no grader `{name}`"),
                format!("it has `{}`", known.join("`, `")),
            ));
        };
        let judge = match &queries::ready(db, grader).method {
            Method::Judge(judge) if matches!(judge.question(), Question::Score(_)) => judge,
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
        let mut cases: BTreeMap<String, Vec<PlannedCase>> = BTreeMap::new();
        for (id, who, chunk, at) in results::cases(db, root) {
            let case = PlannedCase { model: who.model.clone(), trial: who.trial, chunk, at };
            cases.entry(id).or_default().push(case);
        }
        Ok(Self { session, grader, judge, cases })
    }

    /// The judgments of one file as store entries, or everything that is wrong with it.
    fn file(
        &self,
        path: &str,
        bytes: &[u8],
        paths: &[(JudgmentField, String)],
        at: &str,
        seen: &mut ReadRows,
    ) -> Result<BoundFile, Vec<Diagnostic>> {
        let text = split::decode(path, bytes).map_err(|problem| vec![problem])?;
        let format = DatasetFormat::of_name(path).unwrap_or(DatasetFormat::Jsonl);
        let rows = split::split(path, text, format)?;
        let mut bound = BoundFile::default();
        let mut problems = Vec::new();
        for row in &rows {
            let mut problem = |start: RecordStart, message: String| {
                let place = split::line_place(path, text, start);
                problems.push(Diagnostic::error(place, message));
            };
            let read = match judgments(Row::new(&row.text), paths) {
                Ok(read) => read,
                Err(message) => {
                    problem(row.start, message);
                    continue;
                }
            };
            for judgment in read {
                bound.judgments += 1;
                let next = |judge| seen.next_vote(&judgment, judge);
                match self.entry(&judgment, next, path, at) {
                    Ok(BoundRow::Entry(entry)) => match seen.rows.entry(entry.key) {
                        hash_map::Entry::Vacant(vacant) => {
                            vacant.insert(Judged {
                                id: judgment.id.clone(),
                                score: judgment.score,
                                place: format!("{path}:{}", row.start.line),
                            });
                            bound.entries.push((judgment.id, entry));
                        }
                        hash_map::Entry::Occupied(held) if held.get().is_as(judgment.score) => {
                            bound.twice += 1;
                        }
                        hash_map::Entry::Occupied(held) => {
                            problem(row.start, held.get().in_contrast_to(&judgment.id));
                        }
                    },
                    Ok(BoundRow::UnknownSample) => bound.unknown_samples += 1,
                    Ok(BoundRow::Unwanted) => bound.unwanted += 1,
                    Err(message) => problem(row.start, message),
                }
            }
        }
        if problems.is_empty() {
            Ok(bound)
        } else {
            Err(crate::engine::session::problems::shortened(problems))
        }
    }

    /// The entries that are to be kept; those of another score are `refused` unless they replace what is there.
    fn fresh<'e>(
        &self,
        entries: &'e [(String, Entry)],
        replace: bool,
        store: &dyn OutcomeStore,
        refused: &mut Vec<(&'e String, [f64; 2])>,
    ) -> Vec<Entry> {
        let keys: Vec<_> = entries.iter().map(|(_, entry)| entry.key).collect();
        let mut fresh = Vec::new();
        for ((id, entry), held) in entries.iter().zip(store.get_many(&keys)) {
            match self.against(entry, held.as_ref()) {
                ImportComparison::New(entry) => fresh.push(entry),
                ImportComparison::There => {}
                ImportComparison::Other(entry, _) if replace => fresh.push(entry),
                ImportComparison::Other(_, scores) => refused.push((id, scores)),
            }
        }
        fresh
    }

    fn against(&self, entry: &Entry, held: Option<&Entry>) -> ImportComparison {
        let score = |entry: &Entry| match read_body(&entry.body) {
            Ok(Outcome::Reply(found)) => {
                let verdict = reply::read(&found.text, self.judge.question()).ok()?;
                Some(verdict.native)
            }
            Ok(Outcome::Failure(_)) | Err(_) => None,
        };
        let Some(held) = held else { return ImportComparison::New(entry.clone()) };
        let over = Entry { generation: held.generation.saturating_add(1), ..entry.clone() };
        match (score(held), score(entry)) {
            (Some(held), Some(new)) if held.total_cmp(&new).is_eq() => ImportComparison::There,
            (Some(held), Some(new)) => ImportComparison::Other(over, [held, new]),
            (None, _) | (_, None) => ImportComparison::New(over),
        }
    }

    /// What the judgment is the outcome of. `next` gives votes that the row does not number.
    fn entry(
        &self,
        judgment: &Judgment,
        next: impl FnOnce(usize) -> u32,
        path: &str,
        at: &str,
    ) -> Result<BoundRow, String> {
        let Some(case) = self.case(judgment)? else { return Ok(BoundRow::UnknownSample) };
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
            let ballot = BallotId { turn: 0, ballot };
            results::action_of(db, case.chunk, case.at, self.grader, ballot)
        });
        let Some(action) = action else { return Ok(BoundRow::Unwanted) };
        let outcome = Outcome::Reply(Reply { text, model: None, usage: None });
        let file = path.rsplit('/').next().unwrap_or(path).to_owned();
        let stored = Stored {
            origin: JudgmentOrigin::Imported(file),
            ..Stored::new(action.ingredients(), outcome, at.to_owned())
        };
        Ok(BoundRow::Entry(Entry { key: action.key(), generation: 0, body: stored.to_body() }))
    }

    fn case(&self, judgment: &Judgment) -> Result<Option<&PlannedCase>, String> {
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
enum BoundRow {
    Entry(Entry),
    UnknownSample,
    Unwanted,
}
