//! `evalrs watch`: the loop between edits and the verdicts that they move.
//!
//! Each save starts an evaluation. What it changes is shown verdict by verdict while judges still answer, and totals follow a
//! few times a second; a save that comes before the end takes the place of the one before.
//!
//! - [`board`] is what every display shows, as plain data, and what its user wants: read it first. [`list_query`] says which
//!   verdicts are listed and in which order.
//! - [`control`] is the loop. [`fs_watch`] tells it what was saved, `worker` evaluates everything (`totals`, `chunk_moves`)
//!   beside it, `prior_verdicts` knows what verdicts were, `ranks` which judgments are asked first.
//! - `board_state` is what a session shows and remembers, `session_board` draws the board from it and from the session, with
//!   the lists of `session_list`. `shown_evaluation`, `save_texts`, `save_rows` and [`take_back`] are about earlier saves.
//! - [`screen`], [`plain`] and [`json`] are the displays. They know neither graph nor engine: they draw a [`board::Board`],
//!   receive [`board::WatchEvent`]s, and return [`board::UserCommand`]s.
//! - [`frontend`] is what the loop needs from the command that starts it; [`recording`] what the record of a session keeps.
//!
//! This crate writes no file and reads no setting by itself: a [`frontend::WatchContext`] does that for it.
//!
//! Begin with [`board`], then [`control::Control`].

pub mod board;
mod board_state;
mod chunk_moves;
pub mod control;
pub mod endpoint_status;
pub mod frontend;
pub mod fs_watch;
pub mod json;
pub mod line_input;
pub mod list_query;
pub mod plain;
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
