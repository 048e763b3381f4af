//! `evalrs cache import --as`: judgments made elsewhere, bound to the actions that a suite plans now.
//!
//! A row names a sample, a score and why. What the judge would have been asked is known from the suite, so the row
//! becomes the outcome of that action, with where it comes from beside it. All files are read before anything is kept:
//! a file with a mistake in it imports nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::binder::{
    Binder, BoundFile, JudgmentFile, ReadRows, RefusedScore, Unbound, UnboundJudgment,
};
use super::fields_args::layout;
use crate::app::cli::ImportArgs;
use crate::app::commands::Console;
use crate::app::commands::open::loaded_session;
use crate::app::error::{Error, ExitStatus};
use crate::base::diagnostic::clipped;
use crate::base::text::count;
use crate::effects::store::lock_imports;
use crate::graph::inputs::Overrides;

/// How many rows are named of those that are alike.
const SHOWN_ROWS: usize = 5;

/// How many reasons are told of what belongs to nothing.
const SHOWN_REASONS: usize = 10;

/// Binds the judgments of every file to the grader's actions and keeps them.
pub(super) fn bind(args: &ImportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let [suite, grader] = &args.bind[..] else {
        return Err(Error::plain("`--as` takes a suite and a grader", "`--as suite.yaml quality`"));
    };
    let layout = layout(&args.fields, &args.map)?;
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
        let file = JudgmentFile { path, bytes: &bytes, layout: &layout, at: &at };
        files.push((path, binder.file(&file, &mut seen).map_err(Error::Diagnostics)?));
    }
    let _alone = lock_imports(Path::new(&surroundings.cache_dir));
    let store = surroundings.store(console)?;
    let mut said = Vec::new();
    let mut refused = Vec::new();
    for (path, bound) in &files {
        let before = refused.len();
        let fresh = binder.fresh(&bound.entries, args.replace, store.as_ref(), &mut refused);
        if let Err(error) = store.put_many(&fresh) {
            writeln!(console.err, "error: {error}")?;
            return Ok(ExitStatus::Incomplete);
        }
        let tally = ImportTally { new: fresh.len(), other: refused.len() - before, bound };
        said.push(tally.json(path, &refused[before..]));
        if !args.json {
            tally.say(path, console)?;
        }
    }
    if args.json {
        console
            .write_json(&json!({"format": 1, "suite": suite, "grader": grader, "files": said}))?;
    }
    let bound: Vec<&BoundFile> = files.iter().map(|(_, bound)| bound).collect();
    if bound.iter().all(|bound| bound.entries.is_empty()) {
        let message = "no judgment belongs to a sample of the suite";
        return Err(Error::plain(
            message,
            "check the ids, and say where fields stand: `--fields id=ID,score=SCORE`",
        ));
    }
    let unbound = bound.iter().map(|bound| bound.unbound.len()).sum();
    let is_refused = say_refused(&refused, console)?;
    let lacks = args.complete && say_incomplete(unbound, console)?;
    Ok(match (lacks, is_refused) {
        (true, _) => ExitStatus::GateFailed,
        (false, true) => ExitStatus::Incomplete,
        (false, false) => ExitStatus::Success,
    })
}

/// What came of one file.
struct ImportTally<'a> {
    /// Judgments that are kept.
    new: usize,
    /// Judgments whose score is another one than that in the store.
    other: usize,
    bound: &'a BoundFile,
}

impl ImportTally<'_> {
    fn there(&self) -> usize {
        self.bound.entries.len() - self.new - self.other + self.bound.twice
    }

    fn json(&self, path: &str, refused: &[RefusedScore<'_>]) -> Value {
        let unbound = &self.bound.unbound;
        let of_no_sample = unbound.iter().filter(|one| one.why.is_of_sample()).count();
        let row = |one: &UnboundJudgment| json!({"id": one.id, "line": one.line, "reason": one.why.to_string()});
        let of_another_score = |one: &RefusedScore<'_>| json!({"id": one.id, "place": one.place, "stored": one.held, "imported": one.new});
        json!({
            "path": path, "judgments": self.bound.judgments, "new": self.new,
            "already_there": self.there(), "failures": self.bound.failures,
            "of_another_score": self.other, "of_no_sample": of_no_sample,
            "not_asked_for": unbound.len() - of_no_sample,
            "not_bound": unbound.iter().map(row).collect::<Vec<_>>(),
            "refused": refused.iter().map(of_another_score).collect::<Vec<_>>(),
        })
    }

    fn say(&self, path: &str, console: &mut Console<'_>) -> std::io::Result<()> {
        let optional = |number: usize, what: &str| match number {
            0 => String::new(),
            number => format!(", {number} {what}"),
        };
        let Self { new, other, bound } = self;
        writeln!(
            console.out,
            "{path}: {}, {new} new, {} already there{}{}, {} not bound",
            count(bound.judgments, "judgment"),
            self.there(),
            optional(*other, "of another score"),
            optional(bound.failures, "without a score"),
            bound.unbound.len()
        )?;
        say_unbound(&bound.unbound, console)
    }
}

/// Says why judgments belong to nothing, reason by reason, and of which rows they are.
fn say_unbound(unbound: &[UnboundJudgment], console: &mut Console<'_>) -> std::io::Result<()> {
    let mut reasons: BTreeMap<&Unbound, Vec<&UnboundJudgment>> = BTreeMap::new();
    for one in unbound {
        reasons.entry(&one.why).or_default().push(one);
    }
    for (why, rows) in reasons.iter().take(SHOWN_REASONS) {
        let place = |one: &&UnboundJudgment| format!("`{}` line {}", clipped(&one.id), one.line);
        let shown: Vec<String> = rows.iter().take(SHOWN_ROWS).map(place).collect();
        let rest = if rows.len() > shown.len() { ", …" } else { "" };
        writeln!(console.out, "  {} not bound: {why} ({}{rest})", rows.len(), shown.join(", "))?;
    }
    if reasons.len() > SHOWN_REASONS {
        let rest = count(reasons.len() - SHOWN_REASONS, "further reason");
        writeln!(console.out, "  {rest}: `--json` lists all rows")?;
    }
    Ok(())
}

/// Nobody knows whether a score that is another one is right: it is taken where that is said.
fn say_refused(
    refused: &[RefusedScore<'_>],
    console: &mut Console<'_>,
) -> Result<bool, std::io::Error> {
    if refused.is_empty() {
        return Ok(false);
    }
    let judgments = count(refused.len(), "judgment");
    let have = if refused.len() == 1 { "has" } else { "have" };
    let row = |one: &RefusedScore<'_>| {
        let RefusedScore { id, place, held, new } = one;
        format!("`{}` in {place}: {held} in the store, {new} in the file", clipped(id))
    };
    let shown: Vec<String> = refused.iter().take(SHOWN_ROWS).map(row).collect();
    let rest = if refused.len() > shown.len() { "; …" } else { "" };
    writeln!(
        console.err,
        "error: {judgments} {have} another score in the store, which stands ({}{rest})\n  help: `--replace` takes the scores of the files",
        shown.join("; ")
    )?;
    Ok(true)
}

fn say_incomplete(unbound: usize, console: &mut Console<'_>) -> Result<bool, std::io::Error> {
    if unbound == 0 {
        return Ok(false);
    }
    let judgments = count(unbound, "judgment");
    let belong = if unbound == 1 { "belongs" } else { "belong" };
    writeln!(
        console.err,
        "error: {judgments} {belong} to nothing that the grader asks for, and `--complete` wants all of them bound"
    )?;
    Ok(true)
}
