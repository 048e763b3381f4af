//! The fields of a metric that a suite declares.

use super::metrics::{AVERAGES, INNER, KAPPA_WEIGHTS, KINDS as METRIC_KINDS, LEVELS, SCALES};
use super::section::FieldShape::{AnyOf, Choice, MapOf, Text, Texts, Truth, Whole};
use super::section::{FINITE, Section, names, section};

/// A number over all results.
pub(crate) static METRIC: Section = section!["a metric",
    "kind": Choice(&names(&METRIC_KINDS)), needed "the metric has no `kind`", "for example `kind: macro` and `by: tags`" => "which number it is";
    "of": Text => "a grader, `GRADER.pass`, `GRADER.submission`, `labels.GRADER` or `row.PATH`; the only grader if absent";
    "model": Text => "of which model; of all if absent";
    "against": Texts => "what that is compared with: the same, `labels`, or `model.NAME`";
    "by": Texts => "groups: `tags`, `model`, `sample` or `row.PATH`; several are groups of groups, the outermost first";
    "within": Text => "the number is the mean over groups of the metric in each: `row.PATH`, `tags`, `model` or `sample`";
    "groups": MapOf(&Texts) => "group → the values of the innermost dimension that are of it";
    "metric": Choice(&names(&INNER)), or "\"mean\"" => "what is averaged over groups";
    "weight": Text => "the weight of a result in its row: `row.PATH`";
    "class": AnyOf(&[Text, FINITE, Truth]) => "the class that precision, recall and F1 are of, or that is positive; what passes if absent";
    "average": Choice(&names(&AVERAGES)) => "over all classes: each alike, each result alike, or by their size";
    "weights": Choice(&names(&KAPPA_WEIGHTS)), or "\"none\"" => "what a disagreement weighs in `kappa`";
    "level": Choice(&names(&LEVELS)), or "\"interval\"" => "what differences mean to `krippendorff_alpha`";
    "k": Whole(1, 100_000, "a whole number of at least 1") => "trials, of `pass_at` and `pass_hat`";
    "bins": Whole(1, 1_000, "a whole number from 1 to 1000"), or "10" => "bins of `ece`";
    "scale": Choice(&names(&SCALES)), or "\"unit\"" => "whether scores are told from 0 to 1, or on the scale of their grader";
    "map": MapOf(&AnyOf(&[Text, FINITE, Truth])) => "what values of fields mean: as written → as read, such as {A: pass, B: fail}";
    "players": Texts => "the two fields of the row that name who is compared, of `bradley_terry`; the models if absent";
    "length": Text => "where the length of the answer stands, of `length_controlled_win_rate`; what was submitted if absent";
    "baseline_length": Text => "where that of the baseline's stands: a number, or the text";
    "difficulty": Text => "where the difficulty of the task stands";
];
