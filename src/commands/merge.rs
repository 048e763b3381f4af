//! `evalrs merge`: joins the parts of a run. Their outcomes come into the cache, and the whole is evaluated from there.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use clap::{CommandFactory, FromArgMatches};
use serde_json::Value;

use super::cache::import::merge;
use super::run::run;
use crate::cli::{Cli, Command, MergeArgs};
use evalrs_base::file_path::join;
use evalrs_base::price::Cost;
use evalrs_base::text::{count, enumerated, sanitize};
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries;
use evalrs_graph::results::sample_id;
use evalrs_metrics::results::ReportHeader;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, read_body};
use evalrs_store::record::read::PastHeader;
use evalrs_store::run_archive::RunArchive;
use evalrs_store::{Entry, OutcomeStore, SegmentStore, read_lines};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::{SuiteContext, check_entry};
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::header::header;
use evalrs_use_cases::open::loaded_session;
use evalrs_use_cases::partition::MOST_PARTS;
use evalrs_use_cases::run_files::{not_readable, read_run_file};

/// What narrows a suite down, as a header has it, and the flag for it.
const NARROWING: [(&str, &str); 4] = [
    ("max_samples", "--max-samples"),
    ("tags", "--tags"),
    ("samples", "--sample"),
    ("trials", "--trials"),
];

/// The file of a part.
struct MergedPart<'a> {
    path: &'a str,
    /// Which part, from 1.
    part: u32,
    of: u32,
    cut: String,
    /// The suite, seen from the root of its workspace.
    suite: String,
    header: PastHeader,
    samples: BTreeSet<String>,
    spent: Option<Cost>,
}

impl<'a> MergedPart<'a> {
    fn read(path: &'a str, console: &Console<'_>) -> Result<Self, Error> {
        let bytes = read_run_file(path, console.system)?;
        let file = RunArchive::open(&bytes).map_err(|reason| not_readable(path, &reason))?;
        let setting = |name: &str| file.header.settings.get(name).and_then(Value::as_str);
        let named = setting("partition").and_then(|named| {
            let (part, of) = named.split_once('/')?;
            let both: Option<(u32, u32)> = part.parse().ok().zip(of.parse().ok());
            both.filter(|(part, of)| (1..=*of).contains(part) && *of <= MOST_PARTS)
        });
        let Some(((part, of), cut)) = named.zip(setting("cut").map(str::to_owned)) else {
            return Err(Error::plain(
                format!("`{path}` is a whole run, not a part of one"),
                "merge runs that were made with `--partition`",
            ));
        };
        if !file.index.is_whole {
            return Err(Error::plain(
                format!("`{path}` has no outcomes"),
                "export the part again, without `--record-only`",
            ));
        }
        Ok(Self {
            path,
            part,
            of,
            cut,
            suite: file.index.suite.clone(),
            samples: file.samples().map_err(|reason| not_readable(path, &reason))?,
            spent: file.spent(),
            header: file.header,
        })
    }

    /// What makes two parts those of different runs, in words.
    fn unlike(&self, other: &Self) -> Option<String> {
        let Self { path, cut, header, .. } = self;
        let first = other.path;
        if header.suite != other.header.suite {
            return Some(format!(
                "`{path}` is of the suite `{}`, and `{first}` of `{}`",
                header.suite, other.header.suite
            ));
        }
        if *cut != other.cut {
            return Some(format!(
                "`{path}` is of the cut {cut}, and `{first}` of the cut {}",
                other.cut
            ));
        }
        let inputs = header.inputs.iter().chain(&other.header.inputs).map(|(path, _)| path);
        let changed = inputs
            .into_iter()
            .find(|path| header.inputs.get(*path) != other.header.inputs.get(*path));
        if let Some(changed) = changed {
            return Some(format!(
                "`{path}` and `{first}` were made with different versions of `{changed}`"
            ));
        }
        let names: Vec<&str> = header.graders().map(|(name, _)| name).collect();
        let others: Vec<&str> = other.header.graders().map(|(name, _)| name).collect();
        let is_narrowed = NARROWING
            .iter()
            .any(|(name, _)| header.settings.get(*name) != other.header.settings.get(*name));
        (names != others || is_narrowed)
            .then(|| format!("`{path}` and `{first}` were made with different flags"))
    }
}

