//! The messages of the engine about endpoints, kept until a display takes them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use evalrs_engine::progress::{Event, Progress};

/// Listens to the engine; clones hear the same.
#[derive(Clone, Debug, Default)]
pub struct EndpointStatus(Rc<RefCell<EndpointMessages>>);

#[derive(Debug, Default)]
struct EndpointMessages {
    /// What endpoints wait for, by their ordinals.
    waiting: BTreeMap<usize, String>,
    lines: Vec<String>,
}

impl EndpointStatus {
    /// What endpoints wait for now, a sentence each.
    pub fn waiting(&self) -> Vec<String> {
        self.0.borrow().waiting.values().cloned().collect()
    }

    /// The lines on single requests since the last call.
    pub fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.borrow_mut().lines)
    }
}

/// Where it stands that calls are left to other processes.
const NOT_AN_ENDPOINT: usize = usize::MAX;

impl Progress for EndpointStatus {
    fn event(&mut self, event: &Event) {
        let mut messages = self.0.borrow_mut();
        match event {
            Event::Waiting { endpoint, what, .. } => {
                messages.waiting.insert(*endpoint, what.clone());
            }
            Event::Going { endpoint } => _ = messages.waiting.remove(endpoint),
            Event::Shared { waiting: 0, .. } => _ = messages.waiting.remove(&NOT_AN_ENDPOINT),
            Event::Shared { .. } => {
                let what = "another process makes some of these calls".to_owned();
                messages.waiting.insert(NOT_AN_ENDPOINT, what);
            }
            Event::Line(line) => messages.lines.push(line.clone()),
            Event::Planned { .. }
            | Event::Cached(_)
            | Event::Asked
            | Event::Agent { .. }
            | Event::Landed { .. }
            | Event::Tick
            | Event::Finished => {}
        }
    }
}

/// The waits that displays got since the last save.
#[derive(Debug, Default)]
pub(super) struct ToldWaits(BTreeSet<String>);

impl ToldWaits {
    /// Those of `waiting` that were not reported yet, whatever their remaining time: it counts down.
    pub(super) fn news(&mut self, waiting: &[String]) -> Vec<String> {
        let news = waiting.iter().filter(|text| self.0.insert(without_time(text).to_owned()));
        news.cloned().collect()
    }
}

/// The sentence without its time, which counts down.
fn without_time(wait: &str) -> &str {
    let ends = ["; retrying in ", "; next request in "];
    ends.iter().find_map(|end| wait.rsplit_once(end)).map_or(wait, |(what, _)| what)
}

#[cfg(test)]
mod tests {
    use super::ToldWaits;

    #[test]
    fn a_wait_is_told_once_whatever_is_left_of_it() {
        let mut told = ToldWaits::default();
        for (wait, is_new) in [
            ("rate limit of http://a used up; next request in 12 s", true),
            ("rate limit of http://a used up; next request in 11 s", false),
            ("rate limited by http://a (429); retrying in 12 s", true),
            ("the endpoint rests: 5 failures", true),
            ("the endpoint rests: 6 failures", true),
        ] {
            assert_eq!(told.news(&[wait.to_owned()]).len(), usize::from(is_new), "{wait}");
        }
    }
}
