//! Labels that people gave: what a row or a line of a file says, and which scale it can be read on.
//!
//! Pure reading. A label is written on the scale of whichever grader it is compared with, and many datasets have a
//! field of that name which holds something else: so what is written is kept as it is, and [`LabelExtents`] say what all
//! labels of a place have in common. A grader is compared with all of its labels or with none.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{RowFields, RowProblem, RowSpec};
use super::label_value::{LabelNotation, LabelValue, Scales, beside_map, is_for_unnamed};
use evalrs_base::diagnostic::suggest;
use evalrs_model::spec::{LabelsSpec, Scale};

/// What the labels of some place that are meant for one grader have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LabelExtent {
    /// Whether one of them is not a label on any scale.
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
            LabelValue::Each(_) | LabelValue::ByOutput(_) | LabelValue::Strange => {
                self.strange = true;
            }
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
pub struct LabelExtents {
    /// Those for all graders.
    plain: Option<LabelExtent>,
    /// Those for single graders of the suite.
    each: BTreeMap<String, LabelExtent>,
    /// The name of a grader that the suite does not have.
    pub foreign: Option<String>,
}

impl LabelExtents {
    /// Adds a label of all graders, or of one.
    pub fn add(&mut self, grader: Option<&str>, said: &LabelValue, scales: &Scales) {
        match (said, grader) {
            (LabelValue::Each(each), None) => {
                each.iter().for_each(|(name, said)| self.add(Some(name), said, scales));
            }
            (LabelValue::ByOutput(items), grader) => {
                items.iter().flatten().for_each(|said| self.add(grader, said, scales));
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

    /// Adds all of `other`, which comes after these.
    pub fn merge(&mut self, other: &Self) {
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
    pub fn are_meant(&self, scales: &Scales) -> bool {
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
    pub fn is_empty(&self) -> bool {
        self.plain.is_none() && self.each.is_empty()
    }

    /// Whether some are meant for `grader`, and all of those are labels on its scale.
    pub fn read_for(&self, grader: &str, scale: Scale) -> bool {
        let unnamed = self.plain.iter().filter(|_| is_for_unnamed(grader));
        let mut extents = unnamed.chain(self.each.get(grader)).peekable();
        extents.peek().is_some() && extents.all(|extent| extent.is_on(scale))
    }
}

/// Whether rows may have labels: not where the suite says that their `label` is another field.
pub fn may_have_labels(spec: &RowSpec) -> bool {
    let is_label = |path: &str| path == "label" || path.starts_with("label.");
    let mut paths = spec.fields.paths.iter().chain(&spec.fields.outputs);
    is_mapped(spec) || !paths.any(|(_, path)| is_label(path))
}

/// Whether the suite says where the labels of rows stand.
pub fn is_mapped(spec: &RowSpec) -> bool {
    !spec.fields.labels.is_empty() || spec.fields.paths.iter().any(|(ours, _)| ours == "label")
}

/// The label of a row, if it has something there. `said` is what the suite says of labels in rows.
pub fn of_row(row: &str, spec: &RowSpec, said: Option<&LabelsSpec>) -> Option<LabelValue> {
    // Most rows have none, and need not be taken apart to know it. Its letters may be written as escapes.
    let may_have = is_mapped(spec) || row.contains("\"label\"") || row.contains("\\u006");
    if !may_have {
        return None;
    }
    let fields = RowFields::new(row, spec).ok()?;
    let outputs: &[_] = if spec.live.is_none() { &spec.fields.outputs } else { &[] };
    let map = said.map_or(&[][..], |said| &said.map);
    let notation = LabelNotation { cells: spec.cells, map, outputs };
    let label = if spec.fields.labels.is_empty() {
        match serde_json::from_str(fields.raw("label")?.get()) {
            Ok(value) => LabelValue::of(&value, &notation)?,
            // What is nested too deep to be read is no label.
            Err(_) => LabelValue::Strange,
        }
    } else {
        of_each_output(&fields, &notation)?
    };
    Some(label.for_graders(said.map_or(&[][..], |said| &said.graders)))
}

/// The values at the paths of labels, one for each output.
fn of_each_output(fields: &RowFields<'_>, notation: &LabelNotation<'_>) -> Option<LabelValue> {
    let labels = &fields.spec.fields.labels;
    let values = notation.outputs.iter().map(|(model, _)| -> Option<Value> {
        let (_, path) = labels.iter().find(|(of, _)| of == model)?;
        serde_json::from_str(fields.at_path(path)?.get()).ok()
    });
    let values: Vec<Option<Value>> = values.collect();
    let is_any = values.iter().flatten().any(|value| !value.is_null());
    is_any.then(|| LabelValue::by_output(values.iter().map(Option::as_ref), notation))
}

/// What is wrong with the label of a row, where the suite says that it is one.
pub fn problem_of_row(
    row: &str,
    spec: &RowSpec,
    said: Option<&LabelsSpec>,
    scales: &Scales,
) -> Option<RowProblem> {
    let problem = of_row(row, spec, said)?.problem(scales)?;
    let problem = beside_map(problem, said.map_or(&[][..], |said| &said.map));
    Some(RowFields::new(row, spec).ok()?.at("label", problem))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LabelExtents, LabelNotation, LabelValue, Scale, may_have_labels, of_row};
    use crate::dataset::fields::RowSpec;
    use evalrs_model::spec::Label;
    use evalrs_model::spec::{FieldMap, LabelMeaning, LabelsSpec, MissingAnswer};

    const CELLS: LabelNotation<'_> = LabelNotation { cells: true, map: &[], outputs: &[] };
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
            let said = LabelValue::of(&value, &LabelNotation::default()).unwrap();
            assert_eq!((said.on(UNIT), said.on(STARS)), (unit, stars), "{value}");
        }
        for nothing in [json!(null), json!(""), json!(" ")] {
            assert_eq!(LabelValue::of(&nothing, &LabelNotation::default()), None);
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
            assert_eq!(LabelValue::of(&Value::from(cell), &CELLS), Some(expected), "{cell}");
        }
    }

    #[test]
    fn one_for_each_grader_names_them() {
        let said = LabelValue::of(
            &json!({"helpful": 4, "exact": {"a": 1}, "other": null}),
            &LabelNotation::default(),
        );
        let said = said.unwrap();
        assert_eq!(said.of_case("helpful", 0), Some(&LabelValue::Number(4.0)));
        assert_eq!(said.of_case("exact", 0), Some(&LabelValue::Strange));
        assert_eq!(said.of_case("other", 0), None);
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
            let found =
                LabelValue::of(&value, &LabelNotation::default()).unwrap().problem(&scales());
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
                parts[at % 2].add(
                    None,
                    &LabelValue::of(label, &LabelNotation::default()).unwrap(),
                    &scales(),
                );
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
                ..FieldMap::default()
            },
            format: None,
            missing: MissingAnswer::default(),
            live: None,
        };
        let row = r#"{"label": 1, "human": {"ok": false}, "l\u0061bel2": 3}"#;
        assert_eq!(of_row(row, &spec(&[]), None), Some(LabelValue::Number(1.0)));
        assert_eq!(
            of_row(row, &spec(&[("label", "human.ok")]), None),
            Some(LabelValue::Pass(false))
        );
        assert_eq!(
            of_row(r#"{"l\u0061bel": "fail"}"#, &spec(&[]), None),
            Some(LabelValue::Pass(false))
        );
        assert_eq!(of_row(r#"{"input": "label"}"#, &spec(&[]), None), None);
        let deep = format!("{{\"label\": {}1{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(of_row(&deep, &spec(&[]), None), Some(LabelValue::Strange));
        assert!(may_have_labels(&spec(&[("id", "labels")])));
        assert!(!may_have_labels(&spec(&[("ground_truth", "label.name")])));
    }

    #[test]
    fn each_output_of_a_row_may_have_a_label() {
        let outputs =
            ["small", "large"].map(|model| (model.to_owned(), format!("answers.{model}")));
        let notation = LabelNotation { outputs: &outputs, ..LabelNotation::default() };
        let pass = LabelValue::Pass;
        for (value, small, large) in [
            (json!(["pass", "fail"]), Some(pass(true)), Some(pass(false))),
            (json!({"large": true, "small": false}), Some(pass(false)), Some(pass(true))),
            (json!({"large": true}), None, Some(pass(true))),
            (json!([null, 1]), None, Some(LabelValue::Number(1.0))),
            (json!({"exact": ["pass", "fail"], "helpful": 4}), Some(pass(true)), Some(pass(false))),
            (json!([{"exact": true}, {"helpful": 4}]), Some(pass(true)), None),
            (json!("pass"), Some(pass(true)), Some(pass(true))),
            (json!(["pass"]), Some(LabelValue::Strange), Some(LabelValue::Strange)),
        ] {
            let said = LabelValue::of(&value, &notation).unwrap();
            let found = [0, 1].map(|output| said.of_case("exact", output).cloned());
            assert_eq!(found, [small, large], "{value}");
        }
        let cell = Value::from("[1, 0]");
        let cells = LabelNotation { cells: true, ..notation };
        let both = LabelValue::of(&cell, &cells).unwrap();
        assert_eq!(both.of_case("exact", 1), Some(&LabelValue::Number(0.0)));
        assert_eq!(LabelValue::of(&cell, &CELLS), Some(LabelValue::Strange));
        let mut extents = LabelExtents::default();
        extents.add(None, &both, &scales());
        assert!(extents.read_for("exact", UNIT) && !extents.read_for("helpful", STARS));
    }

    #[test]
    fn labels_of_outputs_stand_where_the_suite_says_for_the_graders_that_it_names() {
        let of = |path: &str| {
            ["small", "large"].map(|model| (model.to_owned(), path.replace('M', model)))
        };
        let fields = FieldMap {
            outputs: of("M.text").to_vec(),
            labels: of("M.human").to_vec(),
            ..FieldMap::default()
        };
        let missing = MissingAnswer::default();
        let spec = RowSpec { cells: false, fields, format: None, missing, live: None };
        let row = r#"{"small": {"human": 1}, "large": {"human": "ok"}, "label": "other"}"#;
        let said = LabelsSpec {
            graders: vec!["exact".to_owned()],
            map: vec![("ok".to_owned(), LabelMeaning::Pass(true))],
            ..LabelsSpec::default()
        };
        let found = of_row(row, &spec, Some(&said)).unwrap();
        assert_eq!(found.of_case("exact", 0), Some(&LabelValue::Number(1.0)));
        assert_eq!(found.of_case("exact", 1), Some(&LabelValue::Pass(true)));
        assert_eq!(found.of_case("helpful", 1), None);
        assert_eq!(of_row(r#"{"small": {}}"#, &spec, None), None);
    }
}
