//! `evalrs cache import --as` for a grader of recorded votes: they are kept in a file beside the suite, which is to be
//! committed. No cache holds them, because nobody can be asked again.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::cases_by_id::{CasesById, NoEntry, Unbound, UnboundJudgment};
use super::fields_args::layout;
use super::import_tally::{ImportReport, ImportTally, RefusedScore};
use super::judgments_file::{bytes_of, each_judgment, read};
use crate::cli::ImportArgs;
use evalrs_base::diagnostic::{Diagnostic, clipped};
use evalrs_base::path::Row;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::split::{self, RecordStart};
use evalrs_eval::evaluate::Submission;
use evalrs_eval::grade::recorded_scale;
use evalrs_eval::votes::answer_digest;
use evalrs_eval::votes::judgments::{
    Judgment, JudgmentLayout, JudgmentReader, NO_SCORE, OF_ANSWER,
};
use evalrs_eval::votes::score_map::VoteValue;
use evalrs_graph::queries::{self, Grader};
use evalrs_graph::row_files::{VotePath, vote_path};
use evalrs_model::spec::{DatasetFormat, GraderKind, Scale};
use evalrs_store::lock_imports;
use evalrs_system::FileBytes;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};

/// What a vote is of and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct VoteId {
    id: String,
    model: Option<String>,
    trial: u32,
    judge: Option<String>,
    vote: Option<u32>,
}

/// A vote as the file keeps it.
#[derive(Clone, Debug, PartialEq)]
struct KeptVote {
    value: VoteValue,
    rationale: String,
    answer: Option<String>,
}

/// A vote of an imported file, and its place there.
struct ImportedVote {
    of: VoteId,
    vote: KeptVote,
    place: String,
}

#[derive(Default)]
struct ReadVotes {
    votes: Vec<ImportedVote>,
    judgments: usize,
    unbound: Vec<UnboundJudgment>,
}

/// Takes the votes of every file into the file of the grader.
pub(super) fn import(
    session: &Session,
    grader: Grader<'_>,
    surroundings: &SuiteContext,
    args: &ImportArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let name = grader.name(&session.db);
    let path = own_file(session, grader)?;
    let mut layout = layout(&args.fields, &args.map)?;
    let scale = scale(session, grader);
    layout.map.takes_truths = scale == Scale::UNIT;
    let reader = VoteReader { session, grader, cases: CasesById::new(session), scale };
    let mut next = BTreeMap::new();
    let mut files = Vec::new();
    for path in &args.files {
        let bytes = read(path, console)?;
        let votes = reader.file(path, &bytes, &layout, &mut next).map_err(Error::Diagnostics)?;
        files.push((path, votes));
    }
    // Whoever imports at the same time waits, and then sees what is there.
    let _alone = lock_imports(Path::new(&surroundings.cache_dir));
    let mut kept = kept_votes(&path, console)?;
    let mut tallies = Vec::new();
    let mut is_new = false;
    for (path, read) in &files {
        let tally = take(path, read, args.replace, &mut kept);
        is_new |= tally.new > 0;
        tallies.push(tally);
    }
    if is_new {
        let text: String = kept.iter().map(|(of, vote)| line(of, vote) + "\n").collect();
        console.system.write(&path, &mut |file| file.write_all(text.as_bytes()))?;
    }
    let bound = files.iter().map(|(_, read)| read.votes.len()).sum();
    let report = ImportReport { suite: &args.bind[0], grader: name, tallies, bound };
    let ended = report.say(args, console)?;
    if is_new && !args.json {
        writeln!(console.out, "votes: {path}")?;
    }
    Ok(ended)
}

/// The file that imports of the grader go to.
fn own_file(session: &Session, grader: Grader<'_>) -> Result<String, Error> {
    let name = grader.name(&session.db);
    match vote_path(&session.db, grader) {
        Some(VotePath { path, is_named: false }) => Ok(path),
        Some(VotePath { path, is_named: true }) => Err(Error::plain(
            format!("in the suite, `{name}` reads `{path}`: edit that file yourself"),
            "remove `path` to keep imports in a file of evalrs",
        )),
        None => Err(Error::plain(
            format!("`{name}` reads its votes from fields of the row"),
            "remove `votes` to keep imports in a file of evalrs",
        )),
    }
}

fn scale(session: &Session, grader: Grader<'_>) -> Scale {
    let GraderKind::Tool(tool) = grader.kind(&session.db) else { return Scale::UNIT };
    recorded_scale(tool).unwrap_or(Scale::UNIT)
}

/// Reads files of votes for a grader.
struct VoteReader<'a> {
    session: &'a Session,
    grader: Grader<'a>,
    cases: CasesById,
    scale: Scale,
}

