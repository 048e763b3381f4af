//! Saves as editors and tools make them, in real folders, and what is heard of them. Nothing sleeps: whatever is awaited comes.
#![expect(clippy::disallowed_methods, reason = "tests save files themselves")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{Config, ErrorKind, EventHandler, RecursiveMode, Watcher, WatcherKind};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::FileWatch;
use super::shared::SharedWatch;
use evalrs_system::changed_paths::ChangedPaths;

/// How long something may take that must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many files mark the end of a step. The system tells of changes in their order, but perhaps of one in two batches: so
/// each marks one end.
const MARKS: usize = 64;

/// Something that happens to files.
type Save = fn(&Scene);

/// A folder, and somebody who looks at paths in it.
struct Scene {
    dir: TempDir,
    marks: std::ops::Range<usize>,
    runtime: Runtime,
    watch: FileWatch,
}

impl Scene {
    fn new() -> Self {
        Self::with(FileWatch::new(None).unwrap())
    }

    fn polling() -> Self {
        Self::with(FileWatch::new(Some(Duration::from_millis(2))).unwrap())
    }

    fn with(watch: FileWatch) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), marks: 0..MARKS, runtime, watch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn make(&self, folder: &str) {
        fs::create_dir_all(self.path(folder)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    #[cfg(unix)]
    fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    fn paths(&self, names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| self.path(name).to_str().unwrap().to_owned()).collect()
    }

    /// Looks at these paths and the marks, and swallows what is said of the new ones.
    #[track_caller]
    fn look_at(&mut self, names: &[&str]) {
        let before: BTreeSet<String> = self.watch.looked.keys().map(ToString::to_string).collect();
        let mut paths = self.paths(names);
        paths.extend(
            (0..MARKS).map(|mark| self.path(&mark_name(mark)).to_str().unwrap().to_owned()),
        );
        assert_eq!(self.watch.look_at(&paths), Vec::<String>::new());
        let mut new: BTreeSet<String> = paths.difference(&before).cloned().collect();
        while !new.is_empty() {
            match self.touched() {
                ChangedPaths::Only(touched) => new.retain(|path| !touched.contains(path)),
                ChangedPaths::Any => new.clear(),
            }
        }
    }

    #[track_caller]
    fn touched(&mut self) -> ChangedPaths {
        let touched = async { tokio::time::timeout(PATIENCE, self.watch.touched()).await };
        self.runtime.block_on(touched).expect("nothing was heard")
    }

    /// The names that are reported, batch after batch, until `last` is; without marks.
    #[track_caller]
    fn heard_until(&mut self, last: &str) -> BTreeSet<String> {
        let mut heard = BTreeSet::new();
        while !heard.contains(last) {
            let ChangedPaths::Only(paths) = self.touched() else { panic!("everything") };
            let name = |path: &String| {
                let name = Path::new(path).strip_prefix(self.dir.path()).unwrap();
                name.to_str().unwrap().to_owned()
            };
            heard.extend(paths.iter().map(name));
        }
        heard.retain(|name| !name.starts_with("mark-"));
        heard
    }

    /// Checks that since the last time exactly these were reported.
    #[track_caller]
    fn hears(&mut self, names: &[&str]) {
        let mark = mark_name(self.marks.next().expect("too many steps"));
        self.write(&mark, "");
        let heard = self.heard_until(&mark);
        assert_eq!(heard, names.iter().map(|name| (*name).to_owned()).collect());
    }
}

fn mark_name(mark: usize) -> String {
    format!("mark-{mark}")
}

