//! `evalrs watch`: the loop between somebody who edits and the verdicts that move.
//!
//! `files` tells what was saved, `board` is what every display shows. Displays know neither the graph nor the driver:
//! they draw a [`board::Board`], are told what [`board::Happened`], and say what the user [`board::Wish`]es.

pub mod board;
