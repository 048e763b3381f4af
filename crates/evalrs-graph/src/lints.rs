//! Warnings about the target and about rubrics: a query a grader, so that a save looks again at the rubrics that it changed alone.

use std::collections::HashMap;

use super::Db;
use super::cases::{checked, mask, record_of, selection};
use super::graders::{Grader, graders, row_spec, suite};
use super::inputs::{Chunk, Root};
use super::rows::in_vain;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_eval::evaluate::conversation;
use evalrs_eval::evaluate::sought::SoughtName;
use evalrs_eval::lint::rubric_places::RubricPlaces;
use evalrs_eval::lint::{self, RowFacts};
use evalrs_eval::target::handed::{HandedInput, IdUse, KnownOfSample};
use evalrs_model::spec::{GraderKind, GraderSpec, Lint, rubric_of};

/// A grader with a rubric, and where that is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenRubric {
    grader: GraderSpec,
    places: RubricPlaces,
}

#[salsa::tracked]
fn written_rubric<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<WrittenRubric> {
    let reading = suite(db, grader.root(db));
    let name = grader.name(db);
    let spec = reading.suite.as_ref()?.graders.iter().find(|spec| spec.name == *name)?;
    let (_, places) = reading.rubric_places.iter().find(|(of, _)| of == name)?;
    Some(WrittenRubric { grader: spec.clone(), places: places.clone() })
}

/// The models whose answers are judged.
#[salsa::tracked]
fn judged_models(db: &dyn Db, root: Root) -> Vec<String> {
    selection(db, root).models.iter().flatten().cloned().collect()
}

/// What of the rows the warnings about a rubric depend on.
#[salsa::tracked]
fn row_facts<'db>(db: &'db dyn Db, grader: Grader<'db>) -> RowFacts {
    let Some(written) = written_rubric(db, grader) else { return RowFacts::default() };
    let root = grader.root(db);
    let in_vain = in_vain(db, root);
    let mut facts = RowFacts { models: judged_models(db, root).clone(), ..RowFacts::default() };
    let sought = SoughtName::by_grader(&written.grader);
    let reference = SoughtName::truth(&written.grader);
    for sought in &sought {
        let is_in_vain = in_vain.contains(sought);
        match sought {
            SoughtName::Name(name) if is_in_vain => facts.missing.push(name.clone()),
            found if *found == reference => facts.has_reference = !is_in_vain,
            SoughtName::Path(name) if !is_in_vain => facts.row_fields.push(name.clone()),
            _ => {}
        }
    }
    facts
}

#[salsa::tracked]
fn rubric_lints<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Vec<Diagnostic> {
    let Some(written) = written_rubric(db, grader) else { return Vec::new() };
    lint::rubric_lints(&written.grader, &written.places, row_facts(db, grader))
}

/// What is probably not meant in the target and in rubrics, in the order of the graders, but for what the suite allows.
pub fn all(db: &dyn Db, root: Root) -> Vec<Diagnostic> {
    let Some(spec) = &suite(db, root).suite else { return Vec::new() };
    let is_allowed = |name| spec.allow.iter().any(|lint| lint.name() == name);
    let graders = graders(db, root).iter();
    let mut shown = Vec::new();
    let of_rubrics = graders
        .filter(|grader| matches!(grader.kind(db), GraderKind::Rubric(_)))
        .flat_map(|grader| rubric_lints(db, *grader).iter().map(|found| (*grader, found)))
        .filter(|(grader, found)| {
            // What the criteria of a rubric share is one text and one judge, and so one warning.
            let rubric = rubric_of(grader.name(db)).map(|(rubric, _)| rubric);
            let is_shown = rubric.is_some() && shown.contains(&(rubric, &found.lint, &found.place));
            shown.push((rubric, &found.lint, &found.place));
            !is_shown
        })
        .map(|(_, found)| found.clone());
    let found = shared_conversation_warning(db, root).into_iter().chain(of_rubrics);
    found.filter(|found| !found.lint.is_some_and(is_allowed)).collect()
}

