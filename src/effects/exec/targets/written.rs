//! Files that the words of a command name and that it writes while it runs: what an agent writes is no part of what
//! decides what it does.
//!
//! A file that was not there before is an output at once. One that was may have been saved by somebody else meanwhile; so
//! the conversation is held once more, and only a file that changes again is the agent's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::TargetLaunch;
use crate::effects::exec::Discovered;
use crate::effects::exec::programs::{WrittenStamp, stamp};
use crate::pipeline::program::ProgramIdentity;

/// The files that a conversation may write, as they are when it begins.
pub(super) type FilesBefore = Vec<(String, WrittenStamp)>;

/// What agents were seen to write.
#[derive(Debug, Default)]
pub(super) struct WrittenFiles {
    /// The files that they write.
    outputs: BTreeSet<String>,
    /// Those that changed in a conversation, as it left them.
    suspects: BTreeMap<String, WrittenStamp>,
    /// What nobody was told of yet.
    news: Vec<(Arc<ProgramIdentity>, Discovered)>,
}

impl WrittenFiles {
    /// Looks at the files that a conversation may write.
    pub(super) fn before(&self, launch: &TargetLaunch) -> FilesBefore {
        let paths = launch.start.may_write.iter();
        let open = paths.filter(|path| !self.outputs.contains(*path));
        open.map(|path| (path.clone(), stamp(path))).collect()
    }

    /// Looks at them again after the conversation was held. Says which may have been saved by somebody else.
    pub(super) fn after(&mut self, launch: &TargetLaunch, before: FilesBefore) -> Option<String> {
        let mut doubtful = None;
        let mut outputs = BTreeSet::new();
        for (path, was) in before {
            let suspected = self.suspects.remove(&path);
            let is = stamp(&path);
            if is == was || is.is_none() || self.outputs.contains(&path) {
                continue;
            }
            if was.is_none() || suspected.is_some_and(|suspected| suspected != is) {
                outputs.insert(path);
            } else {
                doubtful = Some(path.clone());
                self.suspects.insert(path, is);
            }
        }
        if !outputs.is_empty() {
            self.outputs.extend(outputs.iter().cloned());
            let program = Arc::clone(&launch.action.identity.program);
            self.news.push((program, Discovered { outputs, ..Discovered::default() }));
        }
        doubtful
    }

    /// What was found out since the last call, and of what.
    pub(super) fn take_news(&mut self) -> Vec<(Arc<ProgramIdentity>, Discovered)> {
        std::mem::take(&mut self.news)
    }
}