#[test]
fn a_file_is_saved_in_every_way_that_editors_have() {
    let ways: [(&str, Save); 6] = [
        ("overwritten", |scene| scene.write("file", "new")),
        ("renamed over", |scene| {
            scene.write("file.tmp", "new");
            scene.rename("file.tmp", "file");
        }),
        ("deleted and made", |scene| {
            scene.remove("file");
            scene.write("file", "new");
        }),
        ("with a backup and a swap file", |scene| {
            scene.write(".file.swp", "swap");
            scene.rename("file", "file~");
            scene.write("file", "new");
            scene.remove("file~");
            scene.remove(".file.swp");
        }),
        ("bit by bit", |scene| {
            let mut file = fs::OpenOptions::new().append(true).open(scene.path("file")).unwrap();
            for _ in 0..3 {
                file.write_all(b"more").unwrap();
                file.sync_all().unwrap();
            }
        }),
        ("deleted", |scene| scene.remove("file")),
    ];
    let mut scene = Scene::new();
    scene.write("file", "old");
    scene.look_at(&["file"]);
    for (way, save) in ways {
        // Twice, because a watch may survive only the first time.
        for _ in 0..2 {
            if !scene.path("file").exists() {
                scene.write("file", "old");
                scene.hears(&["file"]);
            }
            save(&scene);
            eprintln!("{way}");
            scene.hears(&["file"]);
        }
    }
    scene.hears(&[]);
}

#[test]
fn what_nobody_looks_at_wakes_nobody() {
    let mut scene = Scene::new();
    scene.make("cache/v1/seg");
    scene.make(".evalrs/runs");
    scene.write("suite", "old");
    scene.look_at(&["suite"]);
    scene.write("other", "unrelated");
    scene.write(".suite.swp", "swap");
    scene.write("4913", "does vim have rights here?");
    scene.write("cache/v1/seg/1.jsonl", "a line");
    scene.write(".evalrs/runs/1.json", "{}");
    scene.write(".evalrs/latest.tmp", "1");
    scene.rename(".evalrs/latest.tmp", ".evalrs/latest");
    fs::read(scene.path("suite")).unwrap();
    fs::read_dir(scene.dir.path()).unwrap().count();
    scene.hears(&[]);
}

#[cfg(unix)]
#[test]
fn a_link_changes_with_what_it_leads_to() {
    let mut scene = Scene::new();
    scene.make("far");
    scene.make("near");
    scene.write("far/file", "old");
    scene.write("far/other", "another");
    scene.link("../far/file", "near/inner");
    scene.link("near/inner", "link");
    scene.look_at(&["link"]);

    scene.write("far/file", "new");
    scene.hears(&["link"]);

    scene.link("../far/other", "near/tmp");
    scene.rename("near/tmp", "near/inner");
    scene.hears(&["link"]);
    scene.write("far/other", "another one");
    scene.hears(&["link"]);
    scene.write("far/file", "it leads there no more");

    scene.remove("link");
    scene.write("link", "a file now");
    scene.hears(&["link"]);
    scene.write("far/other", "nor there");
    scene.hears(&[]);
}

#[cfg(unix)]
#[test]
fn a_folder_of_links_is_swapped_at_once() {
    let mut scene = Scene::new();
    for version in ["..1", "..2", "..3"] {
        scene.make(version);
        scene.write(&format!("{version}/rubric"), version);
    }
    scene.link("..1", "..data");
    scene.link("..data/rubric", "rubric");
    scene.look_at(&["rubric"]);
    for version in ["..2", "..3"] {
        scene.link(version, "..data_tmp");
        scene.rename("..data_tmp", "..data");
        scene.hears(&["rubric"]);
        scene.write(&format!("{version}/rubric"), "edited");
        scene.hears(&["rubric"]);
    }
    scene.write("..1/rubric", "left behind");
    scene.hears(&[]);
}

#[test]
fn what_is_missing_is_awaited() {
    let mut scene = Scene::new();
    scene.look_at(&["absent", "a/b/file"]);
    scene.write("absent", "there");
    scene.hears(&["absent"]);

    scene.make("a");
    scene.hears(&["a/b/file"]);
    scene.make("a/b");
    scene.hears(&["a/b/file"]);
    scene.write("a/b/other", "not this one");
    scene.write("a/b/file", "there");
    scene.hears(&["a/b/file"]);
    scene.write("a/b/file", "saved");
    scene.hears(&["a/b/file"]);
    scene.hears(&[]);
}

