//! The events that the display gets, and when it is rendered.

use tokio::time::Instant;

use super::{Control, FRAME};
use crate::board::{ActionCounts, Activity, Overview, Spending, WatchEvent};
use crate::endpoint_status::ToldWaits;
use crate::sent_view::sent_text;
use crate::session_board::SessionBoard;
use crate::session_list::verdict_at;
use evalrs_base::price::Cost;
use evalrs_engine::resolve::live::{ResolveProgress, ResolveState};

impl Control<'_> {
    /// Reports an event to the display, with the current board.
    pub fn tell(&mut self, event: &WatchEvent) -> std::io::Result<()> {
        self.fill();
        self.mark_under_way();
        self.display(event)?;
        if *event == WatchEvent::Saved {
            self.told_waits = ToldWaits::default();
            return Ok(());
        }
        self.tell_waits()
    }

    /// Shows the terminal and pages what happened.
    pub(super) fn display(&mut self, event: &WatchEvent) -> std::io::Result<()> {
        let board = SessionBoard::new(&self.views, self.live.session());
        self.front.display().event(event, &board)?;
        self.context.pages().map_or(Ok(()), |pages| pages.event(event, &board))
    }

    /// Reports waits that were not reported since the last save.
    pub(super) fn tell_waits(&mut self) -> std::io::Result<()> {
        let news = self.told_waits.news(&self.views.now.overview.waiting);
        news.into_iter().try_for_each(|wait| self.display(&WatchEvent::Waiting(wait)))
    }

    /// Renders the board, if something changed since the last time and it may be rendered again.
    pub fn show(&mut self) -> std::io::Result<()> {
        let now = Instant::now();
        if !self.is_dirty || now < self.next_frame || self.editor.is_some() {
            return Ok(());
        }
        self.fill();
        self.mark_under_way();
        self.is_dirty = false;
        for line in self.context.lines() {
            self.tell(&WatchEvent::Note(line))?;
        }
        self.tell_waits()?;
        self.load_sent();
        let board = SessionBoard::new(&self.views, self.live.session());
        self.front.display().refresh(&board)?;
        self.is_dirty |= self.views.sent.lacks();
        // What takes long to render leaves time for the evaluation.
        self.next_frame = now + FRAME.max(now.elapsed() * 4);
        Ok(())
    }

    /// Loads what was sent about the verdict that the last drawing wanted that of, unless it is loaded.
    fn load_sent(&mut self) {
        let Some(id) = self.views.sent.take_wanted() else { return };
        let Some(cell) = self.cell(id) else { return };
        let version = self.version();
        if !self.views.sent.has(id, version) {
            let text = sent_text(self.live.session(), cell, self.context.layers());
            self.views.sent.set(id, version, text.unwrap_or_default());
        }
    }

    /// Fills in what changes all the time.
    pub(super) fn fill(&mut self) {
        let done = self.live.progressed();
        let has_totals = self.has_totals();
        let limits = self.live.limits();
        let overview = &mut self.views.now.overview;
        overview.actions = ActionCounts {
            total: done.tally.total,
            cached: done.tally.cached,
            asked: done.tally.asked,
            under_way: done.under_way,
            failed: done.tally.failed,
            waiting: done.waiting,
            superseded: done.superseded,
            out: done.out,
        };
        overview.spent = Spending {
            save: done.tally.spent,
            session: done.used,
            calls: done.calls,
            saved: done.tally.saved,
            budget: limits.max_cost,
            max_calls: limits.max_calls,
        };
        overview.state = match state(&self.live.standing(), &done) {
            // What is shown is not yet of what there is.
            Activity::Idle if !has_totals => Activity::Planning,
            state => state,
        };
        overview.waiting = self.context.waiting();
        overview.notes = self.warnings.iter().cloned().chain(self.live.notes()).collect();
        if let (Activity::Paused { .. }, 1..) = (&overview.state, overview.save) {
            overview.notes.push("failing samples come first: not representative yet".to_owned());
        }
        // Whichever evaluation is looked at, the session is one.
        if let Some(shown) = self.views.looked_at.and_then(|save| self.views.past.get_mut(save)) {
            let Overview { state, spent, newest, waiting, .. } = &self.views.now.overview;
            let own = &mut shown.overview;
            own.spent = Spending { save: own.spent.save, saved: own.spent.saved, ..*spent };
            own.state.clone_from(state);
            own.waiting.clone_from(waiting);
            own.newest = *newest;
        }
    }

    /// Notes the verdicts with judge calls in flight.
    fn mark_under_way(&mut self) {
        let db = &self.live.session().db;
        let cells = self.live.under_way().into_iter();
        self.views.under_way = cells.filter_map(|cell| verdict_at(db, cell)).collect();
    }
}

fn state(standing: &ResolveState, done: &ResolveProgress) -> Activity {
    match standing {
        ResolveState::Planning => Activity::Planning,
        ResolveState::Asking => Activity::Asking,
        ResolveState::Held(waiting) => {
            let landed = done.tally.asked.saturating_sub(done.under_way);
            let mean = done.tally.spent.cost.and_then(|cost| cost.nanos().checked_div(landed));
            let expected = mean.map(|mean| Cost::from_nanos(mean.saturating_mul(*waiting)));
            Activity::Paused { waiting: *waiting, expected }
        }
        ResolveState::Done => Activity::Idle,
        ResolveState::Stopped(why) => Activity::Stopped(why.clone()),
    }
}
