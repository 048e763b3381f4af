//! Human labels of a run: a file of them, read for the graders of that run, and how far verdicts agree with it.

use std::sync::Arc;

use serde::Serialize;

use evalrs_eval::dataset::label_file;
use evalrs_eval::dataset::label_file::{LabelLine, LabelNote, LabelTable, digest_number};
use evalrs_eval::dataset::people::{UNKNOWN, label_of, opinions, pick_of};
use evalrs_eval::label_keys::{KeyLabel, LabelKey, label_keys};
use evalrs_metrics::metric::holdout::is_held_out;
use evalrs_model::spec::{Label, LabelPick, LabelsSpec, Scale};
use evalrs_system::System;

/// A label as pages show it.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct LabelView {
    /// `true` or `false`, or how good it is from 0 to 1.
    label: LabelNumber,
    /// Whether it passes where the grader's threshold is reached.
    pub passes: bool,
    /// Whether the verdict says the same; null where there is none.
    pub agrees: Option<bool>,
}

/// What a label says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[derive(utoipa::ToSchema)]
pub(crate) enum LabelNumber {
    /// Whether it passes.
    Pass(bool),
    /// How good it is, 0.0..=1.0.
    Score(f64),
}

impl LabelView {
    /// The label `label` where scores of at least `threshold` pass, beside a verdict.
    pub(crate) fn new(label: Label, threshold: f64, passed: Option<bool>) -> Self {
        let passes = label.passes(threshold);
        let label = match label {
            Label::Pass(pass) => LabelNumber::Pass(pass),
            Label::Score(score) => LabelNumber::Score(score),
        };
        Self { label, passes, agrees: passed.map(|passed| passed == passes) }
    }
}

/// The human label.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct PersonLabelView {
    /// Their name; null where that is not known.
    who: Option<String>,
    /// `true` or `false`, or how good it is from 0 to 1.
    label: LabelNumber,
    /// Whether it passes where the grader's threshold is reached.
    passes: bool,
    /// Why, in their words; absent where they said nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// The kind of failure; absent where they named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
}

impl PersonLabelView {
    /// What `who` says of whether an answer passes.
    pub(crate) fn of_verdict(who: &str, pass: bool) -> Self {
        let who = Some(who).filter(|who| *who != UNKNOWN).map(str::to_owned);
        Self { who, label: LabelNumber::Pass(pass), passes: pass, comment: None, category: None }
    }

    fn new(said: &ReadLabel, threshold: f64) -> Self {
        let label = LabelView::new(said.label, threshold, None);
        let LabelView { label, passes, .. } = label;
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let [comment, category] = [&said.note.comment, &said.note.category].map(text);
        Self { who: text(&said.who), label, passes, comment, category }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PeopleView {
    /// The label that counts; none of a tie.
    pub label: Option<LabelView>,
    pub people: Vec<PersonLabelView>,
    /// Whether some say that it passes and others that it does not.
    pub disputed: bool,
}

impl PersonLabelView {
    /// The kind of failure, where they named one.
    pub(crate) fn category(&self) -> Option<&str> {
        self.category.as_deref()
    }
}

impl PeopleView {
    /// The label `said`, where scores of at least `threshold` pass, beside a verdict.
    pub(crate) fn new(said: &SaidLabels, threshold: f64, passed: Option<bool>) -> Self {
        let people = said.people.iter().map(|one| PersonLabelView::new(one, threshold));
        let people: Vec<PersonLabelView> = people.collect();
        let disputed = people.iter().any(|one| one.passes) && people.iter().any(|one| !one.passes);
        let label = said.label.map(|label| LabelView::new(label, threshold, passed));
        Self { label, people, disputed }
    }

    /// The human label; those without a name are one.
    pub(crate) fn label_of(&self, who: Option<&str>) -> Option<LabelNumber> {
        let who = who.unwrap_or(UNKNOWN);
        let own = self.people.iter().find(|one| one.who.as_deref().unwrap_or(UNKNOWN) == who);
        own.map(|one| one.label)
    }
}

/// A key that labels, and its button.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct LabelKeyView {
    /// The key.
    key: String,
    /// What a label of it says: `true`, `false`, a number from 0 to 1, or null, which removes it.
    value: Option<LabelNumber>,
    /// What its button shows: of scores the number on the scale of the grader.
    shown: String,
}

/// The keys of a grader with this scale, in the order of their buttons.
pub(crate) fn label_key_views(scale: Scale) -> Vec<LabelKeyView> {
    let view = |LabelKey { key, says, shown }: LabelKey| {
        let value = match says {
            KeyLabel::Pass(pass) => Some(LabelNumber::Pass(pass)),
            KeyLabel::Score(score) => Some(LabelNumber::Score(scale.unit(score))),
            KeyLabel::Nothing => None,
        };
        LabelKeyView { key: key.to_string(), value, shown }
    };
    label_keys(scale).into_iter().map(view).collect()
}

/// The human label of an answer, on the scale of a grader.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadLabel {
    /// Their name, where that is known.
    pub who: Option<Box<str>>,
    pub label: Label,
    note: LabelNote,
}

