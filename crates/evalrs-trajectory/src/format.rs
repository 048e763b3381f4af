//! A format of recorded trajectories: how its values are recognized, and its reader.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::node::RecordedNode;
use super::problem::ReadResult;
use super::trajectory::Trajectory;

/// A format that trajectories are recorded in.
pub struct TrajectoryFormat {
    /// What a suite calls it.
    pub name: &'static str,
    /// Whether a message can only be of this format.
    pub owns: fn(&Value) -> bool,
    /// Whether an object that holds more than messages can only be of this format.
    pub(crate) owns_object: fn(&Map<String, Value>) -> bool,
    /// Whether text can only be of this format.
    pub(crate) owns_text: fn(&str) -> bool,
    /// Whether its messages are recognized by their kind, so that all of them may be of unknown kinds.
    pub(crate) has_kinds: bool,
    /// Reads what was recorded.
    pub read: fn(RecordedNode<'_, '_>) -> ReadResult<Trajectory>,
}

impl std::fmt::Debug for TrajectoryFormat {
    /// Its name alone: the addresses of functions differ from process to process, and digests are made of this text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TrajectoryFormat({})", self.name)
    }
}

impl TrajectoryFormat {
    /// Plain text, the target's last answer: any text that no other format owns. Other formats are as it is but for what
    /// they say.
    pub(crate) const TEXT: Self = Self {
        name: "text",
        owns: |_| false,
        owns_object: |_| false,
        owns_text: |_| false,
        has_kinds: false,
        read: |root| root.text("text").map(Trajectory::from_output),
    };
}

impl PartialEq for TrajectoryFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TrajectoryFormat {}

impl Serialize for TrajectoryFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}