pub(crate) fn merge_parts(
    args: &MergeArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let parts = args.files.iter().map(|path| MergedPart::read(path, console));
    let parts: Vec<MergedPart<'_>> = parts.collect::<Result<_, _>>()?;
    check_alike(&parts)?;
    let Some(first) = parts.first() else { return Ok(ExitStatus::Success) };
    let suite = match &args.suite {
        Some(suite) => suite.clone(),
        None => join(&SuiteContext::find("", None, console.system)?.root, &first.suite),
    };
    if console.system.stamp(&suite).is_none() {
        return Err(Error::plain(
            sanitize(&format!("the suite of the parts, `{suite}`, is not here")),
            "merge in a checkout of what was run, or name the suite: `--suite SUITE`",
        ));
    }
    let (surroundings, session) =
        loaded_session(&suite, &args.store, Overrides::default(), console)?;
    let whole = header(&session);
    check_inputs(first, &whole)?;
    // What the parts were narrowed down to is the whole that was cut.
    let over = narrowed_as(first, &whole);
    let session = if over == Overrides::default() {
        session
    } else {
        loaded_session(&suite, &args.store, over, console)?.1
    };
    if let Some(missing) = missing(&parts, &session) {
        writeln!(console.err, "error: {}", sanitize(&missing))?;
        return Ok(ExitStatus::Incomplete);
    }
    let tally = bring_in(&parts, &surroundings.cache_dir, console)?;
    if !args.quiet {
        tally.say(&parts, console)?;
    }
    drop(session);
    replay(args, &suite, &replayed(first, &whole), console)
}

