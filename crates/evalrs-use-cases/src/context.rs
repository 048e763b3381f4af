//! Where a suite's workspace, store and settings are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::args::LimitArgs;
use super::dotenv::environment;
use super::shared_cache::{SharedCache, SharedPlace};
use crate::console::Console;
use crate::error::Error;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_path::{folder_of, join, non_empty};
use evalrs_base::price::{Cost, Prices};
use evalrs_engine::inspect::explain::Layers;
use evalrs_engine::resolve::budget::SpendingLimits;
use evalrs_engine::resolve::settings::{BatchSettings, Settings};
use evalrs_eval::dataset::split::decode;
use evalrs_model::outcome::StoredOutcome;
use evalrs_model::spec::Suite;
use evalrs_store::record::label_writer::labeller;
use evalrs_store::{
    BatchLedger, CommittedStore, Entry, EntryCheck, LayeredStore, MemoryStore, OutcomeStore,
    SegmentStore,
};
use evalrs_suite::workspace::{Color, Workspace, read_workspace};
use evalrs_system::{FileBytes, System};

/// What surrounds a suite.
#[derive(Debug, PartialEq)]
pub struct SuiteContext {
    /// The root of the workspace: the nearest folder upwards with an `evalrs.toml`, else the suite's folder.
    pub root: String,
    /// What `evalrs.toml` says.
    pub workspace: Workspace,
    /// The folder of the store.
    pub cache_dir: String,
    /// The folder of the workspace's committed judgments: that of its store, unless this process got another.
    pub committed_dir: String,
    /// The environment, with what `.env` files add to it.
    pub environment: BTreeMap<String, String>,
}

impl SuiteContext {
    /// Whether what says that it is of the suite at `of` is of another one than that at `path`, which is still there: a suite
    /// that was moved keeps what it has. Paths are from the root; what is older than such a path is everybody's.
    pub fn is_of_another(&self, of: &str, path: &str, system: &dyn System) -> bool {
        !of.is_empty() && of != path && system.stamp(&join(&self.root, of)).is_some()
    }

    /// Finds what surrounds the suite at `suite`.
    pub fn find(suite: &str, cache_dir: Option<&str>, system: &dyn System) -> Result<Self, Error> {
        let folder = folder_of(suite);
        let (root, workspace) = workspace_of(folder, system)?;
        // What the workspace says is joined to the folder of `evalrs.toml` already.
        let committed_dir = workspace.cache_dir.clone().unwrap_or_else(|| join(&root, "cache"));
        let cache_dir = cache_dir.map_or_else(|| committed_dir.clone(), str::to_owned);
        let environment = environment(folder, system)?;
        Ok(Self { root, workspace, cache_dir, committed_dir, environment })
    }

    /// `path` seen from the root of the workspace; from that of the file system where it is not inside.
    pub fn in_workspace(&self, path: &str, system: &dyn System) -> String {
        let path = whole(path, system);
        let root = whole(&self.root, system);
        let inside = path.strip_prefix(root.trim_end_matches('/'));
        inside.and_then(|rest| rest.strip_prefix('/')).unwrap_or(&path).to_owned()
    }

    /// The files of committed judgments: the workspace's wherever the store lies, and those beside the store.
    pub fn committed_files(&self, system: &dyn System) -> Vec<String> {
        let mut files = committed_files(&self.committed_dir, system);
        if whole(&self.committed_dir, system) != whole(&self.cache_dir, system) {
            files.extend(committed_files(&self.cache_dir, system));
        }
        files
    }

    /// The files of a shared cache that are here and believed, each with its writer.
    pub(crate) fn shared_files(&self, system: &dyn System) -> Result<Vec<(String, String)>, Error> {
        let shared = self.shared_cache()?;
        Ok(shared.map(|shared| shared.local.believed(&shared.trust, system)).unwrap_or_default())
    }

    /// Believes these writers instead of those that `evalrs.toml` names; nothing changes if there are none.
    pub fn believe(&mut self, writers: &[String]) -> Result<(), Error> {
        if writers.is_empty() {
            return Ok(());
        }
        let Some(settings) = &mut self.workspace.shared_cache else {
            return Err(Error::plain(
                "`--believe` names writers of a shared cache, and this workspace has none",
                "write `[cache.remote]` with `url` into evalrs.toml: docs/shared-cache.md",
            ));
        };
        settings.believe = writers.to_vec();
        self.shared_cache().map(drop)
    }

