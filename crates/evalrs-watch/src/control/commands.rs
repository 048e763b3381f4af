//! What the user wants, carried out.

use super::Control;
use crate::board::{UserCommand, VerdictId, WatchEvent, save_name};
use crate::frontend::SessionEnd;
use crate::ranks::MARKED;
use crate::session_board::SessionBoard;
use evalrs_engine::session::Session;
use evalrs_exec::editor::edit;
use evalrs_graph::inputs::CellId;
use evalrs_graph::queries;
use evalrs_graph::snapshot::case_index;

impl Control<'_> {
    /// Does what the user wants. Returns how the session ends, if it does.
    pub(super) fn carry_out(
        &mut self,
        command: &UserCommand,
    ) -> std::io::Result<Option<SessionEnd>> {
        match *command {
            UserCommand::Quit => return Ok(Some(SessionEnd::Quit)),
            UserCommand::Interrupt => return Ok(Some(SessionEnd::Interrupted)),
            UserCommand::RunRest => self.live.allow_more(u64::MAX),
            UserCommand::RunNext(more) => self.live.allow_more(more),
            UserCommand::Undo => {
                let newest = self.views.now.overview.save;
                let is_newest = self.views.looked_at.is_none();
                self.look_at(if is_newest { newest.saturating_sub(1) } else { newest })?;
            }
            UserCommand::LookAt(save) => self.look_at(save)?,
            UserCommand::TakeBack(save) => self.take_back(save)?,
            UserCommand::Edit(row) => self.edit(row)?,
            UserCommand::Refresh(row) => {
                if let Some(cell) = self.cell(row) {
                    self.live.refresh(cell);
                }
            }
            UserCommand::Pin(row) => {
                if !self.views.pinned.remove(&row.case) {
                    self.views.pinned.insert(row.case);
                    self.prefer(row);
                }
                self.views.changed();
            }
            UserCommand::Select(row) => self.select(row),
            UserCommand::Label { row, label, picked, next } => {
                self.label(row, label, picked)?;
                if let Some(next) = next {
                    self.select(next);
                }
            }
        }
        Ok(None)
    }

    fn look_at(&mut self, save: u32) -> std::io::Result<()> {
        if self.views.look_at(save) {
            return self.tell(&WatchEvent::Evaluated);
        }
        let newest = self.views.now.overview.save;
        self.tell(&WatchEvent::Note(format!("no save {save}: the newest is {newest}")))
    }

    /// Writes the suite's files as they were in a save. That is a save as any other, once it is seen.
    fn take_back(&mut self, save: u32) -> std::io::Result<()> {
        let edits = self.views.edits_to(save);
        let name = save_name(save);
        let told = if self.views.of(save).is_none() {
            format!("no save {save}")
        } else if edits.is_empty() {
            format!("the files are the same as in {name}: nothing is written")
        } else {
            let paths: Vec<&str> = edits.iter().map(|edit| edit.path.as_str()).collect();
            match self.context.write(&edits) {
                Ok(()) => format!("reverted to {name}: {}", paths.join(", ")),
                Err(why) => why,
            }
        };
        self.tell(&WatchEvent::Note(told))
    }

    fn select(&mut self, row: VerdictId) {
        self.views.selected = Some(row);
        self.prefer(row);
        self.look_up_kept(row);
    }

    /// The place of a verdict of the board in the session.
    pub fn cell(&self, row: VerdictId) -> Option<CellId> {
        let session = self.live.session();
        let place = case_index(&session.db, session.root).place(row.case)?;
        let chunk = *session.root.chunks(&session.db).get(place.chunk)?;
        Some(CellId { chunk, case: place.case, grader: row.grader })
    }

    /// Moves a verdict up in the queue, if it waits.
    pub(super) fn prefer(&mut self, row: VerdictId) {
        if let Some(cell) = self.cell(row) {
            self.live.prefer(cell, MARKED);
        }
    }

    /// Finds what the judgment was made of that a verdict rested on before.
    pub(super) fn look_up_kept(&mut self, row: VerdictId) {
        let session = self.live.session();
        let Some(grader) = session.grader(row.grader) else { return };
        let known = self.views.now.before.known(row.case, grader.name(&session.db));
        let key = known.and_then(|known| known.key());
        self.views.kept = key.and_then(|key| Some((key, self.live.kept(key)?)));
    }

    /// Opens an editor on the rubric of a verdict.
    pub fn edit(&mut self, row: Option<VerdictId>) -> std::io::Result<()> {
        let session = self.live.session();
        let path = rubric_path(session, row.map_or(0, |row| row.grader));
        let editor = ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| session.root.environment(&session.db).get(name).cloned())
            .filter(|editor| !editor.trim().is_empty());
        self.front.suspend()?;
        self.editor = Some(Box::pin(edit(editor, path)));
        Ok(())
    }

    pub(super) fn edited(&mut self, done: Result<(), String>) -> std::io::Result<()> {
        self.editor = None;
        let board = SessionBoard::new(&self.views, self.live.session());
        self.front.resume(&board)?;
        self.is_dirty = true;
        done.or_else(|why| self.tell(&WatchEvent::Note(why)))
    }
}

/// The file that the rubric of a grader is written in; of one without, that of the first that has one, else the suite.
fn rubric_path(session: &Session, grader: usize) -> String {
    let files = &queries::suite(&session.db, session.root).rubric_files;
    let name = session.grader(grader).map(|grader| grader.name(&session.db));
    let own = files.iter().find(|(of, _)| Some(of) == name).or(files.first());
    own.map_or_else(|| session.root.suite(&session.db).path(&session.db), |(_, path)| path).clone()
}
