//! A roll-up file into a [`RollupSpec`], with every problem of it at once.
//!
//! What it names are numbers of suites that are evaluated by the same command, so it is checked against their names, before
//! anything is evaluated. Where suites are not known, the form alone is checked.

use crate::fields::{Field, FieldSet};
use crate::findings::Findings;
use crate::reader::is_misspelt;
use crate::section::FieldShape::{AnyOf, Choice, ListOf, MapOf, Mapping, Text, Texts};
use crate::section::{Section, names, section};
use crate::sections::gate::{GateNames, LOGICAL, SIMPLE, WEIGHT, gate};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::text::count;
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode};
use evalrs_model::spec::{RollupComponent, RollupMetric, RollupSource, RollupSpec};

pub(crate) static ROLLUP: Section = section!["a roll-up",
    "name": Text, required => "the roll-up's name in reports";
    "description": Text => "one line about the roll-up, for readers";
    "metrics": MapOf(&Mapping(&ROLLUP_METRIC)), required => "name → number over several suites";
    "gate": AnyOf(&[Mapping(&SIMPLE), Mapping(&LOGICAL)]) => "the rule that decides the exit code, beside the gates of the suites; `metric_key` names a number";
];

pub(crate) static ROLLUP_METRIC: Section = section!["a metric of a roll-up",
    "kind": Choice(&names(&KINDS)), needed "the metric has no `kind`", "write `kind: macro`, or `kind: weighted` and `weights`" => "`macro` weighs all alike, `weighted` by `weights`";
    "of": Texts => "the numbers to average: `SUITE.GRADER`, `SUITE.GRADER.pass_rate` or `SUITE.METRIC`";
    "weights": AnyOf(&[ListOf(&WEIGHT), MapOf(&WEIGHT)]) => "the weight of each: a list in the order of `of`, or name → weight, which may replace `of`";
];

/// The kinds by name, and whether there are weights.
pub(crate) const KINDS: [(&str, bool); 2] = [("macro", false), ("weighted", true)];

/// A roll-up that works, for those who have none.
const MINIMAL: &str = "a minimal roll-up has `name: all` and \
     `metrics: {overall: {kind: macro, of: [SUITE.GRADER, OTHER.GRADER]}}`";

/// What a roll-up may name of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollableSuite {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Its graders.
    pub graders: Vec<String>,
    /// The metrics that it declares.
    pub metrics: Vec<String>,
    /// Graders and metrics that the command line leaves out.
    pub left_out: Vec<String>,
}

/// The result of reading a roll-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollupReading {
    /// The roll-up, if there is no error.
    pub rollup: Option<RollupSpec>,
    /// Every problem found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the roll-up `text` of the file at `path`; what it names is checked against `suites`, where they are known.
pub fn read_rollup(path: &str, text: &str, suites: Option<&[RollableSuite]>) -> RollupReading {
    let findings = Findings::default();
    let root = findings.parse(path, text);
    let rollup = root.and_then(|root| RollupReader { suites, findings: &findings }.file(&root));
    let rollup = rollup.filter(|_| !findings.failed());
    RollupReading { rollup, diagnostics: findings.finish() }
}

/// Whether the text is more likely a roll-up than a suite.
pub fn is_rollup(text: &str) -> bool {
    Findings::default().parse("", text).is_some_and(|root| looks_like_rollup(&root))
}

/// Whether the mapping has numbers and nothing that only a suite has.
pub(crate) fn looks_like_rollup(root: &YamlNode) -> bool {
    const OF_SUITES: [&str; 5] = ["dataset", "graders", "grader", "target", "extends"];
    root.get("metrics").is_some() && OF_SUITES.iter().all(|name| root.get(name).is_none())
}

struct RollupReader<'r> {
    suites: Option<&'r [RollableSuite]>,
    findings: &'r Findings,
}

