//! Tests, prompts and providers as rows and graders: assertions that differ only in what they look for share one grader, and
//! the row says what that is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::assertions::mapped;
use super::case::{AssertionSpec, TestCase};
use super::files::ConfigFiles;
use super::mapped_assertion::{AssertionContext, MappedAssertion, SLOT};
use crate::imported::ImportedSource;
use crate::reading::{beginning, put};
use evalrs_base::file_path::folder_of;

/// The grader of a suite whose source asserts nothing.
const ANSWERED: &str = "answered";

/// Collects graders and rows.
pub(super) struct SuiteBuilder<'a> {
    pub files: &'a ConfigFiles<'a>,
    pub imported: ImportedSource,
    pub rows: Vec<Value>,
    slots: Vec<GraderSlot>,
    /// Assertions by their number: those that mapped, and those that did not somewhere.
    mapped: BTreeSet<usize>,
    not_mapped: BTreeSet<usize>,
}

/// A grader with its name.
struct GraderSlot {
    name: String,
    key: String,
    settings: Value,
    in_gate: bool,
}

#[derive(Debug, Default)]
pub(super) struct RowGraders {
    pub names: Vec<String>,
    /// What the row says for each.
    pub wanted: Map<String, Value>,
    /// The graders of the assertions in the order of the test, sets before their members; none where one did not map.
    pub in_order: Vec<Option<String>>,
    used: BTreeMap<String, usize>,
}

/// The place of an assertion in its test.
#[derive(Clone, Copy)]
struct Scope {
    /// Whether its verdict decides over the test.
    decides: bool,
    /// Whether its score is part of another one.
    is_part: bool,
}

/// A grader and its weight in a score of several.
struct WeightedGrader {
    name: String,
    weight: f64,
}

impl<'a> SuiteBuilder<'a> {
    pub(super) fn new(files: &'a ConfigFiles<'a>, imported: ImportedSource) -> Self {
        Self {
            files,
            imported,
            rows: Vec::new(),
            slots: Vec::new(),
            mapped: BTreeSet::new(),
            not_mapped: BTreeSet::new(),
        }
    }

    /// The graders of a test whose variables are loaded.
    pub(super) fn graders(
        &mut self,
        test: &TestCase,
        vars: &Map<String, Value>,
        provider_transform: Option<&Value>,
    ) -> RowGraders {
        let context = AssertionContext {
            files: self.files,
            vars,
            options: &test.options,
            provider_transform,
        };
        let mut row = RowGraders::default();
        let threshold = test.threshold.filter(|threshold| *threshold > 0.0);
        let scope = Scope { decides: threshold.is_none(), is_part: threshold.is_some() };
        let members = self.all(&test.asserts, scope, &context, &mut row);
        match (threshold, members) {
            (Some(threshold), Some(members)) => {
                let grader = combined(&members, Some(threshold));
                self.placed("threshold", grader, true, &mut row);
            }
            (Some(threshold), None) => {
                let what = format!("`threshold: {threshold}` of a test");
                self.imported.leave_out("thresholds", test.place.clone(), what, NOT_KNOWN);
            }
            (None, _) => {}
        }
        row
    }

    /// The graders of assertions; none if one of them did not map.
    fn all(
        &mut self,
        specs: &[AssertionSpec],
        scope: Scope,
        context: &AssertionContext<'_>,
        row: &mut RowGraders,
    ) -> Option<Vec<WeightedGrader>> {
        let mut members = Vec::new();
        let mut is_whole = true;
        for spec in specs {
            let weight = spec.weight.unwrap_or(1.0);
            let own = Scope { decides: scope.decides && weight != 0.0, ..scope };
            match self.one(spec, own, context, row) {
                Some(placed) => members.extend(placed),
                None => is_whole = false,
            }
        }
        is_whole.then_some(members)
    }

