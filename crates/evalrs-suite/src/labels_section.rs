//! The fields of the `labels` of a suite, of a line of their file, and of what is asked of the agreement with them.

use super::section::FieldShape::{AnyOf, Choice, MapOf, Mapping, Number, Text, Texts, Truth};
use super::section::{FINITE, FRACTION, Section, section};

/// Labels that people gave.
pub(crate) static LABELS: Section = section!["labels",
    "path": Text => "the file that holds them; in the rows if absent";
    "at": Texts => "the dotted path under which a label stands in a line of the file, or in a row without one; a list is of several people, one each";
    "for": Texts => "the graders that a label is for which names none; all if absent";
    "fields": Mapping(&LABEL_FIELDS) => "under which dotted path each field of a label stands in a line of the file";
    "map": MapOf(&AnyOf(&[FINITE, Truth, Choice(&["pass", "fail"])])) => "what is meant by what is written: `pass`, `fail`, or a score";
    "holdout": Number(0.01, 0.99, "between 0.01 and 0.99: a part of the labels") => "the share of labels that is held out of what is shown, to check the rest with";
];

/// How far judges must agree with labels.
pub(crate) static CALIBRATION: Section = section!["a calibration",
    "min_kappa": Number(-1.0, 1.0, "between -1 and 1") => "the least kappa between a judge and people";
    "min_agreement": FRACTION => "the least share of verdicts in which a judge and people agree";
];

/// Our names for what a line of a file of labels has.
pub(crate) static LABEL_FIELDS: Section = section!["a label",
    "id": Text => "the sample's id";
    "label": Text => "what the person says";
    "grader": Text => "the grader that it is for";
    "model": Text => "the model whose answer it is of";
    "trial": Text => "the repetition that it is of";
    "who": Text => "the person";
];
