//! Brings in what batches have answered: read line by line, durable before anything uses it, closed when all of it is.
//!
//! Results come in any order, and some may be missing or there twice. What nobody wants now is kept all the same: it was paid
//! for, and an edit may be taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::MOST_ATTEMPTS;
use super::access::{accesses_of, look};
use super::find::find_lost;
use super::repeated::RepeatedActions;
use crate::progress::Event;
use crate::resolve::launch::launch;
use crate::resolve::persist::{LandedAction, persist};
use crate::resolve::resolver::Resolver;
use crate::resolve::waiting::WaitingAction;
use evalrs_base::text::{count, sanitize};
use evalrs_eval::judge::provider::batches::{BatchAnswer, BatchResult, BatchState};
use evalrs_eval::judge::without_secrets;
use evalrs_exec::{BatchService, EndpointId, JudgeEndpointId, Launch};
use evalrs_model::key::{ActionKey, KeyMap, KeySet};
use evalrs_model::outcome::{FailureKind, Outcome, StoredOutcome, sum_of_known};
use evalrs_store::{Entry, KeyMarks, OpenBatch};

/// Results that are written at once.
const WRITTEN: usize = 256;

/// A batch that is read, and through whom.
#[derive(Clone, Copy)]
pub(crate) struct EndedBatch<'a> {
    pub service: &'a dyn BatchService,
    pub batch: &'a OpenBatch,
}

/// What came of one batch.
#[derive(Default)]
pub(crate) struct CollectedBatch {
    /// What was read and is not on disk yet: for those who wait, and for nobody.
    wanted: Vec<(WaitingAction, LandedAction)>,
    others: Vec<(ActionKey, BatchResult)>,
    pub(crate) outcomes: Vec<(WaitingAction, Arc<Outcome>)>,
    seen: KeySet,
    /// The ids of results that are of none of its judgments.
    strangers: BTreeSet<String>,
    /// Why requests are to be sent again, and how many.
    again: BTreeMap<String, usize>,
}

/// Collects the batches of this suite that have ended, and others that have what is wanted. Returns the keys of what came.
pub(crate) async fn collect(resolver: &mut Resolver<'_>, wanted: &[WaitingAction]) -> KeySet {
    let mut found = KeySet::default();
    resolver.batches.refresh(&resolver.settings.batches, resolver.world.system);
    let is_searched = resolver.settings.batches.search.is_some();
    // Mostly nothing is out, and many actions are wanted.
    if resolver.batches.open.batches.is_empty() && !is_searched {
        return found;
    }
    let mut by_key: KeyMap<WaitingAction> =
        wanted.iter().map(|waiting| (waiting.key, *waiting)).collect();
    let executor = resolver.world.executor;
    let has_own = !own(resolver, &by_key).is_empty();
    let Some(service) = executor.batches().filter(|_| is_searched || has_own) else {
        return found;
    };
    for told in find_lost(resolver, service).await {
        warn(resolver, &told);
    }
    resolver.batches.refresh(&resolver.settings.batches, resolver.world.system);
    for warning in std::mem::take(&mut resolver.batches.open.warnings) {
        warn(resolver, &warning);
    }
    let mut open = own(resolver, &by_key);
    if let Some(provider) = resolver.settings.batches.search.clone() {
        open.extend(unnoted(resolver, service, &provider, &by_key).await);
    }
    let repeated = RepeatedActions::of(resolver, &open, &by_key);
    by_key.extend(repeated.actions.iter().map(|(key, waiting)| (*key, *waiting)));
    for batch in open.iter().filter(|batch| batch.id.is_some()) {
        let mut collected = CollectedBatch::default();
        let ended = EndedBatch { service, batch };
        let ends = collect_one(resolver, ended, &by_key, &mut collected).await;
        if let Err(why) = &ends {
            let id = batch.id.as_deref().unwrap_or_default();
            warn(resolver, &format!("batch {id} is not collected: {why}"));
        }
        if ends == Ok(true) {
            tell(resolver, batch, &collected);
        }
        // What was read before it broke off is durable, and counted.
        let outcomes = collected.outcomes.into_iter();
        let mut outcomes: Vec<(ActionKey, Arc<Outcome>)> =
            outcomes.map(|(waiting, outcome)| (waiting.key, outcome)).collect();
        for (key, _) in &outcomes {
            by_key.remove(key);
            found.insert(*key);
        }
        let again = outcomes.extract_if(.., |(key, _)| repeated.actions.contains_key(key));
        let again: Vec<(ActionKey, Arc<Outcome>)> = again.collect();
        let chunks = repeated.chunks_of(again.iter().map(|(key, _)| *key));
        resolver.apply_to(again, &chunks);
        resolver.apply(outcomes);
    }
    resolver.batches.refresh(&resolver.settings.batches, resolver.world.system);
    found
}