    /// The grader of an assertion; of a set that decides by its members, theirs.
    fn one(
        &mut self,
        spec: &AssertionSpec,
        scope: Scope,
        context: &AssertionContext<'_>,
        row: &mut RowGraders,
    ) -> Option<Vec<WeightedGrader>> {
        let weight = spec.weight.unwrap_or(1.0);
        if spec.kind == "assert-set" {
            return self.set(spec, scope, context, row);
        }
        match mapped(spec, context) {
            Ok(mut grader) => {
                self.mapped.insert(spec.id);
                let kind = spec.written_kind();
                if let Some(name) = spec.others.first() {
                    self.imported
                        .note(format!("`{name}` of a `{kind}` is ignored, as promptfoo does."));
                }
                if let Some(judge) = &grader.other_judge {
                    let what = format!("the judge {judge}");
                    let why = "it cannot be called as a judge: set `model`, `base_url` and `api_key_env` of the grader";
                    self.imported.leave_out("judges", spec.place.clone(), what, why);
                }
                put(&mut grader.settings, "display_name", spec.metric.as_deref());
                let name = self.placed(&kind, grader, scope.decides, row);
                row.in_order.push(Some(name.clone()));
                Some(vec![WeightedGrader { name, weight }])
            }
            Err(why) => {
                row.in_order.push(None);
                self.leave_out(spec, &spec.written_kind(), why);
                None
            }
        }
    }

    /// Names an assertion that did not map.
    fn leave_out(&mut self, spec: &AssertionSpec, kind: &str, why: impl Into<String>) {
        self.not_mapped.insert(spec.id);
        let what = format!("`{kind}`");
        self.imported.leave_out("assertions", spec.place.clone(), what, why);
    }

    fn set(
        &mut self,
        spec: &AssertionSpec,
        scope: Scope,
        context: &AssertionContext<'_>,
        row: &mut RowGraders,
    ) -> Option<Vec<WeightedGrader>> {
        let threshold = spec.threshold.filter(|threshold| *threshold > 0.0);
        let is_scored = threshold.is_some() || scope.is_part;
        let at = row.in_order.len();
        row.in_order.push(None);
        let inner = Scope { decides: scope.decides && threshold.is_none(), is_part: is_scored };
        let Some(members) = self.all(&spec.set, inner, context, row) else {
            self.leave_out(spec, &spec.kind, NOT_KNOWN);
            return None;
        };
        self.mapped.insert(spec.id);
        if !is_scored {
            return Some(members);
        }
        let decides = scope.decides && threshold.is_some();
        let name = self.placed("assert-set", combined(&members, threshold), decides, row);
        row.in_order[at] = Some(name.clone());
        Some(vec![WeightedGrader { name, weight: spec.weight.unwrap_or(1.0) }])
    }

    /// Puts a grader among those of the suite, unless one like it is there that the row does not use yet.
    fn placed(
        &mut self,
        base: &str,
        grader: MappedAssertion,
        in_gate: bool,
        row: &mut RowGraders,
    ) -> String {
        let mut settings = grader.settings;
        for file in grader.files {
            if !self.imported.files.contains(&file) {
                self.imported.files.push(file);
            }
        }
        if let Some(note) = grader.note {
            self.imported.note(note);
        }
        let key = format!("{in_gate} {base} {settings}");
        let used = row.used.entry(key.clone()).or_default();
        let known = self.slots.iter().filter(|slot| slot.key == key).nth(*used);
        *used += 1;
        let name = match known {
            Some(slot) => slot.name.clone(),
            None => {
                let name = self.free_name(base);
                name_in(&mut settings, &name);
                self.slots.push(GraderSlot { name: name.clone(), key, settings, in_gate });
                name
            }
        };
        row.names.push(name.clone());
        if let Some(wanted) = grader.wanted {
            row.wanted.insert(name.clone(), wanted);
        }
        name
    }

