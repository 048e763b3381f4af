//! Where the objects of a shared cache are: a folder, a server, S3, Google Cloud Storage or Azure.
//!
//! Objects are read, and created where nothing is. Nothing is changed, so nothing has to be locked. Only what no head lists is removed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig,
};
use reqwest::{Client, Method, StatusCode};
use url::Url;

/// The variable with the token of a server.
const TOKEN: &str = "EVALRS_CACHE_TOKEN";
/// The most objects that are listed.
const MOST_LISTED: usize = 100_000;
/// How long a request to a server may take that goes on all the time.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long a server may be silent, where nobody says otherwise.
pub const USUAL_SILENCE: Duration = Duration::from_secs(30);
/// How long it may take to connect.
const CONNECTING: Duration = Duration::from_secs(5);
/// How often and how long to wait for another process that writes an object.
const MOST_WAITS: u32 = 20;
const WAIT: Duration = Duration::from_millis(20);
/// How long requests are retried.
const RETRYING: Duration = Duration::from_secs(20);

/// What was there when an object was to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// Nothing: it is there now.
    Created,
    /// An object, which stays.
    Exists,
}

/// An object as a bucket lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    pub name: String,
    pub bytes: u64,
    /// When it was written, in seconds since 1970.
    pub written: i64,
}

/// A bucket.
pub struct Bucket {
    url: String,
    place: BucketPlace,
    /// Whether a server did not answer once. It is not called again: each call would wait as long.
    is_away: AtomicBool,
}

enum BucketPlace {
    Objects { store: Arc<dyn ObjectStore>, prefix: Path },
    Server { client: Client, base: String, token: Option<String> },
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.url)
    }
}

impl Bucket {
    /// The bucket at `url`, with the credentials of this environment.
    ///
    /// A server may be silent for as long as `silence`.
    pub fn open(
        url: &str,
        environment: &BTreeMap<String, String>,
        silence: Duration,
    ) -> Result<Self, String> {
        // What TLS is made with is chosen once in a process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let parsed = Url::parse(url).map_err(|error| format!("`{url}` is not a URL: {error}"))?;
        let place = match parsed.scheme() {
            "file" => folder(&parsed)?,
            "s3" => {
                let builder = AmazonS3Builder::new().with_url(url);
                // What the environment says, such as that HTTP is allowed, goes over these.
                let mut builder =
                    builder.with_retry(retries()).with_client_options(client_options(silence));
                for (name, value) in known_settings(environment, "AWS_") {
                    builder = builder.with_config(name, value);
                }
                objects(builder.build(), parsed.path())?
            }
            "gs" => {
                let builder = GoogleCloudStorageBuilder::new().with_url(url);
                // What the environment says, such as that HTTP is allowed, goes over these.
                let mut builder =
                    builder.with_retry(retries()).with_client_options(client_options(silence));
                for (name, value) in known_settings(environment, "GOOGLE_") {
                    builder = builder.with_config(name, value);
                }
                objects(builder.build(), parsed.path())?
            }
            "az" => {
                let builder = MicrosoftAzureBuilder::new().with_url(url);
                // What the environment says, such as that HTTP is allowed, goes over these.
                let mut builder =
                    builder.with_retry(retries()).with_client_options(client_options(silence));
                for (name, value) in known_settings(environment, "AZURE_") {
                    builder = builder.with_config(name, value);
                }
                objects(builder.build(), parsed.path())?
            }
            "http" | "https" => server(&parsed, environment, silence)?,
            other => {
                return Err(format!(
                    "a cache at `{other}://` is not known; known: file, https, s3, gs, az"
                ));
            }
        };
        Ok(Self { url: url.to_owned(), place, is_away: AtomicBool::new(false) })
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bytes of an object, if there is one. One that is larger than `most` is an error.
    pub async fn get(&self, path: &str, most: usize) -> Result<Option<Vec<u8>>, String> {
        self.check_there(path)?;
        match &self.place {
            BucketPlace::Objects { store, prefix } => {
                let found = match store.get(&below(prefix, path)).await {
                    Ok(found) => found,
                    Err(Error::NotFound { .. }) => return Ok(None),
                    Err(error) => return Err(self.failed(path, &error)),
                };
                let mut parts = found.into_stream();
                let mut read = ReadBytes::new(path, most);
                while let Some(part) = parts.next().await {
                    read.add(&part.map_err(|error| self.failed(path, &error))?)?;
                }
                Ok(Some(read.bytes))
            }
            BucketPlace::Server { .. } => {
                let response = self.request(Method::GET, path)?.send().await;
                let mut response = response.map_err(|error| self.unsent(path, error))?;
                match response.status() {
                    StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(None),
                    status if !status.is_success() => return Err(self.said(path, &status)),
                    _ => {}
                }
                let mut read = ReadBytes::new(path, most);
                loop {
                    let part = response.chunk().await;
                    let part = part.map_err(|error| self.unsent(path, error))?;
                    let Some(part) = part else { return Ok(Some(read.bytes)) };
                    read.add(&part)?;
                }
            }
        }
    }

    /// Creates an object, where nothing is. A store that knows no such condition replaces what is there.
    pub async fn create(&self, path: &str, bytes: Vec<u8>) -> Result<Creation, String> {
        self.check_there(path)?;
        match &self.place {
            BucketPlace::Objects { store, prefix } => {
                let payload = PutPayload::from(bytes);
                match store.put_opts(&below(prefix, path), payload, PutMode::Create.into()).await {
                    Ok(_) => Ok(Creation::Created),
                    Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                        Ok(Creation::Exists)
                    }
                    Err(error) => Err(self.failed(path, &error)),
                }
            }
            BucketPlace::Server { .. } => self.put(path, bytes).await,
        }
    }

