//! Files that the words of a command name and that it writes while it runs: the output of an agent does not decide
//! its behaviour.
//!
//! A file that was not there before is an output at once. One that was may have been saved by somebody else meanwhile; so
//! the conversation is held once more, and only a file that changes again is the agent's.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::DiscoveredFiles;
use crate::launch::TargetLaunch;
use crate::programs::{WrittenStamp, stamp};
use evalrs_eval::program::ProgramIdentity;

/// A file that a conversation may write, as it is when that begins.
#[derive(Debug)]
pub(super) struct FileBefore {
    path: String,
    stamp: WrittenStamp,
    /// Whether it had changed in an earlier conversation: if it does again, that is the agent.
    is_suspect: bool,
}

/// What agents were seen to write.
#[derive(Debug, Default)]
pub(super) struct WrittenFiles {
    outputs: BTreeSet<String>,
    /// Those that changed in a conversation.
    suspects: BTreeSet<String>,
    /// Files that were not reported yet.
    news: Vec<(Arc<ProgramIdentity>, DiscoveredFiles)>,
}

impl WrittenFiles {
    /// Looks at the files that a conversation may write.
    pub(super) fn before(&self, launch: &TargetLaunch) -> Vec<FileBefore> {
        let paths = launch.start.may_write.iter();
        let open = paths.filter(|path| !self.outputs.contains(*path));
        open.map(|path| FileBefore {
            path: path.clone(),
            stamp: stamp(path),
            is_suspect: self.suspects.contains(path),
        })
        .collect()
    }

    /// Looks at them again after the conversation. Says which may have been saved by somebody else.
    pub(super) fn after(
        &mut self,
        launch: &TargetLaunch,
        before: Vec<FileBefore>,
    ) -> Option<String> {
        let mut doubtful = None;
        let mut outputs = BTreeSet::new();
        for FileBefore { path, stamp: was, is_suspect } in before {
            let is = stamp(&path);
            if self.outputs.contains(&path) {
                continue;
            }
            if is == was || is.is_none() {
                // It was somebody else who saved it, if a conversation leaves it as it is.
                if is_suspect {
                    self.suspects.remove(&path);
                }
            } else if was.is_none() || is_suspect {
                self.suspects.remove(&path);
                outputs.insert(path);
            } else {
                doubtful = Some(path.clone());
                self.suspects.insert(path);
            }
        }
        if !outputs.is_empty() {
            self.outputs.extend(outputs.iter().cloned());
            let program = Arc::clone(&launch.action.identity.program);
            self.news.push((program, DiscoveredFiles { outputs, ..DiscoveredFiles::default() }));
        }
        doubtful
    }

    /// What was found out since the last call, and of what.
    pub(super) fn take_news(&mut self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        std::mem::take(&mut self.news)
    }
}
