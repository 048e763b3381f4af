//! `evalrs batch`: lists, collects, cancels and forgets the batches that are out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::{BatchCollectArgs, BatchCommand, BatchCommandArgs, BatchListArgs, BatchNamesArgs};
use evalrs_base::file_path::join;
use evalrs_base::text::table::{lines, name, number, words};
use evalrs_base::text::{count, sanitize};
use evalrs_engine::progress::Quiet;
use evalrs_engine::resolve::settings::{BatchSettings, Settings};
use evalrs_eval::judge::provider::batches::{self, BatchState, RemoteBatch};
use evalrs_graph::inputs::Overrides;
use evalrs_store::{BatchLedger, OpenBatch, OpenBatches};
use evalrs_use_cases::args::StoreArgs;
use evalrs_use_cases::batch_settings::open_batches;
use evalrs_use_cases::batch_states::{BatchRequest, batch_states};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::loaded_session;
use evalrs_use_cases::settling::{SettledBy, settle_session};

pub(crate) fn batch(
    args: &BatchCommandArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    match &args.command {
        BatchCommand::List(args) => list(args, console),
        BatchCommand::Collect(args) => collect(args, console),
        BatchCommand::Cancel(args) => cancel(args, console),
        BatchCommand::Forget(args) => forget(args, console),
    }
}

/// The batches of a workspace.
struct KnownBatches {
    root: String,
    ledger: BatchLedger,
    batches: Vec<OpenBatch>,
}

impl KnownBatches {
    fn read(suite: Option<&str>, console: &mut Console<'_>) -> Result<Self, Error> {
        let context = SuiteContext::find(suite.unwrap_or("suite.yaml"), None, console.system)?;
        let ledger = BatchLedger::of(&context.committed_dir);
        let found = ledger.read(&OpenBatches::default(), console.system).unwrap_or_default();
        console.warn(found.warnings.iter().map(|warning| sanitize(warning)))?;
        Ok(Self { root: context.root, ledger, batches: found.batches })
    }

    /// Those that the command line names; each name is of one.
    fn named(&self, args: &BatchNamesArgs) -> Result<Vec<&OpenBatch>, Error> {
        if args.all {
            return Ok(self.batches.iter().collect());
        }
        let mut named: Vec<&OpenBatch> = Vec::new();
        for id in &args.ids {
            let of_id = |batch: &&OpenBatch| name_of(batch).starts_with(id.as_str());
            match self.batches.iter().filter(of_id).collect::<Vec<_>>()[..] {
                [one] => named.push(one),
                [] => {
                    let message = format!("no batch `{}` is out", sanitize(id));
                    return Err(Error::plain(message, "`evalrs batch list` shows those that are"));
                }
                _ => {
                    let message = format!("several batches begin with `{}`", sanitize(id));
                    return Err(Error::plain(message, "write more of the id"));
                }
            }
        }
        Ok(named)
    }

    /// What the provider of each of these says.
    fn states(
        &self,
        batches: &[&OpenBatch],
        request: BatchRequest,
        console: &mut Console<'_>,
    ) -> Result<BTreeMap<String, Result<RemoteBatch, String>>, Error> {
        let mut of_suites: BTreeMap<&str, Vec<&OpenBatch>> = BTreeMap::new();
        for batch in batches {
            of_suites.entry(&batch.suite).or_default().push(batch);
        }
        let mut states = BTreeMap::new();
        for (suite, batches) in of_suites {
            let path = join(&self.root, suite);
            let store = StoreArgs::default();
            let loaded = loaded_session(&path, &store, Overrides::default(), console);
            let said = match loaded {
                Ok((_, session)) => batch_states(&session, &batches, request, console.verbosity)?,
                Err(_) => vec![Err(format!("`{suite}` cannot be read")); batches.len()],
            };
            let digests = batches.iter().map(|batch| batch.digest.clone());
            states.extend(digests.zip(said));
        }
        Ok(states)
    }
}

/// What a batch is called: as at its provider, else by its digest.
fn name_of(batch: &OpenBatch) -> &str {
    batch.id.as_deref().unwrap_or(batch.digest.get(..12).unwrap_or(&batch.digest))
}

