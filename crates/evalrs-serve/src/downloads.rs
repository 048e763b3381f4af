//! Reports of recorded runs as files: the bytes of `evalrs report`, sent while they are written.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiError, ErrorEnvelope, Params};
use super::samples::selected_cases;
use super::served::{ServedWorkspace, beside};
use crate::report_page::write_page;
use crate::view::query::RowQuery;
use evalrs_base::file_path::folder_of;
use evalrs_metrics::diff::CaseName;
use evalrs_report::page::terminal::PageScreen;
use evalrs_report::{FORMATS, ReportFormat, ReportOptions};
use evalrs_store::record::read::PastRun;
use evalrs_store::record::recorded::WholeRecord;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::recorded_report::RecordedReport;

/// The bytes that are sent at once.
const PIECE: usize = 64 << 10;
/// How many of these may wait for their reader.
const WAITING: usize = 4;
/// How long they wait.
const PATIENCE: Duration = Duration::from_mins(1);
/// The width of texts; no file has any that depend on it.
const WIDTH: usize = 120;

/// The reports of a run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, ToSchema)]
enum ReportFile {
    /// Its pages.
    #[serde(rename = "report.html")]
    Html,
    /// A comment on a pull request.
    #[serde(rename = "report.md")]
    Markdown,
    /// `JUnit`.
    #[serde(rename = "report.xml")]
    Junit,
    /// A grade a row.
    #[serde(rename = "report.csv")]
    Csv,
    /// All of it.
    #[serde(rename = "report.json")]
    Json,
    /// A result a line.
    #[serde(rename = "report.jsonl")]
    JsonLines,
}

impl ReportFile {
    /// The file of this name.
    fn named(name: &str) -> Result<Self, ApiError> {
        Self::deserialize(name.into_deserializer())
            .map_err(|error: serde::de::value::Error| ApiError::not_found(error.to_string()))
    }

    /// What its name ends with, what it is, and the name of its format among reports; a page is none.
    fn facts(self) -> [&'static str; 3] {
        match self {
            Self::Html => ["html", "text/html; charset=utf-8", ""],
            Self::Markdown => ["md", "text/markdown; charset=utf-8", "markdown"],
            Self::Junit => ["xml", "application/xml", "junit"],
            Self::Csv => ["csv", "text/csv; charset=utf-8", "csv"],
            Self::Json => ["json", "application/json", "json"],
            Self::JsonLines => ["jsonl", "application/jsonl", "jsonl"],
        }
    }

    /// Whether it may have a part of the results: it has no numbers over all of them.
    fn takes_parts(self) -> bool {
        matches!(self, Self::Csv | Self::JsonLines)
    }

    fn format(self) -> Option<&'static ReportFormat> {
        FORMATS.into_iter().find(|format| format.name == self.facts()[2])
    }
}

/// Writes a report of a run, as `evalrs report` does; `latest` is an id. `report.csv` and `report.jsonl` take the filters of
/// a list of cases, and then have those alone, in the order of the dataset.
#[utoipa::path(get, path = "/api/runs/{id}/{file}", tag = "runs",
    params(("id" = String, Path), ("file" = inline(ReportFile), Path), RowQuery), responses(
    (status = 200, description = "The file", content(
        (String = "text/html"), (String = "text/markdown"), (String = "application/xml"), (String = "text/csv"),
        (serde_json::Value = "application/json"), (String = "application/jsonl"),
    )),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 409, description = "The run has not ended, its record cannot be read, or the file takes no filters", body = ErrorEnvelope),
))]
pub(super) async fn report(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(names): AddressNames<ReportAddress>,
    Params(query): Params<RowQuery>,
) -> Result<Response, ApiError> {
    let file = ReportFile::named(&names.file)?;
    let is_part = query != RowQuery::default();
    if is_part && !file.takes_parts() {
        return Err(ApiError::conflict("only report.csv and report.jsonl take filters"));
    }
    let id = Arc::clone(&served).named(names.id).await?;
    let report = beside(move || {
        let report = FileReport::open(&served, &id)?;
        let only = is_part.then(|| selected_cases(&served, &report.past, &query)).transpose()?;
        // A line is of a grade there; elsewhere a result stays whole.
        let grader = query.grader.filter(|_| file == ReportFile::Csv);
        Ok(FileReport { only, grader, ..report })
    });
    let report = report.await?;
    let [ending, kind, _] = file.facts();
    let name = format!("attachment; filename=\"{}.{ending}\"", file_name(&report.past.id));
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, sent(report, file.format())).into_response())
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ReportAddress {
    id: String,
    file: String,
}

