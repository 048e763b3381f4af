//! One case: from a record of a dataset to a grade.
//!
//! A suite has graders, a dataset has rows. This crate says what a grader makes of a row: at once, where a function does it, or
//! by actions, where a judge is asked, a program is called or a target is run. An action is plain data with a key, and nobody
//! here executes one: plans name keys, and what came of them is handed in.
//!
//! In reading order:
//!
//! - `dataset` cuts files into records, joins them with recordings, and reads a record into a sample: begin with `sample` and
//!   `row` there. Labels and votes of people are read here too;
//! - `extract` picks the part of a recording that is graded;
//! - `grade` has the graders that are functions, a file a family, and the list of them, `GRADERS`;
//! - `judge` is a question to a model: its template, its action, the words of each provider, and the verdict in a reply.
//!   `program` is a call of a program of the user, `target` a conversation with what is evaluated, and `adapter` the command
//!   line of an agent. `action` is any of these, with its key;
//! - `evaluate` brings them together: record, submission, plan, and then plan and outcomes into a grade;
//! - `votes` and `label_keys` are what people say, `lint` what is probably not meant in a rubric, `options` how options are read.
//!
//! Nothing here knows of other cases than one, of salsa and its database, of files, clocks, processes or sockets.

pub mod action;
pub mod adapter;
pub mod dataset;
pub mod evaluate;
pub mod extract;
pub mod grade;
pub mod judge;
pub mod label_keys;
pub mod lint;
pub mod options;
pub mod program;
pub mod target;
pub mod votes;
