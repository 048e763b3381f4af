//! The files of the workers, which are part of evalrs, and the folder they are written to.
#![expect(clippy::disallowed_methods, reason = "the folder is ours alone")]

use std::path::Path;
use std::time::SystemTime;

use super::messages::ReportedFiles;
use crate::DiscoveredFiles;
use evalrs_eval::program::file_digest;
use evalrs_model::spec::Language;

/// The longest file of which it is kept what it was when a program read it, in bytes.
const MOST_DIGESTED: u64 = 64 << 20;

#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerFiles {
    pub entry: &'static str,
    /// Path below the folder, text.
    pub files: &'static [(&'static str, &'static str)],
}

/// Files beside this one, each with its text.
macro_rules! texts {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!($folder, "/", $path)))),*]
    };
}

/// The worker of Python functions, with the packages that stand in for those of Letta.
const PYTHON: WorkerFiles = WorkerFiles {
    entry: "worker.py",
    files: texts! { "python":
        "evalrs_worker/__init__.py", "evalrs_worker/binding.py", "evalrs_worker/channel.py",
        "evalrs_worker/checking.py", "evalrs_worker/faults.py", "evalrs_worker/inputs.py",
        "evalrs_worker/letta/__init__.py", "evalrs_worker/letta/classes.py",
        "evalrs_worker/letta/client.py", "evalrs_worker/letta/decorators.py",
        "evalrs_worker/letta/extracting.py", "evalrs_worker/letta/messages.py",
        "evalrs_worker/letta/models.py", "evalrs_worker/letta/placeholders.py",
        "evalrs_worker/letta/records.py", "evalrs_worker/lifetime.py", "evalrs_worker/loading.py",
        "evalrs_worker/program.py", "evalrs_worker/replies.py", "evalrs_worker/roles.py",
        "evalrs_worker/serving.py", "evalrs_worker/shims.py", "evalrs_worker/signatures.py",
        "shims/letta_client/__init__.py", "shims/letta_client/client.py",
        "shims/letta_client/types/__init__.py", "shims/letta_client/types/agents.py",
        "shims/letta_client/types/tool.py", "shims/letta_evals/__init__.py",
        "shims/letta_evals/decorators.py", "shims/letta_evals/extractors/__init__.py",
        "shims/letta_evals/extractors/builtin.py", "shims/letta_evals/extractors/utils.py",
        "shims/letta_evals/models.py", "shims/letta_evals/rewards.py", "worker.py",
    },
};

const JAVASCRIPT: WorkerFiles =
    WorkerFiles { entry: "worker.mjs", files: texts! { "javascript": "hooks.mjs", "worker.mjs" } };

/// The worker of a language; none for executables, which have none.
pub(super) fn of(language: Language) -> Option<WorkerFiles> {
    match language {
        Language::Executable => None,
        Language::Python => Some(PYTHON),
        Language::JavaScript => Some(JAVASCRIPT),
    }
}

pub(super) fn now() -> SystemTime {
    SystemTime::now()
}

/// Whether a file was written after `begin`, or another one was put in its place, however old that is.
pub(super) fn is_newer(path: &str, begin: SystemTime) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else { return false };
    let times = [metadata.modified().ok(), moved(&metadata)];
    times.into_iter().flatten().any(|time| time >= begin)
}

/// Shows that a file was written: its time and length. None where there is none.
pub(crate) type WrittenStamp = Option<(SystemTime, u64)>;

pub(crate) fn stamp(path: &str) -> WrittenStamp {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let times = [metadata.modified().ok(), moved(&metadata)];
    Some((times.into_iter().flatten().max()?, metadata.len()))
}

/// When a file came to where it is.
#[cfg(unix)]
fn moved(metadata: &std::fs::Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
    let nanos = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds + nanos)
}

#[cfg(not(unix))]
fn moved(_metadata: &std::fs::Metadata) -> Option<SystemTime> {
    None
}

/// What a worker that began at `began` reports, with the states of the files. A file that was written since may have been
/// loaded before that: only one that is older is what was loaded.
pub(super) fn seen(reported: ReportedFiles, began: SystemTime) -> DiscoveredFiles {
    let ReportedFiles { files, missed, reads } = reported;
    let state = |path: String| {
        // Read first: then what is written after that is newer too.
        let digest = file_digest(std::fs::read(&path).ok().as_deref());
        let is_known = !is_newer(&path, began);
        (path, is_known.then_some(digest))
    };
    // The file that is there now is the best guess of what was read: nothing is kept by it, it is only warned of.
    let read = |path: String| {
        let is_small = std::fs::metadata(&path).is_ok_and(|data| data.len() <= MOST_DIGESTED);
        let digest = is_small.then(|| file_digest(std::fs::read(&path).ok().as_deref()));
        (path, digest)
    };
    DiscoveredFiles {
        files: files.into_iter().map(state).collect(),
        missed: missed.into_iter().collect(),
        reads: reads.into_iter().map(read).collect(),
        ..DiscoveredFiles::default()
    }
}

pub(super) fn write(files: &[(&str, &str)], folder: &Path) -> std::io::Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text)?;
        let mut permissions = std::fs::metadata(&path)?.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::of;
    use evalrs_model::spec::Language;

    /// The files below `folder` with one of these endings.
    fn found(folder: &Path, endings: &[&str], prefix: &str, all: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                found(&path, endings, &format!("{name}/"), all);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                all.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_a_worker_is_embedded() {
        for (language, folder, endings) in [
            (Language::Python, "python", &[".py"][..]),
            (Language::JavaScript, "javascript", &[".mjs"]),
        ] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/programs").join(folder);
            let mut all = BTreeSet::new();
            found(&root, endings, "", &mut all);
            let embedded = of(language).unwrap().files.iter().map(|(name, _)| (*name).to_owned());
            assert_eq!(embedded.collect::<BTreeSet<_>>(), all);
        }
    }
}