fn list(args: &BatchListArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let known = KnownBatches::read(args.suite.as_deref(), console)?;
    let batches: Vec<&OpenBatch> = known.batches.iter().collect();
    let states = if args.offline {
        BTreeMap::new()
    } else {
        known.states(&batches, BatchRequest::Look, console)?
    };
    let state_of = |batch: &OpenBatch| match states.get(&batch.digest) {
        None if batch.id.is_none() => "not named yet".to_owned(),
        None => "out".to_owned(),
        Some(Ok(remote)) => state(remote),
        Some(Err(why)) => sanitize(why),
    };
    if args.json {
        let all: Vec<Value> =
            batches.iter().map(|batch| described(batch, &state_of(batch))).collect();
        console.write_json(&json!({"batches": all}))?;
        return Ok(ExitStatus::Success);
    }
    if batches.is_empty() {
        writeln!(console.out, "no batch is out")?;
        return Ok(ExitStatus::Success);
    }
    let heads = ["batch", "suite", "provider", "model", "judgments", "sent", "state"];
    let mut rows = vec![heads.map(words).to_vec()];
    rows[0][4] = number(heads[4]);
    rows.extend(batches.iter().map(|batch| {
        let sent = batch.at.get(..16).unwrap_or(&batch.at);
        vec![
            name(name_of(batch)),
            name(&batch.suite),
            words(&batch.provider),
            words(&batch.model),
            number(batch.requests.to_string()),
            words(sent),
            words(&state_of(batch)),
        ]
    }));
    for line in lines(&rows, console.width) {
        writeln!(console.out, "{line}")?;
    }
    Ok(ExitStatus::Success)
}

/// The state of a batch in a few words.
fn state(remote: &RemoteBatch) -> String {
    match &remote.state {
        BatchState::Running if remote.ended > 0 => {
            format!("running, {} of {} done", remote.ended, remote.requests)
        }
        BatchState::Running => "running".to_owned(),
        BatchState::Ended { trouble: None, .. } => "ended".to_owned(),
        BatchState::Ended { trouble: Some(trouble), .. } => format!("ended: {}", sanitize(trouble)),
    }
}

fn described(batch: &OpenBatch, state: &str) -> Value {
    json!({
        "id": batch.id,
        "suite": batch.suite,
        "provider": batch.provider,
        "model": batch.model,
        "judgments": batch.requests,
        "sent": batch.at,
        "digest": batch.digest,
        "state": state,
    })
}

fn collect(args: &BatchCollectArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let mut status = ExitStatus::Success;
    let provider = args.provider.as_deref();
    if let Some(unknown) = provider.filter(|provider| batches::find(provider).is_none()) {
        let message = format!("`{}` is not a provider with batches", sanitize(unknown));
        return Err(Error::plain(message, "write openai, anthropic or google"));
    }
    for suite in &args.suites {
        let (surroundings, mut session) =
            loaded_session(suite, &args.store, Overrides::default(), console)?;
        let store = surroundings.store(console)?;
        let batches = BatchSettings {
            collects_only: true,
            search: args.provider.clone(),
            ..open_batches(&surroundings, &session, console.system)
        };
        let settings = Settings { prices: surroundings.prices(), batches, ..Settings::default() };
        let by = SettledBy {
            system: console.system,
            verbosity: console.verbosity,
            progress: &mut Quiet,
            grades: &mut Quiet,
            stop: None,
        };
        let settled = settle_session(&mut session, store, &settings, by)?;
        console.warn(settled.warnings.iter().map(|warning| sanitize(warning)))?;
        let collected = count(settled.asked.len(), "judgment");
        let out = settled.out;
        writeln!(console.out, "{}: {collected} collected, {out} out", sanitize(suite))?;
        let own = open_batches(&surroundings, &session, console.system);
        let open = own.ledger.read(&OpenBatches::default(), console.system).unwrap_or_default();
        // Judgments that are not wanted now are out all the same.
        let out = out + open.batches.iter().filter(|batch| batch.suite == own.suite).count();
        status = status.and(match (settled.interrupted, out) {
            (true, _) => ExitStatus::Interrupted,
            (false, 0) => ExitStatus::Success,
            (false, _) => ExitStatus::InBatch,
        });
    }
    Ok(status)
}

fn cancel(args: &BatchNamesArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let known = KnownBatches::read(args.suite.as_deref(), console)?;
    let batches = known.named(args)?;
    let states = known.states(&batches, BatchRequest::Cancel, console)?;
    let mut status = ExitStatus::Success;
    for batch in batches {
        let name = sanitize(name_of(batch));
        match states.get(&batch.digest) {
            Some(Ok(remote)) => writeln!(console.out, "{name}: {}", state(remote))?,
            Some(Err(why)) => {
                writeln!(console.err, "error: {name} is not cancelled: {}", sanitize(why))?;
                status = ExitStatus::Incomplete;
            }
            None => {}
        }
    }
    Ok(status)
}

fn forget(args: &BatchNamesArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let known = KnownBatches::read(args.suite.as_deref(), console)?;
    for batch in known.named(args)? {
        known.ledger.close(batch, console.system)?;
        let judgments = count(batch.requests, "judgment");
        let name = sanitize(name_of(batch));
        writeln!(console.out, "forgot {name}: {judgments} will be called again if missing")?;
    }
    Ok(ExitStatus::Success)
}
