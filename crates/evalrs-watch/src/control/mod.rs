//! The loop itself: whatever happens first, a save, a key, a judgment or a total, is carried out and shown.
//!
//! One thread owns the database. A save goes before everything else; what it changes is planned in slices, between
//! which everything else still happens. Evaluations of everything go to the worker, and outcomes that land meanwhile
//! wait for it, but for the first ones of a save: those are what the user waits for.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::OptionFuture;
use tokio::time::Instant;

use self::state::{FilesState, Phase, RecordState, TotalsState, VerdictQuota};
use super::board::WatchEvent;
use super::board_state::BoardState;
use super::endpoint_status::ToldWaits;
use super::frontend::{Frontend, SessionEnd, UserInput, WatchContext};
use super::session_board::{SessionBoard, display_name};
use super::session_list::{SessionList, verdict_at};
use super::totals::{EvaluationTotals, MovedVerdict, TotalsRequest, totals};
use super::worker::EvaluationWorker;
use crate::fs_watch::FileWatch;
use evalrs_engine::resolve::live::{Live, ResolveState};
use evalrs_graph::inputs::CellId;
use evalrs_graph::snapshot::Snapshot;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{ActionTally, Usage};
use evalrs_system::changed_paths::ChangedPaths;

mod commands;
mod labelling;
mod render;
mod saves;
mod state;

/// How long something broken may be a file that is only half written.
const GRACE: Duration = Duration::from_millis(100);
/// After how many evaluations outcomes are forgotten at the latest.
const SAVES_TO_FORGET: usize = 16;
/// The least time between two drawings of the board.
const FRAME: Duration = Duration::from_millis(33);
/// Verdicts of a save that are reported one by one; totals cover the others.
const MAX_LISTED: usize = 1_000;

enum LoopEvent {
    ChangedPaths(ChangedPaths),
    Input(UserInput),
    Totals(Option<Box<EvaluationTotals>>),
    Edited(Result<(), String>),
    /// Something that is seen elsewhere.
    Changed,
    /// Nothing: there is time to plan.
    Nothing,
}

/// The result of a session.
pub struct EndedSession {
    /// How it ended.
    pub ending: SessionEnd,
    /// The result of the actions of the last save, grader by grader.
    pub tallies: Vec<(String, ActionTally)>,
    /// The result of the conversations of its target, where that is run.
    pub conversations: Option<ActionTally>,
    /// The actions sent since the last save.
    pub asked: Vec<ActionKey>,
    /// What was used in the session.
    pub spent: Usage,
    /// The usage of the cached judgments of the last save when they were made.
    pub saved: Usage,
    /// What stays on the terminal, line by line.
    pub closing: Vec<String>,
}

/// A session that is watched.
pub struct Control<'a> {
    live: Live<'a>,
    front: &'a mut dyn Frontend,
    context: &'a mut dyn WatchContext,
    watch: FileWatch,
    files: FilesState,
    phase: Phase,
    worker: EvaluationWorker<Option<EvaluationTotals>>,
    totals: TotalsState,
    views: BoardState,
    quota: VerdictQuota,
    record: RecordState,
    /// The evaluation with which the session began.
    start: Option<Arc<Snapshot>>,
    /// Judgments of a save that are made before it pauses.
    preview: u64,
    /// What is probably not meant, a sentence each.
    warnings: Vec<String>,
    told_waits: ToldWaits,
    /// Whether labels changed since everything was reported as complete.
    is_relabelled: bool,
    /// Evaluations since outcomes were forgotten.
    unforgotten: usize,
    is_dirty: bool,
    next_frame: Instant,
    editor: Option<EditorRun>,
}

type EditorRun = Pin<Box<dyn Future<Output = Result<(), String>>>>;

impl<'a> Control<'a> {
    /// Watches what `live` holds; nothing is read yet.
    pub fn new(
        live: Live<'a>,
        front: &'a mut dyn Frontend,
        context: &'a mut dyn WatchContext,
        watch: FileWatch,
        preview: u64,
    ) -> Self {
        let now = Instant::now();
        Self {
            live,
            front,
            context,
            watch,
            files: FilesState::Valid,
            phase: Phase::Loading,
            worker: EvaluationWorker::new(),
            totals: TotalsState::new(now),
            views: BoardState::default(),
            quota: VerdictQuota { urgent: 0, listed: 0 },
            record: RecordState::default(),
            start: None,
            preview,
            warnings: Vec::new(),
            told_waits: ToldWaits::default(),
            is_relabelled: false,
            unforgotten: 0,
            is_dirty: true,
            next_frame: now,
            editor: None,
        }
    }

