//! `evalrs watch`: the loop between edits and the verdicts that they move.
//!
//! `effects::fs_watch` tells what was saved, and `control` has it evaluated: `worker` evaluates everything (`totals`) while
//! single verdicts still come in, `prior_verdicts` knows what they were, `ranks` which are asked first. `board` is what
//! every display shows; `session_board` makes it from the session. Displays (`screen`, `plain`, `json`) know neither the
//! graph nor the engine: they draw a [`board::Board`], receive [`board::WatchEvent`]s, and return the user's
//! [`board::UserCommand`]s.

pub mod fs_watch;
pub mod board;
mod chunk_moves;
pub mod control;
pub mod endpoint_status;
pub mod frontend;
pub mod json;
pub mod line_input;
pub mod list_query;
pub mod plain;
mod past_saves;
mod prior_verdicts;
mod ranks;
pub mod recording;
mod save_rows;
mod save_texts;
pub mod screen;
mod sent_view;
mod session_board;
mod session_list;
mod shown_evaluation;
pub mod take_back;
mod totals;
mod worker;
