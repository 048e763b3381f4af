//! The cache that a workspace shares: whom it believes, and what is read and written there.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::error::Error;
use evalrs_base::file_path::join;
use evalrs_base::text::{count, enumerated, sanitize};
use evalrs_shared::bucket::{Bucket, USUAL_SILENCE};
use evalrs_shared::keys::{PublicKey, WriterKey};
use evalrs_shared::local::LocalCopy;
use evalrs_shared::pruning::{PruneLimits, PruneReport, prune};
use evalrs_shared::reading::{PullReport, SharedAccess, pull};
use evalrs_shared::trust::{ReaderTrust, Revocation, is_writer};
use evalrs_shared::writing::{PushReport, Writer, push};
use evalrs_store::SegmentStore;
use evalrs_suite::workspace::SharedCacheSettings;
use evalrs_system::System;

/// The variable with the secret key of a writer.
const KEY: &str = "EVALRS_CACHE_KEY";
/// The variable with the name of a writer.
const WRITER: &str = "EVALRS_CACHE_WRITER";

/// Where a workspace is, and its environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedPlace<'a> {
    /// The root of the workspace.
    pub root: &'a str,
    /// The local store.
    pub cache_dir: &'a str,
    pub environment: &'a BTreeMap<String, String>,
}

/// The shared cache of a workspace.
#[derive(Debug)]
pub struct SharedCache<'a> {
    place: SharedPlace<'a>,
    settings: &'a SharedCacheSettings,
    pub trust: ReaderTrust,
    pub local: LocalCopy,
}

/// The log of a workspace's writer.
struct OwnLog {
    name: String,
    key: Option<WriterKey>,
}

impl OwnLog {
    fn writer<'a>(&'a self, trust: &'a ReaderTrust) -> Writer<'a> {
        Writer { name: &self.name, key: self.key.as_ref(), trust }
    }
}

impl<'a> SharedCache<'a> {
    /// The one that `settings` describe.
    pub(crate) fn of(
        settings: &'a SharedCacheSettings,
        place: SharedPlace<'a>,
    ) -> Result<Self, Error> {
        let trust = trust(settings).map_err(|reason| {
            Error::plain(
                format!("`[cache.remote]` of evalrs.toml: {reason}"),
                "`evalrs cache key new` prints a key as it is written there",
            )
        })?;
        let local = LocalCopy::of(&join(place.root, ".evalrs"), &settings.url);
        Ok(Self { place, settings, trust, local })
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.settings.url
    }

    /// Brings what believed writers have written here.
    pub fn pull(&self, system: &dyn System) -> Result<PullReport, String> {
        let bucket = self.bucket()?;
        let access = SharedAccess { bucket: &bucket, local: &self.local, system };
        runtime()?.block_on(pull(access, &self.trust))
    }

    /// Writes what is new in the store of this workspace.
    pub fn push(&self, system: &dyn System) -> Result<PushReport, Error> {
        let store = SegmentStore::open(self.place.cache_dir);
        let own = self.own_log(system)?;
        let writer = own.writer(&self.trust);
        let pushed = self.bucket().and_then(|bucket| {
            let access = SharedAccess { bucket: &bucket, local: &self.local, system };
            runtime()?.block_on(push(access, &writer, &store))
        });
        pushed.map_err(|reason| {
            Error::plain(sanitize(&reason), "nothing is lost: the outcomes are in the local cache")
        })
    }

    /// Removes objects that the log of this workspace's writer does not list any more.
    pub fn prune(&self, pruning: PruneLimits, system: &dyn System) -> Result<PruneReport, Error> {
        let own = self.own_log(system)?;
        let writer = own.writer(&self.trust);
        let pruned = self.bucket().and_then(|bucket| {
            let access = SharedAccess { bucket: &bucket, local: &self.local, system };
            runtime()?.block_on(prune(access, &writer, pruning))
        });
        pruned.map_err(|reason| {
            Error::plain(sanitize(&reason), "what the newest head lists is never removed")
        })
    }

    /// The log that this workspace writes.
    fn own_log(&self, system: &dyn System) -> Result<OwnLog, Error> {
        let name = self.writer()?;
        let key = self.key(system)?;
        if key.is_none() && !self.trust.by_prefix {
            return Err(Error::plain(
                format!("there is no key to sign the log of `{name}` with"),
                format!(
                    "set {KEY}, or `key_file` of `[cache.remote]`; `evalrs cache key new` makes a key"
                ),
            ));
        }
        Ok(OwnLog { name, key })
    }