    /// The cache that this workspace shares; none where it shares none.
    pub fn shared_cache(&self) -> Result<Option<SharedCache<'_>>, Error> {
        let Some(settings) = &self.workspace.shared_cache else { return Ok(None) };
        let Self { root, cache_dir, environment, .. } = self;
        SharedCache::of(settings, SharedPlace { root, cache_dir, environment }).map(Some)
    }

    /// The same for whoever needs one.
    pub fn needed_shared_cache(&self) -> Result<SharedCache<'_>, Error> {
        self.shared_cache()?.ok_or_else(|| {
            Error::plain(
                "this workspace shares no cache",
                "write `[cache.remote]` with `url` and `believe` into evalrs.toml: docs/shared-cache.md",
            )
        })
    }

    /// The name under which a person labels here; none where nobody knows it.
    pub fn labeller(&self) -> Option<String> {
        labeller(|name| self.environment.get(name).cloned())
    }

    /// The folder of the records of runs.
    pub fn records(&self) -> String {
        join(&self.root, ".evalrs")
    }

    /// What tokens cost: what the workspace says, else list prices.
    pub fn prices(&self) -> Arc<Prices> {
        Prices::new(self.workspace.prices.clone()).into()
    }

    /// How a session over `suite` is settled: within the limits of the command line, else those of the suite, else those of
    /// the workspace.
    pub fn settings(&self, limits: &LimitArgs, suite: Option<&Suite>) -> Settings {
        let workspace = &self.workspace;
        let default = Settings::default();
        let max_concurrent = limits.max_concurrent.map(|most| most as usize);
        let max_cost = limits.max_cost.or(workspace.max_cost);
        let identical_failures = limits.max_identical_failures;
        Settings {
            max_concurrent: max_concurrent
                .or_else(|| suite?.max_concurrent)
                .or(workspace.max_concurrent)
                .unwrap_or(default.max_concurrent),
            max_concurrent_targets: limits.max_concurrent_targets.map(|most| most as usize),
            limits: SpendingLimits {
                max_calls: limits.max_calls.or(workspace.max_calls),
                max_cost: max_cost.and_then(Cost::from_dollars),
            },
            prices: self.prices(),
            batches: BatchSettings {
                ledger: BatchLedger::of(&self.committed_dir),
                ..BatchSettings::default()
            },
            max_requests_per_minute: workspace.max_requests_per_minute,
            max_tokens_per_minute: workspace.max_tokens_per_minute,
            max_identical_failures: identical_failures
                .or(workspace.max_identical_failures)
                .unwrap_or(default.max_identical_failures),
            ..default
        }
    }

    /// The store, over the judgments that are committed and those of a shared cache.
    pub fn store(&self, console: &mut Console<'_>) -> Result<Arc<dyn OutcomeStore>, Error> {
        let shared = self.shared_files(console.system)?;
        let files = self.read_only_files(shared, console.system);
        let mut problems = Vec::new();
        let store = self.layered(&files, console.system, &mut problems);
        console.warn(problems)?;
        Ok(Arc::new(store))
    }

    /// What [`Self::store`] opens. What cannot be read is left out.
    pub fn readable_store(&self, system: &dyn System) -> LayeredStore {
        let shared = self.shared_files(system).unwrap_or_default();
        self.layered(&self.read_only_files(shared, system), system, &mut Vec::new())
    }

    fn layered(
        &self,
        files: &[ReadOnlyFile],
        system: &dyn System,
        problems: &mut Vec<String>,
    ) -> LayeredStore {
        let mut committed = CommittedStore::checked(&check_entry);
        for ReadOnlyFile { path, writer } in files {
            match system.read(path).into_bytes() {
                Ok(bytes) => match writer {
                    None => committed.add(path, &bytes),
                    Some(writer) => committed.add_log(writer, &shared_log(writer), &bytes),
                },
                Err(reason) => {
                    problems.push(format!("cannot read the judgments in `{path}`: {reason}"));
                }
            }
        }
        LayeredStore::new(Box::new(SegmentStore::open(&self.cache_dir)), committed)
    }

    /// The layers that [`Self::store`] puts together, each with its name. What cannot be read is left out.
    pub fn layers(&self, system: &dyn System) -> Layers {
        let mut layers: Layers = Vec::new();
        let shared = self.shared_files(system).unwrap_or_default();
        for ReadOnlyFile { path, writer } in self.read_only_files(shared, system) {
            let Ok(bytes) = system.read(&path).into_bytes() else { continue };
            let mut committed = CommittedStore::checked(&check_entry);
            committed.add(&path, &bytes);
            let layer = LayeredStore::new(Box::new(MemoryStore::default()), committed);
            let name = writer
                .map_or_else(|| format!("the committed file {path}"), |writer| shared_log(&writer));
            layers.push((name, Arc::new(layer)));
        }
        let local = Arc::new(SegmentStore::open(&self.cache_dir));
        layers.push((format!("the local store {}", self.cache_dir), local));
        layers
    }

    fn read_only_files(
        &self,
        shared: Vec<(String, String)>,
        system: &dyn System,
    ) -> Vec<ReadOnlyFile> {
        let committed = self.committed_files(system).into_iter();
        let committed = committed.map(|path| ReadOnlyFile { path, writer: None });
        let shared = shared.into_iter();
        let shared = shared.map(|(writer, path)| ReadOnlyFile { path, writer: Some(writer) });
        committed.chain(shared).collect()
    }
}

