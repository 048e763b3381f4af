//! A roll-up file into a [`RollupSpec`], with every problem of it at once.
//!
//! What it names are numbers of suites that are evaluated by the same command, so it is checked against their names, before
//! anything is evaluated. Where suites are not known, the form alone is checked.

use crate::fields::{FieldSet, Findings};
use crate::reader::is_misspelt;
use crate::section::FieldShape::{AnyOf, Choice, ListOf, MapOf, Mapping, Text, Texts};
use crate::section::{Section, names, section};
use crate::sections::gate::{GateNames, LOGICAL, SIMPLE, WEIGHT, gate};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::text::count;
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode, parse};
use evalrs_model::spec::{RollupComponent, RollupMetric, RollupSource, RollupSpec};

/// The whole file.
pub(crate) static ROLLUP: Section = section!["a roll-up",
    "name": Text, required => "its name in reports";
    "description": Text => "what it is for";
    "metrics": MapOf(&Mapping(&ROLLUP_METRIC)), required => "the numbers: name → number";
    "gate": AnyOf(&[Mapping(&SIMPLE), Mapping(&LOGICAL)]) => "the rule that decides the exit code beside the gates of the suites; `metric_key` names a number";
];

/// One number.
pub(crate) static ROLLUP_METRIC: Section = section!["a metric of a roll-up",
    "kind": Choice(&names(&KINDS)), needed "the metric has no `kind`", "write `kind: macro`, or `kind: weighted` and `weights`" => "`macro` counts all alike, `weighted` by `weights`";
    "of": Texts => "what it is the mean of: `SUITE.GRADER`, `SUITE.GRADER.pass_rate` or `SUITE.METRIC`";
    "weights": AnyOf(&[ListOf(&WEIGHT), MapOf(&WEIGHT)]) => "how much each counts: a list in the order of `of`, or name → weight, which may stand in place of `of`";
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

/// What came of reading a roll-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollupReading {
    /// What it says, if there is no error.
    pub rollup: Option<RollupSpec>,
    /// Every problem found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the roll-up `text` of the file at `path`; what it names is checked against `suites`, where they are known.
pub fn read_rollup(path: &str, text: &str, suites: Option<&[RollableSuite]>) -> RollupReading {
    let mut findings = Findings::default();
    let Findings { sources, diagnostics, .. } = &mut findings;
    let root = parse(path, text, sources, diagnostics);
    let rollup = root.and_then(|root| RollupReader { suites, findings: &mut findings }.file(&root));
    let rollup = rollup.filter(|_| !findings.failed());
    RollupReading { rollup, diagnostics: findings.finish() }
}

/// Whether the text is more likely a roll-up than a suite.
pub fn is_rollup(text: &str) -> bool {
    let mut findings = Findings::default();
    let Findings { sources, diagnostics, .. } = &mut findings;
    parse("", text, sources, diagnostics).is_some_and(|root| looks_like_rollup(&root))
}

/// Whether the mapping has numbers and nothing that only a suite has.
pub(crate) fn looks_like_rollup(root: &YamlNode) -> bool {
    const OF_SUITES: [&str; 5] = ["dataset", "graders", "grader", "target", "extends"];
    root.get("metrics").is_some() && OF_SUITES.iter().all(|name| root.get(name).is_none())
}

struct RollupReader<'r> {
    suites: Option<&'r [RollableSuite]>,
    findings: &'r mut Findings,
}

