//! Labels that people gave: what a row or a line of a file says, and which scale it can be read on.
//!
//! Pure reading. A label is written on the scale of whichever grader it is compared with, and many datasets have a
//! field of that name which holds something else: so what is written is kept as it is, and [`LabelExtents`] say what all
//! labels of a place have in common. A grader is compared with all of its labels or with none.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{RowFields, RowProblem, RowSpec};
use crate::base::diagnostic::{clipped, suggest};
use crate::pipeline::spec::{Label, Scale};

/// The scales of the graders of a suite, in its order.
pub(crate) type Scales = [(String, Scale)];

/// A label as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LabelValue {
    /// Whether it passes.
    Pass(bool),
    /// A score on the scale of the grader.
    Number(f64),
    /// One for each of some graders.
    Each(Box<[(String, LabelValue)]>),
    /// Something that is no label.
    Strange,
}

impl LabelValue {
    /// What `value` says; none if it says nothing. `cells` are of CSV: text, also where it is a number.
    pub(crate) fn of(value: &Value, cells: bool) -> Option<Self> {
        match value {
            Value::Object(graders) => {
                let each = graders
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), Self::plain(value, cells)?)));
                Some(Self::Each(each.collect()))
            }
            Value::String(cell) if cells && cell.trim_start().starts_with('{') => {
                match serde_json::from_str(cell) {
                    Ok(object @ Value::Object(_)) => Self::of(&object, cells),
                    _ => Some(Self::Strange),
                }
            }
            value => Self::plain(value, cells),
        }
    }

    fn plain(value: &Value, cells: bool) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(pass) => Self::Pass(*pass),
            Value::Number(number) => Self::number(number.as_f64()),
            Value::String(text) => {
                let word = text.trim().to_ascii_lowercase();
                match word.as_str() {
                    "" => return None,
                    "pass" | "passed" => Self::Pass(true),
                    "fail" | "failed" => Self::Pass(false),
                    "true" if cells => Self::Pass(true),
                    "false" if cells => Self::Pass(false),
                    number if cells => Self::number(number.parse().ok()),
                    _ => Self::Strange,
                }
            }
            Value::Array(_) | Value::Object(_) => Self::Strange,
        })
    }

    fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Strange, Self::Number)
    }

    /// What it says of `grader`.
    pub(crate) fn for_grader(&self, grader: &str) -> Option<&Self> {
        match self {
            Self::Each(each) => each.iter().find(|(name, _)| name == grader).map(|(_, said)| said),
            said => Some(said),
        }
    }

    /// The label on the scale of a grader; none if it is none there.
    pub(crate) fn on(&self, scale: Scale) -> Option<Label> {
        match self {
            Self::Pass(pass) => Some(Label::Pass(*pass)),
            Self::Number(number) => {
                scale.contains(*number).then(|| Label::Score(scale.unit(*number).clamp(0.0, 1.0)))
            }
            Self::Each(_) | Self::Strange => None,
        }
    }

    /// What is wrong with it where it must be a label: it is one for no grader that it is meant for. It may name
    /// graders of other suites.
    pub(crate) fn problem(&self, scales: &Scales) -> Option<RowProblem> {
        let neither = |what: String, scales: &Scales| {
            RowProblem::new(format!("{what} is {}", not_a_label(scales)))
                .label("expected a score, true, false, \"pass\" or \"fail\"")
        };
        let reads = |said: &Self, scale: Scale| said.on(scale).is_some();
        match self {
            Self::Each(each) => each.iter().find_map(|(name, said)| {
                let known = scales.iter().find(|(grader, _)| grader == name)?;
                let what = format!("the `label` for `{}`", clipped(name));
                (!reads(said, known.1)).then(|| neither(what, std::slice::from_ref(known)))
            }),
            said if scales.iter().any(|(_, scale)| reads(said, *scale)) => None,
            _ => Some(neither("`label`".to_owned(), scales)),
        }
    }
}

