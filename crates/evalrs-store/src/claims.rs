//! Which calls other live processes have in flight over the same store, so that no call is paid for twice.
//!
//! Each process that makes calls has a file in `v1/live` and adds a line to it for each of them: `+KEY` before it is sent,
//! `-KEY` once its outcome is stored or given up. It writes its claim first and looks at those of others then. So of two
//! processes that want the same call at once, at least one sees the other, and withdraws. Nobody waits for a lock.
//!
//! A claim counts while its process lives: while the file is locked, and was touched within [`MAX_SILENCE`]. The lock ends
//! with a killed process at once; a stopped one keeps it, and falls silent.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::segment::files::{names_in, process_name};
use evalrs_model::key::{ActionKey, KeySet};

/// How often a process tries to claim a call that another one claims at the same moment.
const ATTEMPTS: usize = 3;

/// How often a process touches its file.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long a process may be silent before nobody waits for it any more.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// After this long nobody comes back, where locks do not show who has ended.
const ABANDONED: Duration = Duration::from_hours(1);

/// A folder that changed less than this ago may have changed again without another time of change, where times are whole
/// seconds.
const COARSE: Duration = Duration::from_secs(2);

/// The same where they are finer.
const TICK: Duration = Duration::from_millis(20);

/// Elsewhere a lock keeps others from reading the file, so there only the time of its last change counts.
const IS_LOCKED: bool = cfg!(unix);

const EXTENSION: &str = "claims";

/// Takes the lock of a file, if the file system has locks and nobody holds it.
pub(crate) type TryLock = fn(&File) -> Result<(), TryLockError>;

/// The claims of this process and of all others.
pub(crate) struct Claims {
    folder: PathBuf,
    pub(crate) try_lock: TryLock,
    own: OwnClaims,
    /// What this process has in flight.
    held: KeySet,
    others: BTreeMap<String, OtherClaims>,
    /// When the folder had changed last, when it was listed.
    changed: Option<SystemTime>,
    /// What others have released and nobody has looked up since.
    released: KeySet,
    /// Whether processes may have come or gone since the store was looked at.
    has_moved: bool,
    warning: Option<String>,
}

#[derive(Default)]
enum OwnClaims {
    #[default]
    None,
    Some(OwnFile),
    /// The file cannot be made, locked or written.
    Impossible,
}

struct OwnFile {
    name: String,
    path: PathBuf,
    file: File,
    /// Ends the thread that touches the file.
    stop: Option<Sender<()>>,
    touching: Option<JoinHandle<()>>,
}

/// The file of another process, as far as it was read.
struct OtherClaims {
    file: File,
    end: u64,
    claimed: KeySet,
    changed: SystemTime,
    /// When its last change was seen.
    seen: Instant,
}

impl Claims {
    /// The claims in the folder `live`, which need not exist.
    pub(crate) fn of(live: PathBuf) -> Self {
        Self {
            folder: live,
            try_lock: File::try_lock,
            own: OwnClaims::default(),
            held: KeySet::default(),
            others: BTreeMap::new(),
            changed: None,
            released: KeySet::default(),
            has_moved: false,
            warning: None,
        }
    }

    /// That calls are not shared, if that was not said yet.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// Claims a call for this process. False if another one has it in flight.
    pub(crate) fn claim(&mut self, key: ActionKey) -> bool {
        for _ in 0..ATTEMPTS {
            let Some(name) = self.write(&format!("+{key}\n")) else { return true };
            self.look();
            let rivals = self.rivals(key);
            if rivals.is_empty() {
                self.held.insert(key);
                return true;
            }
            // Of those that claim it at the same moment, the first by name tries again.
            self.write(&format!("-{key}\n"));
            if rivals.iter().any(|rival| *rival < name) {
                return false;
            }
        }
        false
    }

    /// Releases calls that are not in flight any more.
    pub(crate) fn release(&mut self, keys: &[ActionKey]) {
        let held = keys.iter().filter(|key| self.held.remove(key));
        let lines: Vec<String> = held.map(|key| format!("-{key}\n")).collect();
        if !lines.is_empty() {
            self.write(&lines.concat());
        }
    }

