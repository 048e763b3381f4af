//! What a suite says of its dataset: where the rows are and how they read.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use crate::expression::RowCondition;
use evalrs_base::compression::Compression;
use evalrs_base::ordered_map::as_map;

/// Where the samples are and how their rows read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct DatasetSpec {
    /// The file, folder, archive or pattern of files, joined to the suite's folder.
    pub path: String,
    /// The bytes of `path` that are the suite's folder, in which nothing is a pattern.
    #[serde(skip)]
    pub folder: usize,
    /// How files are cut into rows; each as its name says if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<DatasetFormat>,
    /// Where in a file its records stand, as a dotted path; none is the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
    /// What one sample is.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub sample: SampleUnit,
    /// Where trials get their numbers from.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub trials: TrialNumbers,
    /// Our names for the row's keys.
    pub fields: FieldMap,
    /// What a row is that records no answer.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub missing: MissingAnswer,
    /// What holds of the rows that count; none if all do.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<RowCondition>,
}

impl DatasetSpec {
    /// The rows of one file.
    pub fn file(path: impl Into<String>, format: DatasetFormat) -> Self {
        Self { path: path.into(), format: Some(format), ..Self::default() }
    }

    /// Whether rows are cells.
    pub fn has_cells(&self) -> bool {
        self.format.is_some_and(DatasetFormat::has_cells)
    }
}

/// What one sample is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SampleUnit {
    /// A record: a line, an entry of an array, a row of a table, an object that is all of a file.
    #[default]
    Record,
    /// A file.
    File,
    /// All files of a folder.
    Folder,
}

/// Where trials get their numbers from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TrialNumbers {
    /// From the `trial` of each row.
    #[default]
    Field,
    /// From the order of the rows of one sample and model.
    ByOrder,
}

/// What a row is in which there is nothing where the answer of the target is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MissingAnswer {
    /// Its result is an error.
    #[default]
    Error,
    /// The answer of the target is empty.
    Empty,
}

/// How a dataset file is cut into rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DatasetFormat {
    /// One JSON object a line.
    Jsonl,
    /// One JSON array of objects.
    Json,
    /// A header line and rows of text, separated by commas.
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// One list of mappings in YAML.
    Yaml,
}

pub const DATASET_FORMATS: [(&str, DatasetFormat); 7] = [
    ("jsonl", DatasetFormat::Jsonl),
    ("ndjson", DatasetFormat::Jsonl),
    ("json", DatasetFormat::Json),
    ("csv", DatasetFormat::Csv),
    ("tsv", DatasetFormat::Tsv),
    ("yaml", DatasetFormat::Yaml),
    ("yml", DatasetFormat::Yaml),
];

impl DatasetFormat {
    /// The format that shows in the name of a file, whether it is compressed or not.
    pub fn of_name(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        if Compression::of_name(&lower) == Some(Compression::Parquet) {
            return Some(Self::Jsonl);
        }
        let lower = Compression::stripped(&lower);
        let ends =
            |name: &str| lower.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
        DATASET_FORMATS.iter().find(|(name, _)| ends(name)).map(|(_, format)| *format)
    }

    /// Whether values are cells: text, in which JSON may stand.
    pub fn has_cells(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }
}

/// The `fields` mapping: our field → a dotted path in the row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct FieldMap {
    /// Single fields, sorted by our name (`id`, `input`, `ground_truth`, `output`, `messages`, …).
    #[serde(flatten, serialize_with = "as_map")]
    pub paths: Vec<(String, String)>,
    /// `outputs: {NAME: path}`: the answers of several models in one row, in the order of the file.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<(String, String)>,
    /// `label: {NAME: path}`: what people say of each of these answers.
    #[serde(rename = "label", serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
}