    async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<Creation, String> {
        let mut has_folders = false;
        let mut waits = 0;
        loop {
            let request = self.request(Method::PUT, path)?.header("if-none-match", "*");
            let response = request.body(bytes.clone()).send().await;
            let response = response.map_err(|error| self.unsent(path, error))?;
            match response.status() {
                StatusCode::PRECONDITION_FAILED => return Ok(Creation::Exists),
                status if status.is_success() => return Ok(Creation::Created),
                // `WebDAV`: the folder is missing, or something is there.
                StatusCode::CONFLICT | StatusCode::NOT_FOUND if !has_folders => {
                    if self.get(path, bytes.len() + 1).await.is_ok_and(|found| found.is_some()) {
                        return Ok(Creation::Exists);
                    }
                    self.make_folders(path).await?;
                    has_folders = true;
                }
                // `WebDAV`: another process is writing it.
                StatusCode::LOCKED if waits < MOST_WAITS => {
                    waits += 1;
                    tokio::time::sleep(WAIT * waits).await;
                }
                status => return Err(self.said(path, &status)),
            }
        }
    }

    /// Makes the folders above a path, as `WebDAV` wants them.
    async fn make_folders(&self, path: &str) -> Result<(), String> {
        let method = Method::from_bytes(b"MKCOL").map_err(|error| error.to_string())?;
        let folders = path.match_indices('/').map(|(at, _)| format!("{}/", &path[..at]));
        // The folder of the bucket itself comes first.
        for folder in std::iter::once(String::new()).chain(folders) {
            let request = self.request(method.clone(), &folder)?;
            request.send().await.map_err(|error| self.unsent(path, error))?;
        }
        Ok(())
    }

    /// The names directly below a folder, sorted; none where the bucket lists nothing.
    pub async fn list(&self, folder: &str) -> Result<Option<Vec<String>>, String> {
        let BucketPlace::Objects { store, prefix } = &self.place else { return Ok(None) };
        let below = below(prefix, folder);
        let listed = store.list_with_delimiter(Some(&below)).await;
        let listed = listed.map_err(|error| self.failed(folder, &error))?;
        let objects = listed.objects.iter().map(|object| &object.location);
        let names = listed.common_prefixes.iter().chain(objects);
        let names = names.filter_map(|path| path.filename().map(str::to_owned));
        let mut names: Vec<String> = names.take(MOST_LISTED).collect();
        names.sort();
        Ok(Some(names))
    }

    /// The objects directly below a folder; none where the bucket lists nothing.
    pub async fn objects(&self, folder: &str) -> Result<Option<Vec<ListedObject>>, String> {
        let BucketPlace::Objects { store, prefix } = &self.place else { return Ok(None) };
        let listed = store.list_with_delimiter(Some(&below(prefix, folder))).await;
        let listed = listed.map_err(|error| self.failed(folder, &error))?;
        let named = listed.objects.into_iter().filter_map(|object| {
            Some(ListedObject {
                name: object.location.filename()?.to_owned(),
                bytes: object.size,
                written: object.last_modified.timestamp(),
            })
        });
        Ok(Some(named.take(MOST_LISTED).collect()))
    }