impl RollupReader<'_> {
    fn file(&self, root: &YamlNode) -> Option<RollupSpec> {
        if !matches!(root.value, Yaml::Map(_)) {
            return self.refuse_file(
                root,
                &match root.value {
                    Yaml::Null => "the file is empty".to_owned(),
                    _ => format!("a roll-up is a mapping, not {}", root.noun()),
                },
            );
        }
        let fields = FieldSet::new(root.entries(), &ROLLUP, self.findings);
        let name = fields.text("name");
        let description = fields.text("description");
        let entries = fields.take("metrics").and_then(Field::entries);
        if fields.take("name").is_none() && !is_misspelt("name", root) {
            self.refuse_file::<()>(root, "the roll-up has no `name`");
        }
        let has_none = fields.take("metrics").is_none() && !is_misspelt("metrics", root);
        if has_none || entries.as_ref().is_some_and(Vec::is_empty) {
            self.refuse_file::<()>(root, "the roll-up has no `metrics`");
        }
        let entries = entries.unwrap_or_default();
        let metrics: Vec<_> = entries.iter().map(|entry| self.metric(*entry)).collect();
        let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let gate = gate(&fields, GateNames { graders: &[], metrics: &names });
        fields.finish();
        let metrics = metrics.into_iter().collect::<Option<_>>()?;
        Some(RollupSpec { name: name?, description, metrics, gate })
    }

    /// Says what is wrong with the file as a whole.
    fn refuse_file<T>(&self, root: &YamlNode, message: &str) -> Option<T> {
        let place = Place::file(self.findings.sources().path(root.span.file));
        self.findings.add(Diagnostic::error(place, message).hint(MINIMAL));
        None
    }

    fn metric(&self, entry: Field<'_>) -> Option<RollupMetric> {
        let fields = entry.fields(&ROLLUP_METRIC)?;
        let is_weighted = fields.choice("kind", &KINDS);
        let components = self.components(entry, &fields);
        match (is_weighted, fields.take("weights")) {
            (Some(true), None) => {
                let message = format!("the weighted metric `{}` has no `weights`", entry.key);
                let hint = "write `weights: {SUITE.GRADER: 0.7, OTHER.GRADER: 0.3}`";
                entry.error_at_key(&message, hint);
            }
            (Some(false), Some(weights)) => {
                let message = "a `macro` metric weighs all equally and takes no `weights`";
                weights.error_at_key(message, "write `kind: weighted`");
            }
            _ => {}
        }
        fields.finish();
        Some(RollupMetric {
            name: entry.key.clone(),
            is_weighted: is_weighted?,
            components: components?,
        })
    }

    /// What the metric is the mean of, each with its weight.
    fn components(&self, owner: Field<'_>, fields: &FieldSet<'_>) -> Option<Vec<RollupComponent>> {
        let weights = fields.take("weights");
        let written = match (fields.take("of"), weights) {
            (Some(of), _) => items(of)?,
            // The names of a mapping of weights say it all.
            (None, Some(weights)) if weights.is_mapping() => {
                weights.value.entries().iter().map(of_key).collect()
            }
            (None, _) => {
                let message = format!("the metric `{}` has no `of`", owner.key);
                return owner.refuse_at_key(&message, "write `of: [SUITE.GRADER, OTHER.GRADER]`");
            }
        };
        let findings = self.findings;
        let written: Vec<Field<'_>> =
            written.iter().map(|entry| Field { entry, findings }).collect();
        check_repeats(&written);
        let weights = match weights {
            Some(weights) => read_weights(weights, &written),
            None => Some(vec![1.0; written.len()]),
        };
        let components: Vec<_> = written.iter().map(|item| self.component(*item)).collect();
        let components = components.into_iter().collect::<Option<Vec<RollupComponent>>>()?;
        let weighed = components.into_iter().zip(weights?);
        Some(weighed.map(|(component, weight)| RollupComponent { weight, ..component }).collect())
    }

    fn component(&self, item: Field<'_>) -> Option<RollupComponent> {
        let text = item.text()?;
        let Some(suites) = self.suites else { return form_of_component(item, &text) };
        let is_in = |suite: &&RollableSuite| {
            let rest = text.strip_prefix(&suite.name).and_then(|rest| rest.strip_prefix('.'));
            rest.is_some_and(|rest| !rest.is_empty())
        };
        let suite = suites.iter().filter(is_in).max_by_key(|suite| suite.name.len());
        let Some(suite) = suite else { return refuse_suite(item, &text, suites) };
        let alike: Vec<&str> = suites
            .iter()
            .filter(|other| other.name == suite.name)
            .map(|suite| suite.path.as_str())
            .collect();
        if alike.len() > 1 {
            let hint = format!("give each its own name: {}", alike.join(", "));
            return item.refuse(&format!("several suites are called `{}`", suite.name), &hint);
        }
        let rest = text.get(suite.name.len() + 1..).unwrap_or_default();
        let source = source(item, rest, suite)?;
        Some(RollupComponent { suite: suite.name.clone(), source, weight: 1.0, text })
    }
}