/// The open batches of this suite, and those of others that have something that is wanted.
pub(crate) fn own(resolver: &Resolver<'_>, wanted: &KeyMap<WaitingAction>) -> Vec<OpenBatch> {
    let suite = &resolver.settings.batches.suite;
    let open =
        resolver.batches.open.batches.iter().filter(|batch| {
            batch.suite == *suite || wanted.keys().any(|key| batch.keys.have(*key))
        });
    open.cloned().collect()
}

/// Adds a warning, each once: what is looked at again says the same.
pub(crate) fn warn(resolver: &mut Resolver<'_>, message: &str) {
    let message = sanitize(message);
    if !resolver.settled.warnings.contains(&message) {
        resolver.settled.warnings.push(message);
    }
}

/// The batches at a provider that have ended and that nobody has noted, as if they had all that is wanted.
async fn unnoted(
    resolver: &mut Resolver<'_>,
    service: &dyn BatchService,
    provider: &str,
    wanted: &KeyMap<WaitingAction>,
) -> Vec<OpenBatch> {
    let keys: Vec<ActionKey> = wanted.keys().copied().collect();
    let noted: Vec<Option<String>> =
        resolver.batches.open.batches.iter().map(|batch| batch.id.clone()).collect();
    let mut found = Vec::new();
    for access in accesses_of(resolver.session, provider) {
        let listed = match service.list(&access, &|_| false).await {
            Ok(listed) => listed,
            Err(error) => {
                warn(resolver, &format!("cannot list batches: {error}"));
                continue;
            }
        };
        let ended = listed.into_iter().filter(|remote| {
            let has_results =
                matches!(&remote.state, BatchState::Ended { results, .. } if !results.is_empty());
            has_results && !noted.contains(&Some(remote.id.clone()))
        });
        found.extend(ended.map(|remote| OpenBatch {
            digest: remote.digest.unwrap_or_default(),
            suite: resolver.settings.batches.suite.clone(),
            provider: provider.to_owned(),
            base_url: without_secrets(&access.base_url),
            model: String::new(),
            requests: 0,
            keys: KeyMarks::of(&keys),
            generations: Vec::new(),
            exchange: None,
            at: remote.created,
            creation: None,
            id: Some(remote.id),
            file: String::new(),
        }));
    }
    found
}

/// Collects one batch. False if it has not ended.
async fn collect_one(
    resolver: &mut Resolver<'_>,
    ended: EndedBatch<'_>,
    wanted: &KeyMap<WaitingAction>,
    collected: &mut CollectedBatch,
) -> Result<bool, String> {
    let EndedBatch { service, batch } = ended;
    let (access, remote) = look(resolver.session, service, batch).await?;
    let BatchState::Ended { results, trouble } = remote.state else { return Ok(false) };
    for path in results {
        let mut lines = service.results(&access, &path).await.map_err(|error| error.to_string())?;
        while let Some(result) = lines.next().await.map_err(|error| error.to_string())? {
            collected.take(resolver, ended, wanted, result)?;
        }
    }
    collected.close(resolver, ended, remote.ended, trouble)?;
    Ok(true)
}

