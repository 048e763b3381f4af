//! Metrics that the suite declares: what they read of the graph, one query a metric.
//!
//! A table is made of cells, labels and fields of rows, all of which are queries already: so a metric that is edited asks nothing and
//! grades nothing, and one whose readings stay is not computed again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Db;
use super::cases::{cases, checked, placed, places, selection};
use super::graders::{Grader, graders, row_spec, suite};
use super::inputs::{Chunk, Root};
use super::labels::{labels, scales};
use super::queries::{Threshold, cells, graded_texts};
use super::selection::named;
use evalrs_eval::dataset::row::OpenedRow;
use evalrs_eval::evaluate::Submission;
use evalrs_metrics::metric::declared::{
    GroupName, MetricTable, MetricValue, ReadValue, Reading, ResultPlace, measure, verdict,
};
use evalrs_model::delta::CellState;
use evalrs_model::expression::Operand;
use evalrs_model::spec::{
    Dimension, GraderValue, Label, MetricKind, MetricSpec, Scale, Series, SeriesSource,
};
use evalrs_statistics::poisson_bootstrap::seed_of;
use evalrs_suite::definition;

/// A metric of the suite.
#[salsa::interned]
pub struct DeclaredMetric<'db> {
    /// What it belongs to.
    #[returns(copy)]
    pub root: Root,
    /// The suite's setting.
    pub spec: MetricSpec,
}

#[salsa::interned]
struct RowPath<'db> {
    path: String,
}

/// The metrics of the suite whose graders are all left by the command line, in the order of the suite.
#[salsa::tracked]
pub fn declared_metrics(db: &dyn Db, root: Root) -> Vec<DeclaredMetric<'_>> {
    let Some(suite) = &suite(db, root).suite else { return Vec::new() };
    let is_left = |name: &str| graders(db, root).iter().any(|grader| grader.name(db) == name);
    let metrics = suite.metrics.iter().filter(|metric| metric.graders().all(is_left));
    metrics.map(|metric| DeclaredMetric::new(db, root, metric.clone())).collect()
}

/// The result of a metric.
#[salsa::tracked]
pub fn metric_value<'db>(db: &'db dyn Db, metric: DeclaredMetric<'db>) -> MetricValue {
    let spec = metric.spec(db);
    let value = measure(spec, &metric_table(db, metric.root(db), spec));
    MetricValue { definition: definition(spec), ..value }
}

/// What a metric reads, also one that no suite declares.
pub fn metric_table(db: &dyn Db, root: Root, spec: &MetricSpec) -> MetricTable {
    TableMaker { db, root, spec }.table()
}

/// The classes of which a metric is to be of one, though no row is of it; nothing where that is not known of the rows alone.
pub fn other_classes(db: &dyn Db, root: Root, spec: &MetricSpec) -> Option<BTreeSet<String>> {
    let maker = TableMaker { db, root, spec };
    let truths = spec.series().skip(usize::from(!matches!(spec.kind, MetricKind::Classes(_))));
    let by_verdict = spec.series().any(|series| maker.is_verdict(series));
    let table = MetricTable { by_verdict, ..MetricTable::default() };
    let mut classes = BTreeSet::new();
    for series in truths {
        match &series.source {
            SeriesSource::Field(path) => {
                // Of all rows that count: those that are selected may have it or not.
                let path = RowPath::new(db, path.clone());
                for chunk in root.chunks(db) {
                    let counts = checked(db, *chunk).counts();
                    let values = values_at(db, *chunk, path).iter().zip(counts);
                    let read = values.filter(|(_, counts)| *counts);
                    let read = read.filter_map(|(value, _)| ReadValue::of_field(value, &spec.map));
                    classes.extend(read.map(|value| table.class(&value).to_owned()));
                }
            }
            _ if maker.is_verdict(series) => {
                classes.extend([true, false].map(|pass| verdict(pass).to_owned()));
            }
            SeriesSource::Grader(..) | SeriesSource::Labels(_) => return None,
        }
    }
    let class = table.named_class(spec.class()?);
    (!classes.contains(class)).then_some(classes)
}

/// The random weight of each sample, in the order of samples: it follows from its name.
#[salsa::tracked]
fn sample_seeds(db: &dyn Db, root: Root) -> Arc<[u64]> {
    let mut seeds = Vec::new();
    for chunk in root.chunks(db) {
        for (who, place) in placed(db, *chunk) {
            let Some(selected) = place.selected else { continue };
            let at = selected.sample as usize;
            if seeds.len() <= at {
                seeds.resize(at + 1, 0);
            }
            seeds[at] = seed_of(&named(who.id(), place.occurrence));
        }
    }
    Arc::from(seeds)
}

/// The value at a path in each case of a chunk.
#[salsa::tracked]
fn values_at<'db>(db: &'db dyn Db, chunk: Chunk, path: RowPath<'db>) -> Arc<[Operand]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    let rows = cases(chunk.records(db), spec).map(|(_, record)| OpenedRow::new(record, spec));
    let values = rows.map(|row| row.map_or(Operand::Nothing, |row| row.operand(path.path(db))));
    values.collect()
}