/// The items of `of`, of which there must be one.
fn items(of: Field<'_>) -> Option<Vec<YamlEntry>> {
    if !matches!(of.value.value, Yaml::Seq(_) | Yaml::Str(_)) {
        return of.wrong_type("a list such as `[SUITE.GRADER, OTHER.GRADER]`", "");
    }
    let items = of.value.items();
    if items.is_empty() {
        return of.refuse("`of` is empty", "");
    }
    let item = |item: &YamlNode| YamlEntry {
        key: "of".to_owned(),
        key_span: item.span,
        value: item.clone(),
    };
    Some(items.iter().map(item).collect())
}

/// A duplicate would count twice, which a weight expresses better.
fn check_repeats(items: &[Field<'_>]) {
    for (at, item) in items.iter().enumerate() {
        if items.iter().take(at).any(|other| other.value.value == item.value.value) {
            let hint = "remove it, or write `kind: weighted` and `weights`";
            item.error("duplicate entry", hint);
        }
    }
}

fn read_weights(field: Field<'_>, items: &[Field<'_>]) -> Option<Vec<f64>> {
    let weights = match &field.value.value {
        Yaml::Seq(weights) if weights.len() == items.len() => {
            let weight =
                |weight: &YamlNode| YamlEntry { value: weight.clone(), ..field.entry.clone() };
            weights.iter().map(weight).collect::<Vec<YamlEntry>>()
        }
        Yaml::Seq(weights) => {
            let numbers = count(items.len(), "number");
            let message = format!("{} weights for {numbers}", weights.len());
            return field.refuse(&message, "give one for each item of `of`, in its order");
        }
        Yaml::Map(entries) => weights_by_name(field, entries, items)?,
        _ => return field.wrong_type("a list of numbers, or a mapping of names to them", ""),
    };
    let numbers: Vec<_> =
        weights.iter().map(|entry| Field { entry, ..field }.number(WEIGHT)).collect();
    let numbers: Vec<f64> = numbers.into_iter().collect::<Option<_>>()?;
    let sum: f64 = numbers.iter().sum();
    if sum == 0.0 || !sum.is_finite() {
        return field.refuse("`weights` must sum to a finite, non-zero value", "");
    }
    Some(numbers)
}