/// Parts of one run are alike, and each is there once.
fn check_alike(parts: &[MergedPart<'_>]) -> Result<(), Error> {
    let hint =
        "merge the parts of one run: all of one commit, with the same flags; nothing was merged";
    let mut seen: BTreeMap<u32, &str> = BTreeMap::new();
    for part in parts {
        if let Some(unlike) = parts.first().and_then(|first| part.unlike(first)) {
            return Err(Error::plain(sanitize(&unlike), hint));
        }
        if let Some(other) = seen.insert(part.part, part.path) {
            let message =
                format!("`{other}` and `{}` are both part {} of {}", part.path, part.part, part.of);
            return Err(Error::plain(sanitize(&message), "name one of them; nothing was merged"));
        }
    }
    Ok(())
}

/// What is replayed here is what was evaluated there.
fn check_inputs(part: &MergedPart<'_>, whole: &ReportHeader) -> Result<(), Error> {
    let Some(path) = part.header.changed_input(&whole.inputs) else { return Ok(()) };
    Err(Error::plain(
        sanitize(&format!("`{path}` is not what `{}` was made with", part.path)),
        "merge in a checkout of the commit that the parts were made of",
    ))
}

/// What the flags of a part's run said of `name`; none where the suite itself says the same.
fn narrowed<'a>(part: &'a MergedPart<'_>, whole: &ReportHeader, name: &str) -> Option<&'a Value> {
    let said = part.header.settings.get(name)?;
    (whole.settings.get(name) != Some(said)).then_some(said)
}

/// What narrows the suite down to the whole that was cut.
fn narrowed_as(part: &MergedPart<'_>, whole: &ReportHeader) -> Overrides {
    let texts = |name: &str| {
        let texts = narrowed(part, whole, name).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let number = |name: &str| narrowed(part, whole, name).and_then(Value::as_u64);
    Overrides {
        max_samples: number("max_samples").and_then(|most| usize::try_from(most).ok()),
        tags: texts("tags"),
        samples: texts("samples"),
        trials: number("trials").and_then(|trials| u32::try_from(trials).ok()),
        ..Overrides::default()
    }
}

/// Which parts are missing, with their samples.
fn missing(parts: &[MergedPart<'_>], session: &Session) -> Option<String> {
    let there: BTreeSet<u32> = parts.iter().map(|part| part.part).collect();
    let of = parts.first()?.of;
    let lacks = (1..=of).filter(|part| !there.contains(part)).map(|part| part.to_string());
    let lacks: Vec<String> = lacks.collect();
    if lacks.is_empty() {
        return None;
    }
    let known: BTreeSet<&String> = parts.iter().flat_map(|part| &part.samples).collect();
    let mut samples = Vec::new();
    for (chunk, places) in
        session.chunks().iter().zip(&queries::selection(&session.db, session.root).places)
    {
        for at in (0..places.len()).filter(|at| places[*at].is_in()) {
            let id = sample_id(&session.db, *chunk, at).filter(|id| !known.contains(id));
            samples.extend(id.filter(|id| samples.last() != Some(id)));
        }
    }
    let are = if lacks.len() == 1 { "part" } else { "parts" };
    let is = if lacks.len() == 1 { "is" } else { "are" };
    let first: Vec<String> = samples.iter().take(5).map(|id| format!("`{id}`")).collect();
    let more = if samples.len() > first.len() { ", …" } else { "" };
    let samples = count(samples.len(), "sample");
    Some(format!(
        "{are} {} of {of} {is} missing: {samples}: {}{more}",
        enumerated(&lacks, "and"),
        first.join(", ")
    ))
}

/// What came into the cache.
#[derive(Default)]
struct MergeTally {
    outcomes: usize,
    new: usize,
    /// Outcomes that two parts have, with other replies: the key of the first, and its parts.
    doubled: usize,
    first_doubled: Option<(ActionKey, [u32; 2])>,
}

impl MergeTally {
    fn say(&self, parts: &[MergedPart<'_>], console: &mut Console<'_>) -> std::io::Result<()> {
        let Some(first) = parts.first() else { return Ok(()) };
        let spent = parts.iter().filter_map(|part| part.spent).reduce(|one, other| one + other);
        let spent = spent.map_or_else(String::new, |spent| format!("; the parts spent {spent}"));
        let merged = count(parts.len(), "part");
        let outcomes = count(self.outcomes, "outcome");
        writeln!(
            console.err,
            "{merged} of the cut {}: {outcomes}, {} new{spent}",
            first.cut, self.new
        )?;
        let Some((key, [one, other])) = self.first_doubled else { return Ok(()) };
        let doubled = count(self.doubled, "call");
        writeln!(
            console.err,
            "note: {doubled} made by two parts had different replies, first {key} in parts {one} and {other}: one reply counts for both"
        )
    }
}

/// Brings the outcomes of all parts into the cache.
fn bring_in(
    parts: &[MergedPart<'_>],
    cache_dir: &str,
    console: &mut Console<'_>,
) -> Result<MergeTally, Error> {
    let store = SegmentStore::open(cache_dir);
    let mut tally = MergeTally::default();
    let mut seen: BTreeMap<ActionKey, (u32, u64)> = BTreeMap::new();
    for part in parts {
        let entries = entries_of(part, console)?;
        for entry in &entries {
            let digest = reply_digest(entry);
            match seen.get(&entry.key) {
                Some((other, held)) if *held != digest => {
                    tally.doubled += 1;
                    tally.first_doubled.get_or_insert((entry.key, [*other, part.part]));
                }
                Some(_) => {}
                None => {
                    seen.insert(entry.key, (part.part, digest));
                }
            }
        }
        tally.outcomes += entries.len();
        tally.new += merge(&entries, &store).map_err(|error| {
            Error::plain(
                sanitize(&format!("{}: {error}", part.path)),
                "the outcomes that were merged stay in the cache",
            )
        })?;
    }
    console.warn(store.take_warnings())?;
    Ok(tally)
}

/// The digest of what an outcome says, whoever made it and when.
fn reply_digest(entry: &Entry) -> u64 {
    let mut hasher = DefaultHasher::new();
    match read_body(&entry.body) {
        Ok(Outcome::Reply(reply)) => reply.text.hash(&mut hasher),
        Ok(Outcome::Failure(failure)) => failure.message.hash(&mut hasher),
        Err(_) => entry.body.hash(&mut hasher),
    }
    hasher.finish()
}

/// The outcomes of a part.
fn entries_of(part: &MergedPart<'_>, console: &Console<'_>) -> Result<Vec<Entry>, Error> {
    let bytes = read_run_file(part.path, console.system)?;
    let lines = RunArchive::open(&bytes).and_then(|file| file.outcomes());
    let lines = lines.map_err(|reason| not_readable(part.path, &reason))?;
    let mut entries = Vec::new();
    let read = read_lines(part.path, &lines, &check_entry, &mut |entry| entries.push(entry));
    match read.problems.first() {
        Some(problem) => Err(not_readable(part.path, problem)),
        None => Ok(entries),
    }
}

/// The flags with which the whole suite is the whole that was cut.
fn replayed(part: &MergedPart<'_>, whole: &ReportHeader) -> Vec<String> {
    let mut flags = Vec::new();
    for (name, flag) in NARROWING {
        let values = match narrowed(part, whole, name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => {
                values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(value) => vec![value.to_string()],
        };
        flags.extend(values.into_iter().map(|value| format!("{flag}={value}")));
    }
    let names =
        |graders: Vec<&str>| graders.into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
    let [own, all] = [
        names(part.header.graders().map(|(name, _)| name).collect()),
        names(whole.graders().map(|(name, _)| name).collect()),
    ];
    if own != all {
        flags.extend(own.into_iter().map(|name| format!("--grader={name}")));
    }
    flags
}

/// Evaluates the whole suite from the cache.
fn replay(
    args: &MergeArgs,
    suite: &str,
    flags: &[String],
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let mut words = vec![Cli::NAME.to_owned(), "run".to_owned(), "--frozen".to_owned()];
    words.extend(flags.iter().cloned());
    words.push(format!("--format={}", args.format.name));
    words.extend(args.output.iter().map(|folder| format!("--output={folder}")));
    words.extend(args.quiet.then(|| "--quiet".to_owned()));
    words.extend(args.store.cache_dir.iter().map(|folder| format!("--cache-dir={folder}")));
    words.extend(["--".to_owned(), suite.to_owned()]);
    let parsed = Cli::command().try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed.map(|cli| cli.command) {
        Ok(Command::Run(args)) => run(&args, console),
        Ok(_) | Err(_) => Err(Error::plain(
            "the flags of the parts are none of this version",
            "merge with the version of evalrs that made the parts",
        )),
    }
}
