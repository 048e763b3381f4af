//! Human labels of the cases, and what follows from that: no plan reads any of it.
//!
//! `given` reads labels from rows and files, for every case and grader. Of them `drawn` are a random part, and `queue` is what
//! to label next.

pub(crate) mod drawn;
pub mod given;
pub mod queue;

pub use given::{
    are_rows_labelled, disputed_case, disputed_cases, file, file_layout, found_labels, has_labels,
    held_out_labels, held_out_share, label_picks, label_problems, label_reading, labels, people,
    row_extents, row_labels, scales, stale_labels, takes_label, unused_lines,
};
