//! `evalrs cache stats`: the content of the store, its origin and age, and the hit rate of the last run.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::amounts;
use super::digest::{LastRun, StoreDigest};
use super::place::surroundings_of;
use crate::cli::PlaceArgs;
use evalrs_base::file_path::join;
use evalrs_base::text::table::{TableCell, lines, number, words};
use evalrs_base::text::{count, percent, sanitize};
use evalrs_model::outcome::TARGET;
use evalrs_store::{CommittedStore, OutcomeStore, SegmentStore, Totals};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Bodies that are in memory together.
const AT_ONCE: usize = 2048;

struct Stats {
    dir: String,
    totals: Totals,
    /// The keys of the local store.
    winning: usize,
    /// Committed files with their judgments.
    committed: Vec<(String, usize)>,
    digest: StoreDigest,
    last_run: Option<LastRun>,
}

/// Shows what the store and the committed files beside it hold.
pub(super) fn stats(args: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let surroundings = surroundings_of(args, console)?;
    let dir = surroundings.cache_dir.clone();
    let local = SegmentStore::open(Path::new(&dir));
    let totals = local.totals();
    let winning = local.keys().len();
    // What is wrong with it is said once, when all layers are read.
    drop(local);
    let mut committed = Vec::new();
    for path in surroundings.committed_files(console.system) {
        let judgments = judgments(&path, console.system);
        committed.push((path, judgments));
    }
    let store = surroundings.store(console)?;
    let digest = digest(store.as_ref(), console.system.now());
    let last_run = last_run(&surroundings.root, console.system);
    let stats = Stats { dir, totals, winning, committed, digest, last_run };
    if args.json {
        console.write_json(&stats.to_json())?;
    } else {
        for (at, section) in stats.sections().iter().enumerate() {
            if at > 0 {
                writeln!(console.out)?;
            }
            let shown = lines(section, console.width);
            shown.iter().try_for_each(|line| writeln!(console.out, "{line}"))?;
        }
    }
    console.warn(store.take_warnings())?;
    Ok(ExitStatus::Success)
}

fn judgments(path: &str, system: &dyn System) -> usize {
    let mut committed = CommittedStore::default();
    committed.add(path, &system.read(path).into_bytes().unwrap_or_default());
    committed.keys().len()
}

fn digest(store: &dyn OutcomeStore, now: Timestamp) -> StoreDigest {
    let mut digest = StoreDigest::at(now.as_second());
    for keys in store.keys().chunks(AT_ONCE) {
        // What is counted is short: no blob is opened for it.
        for line in store.lines_of(keys).into_iter().flatten() {
            digest.add(line.outline(), line.large_bytes());
        }
    }
    digest
}

/// The last run recorded under `root`, as far as it can be read.
fn last_run(root: &str, system: &dyn System) -> Option<LastRun> {
    let home = join(root, ".evalrs");
    let text = |path: &str| String::from_utf8(system.read(path).into_bytes().ok()?).ok();
    let id = text(&join(&home, "latest"))?;
    let folder = join(&join(&home, "runs"), id.trim());
    LastRun::read(&text(&join(&folder, "run.json"))?)
}

impl Stats {
    fn sections(&self) -> Vec<Vec<Vec<TableCell>>> {
        let mut sections = vec![
            self.place(),
            self.kinds(),
            self.models(),
            counted("outcome", &self.digest.outcomes()),
            counted("origin", &self.digest.origins()),
            counted("age", &self.digest.ages()),
            self.last_run.as_ref().map(last_run_rows).unwrap_or_default(),
        ];
        // A head alone says nothing.
        sections.retain(|rows| rows.len() > 1);
        sections
    }

    fn place(&self) -> Vec<Vec<TableCell>> {
        let Totals { entries, segments, bytes, blobs, blob_bytes } = self.totals;
        let size = format!("{} in {}", amounts::bytes(bytes), count(segments as usize, "segment"));
        let superseded = match entries.saturating_sub(self.winning as u64) {
            0 => "none superseded".to_owned(),
            count => format!("{count} superseded"),
        };
        let mut rows = vec![
            vec![words("store"), words(&self.dir)],
            vec![words("entries"), words(&format!("{entries}, {superseded}"))],
            vec![words("size"), words(&size)],
        ];
        if blobs > 0 {
            let said = format!("{blobs}, {} of that", amounts::bytes(blob_bytes));
            rows.push(vec![words("blobs"), words(&said)]);
        }
        for (path, judgments) in &self.committed {
            let said = format!("{} in {path}", count(*judgments, "judgment"));
            rows.push(vec![words("committed"), words(&said)]);
        }
        if let Some((oldest, newest)) = self.digest.span() {
            rows.push(vec![words("made"), words(&format!("{oldest} to {newest}"))]);
        }
        rows
    }

    /// Of judges and programs alone the other tables say enough.
    fn kinds(&self) -> Vec<Vec<TableCell>> {
        let kinds = &self.digest.kinds;
        if !kinds.contains_key(TARGET) {
            return Vec::new();
        }
        let mut rows =
            vec![vec![words("kind"), number("outcomes"), number("large"), number("uncompressed")]];
        rows.extend(kinds.iter().map(|(name, kind)| {
            vec![
                words(name),
                number(kind.outcomes.to_string()),
                number(kind.large.to_string()),
                number(amounts::bytes(kind.large_bytes)),
            ]
        }));
        rows
    }

    fn models(&self) -> Vec<Vec<TableCell>> {
        let mut rows = vec![vec![
            words("model"),
            number("judgments"),
            number("tokens in"),
            number("out"),
            number("cost"),
        ]];
        for (name, model) in &self.digest.models {
            let cost = model.cost.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"));
            rows.push(vec![
                words(name),
                number(model.judgments.to_string()),
                number(model.input.to_string()),
                number(model.output.to_string()),
                number(cost),
            ]);
        }
        rows
    }

    fn to_json(&self) -> Value {
        let committed: Vec<Value> = self
            .committed
            .iter()
            .map(|(path, judgments)| json!({"path": path, "judgments": judgments}))
            .collect();
        let mut object = json!({
            "format": 1,
            "dir": self.dir,
            "entries": {"winning": self.winning, "all": self.totals.entries},
            "bytes": self.totals.bytes,
            "segments": self.totals.segments,
            "blobs": {"count": self.totals.blobs, "bytes": self.totals.blob_bytes},
            "committed": committed,
        });
        if let (Value::Object(object), Value::Object(digest)) = (&mut object, self.digest.to_json())
        {
            object.extend(digest);
        }
        object["last_run"] = json!(self.last_run.as_ref().map(LastRun::to_json));
        object
    }
}

fn counted(title: &str, counts: &[(String, u64)]) -> Vec<Vec<TableCell>> {
    let mut rows = vec![vec![words(title), number("judgments")]];
    rows.extend(counts.iter().map(|(name, n)| vec![words(name), number(n.to_string())]));
    rows
}

fn last_run_rows(run: &LastRun) -> Vec<Vec<TableCell>> {
    let head = format!("last run: {}", sanitize(&run.suite));
    let mut rows =
        vec![vec![words(&head), number("cached"), number("actions"), number("hit rate")]];
    let all = ("together".to_owned(), run.together());
    for (name, hits) in run.graders.iter().chain([&all]) {
        rows.push(vec![
            words(name),
            number(hits.cached.to_string()),
            number(hits.total.to_string()),
            number(percent(hits.rate())),
        ]);
    }
    rows
}