impl RollupReader<'_> {
    fn file(&mut self, root: &YamlNode) -> Option<RollupSpec> {
        if !matches!(root.value, Yaml::Map(_)) {
            let message = match root.value {
                Yaml::Null => "the file is empty".to_owned(),
                _ => format!("a roll-up is a mapping, not {}", root.noun()),
            };
            self.refuse_file(root, message);
            return None;
        }
        let fields = FieldSet::new(root.entries(), &ROLLUP);
        let name = fields.take("name").and_then(|name| self.findings.text(name));
        let description = fields.text("description", self.findings);
        let entries = fields.take("metrics").and_then(|field| self.findings.entries(field));
        if fields.take("name").is_none() && !is_misspelt("name", root) {
            self.refuse_file(root, "the roll-up has no `name`".to_owned());
        }
        let has_none = fields.take("metrics").is_none() && !is_misspelt("metrics", root);
        if has_none || entries.is_some_and(<[_]>::is_empty) {
            self.refuse_file(root, "the roll-up has no `metrics`".to_owned());
        }
        let entries = entries.unwrap_or_default();
        let metrics: Vec<_> = entries.iter().map(|entry| self.metric(entry)).collect();
        let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let gate = gate(&fields, GateNames { graders: &[], metrics: &names }, self.findings);
        fields.finish(self.findings);
        let metrics = metrics.into_iter().collect::<Option<_>>()?;
        Some(RollupSpec { name: name?, description, metrics, gate })
    }

    /// Says what is wrong with the file as a whole.
    fn refuse_file(&mut self, root: &YamlNode, message: String) {
        let path = self.findings.sources.path(root.span.file);
        let problem = Diagnostic::error(Place::file(path), message).hint(MINIMAL);
        self.findings.add(problem);
    }

    fn metric(&mut self, entry: &YamlEntry) -> Option<RollupMetric> {
        let fields = self.findings.fields(entry, &ROLLUP_METRIC)?;
        let is_weighted = fields.take("kind").and_then(|kind| self.findings.choice(kind, &KINDS));
        let components = self.components(entry, &fields);
        match (is_weighted, fields.take("weights")) {
            (Some(true), None) => {
                let message = format!("the weighted metric `{}` has no `weights`", entry.key);
                self.findings.error(entry.key_span, message).hint =
                    Some("write `weights: {SUITE.GRADER: 0.7, OTHER.GRADER: 0.3}`".to_owned());
            }
            (Some(false), Some(weights)) => {
                let message = "a `macro` metric counts all alike and takes no `weights`";
                self.findings.error(weights.key_span, message).hint =
                    Some("write `kind: weighted`".to_owned());
            }
            _ => {}
        }
        fields.finish(self.findings);
        Some(RollupMetric {
            name: entry.key.clone(),
            is_weighted: is_weighted?,
            components: components?,
        })
    }

    /// What the metric is the mean of, each with its weight.
    fn components(
        &mut self,
        owner: &YamlEntry,
        fields: &FieldSet<'_>,
    ) -> Option<Vec<RollupComponent>> {
        let weights = fields.take("weights");
        let written = match (fields.take("of"), weights) {
            (Some(of), _) => self.items(of)?,
            // The names of a mapping of weights say it all.
            (None, Some(weights)) if matches!(weights.value.value, Yaml::Map(_)) => {
                weights.value.entries().iter().map(of_key).collect()
            }
            (None, _) => {
                let message = format!("the metric `{}` does not say what it is `of`", owner.key);
                self.findings.error(owner.key_span, message).hint =
                    Some("write `of: [SUITE.GRADER, OTHER.GRADER]`".to_owned());
                return None;
            }
        };
        self.check_repeats(&written);
        let weights = match weights {
            Some(weights) => self.weights(weights, &written),
            None => Some(vec![1.0; written.len()]),
        };
        let components: Vec<_> = written.iter().map(|item| self.component(item)).collect();
        let components = components.into_iter().collect::<Option<Vec<RollupComponent>>>()?;
        let weighed = components.into_iter().zip(weights?);
        Some(weighed.map(|(component, weight)| RollupComponent { weight, ..component }).collect())
    }

    /// The items of `of`, of which there must be one.
    fn items(&mut self, of: &YamlEntry) -> Option<Vec<YamlEntry>> {
        let items = match &of.value.value {
            Yaml::Seq(items) => items.as_slice(),
            Yaml::Str(_) => std::slice::from_ref(&of.value),
            _ => {
                self.findings.wrong_type(of, "a list such as `[SUITE.GRADER, OTHER.GRADER]`");
                return None;
            }
        };
        if items.is_empty() {
            self.findings.error(of.value.span, "`of` names nothing");
            return None;
        }
        let item = |item: &YamlNode| YamlEntry {
            key: "of".to_owned(),
            key_span: item.span,
            value: item.clone(),
        };
        Some(items.iter().map(item).collect())
    }

    /// What stands twice would count twice, which a weight says better.
    fn check_repeats(&mut self, items: &[YamlEntry]) {
        for (at, item) in items.iter().enumerate() {
            if items.iter().take(at).any(|other| other.value.value == item.value.value) {
                let message = "this stands here twice";
                self.findings.error(item.value.span, message).hint =
                    Some("leave it out, or write `kind: weighted` and `weights`".to_owned());
            }
        }
    }

    fn weights(&mut self, field: &YamlEntry, items: &[YamlEntry]) -> Option<Vec<f64>> {
        let weights = match &field.value.value {
            Yaml::Seq(weights) if weights.len() == items.len() => {
                let weight =
                    |weight: &YamlNode| YamlEntry { value: weight.clone(), ..field.clone() };
                weights.iter().map(weight).collect::<Vec<YamlEntry>>()
            }
            Yaml::Seq(weights) => {
                let numbers = count(items.len(), "number");
                let message = format!("there are {} weights for {numbers}", weights.len());
                self.findings.error(field.value.span, message).hint =
                    Some("give one for each item of `of`, in its order".to_owned());
                return None;
            }
            Yaml::Map(entries) => self.weights_by_name(field, entries, items)?,
            _ => {
                self.findings.wrong_type(field, "a list of numbers, or a mapping of names to them");
                return None;
            }
        };
        let numbers: Vec<_> =
            weights.iter().map(|weight| self.findings.number(weight, WEIGHT)).collect();
        let numbers: Vec<f64> = numbers.into_iter().collect::<Option<_>>()?;
        let sum: f64 = numbers.iter().sum();
        if sum == 0.0 || !sum.is_finite() {
            self.findings.error(field.value.span, "`weights` must sum to a finite, non-zero value");
            return None;
        }
        Some(numbers)
    }

    /// The weight of each item, in their order.
    fn weights_by_name(
        &mut self,
        field: &YamlEntry,
        entries: &[YamlEntry],
        items: &[YamlEntry],
    ) -> Option<Vec<YamlEntry>> {
        let names: Vec<&str> = items.iter().filter_map(text_of).collect();
        for entry in entries.iter().filter(|entry| !names.contains(&entry.key.as_str())) {
            self.findings.unknown(&of_key(entry), &entry.key, "number", &names);
        }
        let found: Vec<_> = items
            .iter()
            .map(|item| {
                let name = text_of(item)?;
                let weight = entries.iter().find(|entry| entry.key == name);
                if weight.is_none() {
                    let message = format!("`{name}` has no weight");
                    self.findings.error(field.value.span, message);
                }
                weight.cloned()
            })
            .collect();
        found.into_iter().collect()
    }

    fn component(&mut self, item: &YamlEntry) -> Option<RollupComponent> {
        let text = self.findings.text(item)?;
        let Some(suites) = self.suites else { return self.form_of_component(item, &text) };
        let is_in = |suite: &&RollableSuite| {
            let rest = text.strip_prefix(&suite.name).and_then(|rest| rest.strip_prefix('.'));
            rest.is_some_and(|rest| !rest.is_empty())
        };
        let suite = suites.iter().filter(is_in).max_by_key(|suite| suite.name.len());
        let Some(suite) = suite else {
            self.refuse_suite(item, &text, suites);
            return None;
        };
        let alike: Vec<&str> = suites
            .iter()
            .filter(|other| other.name == suite.name)
            .map(|suite| suite.path.as_str())
            .collect();
        if alike.len() > 1 {
            let message = format!("several suites are called `{}`", suite.name);
            self.findings.error(item.value.span, message).hint =
                Some(format!("give each a name of its own: {}", alike.join(", ")));
            return None;
        }
        let rest = text.get(suite.name.len() + 1..).unwrap_or_default();
        let source = self.source(item, rest, suite)?;
        Some(RollupComponent { suite: suite.name.clone(), source, weight: 1.0, text })
    }

    fn form_of_component(&mut self, item: &YamlEntry, text: &str) -> Option<RollupComponent> {
        let halves =
            text.split_once('.').filter(|(suite, rest)| !suite.is_empty() && !rest.is_empty());
        let Some((suite, rest)) = halves else {
            let message = format!("`{text}` does not say which number of which suite");
            self.findings.error(item.value.span, message).hint =
                Some("write `SUITE.GRADER`, `SUITE.GRADER.pass_rate` or `SUITE.METRIC`".to_owned());
            return None;
        };
        let source = RollupSource::Mean(rest.to_owned());
        Some(RollupComponent {
            suite: suite.to_owned(),
            source,
            weight: 1.0,
            text: text.to_owned(),
        })
    }

    /// Says that the text begins with no suite that is evaluated.
    fn refuse_suite(&mut self, item: &YamlEntry, text: &str, suites: &[RollableSuite]) {
        if let Some(suite) = suites.iter().find(|suite| suite.name == text.trim_end_matches('.')) {
            let numbers = numbers_of(suite);
            let name = &suite.name;
            let message = format!("`{name}` is a suite, and it is not said which number of it");
            let found = self.findings.error(item.value.span, message);
            found.hint = numbers.first().map(|number| format!("for example `{name}.{number}`"));
            return;
        }
        let mut names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        names.dedup();
        let named = text.split_once('.').map_or(text, |(suite, _)| suite);
        let found = self.findings.unknown(item, named, "suite", &names);
        found.message = format!("no suite of this command is called `{named}`");
        found.hint.get_or_insert_with(|| "name its file on the command line too".to_owned());
    }

    /// Which number of the suite the rest of the text means.
    fn source(
        &mut self,
        item: &YamlEntry,
        rest: &str,
        suite: &RollableSuite,
    ) -> Option<RollupSource> {
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
            let message = format!("`{bare}` of `{}` is left out by --grader", suite.name);
            self.findings.error(item.value.span, message).hint =
                Some("run all graders that the roll-up names".to_owned());
            return None;
        }
        let numbers = numbers_of(suite);
        let names: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let found = self.findings.unknown(item, rest, "number", &names);
        found.message = format!("the suite `{}` has no grader or metric `{rest}`", suite.name);
        None
    }
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

pub(crate) fn text_of(item: &YamlEntry) -> Option<&str> {
    match &item.value.value {
        Yaml::Str(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