    /// Watches until the user has seen enough; everything that was finished is durable then.
    pub async fn run(mut self) -> std::io::Result<EndedSession> {
        match self.go_round().await {
            Ok(ending) => {
                let told = self.end();
                let ended = Box::pin(self.finish(ending)).await;
                told.map(|closing| EndedSession { closing, ..ended })
            }
            // A reader that closed the pipe has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                Ok(Box::pin(self.finish(SessionEnd::Quit)).await)
            }
            Err(error) => {
                Box::pin(self.finish(SessionEnd::Quit)).await;
                Err(error)
            }
        }
    }

    async fn go_round(&mut self) -> std::io::Result<SessionEnd> {
        // Reading may take a while, and an empty screen says nothing.
        self.show()?;
        self.read(ChangedPaths::Any)?;
        loop {
            let more = self.go_on()?;
            self.show()?;
            match self.next(more).await {
                LoopEvent::ChangedPaths(touched) => self.read(touched)?,
                LoopEvent::Input(input) => {
                    self.is_dirty = true;
                    let board = SessionBoard::new(&self.views, self.live.session());
                    let command = self.front.command(input, &board)?;
                    if let Some(command) = command
                        && let Some(ending) = self.carry_out(&command)?
                    {
                        return Ok(ending);
                    }
                }
                LoopEvent::Totals(Some(totals)) => self.take(*totals),
                LoopEvent::Edited(done) => self.edited(done)?,
                LoopEvent::Nothing => self.live.plan_slice(),
                LoopEvent::Totals(None) | LoopEvent::Changed => {}
            }
        }
    }

    /// Waits for whatever happens first; `more` if there is work left in any case.
    async fn next(&mut self, more: bool) -> LoopEvent {
        let due = self.due();
        let Self { live, front, watch, worker, editor, .. } = self;
        // A branch that has nothing to wait for is not ready.
        let edited = OptionFuture::from(editor.as_mut());
        let wait = OptionFuture::from(due.map(tokio::time::sleep_until));
        tokio::select! {
            biased;
            touched = watch.touched() => LoopEvent::ChangedPaths(touched),
            input = front.input() => LoopEvent::Input(input),
            Some(done) = edited => LoopEvent::Edited(done),
            done = worker.done() => LoopEvent::Totals(done.flatten().map(Box::new)),
            () = live.wait() => LoopEvent::Changed,
            Some(()) = wait => LoopEvent::Changed,
            // Gives the others a chance to be ready first.
            () = tokio::task::yield_now(), if more => LoopEvent::Nothing,
        }
    }

    /// When something is to be done though nothing happens.
    fn due(&self) -> Option<Instant> {
        let may_draw = self.is_dirty && self.editor.is_none();
        let frame = may_draw.then_some(self.next_frame);
        let may_evaluate = self.phase.is_planned() && !self.worker.is_busy();
        let totals = (may_evaluate && !self.has_totals()).then_some(self.totals.next);
        let again = if let FilesState::Broken(broken) = &self.files { broken.again } else { None };
        frame.into_iter().chain(totals).chain(again).min()
    }

    /// Does what can be done at once. True if there is more.
    fn go_on(&mut self) -> std::io::Result<bool> {
        match &self.files {
            FilesState::Preflight(_) if !self.live.is_in_preflight() => {
                self.read_after_preflight()?;
            }
            FilesState::Broken(broken) if broken.is_due() => self.read(ChangedPaths::default())?,
            FilesState::Valid | FilesState::Broken(_) | FilesState::Preflight(_) => {}
        }
        if self.phase == Phase::Loading {
            return Ok(false);
        }
        if self.live.has_arrived() && (!self.worker.is_busy() || self.quota.urgent > 0) {
            self.bring_in()?;
        }
        let more = self.live.go_on();
        if self.phase == Phase::Planning && self.live.standing() != ResolveState::Planning {
            self.phase = Phase::Evaluating;
            // Only now it is known what programs load.
            self.look_at_files(false)?;
            self.tell(&WatchEvent::Planned)?;
        }
        self.want_totals();
        for news in self.live.take_news() {
            self.tell(&WatchEvent::Note(news))?;
        }
        self.say_rest()?;
        Ok(more)
    }

    /// Brings in what landed, and shows which verdicts it made.
    fn bring_in(&mut self) -> std::io::Result<()> {
        // What was asked anew may say the same.
        self.is_dirty |= self.live.has_arrived();
        let cells = self.live.apply_arrived();
        if cells.is_empty() {
            return Ok(());
        }
        self.views.changed();
        self.fill();
        for cell in cells {
            let Some(moved) = self.moved(cell) else { continue };
            self.quota.urgent = self.quota.urgent.saturating_sub(1);
            if self.quota.listed == MAX_LISTED {
                break;
            }
            self.quota.listed += 1;
            self.views.now.list(moved);
            self.display(&WatchEvent::Verdict(moved.row))?;
        }
        self.tell_waits()
    }

    /// A verdict that is known now, and how it moved.
    fn moved(&self, id: CellId) -> Option<MovedVerdict> {
        let session = self.live.session();
        let row = verdict_at(&session.db, id)?;
        SessionList::of_now(&self.views, session).movement(row)
    }

    /// What the session holds is settled again.
    fn change(&mut self) {
        self.totals.changes += 1;
        self.is_dirty = true;
        self.views.reread();
    }

    /// Identifies what the session holds: another number wherever totals may be others.
    fn version(&self) -> u64 {
        self.totals.changes + self.live.applied()
    }

    /// Whether what is shown is of what the session holds.
    pub(super) fn has_totals(&self) -> bool {
        self.totals.of == Some(self.version())
    }

    /// Has everything evaluated, if that is worth while by now.
    fn want_totals(&mut self) {
        let comes_more =
            matches!(self.live.standing(), ResolveState::Planning | ResolveState::Asking);
        let is_early = self.totals.is_resting(Instant::now()) && comes_more;
        if self.has_totals() || is_early || self.worker.is_busy() || !self.phase.is_planned() {
            return;
        }
        let session = self.live.session();
        let wanted = TotalsRequest {
            of: self.version(),
            root: session.root,
            before: Arc::clone(&self.views.now.before),
            start: self.start.clone(),
        };
        let memo = Arc::clone(&self.totals.memo);
        self.worker.evaluate(&session.db, move |db| {
            // An evaluation that was cut short has left whole entries.
            let mut memo = memo.lock().unwrap_or_else(PoisonError::into_inner);
            Some(totals(db, &wanted, &mut memo))
        });
    }

    /// Takes in what is known of everything.
    fn take(&mut self, totals: EvaluationTotals) {
        if !self.totals.accept(totals.of, totals.took, Instant::now()) {
            return;
        }
        self.views.now.take(totals);
        let session = self.live.session();
        let is_start = self.views.now.overview.save == 0;
        for metric in &mut self.views.now.overview.metrics {
            let mut graders = session.graders().iter();
            if let Some(own) = graders.find(|own| *own.name(&session.db) == metric.grader) {
                metric.label = display_name(session, *own);
            }
            if is_start {
                // Nothing has moved since it began.
                metric.since_start = None;
                metric.labels_since_start = None;
            }
        }
        if is_start {
            self.start.clone_from(&self.views.now.snapshot);
        }
        self.views.changed();
        self.is_dirty = true;
    }

    /// Says that nothing is left to do, once it is so and everything is known.
    fn say_rest(&mut self) -> std::io::Result<()> {
        if !self.phase.is_planned() {
            return Ok(());
        }
        let phase = match self.live.standing() {
            // A refreshed verdict is asked for after everything was announced.
            ResolveState::Planning | ResolveState::Asking => {
                self.phase = Phase::Evaluating;
                return Ok(());
            }
            ResolveState::Held(_) => Phase::Paused,
            ResolveState::Done | ResolveState::Stopped(_) => Phase::Settled,
        };
        if !self.has_totals() || self.live.has_arrived() {
            return Ok(());
        }
        if self.phase == phase {
            let is_told = !std::mem::take(&mut self.is_relabelled);
            return if is_told { Ok(()) } else { self.tell(&WatchEvent::Evaluated) };
        }
        self.phase = phase;
        self.is_dirty = true;
        if phase == Phase::Paused {
            // It may be put aside by the next save, which shall not wait for names.
            self.name_cases();
            self.write_records()?;
            return self.tell(&WatchEvent::Paused);
        }
        if self.record.is_due {
            self.views.now.remember_means();
        }
        self.record.declared.clone_from(&self.views.now.overview.declared);
        if self.record.declared_at_start.is_empty() {
            self.record.declared_at_start.clone_from(&self.record.declared);
        }
        self.ask_held_out()?;
        self.record_now()?;
        self.forget();
        // Programs may have loaded more when they were called.
        self.look_at_files(false)?;
        self.tell(&WatchEvent::Evaluated)
    }

    /// Reports the progress. Returns what stays on the terminal.
    fn end(&mut self) -> std::io::Result<Vec<String>> {
        self.bring_in()?;
        self.record_now()?;
        self.views.looked_at = None;
        self.views.changed();
        self.views.now.overview.diff_command = self.context.diff_command();
        self.tell(&WatchEvent::Ended)?;
        let board = SessionBoard::new(&self.views, self.live.session());
        Ok(self.front.closing_lines(&board))
    }

    /// Makes durable what has landed.
    async fn finish(self, ending: SessionEnd) -> EndedSession {
        let live = self.live;
        let done = live.progressed();
        let ended = EndedSession {
            ending,
            tallies: live.tallies().to_vec(),
            conversations: live.conversations(),
            asked: live.asked().to_vec(),
            spent: done.used,
            saved: done.tally.saved,
            closing: Vec::new(),
        };
        live.finish().await;
        ended
    }
}