    /// Those of `keys` that no other live process has in flight.
    pub(crate) fn free(&mut self, keys: &[ActionKey]) -> Vec<ActionKey> {
        self.look();
        keys.iter().filter(|key| self.rivals(**key).is_empty()).copied().collect()
    }

    /// Whether another process may have stored an outcome of `key` since the last call that said so.
    pub(crate) fn take_news(&mut self, key: ActionKey) -> bool {
        let is_blind = matches!(self.own, OwnClaims::Impossible);
        let is_news = self.has_moved || is_blind || self.released.contains(&key);
        if is_news {
            self.has_moved = false;
            self.released.clear();
        }
        is_news
    }

    /// Adds lines to the file of this process, which is made if there is none yet, and returns its name.
    fn write(&mut self, lines: &str) -> Option<String> {
        if matches!(self.own, OwnClaims::None) {
            self.own = self.create();
        }
        let OwnClaims::Some(own) = &mut self.own else { return None };
        match own.file.write_all(lines.as_bytes()) {
            Ok(()) => Some(own.name.clone()),
            Err(_) => {
                self.own = OwnClaims::Impossible;
                None
            }
        }
    }

    /// Makes the file of this process. Without locks nobody could see that it has ended.
    fn create(&mut self) -> OwnClaims {
        match OwnFile::create(&self.folder, self.try_lock) {
            Ok(own) => OwnClaims::Some(own),
            Err(NoClaims::Unwritten) => OwnClaims::Impossible,
            Err(NoClaims::Unlocked(error)) => {
                let folder = self.folder.display();
                self.warning = Some(format!(
                    "files in `{folder}` cannot be locked ({error}): before each call the store is looked at, but \
                    processes that call at the same moment do not see each other"
                ));
                OwnClaims::Impossible
            }
        }
    }

    /// The other live processes that have this call in flight.
    fn rivals(&mut self, key: ActionKey) -> Vec<String> {
        let claiming = self.others.iter().filter(|(_, other)| other.claimed.contains(&key));
        let claiming: Vec<String> = claiming.map(|(name, _)| name.clone()).collect();
        claiming.into_iter().filter(|name| self.is_live(name)).collect()
    }

    fn is_live(&mut self, name: &str) -> bool {
        let Some(other) = self.others.get_mut(name) else { return false };
        if other.has_ended(self.try_lock) || other.seen.elapsed() > ABANDONED {
            self.bury(name);
            return false;
        }
        other.seen.elapsed() < MAX_SILENCE
    }

    /// Forgets a process that has ended, and removes what it left.
    fn bury(&mut self, name: &str) {
        let _ = fs::remove_file(self.folder.join(name));
        self.forget(name);
    }

    fn forget(&mut self, name: &str) {
        self.others.remove(name);
        self.has_moved = true;
    }

    /// Reads what others have added since.
    fn look(&mut self) {
        let changed = fs::metadata(&self.folder).and_then(|folder| folder.modified()).ok();
        let is_within = |most: Duration| {
            changed.is_none_or(|changed| changed.elapsed().map_or(true, |since| since < most))
        };
        let has_changed = changed != self.changed;
        // A process may have come and gone since the last look: its outcomes are stored.
        self.has_moved |= has_changed || is_within(TICK);
        if has_changed || is_within(changed.map_or(COARSE, tick)) {
            self.changed = changed;
            self.list();
        }
        for other in self.others.values_mut() {
            // What cannot be read is not waited for.
            let _ = other.read(&mut self.released);
        }
    }

    fn list(&mut self) {
        let names = names_in(&self.folder, EXTENSION).unwrap_or_default();
        let gone = self.others.keys().filter(|name| !names.contains(name)).cloned();
        for name in gone.collect::<Vec<String>>() {
            self.forget(&name);
        }
        for name in names {
            let is_own = matches!(&self.own, OwnClaims::Some(own) if own.name == name);
            if is_own || self.others.contains_key(&name) {
                continue;
            }
            if let Ok(other) = OtherClaims::open(&self.folder.join(&name)) {
                self.others.insert(name.clone(), other);
                self.has_moved = true;
                self.is_live(&name);
            }
        }
    }
}