/// Samples that share a conversation although the target gets their ids, and the suite does not declare that answers depend
/// on them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SharedConversations {
    /// The ids of the first two that share one.
    ids: [String; 2],
    /// How many others share one with a sample before them.
    others: usize,
}

/// What the target gets of a sample, if it gets ids and the suite does not declare that answers depend on them.
#[salsa::tracked]
fn handed_with_ids(db: &dyn Db, root: Root) -> Option<HandedInput> {
    // Of recorded results nobody is told anything.
    row_spec(db, root).as_ref()?.live.as_ref()?;
    let known = KnownOfSample::of(suite(db, root).suite.as_ref()?.target.live()?);
    (known.id == IdUse::Told).then_some(known.handed)
}

/// For each of a chunk's records, the digest of what the target gets of it. None of one that is not evaluated or that has
/// no id of its own.
#[salsa::tracked]
fn handed_digests(db: &dyn Db, chunk: Chunk) -> Box<[Option<u128>]> {
    let root = chunk.root(db);
    let (Some(spec), Some(wanted)) = (row_spec(db, root), handed_with_ids(db, root)) else {
        return Box::default();
    };
    let digests = (0..chunk.records(db).len()).map(|record| {
        let case = record * spec.cases();
        checked(db, chunk).whos.get(case)?.identity.id.as_ref()?;
        mask(db, chunk).get(case).filter(|is_in| **is_in)?;
        let handed = conversation::handed(record_of(db, chunk, case)?, spec, wanted).ok()?;
        Some(xxhash_rust::xxh3::xxh3_128(handed.as_bytes()))
    });
    digests.collect()
}

#[salsa::tracked]
fn shared_conversations(db: &dyn Db, root: Root) -> Option<SharedConversations> {
    handed_with_ids(db, root).as_ref()?;
    let per_record = row_spec(db, root).as_ref()?.cases();
    let id = |chunk: Chunk, record: usize| {
        let who = checked(db, chunk).whos.get(record * per_record);
        who.map(|who| who.id().to_owned()).unwrap_or_default()
    };
    let mut first_of: HashMap<u128, (Chunk, usize)> = HashMap::new();
    let mut shared: Option<SharedConversations> = None;
    for chunk in root.chunks(db) {
        for (record, digest) in handed_digests(db, *chunk).iter().enumerate() {
            let Some(digest) = digest else { continue };
            let first = *first_of.entry(*digest).or_insert((*chunk, record));
            if first == (*chunk, record) {
                continue;
            }
            match &mut shared {
                Some(shared) => shared.others += 1,
                None => {
                    let ids = [id(first.0, first.1), id(*chunk, record)];
                    shared = Some(SharedConversations { ids, others: 0 });
                }
            }
        }
    }
    shared
}

/// Warns of it, once.
/// Warns of conversations that samples share, once.
fn shared_conversation_warning(db: &dyn Db, root: Root) -> Option<Diagnostic> {
    let SharedConversations { ids: [first, second], others } =
        shared_conversations(db, root).as_ref()?;
    let more = match others {
        0 => String::new(),
        1 => ", and 1 other shares one too".to_owned(),
        others => format!(", and {others} others share one too"),
    };
    let message = format!(
        "the samples `{}` and `{}` share a conversation{more}: they differ only by id, which the target receives but no key contains",
        clipped(first),
        clipped(second),
    );
    let reading = suite(db, root);
    let program = &reading.suite.as_ref()?.target.live()?.program;
    let place = reading.program_places.iter().find(|(spec, _)| spec == program);
    let place = place.map_or_else(
        || Place::file(root.suite(db).path(db).as_str()),
        |(_, places)| places.file.clone(),
    );
    let warning = Diagnostic::warning(place, message).lint(Lint::SharedConversation.name());
    Some(warning.hint(
        "set `sees: [id]` in `target` if its answers depend on the id; if not, `allow: [shared-conversation]`",
    ))
}
