//! May this start? The one place that decides it, of everything that a session has queued: what somebody allows, what may be
//! spent, what endpoints and the disk have room for.
//!
//! It counts what it lets start, so that nothing else has to know of allowances, budgets and queues.

use std::sync::Arc;

use super::budget::{Budget, SpendingLimits};
use super::queues::{ClosedQueue, Next, QueueOwner, Queues};
use super::settings::Settings;
use super::waiting::WaitingAction;
use evalrs_base::price::{Cost, Prices};
use evalrs_eval::evaluate::Purpose;
use evalrs_exec::{EndpointId, ExecutionLimits, JudgeLaunch, Launch};
use evalrs_model::outcome::{FailureKind, Usage};

/// The obstacle to further actions, if it is neither the disk nor an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The budget is used up.
    Budget,
    /// As many were launched as are allowed for now.
    Held,
}

/// Whether a queued action may start.
#[derive(Debug)]
pub(crate) enum StartVerdict {
    /// Now: this, with what it is expected to cost. It counts as under way from here on.
    Start(WaitingAction, Box<Launch>),
    /// Not before something lands, is written or is allowed.
    Wait,
    /// Never: its endpoint, or its model there, is disabled for this run.
    Closed(ClosedQueue<WaitingAction>),
    /// Never: it cannot be rendered, because this promise of the graph does not hold.
    Broken(WaitingAction, &'static str),
}

/// Renders a queued action for an endpoint, or reports which promise of the graph does not hold.
pub(crate) type Render<'a> = &'a dyn Fn(&WaitingAction, EndpointId) -> Result<Launch, &'static str>;

/// Decides which of the queued actions of a session start, and counts those that did.
pub(crate) struct Admission<'a> {
    limits: &'a dyn ExecutionLimits,
    pub queues: Queues<WaitingAction>,
    /// How many actions of judges may begin before somebody allows more. Calls of programs cost nothing, and always may.
    judges_left: u64,
    /// The same of conversations.
    conversations_left: u64,
    pub budget: Budget,
    spending: SpendingLimits,
    prices: Arc<Prices>,
    /// Queues found closed in this round and not reported yet, the last first.
    closed: Vec<ClosedQueue<WaitingAction>>,
    /// What stood in the way of more paid actions when last something was to start.
    pub blocked: Option<Obstacle>,
    /// Whether the store cannot be written: no conversation begins any more, and no endpoint is opened again.
    pub cannot_keep: bool,
}

impl<'a> Admission<'a> {
    /// Nothing is queued yet, and everything is allowed that `settings` allow.
    pub(crate) fn new(limits: &'a dyn ExecutionLimits, settings: &Settings) -> Self {
        Self {
            limits,
            queues: Queues::new(),
            judges_left: u64::MAX,
            conversations_left: u64::MAX,
            budget: Budget::default(),
            spending: settings.limits,
            prices: Arc::clone(&settings.prices),
            closed: Vec::new(),
            blocked: None,
            cannot_keep: false,
        }
    }

    /// Drops what is queued. From now on at most `judges` actions of judges start, and as many conversations as `settings`
    /// allow; what was spent stays spent.
    pub(crate) fn start_over(&mut self, settings: &Settings, judges: u64) {
        self.queues.drop_queue();
        self.judges_left = judges;
        self.conversations_left = settings.target_allowance;
        self.spending = settings.limits;
        self.prices = Arc::clone(&settings.prices);
        self.blocked = None;
        if !self.cannot_keep {
            self.limits.begin();
        }
    }

    /// This many more of either kind may start.
    pub(crate) fn allow_more(&mut self, more: u64) {
        self.judges_left = self.judges_left.saturating_add(more);
        self.conversations_left = self.conversations_left.saturating_add(more);
    }

    /// One more action of judges may start: the user requested that very one.
    pub(crate) fn allow_one(&mut self) {
        self.judges_left = self.judges_left.saturating_add(1);
    }

    /// Nothing that is in flight is sent any more, and no conversation begins: what comes of them cannot be kept.
    pub(crate) fn halt(&mut self, reason: &str) {
        self.cannot_keep = true;
        self.limits.halt(reason);
    }

    /// Whether something limits how many actions start. Without a limit as many are allowed as can be counted.
    pub(crate) fn is_limited(&self) -> bool {
        self.spending != SpendingLimits::default() || self.judges_left < u64::MAX / 2
    }

