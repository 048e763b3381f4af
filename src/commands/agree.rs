//! `evalrs agree`: how far two graders, models, fields of rows and people agree on the same cases. Evaluates with what is
//! stored, and asks nothing.

use std::collections::BTreeMap;

use crate::cli::AgreeArgs;
use evalrs_base::diagnostic::suggest;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::sanitize;
use evalrs_engine::inspect::preview::preview;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::session::Session;
use evalrs_graph::declared::metric_table;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::labels::disputed_cases;
use evalrs_graph::labels::has_labels;
use evalrs_metrics::metric::annotators::DisputedCase;
use evalrs_metrics::metric::declared::{GroupName, MetricTable, Reading};
use evalrs_metrics::metric::sides::{SideAgreement, side_pairs};
use evalrs_model::record_format::FORMAT;
use evalrs_model::spec::{
    AgreementMeasure, Dimension, MetricKind, MetricSpec, Series, SeriesMistake, SeriesSource,
};
use evalrs_report::agree::{AgreementReport, page};
use evalrs_report::human::disputed_line;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::loaded_session;

pub(crate) fn agree(args: &AgreeArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let overrides = Overrides { labels: args.labels.clone(), ..Overrides::default() };
    let (surroundings, mut session) = loaded_session(&args.suite, &args.store, overrides, console)?;
    let store = surroundings.store(console)?;
    let found = preview(&mut session, store.as_ref(), console.system, &Settings::default());
    console.warn(&found.warnings)?;
    drop(store);
    let spec = SideReader::of(&session).compared(args)?;
    let table = metric_table(&session.db, session.root, &spec);
    let disputed = disputed(&session, &spec);
    refuse_without_labels(&spec, &table, &disputed)?;
    let report = AgreementReport { disputed, ..report(args, &session, &spec, &table) };
    if report.all.n == 0 {
        let SideAgreement { only_one, only_other, .. } = report.all;
        return Err(Error::plain(
            sanitize(&format!("no case has both `{}` and `{}`", args.one, args.other)),
            format!(
                "{only_one} have only the first, {only_other} only the second; a missing judgment counts as missing"
            ),
        ));
    }
    if let (Some(dimension), Some(OrderedMap(groups))) = (&args.by, &report.by)
        && groups.is_empty()
    {
        return Err(Error::plain(
            sanitize(&format!("no case has `{dimension}`")),
            "`--by` takes `model`, `tags` or `row.FIELD`",
        ));
    }
    if args.json {
        console.write_json(&report)?;
    } else {
        console.show(&page(&report))?;
    }
    Ok(ExitStatus::Success)
}

fn report(
    args: &AgreeArgs,
    session: &Session,
    spec: &MetricSpec,
    table: &MetricTable,
) -> AgreementReport {
    let mut places: BTreeMap<&GroupName, Vec<usize>> = BTreeMap::new();
    for (at, place) in table.places.iter().enumerate() {
        for group in place.groups.iter().flatten() {
            places.entry(group).or_default().push(at);
        }
    }
    let groups = places.into_iter().filter_map(|(group, places)| {
        let agreement = SideAgreement::of(&side_pairs(spec, table, places));
        let is_said = agreement.n + agreement.only_one + agreement.only_other > 0;
        is_said.then(|| (group.name.clone(), agreement))
    });
    let groups = groups.collect();
    AgreementReport {
        format: FORMAT,
        suite: session.suite().map(|suite| suite.name.clone()).unwrap_or_default(),
        one: args.one.clone(),
        other: args.other.clone(),
        all: SideAgreement::of(&side_pairs(spec, table, 0..table.places.len())),
        by: args.by.as_ref().map(|_| OrderedMap(groups)),
        disputed: Vec::new(),
    }
}

/// The cases on which people differ whose labels are a side.
fn disputed(session: &Session, spec: &MetricSpec) -> Vec<DisputedCase> {
    let db = &session.db;
    let graders = session.graders().iter().filter(|grader| {
        let own = SeriesSource::Labels(grader.name(db).clone());
        spec.series().any(|side| side.source == own)
    });
    graders.flat_map(|grader| disputed_cases(db, *grader).iter().cloned()).collect()
}

