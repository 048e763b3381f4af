//! A dataset row and what was recorded for it, as texts that nobody has read yet.

/// One record: a dataset row, and what another file recorded for it.
#[derive(Clone, Copy, Debug)]
pub struct RowRecord<'a> {
    /// The JSON text of the dataset row.
    pub row: &'a str,
    /// The JSON text of the joined record of a trajectory file; empty if there is none.
    pub recorded: &'a str,
    /// Which of the cases of the row it is, from 0.
    pub case: usize,
}

/// A placeholder for the recording of a row that has none: its grades are errors, never left out.
pub const NOT_RECORDED: &str = "null";
