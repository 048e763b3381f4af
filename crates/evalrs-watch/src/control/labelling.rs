//! Labels that the user gives: written at once, and compared at once.

use serde_json::Value;

use super::{Control, Phase};
use crate::board::{LabelInput, VerdictId, WatchEvent};
use evalrs_base::text::enumerated;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::label_edit::NewLabel;
use evalrs_eval::evaluate::Submission;
use evalrs_eval::label_keys::{KeyLabel, label_keys, label_of_key, written_score};
use evalrs_eval::votes::answer_digest;
use evalrs_graph::inputs::CellId;
use evalrs_graph::selection::named;
use evalrs_graph::{labels, queries};
use evalrs_model::spec::{LabelPick, Scale};

impl Control<'_> {
    /// Writes what the user says of a verdict, and compares the verdict with it. What cannot be written is told.
    pub fn label(
        &mut self,
        row: VerdictId,
        given: LabelInput,
        picked: LabelPick,
    ) -> std::io::Result<()> {
        let Some(cell) = self.cell(row) else { return Ok(()) };
        let session = self.live.session();
        let written = new_label(session, cell, given).and_then(|label| {
            let label = NewLabel { picked: Some(picked), ..label };
            let path = labels::file(&session.db, session.root).path(&session.db);
            let layout = labels::file_layout(&session.db, session.root);
            let told = told(&label);
            self.context.label(path, &layout, label).map(|()| told)
        });
        if written.is_ok() && self.live.reload_labels() {
            self.compare_anew();
        }
        self.tell(&WatchEvent::Note(written.unwrap_or_else(|why| why)))
    }

    /// Queries once a save how far the verdicts agree with held-out labels: labels given in the meantime are not a further
    /// query.
    pub(super) fn ask_held_out(&mut self) -> std::io::Result<()> {
        if !self.record.is_due {
            return Ok(());
        }
        self.fill();
        match self.context.held_out(self.live.session()) {
            Ok(told) => {
                for metric in &mut self.views.now.overview.metrics {
                    let own = told.iter().find(|(grader, _)| *grader == metric.grader);
                    metric.held_out = own.map(|(_, told)| *told);
                }
                Ok(())
            }
            Err(why) => self.tell(&WatchEvent::Note(why)),
        }
    }

    /// Labels are others: verdicts are compared with them at once. This is no save, so that what changed since the last one is
    /// still told, by the labels of now.
    pub(super) fn compare_anew(&mut self) {
        self.change();
        let now = tokio::time::Instant::now();
        self.totals.next = now;
        self.next_frame = now;
        self.is_relabelled = self.phase == Phase::Settled;
    }
}

/// The label for the file; an error, a sentence, where there is none to be given.
fn new_label(session: &Session, cell: CellId, given: LabelInput) -> Result<NewLabel, String> {
    const GONE: &str = "the verdict is gone";
    let CellId { chunk, case, grader } = cell;
    let db = &session.db;
    let grader = session.grader(grader).ok_or(GONE)?;
    let name = grader.name(db);
    let who = queries::checked(db, chunk).whos.get(case).ok_or(GONE)?;
    let place = queries::places(db, chunk).get(case).ok_or(GONE)?;
    let scales = labels::scales(db, session.root);
    let scale = scales.iter().find(|(of, _)| of == name).map_or(Scale::UNIT, |(_, scale)| *scale);
    let label = match given {
        LabelInput::Pass(pass) => Some(Value::from(pass)),
        LabelInput::Score(key) => match label_of_key(scale, key) {
            Some(KeyLabel::Score(score)) => Some(written_score(score)),
            _ => return Err(not_on(scale, name, key)),
        },
        LabelInput::Nothing => None,
    };
    let submission = match queries::graded_texts(db, chunk, grader).get(case) {
        None | Some(Submission::Pending(_) | Submission::Unanswered(_)) => {
            return Err("no answer to label yet".to_owned());
        }
        Some(submission) => answer_digest(&submission.shown()),
    };
    Ok(NewLabel {
        id: named(who.id(), place.occurrence),
        grader: Some(name.clone()),
        is_only_grader: scales.len() == 1,
        model: who.identity.model.clone(),
        trial: has_trials(session).then_some(who.identity.trial),
        submission: Some(submission),
        label,
        ..NewLabel::default()
    })
}

/// Whether a label has to say which trial it is of.
fn has_trials(session: &Session) -> bool {
    let chunks = session.root.chunks(&session.db).iter();
    let mut whos = chunks.flat_map(|chunk| &queries::checked(&session.db, *chunk).whos);
    whos.any(|who| who.identity.trial > 0)
}

/// That a key is none on the scale of a grader, and which are.
fn not_on(scale: Scale, grader: &str, key: char) -> String {
    let Scale { min, max } = scale;
    let keys: Vec<String> = label_keys(scale)
        .into_iter()
        .filter(|known| matches!(known.says, KeyLabel::Score(_)))
        .map(|known| format!("`{}`", known.key))
        .collect();
    format!(
        "{key} is not on the scale of `{grader}`, from {min} to {max}: its keys are {}",
        enumerated(&keys, "and")
    )
}

fn told(label: &NewLabel) -> String {
    let said = match &label.label {
        None => "no label".to_owned(),
        Some(Value::Bool(true)) => "pass".to_owned(),
        Some(Value::Bool(false)) => "fail".to_owned(),
        Some(other) => other.to_string(),
    };
    format!("{}: {said}", label.id)
}
