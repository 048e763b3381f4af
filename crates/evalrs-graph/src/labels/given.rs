//! Labels that people gave: from rows, and from a file that comes before them.
//!
//! What a chunk's rows and the file say of its cases is read once for all graders; the scale of a grader comes last. No
//! plan reads any of this, so that an edited label moves agreement and nothing else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Db;
use crate::cases::{checked, placed, placed_at, places};
use crate::graders::{Grader, row_spec, suite};
use crate::inputs::{Chunk, File, Root};
use crate::known_rows::{check_scope, rows, scope_of};
use crate::queries::{Threshold, graded_texts};
use crate::selection::named;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_text::FileText;
use evalrs_eval::dataset::fields::{RowProblem, RowSpec};
use evalrs_eval::dataset::label_file::{self, LabelLine, LabelReading, LabelTable};
use evalrs_eval::dataset::label_value::LabelValue;
use evalrs_eval::dataset::labels as said;
use evalrs_eval::dataset::labels::LabelExtents;
use evalrs_eval::dataset::people::{label_of, opinions, pick_of};
use evalrs_eval::votes::answer_digest;
use evalrs_metrics::metric::annotators::DisputedCase;
use evalrs_metrics::metric::holdout;
use evalrs_model::spec::{GraderKind, Label, LabelPick, LabelsSpec, Scale};

/// The scale of every grader of the suite, also of those that the command line leaves out.
#[salsa::tracked]
pub fn scales(db: &dyn Db, root: Root) -> Vec<(String, Scale)> {
    let graders = suite(db, root).suite.iter().flat_map(|suite| &suite.graders);
    graders.map(|grader| (grader.name.clone(), scale_of(&grader.kind))).collect()
}

fn scale_of(kind: &GraderKind) -> Scale {
    match kind {
        GraderKind::Rubric(rubric) if rubric.compare_to.is_none() => rubric.scale,
        GraderKind::Tool(tool) => evalrs_eval::grade::recorded_scale(tool),
        GraderKind::Rubric(_) | GraderKind::Program(_) | GraderKind::Reward(_) => None,
    }
    .unwrap_or(Scale::UNIT)
}

#[salsa::tracked]
fn labels_section(db: &dyn Db, root: Root) -> Option<LabelsSpec> {
    suite(db, root).suite.as_ref()?.labels.clone()
}

/// The file of labels that the command line or the suite names.
fn named_file(db: &dyn Db, root: Root) -> Option<&str> {
    let said = root.overrides(db).labels.as_ref();
    said.or_else(|| labels_section(db, root).as_ref()?.path.as_ref()).map(String::as_str)
}

/// The file of labels: the one that is named, else the one beside the suite that has its name.
pub fn file(db: &dyn Db, root: Root) -> File {
    let beside = || label_file::beside(root.suite(db).path(db));
    db.file(&named_file(db, root).map_or_else(beside, str::to_owned))
}

/// How lines of the file of labels are written: as the suite says of the file that it names, else as evalrs writes them.
pub fn file_layout(db: &dyn Db, root: Root) -> LabelsSpec {
    let named = labels_section(db, root).as_ref().filter(|_| named_file(db, root).is_some());
    named.cloned().unwrap_or_default()
}

/// What the suite says of labels that stand in rows.
fn section_of_rows(db: &dyn Db, root: Root) -> Option<&LabelsSpec> {
    labels_section(db, root).as_ref().filter(|section| section.is_of_rows())
}

/// Whether what rows have as `label` must be labels: the suite says so.
pub fn are_rows_labelled(db: &dyn Db, root: Root) -> bool {
    let is_mapped = row_spec(db, root).as_ref().is_some_and(said::is_mapped);
    is_mapped || section_of_rows(db, root).is_some()
}

/// The file of labels and everything that is wrong with it; nothing if there is none.
#[salsa::tracked]
pub fn label_reading(db: &dyn Db, root: Root) -> LabelReading {
    let file = file(db, root);
    let path = file.path(db);
    let is_named = named_file(db, root).is_some();
    let layout = &file_layout(db, root);
    let wrong = |problem| LabelReading { problems: vec![problem], ..LabelReading::default() };
    let unreadable = |why: &str| {
        let message = format!("cannot read the labels `{path}`: {why}");
        let is_flag = root.overrides(db).labels.is_some();
        let name = if is_flag { "`--labels` names" } else { "`labels` of the suite names" };
        let hint = format!("{name} a file of labels: JSON Lines, a JSON array or CSV");
        let said = suite(db, root).labels_place.clone().filter(|_| !is_flag && is_named);
        let place = said.unwrap_or_else(|| Place::file(path));
        wrong(Diagnostic::error(place, message).hint(hint))
    };
    match file.text(db) {
        FileText::Text(text) => label_file::read(path, text, scales(db, root), layout),
        FileText::Unread => LabelReading::default(),
        FileText::Missing if !is_named => LabelReading::default(),
        FileText::Missing => unreadable("no such file"),
        FileText::Unreadable(reason) => unreadable(reason),
        FileText::NoText(problem) => wrong((**problem).clone()),
    }
}