/// Why a process has no file of claims.
enum NoClaims {
    /// It cannot be made: nor can a segment, which says so.
    Unwritten,
    Unlocked(io::Error),
}

impl From<io::Error> for NoClaims {
    fn from(_: io::Error) -> Self {
        Self::Unwritten
    }
}

impl OwnFile {
    fn create(folder: &Path, try_lock: TryLock) -> Result<Self, NoClaims> {
        fs::create_dir_all(folder)?;
        loop {
            let name = format!("{}.{EXTENSION}", process_name());
            let path = folder.join(&name);
            let file = File::options().append(true).create_new(true).open(&path)?;
            let locked = if IS_LOCKED { try_lock(&file) } else { Ok(()) };
            match locked {
                // Somebody may have taken it for the file of a process that has ended, before it was locked.
                Ok(()) if !path.exists() => {}
                Ok(()) => return Ok(Self::touched(name, path, file)?),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    let _ = fs::remove_file(&path);
                    return Err(NoClaims::Unlocked(error));
                }
            }
        }
    }

    /// The file, with the thread that touches it.
    fn touched(name: String, path: PathBuf, file: File) -> io::Result<Self> {
        let touched = file.try_clone()?;
        let (stop, stopped) = mpsc::channel::<()>();
        let touch = move || {
            while stopped.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                let _ = touched.set_modified(SystemTime::now());
            }
        };
        let touching = std::thread::Builder::new().name("claims".to_owned()).spawn(touch)?;
        Ok(Self { name, path, file, stop: Some(stop), touching: Some(touching) })
    }
}

/// Whatever was in flight is not any more.
impl Drop for OwnFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        drop(self.stop.take());
        if let Some(touching) = self.touching.take() {
            let _ = touching.join();
        }
    }
}

impl OtherClaims {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let changed = file.metadata()?.modified()?;
        let now = Instant::now();
        let seen = changed.elapsed().ok().and_then(|since| now.checked_sub(since)).unwrap_or(now);
        Ok(Self { file, end: 0, claimed: KeySet::default(), changed, seen })
    }

    /// Reads the lines that were added since, and adds what they release to `released`.
    fn read(&mut self, released: &mut KeySet) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let changed = metadata.modified()?;
        if changed != self.changed {
            self.changed = changed;
            self.seen = Instant::now();
        }
        if metadata.len() <= self.end {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut text = Vec::new();
        self.file.read_to_end(&mut text)?;
        // The last line may still be on its way.
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
        {
            self.end += line.len() as u64;
            let Some(key) = key_of(line) else { continue };
            if line[0] == b'+' {
                self.claimed.insert(key);
            } else {
                self.claimed.remove(&key);
                released.insert(key);
            }
        }
        Ok(())
    }

    /// Whether its process has ended: then nobody has the lock.
    fn has_ended(&self, try_lock: TryLock) -> bool {
        IS_LOCKED && try_lock(&self.file).is_ok()
    }
}

/// How long a folder may change again after this time of change without another one.
fn tick(changed: SystemTime) -> Duration {
    let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    if since.subsec_nanos() == 0 { COARSE } else { TICK }
}

fn key_of(line: &[u8]) -> Option<ActionKey> {
    let hex = line
        .trim_ascii_end()
        .strip_prefix(b"+")
        .or_else(|| line.trim_ascii_end().strip_prefix(b"-"))?;
    blake3::Hash::from_hex(hex).ok().map(|hash| ActionKey(*hash.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{COARSE, TICK, tick};

    #[test]
    fn times_of_whole_seconds_are_of_a_coarse_clock() {
        for (nanoseconds, expected) in [
            (0, COARSE),
            (1_000_000_000, COARSE),
            (1_700_000_001_000_000_000, COARSE),
            (1_700_000_001_000_000_100, TICK),
            (1_700_000_001_010_000_000, TICK),
        ] {
            let changed = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
            assert_eq!(tick(changed), expected, "{nanoseconds}");
        }
    }
}