/// Reads what the command line calls sides.
struct SideReader<'a> {
    session: &'a Session,
    graders: Vec<&'a str>,
}

impl<'a> SideReader<'a> {
    fn of(session: &'a Session) -> Self {
        let graders = session.graders().iter();
        Self { session, graders: graders.map(|grader| grader.name(&session.db).as_str()).collect() }
    }

    /// Both sides, as a metric that no suite declares.
    fn compared(&self, args: &AgreeArgs) -> Result<MetricSpec, Error> {
        let mut one = self.side(&args.one, &args.other)?;
        let mut other = match Series::read(&args.other, &self.graders, Some(&one)) {
            Err(SeriesMistake::UnclearLabels) => self.labels_of_any(),
            read => read.map_err(|mistake| self.refused(&args.other, &mistake))?,
        };
        // Of two sides, one of which is of one model, both are.
        if !args.other.starts_with("model.") && (one.model.is_none() || other.model.is_none()) {
            let model = one.model.take().or(other.model.take());
            one.model = model;
        }
        Ok(MetricSpec {
            name: String::new(),
            kind: MetricKind::Agreement(AgreementMeasure::Kappa),
            of: one,
            against: vec![other],
            by: args.by.as_deref().map(Dimension::read).into_iter().collect(),
            within: false,
            groups: Vec::new(),
            native: true,
            map: Vec::new(),
        })
    }

    /// The first side. Where it says no more than `labels`, the second says of which grader.
    fn side(&self, text: &str, other: &str) -> Result<Series, Error> {
        match Series::read(text, &self.graders, None) {
            Err(SeriesMistake::UnclearLabels) => {
                let of = Series::read(other, &self.graders, None).ok();
                let read = Series::read(text, &self.graders, of.as_ref());
                Ok(read.unwrap_or_else(|_| self.labels_of_any()))
            }
            read => read.map_err(|mistake| self.refused(text, &mistake)),
        }
    }

    /// The labels of the first grader that has some.
    fn labels_of_any(&self) -> Series {
        let db = &self.session.db;
        let graders = self.session.graders();
        let labelled = graders.iter().find(|grader| has_labels(db, **grader));
        let name = labelled.or(graders.first()).map(|grader| grader.name(db).clone());
        Series { source: SeriesSource::Labels(name.unwrap_or_default()), model: None }
    }

    fn refused(&self, text: &str, mistake: &SeriesMistake) -> Error {
        let name = match mistake {
            SeriesMistake::Unknown(name) => name,
            SeriesMistake::UnclearLabels | SeriesMistake::UnclearModel => text,
        };
        let near = suggest(name, self.graders.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let names = self.graders.join("`, `");
        Error::plain(
            sanitize(&format!("`{text}` is neither a grader nor `labels` nor `row.FIELD`{near}")),
            sanitize(&format!(
                "the graders are `{names}`; each takes the suffixes `.pass`, `.submission` and `@MODEL`; B may be `model.NAME`"
            )),
        )
    }
}

fn refuse_without_labels(
    spec: &MetricSpec,
    table: &MetricTable,
    disputed: &[DisputedCase],
) -> Result<(), Error> {
    let readings = std::iter::once(&table.of).chain(&table.against);
    for (series, readings) in spec.series().zip(readings) {
        let SeriesSource::Labels(name) = &series.source else { continue };
        if readings.iter().any(|reading| *reading != Reading::Missing) {
            continue;
        }
        if disputed.is_empty() {
            return Err(Error::plain(
                sanitize(&format!("no labels for `{name}`")),
                "`--labels FILE` names a file of labels; rows have them as `label`",
            ));
        }
        let told = disputed_line(name, disputed, "`evalrs explain` shows each label");
        return Err(Error::plain(
            sanitize(&format!("reviewers disagree on every labelled case; {told}")),
            "one more label breaks a tie",
        ));
    }
    Ok(())
}
