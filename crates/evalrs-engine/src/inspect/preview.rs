//! What settling would ask, found without any effect: the same scan and the same look into the store, and then nothing.
//!
//! It can disagree with a run only about what depends on outcomes which are not there yet: ballots that confirm a verdict
//! are known once the verdict is, what grades a submission once a program has extracted it, a reward once its grades are
//! there. The graders that may ask more are named.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::resolve::elsewhere::{OtherEndpoint, stored_elsewhere, superseded};
use crate::resolve::look_up::StoredReader;
use crate::resolve::refreshed::RefreshedActions;
use crate::resolve::settings::Settings;
use crate::resolve::waiting::{FoundOutcomes, WaitList, WaitingAction};
use crate::session::Session;
use evalrs_base::price::Cost;
use evalrs_eval::evaluate::{BallotId, Method, Purpose, ReadyReward};
use evalrs_graph::change::Change;
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::known::KnownGrades;
use evalrs_graph::known_grades;
use evalrs_graph::planned_actions::actions_of_grader;
use evalrs_graph::{answers, queries};
use evalrs_metrics::reason::StoreMiss;
use evalrs_model::key::{ActionKey, KeyMap, KeySet};
use evalrs_model::outcome::{ActionTally, Outcome, Reply, Usage, read_body};
use evalrs_store::{Entry, OpenBatches, OutcomeStore};
use evalrs_system::System;

/// What settling would find and ask.
#[derive(Debug, Default)]
pub struct Preview {
    /// Grader → its actions, in the order of the suite.
    pub tallies: Vec<(String, ActionTally)>,
    /// The conversations of the target, where it is run.
    pub conversations: Option<ActionTally>,
    /// For each grader, in the order of the suite: how many of its actions are stored as failures that would stand for
    /// an answer.
    pub failures: Vec<u64>,
    /// For each grader, in the order of the suite: whether more will be wanted, or may be, once what is missing is there.
    pub is_open: Vec<bool>,
    /// The missing calls, in the order in which they would be made.
    pub to_ask: Vec<ToAsk>,
    /// How many judgments are out in batches; they are in no tally.
    pub out: u64,
    /// The usage of cached judgments when they were made, also of those that would be repeated.
    pub used: KeyMap<Usage>,
    /// How many stored conversations tell what they used, and what that is.
    pub conversations_used: (u64, Usage),
    /// What is missing here and stored for another endpoint, once that was looked for.
    pub elsewhere: KeyMap<Arc<OtherEndpoint>>,
    /// What went wrong while reading the store.
    pub warnings: Vec<String>,
}

impl Preview {
    /// Looks for what is missing among the judgments of other endpoints.
    pub fn look_elsewhere(&mut self, session: &Session, store: &dyn OutcomeStore) {
        let missing = self
            .to_ask
            .iter()
            .filter(|to_ask| to_ask.held == StoreMiss::Nothing && to_ask.purpose == Purpose::Grade);
        let missing: Vec<WaitingAction> = missing
            .map(|ToAsk { cell, ballot, key, .. }| WaitingAction::new(*cell, *ballot, *key))
            .collect();
        self.elsewhere = stored_elsewhere(session, store, &OnceCell::new(), &missing);
        for to_ask in &mut self.to_ask {
            if self.elsewhere.contains_key(&to_ask.key) {
                to_ask.held = StoreMiss::Elsewhere;
            }
        }
    }
}

/// A missing call.
#[derive(Clone, Copy, Debug)]
pub struct ToAsk {
    /// The grade that it is for.
    pub cell: CellId,
    /// Which of the actions of that grade it is.
    pub ballot: BallotId,
    /// The action.
    pub key: ActionKey,
    /// What it is for.
    pub purpose: Purpose,
    /// Why the store does not answer.
    pub held: StoreMiss,
}

/// Brings in everything that is cached, and lists the missing calls.
pub fn preview(
    session: &mut Session,
    store: &dyn OutcomeStore,
    system: &dyn System,
    settings: &Settings,
) -> Preview {
    let mut looking = StoreLookup::default();
    session.learn_dependencies(store, system);
    session.assume_no_dependencies(system);
    let mut list = loop {
        // Every round scans anew: what came of an action may make others wanted.
        let mut list = scan(session, system);
        let mut is_news = false;
        loop {
            let refreshed = RefreshedActions::of(session, settings);
            let reader = StoredReader { session, settings, refreshed };
            let found =
                list.look_up(store, &mut |entry, waiting| looking.look(&reader, entry, waiting));
            let FoundOutcomes { outcomes, waiting, has_more, .. } = found;
            is_news |= !outcomes.is_empty();
            looking.note(&outcomes);
            let waiting = waiting.into_iter().collect();
            let change = Change { outcomes, waiting, ..Change::default() };
            change.apply(&mut session.db, session.root);
            if !has_more {
                break;
            }
        }
        if !is_news {
            break list;
        }
    };
    let StoreLookup { mut preview, held, replayed, conversations: found, .. } = looking;
    let batches = settings.batches.ledger.read(&OpenBatches::default(), system).unwrap_or_default();
    for out in list.queue.extract_if(.., |waiting| batches.have(waiting.key)).collect::<Vec<_>>() {
        list.tally(&out).total -= 1;
        preview.out += 1;
    }
    preview.used.extend(known_usage(session));
    preview.warnings.extend(store.take_warnings());
    let nothing = list.queue.iter().filter(|waiting| !held.contains_key(&waiting.key));
    let superseded = superseded(session, store, nothing);
    let to_ask = list.queue.iter().map(|waiting| ToAsk {
        cell: waiting.cell,
        ballot: waiting.ballot,
        key: waiting.key,
        purpose: waiting.purpose,
        held: match held.get(&waiting.key) {
            Some(held) => *held,
            None if superseded.contains(&waiting.key) => StoreMiss::Superseded,
            None => StoreMiss::Nothing,
        },
    });
    preview.to_ask = to_ask.collect();
    preview.failures = by_grader(session, &replayed);
    preview.is_open = open_graders(session, &preview.to_ask);
    // What was found is wanted no more in later rounds.
    let ActionTally { total, cached, .. } = list.conversations;
    let tally = ActionTally { total: total + found, cached: cached + found, ..list.conversations };
    preview.conversations = answers::is_live(&session.db, session.root).then_some(tally);
    preview.tallies = list.tallies;
    preview
}