/// What is no label on any of the scales, in words.
pub(crate) fn not_a_label(scales: &Scales) -> String {
    let mut ranges: Vec<String> = Vec::new();
    for (_, Scale { min, max }) in scales {
        let range = format!("{min} to {max}");
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    format!("neither a score from {} nor pass or fail", ranges.join(" or "))
}

/// What the labels of some place that are meant for one grader have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LabelExtent {
    /// Whether one of them is no label on any scale.
    strange: bool,
    /// Whether one of them says that something passes or fails.
    says_pass: bool,
    /// The least number, or infinity.
    least: f64,
    /// The greatest number, or minus infinity.
    most: f64,
}

impl LabelExtent {
    /// That of no labels.
    const NOTHING: Self =
        Self { strange: false, says_pass: false, least: f64::INFINITY, most: f64::NEG_INFINITY };

    fn add(&mut self, said: &LabelValue) {
        match said {
            LabelValue::Pass(_) => self.says_pass = true,
            LabelValue::Number(number) => {
                self.least = self.least.min(*number);
                self.most = self.most.max(*number);
            }
            LabelValue::Each(_) | LabelValue::Strange => self.strange = true,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.strange |= other.strange;
        self.says_pass |= other.says_pass;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    fn is_on(&self, scale: Scale) -> bool {
        !self.strange && self.least >= scale.min && self.most <= scale.max
    }
}

/// What the labels of some place have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelExtents {
    /// Those for all graders.
    plain: Option<LabelExtent>,
    /// Those for single graders of the suite.
    each: BTreeMap<String, LabelExtent>,
    /// The name of a grader that the suite does not have.
    pub foreign: Option<String>,
}

impl LabelExtents {
    /// Adds a label of all graders, or of one.
    pub(crate) fn add(&mut self, grader: Option<&str>, said: &LabelValue, scales: &Scales) {
        match (said, grader) {
            (LabelValue::Each(each), None) => {
                each.iter().for_each(|(name, said)| self.add(Some(name), said, scales));
            }
            (said, None) => self.plain.get_or_insert(LabelExtent::NOTHING).add(said),
            (said, Some(name)) if scales.iter().any(|(grader, _)| grader == name) => {
                self.each.entry(name.to_owned()).or_insert(LabelExtent::NOTHING).add(said);
            }
            (_, Some(name)) => {
                self.foreign.get_or_insert_with(|| name.to_owned());
            }
        }
    }

    /// Adds all of `other`, which stands after these.
    pub(crate) fn merge(&mut self, other: &Self) {
        if let Some(plain) = &other.plain {
            self.plain.get_or_insert(LabelExtent::NOTHING).merge(plain);
        }
        for (name, extent) in &other.each {
            self.each.entry(name.clone()).or_insert(LabelExtent::NOTHING).merge(extent);
        }
        if self.foreign.is_none() {
            self.foreign.clone_from(&other.foreign);
        }
    }

    /// Whether they are probably meant as labels: some say that something passes or fails, name a grader, or nearly one, or are
    /// scores on a grader's own scale.
    pub(crate) fn are_meant(&self, scales: &Scales) -> bool {
        let is_on = |plain: &LabelExtent| {
            let mut own = scales.iter().filter(|(_, scale)| *scale != Scale::UNIT);
            own.any(|(_, scale)| scale.contains(plain.least) || scale.contains(plain.most))
        };
        let near = |name: &String| suggest(name, scales.iter().map(|(known, _)| known.as_str()));
        !self.each.is_empty()
            || self.plain.is_some_and(|plain| plain.says_pass || is_on(&plain))
            || self.foreign.as_ref().and_then(near).is_some()
    }

    /// Whether there is nothing that could be a label of the suite's graders.
    pub(crate) fn is_empty(&self) -> bool {
        self.plain.is_none() && self.each.is_empty()
    }

