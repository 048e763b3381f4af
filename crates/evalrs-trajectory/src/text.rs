//! Plain text: the target's last answer.

use super::node::RecordedNode;
use super::{Trajectory, TrajectoryFormat, TrajectoryProblem};

/// The format of any text that no other format owns.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "text",
    owns: |_| false,
    owns_object: |_| false,
    owns_text: |_| false,
    has_kinds: false,
    read,
};

fn read(root: RecordedNode<'_, '_>) -> Result<Trajectory, TrajectoryProblem> {
    root.text("text").map(Trajectory::from_output)
}
