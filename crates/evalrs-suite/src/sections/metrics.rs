//! The `metrics` section: numbers over all results that a suite declares.

use crate::fields::{Field, FieldSet};
use crate::sections::metric_kinds::{
    INNER, KAPPA_WEIGHTS, KINDS, METRIC, SCALES, WrittenAverage, WrittenMetric,
};
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{
    AgreementMeasure, AlphaLevel, ClassAverage, ClassMeasure, Dimension, GraderValue, Lengths,
    MetricKind, MetricSpec, Players, Series, SeriesMistake, SeriesSource, Statistic,
};

/// Reads `metrics`; `graders` are the names of all.
pub(crate) fn metrics(fields: &FieldSet<'_>, graders: &[&str]) -> Vec<MetricSpec> {
    let Some(section) = fields.take("metrics") else { return Vec::new() };
    let Some(entries) = section.entries() else { return Vec::new() };
    let mut metrics = Vec::new();
    for entry in entries {
        if graders.contains(&entry.key.as_str()) {
            let message = format!("`{}` is a grader already", entry.key);
            entry.error_at_key(&message, "give the metric another name: gates name either");
        }
        metrics.extend(metric(entry, graders));
    }
    metrics
}

/// The names of all metrics, also of those that are wrong.
pub(crate) fn metric_names<'n>(fields: &FieldSet<'n>) -> Vec<&'n str> {
    let entries = fields.take("metrics").map(|section| section.entry.value.entries());
    entries.unwrap_or_default().iter().map(|entry| entry.key.as_str()).collect()
}

fn metric(entry: Field<'_>, graders: &[&str]) -> Option<MetricSpec> {
    let fields = entry.fields(&METRIC)?;
    let written = fields.choice("kind", &KINDS);
    let spec = MetricReading { entry, fields: &fields, graders }.spec(written);
    fields.finish();
    spec
}

struct MetricReading<'r, 'n> {
    entry: Field<'n>,
    fields: &'r FieldSet<'n>,
    graders: &'r [&'r str],
}

impl MetricReading<'_, '_> {
    fn spec(&self, written: Option<WrittenMetric>) -> Option<MetricSpec> {
        let of = self.of();
        let against = self.against(of.as_ref());
        let kind = written.and_then(|written| self.kind(written));
        let within = self.within();
        let by = if within.is_empty() { self.by() } else { within.clone() };
        let groups = self.groups();
        let native = self.fields.choice("scale", &SCALES).unwrap_or(false);
        let map = self.map();
        let spec = MetricSpec {
            name: self.entry.key.clone(),
            kind: kind?,
            of: of?,
            against: against?,
            by,
            within: !within.is_empty(),
            groups,
            native,
            map,
        };
        self.check(&spec);
        Some(spec)
    }

    fn of(&self) -> Option<Series> {
        let model = self.fields.text("model");
        let source = match self.fields.take("of") {
            Some(field) => {
                let text = field.text()?;
                let series = self.series(&text, field, None)?;
                if series.model.is_some() {
                    return Some(series);
                }
                series.source
            }
            None => match self.graders {
                [only] => SeriesSource::Grader((*only).to_owned(), GraderValue::Any),
                _ => {
                    let message = format!("the metric `{}` has no `of`", self.entry.key);
                    let hint = "write `of: GRADER`, or `of: row.FIELD`";
                    return self.entry.refuse_at_key(&message, hint);
                }
            },
        };
        Some(Series { source, model })
    }

    fn against(&self, of: Option<&Series>) -> Option<Vec<Series>> {
        let Some(field) = self.fields.take("against") else { return Some(Vec::new()) };
        let texts = field.texts()?;
        texts.iter().map(|text| self.series(text, field, of)).collect()
    }

