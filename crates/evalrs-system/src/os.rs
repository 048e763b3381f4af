//! The real system: the only code, with the store, that touches files, the environment and the clock.
#![expect(clippy::disallowed_methods, reason = "this is where the effects are")]

use std::collections::BTreeMap;
use std::io::{
    BufRead, BufReader, BufWriter, Error, ErrorKind, IntoInnerError, IsTerminal, Read, Write,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

#[cfg(unix)]
use super::FileIdentity;
#[cfg(unix)]
use super::FileState;
#[cfg(unix)]
use super::contents::{PathContent, contents_on_disk};
use super::{Contents, FileBytes, System, WriteStamp, is_stream, version_in};
use evalrs_base::file_path::{folder_of, join, non_empty};

/// Files of this size are read by two threads: getting memory for them takes most of the time.
#[cfg(unix)]
const LARGE: usize = 8 << 20;

/// The most that is read of a stream, in bytes: its length is not known.
const STREAM_LIMIT: u64 = 512 << 20;

/// How long a program may take to say its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);
/// The bytes of what it says that are read.
const VERSION_BYTES: u64 = 1 << 16;

/// The system this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsSystem;

impl System for OsSystem {
    fn read(&self, path: &str) -> FileBytes {
        match read_whole(path) {
            Ok(bytes) => FileBytes::Bytes(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => FileBytes::Missing,
            Err(_) if Path::new(path).is_dir() => FileBytes::Folder,
            Err(error) => FileBytes::Unreadable(error.to_string()),
        }
    }

    fn open(&self, path: &str) -> std::io::Result<Box<dyn BufRead>> {
        check_kind(path, &std::fs::metadata(path)?)?;
        let file = std::fs::File::open(path)?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(folder).ok()?;
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Some(names)
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()> {
        write_atomically(path, contents).map_err(naming(path))
    }

    fn is_link(&self, path: &str) -> bool {
        std::fs::symlink_metadata(path).is_ok_and(|entry| entry.is_symlink())
    }

    #[cfg(unix)]
    fn identity(&self, path: &str) -> Option<FileIdentity> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileIdentity { device: metadata.dev(), number: metadata.ino() })
    }

    fn stamp(&self, path: &str) -> Option<WriteStamp> {
        let metadata = std::fs::metadata(path).ok()?;
        let modified = Timestamp::try_from(metadata.modified().ok()?).ok()?;
        Some(WriteStamp { bytes: metadata.len(), modified: modified.to_string() })
    }

    #[cfg(unix)]
    fn state(&self, path: &str) -> Option<FileState> {
        Some(FileState::of(path))
    }

    #[cfg(unix)]
    fn contents(&self, paths: &[&str]) -> Vec<PathContent> {
        contents_on_disk(paths)
    }

    fn link(&self, from: &str, to: &str) -> bool {
        made_folder_of(to).is_ok() && std::fs::hard_link(from, to).is_ok()
    }

    fn link_target(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(path).ok()?;
        Some(join(folder_of(path), target.to_str()?))
    }

    #[cfg(unix)]
    fn protect(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt;
        let Ok(metadata) = std::fs::metadata(path) else { return };
        let mode = metadata.permissions().mode() & !0o222;
        // A file system without modes has it as it is.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    }

    fn create(&self, path: &str) -> std::io::Result<Box<dyn Write>> {
        made_folder_of(path).map_err(naming(path))?;
        let file = std::fs::File::create(path).map_err(naming(path))?;
        Ok(Box::new(file))
    }

    fn make_executable(&self, path: &str) -> std::io::Result<()> {
        executable_by_all(path).map_err(naming(path))
    }

    #[cfg(unix)]
    fn is_executable(&self, path: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
    }

    #[cfg(unix)]
    fn owner_mode(&self, path: &str) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        Some(std::fs::metadata(path).ok()?.mode() >> 6 & 0o7)
    }

    fn stdin(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            stdin.lock().read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        append_durably(path, bytes).map_err(naming(path))
    }

    fn make_folder(&self, path: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(path).map_err(naming(path))
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        std::fs::remove_dir_all(path).map_err(naming(path))
    }

    fn environment(&self) -> BTreeMap<String, String> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    fn absolute(&self, path: &str) -> String {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
        absolute.to_string_lossy().into_owned()
    }

    fn resolved(&self, path: &str) -> String {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let found = absolute.ancestors().find_map(|above| above.canonicalize().ok());
        found.unwrap_or(absolute).to_string_lossy().into_owned()
    }

    fn find_program(&self, name: &str) -> Option<String> {
        if name.contains('/') {
            return is_program(Path::new(name)).then(|| self.absolute(name));
        }
        let path = std::env::var_os("PATH")?;
        let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
        let found: PathBuf = candidates.find(|candidate| is_program(candidate))?;
        found.to_str().map(|found| self.absolute(found))
    }

    fn version_of(
        &self,
        path: &str,
        cwd: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        let metadata = std::fs::metadata(path).ok()?;
        let question = VersionQuestion {
            path: path.to_owned(),
            written: metadata.modified().ok(),
            cwd: cwd.to_owned(),
            environment: environment.clone(),
        };
        // Held while it is asked: whoever wants to know the same waits for the answer.
        let mut versions = versions();
        if let Some(version) = versions.get(&question) {
            return version.clone();
        }
        let mut command = Command::new(path);
        command.arg("--version").current_dir(cwd).env_clear().envs(environment);
        let said = said_by(&mut command, VERSION_PATIENCE);
        let version = said.and_then(|said| version_in(&said));
        versions.insert(question, version.clone());
        version
    }

    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    fn time_of_day(&self, at: Timestamp) -> String {
        at.to_zoned(TimeZone::system()).strftime("%H:%M").to_string()
    }

    fn elapsed(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// Puts the path of a file before what is wrong with it.
fn naming(path: &str) -> impl Fn(Error) -> Error {
    move |error| Error::new(error.kind(), format!("`{path}`: {error}"))
}

/// All that the version of a program hangs on, as far as it can be seen.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VersionQuestion {
    path: String,
    written: Option<SystemTime>,
    cwd: String,
    environment: BTreeMap<String, String>,
}

/// The versions that programs reported; none for those that did not.
fn versions() -> MutexGuard<'static, BTreeMap<VersionQuestion, Option<String>>> {
    static VERSIONS: Mutex<BTreeMap<VersionQuestion, Option<String>>> = Mutex::new(BTreeMap::new());
    VERSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the versions of all programs read again: one had another version than it reported.
pub fn forget_versions() {
    versions().clear();
}

/// Whether a file can be executed, as far as its permissions say.
#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// What a program prints, if it succeeds within its time.
fn said_by(command: &mut Command, patience: Duration) -> Option<String> {
    let (output, input) = std::io::pipe().ok()?;
    command.stdin(Stdio::null()).stdout(input.try_clone().ok()?).stderr(input);
    let mut child = command.spawn().ok()?;
    // The command holds the other end of the pipe, which would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let kill = killer(&child);
    let (sender, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let is_read = output.take(VERSION_BYTES).read_to_end(&mut text).is_ok();
        let is_fine = child.wait().is_ok_and(|status| status.success());
        sender.send((is_read && is_fine).then_some(text))
    });
    let Ok(said) = said.recv_timeout(patience) else {
        kill();
        return None;
    };
    said.map(|said| String::from_utf8_lossy(&said).into_owned())
}

#[cfg(unix)]
fn killer(child: &std::process::Child) -> impl FnOnce() + use<> {
    use rustix::process::{Pid, Signal, kill_process};
    let id = Pid::from_child(child);
    move || {
        // It may have ended by itself.
        let _ = kill_process(id, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn killer(_child: &std::process::Child) -> impl FnOnce() + use<> {
    || ()
}

/// Makes the folder of a file, and reports which it is.
fn made_folder_of(path: &str) -> std::io::Result<&str> {
    let folder = non_empty(folder_of(path));
    std::fs::create_dir_all(folder)?;
    Ok(folder)
}

fn append_durably(path: &str, bytes: &[u8]) -> std::io::Result<()> {
    made_folder_of(path)?;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Refuses what may never end, or never begin: devices, and pipes that somebody left in a folder.
fn check_kind(path: &str, metadata: &std::fs::Metadata) -> std::io::Result<()> {
    if metadata.is_file() || metadata.is_dir() || is_stream(path) {
        return Ok(());
    }
    Err(Error::other("it is not a regular file"))
}

fn read_stream(path: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(STREAM_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STREAM_LIMIT {
        let message = format!("it is a stream of more than {} MB", STREAM_LIMIT >> 20);
        return Err(Error::other(message));
    }
    Ok(bytes)
}

/// Reads a file. One that changes meanwhile is read as it is found, as any reader would.
#[cfg(unix)]
fn read_whole(path: &str) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let metadata = std::fs::metadata(path)?;
    check_kind(path, &metadata)?;
    if !metadata.is_file() && !metadata.is_dir() {
        return read_stream(path);
    }
    let file = std::fs::File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length < LARGE || length > isize::MAX as usize {
        return std::fs::read(path);
    }
    let mut bytes = vec![0; length];
    let (first, second) = bytes.split_at_mut(length / 2);
    let at = first.len() as u64;
    let is_read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| file.read_exact_at(first, 0).is_ok());
        let is_read = file.read_exact_at(second, at).is_ok();
        is_read & reader.join().unwrap_or(false)
    });
    // One that is shorter or longer by now is read in the order in which it is written.
    if is_read && file.metadata()?.len() == length as u64 { Ok(bytes) } else { std::fs::read(path) }
}

#[cfg(not(unix))]
fn read_whole(path: &str) -> std::io::Result<Vec<u8>> {
    check_kind(path, &std::fs::metadata(path)?)?;
    std::fs::read(path)
}

fn write_atomically(path: &str, contents: Contents<'_>) -> std::io::Result<()> {
    // A link stays one: what it leads to is written.
    let target = if OsSystem.is_link(path) { std::fs::canonicalize(path).ok() } else { None };
    let target = target.as_deref().and_then(std::path::Path::to_str).unwrap_or(path);
    let folder = made_folder_of(target)?;
    let mut file = BufWriter::new(tempfile::NamedTempFile::new_in(folder)?);
    contents(&mut file)?;
    file.flush()?;
    let file = file.into_inner().map_err(IntoInnerError::into_error)?;
    allow_as_before(target, file.as_file())?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Temporary files are made for their owner alone. What was there before keeps its permissions; records are for everybody,
/// as any file a program writes.
#[cfg(unix)]
fn allow_as_before(path: &str, file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let everybody = || std::fs::Permissions::from_mode(0o644);
    let before = std::fs::metadata(path).map(|before| before.permissions());
    file.set_permissions(before.unwrap_or_else(|_| everybody()))
}

#[cfg(not(unix))]
fn allow_as_before(_path: &str, _file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn executable_by_all(path: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable_by_all(_path: &str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::process::Command;
    use std::time::Duration;

    use super::{OsSystem, forget_versions, said_by};
    use crate::System;

    #[cfg(unix)]
    #[test]
    fn programs_are_found_and_say_their_version() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tool").to_string_lossy().into_owned();
        std::fs::write(&path, "#!/bin/sh\necho \"tool $1 4.2.1\" >&2\n").unwrap();
        assert_eq!(OsSystem.find_program(&path), None, "it cannot be executed");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(OsSystem.find_program(&path), Some(path.clone()));
        let version = |path: &str| OsSystem.version_of(path, "/", &BTreeMap::new());
        assert_eq!(version(&path).as_deref(), Some("4.2.1"));
        assert!(OsSystem.find_program("sh").is_some_and(|path| path.ends_with("/sh")));
        assert_eq!(OsSystem.find_program("no-program-of-this-name"), None);
        assert_eq!(version("/nowhere/tool"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_written_file_keeps_its_permissions_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let mode = |name: &str| std::fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
        let write = |name: &str| OsSystem.write(&path(name), &mut |file| file.write_all(b"new"));
        std::fs::write(path("old"), "old").unwrap();
        std::fs::set_permissions(path("old"), PermissionsExt::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(path("old"), path("link")).unwrap();
        write("link").unwrap();
        write("other").unwrap();
        assert_eq!(std::fs::read_to_string(path("old")).unwrap(), "new");
        assert!(std::fs::symlink_metadata(path("link")).unwrap().is_symlink());
        assert_eq!((mode("old"), mode("other")), (0o640, 0o644));
    }

    #[cfg(unix)]
    #[test]
    fn versions_are_those_of_a_folder_and_an_environment_and_asked_once() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let script = "#!/bin/sh\necho + >> $0.asked\nread major < major\necho $major.$MINOR\n";
        std::fs::write(path("tool"), script).unwrap();
        std::fs::set_permissions(path("tool"), PermissionsExt::from_mode(0o755)).unwrap();
        for major in ["3", "4"] {
            std::fs::create_dir(path(major)).unwrap();
            std::fs::write(path(&format!("{major}/major")), major).unwrap();
        }
        let environment = |minor: &str| BTreeMap::from([("MINOR".to_owned(), minor.to_owned())]);
        let version = |cwd: &str, minor: &str| {
            OsSystem.version_of(&path("tool"), &path(cwd), &environment(minor)).unwrap_or_default()
        };
        for _ in 0..2 {
            let versions = [version("3", "1"), version("4", "1"), version("3", "2")];
            assert_eq!(versions, ["3.1", "4.1", "3.2"]);
            assert_eq!(version("nowhere", "1"), "");
            assert_eq!(std::fs::read_to_string(path("tool.asked")).unwrap(), "+\n+\n+\n");
        }
        forget_versions();
        assert_eq!(version("3", "1"), "3.1");
        assert_eq!(std::fs::read_to_string(path("tool.asked")).unwrap(), "+\n+\n+\n+\n");
    }

    #[cfg(unix)]
    #[test]
    fn who_does_not_say_it_in_time_or_fails_has_no_version() {
        let shell = |script: &str, patience: u64| {
            let patience = Duration::from_millis(patience);
            said_by(Command::new("/bin/sh").args(["-c", script]), patience)
        };
        assert_eq!(shell("echo 1.2", 5_000).as_deref(), Some("1.2\n"));
        assert_eq!(shell("echo 1.2; exit 1", 5_000), None);
        assert_eq!(shell("exec sleep 10", 50), None);
        assert_eq!(shell("echo 1.2; exec sleep 10 >&- 2>&-", 50), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_files_are_read_and_what_a_shell_hands_over() {
        use std::os::fd::AsRawFd;
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo").to_string_lossy().into_owned();
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in ["/dev/zero", fifo.as_str()] {
            let reason = OsSystem.read(path).into_bytes().unwrap_err();
            assert_eq!(reason, "it is not a regular file", "{path}");
            assert!(OsSystem.open(path).is_err(), "{path}");
        }
        assert_eq!(OsSystem.read("/dev/null").into_bytes(), Ok(Vec::new()));
        let (output, mut input) = std::io::pipe().unwrap();
        input.write_all(b"a row").unwrap();
        drop(input);
        let path = format!("/dev/fd/{}", output.as_raw_fd());
        assert_eq!(OsSystem.read(&path).into_bytes(), Ok(b"a row".to_vec()));
    }

    #[test]
    fn what_is_appended_stands_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/folder/log").to_string_lossy().into_owned();
        OsSystem.append(&path, b"one\n").unwrap();
        OsSystem.append(&path, b"two\n").unwrap();
        let mut text = String::new();
        OsSystem.open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
        let folder = dir.path().to_string_lossy().into_owned();
        let error = OsSystem.append(&folder, b"x").unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{folder}`: ")), "{error}");
        assert!(OsSystem.open(&format!("{folder}/none")).is_err());
    }

    #[test]
    fn a_created_file_is_emptied_and_grows_as_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/out").to_string_lossy().into_owned();
        for text in ["a long line\n", "b\n"] {
            let mut file = OsSystem.create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(OsSystem.read(&path).into_bytes(), Ok(text.as_bytes().to_vec()));
        }
        let folder = dir.path().to_string_lossy().into_owned();
        let error = OsSystem.create(&folder).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{folder}`: ")), "{error}");
    }
}
