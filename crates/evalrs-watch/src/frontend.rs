//! What the loop needs from the command that starts it: a frontend, and what surrounds the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;

use super::board::{Board, Display, UserCommand};
use super::take_back::FileEdit;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::inspect::explain::Layers;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::label_edit::NewLabel;
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_model::spec::LabelsSpec;
use evalrs_system::changed_paths::ChangedPaths;

pub use super::recording::FinishedSave;

/// A display, and where the commands of its user come from.
pub trait Frontend {
    /// The display.
    fn display(&mut self) -> &mut dyn Display;
    /// Waits for what the user does. Nothing is lost if it is dropped while it waits.
    fn input(&mut self) -> Pin<Box<dyn Future<Output = UserInput> + '_>>;
    /// What the user means by it.
    fn command(
        &mut self,
        input: UserInput,
        board: &dyn Board,
    ) -> std::io::Result<Option<UserCommand>>;
    /// What stays on the terminal once the frontend is gone, line by line.
    fn closing_lines(&self, _board: &dyn Board) -> Vec<String> {
        Vec::new()
    }

    /// Gives the terminal to an editor.
    fn suspend(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// Takes it back.
    fn resume(&mut self, _board: &dyn Board) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a user did.
#[derive(Clone, Debug)]
pub enum UserInput {
    /// At a terminal.
    Terminal(crossterm::event::Event),
    /// A line on standard input.
    Line(String),
    /// A signal to end the process.
    Interrupted,
}

/// What surrounds the suite and is not part of it: the environment and the settings.
pub trait WatchContext {
    /// Reads it again, if one of these files may be part of it. Returns the environment if it
    /// or a setting changed. Those that were touched while it was broken are among the files.
    fn read_again(
        &mut self,
        touched: &ChangedPaths,
    ) -> Result<Option<BTreeMap<String, String>>, Vec<Diagnostic>>;
    /// How the session is settled.
    fn settings(&self, session: &Session) -> Settings;
    /// Every file and folder that it was read from, or looked for in.
    fn paths(&self) -> &BTreeSet<String>;
    /// Keeps what became of a save.
    fn record(&mut self, saved: &FinishedSave<'_>) -> std::io::Result<()>;
    /// Writes a label of the user into the file of labels at `path`, which is written as `layout` says. An error is a sentence.
    fn label(&mut self, path: &str, layout: &LabelsSpec, label: NewLabel) -> Result<(), String>;
    /// Queries the held-out labels: each query is counted. An error is a sentence.
    fn held_out(&mut self, session: &Session) -> Result<Vec<(String, HeldOutAgreement)>, String>;
    /// The layers of the store, with all that is in them by now.
    fn layers(&mut self) -> &mut Layers;
    /// Writes files, all of them or none where one says something else than expected. An error is a sentence.
    fn write(&mut self, edits: &[FileEdit]) -> Result<(), String>;
    /// Further receivers of events, besides the terminal.
    fn pages(&mut self) -> Option<&mut dyn Display> {
        None
    }

    /// The time of day where the user is, as `14:05`.
    fn time_of_day(&self) -> String;
    /// The command that compares the start of the session with its end.
    fn diff_command(&self) -> String;
    /// What endpoints wait for, a sentence each.
    fn waiting(&self) -> Vec<String>;
    /// What there is to say of single requests since the last call, where that is wanted.
    fn lines(&self) -> Vec<String>;
}

/// How the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The user has seen enough.
    Quit,
    /// It was interrupted.
    Interrupted,
}