/// A file of outcomes to which no run adds.
struct ReadOnlyFile {
    path: String,
    /// Who wrote it, in a shared cache; none for committed judgments.
    writer: Option<String>,
}

fn shared_log(writer: &str) -> String {
    format!("the shared log of `{writer}`")
}

/// What evalrs can say of an entry: whether its body is an outcome, and its key that of the kept ingredients.
pub fn check_entry(entry: &Entry) -> Result<EntryCheck, String> {
    let stored: StoredOutcome =
        serde_json::from_str(&entry.body).map_err(|error| format!("is not an outcome: {error}"))?;
    match stored.key() {
        None => Ok(EntryCheck::Read),
        Some(key) if key == entry.key => Ok(EntryCheck::Recomputed),
        Some(key) => Err(format!("is stored under another key: its ingredients hash to {key}")),
    }
}

/// The files of committed judgments in the folder of a store, sorted.
fn committed_files(dir: &str, system: &dyn System) -> Vec<String> {
    let names = system.list(dir).unwrap_or_default().into_iter();
    names.filter(|name| name.ends_with(".judgments.jsonl")).map(|name| join(dir, &name)).collect()
}

/// What the `evalrs.toml` of the suite at `suite` says of colour, if it can be read and says anything.
pub fn color(suite: &str, system: &dyn System) -> Option<Color> {
    workspace_of(folder_of(suite), system).ok()?.1.color
}

fn workspace_of(folder: &str, system: &dyn System) -> Result<(String, Workspace), Error> {
    let mut shown = folder.to_owned();
    for (at, candidate) in folders_up(folder, system).enumerate() {
        if at > 0 {
            shown = shorter(&shown, &candidate);
        }
        let path = join(&shown, "evalrs.toml");
        match system.read(&join(&candidate, "evalrs.toml")) {
            FileBytes::Bytes(bytes) => return Ok((shown, settings(&path, &bytes)?)),
            // Folders above may be somebody else's.
            FileBytes::Unreadable(reason) if shown == folder => {
                let message = format!("cannot read the settings: {reason}");
                return Err(Diagnostic::error(Place::file(path), message).into());
            }
            _ => {}
        }
    }
    Ok((folder.to_owned(), Workspace::default()))
}

/// A folder and those above it, absolute, from the innermost out.
fn folders_up(folder: &str, system: &dyn System) -> impl Iterator<Item = String> {
    std::iter::successors(Some(whole(folder, system)), |inner| {
        let parent = folder_of(inner);
        (parent != inner && !parent.is_empty()).then(|| parent.to_owned())
    })
}

/// The files that decide what surrounds the suite at `suite`, also where they are not there.
pub fn context_files(suite: &str, system: &dyn System) -> BTreeSet<String> {
    let folder = folder_of(suite);
    let mut files = BTreeSet::from([join(folder, ".env"), ".env".to_owned()]);
    for path in folders_up(folder, system).map(|folder| join(&folder, "evalrs.toml")) {
        let is_it = matches!(system.read(&path), FileBytes::Bytes(_));
        files.insert(path);
        if is_it {
            break;
        }
    }
    files
}