    /// Whether some are meant for `grader`, and all of those are labels on its scale.
    pub(crate) fn read_for(&self, grader: &str, scale: Scale) -> bool {
        let mut extents = self.plain.iter().chain(self.each.get(grader)).peekable();
        extents.peek().is_some() && extents.all(|extent| extent.is_on(scale))
    }
}

/// Whether rows may have labels: not where the suite says that their `label` is another field.
pub(crate) fn may_have_labels(spec: &RowSpec) -> bool {
    let is_label = |path: &str| path == "label" || path.starts_with("label.");
    let mut paths = spec.fields.paths.iter().chain(&spec.fields.outputs);
    is_mapped(spec) || !paths.any(|(_, path)| is_label(path))
}

/// Whether the suite says where the labels of rows stand.
pub(crate) fn is_mapped(spec: &RowSpec) -> bool {
    spec.fields.paths.iter().any(|(ours, _)| ours == "label")
}

/// The label of a row, if it has something there.
pub(crate) fn of_row(row: &str, spec: &RowSpec) -> Option<LabelValue> {
    // Most rows have none, and need not be taken apart to know it. Its letters may be written as escapes.
    let may_have = is_mapped(spec) || row.contains("\"label\"") || row.contains("\\u006");
    if !may_have {
        return None;
    }
    let raw = RowFields::new(row, spec).ok()?.raw("label")?;
    // What is nested too deep to be read is no label.
    serde_json::from_str(raw.get())
        .map_or(Some(LabelValue::Strange), |value| LabelValue::of(&value, spec.cells))
}

/// What is wrong with the label of a row, where the suite says that it is one.
pub(crate) fn problem_of_row(row: &str, spec: &RowSpec, scales: &Scales) -> Option<RowProblem> {
    let problem = of_row(row, spec)?.problem(scales)?;
    let fields = RowFields::new(row, spec).ok()?;
    Some(match fields.raw("label") {
        Some(raw) => problem.at(row, raw),
        None => problem,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LabelExtents, LabelValue, Scale, may_have_labels, of_row};
    use crate::pipeline::dataset::fields::RowSpec;
    use crate::pipeline::spec::Label;
    use crate::pipeline::spec::{FieldMap, MissingAnswer};

    const UNIT: Scale = Scale::UNIT;
    const STARS: Scale = Scale { min: 1.0, max: 5.0 };

    fn scales() -> [(String, Scale); 2] {
        [("exact".to_owned(), UNIT), ("helpful".to_owned(), STARS)]
    }

    #[test]
    fn labels_are_read_on_the_scale_of_a_grader() {
        let pass = Label::Pass;
        let score = Label::Score;
        // What is written in JSON, and as it reads on 0 to 1 and on 1 to 5.
        for (value, unit, stars) in [
            (json!(true), Some(pass(true)), Some(pass(true))),
            (json!("Pass"), Some(pass(true)), Some(pass(true))),
            (json!(" PASSED "), Some(pass(true)), Some(pass(true))),
            (json!("fail"), Some(pass(false)), Some(pass(false))),
            (json!("failed"), Some(pass(false)), Some(pass(false))),
            (json!(1), Some(score(1.0)), Some(score(0.0))),
            (json!(0.25), Some(score(0.25)), None),
            (json!(4), None, Some(score(0.75))),
            (json!(5.0), None, Some(score(1.0))),
            (json!(5.1), None, None),
            (json!(-0.1), None, None),
            (json!("0.5"), None, None),
            (json!("true"), None, None),
            (json!("cat"), None, None),
            (json!([1]), None, None),
        ] {
            let said = LabelValue::of(&value, false).unwrap();
            assert_eq!((said.on(UNIT), said.on(STARS)), (unit, stars), "{value}");
        }
        for nothing in [json!(null), json!(""), json!(" ")] {
            assert_eq!(LabelValue::of(&nothing, false), None);
        }
    }

    #[test]
    fn cells_are_text() {
        for (cell, expected) in [
            ("0.5", LabelValue::Number(0.5)),
            (" 4 ", LabelValue::Number(4.0)),
            ("TRUE", LabelValue::Pass(true)),
            ("false", LabelValue::Pass(false)),
            ("pass", LabelValue::Pass(true)),
            ("nan", LabelValue::Strange),
            ("inf", LabelValue::Strange),
            ("1e999", LabelValue::Strange),
            ("yes", LabelValue::Strange),
            ("{\"a\": 1", LabelValue::Strange),
            (
                "{\"a\": \"1\"}",
                LabelValue::Each(Box::new([("a".to_owned(), LabelValue::Number(1.0))])),
            ),
        ] {
            assert_eq!(LabelValue::of(&Value::from(cell), true), Some(expected), "{cell}");
        }
    }

    #[test]
    fn one_for_each_grader_names_them() {
        let said = LabelValue::of(&json!({"helpful": 4, "exact": {"a": 1}, "other": null}), false);
        let said = said.unwrap();
        assert_eq!(said.for_grader("helpful"), Some(&LabelValue::Number(4.0)));
        assert_eq!(said.for_grader("exact"), Some(&LabelValue::Strange));
        assert_eq!(said.for_grader("other"), None);
        assert_eq!(said.on(UNIT), None);
    }

    #[test]
    fn a_label_that_must_be_one_is_one_for_some_grader() {
        for (value, problem) in [
            (json!(0), None),
            (json!(5), None),
            (json!("pass"), None),
            (json!({"of another suite": "cat"}), None),
            (json!(7), Some("`label` is neither a score from 0 to 1 or 1 to 5 nor pass or fail")),
            (json!([]), Some("`label` is neither a score from 0 to 1 or 1 to 5 nor pass or fail")),
            (
                json!({"exact": 5}),
                Some("the `label` for `exact` is neither a score from 0 to 1 nor pass or fail"),
            ),
        ] {
            let found = LabelValue::of(&value, false).unwrap().problem(&scales());
            assert_eq!(found.map(|found| found.message).as_deref(), problem, "{value}");
        }
    }

    #[test]
    fn a_grader_reads_all_of_its_labels_or_none() {
        // Of some labels: whether those for `exact` and those for `helpful` are read.
        for (labels, exact, helpful) in [
            (vec![], false, false),
            (vec![json!(1), json!("pass")], true, true),
            (vec![json!(1), json!(0.5)], true, false),
            (vec![json!(1), json!(4)], false, true),
            (vec![json!(0.5), json!(4)], false, false),
            (vec![json!(true), json!("cat")], false, false),
            (vec![json!({"helpful": 4}), json!({"exact": 0})], true, true),
            (vec![json!({"helpful": 4}), json!(0)], true, false),
            (vec![json!({"other": 4})], false, false),
        ] {
            let mut parts = [LabelExtents::default(), LabelExtents::default()];
            for (at, label) in labels.iter().enumerate() {
                parts[at % 2].add(None, &LabelValue::of(label, false).unwrap(), &scales());
            }
            let [mut all, rest] = parts;
            all.merge(&rest);
            let found = (all.read_for("exact", UNIT), all.read_for("helpful", STARS));
            assert_eq!(found, (exact, helpful), "{labels:?}");
            assert_eq!(all.foreign.is_some(), labels == [json!({"other": 4})], "{labels:?}");
        }
    }

    #[test]
    fn a_row_has_its_label_where_the_suite_says() {
        let spec = |paths: &[(&str, &str)]| RowSpec {
            cells: false,
            fields: FieldMap {
                paths: paths.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
                outputs: Vec::new(),
            },
            format: None,
            missing: MissingAnswer::default(),
            live: None,
        };
        let row = r#"{"label": 1, "human": {"ok": false}, "l\u0061bel2": 3}"#;
        assert_eq!(of_row(row, &spec(&[])), Some(LabelValue::Number(1.0)));
        assert_eq!(of_row(row, &spec(&[("label", "human.ok")])), Some(LabelValue::Pass(false)));
        assert_eq!(of_row(r#"{"l\u0061bel": "fail"}"#, &spec(&[])), Some(LabelValue::Pass(false)));
        assert_eq!(of_row(r#"{"input": "label"}"#, &spec(&[])), None);
        let deep = format!("{{\"label\": {}1{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(of_row(&deep, &spec(&[])), Some(LabelValue::Strange));
        assert!(may_have_labels(&spec(&[("id", "labels")])));
        assert!(!may_have_labels(&spec(&[("ground_truth", "label.name")])));
    }
}