#[test]
fn a_folder_that_comes_back_is_watched_again() {
    let mut scene = Scene::new();
    scene.look_at(&["a/b/file"]);
    for round in 0..3 {
        scene.make("a/b");
        scene.write("a/b/file", "there");
        scene.hears(&["a/b/file"]);
        scene.write("a/b/file", "saved");
        scene.hears(&["a/b/file"]);
        if round % 2 == 0 {
            fs::remove_dir_all(scene.path("a")).unwrap();
        } else {
            scene.rename("a", "elsewhere");
        }
        scene.hears(&["a/b/file"]);
    }
    scene.write("elsewhere/b/file", "of no interest there");
    scene.hears(&[]);
}

#[test]
fn a_folder_is_replaced_within_one_batch() {
    let mut scene = Scene::new();
    scene.make("a");
    scene.write("a/file", "old");
    scene.look_at(&["a/file"]);
    for _ in 0..20 {
        fs::remove_dir_all(scene.path("a")).unwrap();
        scene.make("a");
        scene.write("a/file", "new");
        scene.hears(&["a/file"]);
        scene.write("a/file", "newer");
        scene.hears(&["a/file"]);
    }
    scene.hears(&[]);
}

#[test]
fn a_folder_on_the_way_is_exchanged_in_the_project() {
    let mut scene = Scene::new();
    scene.watch.base = scene.dir.path().canonicalize().unwrap();
    for folder in ["all/a/x", "all/b/x"] {
        scene.make(folder);
        scene.write(&format!("{folder}/file"), folder);
    }
    scene.look_at(&["all/a/x/file"]);
    scene.rename("all/a", "all/old");
    scene.rename("all/b", "all/a");
    scene.hears(&["all/a/x/file"]);
    scene.write("all/old/x/file", "of no interest there");
    scene.hears(&[]);
    scene.write("all/a/x/file", "new");
    scene.hears(&["all/a/x/file"]);
}

#[test]
fn a_folder_that_is_listed_changes_with_its_entries() {
    let mut scene = Scene::new();
    scene.make("runs");
    scene.look_at(&["runs"]);
    let changes: [Save; 5] = [
        |scene| scene.write("runs/1.json", "{}"),
        |scene| scene.write("runs/1.json", "{ }"),
        |scene| scene.rename("runs/1.json", "runs/2.json"),
        |scene| scene.remove("runs/2.json"),
        |scene| fs::remove_dir(scene.path("runs")).unwrap(),
    ];
    for change in changes {
        change(&scene);
        scene.hears(&["runs"]);
    }
    scene.make("runs");
    scene.hears(&["runs"]);
    scene.write("runs/3.json", "{}");
    scene.hears(&["runs"]);
    scene.hears(&[]);
}

#[test]
fn only_what_is_looked_at_last_is_reported() {
    let mut scene = Scene::new();
    scene.make("a");
    scene.look_at(&["a/one", "two"]);
    scene.write("a/one", "reported never: looked at no more before anybody waits");
    scene.write("two", "reported");
    scene.look_at(&["two"]);
    scene.hears(&["two"]);
    scene.write("a/one", "new");
    scene.hears(&[]);
    assert!(!scene.watch.armed.contains(&scene.path("a")));
}

#[test]
fn a_path_is_reported_as_it_was_named() {
    let mut scene = Scene::new();
    scene.make("a");
    scene.look_at(&["a/../file", "./file", "file"]);
    scene.write("file", "new");
    let ChangedPaths::Only(paths) = scene.touched() else { panic!("everything") };
    assert_eq!(paths, scene.paths(&["a/../file", "./file", "file"]));
}

