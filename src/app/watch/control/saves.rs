//! What a save does: files are read, compared, and what they changed is evaluated.

use std::sync::Arc;

use tokio::time::Instant;

use super::{BrokenSave, Control, GRACE, URGENT, UnrecordedSave, UntriedSave};
use crate::app::watch::board::WatchEvent;
use crate::app::watch::frontend::FinishedSave;
use crate::app::watch::ranks::Ranks;
use crate::app::watch::recording::rubrics;
use crate::app::watch::session_board::ShownEvaluation;
use crate::base::diagnostic::Diagnostic;
use crate::effects::fs_watch::ChangedPaths;
use crate::engine::resolve::live::ResolveState;
use crate::engine::session::reload::Reloaded;
use crate::graph::queries;
use crate::graph::snapshot::Snapshot;
use crate::pipeline::key::KeySet;

/// Chunks that one thread plans before two are worth while.
const MAX_CHUNKS_ALONE: usize = 64;

impl Control<'_> {
    /// Keeps what became of the save, once, after those that were superseded. That it cannot be written ends nothing: the
    /// next one writes both.
    pub(super) fn record(&mut self) -> std::io::Result<()> {
        self.fill();
        self.name_cases();
        self.record_later();
        self.write_late()
    }

    /// Notes what the cases of the session are called, before it may hold others.
    pub(super) fn name_cases(&mut self) {
        self.names.add(self.live.session());
    }

    /// Writes what was put aside.
    pub(super) fn write_late(&mut self) -> std::io::Result<()> {
        for UnrecordedSave { shown, last } in std::mem::take(&mut self.late) {
            let (session, names) = (self.live.session(), &self.names);
            let saved = FinishedSave { session, shown: &shown, last: last.as_ref(), names };
            if let Err(error) = self.around.record(&saved) {
                self.tell(&WatchEvent::Note(format!("the record cannot be written: {error}")))?;
            }
        }
        Ok(())
    }

    /// Puts the evaluation that is shown aside for the record, once: writing it would keep a save waiting.
    pub(super) fn record_later(&mut self) {
        if std::mem::replace(&mut self.is_recorded, true) {
            return;
        }
        let shown = self.views.now.clone();
        let snapshot = shown.snapshot.clone();
        let last = self.recorded.clone();
        self.late.push(UnrecordedSave { shown, last });
        self.recorded = snapshot.or(self.recorded.take());
    }

    /// Drops the outcomes that nobody can ask to see again without looking into the store.
    pub(super) fn forget(&mut self) {
        let mut wanted = KeySet::default();
        let mut want = |key| _ = wanted.insert(key);
        let shown = [Some(&self.views.now), self.views.previous.as_ref()];
        for shown in shown.into_iter().flatten() {
            shown.before.each_key(&mut want);
            if let Some(snapshot) = &shown.snapshot {
                snapshot.each_key(&mut want);
            }
        }
        self.live.session_mut().db.keep_outcomes(&wanted);
    }

    /// Reads what was touched, and evaluates what that changed. What was touched while something was broken is read
    /// with it: the session may not have been told of it.
    pub(super) fn read(&mut self, mut touched: ChangedPaths) -> std::io::Result<()> {
        if !touched.is_empty() {
            self.live.try_again(&touched);
        }
        if let Some(broken) = &mut self.broken {
            touched.extend(std::mem::take(&mut broken.touched));
        }
        let untried = self.untried.take();
        let was_around = untried.as_ref().is_some_and(|untried| untried.is_around);
        if let Some(untried) = untried {
            touched.extend(untried.touched);
        }
        self.bring_in()?;
        let then = self.known_now();
        let environment = match self.around.read_again(&touched) {
            Ok(environment) => environment,
            Err(problems) => {
                self.look_at_files()?;
                return self.found_broken(touched, problems);
            }
        };
        let is_around = environment.is_some() || was_around;
        self.name_cases();
        let reloaded = self.live.reload(&touched, environment);
        self.take_reloaded(reloaded, UntriedSave { touched, is_around }, then.as_ref())
    }

    /// Reads what was saved once more, now that its programs were loaded or could not be.
    pub(super) fn read_tried(&mut self) -> std::io::Result<()> {
        let Some(untried) = self.untried.take() else { return Ok(()) };
        self.bring_in()?;
        let then = self.known_now();
        self.name_cases();
        let reloaded = self.live.reload_tried();
        self.take_reloaded(reloaded, untried, then.as_ref())
    }

    fn take_reloaded(
        &mut self,
        reloaded: Reloaded,
        read: UntriedSave,
        then: Option<&Arc<Snapshot>>,
    ) -> std::io::Result<()> {
        // A trial decides what is looked at. What is looked at anew is reported as touched: to drop what a broken program
        // is looked at for, and to look at it once more when it is broken still, would go round for ever.
        let is_decided = !matches!(reloaded, Reloaded::Untried(_));
        self.look_at_files_and(!is_decided)?;
        let UntriedSave { touched, is_around } = read;
        match reloaded {
            Reloaded::Untried(_) => {
                // Workers of the program as it was are gone.
                self.live.pause(true);
                self.untried = Some(UntriedSave { touched, is_around });
                Ok(())
            }
            Reloaded::Broken { problems, .. } => self.found_broken(touched, problems),
            Reloaded::Changed { files, warnings } => {
                self.mend();
                self.save(then, files, &warnings)
            }
            Reloaded::Same => {
                let was_shown = self.mend();
                if is_around && self.has_begun {
                    self.begin(then);
                }
                if was_shown { self.tell(&WatchEvent::Restored) } else { Ok(()) }
            }
        }
    }

    /// The evaluation as it is known now, if all of it is planned; else as it was evaluated last.
    pub(super) fn known_now(&self) -> Option<Arc<Snapshot>> {
        let session = self.live.session();
        match self.live.standing() {
            ResolveState::Planning => self.views.now.snapshot.clone(),
            _ if !self.is_planned => None,
            _ => Some(Arc::new(Snapshot::take(&session.db, session.root))),
        }
    }

    /// Looks at every file that was read or looked for, from now on.
    pub(super) fn look_at_files(&mut self) -> std::io::Result<()> {
        self.look_at_files_and(false)
    }

    /// Looks at every file that was read or looked for, and also at those of before if `keeps` says so.
    fn look_at_files_and(&mut self, keeps: bool) -> std::io::Result<()> {
        let mut paths = self.live.session().paths();
        paths.extend(self.around.paths().iter().cloned());
        if keeps {
            paths.extend(self.files.looked_at().map(str::to_owned));
        }
        for warning in self.files.look_at(&paths) {
            self.tell(&WatchEvent::Note(warning))?;
        }
        Ok(())
    }

    /// What is saved cannot be evaluated. A file may be half written: it is shown once it is broken for a moment.
    pub(super) fn found_broken(
        &mut self,
        touched: ChangedPaths,
        problems: Vec<Diagnostic>,
    ) -> std::io::Result<()> {
        self.live.pause(true);
        self.is_dirty = true;
        let held = self.broken.take();
        let is_shown = held.as_ref().is_some_and(|held| held.again.is_none());
        let is_over =
            held.as_ref().and_then(|held| held.again).is_some_and(|again| again <= Instant::now());
        let is_same = held.as_ref().is_some_and(|held| held.problems == problems);
        // Nobody saves a file at the moment the session begins.
        let is_told = is_shown || is_over || !self.has_begun;
        let again = (!is_told).then(|| Instant::now() + GRACE);
        self.broken = Some(BrokenSave { again, touched, problems: problems.clone() });
        if !is_told || is_shown && is_same {
            return Ok(());
        }
        self.views.now.overview.problems = problems;
        self.tell(&WatchEvent::Broken)
    }

    /// Nothing is broken any more. True if that was shown.
    pub(super) fn mend(&mut self) -> bool {
        self.live.pause(false);
        self.is_dirty = true;
        self.views.now.overview.problems.clear();
        self.broken.take().is_some_and(|broken| broken.again.is_none())
    }

    /// A save means something: what it changed is evaluated.
    pub(super) fn save(
        &mut self,
        then: Option<&Arc<Snapshot>>,
        files: Vec<String>,
        warnings: &[Diagnostic],
    ) -> std::io::Result<()> {
        let is_first = !self.has_begun;
        let mut overview = self.views.now.overview.clone();
        if !is_first {
            if let Some(then) = then {
                self.views.now.snapshot = Some(Arc::clone(then));
            }
            if overview.save == 0 {
                self.start = then.cloned().or(self.start.take());
            }
            self.fill();
            self.record_later();
            overview = self.views.now.overview.clone();
            overview.save += 1;
            overview.gate_before = overview.gate.clone();
            let before = match then {
                Some(then) => Arc::new(self.views.now.before.and(then)),
                None => Arc::clone(&self.views.now.before),
            };
            let next = ShownEvaluation { before, ..ShownEvaluation::default() };
            self.views.previous = Some(std::mem::replace(&mut self.views.now, next));
        }
        overview.newest = overview.save;
        overview.files = if is_first { Vec::new() } else { files };
        overview.suite = self.live.session().suite().map_or_else(String::new, |s| s.name.clone());
        self.warnings = warnings.iter().map(|warning| warning.message.clone()).collect();
        self.views.now.overview = overview;
        if let Some(previous) = &mut self.views.previous {
            previous.overview.newest = self.views.now.overview.save;
        }
        self.views.looks_back = false;
        self.is_recorded = false;
        self.views.now.rubrics = rubrics(self.live.session());
        self.begin(then);
        if is_first { Ok(()) } else { self.tell(&WatchEvent::Saved) }
    }

    /// Settles anew what the session holds.
    pub(super) fn begin(&mut self, then: Option<&Arc<Snapshot>>) {
        let session = self.live.session();
        let ranks = Ranks::new(then.cloned(), &self.views.now.before, &self.views);
        let settings = self.around.settings(session);
        self.live.begin(Box::new(ranks), self.preview, settings);
        (self.is_planned, self.told, self.urgent) = (false, None, URGENT);
        (self.has_begun, self.listed) = (true, 0);
        self.change();
        self.begun_at = self.version();
        let session = self.live.session();
        if session.root.chunks(&session.db).len() > MAX_CHUNKS_ALONE {
            let root = session.root;
            self.worker.evaluate(&session.db, move |db| {
                // From the other end, so that both threads meet in the middle.
                for chunk in root.chunks(db).iter().rev() {
                    for grader in queries::graders(db, root) {
                        let _ = queries::plans(db, *chunk, *grader);
                    }
                }
                None
            });
        }
    }
}