/// What the file says, without where: lines that move change nothing.
#[salsa::tracked]
fn table(db: &dyn Db, root: Root) -> Arc<LabelTable> {
    Arc::clone(&label_reading(db, root).table)
}

/// What the records of a chunk say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowLabels {
    /// One for each record; empty if none has any.
    pub said: Box<[Option<LabelValue>]>,
    /// What they have in common.
    pub extents: LabelExtents,
}

/// What the rows of a chunk have for a label.
#[salsa::tracked]
pub fn row_labels(db: &dyn Db, chunk: Chunk) -> RowLabels {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root).as_ref().filter(|spec| said::may_have_labels(spec)) else {
        return RowLabels::default();
    };
    if are_unlabelled(db, chunk) {
        return RowLabels::default();
    }
    let section = section_of_rows(db, root);
    let mut extents = LabelExtents::default();
    let mut all = Vec::new();
    let checked = checked(db, chunk);
    for (at, (row, _)) in chunk.records(db).iter().enumerate() {
        if checked.is_left_out(at, spec) {
            continue;
        }
        if let Some(found) = said::of_row(row, spec, section) {
            extents.add(None, &found, scales(db, root));
            all.resize(at, None);
            all.push(Some(found));
        }
    }
    RowLabels { said: all.into(), extents }
}

/// The scope of what rows have for a label.
#[salsa::tracked(returns(copy))]
pub(crate) fn label_scope(db: &dyn Db, root: Root) -> Option<u128> {
    Some(scope_of(&[&check_scope(db, root)?, &section_of_rows(db, root)]))
}

/// Whether no row of a chunk has a label, as an earlier process found.
fn are_unlabelled(db: &dyn Db, chunk: Chunk) -> bool {
    let unlabelled = rows(db, chunk).and_then(|known| known.unlabelled);
    unlabelled.is_some() && unlabelled == label_scope(db, chunk.root(db))
}

/// What is wrong with the labels of a chunk's rows, where the suite says which field they are: record, problem.
#[salsa::tracked]
pub fn label_problems(db: &dyn Db, chunk: Chunk) -> Vec<(usize, RowProblem)> {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root).as_ref().filter(|_| are_rows_labelled(db, root)) else {
        return Vec::new();
    };
    let section = section_of_rows(db, root);
    let checked = checked(db, chunk);
    let rows = chunk.records(db).iter().enumerate();
    let rows = rows.filter(|(at, _)| !checked.is_left_out(*at, spec));
    let problems = rows.filter_map(|(at, (row, _))| {
        Some((at, said::problem_of_row(row, spec, section, scales(db, root))?))
    });
    problems.collect()
}

/// What the labels of all rows have in common.
#[salsa::tracked]
pub fn row_extents(db: &dyn Db, root: Root) -> LabelExtents {
    let mut all = LabelExtents::default();
    for chunk in root.chunks(db) {
        all.merge(&row_labels(db, *chunk).extents);
    }
    all
}

/// Which labels a grader is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Readable {
    rows: bool,
    file: bool,
    scale: Scale,
}

#[salsa::tracked(returns(copy))]
fn readable<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Readable {
    let root = grader.root(db);
    let name = grader.name(db);
    let kind = grader.kind(db);
    let scale = scale_of(kind);
    let is_mapped = are_rows_labelled(db, root);
    Readable {
        // A grader that takes the label over would be compared with itself.
        rows: row_extents(db, root).read_for(name, scale) && (is_mapped || !takes_label(kind)),
        file: table(db, root).extents.read_for(name, scale),
        scale,
    }
}

/// Whether there are labels that a grader is compared with.
pub fn has_labels<'db>(db: &'db dyn Db, grader: Grader<'db>) -> bool {
    let Readable { rows, file, .. } = readable(db, grader);
    rows || file
}

/// Whether a grader takes over what rows have as `label`.
pub fn takes_label(kind: &GraderKind) -> bool {
    let GraderKind::Tool(tool) = kind else { return false };
    tool.function == "recorded_score" && tool.config.get("path").is_some_and(|path| path == "label")
}