/// A record that can be reported, and what is served of its suite.
struct FileReport {
    past: PastRun,
    run: WholeRecord,
    home: String,
    suite: Option<String>,
    labels: Option<String>,
    cache_dir: Option<String>,
    /// The cases that it has; none has all.
    only: Option<HashSet<CaseName>>,
    /// The grader whose grades it has; none has those of all.
    grader: Option<String>,
}

impl FileReport {
    fn open(served: &ServedWorkspace, id: &str) -> Result<Self, ApiError> {
        let past = served.run(id)?;
        if served.jobs.is_under_way(&past.id) {
            return Err(ApiError::conflict("the run has not ended"));
        }
        let run = WholeRecord::open(&OsSystem, &past.folder).map_err(|error| {
            ApiError::conflict(format!("the run cannot be reported: {}", error.shown()))
        })?;
        Ok(Self {
            run,
            home: served.home.clone(),
            suite: served.suite(&past.header.suite).map(|suite| suite.path.clone()),
            labels: served.labels.clone(),
            cache_dir: served.cache_dir.clone(),
            only: None,
            grader: None,
            past,
        })
    }

    fn write(&self, format: Option<&'static ReportFormat>, out: &mut dyn Write) -> io::Result<()> {
        let report = RecordedReport {
            past: &self.past,
            run: &self.run,
            place: &self.run.folder,
            root: folder_of(&self.home),
            options: ReportOptions {
                screen: PageScreen { width: WIDTH, cuts: false },
                failures: None,
                details: false,
                against: false,
                rolls_up: false,
            },
            suite: self.suite.clone(),
            labels: self.labels.clone(),
            cache_dir: self.cache_dir.clone(),
            moved: None,
            only: self.only.as_ref(),
            grader: self.grader.as_deref(),
        };
        match format {
            Some(format) => report.write(format, out, &OsSystem),
            None => write_page(&report, out, &OsSystem),
        }
        .map(|_| ())
    }
}

/// What is written on a thread of its own, piece by piece. None after the last piece says that it is whole: a connection
/// whose report failed breaks, so that nobody takes a part for the whole.
fn sent(report: FileReport, format: Option<&'static ReportFormat>) -> Body {
    let (pieces, waiting) = mpsc::channel(WAITING);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(PIECE, PieceSender { pieces, runtime });
        let written = report.write(format, &mut out).and_then(|()| out.flush());
        if written.is_ok() {
            let _ = out.get_ref().send(None);
        }
    });
    Body::from_stream(stream::unfold(Some(waiting), |waiting| async {
        let mut waiting: mpsc::Receiver<Option<Bytes>> = waiting?;
        match waiting.recv().await {
            Some(piece) => Some((Ok(piece?), Some(waiting))),
            None => Some((Err(io::Error::from(io::ErrorKind::UnexpectedEof)), None)),
        }
    }))
}

/// Sends pieces to a reader, as long as it is connected.
struct PieceSender {
    pieces: mpsc::Sender<Option<Bytes>>,
    runtime: Handle,
}

impl PieceSender {
    fn send(&self, piece: Option<Bytes>) -> io::Result<()> {
        let sent = self.runtime.block_on(self.pieces.send_timeout(piece, PATIENCE));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for PieceSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(Some(Bytes::copy_from_slice(bytes)))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The id of a run as the name of a file, whatever somebody called its folder.
pub(super) fn file_name(id: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    id.chars().map(|char| if is_plain(char) { char } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{ReportFile, file_name};

    #[test]
    fn every_file_is_of_a_format() {
        for (name, format) in [
            ("report.md", "markdown"),
            ("report.xml", "junit"),
            ("report.csv", "csv"),
            ("report.json", "json"),
        ] {
            let file = ReportFile::named(name).unwrap();
            assert!(name.ends_with(file.facts()[0]), "{name}");
            assert_eq!(file.format().unwrap().name, format);
        }
        assert!(ReportFile::named("report.html").unwrap().format().is_none());
        assert!(ReportFile::named("report.pdf").is_err() && ReportFile::named("html").is_err());
    }

    #[test]
    fn names_of_files_are_plain() {
        for (id, name) in [("20261123T1-a_b", "20261123T1-a_b"), ("a\"\r\n/ü;x", "a______x")] {
            assert_eq!(file_name(id), name);
        }
    }
}