/// A path from the root of the file system.
pub fn whole(path: &str, system: &dyn System) -> String {
    without_parents(&system.absolute(non_empty(path)))
}

/// An absolute path with every `..` carried out: the folder above `/a/../b` is `/`.
pub(crate) fn without_parents(absolute: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in absolute.split('/') {
        match name {
            ".." => _ = names.pop(),
            "" | "." => {}
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

fn settings(path: &str, bytes: &[u8]) -> Result<Workspace, Error> {
    let text = decode(path, bytes)?;
    let (workspace, diagnostics) = read_workspace(path, text);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Error::Diagnostics(diagnostics));
    }
    Ok(workspace)
}

/// The folder above `shown`: relative as long as it can be, so that messages stay short.
fn shorter(shown: &str, absolute: &str) -> String {
    match shown.trim_end_matches("/.").trim_end_matches('/') {
        "" | "." => absolute.to_owned(),
        shown if shown.starts_with('/') || shown.contains("..") => absolute.to_owned(),
        shown => folder_of(shown).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{SuiteContext, check_entry};
    use evalrs_model::key::{ActionKey, KEY_VERSION};
    use evalrs_store::{Entry, EntryCheck};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn the_workspace_is_the_nearest_folder_above_the_suite() {
        let files = ["/x/evalrs.toml", "/z/x/evalrs.toml"];
        let system = MemorySystem::with(&files.map(|path| (path, "")));
        for (suite, cache) in [
            ("x/suite.yaml", "x/cache"),
            ("x/y/suite.yaml", "x/cache"),
            ("x//y/suite.yaml", "x/cache"),
            ("z/suite.yaml", "z/cache"),
            // The folder the way leads through is not above the suite.
            ("z/x/../suite.yaml", "z/x/../cache"),
        ] {
            let found = SuiteContext::find(suite, None, &system).unwrap();
            assert_eq!(found.cache_dir, cache, "{suite}");
        }
    }

    #[test]
    fn the_store_is_the_same_wherever_the_command_is_run() {
        for (dir, below, inside) in [("c", "/w/x/c", "c"), ("../c", "/w/x/../c", "../c")] {
            let toml = format!("[cache]\ndir = \"{dir}\"\n");
            let system =
                MemorySystem::with(&[("/w/x/evalrs.toml", &toml), ("/evalrs.toml", &toml)]);
            for (suite, cache) in [("/w/x/y/suite.yaml", below), ("suite.yaml", inside)] {
                let found = SuiteContext::find(suite, None, &system).unwrap();
                assert_eq!(found.cache_dir, cache, "{suite}");
            }
            let system = MemorySystem::with(&[("/x/evalrs.toml", &toml)]);
            let found = SuiteContext::find("x/y/suite.yaml", None, &system).unwrap();
            assert_eq!(found.cache_dir, format!("x/{dir}"));
        }
    }

    #[test]
    fn an_entry_is_right_if_it_is_an_outcome_under_its_own_key() {
        let body = |version: u32, kind: &str| {
            format!(
                r#"{{"outcome":{{"reply":{{"text":"{{}}"}}}},"ingredients":[{{"name":"kind","preview":"{kind}"}}],"key_version":{version}}}"#
            )
        };
        let entry = |body: String| Entry { key: ActionKey([1; 32]), generation: 0, body };
        assert_eq!(check_entry(&entry(body(KEY_VERSION - 2, "judge"))), Ok(EntryCheck::Read));
        let error = check_entry(&entry(body(KEY_VERSION, "judge"))).unwrap_err();
        let key = error.strip_prefix("is stored under another key: its ingredients hash to ");
        let key = ActionKey::parse(key.unwrap()).unwrap();
        let right = Entry { key, ..entry(body(KEY_VERSION, "judge")) };
        assert_eq!(check_entry(&right), Ok(EntryCheck::Recomputed));
        assert!(check_entry(&Entry { key, ..entry(body(KEY_VERSION, "program")) }).is_err());
        for body in ["{}", r#"{"outcome":{"vision":1}}"#, r#"{"outcome":{"reply":{}}}"#] {
            let error = check_entry(&entry(body.to_owned())).unwrap_err();
            assert!(error.starts_with("is not an outcome: "), "{error}");
        }
    }
}