#[test]
fn what_is_new_is_reported_once() {
    let mut scene = Scene::new();
    scene.write("file", "old");
    let paths = scene.paths(&["file", "absent", ""]);
    assert!(scene.watch.look_at(&paths).is_empty());
    assert_eq!(scene.touched(), ChangedPaths::Only(paths.clone()));
    assert!(scene.watch.look_at(&paths).is_empty());
    scene.look_at(&["file"]);
    scene.hears(&[]);
}

#[test]
fn nothing_is_lost_while_nobody_waits() {
    let mut scene = Scene::new();
    scene.look_at(&["one", "two"]);
    scene.write("one", "new");
    let mut heard = BTreeSet::new();
    // Dropped again and again, at whatever point of its wait.
    while scene.watch.shared.state().debounce.due().is_none() && heard.is_empty() {
        let touched = async {
            tokio::select! {
                biased;
                touched = scene.watch.touched() => Some(touched),
                () = tokio::task::yield_now() => None,
            }
        };
        if let Some(ChangedPaths::Only(paths)) = scene.runtime.block_on(touched) {
            heard = paths;
        }
    }
    scene.write("two", "new");
    let two = scene.paths(&["two"]);
    while !two.is_subset(&heard) {
        let ChangedPaths::Only(paths) = scene.touched() else { panic!("everything") };
        heard.extend(paths);
    }
    assert_eq!(heard, scene.paths(&["one", "two"]));
}

#[test]
fn a_burst_loses_nothing() {
    let mut scene = Scene::new();
    let names: Vec<String> = (0..2000).map(|number| format!("{number}.json")).collect();
    let looked: Vec<&str> = names.iter().map(String::as_str).collect();
    scene.look_at(&looked);
    for name in &names {
        scene.write(name, "{}");
    }
    let mut missing = scene.paths(&looked);
    let mut batches = 0;
    while !missing.is_empty() {
        batches += 1;
        match scene.touched() {
            ChangedPaths::Any => missing.clear(),
            ChangedPaths::Only(paths) => missing.retain(|path| !paths.contains(path)),
        }
    }
    assert!(batches < 100, "{batches} batches");
}

