//! `evalrs watch`: the loop between somebody who edits and the verdicts that move.
//!
//! `files` tells what was saved, `quiet` when a burst of it is over, and `control` has it evaluated: `worker` evaluates
//! everything (`totals`) while single verdicts still come in, `before` knows what they were, `ranks` which are asked
//! first. `board` is what every display shows; `view` makes it from the session. Displays (`screen`, `plain`, `json`)
//! know neither the graph nor the engine: they draw a [`board::Board`], are told what [`board::Happened`], and say what
//! the user [`board::Wish`]es.

mod before;
pub mod board;
pub mod control;
pub mod front;
pub(crate) mod heard;
pub(crate) mod input;
pub(crate) mod json;
#[cfg(test)]
mod made_up;
pub(crate) mod plain;
mod ranks;
pub(crate) mod recording;
pub(crate) mod screen;
mod totals;
mod view;
mod worker;