/// What the file says of the cases of a chunk, for each what says more first; empty if it says nothing.
#[salsa::tracked]
fn file_labels(db: &dyn Db, chunk: Chunk) -> Box<[Box<[LabelLine]>]> {
    let table = table(db, chunk.root(db));
    let mut all = Vec::new();
    for (at, (who, place)) in placed(db, chunk).enumerate() {
        let Some(lines) = table.samples.get(&*sample_id(who.id(), place.occurrence)) else {
            continue;
        };
        let identity = &who.identity;
        let own = lines.iter().filter(|line| line.is_of(identity.model.as_deref(), identity.trial));
        all.resize(at, Box::default());
        all.push(own.cloned().collect());
    }
    all.into()
}

/// What each person says of a case for a grader; nothing where the file has nothing of it, or that is of another submission.
pub(crate) fn case_opinions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> Vec<&'db LabelLine> {
    let lines: &[_] = if readable(db, grader).file { file_labels(db, chunk) } else { &[] };
    let own = lines.get(case).into_iter().flatten().filter(|line| line.is_for(grader.name(db)));
    opinions(own.filter(|line| !is_stale(db, chunk, grader, case, line)))
}

/// What each person says of the cases of a chunk on the scale of a grader, by their names; nothing of cases where nobody says
/// who they are. It is empty where there is no such case.
#[salsa::tracked]
pub fn people<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Box<[CasePeople]> {
    let Readable { file, scale, .. } = readable(db, grader);
    let lines: &[_] = if file { file_labels(db, chunk) } else { &[] };
    let shown = lines.iter().enumerate().map(|(case, lines)| -> CasePeople {
        // Most files name nobody, and then nobody's answer has to be looked at.
        let is_named = lines.iter().any(|line| line.who.is_some());
        if !is_named || is_held_out(db, chunk, grader, case) {
            return Box::default();
        }
        let said = case_opinions(db, chunk, grader, case);
        if said.iter().all(|one| one.who.is_none()) {
            return Box::default();
        }
        let labels = said.iter().filter_map(|one| Some((one.who.clone(), one.said.on(scale)?)));
        let mut labels: Vec<(Option<Box<str>>, Label)> = labels.collect();
        labels.sort_by(|(one, _), (other, _)| one.cmp(other));
        labels.into()
    });
    let all: Vec<CasePeople> = shown.collect();
    if all.iter().all(|said| said.is_empty()) { Box::default() } else { all.into() }
}

/// Human labels of a case, each with their name where that is known.
pub(crate) type CasePeople = Box<[(Option<Box<str>>, Label)]>;

fn sample_id(id: &str, occurrence: u32) -> Cow<'_, str> {
    if occurrence > 1 { named(id, occurrence).into() } else { id.into() }
}

/// The labels of a chunk's cases that are shown and counted: all but those that are held out. As [`found_labels`].
#[salsa::tracked]
pub fn labels<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Box<[Option<Label>]> {
    let found = found_labels(db, chunk, grader).iter().enumerate();
    let shown = found.map(|(case, label)| label.filter(|_| !is_held_out(db, chunk, grader, case)));
    let shown: Vec<Option<Label>> = shown.collect();
    if shown.iter().all(Option::is_none) { Box::default() } else { shown.into() }
}

/// The labels of a chunk's cases that are held out, with their cases in order.
#[salsa::tracked]
pub fn held_out_labels<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Box<[(usize, Label)]> {
    let found = found_labels(db, chunk, grader).iter().enumerate();
    let labels = found.filter_map(|(case, label)| Some((case, (*label)?)));
    labels.filter(|(case, _)| is_held_out(db, chunk, grader, *case)).collect()
}

/// The share of labels that the suite holds out.
#[salsa::tracked(returns(copy))]
pub fn held_out_share(db: &dyn Db, root: Root) -> Option<Threshold> {
    labels_section(db, root).as_ref()?.holdout.map(Threshold)
}

/// Whether the label of a case is held out, if it has one or gets one.
pub(crate) fn is_held_out<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> bool {
    let Some(Threshold(share)) = held_out_share(db, chunk.root(db)) else { return false };
    placed_at(db, chunk, case).is_some_and(|(who, place)| {
        let submission = submission_digest(db, chunk, grader, case).unwrap_or_default();
        holdout::is_held_out(&sample_id(who.id(), place.occurrence), submission, share)
    })
}

/// Identifies the submission that a grader gets of a case.
pub(crate) fn submission_digest<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> Option<u64> {
    let submissions = graded_texts(db, chunk, grader);
    let submission = submissions.get(case)?;
    Some(label_file::digest_number(&answer_digest(&submission.shown())))
}