    fn series(&self, text: &str, field: Field<'_>, of: Option<&Series>) -> Option<Series> {
        match Series::read(text, self.graders, of) {
            Ok(series) => Some(series),
            Err(SeriesMistake::Unknown(name)) => field.unknown(&name, "grader", self.graders),
            Err(SeriesMistake::UnclearLabels) => {
                let message = "the grader of the labels is not clear";
                field.refuse(message, "write `labels.GRADER`")
            }
            Err(SeriesMistake::UnclearModel) => {
                field.refuse("only `against` may name a model", "set `model: NAME` beside `of`")
            }
        }
    }

    fn kind(&self, written: WrittenMetric) -> Option<MetricKind> {
        let is_grouped = self.fields.take("by").is_some();
        Some(match written {
            WrittenMetric::Of(statistic) => MetricKind::Of(statistic),
            WrittenMetric::PassAt => MetricKind::Of(Statistic::PassAt(self.trials()?)),
            WrittenMetric::PassHat => MetricKind::Of(Statistic::PassHat(self.trials()?)),
            WrittenMetric::Macro if !is_grouped => {
                let hint = "for example `by: tags`, `by: model` or `by: row.category`";
                return self.entry.refuse_at_key("a `macro` metric needs `by`", hint);
            }
            WrittenMetric::Macro => {
                let inner = self.fields.choice("metric", &INNER);
                MetricKind::Macro(inner.unwrap_or(Statistic::Mean))
            }
            WrittenMetric::Weighted => MetricKind::Weighted(self.path("weight", "row.n")?),
            WrittenMetric::Classes(score) => {
                MetricKind::Classes(ClassMeasure { score, average: self.average() })
            }
            WrittenMetric::Agreement(measure) => MetricKind::Agreement(measure),
            WrittenMetric::Kappa => {
                let weights = self.fields.choice("weights", &KAPPA_WEIGHTS);
                MetricKind::Agreement(weights.unwrap_or(AgreementMeasure::Kappa))
            }
            WrittenMetric::Alpha => {
                let level = self.fields.variant("level");
                let level = level.unwrap_or(AlphaLevel::Interval);
                MetricKind::Agreement(AgreementMeasure::Alpha(level))
            }
            WrittenMetric::AreaUnderCurve => MetricKind::AreaUnderCurve(self.class()),
            WrittenMetric::CalibrationError => {
                let bins = self.fields.whole("bins").unwrap_or(10);
                MetricKind::CalibrationError { bins, class: self.class() }
            }
            WrittenMetric::WinRate => MetricKind::WinRate,
            WrittenMetric::LengthControlledWinRate => {
                MetricKind::LengthControlledWinRate(self.lengths()?)
            }
            WrittenMetric::BradleyTerry => MetricKind::BradleyTerry(self.players()),
        })
    }

    fn trials(&self) -> Option<u32> {
        let k = self.fields.whole("k");
        if k.is_none() && self.fields.take("k").is_none() {
            return self.entry.refuse_at_key("the number of trials is missing", "write `k: 3`");
        }
        k
    }

    fn class(&self) -> Option<String> {
        self.scalar("class")
    }

    /// A class may be a number.
    fn scalar(&self, name: &str) -> Option<String> {
        let field = self.fields.take(name)?;
        match &field.value.value {
            Yaml::Int(value) => Some(value.to_string()),
            Yaml::Float(value) => Some(value.to_string()),
            Yaml::Bool(value) => Some(value.to_string()),
            _ => field.text(),
        }
    }

    fn average(&self) -> ClassAverage {
        let class = self.class();
        match self.fields.variant("average") {
            None => ClassAverage::Class(class),
            Some(WrittenAverage::Macro) => ClassAverage::Macro,
            Some(WrittenAverage::Micro) => ClassAverage::Micro,
            Some(WrittenAverage::Weighted) => ClassAverage::Weighted,
        }
    }

    /// A dotted path of the row, which must be there.
    fn path(&self, name: &str, example: &str) -> Option<String> {
        let Some(field) = self.fields.take(name) else {
            let message = format!("the metric `{}` needs `{name}`", self.entry.key);
            return self.entry.refuse_at_key(&message, &format!("for example `{name}: {example}`"));
        };
        let text = field.text()?;
        Some(text.strip_prefix("row.").unwrap_or(&text).to_owned())
    }