    fn bucket(&self) -> Result<Bucket, String> {
        let silence = self.settings.timeout;
        let silence = silence.map_or(USUAL_SILENCE, |seconds| Duration::from_secs(seconds.into()));
        Bucket::open(&self.settings.url, self.place.environment, silence)
    }

    /// As whom this workspace writes.
    fn writer(&self) -> Result<String, Error> {
        let said = self.place.environment.get(WRITER).filter(|name| !name.is_empty());
        let name = said.or(self.settings.writer.as_ref()).ok_or_else(|| {
            Error::plain(
                "nobody says as whom to write",
                format!("set {WRITER}, or `writer` of `[cache.remote]` in evalrs.toml"),
            )
        })?;
        if !is_writer(name) {
            return Err(Error::plain(
                format!("`{}` is not the name of a writer", sanitize(name)),
                "a name has lower-case letters, digits, `-` and `_`, at most 64",
            ));
        }
        Ok(name.clone())
    }

    fn key(&self, system: &dyn System) -> Result<Option<WriterKey>, Error> {
        let said = self.place.environment.get(KEY).filter(|key| !key.is_empty());
        let (text, place) = match (said, &self.settings.key_file) {
            (Some(key), _) => (key.clone(), KEY.to_owned()),
            (None, Some(path)) => {
                let bytes = system.read(path).into_bytes().map_err(|reason| {
                    Error::plain(format!("cannot read the key in `{path}`: {reason}"), "")
                })?;
                (String::from_utf8_lossy(&bytes).into_owned(), path.clone())
            }
            (None, None) => return Ok(None),
        };
        let key = WriterKey::read(&text);
        key.map(Some).map_err(|reason| {
            Error::plain(
                format!("`{place}` has no key: {reason}"),
                "`evalrs cache key new` makes one",
            )
        })
    }
}

fn trust(settings: &SharedCacheSettings) -> Result<ReaderTrust, String> {
    let SharedCacheSettings { believe, keys, revoked, by_prefix, .. } = settings;
    let names = believe.iter().chain(keys.iter().map(|(name, _)| name));
    if let Some(name) = names.into_iter().find(|name| !is_writer(name)) {
        return Err(format!("`{}` is not the name of a writer", sanitize(name)));
    }
    let keys = keys.iter().map(|(name, keys)| {
        let keys = keys.iter().map(|key| key.parse::<PublicKey>());
        let keys: Result<Vec<PublicKey>, String> = keys.collect();
        keys.map(|keys| (name.clone(), keys))
            .map_err(|reason| format!("a key of `{name}`: {reason}"))
    });
    let trust = ReaderTrust {
        believe: believe.clone(),
        keys: keys.collect::<Result<_, _>>()?,
        revoked: revoked.iter().map(|text| revocation(text)).collect::<Result<_, _>>()?,
        by_prefix: *by_prefix,
    };
    let has_none = |name: &&String| !trust.by_prefix && !trust.keys.contains_key(*name);
    if let Some(name) = believe.iter().find(has_none) {
        return Err(format!("`{name}` is believed and has no key in `[cache.remote.keys]`"));
    }
    Ok(trust)
}

fn revocation(text: &str) -> Result<Revocation, String> {
    let (key, after) =
        match text.split_once(" after ") {
            None => (text, None),
            Some((key, after)) => {
                let number = after.trim().parse().ok();
                (
                    key,
                    Some(number.ok_or_else(|| {
                        format!("`revoked`: `{}` is not a number", sanitize(after))
                    })?),
                )
            }
        };
    Ok(Revocation {
        key: key.trim().parse().map_err(|reason| format!("`revoked`: {reason}"))?,
        after,
    })
}

fn runtime() -> Result<Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(|error| error.to_string())
}

/// What reading came to, a line each; problems are apart.
pub fn pulled_lines(url: &str, report: &PullReport) -> Vec<String> {
    let logs = report.writers.iter().map(|log| match log.seq {
        0 => format!("{url}: `{}` has no log that is believed", log.writer),
        seq => format!(
            "{url}: {} of `{}`, {} new, head {seq}",
            count(usize::try_from(log.outcomes).unwrap_or(usize::MAX), "outcome"),
            log.writer,
            log.new
        ),
    });
    let names: Vec<String> =
        report.others.iter().map(|name| format!("`{}`", sanitize(name))).collect();
    let others = (!names.is_empty()).then(|| {
        let logs = count(names.len(), "other log");
        format!("{url}: {logs} not believed: {}", enumerated(&names, "and"))
    });
    logs.chain(others).collect()
}
