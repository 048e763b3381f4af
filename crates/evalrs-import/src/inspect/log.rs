//! One log: its header and its samples, from an archive or from JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::imported::{ImportError, SourcePlace};
use crate::reading::{self, PlacedValue, as_text, items_in, line_of, text_at, text_in};
use crate::source::ImportSource;
use evalrs_base::archive::Archive;

/// The most bytes of one file in an archive.
const MAX_MEMBER: usize = 512 * 1024 * 1024;
/// The most bytes of all files in an archive.
const MAX_BYTES: usize = 2 * 1024 * 1024 * 1024;

pub(super) struct InspectLog {
    pub path: String,
    /// Everything but the samples.
    pub header: Value,
    /// The file of the header, and its text, for places.
    header_file: String,
    header_text: String,
    pub samples: Vec<PlacedValue>,
}

impl InspectLog {
    pub(super) fn read(source: &ImportSource<'_>, path: &str) -> Result<Self, ImportError> {
        let bytes = source.bytes(path).map_err(|why| damaged(path, &why))?;
        if bytes.starts_with(b"PK") || reading::ends_in(path, "eval") {
            return Self::of_archive(source, path, &bytes);
        }
        drop(bytes);
        let text = reading::text(source, path)?;
        let mut header = reading::json(path, &text)?;
        let samples = header.as_object_mut().and_then(|log| log.remove("samples"));
        let Some(Value::Array(samples)) = samples else {
            return Err(ImportError::unreadable(
                format!("the log `{path}` has no samples"),
                "name a log that has them: `inspect log dump` writes one",
            ));
        };
        let place = SourcePlace::new(path, line_of(&text, "\"samples\""));
        let samples = samples.into_iter().map(|value| PlacedValue { value, place: place.clone() });
        Ok(Self {
            path: path.to_owned(),
            header,
            header_file: path.to_owned(),
            samples: samples.collect(),
            header_text: text,
        })
    }

    fn of_archive(
        source: &ImportSource<'_>,
        path: &str,
        bytes: &[u8],
    ) -> Result<Self, ImportError> {
        let archive = Archive::open(bytes).map_err(|why| damaged(path, &why))?;
        let mut left = MAX_BYTES;
        let mut read = |name: &str| -> Result<String, ImportError> {
            let file = format!("{path}/{name}");
            let bytes =
                archive.read(name, MAX_MEMBER.min(left)).map_err(|why| damaged(&file, &why))?;
            left -= bytes.len();
            let text =
                String::from_utf8(bytes).map_err(|_| damaged(&file, "it is not UTF-8 text"))?;
            source.note_secrets(&file, &text);
            Ok(text)
        };
        // A log that was cut off has its beginning alone.
        let headers = ["header.json", "_journal/start.json"];
        let listed = |name: &&str| {
            let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
            archive.list(folder).is_some_and(|names| names.iter().any(|listed| listed == file))
        };
        let Some(header_name) = headers.into_iter().find(|name| listed(name)) else {
            return Err(damaged(path, "it has no header.json: it is not a log of Inspect"));
        };
        let header_text = read(header_name)?;
        let header_file = format!("{path}/{header_name}");
        let header = reading::json(&header_file, &header_text)?;
        let mut names = Vec::new();
        members(&archive, "samples", &mut names);
        let mut samples = Vec::new();
        for name in names {
            let file = format!("{path}/{name}");
            let value = reading::json(&file, &read(&name)?)?;
            samples.push(PlacedValue { value, place: SourcePlace::new(file, 1) });
        }
        let places = dataset_order(&header);
        samples.sort_by_cached_key(|sample| order(&places, &sample.value));
        Ok(Self { path: path.to_owned(), header, header_file, header_text, samples })
    }

    pub(super) fn task(&self) -> String {
        let names = ["/eval/task_display_name", "/eval/task"];
        text_at(&self.header, &names).unwrap_or("inspect").to_owned()
    }

    /// The place of a scorer.
    pub(super) fn place_of(&self, name: &str) -> SourcePlace {
        let quoted = Value::from(name).to_string();
        let spellings = [format!("\"name\": {quoted}"), format!("\"name\":{quoted}"), quoted];
        let mut lines = spellings.iter().map(|text| line_of(&self.header_text, text));
        SourcePlace::new(&self.header_file, lines.find(|line| *line > 0).unwrap_or(0))
    }

    pub(super) fn scores(&self) -> std::slice::Iter<'_, Value> {
        items_in(&self.header["results"], "scores")
    }

    /// What the log says came out, one sentence for each score.
    pub(super) fn results(&self) -> Vec<String> {
        let sentence = |score: &Value| {
            let name = text_in(score, "name")?;
            let metrics = score.get("metrics")?.as_object()?.iter();
            let told: Vec<String> = metrics
                .map(|(metric, value)| format!("{metric} {}", as_text(&value["value"])))
                .collect();
            let over = match text_in(score, "reducer") {
                None | Some("mean") => String::new(),
                Some(reducer) => format!(
                    " of epochs reduced by `{reducer}`, where evalrs takes the mean of all trials"
                ),
            };
            let told = told.join(", ");
            Some(format!("The log `{}` reports for `{name}`: {told}{over}.", self.path))
        };
        self.scores().take(50).filter_map(sentence).collect()
    }
}

fn damaged(path: &str, why: &str) -> ImportError {
    ImportError::unread(path, why, "name a log of Inspect, `.eval` or `.json`")
}

/// The JSON files below a folder of an archive. Ids with a `/` are folders.
fn members(archive: &Archive<'_>, folder: &str, found: &mut Vec<String>) {
    // Deeper ones are made to be deep.
    if folder.split('/').count() > 64 {
        return;
    }
    for name in archive.list(folder).unwrap_or_default() {
        let path = format!("{folder}/{name}");
        match archive.list(&path) {
            Some(_) => members(archive, &path, found),
            None if reading::ends_in(&name, "json") => found.push(path),
            None => {}
        }
    }
}

/// The place of each id in the dataset.
fn dataset_order(header: &Value) -> BTreeMap<String, usize> {
    let ids = items_in(&header["eval"]["dataset"], "sample_ids");
    ids.enumerate().map(|(place, id)| (id.to_string(), place)).collect()
}

/// The order of the dataset, and of epochs within a sample.
fn order(places: &BTreeMap<String, usize>, sample: &Value) -> (usize, u64) {
    let place = sample.get("id").and_then(|id| places.get(&id.to_string()).copied());
    let epoch = sample.get("epoch").and_then(Value::as_u64).unwrap_or_default();
    (place.unwrap_or(usize::MAX), epoch)
}