struct TableMaker<'db> {
    db: &'db dyn Db,
    root: Root,
    spec: &'db MetricSpec,
}

impl TableMaker<'_> {
    fn table(&self) -> MetricTable {
        let models = selection(self.db, self.root)
            .models
            .iter()
            .map(|model| named_model(model.as_deref()))
            .collect::<Vec<_>>();
        let paths = self.spec.paths().into_iter();
        let fields: HashMap<String, Vec<Operand>> =
            paths.map(|path| (path.to_owned(), self.field(path))).collect();
        let places = self.places(&fields);
        let aligned =
            SeriesReader { maker: self, places: &places, models: &models, fields: &fields };
        MetricTable {
            of: aligned.of(),
            against: self.spec.against.iter().map(|series| aligned.against(series)).collect(),
            lengths: self.lengths(),
            scale: self.scale(),
            by_verdict: self.spec.series().any(|series| self.is_verdict(series)),
            seeds: sample_seeds(self.db, self.root).to_vec(),
            fields,
            models,
            places,
        }
    }

    /// One value for each result, in their order, made of each case that is evaluated.
    fn each<T>(&self, mut of_chunk: impl FnMut(Chunk) -> Vec<T>) -> Vec<T> {
        let mut all = Vec::new();
        for chunk in self.root.chunks(self.db) {
            let values = of_chunk(*chunk).into_iter().zip(places(self.db, *chunk));
            all.extend(values.filter(|(_, place)| place.is_in()).map(|(value, _)| value));
        }
        all
    }

    fn places(&self, fields: &HashMap<String, Vec<Operand>>) -> Vec<ResultPlace> {
        let db = self.db;
        let models = &selection(db, self.root).models;
        let mut result = 0..;
        self.each(|chunk| {
            let places = placed(db, chunk).map(|(who, place)| {
                let Some(selected) = place.selected else { return ResultPlace::default() };
                let at: usize = result.next().unwrap_or_default();
                let groups = self.spec.by.iter().map(|dimension| match dimension {
                    Dimension::Tags => {
                        let mut tags = who.identity.tags.clone();
                        tags.sort();
                        tags.dedup();
                        by_name(tags)
                    }
                    Dimension::Model => {
                        let model = models.get(selected.model as usize).unwrap_or(&None);
                        by_name(vec![named_model(model.as_deref())])
                    }
                    Dimension::Sample => {
                        let name = named(who.id(), place.occurrence);
                        vec![GroupName { sample: selected.sample, name }]
                    }
                    Dimension::Field(path) => {
                        by_name(groups_of(fields.get(path).and_then(|values| values.get(at))))
                    }
                });
                ResultPlace {
                    sample: selected.sample,
                    model: selected.model,
                    trial: who.identity.trial,
                    groups: groups.collect(),
                }
            });
            places.collect()
        })
    }

    fn field(&self, path: &str) -> Vec<Operand> {
        let path = RowPath::new(self.db, path.to_owned());
        self.each(|chunk| values_at(self.db, chunk, path).to_vec())
    }

    fn grader(&self, name: &str) -> Option<Grader<'_>> {
        graders(self.db, self.root).iter().find(|grader| grader.name(self.db) == name).copied()
    }

    /// The scale of the grader's own; none of one that scores from 0 to 1.
    fn scale_of(&self, name: &str) -> Option<Scale> {
        let all = scales(self.db, self.root);
        let own = all.iter().find(|(grader, _)| grader == name).map(|(_, scale)| *scale);
        own.filter(|scale| *scale != Scale::UNIT)
    }

    fn scale(&self) -> Option<Scale> {
        match &self.spec.of.source {
            SeriesSource::Grader(name, _) | SeriesSource::Labels(name) => self.scale_of(name),
            SeriesSource::Field(_) => None,
        }
    }

    /// Whether the series knows no classes but what passes and fails.
    fn is_verdict(&self, series: &Series) -> bool {
        match &series.source {
            SeriesSource::Grader(_, GraderValue::Pass) => true,
            SeriesSource::Grader(name, GraderValue::Any) => self.scale_of(name).is_none(),
            SeriesSource::Grader(..) | SeriesSource::Field(_) => false,
            SeriesSource::Labels(name) => {
                let Some(grader) = self.grader(name) else { return false };
                let chunks = self.root.chunks(self.db).iter();
                let mut all = chunks.flat_map(|chunk| labels(self.db, *chunk, grader));
                all.any(|label| matches!(label, Some(Label::Pass(_))))
            }
        }
    }

    fn readings(
        &self,
        source: &SeriesSource,
        fields: &HashMap<String, Vec<Operand>>,
    ) -> Vec<Reading> {
        match source {
            SeriesSource::Field(path) => {
                let values = fields.get(path).into_iter().flatten();
                let read = values.map(|value| ReadValue::of_field(value, &self.spec.map));
                read.map(|read| read.map_or(Reading::Missing, Reading::Is)).collect()
            }
            SeriesSource::Labels(name) => self.labels_of(name),
            SeriesSource::Grader(name, GraderValue::Submission) => self.submissions_of(name),
            SeriesSource::Grader(name, value) => self.grades_of(name, *value),
        }
    }

    fn grades_of(&self, name: &str, value: GraderValue) -> Vec<Reading> {
        let Some(grader) = self.grader(name) else { return Vec::new() };
        let scale = self.scale_of(name);
        self.each(|chunk| {
            let cells = cells(self.db, chunk, grader).cells.iter();
            let read = cells.map(|cell| match cell.state {
                CellState::Skipped | CellState::NotApplicable => Reading::Missing,
                CellState::Pending | CellState::Errored => Reading::Errored,
                CellState::Passed | CellState::Failed => {
                    let passes = cell.state == CellState::Passed;
                    let pass = (value != GraderValue::Score).then_some(passes);
                    Reading::Is(ReadValue::of_score(cell.score, pass, scale))
                }
            });
            read.collect()
        })
    }

    fn submissions_of(&self, name: &str) -> Vec<Reading> {
        let Some(grader) = self.grader(name) else { return Vec::new() };
        self.each(|chunk| {
            let texts = graded_texts(self.db, chunk, grader);
            let read = texts.iter().map(|submission| match submission {
                Submission::Text(text) => Reading::Is(ReadValue::of_text(&text)),
                _ => Reading::Errored,
            });
            read.collect()
        })
    }

    fn labels_of(&self, name: &str) -> Vec<Reading> {
        let Some(grader) = self.grader(name) else { return Vec::new() };
        let scale = self.scale_of(name);
        let Threshold(threshold) = grader.pass_threshold(self.db);
        self.each(|chunk| {
            let said = labels(self.db, chunk, grader);
            let cases = places(self.db, chunk).len();
            let read = (0..cases).map(|case| match said.get(case).copied().flatten() {
                None => Reading::Missing,
                Some(Label::Pass(pass)) => {
                    let score = f64::from(u8::from(pass));
                    Reading::Is(ReadValue::of_score(score, Some(pass), scale))
                }
                Some(label @ Label::Score(score)) => {
                    let pass = Some(label.passes(threshold));
                    Reading::Is(ReadValue::of_score(score, pass, scale))
                }
            });
            read.collect()
        })
    }

    /// In characters, where the metric looks at them.
    fn lengths(&self) -> Vec<Option<usize>> {
        let (MetricKind::LengthControlledWinRate(_), SeriesSource::Grader(name, _)) =
            (&self.spec.kind, &self.spec.of.source)
        else {
            return Vec::new();
        };
        let Some(grader) = self.grader(name) else { return Vec::new() };
        self.each(|chunk| {
            let texts = graded_texts(self.db, chunk, grader);
            texts.iter().map(|text| Some(text.shown().chars().count())).collect()
        })
    }
}

