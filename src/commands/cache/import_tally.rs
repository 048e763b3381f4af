//! The result of an import of judgments, for people and for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cases_by_id::{Unbound, UnboundJudgment};
use crate::cli::ImportArgs;
use evalrs_base::diagnostic::clipped;
use evalrs_base::text::count;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// How many rows are named of those that are alike.
const SHOWN_ROWS: usize = 5;

/// How many reasons for unbound judgments are shown.
const SHOWN_REASONS: usize = 10;

/// A judgment that has another score in the store.
pub(super) struct RefusedScore<'a> {
    /// Its sample.
    pub id: &'a str,
    /// The file and line of its row.
    pub place: &'a str,
    /// The score in the store.
    pub held: f64,
    /// The score in the file.
    pub new: f64,
}

#[derive(Default)]
pub(super) struct ImportTally<'a> {
    pub path: &'a str,
    pub judgments: usize,
    /// Judgments that are kept.
    pub new: usize,
    /// Judgments that were there.
    pub there: usize,
    /// Judgments without a score, among those that are bound.
    pub failures: usize,
    /// Judgments that have another score than is there.
    pub refused: Vec<RefusedScore<'a>>,
    /// Judgments that belong to nothing.
    pub unbound: &'a [UnboundJudgment],
}

pub(super) struct ImportReport<'a> {
    pub suite: &'a str,
    pub grader: &'a str,
    pub tallies: Vec<ImportTally<'a>>,
    /// Judgments that belong to something.
    pub bound: usize,
}

impl ImportReport<'_> {
    /// Reports what came of it, and how the command ends.
    pub(super) fn say(
        &self,
        args: &ImportArgs,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Error> {
        let Self { suite, grader, tallies, .. } = self;
        if args.json {
            let files: Vec<Value> = tallies.iter().map(ImportTally::json).collect();
            let all = json!({"format": 1, "suite": suite, "grader": grader, "files": files});
            console.write_json(&all)?;
        } else {
            tallies.iter().try_for_each(|tally| tally.say(console))?;
        }
        if self.bound == 0 {
            return Err(Error::plain(
                "no judgment belongs to a sample of the suite",
                "check the ids, and name the fields: `--fields id=ID,score=SCORE`",
            ));
        }
        let refused: Vec<&RefusedScore<'_>> =
            tallies.iter().flat_map(|tally| &tally.refused).collect();
        let unbound = tallies.iter().map(|tally| tally.unbound.len()).sum();
        let is_refused = say_refused(&refused, console)?;
        let lacks = args.complete && say_incomplete(unbound, console)?;
        Ok(match (lacks, is_refused) {
            (true, _) => ExitStatus::GateFailed,
            (false, true) => ExitStatus::Incomplete,
            (false, false) => ExitStatus::Success,
        })
    }
}

impl ImportTally<'_> {
    fn json(&self) -> Value {
        let of_no_sample = self.unbound.iter().filter(|one| one.why.is_of_sample()).count();
        let row = |one: &UnboundJudgment| json!({"id": one.id, "line": one.line, "reason": one.why.to_string()});
        let of_another_score = |one: &RefusedScore<'_>| json!({"id": one.id, "place": one.place, "stored": one.held, "imported": one.new});
        json!({
            "path": self.path, "judgments": self.judgments, "new": self.new,
            "already_there": self.there, "failures": self.failures,
            "of_another_score": self.refused.len(), "of_no_sample": of_no_sample,
            "not_asked_for": self.unbound.len() - of_no_sample,
            "not_bound": self.unbound.iter().map(row).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(of_another_score).collect::<Vec<_>>(),
        })
    }

    fn say(&self, console: &mut Console<'_>) -> std::io::Result<()> {
        let optional = |number: usize, what: &str| match number {
            0 => String::new(),
            number => format!(", {number} {what}"),
        };
        let Self { path, new, there, .. } = self;
        writeln!(
            console.out,
            "{path}: {}, {new} new, {there} already there{}{}, {} not bound",
            count(self.judgments, "judgment"),
            optional(self.refused.len(), "with another score"),
            optional(self.failures, "without a score"),
            self.unbound.len()
        )?;
        say_unbound(self.unbound, console)
    }
}

/// Says why judgments belong to nothing, reason by reason, and of which rows they are.
fn say_unbound(unbound: &[UnboundJudgment], console: &mut Console<'_>) -> std::io::Result<()> {
    let mut reasons: BTreeMap<&Unbound, Vec<&UnboundJudgment>> = BTreeMap::new();
    for one in unbound {
        reasons.entry(&one.why).or_default().push(one);
    }
    for (why, rows) in reasons.iter().take(SHOWN_REASONS) {
        let shown = rows.iter().take(SHOWN_ROWS);
        let shown = shown.map(|one| format!("`{}` line {}", clipped(&one.id), one.line));
        let shown: Vec<String> = shown.collect();
        let rest = if rows.len() > shown.len() { ", …" } else { "" };
        writeln!(console.out, "  {} not bound: {why} ({}{rest})", rows.len(), shown.join(", "))?;
    }
    if reasons.len() > SHOWN_REASONS {
        let rest = count(reasons.len() - SHOWN_REASONS, "further reason");
        writeln!(console.out, "  {rest}: `--json` lists all rows")?;
    }
    Ok(())
}

/// Whether a different score is right is not known: it is taken only on request.
fn say_refused(
    refused: &[&RefusedScore<'_>],
    console: &mut Console<'_>,
) -> Result<bool, std::io::Error> {
    if refused.is_empty() {
        return Ok(false);
    }
    let judgments = count(refused.len(), "judgment");
    let have = if refused.len() == 1 { "has" } else { "have" };
    let shown = refused.iter().take(SHOWN_ROWS).map(|RefusedScore { id, place, held, new }| {
        format!("`{}` in {place}: {held} in the store, {new} in the file", clipped(id))
    });
    let shown: Vec<String> = shown.collect();
    let rest = if refused.len() > shown.len() { "; …" } else { "" };
    writeln!(
        console.err,
        "error: {judgments} {have} another score in the store, which is kept ({}{rest})\n  help: `--replace` takes the scores of the files",
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
        "error: {judgments} {belong} to no call of the grader, and `--complete` requires all of them bound"
    )?;
    Ok(true)
}