    /// Removes an object. That there is none is no error.
    pub async fn remove(&self, path: &str) -> Result<(), String> {
        let BucketPlace::Objects { store, prefix } = &self.place else {
            return Err(self.said(path, &"a plain server removes nothing"));
        };
        match store.delete(&below(prefix, path)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(path, &error)),
        }
    }

    fn request(&self, method: Method, path: &str) -> Result<reqwest::RequestBuilder, String> {
        let BucketPlace::Server { client, base, token } = &self.place else {
            return Err("it is not a server".to_owned());
        };
        let request = client.request(method, format!("{base}/{path}"));
        Ok(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    /// Whether a server did not answer.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    fn check_there(&self, path: &str) -> Result<(), String> {
        let error = "the server did not answer an earlier request";
        if self.is_away() { Err(self.said(path, &error)) } else { Ok(()) }
    }

    /// What a store could not do. What a server gives no reason for is that it did not answer, also after some retries. A folder
    /// answers at once: a file of it that cannot be read says nothing of the others.
    fn failed(&self, path: &str, error: &Error) -> String {
        let is_server = !self.url.starts_with("file:");
        let is_away = is_server && matches!(error, Error::Generic { .. });
        self.is_away.fetch_or(is_away, Ordering::Relaxed);
        self.said(path, error)
    }

    /// Why a request has no response.
    fn unsent(&self, path: &str, error: reqwest::Error) -> String {
        self.is_away.fetch_or(error.is_timeout() || error.is_connect(), Ordering::Relaxed);
        if error.is_timeout() {
            return self.said(path, &"the server did not answer in time");
        }
        self.said(path, &error.without_url())
    }

    fn said(&self, path: &str, error: &dyn fmt::Display) -> String {
        format!("{}: `{path}`: {error}", self.url)
    }
}

/// The settings of a provider in an environment, by the names that its own programs have for them.
fn known_settings<'a, K: std::str::FromStr>(
    environment: &'a BTreeMap<String, String>,
    start: &'static str,
) -> impl Iterator<Item = (K, &'a String)> {
    let named = environment.iter().filter(move |(name, _)| name.starts_with(start));
    named.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)))
}

/// A cache that is away is gone without soon.
fn retries() -> RetryConfig {
    RetryConfig { max_retries: 2, retry_timeout: RETRYING, ..RetryConfig::default() }
}

fn client_options(silence: Duration) -> ClientOptions {
    let options = ClientOptions::new().with_timeout(PATIENCE).with_read_timeout(silence);
    options.with_connect_timeout(CONNECTING)
}

fn objects<S: ObjectStore>(built: Result<S, Error>, path: &str) -> Result<BucketPlace, String> {
    let store = built.map_err(|error| error.to_string())?;
    Ok(BucketPlace::Objects { store: Arc::new(store), prefix: Path::from(path) })
}

fn folder(url: &Url) -> Result<BucketPlace, String> {
    let path = url.to_file_path().map_err(|()| format!("`{url}` is not the URL of a folder"))?;
    let store = LocalFileSystem::new();
    let prefix = Path::from_absolute_path(&path).map_err(|error| error.to_string())?;
    Ok(BucketPlace::Objects { store: Arc::new(store), prefix })
}

fn server(
    url: &Url,
    environment: &BTreeMap<String, String>,
    silence: Duration,
) -> Result<BucketPlace, String> {
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(format!("the URL of a cache has no password and no parameters: use {TOKEN}"));
    }
    let client = Client::builder().timeout(PATIENCE).read_timeout(silence);
    let client = client.connect_timeout(CONNECTING).build().map_err(|error| error.to_string())?;
    let token = environment.get(TOKEN).filter(|token| !token.is_empty()).cloned();
    Ok(BucketPlace::Server { client, base: url.as_str().trim_end_matches('/').to_owned(), token })
}

fn below(prefix: &Path, path: &str) -> Path {
    path.split('/').filter(|part| !part.is_empty()).fold(prefix.clone(), Path::join)
}

/// The bytes of an object as they come, if there are at most so many.
struct ReadBytes<'a> {
    path: &'a str,
    most: usize,
    bytes: Vec<u8>,
}

impl<'a> ReadBytes<'a> {
    fn new(path: &'a str, most: usize) -> Self {
        Self { path, most, bytes: Vec::new() }
    }

    fn add(&mut self, part: &[u8]) -> Result<(), String> {
        if self.bytes.len() + part.len() > self.most {
            return Err(format!("`{}` has more than {} bytes", self.path, self.most));
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}