/// The labels of a chunk's cases on the scale of a grader, 0.0..=1.0. What is missing at the end are cases without a
/// label: it is empty where none has one.
#[salsa::tracked]
pub fn found_labels<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Box<[Option<Label>]> {
    let root = chunk.root(db);
    let Readable { rows, file, scale } = readable(db, grader);
    let name = grader.name(db);
    let by_row: &[Option<LabelValue>] = if rows { &row_labels(db, chunk).said } else { &[] };
    let of_file = if file { file_labels(db, chunk).len() } else { 0 };
    let per_record = row_spec(db, root).as_ref().map_or(1, RowSpec::cases);
    let of_row = |case: usize| {
        let said = by_row.get(case / per_record)?.as_ref()?;
        said.of_case(name, case % per_record)?.on(scale)
    };
    // Where people say something in the file it comes before the row, also where they do not agree.
    let of_case = |case: usize| {
        let said = if case < of_file { case_opinions(db, chunk, grader, case) } else { Vec::new() };
        if said.is_empty() { of_row(case) } else { label_of(&said)?.on(scale) }
    };
    let cases = of_file.max(by_row.len() * per_record);
    let found: Vec<Option<Label>> = (0..cases).map(of_case).collect();
    if found.iter().all(Option::is_none) { Box::default() } else { found.into() }
}

/// How the cases of a chunk came to be labelled for a grader, where their labels say it; empty if none does.
#[salsa::tracked]
pub fn label_picks<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Box<[Option<LabelPick>]> {
    let cases = if readable(db, grader).file { file_labels(db, chunk).len() } else { 0 };
    let picks = (0..cases).map(|case| pick_of(&case_opinions(db, chunk, grader, case)));
    let picks: Vec<_> = picks.collect();
    if picks.iter().all(Option::is_none) { Box::default() } else { picks.into() }
}

/// Whether a label is of another submission than the one that the grader is given now.
fn is_stale<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
    line: &LabelLine,
) -> bool {
    line.submission.as_ref().is_some_and(|digest| {
        let submissions = graded_texts(db, chunk, grader);
        submissions.get(case).is_none_or(|now| answer_digest(&now.shown()) != *digest)
    })
}

/// The cases of a chunk whose label for a grader is of another submission than the one there is now, in their order. Such a
/// label counts for nothing.
#[salsa::tracked]
pub fn stale_labels<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Box<[usize]> {
    if !readable(db, grader).file {
        return Box::default();
    }
    let labels = found_labels(db, chunk, grader);
    let cases = file_labels(db, chunk).iter().enumerate();
    let stale = cases.filter(|(case, lines)| {
        lines.iter().any(|line| line.is_for(grader.name(db)))
            && labels.get(*case).is_none_or(Option::is_none)
            && case_opinions(db, chunk, grader, *case).is_empty()
    });
    stale.map(|(case, _)| case).collect()
}

/// Lines of the file that are of no case, evaluated or not: how many, and some of their samples.
#[salsa::tracked]
pub fn unused_lines(db: &dyn Db, root: Root) -> (usize, Vec<String>) {
    const SOME: usize = 4;
    let samples = table(db, root).samples.iter();
    let mut left: BTreeMap<&str, Vec<&LabelLine>> =
        samples.map(|(id, lines)| (id.as_str(), lines.iter().collect())).collect();
    for chunk in root.chunks(db) {
        if left.is_empty() {
            break;
        }
        for (who, place) in placed(db, *chunk) {
            let id = sample_id(who.id(), place.occurrence);
            let Some(lines) = left.get_mut(&*id) else { continue };
            lines.retain(|line| !line.is_of(who.identity.model.as_deref(), who.identity.trial));
            if lines.is_empty() {
                left.remove(&*id);
            }
        }
    }
    let some = left.keys().take(SOME).map(|id| (*id).to_owned()).collect();
    (left.values().map(Vec::len).sum(), some)
}

/// What people differ on of a case; none where they do not.
pub fn disputed_case<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> Option<DisputedCase> {
    let said = people(db, chunk, grader).get(case)?;
    let Threshold(threshold) = grader.pass_threshold(db);
    let named_labels = said.iter().map(|(who, label)| (who.as_deref(), *label));
    let found = DisputedCase::of(named_labels, threshold)?;
    let (who, place) = placed_at(db, chunk, case)?;
    Some(DisputedCase {
        sample_id: named(who.id(), place.occurrence),
        model: who.identity.model.clone(),
        trial: who.identity.trial,
        ..found
    })
}

/// The selected cases on which people differ for a grader, in dataset order.
#[salsa::tracked]
pub fn disputed_cases<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Box<[DisputedCase]> {
    let mut found = Vec::new();
    for chunk in grader.root(db).chunks(db) {
        for case in 0..people(db, *chunk, grader).len() {
            let is_in = places(db, *chunk).get(case).is_some_and(|place| place.is_in());
            found.extend(is_in.then(|| disputed_case(db, *chunk, grader, case)).flatten());
        }
    }
    found.into()
}