/// What the graph waits for. Plans wait for files that rows name until those are read.
fn scan(session: &mut Session, system: &dyn System) -> WaitList {
    let mut list = WaitList::default();
    loop {
        list.scan(session);
        if !session.read_unread(system) {
            return list;
        }
    }
}

/// What the judgments used that are known from an earlier run.
fn known_usage(session: &Session) -> impl Iterator<Item = (ActionKey, Usage)> {
    let db = &session.db;
    let chunks = session.root.chunks(db).iter();
    let cells = chunks.flat_map(|chunk| session.graders().iter().map(move |one| (chunk, one)));
    let known = cells.filter_map(|(chunk, grader)| known_grades::grades(db, *chunk, *grader));
    let actions = known.flat_map(KnownGrades::actions);
    actions.filter_map(|action| Some((action.key(), action.usage()?)))
}

/// For each grader, how many of its actions are among `keys`, each key once.
fn by_grader(session: &Session, keys: &KeySet) -> Vec<u64> {
    let graders = session.graders().len();
    if keys.is_empty() {
        return vec![0; graders];
    }
    let counts = (0..graders).map(|ordinal| {
        let own = actions_of_grader(&session.db, session.root, ordinal).map(|action| action.key);
        own.filter(|key| keys.contains(key)).collect::<KeySet>().len() as u64
    });
    counts.collect()
}

/// For each grader, whether its plans may need more calls once the missing ones are made.
fn open_graders(session: &Session, to_ask: &[ToAsk]) -> Vec<bool> {
    let db = &session.db;
    let root = session.root;
    let missing: KeySet = to_ask.iter().map(|to_ask| to_ask.key).collect();
    let is_open = session.graders().iter().map(|grader| {
        let asks = match &queries::ready(db, *grader).method {
            Method::Judge(_) | Method::Program(_) | Method::Reward(ReadyReward::Program(_)) => true,
            Method::Tool(_) | Method::Reward(_) | Method::Unread | Method::Broken(_) => false,
        };
        let is_known = |chunk: &Chunk| known_grades::grades(db, *chunk, *grader).is_some();
        let chunks = root.chunks(db).iter().filter(|chunk| !is_known(chunk));
        let mut plans = chunks.flat_map(|chunk| queries::plans(db, *chunk, *grader).iter());
        asks && !missing.is_empty()
            && plans.any(|planned| planned.may_want_more(&|key| missing.contains(&key)))
    });
    is_open.collect()
}

#[derive(Default)]
struct StoreLookup {
    preview: Preview,
    held: KeyMap<StoreMiss>,
    /// The stored failures that would stand for an answer.
    replayed: KeySet,
    /// How many conversations were found.
    conversations: u64,
}

impl StoreLookup {
    /// The outcome of an entry, as settling would take it; why not is noted.
    fn look(
        &mut self,
        reader: &StoredReader<'_>,
        entry: &Entry,
        waiting: &WaitingAction,
    ) -> Option<Outcome> {
        let mut warnings = Vec::new();
        let found = reader.usable(entry, waiting, &mut warnings);
        // A second look at what is still missing says the same again.
        warnings.retain(|warning| !self.preview.warnings.contains(warning));
        self.preview.warnings.append(&mut warnings);
        if matches!(found, Some(Outcome::Failure(_))) {
            self.replayed.insert(entry.key);
        }
        let is_answer = waiting.purpose == Purpose::Answer;
        self.conversations += u64::from(is_answer && found.is_some());
        if let Some(outcome @ Outcome::Reply(Reply { usage: Some(usage), .. })) = &found
            && is_answer
        {
            let (count, used) = self.preview.conversations_used;
            let cost = conversation_cost(reader.session, waiting, outcome);
            self.preview.conversations_used = (count + 1, used + Usage { cost, ..*usage });
        }
        if found.is_none()
            && let Ok(outcome) = read_body(&entry.body)
        {
            let is_refreshed = reader.refreshed.has(waiting);
            let held = if is_refreshed { StoreMiss::Refreshed } else { StoreMiss::Failed };
            self.held.insert(entry.key, held);
            self.note(&[(entry.key, Arc::new(outcome))]);
        }
        found
    }

    fn note(&mut self, outcomes: &[(ActionKey, Arc<Outcome>)]) {
        for (key, outcome) in outcomes {
            if let Outcome::Reply(reply) = outcome.as_ref()
                && let Some(used) = reply.usage
            {
                self.preview.used.insert(*key, used);
            }
        }
    }
}

fn conversation_cost(
    session: &Session,
    waiting: &WaitingAction,
    outcome: &Outcome,
) -> Option<Cost> {
    let db = &session.db;
    let CellId { chunk, case, .. } = waiting.cell;
    // Which sample it is of decides no price.
    let action = answers::conversation_of(db, chunk, case, String::new())?;
    action.cost(outcome, session.root.prices(db))
}
