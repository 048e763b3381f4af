//! `evalrs agree`: how far two graders, models, fields of rows and people agree on the same cases. Evaluates with what is
//! stored, and asks nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Console;
use super::open::loaded_session;
use crate::app::cli::{AgreeArgs, AgreeBy};
use crate::app::error::{Error, ExitStatus};
use crate::base::diagnostic::suggest;
use crate::base::ordered_map::Ordered;
use crate::base::path::Row;
use crate::base::text::sanitize;
use crate::engine::inspect::preview::preview;
use crate::engine::resolve::settings::Settings;
use crate::engine::session::Session;
use crate::graph::inputs::{Chunk, Overrides};
use crate::graph::queries::Grader;
use crate::graph::{labels, queries, results};
use crate::pipeline::metric::sides::{SideAgreement, SidePair, SideValue};
use crate::pipeline::report::agree::{AgreementReport, write};
use crate::pipeline::results::{FORMAT, ResultLine};
use crate::pipeline::spec::{Label, Scale};

/// Compares what two sides say of the cases of a suite.
pub(crate) fn agree(args: &AgreeArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let overrides = Overrides { labels: args.labels.clone(), ..Overrides::default() };
    let (surroundings, mut session) = loaded_session(&args.suite, &args.store, overrides, console)?;
    let store = surroundings.store(console)?;
    let found = preview(&mut session, store.as_ref(), console.system, &Settings::default());
    console.warn(&found.warnings)?;
    drop(store);
    let known = KnownGraders::of(&session);
    let mut sides = [known.side(&args.one)?, known.side(&args.other)?];
    known.align(&session, &mut sides)?;
    let cases = cases(&session, &known, &sides);
    let pairs = |wanted: &dyn Fn(&JoinedCase) -> bool| {
        let wanted = cases.values().filter(|case| wanted(case));
        wanted.map(|case| case.pair.clone()).collect::<Vec<SidePair>>()
    };
    let groups: BTreeSet<&String> = cases.values().flat_map(|case| case.groups(args.by)).collect();
    let group = |name: &String| {
        let own = pairs(&|case| case.groups(args.by).any(|group| group == name));
        (name.clone(), SideAgreement::of(&own))
    };
    let report = AgreementReport {
        format: FORMAT,
        suite: session.suite().map(|suite| suite.name.clone()).unwrap_or_default(),
        one: args.one.clone(),
        other: args.other.clone(),
        all: SideAgreement::of(&pairs(&|_| true)),
        by: args.by.map(|_| Ordered(groups.into_iter().map(group).collect())),
    };
    if report.all.n == 0 {
        let SideAgreement { only_one, only_other, .. } = report.all;
        return Err(Error::plain(
            sanitize(&format!("no case has both `{}` and `{}`", args.one, args.other)),
            format!(
                "{only_one} have only the first, {only_other} only the second; what no judge has answered yet counts as missing"
            ),
        ));
    }
    if args.json {
        console.write_json(&report)?;
    } else {
        write(&report, console.width, console.out)?;
    }
    Ok(ExitStatus::Success)
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
struct Side {
    kind: SideKind,
    /// Only results of this model.
    model: Option<String>,
    /// Whether what it says is made pass and fail.
    as_verdict: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum SideKind {
    /// The scores of a grader, on its own scale.
    Score(usize),
    /// What a grader was given.
    Submission(usize),
    /// What people say for a grader; before it is known which, none.
    Labels(Option<usize>),
    /// A field of the row.
    Field(String),
}

impl SideKind {
    fn grader(&self) -> Option<usize> {
        match self {
            Self::Score(at) | Self::Submission(at) => Some(*at),
            Self::Labels(at) => *at,
            Self::Field(_) => None,
        }
    }
}

/// The graders of the suite, in its order.
struct KnownGraders<'db> {
    graders: Vec<(String, Grader<'db>, Scale, f64)>,
}

impl<'db> KnownGraders<'db> {
    fn of(session: &'db Session) -> Self {
        let db = &session.db;
        let scales = labels::scales(db, session.root);
        let one = |grader: &Grader<'db>| {
            let name = grader.name(db).clone();
            let scale = scales.iter().find(|(other, _)| *other == name);
            let queries::Threshold(threshold) = grader.pass_threshold(db);
            (name, *grader, scale.map_or(Scale::UNIT, |(_, scale)| *scale), threshold)
        };
        Self { graders: queries::graders(db, session.root).iter().map(one).collect() }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.graders.iter().position(|(known, ..)| known == name)
    }

    /// What is meant by `GRADER`, `GRADER:pass`, `GRADER:submission`, `labels`, `labels:GRADER` or `row.FIELD`, each with `@MODEL`
    /// behind it or without.
    fn side(&self, text: &str) -> Result<Side, Error> {
        if let Some(side) = self.side_of(text, None) {
            return Ok(side);
        }
        let with_model = text.rsplit_once('@');
        if let Some(side) = with_model.and_then(|(side, model)| self.side_of(side, Some(model))) {
            return Ok(side);
        }
        let names: Vec<&str> = self.graders.iter().map(|(name, ..)| name.as_str()).collect();
        let near = suggest(text, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Err(Error::plain(
            sanitize(&format!("`{text}` is neither a grader nor `labels` nor `row.FIELD`{near}")),
            sanitize(&format!(
                "the graders are `{}`; behind one may stand `:pass`, `:submission` and `@MODEL`",
                names.join("`, `")
            )),
        ))
    }

    fn side_of(&self, text: &str, model: Option<&str>) -> Option<Side> {
        let side = |kind: SideKind, as_verdict: bool| {
            Some(Side { kind, model: model.map(str::to_owned), as_verdict })
        };
        if let Some(at) = self.place(text) {
            return side(SideKind::Score(at), false);
        }
        if text == "labels" {
            return side(SideKind::Labels(None), false);
        }
        if let Some(field) = text.strip_prefix("row.").filter(|field| !field.is_empty()) {
            return side(SideKind::Field(field.to_owned()), false);
        }
        match text.split_once(':') {
            Some(("labels", grader)) => side(SideKind::Labels(Some(self.place(grader)?)), false),
            _ => match text.rsplit_once(':')? {
                (grader, "pass") => side(SideKind::Score(self.place(grader)?), true),
                (grader, "submission") => side(SideKind::Submission(self.place(grader)?), false),
                _ => None,
            },
        }
    }

    /// Finds whose labels are meant, and makes both sides verdicts where one of them says no more than pass and fail.
    fn align(&self, session: &Session, sides: &mut [Side; 2]) -> Result<(), Error> {
        for at in 0..2 {
            if sides[at].kind == SideKind::Labels(None) {
                let of_other = sides[1 - at].kind.grader();
                let grader = of_other.or_else(|| {
                    (0..self.graders.len()).find(|grader| self.labels(session, *grader).is_some())
                });
                sides[at].kind = SideKind::Labels(grader);
            }
            if let SideKind::Labels(Some(grader)) = sides[at].kind {
                match self.labels(session, grader) {
                    None => return Err(self.without_labels(grader)),
                    Some(LabelKind::Verdicts) => sides[at].as_verdict = true,
                    Some(LabelKind::Scores) => {}
                }
            }
        }
        let as_verdicts = sides.iter().any(|side| side.as_verdict);
        for side in sides.iter_mut() {
            side.as_verdict = as_verdicts;
        }
        Ok(())
    }

    fn without_labels(&self, grader: usize) -> Error {
        let name = self.graders.get(grader).map_or("", |(name, ..)| name);
        Error::plain(
            sanitize(&format!("there are no labels for `{name}`")),
            "`--labels FILE` names a file of labels; rows have them as `label`",
        )
    }

    /// Which kind of labels a grader has, if it has any.
    fn labels(&self, session: &Session, grader: usize) -> Option<LabelKind> {
        let db = &session.db;
        let (_, grader, ..) = self.graders.get(grader)?;
        let mut kind = None;
        for (_, _, chunk, case) in results::cases(db, session.root) {
            match results::label_of(db, chunk, case, *grader) {
                Some(Label::Pass(_)) => return Some(LabelKind::Verdicts),
                Some(Label::Score(_)) => kind = Some(LabelKind::Scores),
                None => {}
            }
        }
        kind
    }
}

enum LabelKind {
    Verdicts,
    Scores,
}

/// A case, or that of two models.
struct JoinedCase {
    pair: SidePair,
    model: Option<String>,
    tags: Vec<String>,
}

impl JoinedCase {
    /// The models or tags it belongs to.
    fn groups(&self, by: Option<AgreeBy>) -> impl Iterator<Item = &String> {
        let [model, tags]: [&[String]; 2] = match by {
            Some(AgreeBy::Model) => [self.model.as_slice(), &[]],
            Some(AgreeBy::Tag) => [&[], &self.tags],
            None => [&[], &[]],
        };
        model.iter().chain(tags)
    }
}

/// The sample, its model where models are not joined, and the trial.
type JoinedName = (String, Option<String>, u32);

/// What both sides say of each case, by its name.
fn cases(
    session: &Session,
    known: &KnownGraders<'_>,
    sides: &[Side; 2],
) -> BTreeMap<JoinedName, JoinedCase> {
    let db = &session.db;
    // A side without a model is that of the other's.
    let models = match [&sides[0].model, &sides[1].model] {
        [Some(one), Some(other)] => [Some(one), Some(other)],
        [one, other] => [one.as_ref().or(other.as_ref()); 2],
    };
    let are_joined = models[0] != models[1];
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut joined: BTreeMap<JoinedName, JoinedCase> = BTreeMap::new();
    for (sample, identity, chunk, case) in results::cases(db, session.root) {
        let is_of =
            |at: usize| models[at].is_none_or(|model| Some(model) == identity.model.as_ref());
        if !is_of(0) && !is_of(1) {
            continue;
        }
        let Some(line) = results::line(db, chunk, case) else { continue };
        let next = numbers.len() as u32;
        let number = *numbers.entry(sample.clone()).or_insert(next);
        let model = identity.model.clone().filter(|_| !are_joined);
        let entry = joined.entry((sample, model.clone(), identity.trial)).or_insert(JoinedCase {
            pair: SidePair { sample: number, one: None, other: None },
            model,
            tags: identity.tags.clone(),
        });
        let value = |at: usize| value(session, known, &sides[at], &line, (chunk, case).into());
        if is_of(0) {
            entry.pair.one = value(0);
        }
        if is_of(1) {
            entry.pair.other = value(1);
        }
    }
    joined
}

/// Where a case is planned.
#[derive(Clone, Copy)]
struct AgreeingCase {
    chunk: Chunk,
    case: usize,
}

impl From<(Chunk, usize)> for AgreeingCase {
    fn from(place: (Chunk, usize)) -> Self {
        Self { chunk: place.0, case: place.1 }
    }
}

/// What a side says of a case; none where a grade could not be made, or where nothing is said.
fn value(
    session: &Session,
    known: &KnownGraders<'_>,
    side: &Side,
    line: &ResultLine,
    place: AgreeingCase,
) -> Option<SideValue> {
    let of_grader = |at: usize| known.graders.get(at);
    match &side.kind {
        SideKind::Score(at) => {
            let (name, _, scale, _) = of_grader(*at)?;
            let grade = line.grades.get(name).filter(|grade| grade.error.is_none())?;
            Some(if side.as_verdict {
                verdict(grade.pass)
            } else {
                number(native(grade.score, *scale))
            })
        }
        SideKind::Submission(at) => {
            let text = line.submissions.get(&of_grader(*at)?.0)?.trim();
            (!text.is_empty()).then(|| word(text, side.as_verdict))
        }
        SideKind::Labels(at) => {
            let (_, grader, scale, threshold) = of_grader((*at)?)?;
            let label = results::label_of(&session.db, place.chunk, place.case, *grader)?;
            Some(match label {
                Label::Score(score) if !side.as_verdict => number(native(score, *scale)),
                label => verdict(label.passes(*threshold)),
            })
        }
        SideKind::Field(path) => {
            let record = queries::record_of(&session.db, place.chunk, place.case)?;
            match Row::new(record.row).get(path)? {
                Value::Null => None,
                Value::String(text) if text.trim().is_empty() => None,
                Value::String(text) => Some(word(text.trim(), side.as_verdict)),
                other => Some(word(&other.to_string(), side.as_verdict)),
            }
        }
    }
}

/// A score on the grader's own scale, without what rounding left of it.
fn native(score: f64, scale: Scale) -> f64 {
    const DIGITS: f64 = 1e9;
    let native = scale.min + score * (scale.max - scale.min);
    (native * DIGITS).round() / DIGITS
}

fn number(value: f64) -> SideValue {
    SideValue { class: format!("{}", value + 0.0), number: Some(value) }
}

fn verdict(pass: bool) -> SideValue {
    let class = if pass { "pass" } else { "fail" };
    SideValue { class: class.to_owned(), number: Some(f64::from(u8::from(pass))) }
}

/// What a text says: a number, a class, or where verdicts are compared and it is one, a verdict.
fn word(text: &str, as_verdict: bool) -> SideValue {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "pass" | "passed" | "true" | "yes" | "1" | "1.0" if as_verdict => return verdict(true),
        "fail" | "failed" | "false" | "no" | "0" | "0.0" if as_verdict => return verdict(false),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => number(value),
        _ => SideValue { class: text.to_owned(), number: None },
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, native, word};

    #[test]
    fn scores_come_back_to_their_scale() {
        let stars = Scale { min: 1.0, max: 5.0 };
        let unit = |score: f64| (score - 1.0) / 4.0;
        for score in [1.0, 2.0, 3.0, 3.3, 5.0] {
            assert_eq!(native(unit(score), stars).to_string(), score.to_string());
        }
    }

    #[test]
    fn words_are_numbers_classes_and_verdicts() {
        for (text, as_verdict, class, number) in [
            ("3", false, "3", Some(3.0)),
            ("3.0", false, "3", Some(3.0)),
            ("-0", false, "0", Some(0.0)),
            ("yes", false, "yes", None),
            ("Yes", true, "pass", Some(1.0)),
            ("0", true, "fail", Some(0.0)),
            ("nan", false, "nan", None),
            ("tie", true, "tie", None),
        ] {
            let found = word(text, as_verdict);
            assert_eq!((found.class.as_str(), found.number), (class, number), "{text}");
        }
    }
}
