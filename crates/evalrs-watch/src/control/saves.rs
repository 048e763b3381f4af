//! What a save does: files are read, compared, and what they changed is evaluated.

use std::sync::Arc;

use tokio::time::Instant;

use super::state::{BrokenSave, FilesState, Phase, PreflightSave, UnrecordedSave, VerdictQuota};
use super::{Control, GRACE, SAVES_TO_FORGET};
use crate::board::WatchEvent;
use crate::ranks::Ranks;
use crate::recording::{FinishedSave, rubrics};
use crate::save_texts::SaveTexts;
use crate::shown_evaluation::ShownEvaluation;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::resolve::live::ResolveState;
use evalrs_engine::resolve::settle::{MAX_CHUNKS_ALONE, plan_from_the_end};
use evalrs_engine::session::reload::ReloadResult;
use evalrs_graph::labels::file as labels_file;
use evalrs_graph::snapshot::Snapshot;
use evalrs_graph::{answers, programs};
use evalrs_model::key::KeySet;
use evalrs_system::changed_paths::ChangedPaths;

impl Control<'_> {
    /// Records what became of the save, once, after those that were superseded. That it cannot be written ends nothing: the
    /// next one writes both.
    pub(super) fn record_now(&mut self) -> std::io::Result<()> {
        self.fill();
        self.name_cases();
        self.record_later();
        self.write_records()
    }

    /// Notes what the cases of the session are called, before it may hold others.
    pub(super) fn name_cases(&mut self) {
        self.record.names.add(self.live.session());
    }

    /// Writes what was put aside.
    pub(super) fn write_records(&mut self) -> std::io::Result<()> {
        for UnrecordedSave { shown, last } in std::mem::take(&mut self.record.unwritten) {
            let session = self.live.session();
            let names = &self.record.names;
            let saved = FinishedSave { session, shown: &shown, last: last.as_ref(), names };
            if let Err(error) = self.context.record(&saved) {
                self.tell(&WatchEvent::Note(format!("the record cannot be written: {error}")))?;
            }
        }
        Ok(())
    }

    /// Puts the evaluation that is shown aside for the record, once: writing it would keep a save waiting.
    pub(super) fn record_later(&mut self) {
        if std::mem::take(&mut self.record.is_due) {
            let shown = self.views.now.clone();
            let last = self.record.last.clone();
            self.record.last = shown.snapshot.clone().or_else(|| last.clone());
            self.record.unwritten.push(UnrecordedSave { shown, last });
        }
    }

    /// Drops the outcomes that no shown evaluation rests on; the store still has them. Which ones those are takes a look
    /// at every plan, so it is done where many came in, and else once in [`SAVES_TO_FORGET`] saves.
    pub(super) fn forget(&mut self) {
        self.unforgotten += 1;
        if self.unforgotten < SAVES_TO_FORGET && !self.live.session().db.outcomes.has_grown() {
            return;
        }
        self.unforgotten = 0;
        let mut wanted = KeySet::default();
        let mut want = |key| _ = wanted.insert(key);
        for shown in self.views.past.iter().chain([&self.views.now]) {
            shown.before.each_key(&mut want);
            shown.snapshot.iter().for_each(|snapshot| snapshot.each_key(&mut want));
        }
        // Records and submissions are read again whenever something that rests on them changes.
        let session = self.live.session_mut();
        let db = &session.db;
        for chunk in session.root.chunks(db) {
            answers::conversation_keys(db, *chunk).into_iter().flatten().for_each(&mut want);
            for grader in session.graders() {
                programs::each_extraction(db, *chunk, *grader, &mut |_, _, key| want(key));
            }
        }
        session.db.outcomes.keep(|key| wanted.contains(key));
    }

    /// Reads what was touched, and evaluates what that changed. What was touched while something was broken is read
    /// with it: the session may not have been told of it.
    pub fn read(&mut self, touched: ChangedPaths) -> std::io::Result<()> {
        if !touched.is_empty() {
            self.live.retry_preflights(&touched);
        }
        let mut save = self.take_files();
        save.touched.extend(touched);
        self.bring_in()?;
        let then = self.known_now();
        let environment = match self.context.read_again(&save.touched) {
            Ok(environment) => environment,
            Err(problems) => {
                self.look_at_files(false)?;
                return self.found_broken(save, problems);
            }
        };
        save.has_new_context |= environment.is_some();
        self.name_cases();
        let reloaded = self.live.reload(&save.touched, environment);
        self.take_reloaded(reloaded, save, then.as_ref())
    }

    /// What was saved since the files were valid last, which counts as saved now; they are taken for valid until they are
    /// read again.
    fn take_files(&mut self) -> PreflightSave {
        match std::mem::replace(&mut self.files, FilesState::Valid) {
            FilesState::Preflight(save) => save,
            FilesState::Broken(mut broken) => {
                let touched = std::mem::take(&mut broken.touched);
                PreflightSave { touched, has_new_context: false, broken: Some(broken) }
            }
            FilesState::Valid => PreflightSave::default(),
        }
    }

    /// Reads what was saved once more, now that its programs were loaded or could not be.
    pub(super) fn read_after_preflight(&mut self) -> std::io::Result<()> {
        let save = self.take_files();
        self.bring_in()?;
        let then = self.known_now();
        self.name_cases();
        let reloaded = self.live.reload_after_preflight();
        self.take_reloaded(reloaded, save, then.as_ref())
    }

    fn take_reloaded(
        &mut self,
        reloaded: ReloadResult,
        save: PreflightSave,
        then: Option<&Arc<Snapshot>>,
    ) -> std::io::Result<()> {
        // A trial decides what is looked at. What is looked at anew is reported as touched: to drop what a broken program
        // is looked at for, and to look at it once more when it is broken still, would go round for ever.
        self.look_at_files(matches!(reloaded, ReloadResult::NeedsPreflight(_)))?;
        match reloaded {
            ReloadResult::NeedsPreflight(_) => {
                // Workers of the program as it was are gone.
                self.live.pause(true);
                self.files = FilesState::Preflight(save);
                Ok(())
            }
            ReloadResult::Broken { problems, .. } => self.found_broken(save, problems),
            ReloadResult::Changed { files, warnings } => {
                self.mend();
                let warnings = warnings.iter().map(Diagnostic::brief).collect();
                if self.phase != Phase::Loading && self.are_labels(&files) {
                    self.warnings = warnings;
                    self.compare_anew();
                    return Ok(());
                }
                self.save(then, files, warnings)
            }
            ReloadResult::Same => {
                self.mend();
                if save.has_new_context && self.phase != Phase::Loading {
                    self.begin(then);
                }
                let was_shown = save.broken.is_some_and(|broken| broken.again.is_none());
                if was_shown { self.tell(&WatchEvent::Restored) } else { Ok(()) }
            }
        }
    }

    /// Whether nothing but the file of labels changed.
    fn are_labels(&self, files: &[String]) -> bool {
        let session = self.live.session();
        let labels = labels_file(&session.db, session.root).path(&session.db);
        matches!(files, [only] if only == labels)
    }

    /// The evaluation as it is known now, if all of it is planned; else as it was evaluated last.
    pub(super) fn known_now(&self) -> Option<Arc<Snapshot>> {
        let session = self.live.session();
        match self.live.standing() {
            ResolveState::Planning => self.views.now.snapshot.clone(),
            _ if !self.phase.is_planned() => None,
            // What is shown is of what the session holds.
            _ if self.has_totals() && !self.live.has_arrived() => self.views.now.snapshot.clone(),
            _ => Some(Arc::new(Snapshot::take(&session.db, session.root))),
        }
    }

    /// Looks at every file that was read or looked for, and also at those of before if `keeps` says so.
    pub(super) fn look_at_files(&mut self, keeps: bool) -> std::io::Result<()> {
        let mut paths = self.live.session().paths();
        paths.extend(self.context.paths().iter().cloned());
        if keeps {
            paths.extend(self.watch.looked_at().map(str::to_owned));
        }
        let warnings = self.watch.look_at(&paths).into_iter();
        warnings.map(WatchEvent::Note).try_for_each(|warning| self.tell(&warning))
    }

    /// What was saved cannot be evaluated. A file may be half written: it is shown once it is broken for a moment.
    fn found_broken(
        &mut self,
        save: PreflightSave,
        problems: Vec<Diagnostic>,
    ) -> std::io::Result<()> {
        self.live.pause(true);
        self.is_dirty = true;
        let earlier = save.broken.as_ref();
        let was_shown = earlier.is_some_and(|earlier| earlier.again.is_none());
        let is_same = earlier.is_some_and(|earlier| earlier.problems == problems);
        // No file is being saved at the moment the session begins.
        let is_shown =
            was_shown || earlier.is_some_and(BrokenSave::is_due) || self.phase == Phase::Loading;
        let again = (!is_shown).then(|| Instant::now() + GRACE);
        let touched = save.touched;
        self.files = FilesState::Broken(BrokenSave { again, touched, problems: problems.clone() });
        if !is_shown || was_shown && is_same {
            return Ok(());
        }
        self.views.now.overview.problems = problems;
        self.tell(&WatchEvent::Broken)
    }

    /// Nothing is broken any more.
    fn mend(&mut self) {
        self.live.pause(false);
        self.is_dirty = true;
        self.views.now.overview.problems.clear();
    }

    /// A save means something: what it changed is evaluated.
    pub fn save(
        &mut self,
        then: Option<&Arc<Snapshot>>,
        files: Vec<String>,
        warnings: Vec<String>,
    ) -> std::io::Result<()> {
        let is_first = self.phase == Phase::Loading;
        let mut overview = self.views.now.overview.clone();
        if !is_first {
            if let Some(then) = then {
                self.views.now.snapshot = Some(Arc::clone(then));
                if overview.save == 0 {
                    self.start = Some(Arc::clone(then));
                }
            }
            self.fill();
            overview = self.views.now.overview.clone();
            if self.totals.are_of_an_earlier_save() {
                // They stay on display until there are others, but are not told of this save.
                self.views.now.forget_numbers();
            }
            self.record_later();
            overview.save += 1;
            overview.gate_before = overview.gate.clone();
            let before = match then {
                Some(then) => Arc::new(self.views.now.before.and(then)),
                None => Arc::clone(&self.views.now.before),
            };
            let next = ShownEvaluation {
                before,
                declared_before: self.record.declared.clone(),
                declared_at_start: self.record.declared_at_start.clone(),
                ..ShownEvaluation::default()
            };
            self.views.past.push(std::mem::replace(&mut self.views.now, next));
        }
        overview.newest = overview.save;
        overview.metrics.iter_mut().for_each(|metric| metric.held_out = None);
        overview.files = if is_first { Vec::new() } else { files };
        overview.suite = self.live.session().suite().map_or_else(String::new, |s| s.name.clone());
        self.warnings = warnings;
        self.views.now.overview = overview;
        self.views.looked_at = None;
        self.record.is_due = true;
        self.views.now.rubrics = rubrics(self.live.session());
        self.views.now.texts = self.texts();
        self.views.now.time = self.context.time_of_day();
        self.begin(then);
        if is_first { Ok(()) } else { self.tell(&WatchEvent::Saved) }
    }

    /// What the suite's files say now.
    fn texts(&self) -> SaveTexts {
        let nothing = SaveTexts::default();
        let before = self.views.past.iter().next_back().map_or(&nothing, |before| &before.texts);
        SaveTexts::of(self.live.session(), before)
    }

    /// Settles again what the session holds.
    pub fn begin(&mut self, then: Option<&Arc<Snapshot>>) {
        let session = self.live.session();
        let ranks = Ranks::new(then.cloned(), &self.views.now.before, &self.views);
        let settings = self.context.settings(session);
        self.live.begin(Box::new(ranks), self.preview, settings);
        self.phase = Phase::Planning;
        self.quota = VerdictQuota::NEW;
        self.change();
        // Those that are shown are of the save before.
        self.totals.begin(self.version(), Instant::now());
        let session = self.live.session();
        if session.root.chunks(&session.db).len() > MAX_CHUNKS_ALONE {
            let root = session.root;
            self.worker.evaluate(&session.db, move |db| {
                // Both threads meet in the middle.
                plan_from_the_end(db, root, 1, 0);
                None
            });
        }
    }
}
