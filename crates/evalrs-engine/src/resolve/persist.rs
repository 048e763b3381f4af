//! Makes outcomes durable, of sessions and of commands without a suite, and returns the stored outcome: that is what is
//! reported.
//!
//! Writes wait for the disk, on another thread: what lands meanwhile gathers into the next batch, and the store is read. What
//! costs nothing may land faster than it is worth a write each; it waits a moment for more.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use evalrs_eval::action::Action;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Failure, FailureKind, Outcome, StoredOutcome, read_body};
use evalrs_store::{BODY_LIMIT, Entry, OutcomeStore, StoreError};

#[derive(Debug)]
pub(crate) struct LandedAction {
    pub key: ActionKey,
    /// The key that it is kept under: another one where the program was found to rest on less than was known.
    pub(crate) kept_under: ActionKey,
    pub generation: u32,
    pub action: Action,
    pub outcome: Outcome,
    /// Why its retry failed, if a reply from before stays.
    pub in_vain: Option<String>,
}

impl LandedAction {
    /// Takes the outcome in the store instead of the new one, if it wins.
    fn take(&mut self, held: Option<&Entry>) -> bool {
        let Some(held) = held else { return false };
        let Ok(outcome) = read_body(&held.body) else { return false };
        let outcome = outcome.checked(|text| self.action.check_reply(text));
        let is_newer = held.generation >= self.generation;
        let stands = match (&outcome, &self.outcome) {
            // A reply that was refreshed stands until there is another one.
            (Outcome::Reply(_), Outcome::Failure(failure)) => {
                self.in_vain = (!is_newer).then(|| failure.message.clone());
                true
            }
            (Outcome::Failure(_), Outcome::Reply(_)) => false,
            (Outcome::Reply(_), Outcome::Reply(_)) | (Outcome::Failure(_), Outcome::Failure(_)) => {
                is_newer
            }
        };
        if stands {
            if is_newer {
                self.in_vain = None;
            }
            self.outcome = outcome;
        }
        stands
    }

    fn entry(&mut self, held: Option<&Entry>, at: &str) -> Entry {
        // What other versions of evalrs look at is the generation alone.
        let beyond = held.map_or(0, |held| held.generation.saturating_add(1));
        let generation = match held {
            Some(held) if held.generation >= self.generation => beyond,
            _ => self.generation,
        };
        let body = |outcome: &Outcome| {
            StoredOutcome::new(self.action.ingredients(), outcome.clone(), at.to_owned()).to_body()
        };
        let mut text = body(&self.outcome);
        if text.len() > BODY_LIMIT {
            let size = text.len() >> 20;
            let most = BODY_LIMIT >> 20;
            let message =
                format!("the result has {size} MiB, more than the {most} MiB that can be stored");
            let usage = Some(self.outcome.usage());
            let failure = Failure { usage, ..Failure::new(FailureKind::OutputLimit, message) };
            self.outcome = Outcome::Failure(failure);
            text = body(&self.outcome);
        }
        Entry { key: self.kept_under, generation, body: text }
    }

    /// An outcome that cannot be stored is not a verdict that a later run would find. What was paid for is
    /// shown all the same.
    pub(crate) fn give_up(&mut self, error: &StoreError) {
        let Outcome::Reply(reply) = &mut self.outcome else { return };
        if self.action.is_repeated() {
            return;
        }
        let message = format!("the reply cannot be stored: {error}");
        let usage = reply.usage;
        let exchange = reply.exchange.take();
        let reply = Some(std::mem::take(&mut reply.text));
        let failure = Failure::new(FailureKind::NotKept, message);
        self.outcome = Outcome::Failure(Failure { reply, usage, exchange, ..failure });
    }
}

/// Makes a batch durable; what the store then holds takes the place of what came of each action, so that all processes
/// report the same. Failures that may pass are not kept, nor is what is executed in every evaluation. `also` is written
/// before.
pub(crate) fn persist(
    store: &dyn OutcomeStore,
    also: Vec<Entry>,
    batch: &mut [LandedAction],
    at: &str,
) -> Result<(), StoreError> {
    let mut batch: Vec<&mut LandedAction> =
        batch.iter_mut().filter(|landed| !landed.action.is_repeated()).collect();
    let keys: Vec<ActionKey> = batch.iter().map(|landed| landed.kept_under).collect();
    let mut entries = also;
    entries.reserve(batch.len());
    store.others_wrote();
    for (landed, held) in batch.iter_mut().zip(store.get_many(&keys)) {
        if !landed.take(held.as_ref()) && landed.outcome.is_kept() {
            entries.push(landed.entry(held.as_ref(), at));
        }
    }
    store.put_many(&entries)?;
    if store.others_wrote() {
        for (landed, held) in batch.iter_mut().zip(store.get_many(&keys)) {
            landed.take(held.as_ref());
        }
    }
    Ok(())
}