/// What a file says of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SaidLabels {
    /// The label that counts; none of a tie.
    pub label: Option<Label>,
    /// What each person says, by their names.
    pub people: Vec<ReadLabel>,
    /// How the answer was picked for labelling, if known.
    pub picked: Option<LabelPick>,
}

/// A grader, as far as labels are read for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelledGrader {
    pub name: String,
    /// The scale of its judge.
    pub scale: Scale,
    /// The least score that passes.
    pub threshold: f64,
}

/// The answer that a label is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelledAnswer<'a> {
    pub sample: &'a str,
    pub model: Option<&'a str>,
    /// The repetition, from 0.
    pub trial: u32,
    /// The digest of what was graded; none where that is not known.
    pub submission: Option<u64>,
}

/// A file of labels, and how its lines are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelFile {
    pub path: String,
    pub layout: LabelsSpec,
    /// The share of labels that is held out, and not shown.
    pub holdout: Option<f64>,
}

impl LabelFile {
    /// The file that is `named`, else the one that the suite at `suite` says, else the one beside it.
    pub(crate) fn of(named: Option<&str>, suite: &str, said: Option<LabelsSpec>) -> Self {
        let said = said.unwrap_or_default();
        let holdout = said.holdout;
        let path = named.map(str::to_owned).or_else(|| said.path.clone());
        let layout = if path.is_some() { said } else { LabelsSpec::default() };
        Self { path: path.unwrap_or_else(|| label_file::beside(suite)), layout, holdout }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RunLabels {
    table: Arc<LabelTable>,
    holdout: Option<f64>,
    /// What is wrong with the file, a sentence each.
    pub problems: Vec<String>,
}

impl RunLabels {
    /// Reads the text of a file for these graders.
    pub(crate) fn read(file: &LabelFile, text: &str, graders: &[LabelledGrader]) -> Self {
        let scales: Vec<(String, Scale)> =
            graders.iter().map(|grader| (grader.name.clone(), grader.scale)).collect();
        let reading = label_file::read(&file.path, text, &scales, &file.layout);
        let problems = reading.problems.iter().map(|problem| problem.message.clone());
        Self { table: reading.table, holdout: file.holdout, problems: problems.collect() }
    }

    /// Reads a file for these graders; nothing where it cannot be read.
    pub(crate) fn read_file(
        file: &LabelFile,
        graders: &[LabelledGrader],
        system: &dyn System,
    ) -> Self {
        let Ok(bytes) = system.read(&file.path).into_bytes() else { return Self::default() };
        Self::read(file, &String::from_utf8_lossy(&bytes), graders)
    }

    /// The label of an answer for a grader, unless it is held out.
    pub(crate) fn label(
        &self,
        answer: &LabelledAnswer<'_>,
        grader: &LabelledGrader,
    ) -> Option<Label> {
        self.said(answer, grader).label
    }

    /// Human labels of an answer for a grader, unless it is held out.
    pub(crate) fn said(&self, answer: &LabelledAnswer<'_>, grader: &LabelledGrader) -> SaidLabels {
        if self.holds_out(answer) {
            return SaidLabels::default();
        }
        let said = self.lines(answer, grader);
        let named = said.iter().filter_map(|line| {
            let label = line.said.on(grader.scale)?;
            Some(ReadLabel { who: line.who.clone(), label, note: line.note.clone() })
        });
        let mut people: Vec<ReadLabel> = named.collect();
        people.sort_by(|one, other| one.who.cmp(&other.who));
        let label = label_of(&said).and_then(|said| said.on(grader.scale));
        SaidLabels { label, people, picked: pick_of(&said) }
    }

    /// The lines of the file for an answer and a grader, one of each person, held-out ones among them.
    pub(crate) fn lines(
        &self,
        answer: &LabelledAnswer<'_>,
        grader: &LabelledGrader,
    ) -> Vec<&LabelLine> {
        let lines = self.table.samples.get(answer.sample).into_iter().flatten();
        opinions(lines.filter(|line| {
            let is_of_submission =
                |now: u64| line.submission.as_ref().is_none_or(|of| digest_number(of) == now);
            line.is_of(answer.model, answer.trial)
                && line.is_for(&grader.name)
                && answer.submission.is_none_or(is_of_submission)
        }))
    }

    /// Sample → all lines of the file, held-out ones among them.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (&str, &[LabelLine])> {
        self.table.samples.iter().map(|(sample, lines)| (sample.as_str(), lines.as_slice()))
    }

    /// Whether the label of an answer is held out. One whose submission nobody knows may be.
    pub(crate) fn holds_out(&self, answer: &LabelledAnswer<'_>) -> bool {
        self.holdout.is_some_and(|share| {
            answer.submission.is_none_or(|of| is_held_out(answer.sample, of, share))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.samples.is_empty()
    }
}