impl CollectedBatch {
    /// Takes one result over.
    pub(crate) fn take(
        &mut self,
        resolver: &mut Resolver<'_>,
        ended: EndedBatch<'_>,
        wanted: &KeyMap<WaitingAction>,
        result: BatchResult,
    ) -> Result<(), String> {
        let key = ActionKey::parse(&result.id).filter(|key| ended.batch.keys.have(*key));
        let Some(key) = key else {
            self.strangers.insert(result.id);
            return Ok(());
        };
        if !self.seen.insert(key) {
            return Ok(());
        }
        match wanted.get(&key) {
            Some(waiting) => {
                let landed = read(resolver, ended, waiting, result)?;
                let is_cut = matches!(&landed.outcome, Outcome::Failure(failure) if failure.kind == FailureKind::Truncated);
                if is_cut {
                    // Another batch would cut it, too. Alone it is retried with twice as many tokens.
                    resolver.batches.attempts.insert(key, MOST_ATTEMPTS);
                }
                if landed.outcome.is_kept() && !is_cut {
                    self.wanted.push((*waiting, landed));
                } else {
                    note_unfinished(resolver, self, waiting, &landed);
                }
            }
            None => self.others.push((key, result)),
        }
        if self.wanted.len() + self.others.len() >= WRITTEN {
            write(resolver, ended, self)?;
        }
        Ok(())
    }

    /// Makes the rest durable, and takes the batch off; its provider says how many requests it has `answered`.
    pub(crate) fn close(
        &mut self,
        resolver: &mut Resolver<'_>,
        ended: EndedBatch<'_>,
        answered: u64,
        trouble: Option<String>,
    ) -> Result<(), String> {
        write(resolver, ended, self)?;
        // Where fewer can be read than there are, what is missing may be there the next time.
        let read = (self.seen.len() + self.strangers.len()) as u64;
        if read < answered {
            return Err(format!("only {read} of {answered} results can be read"));
        }
        let batch = ended.batch;
        // Nobody has noted how many a batch has that was found at its provider.
        if batch.file.is_empty() {
            return Ok(());
        }
        let missing = batch.requests.saturating_sub(self.seen.len());
        if missing > 0 {
            let why = trouble.unwrap_or_else(|| "the provider has no result".to_owned());
            *self.again.entry(why).or_default() += missing;
        }
        let closed = resolver.settings.batches.ledger.close(batch, resolver.world.system);
        closed.map_err(|error| format!("its line cannot be taken off: {error}"))
    }
}

/// What a result is for the action that waits for it.
fn read(
    resolver: &Resolver<'_>,
    ended: EndedBatch<'_>,
    waiting: &WaitingAction,
    result: BatchResult,
) -> Result<LandedAction, String> {
    let endpoint = EndpointId::Judge(JudgeEndpointId::default());
    let rendered = launch(resolver.session, waiting, endpoint)?;
    let Launch::Judge(judge) = &rendered else { return Err("it is not of a judge".to_owned()) };
    let exchange = ended.batch.exchange.as_deref();
    let outcome = ended.service.outcome(judge, exchange, result.answer);
    let action = rendered.action();
    let outcome = outcome.priced(&resolver.settings.prices, action.model());
    let WaitingAction { key, generation, .. } = *waiting;
    Ok(LandedAction { key, kept_under: key, generation, action, outcome, in_vain: None })
}

/// Counts what an action used, and that it is to be sent again.
fn note_unfinished(
    resolver: &mut Resolver<'_>,
    collected: &mut CollectedBatch,
    waiting: &WaitingAction,
    landed: &LandedAction,
) {
    let Outcome::Failure(failure) = &landed.outcome else { return };
    let usage = landed.outcome.usage();
    let tally = resolver.list.tally(waiting);
    tally.spent = tally.spent + usage;
    *collected.again.entry(failure.message.clone()).or_default() += 1;
}

