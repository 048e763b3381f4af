//! `evalrs cache push`, `pull`, `status`, `key` and `remote`: works with a cache that several machines share.

use serde_json::{Value, json};

use super::amounts;
use super::place::surroundings_of;
use crate::cli::{KeyArgs, KeyCommand, PlaceArgs, RemoteArgs};
use evalrs_base::text::{count, sanitize};
use evalrs_shared::keys::WriterKey;
use evalrs_shared::pruning::{PruneLimits, PruneReport};
use evalrs_shared::reading::PullReport;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::shared_cache::{SharedCache, pulled_lines};

/// Writes what is new here into the log of this workspace's writer.
pub(super) fn push(args: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let context = surroundings_of(args, console)?;
    let shared = context.needed_shared_cache()?;
    let pushed = shared.push(console.system)?;
    console.warn(pushed.problems.iter().map(|problem| sanitize(problem)))?;
    let url = shared.url();
    if pushed.replaces {
        writeln!(
            console.err,
            "warning: {url} replaces objects that are there: two jobs with the name of one writer must not write at once"
        )?;
    }
    if args.json {
        console.write_json(&json!({
            "format": 1, "url": url, "head": pushed.seq, "new": pushed.new, "outcomes": pushed.outcomes,
            "replaces": pushed.replaces, "problems": pushed.problems,
        }))?;
        return Ok(ExitStatus::Success);
    }
    let outcomes = count(usize::try_from(pushed.outcomes).unwrap_or(usize::MAX), "outcome");
    writeln!(console.out, "{url}: {} new, {outcomes} in the log, head {}", pushed.new, pushed.seq)?;
    Ok(ExitStatus::Success)
}

/// Brings what believed writers have written here.
pub(super) fn pull(args: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let context = surroundings_of(args, console)?;
    let shared = context.needed_shared_cache()?;
    let pulled = shared
        .pull(console.system)
        .map_err(|reason| Error::plain(sanitize(&reason), "what was read before is still used"))?;
    console.warn(pulled.problems.iter().map(|problem| sanitize(problem)))?;
    if args.json {
        console.write_json(&shown(&shared, &pulled))?;
        return Ok(ExitStatus::Success);
    }
    for line in pulled_lines(shared.url(), &pulled) {
        writeln!(console.out, "{line}")?;
    }
    Ok(ExitStatus::Success)
}

fn shown(shared: &SharedCache<'_>, pulled: &PullReport) -> Value {
    let writers = pulled.writers.iter().map(|log| {
        json!({"writer": log.writer, "head": log.seq, "outcomes": log.outcomes, "new": log.new})
    });
    json!({
        "format": 1, "url": shared.url(), "writers": writers.collect::<Vec<_>>(),
        "not_believed": pulled.others, "problems": pulled.problems,
    })
}

/// What of the shared cache is here. It opens no connection.
pub(super) fn status(args: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let context = surroundings_of(args, console)?;
    let shared = context.needed_shared_cache()?;
    let mut logs = Vec::new();
    for writer in &shared.trust.believe {
        let head = shared.local.head(writer, &shared.trust, console.system);
        let (seq, segments) =
            head.map_or((0, Vec::new()), |head| (head.head.seq, head.head.segments));
        let here =
            segments.iter().filter(|segment| shared.local.has(&segment.sha256, console.system));
        let outcomes: u64 = here.map(|segment| segment.outcomes).sum();
        let all: u64 = segments.iter().map(|segment| segment.outcomes).sum();
        logs.push(json!({"writer": writer, "head": seq, "outcomes": all, "here": outcomes}));
        if !args.json {
            writeln!(
                console.out,
                "{}: `{writer}`: head {seq}, {outcomes} of {all} outcomes here",
                shared.url()
            )?;
        }
    }
    if args.json {
        console.write_json(&json!({"format": 1, "url": shared.url(), "writers": logs}))?;
    }
    Ok(ExitStatus::Success)
}

/// Removes what the log of this workspace's writer does not list any more.
pub(super) fn remote(args: &RemoteArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let args = args.prune();
    let now = console.system.now().as_second();
    let pruning =
        PruneLimits { before: amounts::since("--older", &args.older, now)?, dry_run: args.dry_run };
    let context = surroundings_of(&args.place, console)?;
    let shared = context.needed_shared_cache()?;
    let PruneReport { removed, bytes, listed, young } = shared.prune(pruning, console.system)?;
    if args.place.json {
        console.write_json(&json!({
            "format": 1, "url": shared.url(), "dry_run": args.dry_run, "removed": removed, "bytes": bytes,
            "listed": listed, "young": young,
        }))?;
        return Ok(ExitStatus::Success);
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    let objects = count(usize::try_from(removed).unwrap_or(usize::MAX), "object");
    let size = amounts::bytes(bytes);
    writeln!(
        console.out,
        "{}: {verb} {objects}, {size}; {listed} in use, {young} too young",
        shared.url()
    )?;
    Ok(ExitStatus::Success)
}

/// Makes a key, and prints both halves.
pub(super) fn key(args: &KeyArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let KeyCommand::New = args.command;
    let (key, secret) = WriterKey::generate().map_err(|reason| Error::plain(reason, ""))?;
    writeln!(console.out, "secret  {secret}")?;
    writeln!(console.out, "public  {}", key.public())?;
    writeln!(
        console.err,
        "The secret goes into EVALRS_CACHE_KEY of the jobs that write, the public key into `[cache.remote.keys]`. evalrs keeps neither."
    )?;
    Ok(ExitStatus::Success)
}