/// The weight of each item, in their order.
fn weights_by_name(
    field: Field<'_>,
    entries: &[YamlEntry],
    items: &[Field<'_>],
) -> Option<Vec<YamlEntry>> {
    let names: Vec<&str> = items.iter().filter_map(|item| item.value.text()).collect();
    for entry in entries.iter().filter(|entry| !names.contains(&entry.key.as_str())) {
        Field { entry: &of_key(entry), ..field }.unknown::<()>(&entry.key, "number", &names);
    }
    let found: Vec<_> = items
        .iter()
        .map(|item| {
            let name = item.value.text()?;
            let weight = entries.iter().find(|entry| entry.key == name);
            if weight.is_none() {
                field.error(&format!("`{name}` has no weight"), "");
            }
            weight.cloned()
        })
        .collect();
    found.into_iter().collect()
}

fn form_of_component(item: Field<'_>, text: &str) -> Option<RollupComponent> {
    let halves = text.split_once('.').filter(|(suite, rest)| !suite.is_empty() && !rest.is_empty());
    let Some((suite, rest)) = halves else {
        let hint = "write `SUITE.GRADER`, `SUITE.GRADER.pass_rate` or `SUITE.METRIC`";
        return item.refuse(&format!("`{text}` does not name a number of a suite"), hint);
    };
    let source = RollupSource::Mean(rest.to_owned());
    Some(RollupComponent { suite: suite.to_owned(), source, weight: 1.0, text: text.to_owned() })
}

/// Says that the text begins with no suite that is evaluated.
fn refuse_suite<T>(item: Field<'_>, text: &str, suites: &[RollableSuite]) -> Option<T> {
    if let Some(suite) = suites.iter().find(|suite| suite.name == text.trim_end_matches('.')) {
        let numbers = numbers_of(suite);
        let name = &suite.name;
        let message = format!("`{name}` is a suite: name one of its numbers");
        let hint = numbers.first().map(|number| format!("for example `{name}.{number}`"));
        return item.refuse(&message, &hint.unwrap_or_default());
    }
    let mut names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
    names.dedup();
    let named = text.split_once('.').map_or(text, |(suite, _)| suite);
    let message = format!("no suite of this command is called `{named}`");
    let otherwise = Some("name its file on the command line too".to_owned());
    item.not_one_of(&names, named, &message, otherwise)
}

/// Which number of the suite the rest of the text means.
fn source(item: Field<'_>, rest: &str, suite: &RollableSuite) -> Option<RollupSource> {
    let is_grader = |name: &str| suite.graders.iter().any(|grader| grader == name);
    if is_grader(rest) {
        return Some(RollupSource::Mean(rest.to_owned()));
    }
    if suite.metrics.iter().any(|metric| metric == rest) {
        return Some(RollupSource::Declared(rest.to_owned()));
    }
    if let Some(grader) = rest.strip_suffix(".pass_rate").filter(|name| is_grader(name)) {
        return Some(RollupSource::PassRate(grader.to_owned()));
    }
    if let Some(grader) = rest.strip_suffix(".mean").filter(|name| is_grader(name)) {
        return Some(RollupSource::Mean(grader.to_owned()));
    }
    let bare = rest.strip_suffix(".pass_rate").unwrap_or(rest);
    if suite.left_out.iter().any(|name| name == bare) {
        let message = format!("--grader excludes `{bare}` of `{}`", suite.name);
        return item.refuse(&message, "run all graders that the roll-up names");
    }
    let numbers = numbers_of(suite);
    let names: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let message = format!("the suite `{}` has no grader or metric `{rest}`", suite.name);
    item.not_one_of(&names, rest, &message, None)
}

/// What a roll-up can name of a suite, behind the suite's name.
fn numbers_of(suite: &RollableSuite) -> Vec<String> {
    let rates = suite.graders.iter().map(|grader| format!("{grader}.pass_rate"));
    suite.graders.iter().cloned().chain(suite.metrics.iter().cloned()).chain(rates).collect()
}

/// The key of an entry as a value of its own.
fn of_key(entry: &YamlEntry) -> YamlEntry {
    let value =
        YamlNode { span: entry.key_span, style: Style::Plain, value: Yaml::Str(entry.key.clone()) };
    YamlEntry { key: "of".to_owned(), key_span: entry.key_span, value }
}

#[cfg(test)]
mod tests;