/// A model as groups are called after it.
pub(super) fn named_model(model: Option<&str>) -> String {
    model.unwrap_or("(none)").to_owned()
}

fn by_name(names: Vec<String>) -> Vec<GroupName> {
    names.into_iter().map(GroupName::from).collect()
}

fn groups_of(value: Option<&Operand>) -> Vec<String> {
    match value {
        Some(Operand::List(items)) => items.iter().flat_map(|item| groups_of(Some(item))).collect(),
        Some(value) => evalrs_metrics::metric::declared::class_of(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Reads series, and brings those of other models beside the results they are compared with.
struct SeriesReader<'m, 'db> {
    maker: &'m TableMaker<'db>,
    places: &'m [ResultPlace],
    models: &'m [String],
    fields: &'m HashMap<String, Vec<Operand>>,
}

impl SeriesReader<'_, '_> {
    fn is_of(&self, place: &ResultPlace, model: &str) -> bool {
        self.models.get(place.model as usize).is_some_and(|name| name == model)
    }

    /// What the metric is of: not what it is compared with, where that is another model.
    fn of(&self) -> Vec<Reading> {
        let of = &self.maker.spec.of;
        let mut readings = self.maker.readings(&of.source, self.fields);
        let others: Vec<&str> =
            self.maker.spec.against.iter().filter_map(|series| series.model.as_deref()).collect();
        for (reading, place) in readings.iter_mut().zip(self.places) {
            let is_wanted = match &of.model {
                Some(model) => self.is_of(place, model),
                None => !others.iter().any(|model| self.is_of(place, model)),
            };
            if !is_wanted {
                *reading = Reading::Missing;
            }
        }
        readings
    }

    fn against(&self, series: &Series) -> Vec<Reading> {
        let readings = self.maker.readings(&series.source, self.fields);
        let Some(model) = &series.model else { return readings };
        let own = readings.iter().zip(self.places).filter(|(_, place)| self.is_of(place, model));
        let found: HashMap<(u32, u32), &Reading> =
            own.map(|(reading, place)| ((place.sample, place.trial), reading)).collect();
        let beside = self.places.iter().map(|place| found.get(&(place.sample, place.trial)));
        beside.map(|found| found.map_or(Reading::Missing, |it| (*it).clone())).collect()
    }
}