/// A batch that was on its way to the disk, and whether it is there.
pub(crate) type WrittenBatch = (Vec<LandedAction>, Result<(), StoreError>);

/// From one write to the next of what may wait for more: long beside a write, short for a person who watches.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

pub(crate) struct StoreWriter {
    store: Arc<dyn OutcomeStore>,
    writing: Option<JoinHandle<WrittenBatch>>,
    /// When what may wait for more has waited long enough.
    due: Instant,
}

impl StoreWriter {
    pub(crate) fn new(store: Arc<dyn OutcomeStore>) -> Self {
        Self { store, writing: None, due: Instant::now() }
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Begins to write a batch, after the entries `also`; no other one may be on its way.
    pub(crate) fn write(&mut self, also: Vec<Entry>, mut batch: Vec<LandedAction>, at: String) {
        debug_assert!(self.writing.is_none(), "a batch is on its way");
        let store = Arc::clone(&self.store);
        self.due = Instant::now() + BETWEEN_WRITES;
        self.writing = Some(spawn_blocking(move || {
            let result = persist(store.as_ref(), also, &mut batch, &at);
            (batch, result)
        }));
    }

    /// Whether the last write has only just begun, so that what may wait for more should.
    pub(crate) fn is_early(&self) -> bool {
        Instant::now() < self.due
    }

    /// Waits until the batch is written; where there is none, for ever, or, where something `waits` for more, until it
    /// has waited long enough.
    pub(crate) async fn next(&mut self, waits: bool) -> Option<WrittenBatch> {
        match &mut self.writing {
            None if waits => sleep_until(self.due).await,
            None => std::future::pending().await,
            Some(writing) => {
                let written = writing.await;
                self.writing = None;
                match written {
                    Ok(written) => return Some(written),
                    Err(panicked) => resume_unwind(panicked.into_panic()),
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{LandedAction, persist};
    use evalrs_eval::action::Action;
    use evalrs_eval::judge::question::Question;
    use evalrs_eval::judge::{JudgeAction, reply};
    use evalrs_model::key::ActionKey;
    use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply, StoredOutcome, read_body};
    use evalrs_model::spec::{ReplyFormat, Scale};
    use evalrs_store::{Entry, MemoryStore, OutcomeStore, StoreError};

    const KEY: ActionKey = ActionKey([1; 32]);

    /// An outcome by its first letter: a reply, a failure that is kept, one that may pass.
    fn outcome(text: &str) -> Outcome {
        let failed = |kind| Outcome::Failure(Failure::new(kind, text));
        match text.as_bytes()[0] {
            b'r' => {
                let text = format!(r#"{{"score":1,"rationale":"{text}"}}"#);
                Outcome::Reply(Reply::new(text))
            }
            b'f' => failed(FailureKind::BadRequest),
            _ => failed(FailureKind::Server),
        }
    }

    fn text(outcome: &Outcome) -> String {
        match outcome {
            Outcome::Reply(reply) => {
                reply::read(&reply.text, &Question::Score(Scale::UNIT)).unwrap().rationale
            }
            Outcome::Failure(failure) => failure.message.clone(),
        }
    }

    fn action() -> Action {
        Action::Judge(JudgeAction {
            provider: "openai".to_owned(),
            endpoint: "test".to_owned(),
            model: "judge-1".to_owned(),
            system: String::new(),
            user: "Is it kind?".to_owned(),
            quotable: Vec::new(),
            shared: 0,
            temperature: None,
            seed: None,
            max_tokens: None,
            top_p: None,
            extra_body: String::new(),
            headers: String::new(),
            response_format: ReplyFormat::Auto,
            question: Question::Score(Scale::UNIT),
            vote: 0,
            agent: None,
            program: None,
        })
    }

    fn entry(said: &str, generation: u32) -> Entry {
        let body =
            StoredOutcome::new(action().ingredients(), outcome(said), String::new()).to_body();
        Entry { key: KEY, generation, body }
    }

    /// A store to which another process writes while an outcome is written.
    #[derive(Default)]
    struct Shared {
        store: MemoryStore,
        others: Mutex<Vec<Entry>>,
    }

    impl OutcomeStore for Shared {
        fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
            self.store.get_many(keys)
        }

        fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
            self.store.put_many(&std::mem::take(&mut *self.others.lock().unwrap()))?;
            self.store.put_many(entries)
        }

        fn others_wrote(&self) -> bool {
            true
        }

        fn keys(&self) -> Vec<ActionKey> {
            self.store.keys()
        }

        fn take_warnings(&self) -> Vec<String> {
            Vec::new()
        }
    }

    /// Keeps an outcome; what is reported of it, whether it was asked in vain, and what the store then holds.
    fn kept(
        store: &dyn OutcomeStore,
        said: &str,
        generation: u32,
    ) -> (String, bool, Option<(String, u32)>) {
        let landed = LandedAction {
            key: KEY,
            kept_under: KEY,
            generation,
            action: action(),
            outcome: outcome(said),
            in_vain: None,
        };
        let mut batch = [landed];
        persist(store, Vec::new(), &mut batch, "").unwrap();
        let [LandedAction { outcome, in_vain, .. }] = batch;
        let held = store.get_many(&[KEY]).pop().flatten();
        let held = held.map(|held| (text(&read_body(&held.body).unwrap()), held.generation));
        (text(&outcome), in_vain.is_some(), held)
    }

    #[test]
    fn a_reply_outranks_a_failure_whatever_the_generation() {
        // What is held, what landed under which generation; what is reported, and held then.
        let cases = [
            (None, ("r", 0), ("r", false), Some(("r", 0))),
            (None, ("f", 0), ("f", false), Some(("f", 0))),
            (None, ("t", 0), ("t", false), None),
            // Another process was faster.
            (Some(("f1", 0)), ("r", 0), ("r", false), Some(("r", 1))),
            (Some(("f1", 7)), ("r", 0), ("r", false), Some(("r", 8))),
            (Some(("r1", 0)), ("r", 0), ("r1", false), Some(("r1", 0))),
            (Some(("r1", 0)), ("f", 0), ("r1", false), Some(("r1", 0))),
            (Some(("r1", 0)), ("t", 0), ("r1", false), Some(("r1", 0))),
            (Some(("f1", 0)), ("f", 0), ("f1", false), Some(("f1", 0))),
            (Some(("f1", 0)), ("t", 0), ("f1", false), Some(("f1", 0))),
            // It was asked again.
            (Some(("r1", 0)), ("r", 1), ("r", false), Some(("r", 1))),
            (Some(("r1", 0)), ("f", 1), ("r1", true), Some(("r1", 0))),
            (Some(("r1", 0)), ("t", 1), ("r1", true), Some(("r1", 0))),
            (Some(("f1", 0)), ("f", 1), ("f", false), Some(("f", 1))),
            (Some(("f1", 0)), ("t", 1), ("t", false), Some(("f1", 0))),
            (Some(("f1", u32::MAX)), ("r", u32::MAX), ("r", false), Some(("r", u32::MAX))),
        ];
        for (held, (said, generation), (reported, in_vain), after) in cases {
            let before: Vec<Entry> = held.iter().map(|(said, at)| entry(said, *at)).collect();
            let after = after.map(|(said, generation)| (said.to_owned(), generation));
            let store = MemoryStore::default();
            store.put_many(&before).unwrap();
            let found = kept(&store, said, generation);
            assert_eq!(
                found,
                (reported.to_owned(), in_vain, after),
                "{held:?} {said} {generation}"
            );
        }
    }

    #[test]
    fn what_is_reported_is_what_the_store_holds_after_the_write() {
        for (said, other, generation) in [
            ("r", "r1", 0),
            ("r", "r2", 0),
            ("r", "r1", 3),
            ("f", "r1", 0),
            ("f", "f1", 0),
            ("f", "f2", 0),
            ("t", "r1", 0),
        ] {
            let others = Mutex::new(vec![entry(other, generation)]);
            let store = Shared { others, ..Shared::default() };
            // Of what may pass nothing is written; the other's is there at the latest then.
            let (reported, in_vain, held) = kept(&store, said, 0);
            assert_eq!(
                (Some(reported), in_vain),
                (held.map(|(said, _)| said), false),
                "{said} {other}"
            );
        }
    }
}
