//! What the engine has to say of endpoints, kept until a display asks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::engine::progress::{Event, Progress};

/// Listens to the engine; clones hear the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndpointStatus(Rc<RefCell<EndpointMessages>>);

#[derive(Debug, Default)]
struct EndpointMessages {
    /// What endpoints wait for, by their ordinals.
    waiting: BTreeMap<usize, String>,
    lines: Vec<String>,
}

impl EndpointStatus {
    /// What endpoints wait for now, a sentence each.
    pub(crate) fn waiting(&self) -> Vec<String> {
        self.0.borrow().waiting.values().cloned().collect()
    }

    /// The lines on single requests since the last call.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.borrow_mut().lines)
    }
}

impl Progress for EndpointStatus {
    fn event(&mut self, event: &Event) {
        let mut said = self.0.borrow_mut();
        match event {
            Event::Waiting { endpoint, what, .. } => {
                said.waiting.insert(*endpoint, what.clone());
            }
            Event::Going { endpoint } => _ = said.waiting.remove(endpoint),
            Event::Line(line) => said.lines.push(line.clone()),
            Event::Planned { .. }
            | Event::Cached(_)
            | Event::Asked
            | Event::Landed { .. }
            | Event::Finished => {}
        }
    }
}