    /// A name that no grader has.
    fn free_name(&self, base: &str) -> String {
        let base = base.replace([':', '.', '\''], "-");
        let mut names = (1..).map(|n| if n == 1 { base.clone() } else { format!("{base}-{n}") });
        names.find(|name| self.slots.iter().all(|slot| slot.name != *name)).unwrap_or(base)
    }

    /// Adds a grader that every row has.
    pub(super) fn add(&mut self, name: &str, settings: Value, in_gate: bool) {
        let name = name.to_owned();
        self.slots.push(GraderSlot { name, key: String::new(), settings, in_gate });
    }

    /// The suite, and the account with all assertions counted.
    pub(super) fn finish(mut self, name: &str, description: Option<&str>) -> BuiltSuite {
        if self.slots.is_empty() {
            let settings = json!({"kind": "tool", "function": "length", "config": {"min": 1}});
            self.add(ANSWERED, settings, true);
            for row in &mut self.rows {
                row["graders"] = json!([ANSWERED]);
            }
            self.imported.note("No assertion of the source mapped: the grader `answered` only checks that there is an answer.");
        }
        let count = self.mapped.difference(&self.not_mapped).count();
        if count > 0 {
            self.imported.count_all("assertions", count);
        }
        let mut suite = json!({"name": name});
        put(&mut suite, "description", description.filter(|description| *description != name));
        let gate = self.gate();
        let graders = self.slots.into_iter().map(|slot| (slot.name, slot.settings));
        suite["graders"] = Value::Object(graders.collect());
        put(&mut suite, "gate", gate);
        BuiltSuite { suite, rows: self.rows, imported: self.imported }
    }

    /// Every assertion that decides must pass everywhere.
    fn gate(&self) -> Option<Value> {
        let condition = |slot: &GraderSlot| json!({"metric_key": slot.name, "metric": "accuracy", "op": "gte", "value": 1});
        let mut conditions: Vec<Value> =
            self.slots.iter().filter(|slot| slot.in_gate).map(condition).collect();
        match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(json!({"kind": "logical", "operator": "and", "conditions": conditions})),
        }
    }
}

/// What a builder made.
pub(super) struct BuiltSuite {
    pub suite: Value,
    pub rows: Vec<Value>,
    pub imported: ImportedSource,
}

/// Why several assertions have no score.
const NOT_KNOWN: &str = "one of its assertions did not map, so its score is not known";

/// A grader that makes one score of others, by their weights.
fn combined(members: &[WeightedGrader], threshold: Option<f64>) -> MappedAssertion {
    let total: f64 = members.iter().map(|member| member.weight).sum();
    let part = |member: &WeightedGrader| format!("{} * '{}'", member.weight, member.name);
    let sum = members.iter().map(part).collect::<Vec<_>>().join(" + ");
    let is_zero = members.is_empty() || total <= 0.0;
    let expression = if is_zero { "0".to_owned() } else { format!("({sum}) / {total}") };
    let mut settings = json!({"kind": "combine", "combine": expression});
    put(&mut settings, "pass_threshold", threshold.map(|threshold| threshold.min(1.0)));
    MappedAssertion::new(settings, None)
}

/// Puts the name of a grader into its settings.
fn name_in(settings: &mut Value, name: &str) {
    match settings {
        Value::String(text) if text.contains(SLOT) => *text = text.replace(SLOT, name),
        Value::Array(items) => items.iter_mut().for_each(|item| name_in(item, name)),
        Value::Object(fields) => fields.values_mut().for_each(|field| name_in(field, name)),
        _ => {}
    }
}

/// The name of a suite: the first line of the description, else that of the configuration's folder or file.
pub(super) fn name_of(path: &str, description: Option<&str>) -> String {
    let line = description.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    if let Some(line) = line {
        return beginning(line.trim(), 80);
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    let folder = folder_of(path).rsplit('/').next().unwrap_or_default();
    let is_named = !folder.is_empty() && folder != ".";
    let name = if stem == "promptfooconfig" && is_named { folder } else { stem };
    if name.is_empty() { "promptfoo" } else { name }.to_owned()
}