    /// Why the budget allows nothing more, if it does not.
    pub(crate) fn refusal(&self) -> &'static str {
        self.budget.refusal(self.spending)
    }

    /// Looks for obstacles again; callers use [`Self::next`] after this until it reports that the rest waits. Nothing is
    /// found to be closed once all `is_stopped`: what is left then was not asked for that reason.
    pub(crate) fn begin_round(&mut self, is_stopped: bool) {
        self.blocked = self.held();
        if !is_stopped {
            self.closed = self.queues.take_closed(self.limits);
            self.closed.reverse();
        }
    }

    /// Why no judge may be called, if so.
    fn held(&self) -> Option<Obstacle> {
        (self.judges_left == 0).then_some(Obstacle::Held)
    }

    /// The next of the queued actions, and whether it may start; the disk `has_room` for what comes of it.
    pub(crate) fn next(&mut self, has_room: bool, render: Render<'_>) -> StartVerdict {
        if let Some(closed) = self.closed.pop() {
            return StartVerdict::Closed(closed);
        }
        while has_room && let Some(next) = self.queues.next(self.limits, self.may_start()) {
            let mut launch = match render(&next.action, next.endpoint) {
                Ok(launch) => launch,
                Err(broken) => {
                    self.queues.landed(next.endpoint, next.prefix, false);
                    return StartVerdict::Broken(next.action, broken);
                }
            };
            let is_cached = match &mut launch {
                Launch::Judge(judge) => judge.mark(next.prefix.is_some()),
                Launch::Program(_) | Launch::Target(_) => false,
            };
            if let Some(waiting) = self.pay(&next, &launch) {
                if let Some(prefix) = next.prefix.filter(|_| !is_cached) {
                    self.queues.go_on(prefix, true);
                }
                return StartVerdict::Start(waiting, Box::new(launch));
            }
            // Programs cost nothing: they may start nevertheless.
            self.queues.put_back(next);
            self.blocked = Some(Obstacle::Budget);
        }
        let is_held = self.conversations_left == 0 && self.queues.has_conversations();
        let blocked = self.blocked.or(is_held.then_some(Obstacle::Held));
        self.blocked = blocked.filter(|_| self.queues.has_paid_to_ask());
        StartVerdict::Wait
    }

    /// Whose actions may start, as far as the executor has no say.
    fn may_start(&self) -> impl Fn(&QueueOwner) -> bool + use<> {
        let judges = self.blocked.is_none();
        let is_allowed = self.conversations_left > 0 && self.blocked != Some(Obstacle::Budget);
        let target = is_allowed && !self.cannot_keep;
        move |owner| match owner {
            QueueOwner::Programs => true,
            QueueOwner::Target => target,
            QueueOwner::Judges(_) => judges,
        }
    }

    /// Reserves what an action will probably cost. None if the budget does not allow it.
    fn pay(&mut self, next: &Next<WaitingAction>, launch: &Launch) -> Option<WaitingAction> {
        if matches!(launch, Launch::Program(_)) {
            return Some(WaitingAction { expected: Cost::ZERO, prefix: None, ..next.action });
        }
        let expected = self.expected_cost(launch);
        if !self.budget.allows(expected, self.spending) {
            return None;
        }
        self.budget.sent(expected);
        let left = match launch {
            Launch::Target(_) => &mut self.conversations_left,
            Launch::Judge(_) | Launch::Program(_) => &mut self.judges_left,
        };
        *left = left.saturating_sub(1);
        self.blocked = self.blocked.or(self.held());
        Some(WaitingAction { expected, prefix: next.prefix, ..next.action })
    }

    /// What an action will probably cost; nothing where money has no limit, or nobody knows.
    fn expected_cost(&self, launch: &Launch) -> Cost {
        if self.spending.max_cost.is_none() {
            return Cost::ZERO;
        }
        match launch {
            Launch::Program(_) => Cost::ZERO,
            Launch::Target(_) => self.budget.expected_conversation(),
            Launch::Judge(JudgeLaunch { action, .. }) => {
                let bytes = action.system.len() + action.user.len();
                let price = self.prices.of(&action.model);
                price.map_or(Cost::ZERO, |price| self.budget.expected(bytes, price))
            }
        }
    }

    /// Reserves what an action will probably cost in a batch, half of what it costs alone. None if the budget does not allow it.
    pub(crate) fn reserve(&mut self, launch: &Launch) -> Option<Cost> {
        let expected = Cost::from_nanos(self.expected_cost(launch).nanos() / 2);
        let is_allowed = self.judges_left > 0 && self.budget.allows(expected, self.spending);
        if is_allowed {
            self.budget.sent(expected);
            self.judges_left -= 1;
        }
        is_allowed.then_some(expected)
    }

    /// A batch was not sent after all.
    pub(crate) fn unreserve(&mut self, waiting: &WaitingAction) {
        self.budget.withdrawn(waiting.expected);
        self.judges_left = self.judges_left.saturating_add(1);
    }

    /// Another process makes an action that was to start: its place is free, and nothing is spent.
    pub(crate) fn withdraw(&mut self, launch: &Launch, waiting: &WaitingAction) {
        self.queues.landed(launch.endpoint(), waiting.prefix, false);
        self.budget.withdrawn(waiting.expected);
        let left = match launch {
            Launch::Target(_) => &mut self.conversations_left,
            Launch::Judge(_) | Launch::Program(_) => &mut self.judges_left,
        };
        *left = left.saturating_add(1);
        self.blocked = self.held();
    }

    /// An action landed, maybe with a failure: its place is free, and what it cost takes the place of what was expected.
    pub(crate) fn landed(
        &mut self,
        endpoint: EndpointId,
        waiting: &WaitingAction,
        usage: Usage,
        failed: Option<FailureKind>,
    ) {
        self.queues.landed(endpoint, waiting.prefix, failed.is_none());
        let is_free = failed.is_some_and(|kind| !kind.policy().billed);
        let usage = Usage { cost: usage.cost.or(is_free.then_some(Cost::ZERO)), ..usage };
        match waiting.purpose {
            Purpose::Answer => self.budget.conversation_landed(waiting.expected, usage),
            Purpose::Submission | Purpose::Grade => self.budget.landed(waiting.expected, usage),
        }
    }

    /// An action was cancelled: its place is free. It will be paid for all the same, though it is not known how much.
    pub(crate) fn cancelled(&mut self, endpoint: EndpointId, waiting: &WaitingAction) {
        self.queues.landed(endpoint, waiting.prefix, false);
        self.budget.landed(waiting.expected, Usage::default());
    }

    /// The endpoints for which something waits that could start if one under way landed; none where something else is in
    /// the way.
    pub(crate) fn full(&self) -> Vec<EndpointId> {
        if self.blocked.is_some() { Vec::new() } else { self.queues.full(self.limits) }
    }

    pub(crate) fn open_endpoints(&mut self) {
        self.queues.open(self.limits);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::{Admission, Obstacle, StartVerdict};
    use crate::resolve::budget::SpendingLimits;
    use crate::resolve::queues::{PROGRAM_LIMITS, QueueOwner};
    use crate::resolve::settings::Settings;
    use crate::resolve::waiting::WaitingAction;
    use crate::session::Session;
    use evalrs_eval::dataset::chunk::Records;
    use evalrs_eval::evaluate::BallotId;
    use evalrs_eval::judge::JudgeAction;
    use evalrs_eval::judge::question::Question;
    use evalrs_eval::program::{ProgramAction, ProgramFingerprint, ProgramIdentity};
    use evalrs_exec::executor::NoLimits;
    use evalrs_exec::{
        Endpoint, EndpointId, JudgeEndpointId, JudgeLaunch, Launch, ProgramLaunch, Start,
    };
    use evalrs_graph::Database;
    use evalrs_graph::inputs::{CellId, Chunk, Overrides};
    use evalrs_model::key::ActionKey;
    use evalrs_model::outcome::Usage;
    use evalrs_model::spec::{Patience, ProgramSpec, ReplyFormat, Scale};

    /// The number of the one action of a program; the others are of judges.
    const OF_PROGRAM: u8 = 9;
    /// No actions.
    const NONE: Vec<u8> = Vec::new();
    /// The number of an action that cannot be rendered.
    const UNRENDERED: u8 = 8;

    fn waiting(number: u8) -> WaitingAction {
        let session =
            Session::new(Database::default(), "s.yaml", BTreeMap::new(), Overrides::default());
        let chunk = Chunk::of_records(&session.db, session.root, Arc::new(Records::empty()));
        let cell = CellId { chunk, case: 0, grader: 0 };
        WaitingAction::new(cell, BallotId::default(), ActionKey([number; 32]))
    }

    fn judge() -> Launch {
        let action = JudgeAction {
            provider: "openai".to_owned(),
            endpoint: "e".to_owned(),
            model: "m".to_owned(),
            system: String::new(),
            user: String::new(),
            quotable: Vec::new(),
            shared: 0,
            temperature: None,
            seed: None,
            max_tokens: None,
            top_p: None,
            extra_body: String::new(),
            headers: String::new(),
            response_format: ReplyFormat::Auto,
            question: Question::Score(Scale { min: 0.0, max: 1.0 }),
            vote: 0,
            agent: None,
            program: None,
        };
        Launch::Judge(JudgeLaunch {
            action,
            endpoint: JudgeEndpointId(0),
            what_for: String::new(),
            base_url: String::new(),
            caching: None,
            mark: None,
            is_flex: false,
            is_wider: false,
            api_key: None,
            headers: Vec::new(),
            patience: Patience::default(),
            agent: None,
            start: None,
        })
    }

    fn program() -> Launch {
        let spec = ProgramSpec::of_file("p".to_owned());
        let start = Start {
            spec: spec.clone(),
            path: "/p".to_owned(),
            runtime: None,
            cwd: "/".to_owned(),
            workspace: "/".to_owned(),
            inputs: Vec::new(),
            may_write: Vec::new(),
            env: Vec::new(),
        };
        let identity = Arc::new(ProgramIdentity { spec, known: ProgramFingerprint::default() });
        let action = ProgramAction { identity, input: "{}".to_owned() };
        Launch::Program(ProgramLaunch { action, start: Arc::new(start) })
    }

    fn render(waiting: &WaitingAction, _endpoint: EndpointId) -> Result<Launch, &'static str> {
        match waiting.key.0[0] {
            OF_PROGRAM => Ok(program()),
            UNRENDERED => Err("it is gone"),
            _ => Ok(judge()),
        }
    }

    /// An admission of at most so many actions of judges, in which actions with these numbers wait.
    fn queued(judges: u64, limits: SpendingLimits, numbers: &[u8]) -> Admission<'static> {
        let settings = Settings { limits, ..Settings::default() };
        let mut admission = Admission::new(&NoLimits, &settings);
        admission.start_over(&settings, judges);
        for number in numbers {
            let owner = if *number == OF_PROGRAM {
                QueueOwner::Programs
            } else {
                let provider = "openai".to_owned();
                QueueOwner::Judges(Endpoint { provider, base_url: "e".to_owned(), api_key: None })
            };
            let queue = admission.queues.queue(owner, "m", PROGRAM_LIMITS);
            admission.queues.push(queue, 0, None, waiting(*number));
        }
        admission.open_endpoints();
        admission
    }

    /// The numbers of what starts in one round, sorted, and of what never does.
    fn round(admission: &mut Admission<'_>, has_room: bool) -> [Vec<u8>; 2] {
        let mut started = Vec::new();
        let mut broken = Vec::new();
        admission.begin_round(false);
        loop {
            match admission.next(has_room, &render) {
                StartVerdict::Start(waiting, _) => started.push(waiting.key.0[0]),
                StartVerdict::Broken(waiting, _) => broken.push(waiting.key.0[0]),
                StartVerdict::Closed(_) => unreachable!("nothing is closed"),
                StartVerdict::Wait => break,
            }
        }
        started.sort_unstable();
        [started, broken]
    }

    #[test]
    fn what_is_to_be_paid_for_waits_for_allowance_and_budget_and_programs_do_not() {
        let calls = |most| SpendingLimits { max_calls: Some(most), max_cost: None };
        let all = [1, 2, OF_PROGRAM];
        for (judges, limits, started, blocked) in [
            (u64::MAX, SpendingLimits::default(), &[1, 2, OF_PROGRAM][..], None),
            (1, SpendingLimits::default(), &[1, OF_PROGRAM], Some(Obstacle::Held)),
            (0, SpendingLimits::default(), &[OF_PROGRAM], Some(Obstacle::Held)),
            (u64::MAX, calls(1), &[1, OF_PROGRAM], Some(Obstacle::Budget)),
            (u64::MAX, calls(0), &[OF_PROGRAM], Some(Obstacle::Budget)),
            (2, calls(2), &[1, 2, OF_PROGRAM], None),
        ] {
            let mut admission = queued(judges, limits, &all);
            assert_eq!(round(&mut admission, true), [started.to_vec(), NONE]);
            assert_eq!(admission.blocked, blocked, "{judges} {limits:?}");
            assert_eq!(admission.queues.len(), all.len() - started.len());
        }
    }

    #[test]
    fn what_waits_starts_once_it_is_allowed_or_the_disk_has_room() {
        let mut admission = queued(0, SpendingLimits::default(), &[1, 2, 3]);
        assert_eq!(round(&mut admission, true), [NONE, NONE]);
        admission.allow_one();
        assert_eq!(round(&mut admission, false), [NONE, NONE]);
        assert_eq!(admission.blocked, None, "the disk is all that it waits for");
        assert_eq!(round(&mut admission, true), [vec![1], NONE]);
        admission.allow_more(u64::MAX);
        assert_eq!(round(&mut admission, true), [vec![2, 3], NONE]);
        assert_eq!((admission.budget.calls(), admission.is_limited()), (3, false));
    }

    #[test]
    fn what_cannot_be_rendered_takes_no_place_and_holds_up_nothing() {
        let mut admission = queued(1, SpendingLimits::default(), &[UNRENDERED, 1]);
        assert_eq!(round(&mut admission, true), [vec![1], vec![UNRENDERED]]);
        admission.landed(
            EndpointId::Judge(JudgeEndpointId(0)),
            &waiting(1),
            Usage::default(),
            None,
        );
        assert_eq!(admission.budget.calls(), 1);
    }
}
