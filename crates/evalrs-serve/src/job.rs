//! Evaluations that somebody started from a page: one at a time, each on a thread of its own, with its events kept so
//! that a page that comes later, or again, misses none.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::response::sse;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Notify;

use super::locks::locked;
use evalrs_engine::progress::{Event, Progress};

/// The events of one evaluation that are kept.
const MOST_EVENTS: usize = 20_000;
/// The evaluations whose events are kept after their end.
const MOST_ENDED: usize = 8;

#[derive(Default)]
pub(super) struct Jobs {
    jobs: Mutex<VecDeque<Arc<EvaluationJob>>>,
}

#[derive(Default)]
pub(super) struct EvaluationJob {
    pub id: String,
    pub suite: String,
    pub stop: Arc<Notify>,
    /// Whether pages may stop it.
    pub(super) is_own: bool,
    log: Mutex<EventLog>,
    changed: Notify,
}

#[derive(Default)]
struct EventLog {
    /// The number of the first event that is kept.
    first: u64,
    events: VecDeque<JobEvent>,
    has_ended: bool,
    error: Option<String>,
}

/// Something that happened, under a name.
#[derive(Clone, Debug, PartialEq)]
struct JobEvent {
    name: &'static str,
    data: String,
}

impl Jobs {
    /// Begins the evaluation that has this id; none while another goes on.
    pub(crate) fn begin(&self, id: String, suite: String) -> Option<Arc<EvaluationJob>> {
        let mut jobs = locked(&self.jobs);
        if jobs.iter().any(|job| job.is_under_way()) {
            return None;
        }
        let job = Arc::new(EvaluationJob { id, suite, is_own: true, ..EvaluationJob::default() });
        jobs.truncate(MOST_ENDED);
        jobs.push_front(Arc::clone(&job));
        Some(job)
    }

    /// Follows the session of somebody else that has this id.
    pub(crate) fn follow(&self, id: String, suite: String) -> Arc<EvaluationJob> {
        let job = Arc::new(EvaluationJob { id, suite, ..EvaluationJob::default() });
        locked(&self.jobs).push_front(Arc::clone(&job));
        job
    }

    /// The evaluation with this id, as far as it is remembered.
    pub(super) fn job(&self, id: &str) -> Option<Arc<EvaluationJob>> {
        locked(&self.jobs).iter().find(|job| job.id == id).cloned()
    }

    /// Whether the evaluation with this id goes on.
    pub(super) fn is_under_way(&self, id: &str) -> bool {
        self.job(id).is_some_and(|job| job.is_under_way())
    }

    /// The id of the one that goes on.
    pub(super) fn under_way(&self) -> Option<String> {
        let jobs = locked(&self.jobs);
        jobs.iter().find(|job| job.is_under_way()).map(|job| job.id.clone())
    }

    /// Stops what goes on, and waits for its end.
    pub(crate) async fn close(&self) {
        let under_way = self.under_way().and_then(|id| self.job(&id));
        if let Some(job) = under_way {
            job.stop.notify_one();
            job.ended().await;
        }
    }
}

impl EvaluationJob {
    pub(crate) fn note_record(&self) {
        self.tell("recorded", &json!({"format": 2, "event": "recorded"}));
    }

    pub(super) fn is_under_way(&self) -> bool {
        !locked(&self.log).has_ended
    }

    pub(crate) fn error(&self) -> Option<String> {
        locked(&self.log).error.clone()
    }

    /// Sends an event to all followers.
    pub(super) fn tell(&self, name: &'static str, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_default();
        {
            let mut log = locked(&self.log);
            log.events.push_back(JobEvent { name, data });
            if log.events.len() > MOST_EVENTS {
                log.events.pop_front();
                log.first += 1;
            }
        }
        self.changed.notify_waiters();
    }

    /// Reports that it has ended, and how.
    pub(crate) fn end(&self, exit_code: Option<u8>, error: Option<&str>) {
        let told = json!({"format": 2, "event": "ended", "exit_code": exit_code, "error": error});
        self.tell("ended", &told);
        {
            let mut log = locked(&self.log);
            log.has_ended = true;
            log.error = error.map(str::to_owned);
        }
        self.changed.notify_waiters();
    }

    /// Whether it has ended and all its events came before this number.
    pub(super) fn is_told(&self, number: u64) -> bool {
        let log = locked(&self.log);
        log.has_ended && number >= log.first + log.events.len() as u64
    }

    async fn ended(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.is_under_way() {
                return;
            }
            changed.await;
        }
    }

    /// The event with this number or the first after it that is kept, and the number of the one after it. Waits for
    /// one; none once all are told.
    pub(crate) async fn next(&self, number: u64) -> Option<(sse::Event, u64)> {
        loop {
            let changed = self.changed.notified();
            {
                let log = locked(&self.log);
                let number = number.max(log.first);
                let at = usize::try_from(number - log.first).ok();
                if let Some(event) = at.and_then(|at| log.events.get(at)) {
                    let sent = sse::Event::default()
                        .id(number.to_string())
                        .event(event.name)
                        .data(event.data.clone());
                    return Some((sent, number + 1));
                }
                if log.has_ended {
                    return None;
                }
            }
            changed.await;
        }
    }
}

/// Sends the events of an evaluation to its followers.
pub(super) struct JobProgress {
    job: Arc<EvaluationJob>,
    counts: JobCounts,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct JobCounts {
    total: u64,
    cached: u64,
    asked: u64,
    done: u64,
    in_flight: u64,
    failed: u64,
}

impl JobProgress {
    pub(crate) fn new(job: Arc<EvaluationJob>) -> Self {
        Self { job, counts: JobCounts::default() }
    }

    fn tell_counts(&self) {
        self.job.tell("progress", &self.counts);
    }
}

impl Progress for JobProgress {
    fn event(&mut self, event: &Event) {
        let counts = &mut self.counts;
        match event {
            Event::Planned { totals, .. } => {
                counts.total = totals.iter().map(|(_, total)| total).sum();
                self.tell_counts();
            }
            Event::Cached(count) => {
                counts.cached += count;
                counts.done += count;
                let to_ask = counts.total.saturating_sub(counts.cached);
                let planned = json!({"format": 2, "event": "planned", "save": 0,
                    "total": counts.total, "cached": counts.cached, "to_ask": to_ask});
                self.job.tell("planned", &planned);
            }
            Event::Shared { found, .. } => {
                counts.cached += found;
                counts.done += found;
                self.tell_counts();
            }
            Event::Asked => {
                counts.asked += 1;
                counts.in_flight += 1;
            }
            Event::Landed { failure, .. } => {
                counts.done += 1;
                counts.in_flight = counts.in_flight.saturating_sub(1);
                counts.failed += u64::from(failure.is_some());
                self.tell_counts();
            }
            Event::Waiting { what, is_new: true, .. } => {
                self.job.tell("waiting", &json!({"format": 2, "event": "waiting", "text": what}));
            }
            Event::Line(text) => {
                self.job.tell("note", &json!({"format": 2, "event": "note", "text": text}));
            }
            Event::Agent { who, doing } => {
                self.job.tell("agent", &json!({"who": who, "doing": doing}));
            }
            Event::Finished => self.tell_counts(),
            Event::Waiting { .. } | Event::Going { .. } | Event::Tick => {}
        }
    }
}
