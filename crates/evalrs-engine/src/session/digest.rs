//! The digests of files that were read: blake3, for records of runs.

use std::sync::{Arc, LazyLock};

/// The digest of a file. That of a large one is worked out beside what waits for nothing of it.
#[derive(Clone)]
pub struct FileDigest(Arc<Work>);

type Work = LazyLock<String, Box<dyn FnOnce() -> String + Send>>;

impl std::fmt::Debug for FileDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for FileDigest {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for FileDigest {}

impl FileDigest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let text = hex(bytes);
        Self(Arc::new(LazyLock::new(Box::new(|| text))))
    }

    /// A digest that is known already.
    pub fn known(text: String) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| text))))
    }

    /// The digest of `bytes`, worked out on a thread of its own.
    pub fn beside(bytes: &Arc<impl AsRef<[u8]> + Send + Sync + 'static>) -> Self {
        let own = Arc::clone(bytes);
        let work = std::thread::Builder::new().spawn(move || hex((*own).as_ref()));
        let Ok(work) = work else { return Self::of((**bytes).as_ref()) };
        Self(Arc::new(LazyLock::new(Box::new(move || work.join().unwrap_or_default()))))
    }

    /// Lower-case hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