    fn optional_path(&self, name: &str) -> Option<String> {
        self.fields.take(name)?;
        self.path(name, "")
    }

    fn lengths(&self) -> Option<Lengths> {
        let own = self.optional_path("length");
        let difficulty = self.optional_path("difficulty");
        let baseline = self.path("baseline_length", "row.baseline_output")?;
        Some(Lengths { own, baseline, difficulty })
    }

    fn players(&self) -> Option<Players> {
        let field = self.fields.take("players")?;
        let texts = field.texts()?;
        let path = |text: &String| text.strip_prefix("row.").unwrap_or(text).to_owned();
        match &texts[..] {
            [one, other] => Some(Players { one: path(one), other: path(other) }),
            _ => field.refuse(
                "`players` are two fields of the row",
                "write `players: [row.model_a, row.model_b]`",
            ),
        }
    }

    fn by(&self) -> Vec<Dimension> {
        let Some(texts) = self.fields.texts("by") else { return Vec::new() };
        texts.iter().map(|text| Dimension::read(text)).collect()
    }

    /// One dimension, which no other may stand beside.
    fn within(&self) -> Vec<Dimension> {
        let Some(text) = self.fields.text("within") else { return Vec::new() };
        if let Some(by) = self.fields.take("by") {
            let hint = "`within` is the mean over groups of the metric in each; `macro` takes `by`";
            by.error_at_key("a metric has either `within` or `by`", hint);
        }
        vec![Dimension::read(&text)]
    }

    fn groups(&self) -> Vec<(String, Vec<String>)> {
        let entries = self.fields.take("groups").and_then(Field::entries);
        let entries = entries.unwrap_or_default().into_iter();
        entries.filter_map(|entry| Some((entry.key.clone(), entry.texts()?))).collect()
    }

    fn map(&self) -> Vec<(String, String)> {
        let entries = self.fields.take("map").and_then(Field::entries);
        let meaning = |entry: Field<'_>| match entry.value.to_json() {
            serde_json::Value::String(text) => Some((entry.key.clone(), text)),
            other if other.is_number() || other.is_boolean() => {
                Some((entry.key.clone(), other.to_string()))
            }
            _ => entry.wrong_type("a text or a number", ""),
        };
        entries.unwrap_or_default().into_iter().filter_map(meaning).collect()
    }

    /// What a kind needs beside its own fields.
    fn check(&self, spec: &MetricSpec) {
        let needs = match &spec.kind {
            MetricKind::Classes(_)
            | MetricKind::Agreement(_)
            | MetricKind::AreaUnderCurve(_)
            | MetricKind::CalibrationError { .. } => spec.against.is_empty(),
            _ => false,
        };
        if needs {
            let message = format!("the metric `{}` has no `against`", spec.name);
            let hint = "write `against: labels`, a grader, `row.FIELD` or `model.NAME`";
            self.entry.error_at_key(&message, hint);
        }
        let takes_several = matches!(
            spec.kind,
            MetricKind::Agreement(AgreementMeasure::Alpha(_) | AgreementMeasure::Fleiss)
        );
        if spec.against.len() > 1 && !takes_several {
            let message = format!("the metric `{}` takes one `against` only", spec.name);
            let hint = "`krippendorff_alpha` and `fleiss_kappa` take several";
            self.entry.error_at_key(&message, hint);
        }
        if spec.within && matches!(spec.kind, MetricKind::BradleyTerry(_)) {
            let hint = "strengths of different groups are not on one scale";
            self.entry.error_at_key("`bradley_terry` has no mean over groups", hint);
        }
        if !spec.groups.is_empty() && (spec.by.is_empty() || spec.within) {
            let message = "`groups` group the values of `by`";
            self.entry.error_at_key(message, "for example `by: row.subject`");
        }
    }
}