impl VoteReader<'_> {
    /// The votes of a file, or everything that is wrong with it. `next` counts those that nothing tells apart.
    fn file(
        &self,
        path: &str,
        bytes: &[u8],
        layout: &JudgmentLayout,
        next: &mut BTreeMap<VoteId, u32>,
    ) -> Result<ReadVotes, Vec<Diagnostic>> {
        let mut read = ReadVotes::default();
        let mut seen: BTreeMap<VoteId, (VoteValue, u32)> = BTreeMap::new();
        each_judgment(path, bytes, layout, &mut |judgment, RecordStart { line, .. }| {
            read.judgments += 1;
            let id = judgment.id.clone();
            let (of, vote) = match self.vote(judgment, next) {
                Ok(vote) => vote,
                Err(NoEntry::Wrong(message)) => return Err(message),
                Err(NoEntry::Unbound(why)) => {
                    read.unbound.push(UnboundJudgment { id, line, why });
                    return Ok(());
                }
            };
            let before = seen.insert(of.clone(), (vote.value.clone(), line));
            if let Some((_, first)) = before.filter(|(value, _)| *value != vote.value) {
                let id = clipped(&id);
                return Err(format!("`{id}` has another score for the same vote in line {first}"));
            }
            read.votes.push(ImportedVote { of, vote, place: format!("{path}:{line}") });
            Ok(())
        })?;
        Ok(read)
    }

    fn vote(
        &self,
        judgment: Judgment,
        next: &mut BTreeMap<VoteId, u32>,
    ) -> Result<(VoteId, KeptVote), NoEntry> {
        let case = self.cases.find(&judgment)?;
        if let VoteValue::Score(score) = judgment.value
            && !self.scale.contains(score)
        {
            let Scale { min, max } = self.scale;
            return Err(format!("`score` is {score}, outside {min} to {max}").into());
        }
        let db = &self.session.db;
        let texts = queries::graded_texts(db, case.chunk, self.grader);
        let answer = match texts.get(case.at) {
            Some(Submission::Text(text)) => Some(answer_digest(&text)),
            Some(Submission::NoMessages | Submission::Unrecorded(_)) => Some(answer_digest("")),
            // Each turn is an answer of its own, and a vote is of all of them.
            Some(Submission::Turns(_) | Submission::Failed(_)) => None,
            Some(Submission::Pending(_) | Submission::Unanswered(_)) | None => {
                return Err(Unbound::Unanswered.into());
            }
        };
        let mut of = VoteId {
            id: judgment.id,
            model: case.model.clone(),
            trial: case.trial,
            judge: judgment.judge,
            vote: judgment.vote,
        };
        if of.vote.is_none() && of.judge.is_none() {
            let count = next.entry(of.clone()).or_default();
            of.vote = Some(*count);
            *count += 1;
        }
        Ok((of, KeptVote { value: judgment.value, rationale: judgment.rationale, answer }))
    }
}

/// Takes the votes of one file into those that are kept.
fn take<'a>(
    path: &'a str,
    read: &'a ReadVotes,
    replace: bool,
    kept: &mut BTreeMap<VoteId, KeptVote>,
) -> ImportTally<'a> {
    let judgments = read.judgments;
    let unbound = &*read.unbound;
    let mut tally = ImportTally { path, judgments, unbound, ..ImportTally::default() };
    for ImportedVote { of, vote, place } in &read.votes {
        tally.failures += usize::from(matches!(vote.value, VoteValue::Failed(_)));
        // A vote on another answer is not the same vote.
        let held = kept.get(of).filter(|held| held.answer == vote.answer);
        match (held.map(|held| &held.value), &vote.value) {
            (Some(held), new) if held == new => tally.there += 1,
            // No failure stands over a score.
            (Some(_), VoteValue::Failed(_)) => tally.there += 1,
            (Some(VoteValue::Score(held)), VoteValue::Score(new)) if !replace => {
                tally.refused.push(RefusedScore { id: &of.id, place, held: *held, new: *new });
            }
            (Some(_) | None, _) => {
                tally.new += 1;
                kept.insert(of.clone(), vote.clone());
            }
        }
    }
    tally
}

/// The votes that are kept in the file by now.
fn kept_votes(path: &str, console: &Console<'_>) -> Result<BTreeMap<VoteId, KeptVote>, Error> {
    let bytes = match console.system.read(path) {
        FileBytes::Missing => return Ok(BTreeMap::new()),
        read => bytes_of(path, read)?,
    };
    let text = split::decode(path, &bytes).map_err(|problem| Error::Diagnostics(vec![problem]))?;
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = split::split(path, text, DatasetFormat::Jsonl).map_err(Error::Diagnostics)?;
    let layout = JudgmentLayout::default();
    let reader = JudgmentReader::new(&layout, &std::iter::empty());
    let mut kept = BTreeMap::new();
    for row in &rows {
        let judgments = reader.judgments(Row::new(&row.text)).map_err(|message| {
            let place = split::line_place(path, text, row.start);
            Error::Diagnostics(vec![Diagnostic::error(place, message)])
        })?;
        for judgment in judgments {
            let Judgment { id, model, trial, judge, vote, value, rationale, answer } = judgment;
            let of = VoteId { id, model, trial: trial.unwrap_or(0), judge, vote };
            kept.insert(of, KeptVote { value, rationale, answer });
        }
    }
    Ok(kept)
}

fn line(of: &VoteId, vote: &KeptVote) -> String {
    let mut line = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() && value != "" {
            line.insert(name.to_owned(), value);
        }
    };
    put("id", json!(of.id));
    put("model", json!(of.model));
    put("trial", json!(of.trial));
    put("judge", json!(of.judge));
    put("vote", json!(of.vote));
    match &vote.value {
        VoteValue::Score(score) => put("score", json!(score)),
        VoteValue::Failed(written) => put(NO_SCORE, json!(written)),
    }
    put("rationale", json!(vote.rationale));
    put(OF_ANSWER, json!(vote.answer));
    Value::Object(line).to_string()
}