/// Makes results durable, and counts them.
fn write(
    resolver: &mut Resolver<'_>,
    ended: EndedBatch<'_>,
    collected: &mut CollectedBatch,
) -> Result<(), String> {
    let store = Arc::clone(&resolver.world.store);
    let at = resolver.world.system.now().to_string();
    let others = std::mem::take(&mut collected.others);
    let keys: Vec<ActionKey> = others.iter().map(|(key, _)| *key).collect();
    let also = others.into_iter().zip(store.get_many(&keys)).filter_map(|((key, result), held)| {
        alone(resolver, ended, AloneResult { key, answer: result.answer, held }, &at)
    });
    let also: Vec<Entry> = also.collect();
    let (waiting, mut landed): (Vec<WaitingAction>, Vec<LandedAction>) =
        std::mem::take(&mut collected.wanted).into_iter().unzip();
    persist(store.as_ref(), also, &mut landed, &at).map_err(|error| error.to_string())?;
    for (waiting, landed) in waiting.into_iter().zip(landed) {
        count_one(resolver, &waiting, &landed);
        collected.outcomes.push((waiting, Arc::new(landed.outcome)));
    }
    Ok(())
}

/// A result that nobody waits for, and what the store has.
struct AloneResult {
    key: ActionKey,
    answer: BatchAnswer,
    held: Option<Entry>,
}

/// The entry of a reply that nobody waits for; none if the store has one that is as new. Without an earlier one its
/// ingredients are not known: those of a prompt that is not there any more.
fn alone(
    resolver: &Resolver<'_>,
    EndedBatch { service, batch }: EndedBatch<'_>,
    AloneResult { key, answer, held }: AloneResult,
    at: &str,
) -> Option<Entry> {
    let sent = batch.generation(key).unwrap_or(0);
    let beyond = held.as_ref().map_or(0, |held| held.generation.saturating_add(1));
    let is_new = held.as_ref().is_none_or(|held| held.generation < sent);
    let stored: Option<StoredOutcome> = held.and_then(|held| serde_json::from_str(&held.body).ok());
    let is_reply =
        stored.as_ref().is_some_and(|stored| matches!(stored.outcome, Outcome::Reply(_)));
    if is_reply && !is_new {
        return None;
    }
    let outcome = service.outcome_alone(&batch.provider, batch.exchange.as_deref(), answer)?;
    let outcome = outcome.priced(&resolver.settings.prices, Some(&batch.model));
    let (ingredients, key_version) =
        stored.map_or_else(Default::default, |stored| (stored.ingredients, stored.key_version));
    let stored = StoredOutcome::new(ingredients, outcome, at.to_owned());
    let body = StoredOutcome { key_version, ..stored }.to_body();
    Some(Entry { key, generation: sent.max(beyond), body })
}

fn count_one(resolver: &mut Resolver<'_>, waiting: &WaitingAction, landed: &LandedAction) {
    let usage = landed.outcome.usage();
    let list_cost = landed.outcome.list_cost(&resolver.settings.prices, landed.action.model());
    let failure = match &landed.outcome {
        Outcome::Failure(failure) => Some(failure.message.clone()),
        Outcome::Reply(_) => None,
    };
    let tally = resolver.list.tally(waiting);
    tally.asked += 1;
    tally.failed += u64::from(failure.is_some());
    tally.spent = tally.spent + usage;
    tally.list_cost = sum_of_known(tally.list_cost, list_cost);
    resolver.used = resolver.used + usage;
    resolver.settled.asked.push(landed.key);
    resolver.world.progress.event(&Event::Asked);
    resolver.world.progress.event(&Event::Landed { failure, usage });
}

/// Says what was collected, and what is to be sent again.
pub(crate) fn tell(resolver: &mut Resolver<'_>, batch: &OpenBatch, collected: &CollectedBatch) {
    let id = batch.id.as_deref().unwrap_or_default();
    let line = format!("collected {} of batch {id}", count(collected.outcomes.len(), "judgment"));
    resolver.world.progress.event(&Event::Line(line));
    for (why, requests) in &collected.again {
        let requests = count(*requests, "request");
        warn(resolver, &format!("batch {id}: {requests} to be sent again: {why}"));
    }
}