#[test]
fn an_overflow_is_everything_and_nothing_is_lost_after_it() {
    let mut scene = Scene::new();
    scene.make("a");
    scene.look_at(&["a/file"]);
    // As if the folder had been replaced while the queue of the system was full.
    let folder = scene.path("a");
    scene.watch.watcher.as_mut().unwrap().unwatch(&folder).unwrap();
    let event = notify::Event::new(notify::EventKind::Other);
    scene.watch.shared.hear(Ok(event.set_flag(notify::event::Flag::Rescan)));
    assert_eq!(scene.touched(), ChangedPaths::Any);
    scene.write("a/file", "new");
    scene.hears(&["a/file"]);
    scene.hears(&[]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_is_being_written_is_waited_for() {
    use notify::event::{AccessKind, AccessMode, DataChange, ModifyKind};
    use notify::{Event, EventKind};

    use super::debounce::{OPEN_QUIET, QUIET};

    let mut scene = Scene::new();
    scene.write("file", "old");
    scene.look_at(&["file"]);
    let path = scene.path("file");
    let kinds = [
        (EventKind::Modify(ModifyKind::Data(DataChange::Any)), OPEN_QUIET),
        (EventKind::Access(AccessKind::Close(AccessMode::Write)), QUIET),
    ];
    for (kind, wait) in kinds {
        let before = scene.watch.shared.moment();
        scene.watch.shared.hear(Ok(Event::new(kind).add_path(path.clone())));
        let due = scene.watch.shared.state().debounce.due();
        assert!(due.is_some_and(|due| due >= before + wait), "{kind:?}: {due:?}");
        assert!(
            due.is_some_and(|due| due <= scene.watch.shared.moment() + wait),
            "{kind:?}: {due:?}"
        );
    }
    assert!(scene.heard_until("file").contains("file"));
}

/// A machine may be busy for as long as a file is waited for, but not each time.
#[test]
#[cfg(target_os = "linux")]
fn a_file_is_reported_as_soon_as_it_is_closed() {
    use super::debounce::OPEN_QUIET;

    const TRIES: usize = 20;
    let mut scene = Scene::new();
    scene.write("file", "old");
    scene.look_at(&["file"]);
    let path = scene.path("file");
    let is_soon = |_| {
        let Scene { runtime, watch, .. } = &mut scene;
        let shared = Arc::clone(&watch.shared);
        runtime.block_on(async {
            let mut file = fs::File::create(&path).unwrap();
            file.write_all(b"half").unwrap();
            let written = shared.moment();
            let touched = async { tokio::time::timeout(PATIENCE, watch.touched()).await.unwrap() };
            let closed = async {
                // The other one waits by now, for a file that is open.
                while shared.state().debounce.due().is_none() {
                    tokio::task::yield_now().await;
                }
                tokio::task::yield_now().await;
                drop(file);
            };
            let (batch, ()) = tokio::join!(touched, closed);
            assert!(batch.has(path.to_str().unwrap()));
            shared.moment() < written + OPEN_QUIET
        })
    };
    assert!((0..TRIES).any(is_soon));
}

#[test]
fn polling_finds_what_was_saved() {
    let mut scene = Scene::polling();
    scene.make("runs");
    scene.write("file", "old");
    scene.look_at(&["file", "a/absent", "runs"]);
    let saves: [(&str, Save); 7] = [
        ("file", |scene| scene.write("file", "another length")),
        ("file", |scene| {
            scene.write("tmp", "another LENGTH");
            scene.rename("tmp", "file");
        }),
        ("file", |scene| scene.remove("file")),
        ("a/absent", |scene| {
            scene.make("a");
            scene.write("a/absent", "there");
        }),
        ("runs", |scene| scene.write("runs/1.json", "{}")),
        ("runs", |scene| scene.write("runs/1.json", "{ }")),
        ("runs", |scene| fs::remove_dir_all(scene.path("runs")).unwrap()),
    ];
    for (name, save) in saves {
        save(&scene);
        assert!(scene.heard_until(name).contains(name));
    }
    scene.look_at(&[]);
    assert_eq!(scene.watch.shared.polled().len(), MARKS);
}

/// A system that watches only so many folders.
struct Limited {
    left: usize,
}

impl Watcher for Limited {
    fn new<F: EventHandler>(_handler: F, _config: Config) -> notify::Result<Self> {
        Ok(Self { left: 0 })
    }

    fn watch(&mut self, _path: &Path, _mode: RecursiveMode) -> notify::Result<()> {
        self.left = self.left.checked_sub(1).ok_or(notify::Error::new(ErrorKind::MaxFilesWatch))?;
        Ok(())
    }

    fn unwatch(&mut self, _path: &Path) -> notify::Result<()> {
        self.left += 1;
        Ok(())
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

#[test]
fn folders_beyond_the_limit_of_the_system_are_polled() {
    let limited = Box::new(Limited { left: 1 });
    let every = Duration::from_millis(2);
    let watch = FileWatch::with(Arc::new(SharedWatch::new()), Some(limited), every).unwrap();
    let mut scene = Scene::with(watch);
    for folder in ["a", "b", "c"] {
        scene.make(folder);
    }
    let paths = scene.paths(&["a/file", "b/file", "c/file"]);
    let warnings = scene.watch.look_at(&paths);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`fs.inotify.max_user_watches`"), "{warnings:?}");
    let polled = scene.watch.shared.polled();
    let paths: BTreeMap<&str, &Path> =
        polled.iter().map(|(name, path)| (&**name, path.as_path())).collect();
    assert_eq!(
        paths.values().copied().collect::<Vec<_>>(),
        [scene.path("b/file"), scene.path("c/file")]
    );
    scene.write("c/file", "new");
    assert!(scene.heard_until("c/file").contains("c/file"));

    scene.look_at(&["b/file"]);
    assert!(scene.watch.shared.polled().len() <= 1, "a folder that is left makes room");
}
