//! The fields of a roll-up: numbers over several suites.

use super::rollup::KINDS;
use super::section::FieldShape::{AnyOf, Choice, ListOf, MapOf, Mapping, Text, Texts};
use super::section::{Section, names, section};
use super::sections::{LOGICAL, SIMPLE, WEIGHT};

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
