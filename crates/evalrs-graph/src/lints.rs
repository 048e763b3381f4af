//! Warnings about the target and about rubrics: a query a grader, so that a save looks again at the rubrics that it changed alone.

use super::cases::selection;
use super::graders::{Grader, graders, suite};
use super::inputs::Root;
use super::rows::in_vain;
use super::{Db, shared_conversations};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_eval::evaluate::sought::SoughtName;
use evalrs_eval::lint::rubric_places::RubricPlaces;
use evalrs_eval::lint::{self, RowFacts};
use evalrs_model::spec::{GraderKind, GraderSpec};

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
    let is_rubric = |grader: &&Grader<'_>| matches!(grader.kind(db), GraderKind::Rubric(_));
    let of_rubrics = graders(db, root).iter().filter(is_rubric);
    let of_rubrics = of_rubrics.flat_map(|grader| rubric_lints(db, *grader).iter().cloned());
    let found = shared_conversations::warning(db, root).into_iter().chain(of_rubrics);
    found.filter(|found| !found.lint.is_some_and(is_allowed)).collect()
}
