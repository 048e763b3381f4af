//! What of a shared cache is on this machine: the newest heads that were believed, and the objects that they list.

use evalrs_base::file_path::join;
use evalrs_system::{FileBytes, System};

use crate::head::{ReadHead, sha256};
use crate::trust::{ReaderTrust, is_writer};

/// The folder of what was read from one bucket.
#[derive(Clone, Debug)]
pub struct LocalCopy {
    folder: String,
}

/// How many digits name a bucket.
const DIGITS: usize = 16;

impl LocalCopy {
    /// That of the bucket at `url`, among the records of a workspace.
    pub fn of(records: &str, url: &str) -> Self {
        let name = &sha256(url.as_bytes())[..DIGITS];
        Self { folder: join(records, &format!("shared/{name}")) }
    }

    /// The newest head of a writer that was seen, if it is believed now.
    pub fn head(&self, writer: &str, trust: &ReaderTrust, system: &dyn System) -> Option<ReadHead> {
        let bytes = self.head_bytes(writer, system)?;
        let seq = ReadHead::read(&bytes).ok()?.head.seq;
        trust.read(writer, seq, &bytes).ok()
    }

    fn head_bytes(&self, writer: &str, system: &dyn System) -> Option<Vec<u8>> {
        is_writer(writer).then(|| self.path(&format!("heads/{writer}"))).and_then(|path| {
            match system.read(&path) {
                FileBytes::Bytes(bytes) => Some(bytes),
                _ => None,
            }
        })
    }

    pub(crate) fn keep_head(
        &self,
        writer: &str,
        bytes: &[u8],
        system: &dyn System,
    ) -> std::io::Result<()> {
        let path = self.path(&format!("heads/{writer}"));
        system.write(&path, &mut |file| file.write_all(bytes))
    }

    /// The path of the lines of an object.
    pub fn segment(&self, sha256: &str) -> String {
        self.path(&format!("segments/{sha256}.jsonl"))
    }

    /// Whether an object is here.
    pub fn has(&self, sha256: &str, system: &dyn System) -> bool {
        system.stamp(&self.segment(sha256)).is_some()
    }

    pub(crate) fn keep(
        &self,
        sha256: &str,
        lines: &[u8],
        system: &dyn System,
    ) -> std::io::Result<()> {
        system.write(&self.segment(sha256), &mut |file| file.write_all(lines))
    }

    /// The files of lines that are believed now, each with its writer, in the order of `believe`.
    pub fn believed(&self, trust: &ReaderTrust, system: &dyn System) -> Vec<(String, String)> {
        let heads = trust.believe.iter().filter_map(|writer| {
            let head = self.head(writer, trust, system)?;
            Some((writer, head))
        });
        let files = heads.flat_map(|(writer, head)| {
            let segments = head.head.segments.into_iter();
            let here = segments.filter(|segment| self.has(&segment.sha256, system));
            here.map(|segment| (writer.clone(), self.segment(&segment.sha256))).collect::<Vec<_>>()
        });
        files.collect()
    }

    fn path(&self, name: &str) -> String {
        join(&self.folder, name)
    }
}
