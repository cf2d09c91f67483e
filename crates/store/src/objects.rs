//! Objects in a store that is reached by a URL, as of Amazon S3 and what speaks like it, Google Cloud Storage and Azure, or in a folder. Nobody here waits longer than a
//! deadline for one request, of at most [`PART`] bytes.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_session::{Error, Result, room};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, parse_url_opts};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::seal::fault;

/// The most bytes of one request. Stores take parts of at least 5 MiB, and 10,000 of them.
const PART: usize = 16 << 20;

/// The objects under one prefix in a store.
pub(crate) struct Objects {
    store: Box<dyn ObjectStore>,
    /// Where that is, as errors name it.
    url: String,
    prefix: ObjectPath,
    deadline: Duration,
    /// What to do about a store that fails.
    advice: &'static str,
    /// Where requests run. Nothing if it is being dropped.
    runtime: Option<Runtime>,
}

/// What came of something, or why nothing did.
type Outcome<T, E = String> = std::result::Result<T, E>;

/// Sees that `url` is that of an object store, and gives no secrets away.
///
/// # Errors
/// What is wrong with it.
pub fn check_objects_url(url: &str) -> Outcome<()> {
    parsed(url).map(|_| ())
}

fn parsed(url: &str) -> Outcome<(Url, ObjectStoreScheme, ObjectPath)> {
    const FORMS: &str =
        "give s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER";
    let url = Url::parse(url).map_err(|error| format!("{error}; {FORMS}"))?;
    let (scheme, prefix) = match ObjectStoreScheme::parse(&url) {
        Ok((ObjectStoreScheme::Memory | ObjectStoreScheme::Http, _)) | Err(_) => {
            return Err(format!("this is no URL of an object store; {FORMS}"));
        }
        Ok(parsed) => parsed,
    };
    if url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(
            "a password, `?` and `#` have no place in it; credentials come from the environment".into(),
        );
    }
    Ok((url, scheme, prefix))
}

/// Where credentials and settings of a store come from.
fn advice(scheme: &ObjectStoreScheme) -> &'static str {
    match scheme {
        ObjectStoreScheme::AmazonS3 => {
            "see that it is reached from here, and that the variables AWS_… of the environment say how, as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            "see that it is reached from here, and that the variables GOOGLE_… of the environment say how, as GOOGLE_SERVICE_ACCOUNT"
        }
        ObjectStoreScheme::MicrosoftAzure => {
            "see that it is reached from here, and that the variables AZURE_… of the environment say how, as AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
        }
        _ => "see that this machine has the folder, and may write to it",
    }
}

impl Objects {
    /// Those under `under` in the store at `url`, with the settings among `options`.
    pub(crate) fn open(
        url: &str,
        under: &str,
        options: impl IntoIterator<Item = (String, String)>,
        deadline: Duration,
    ) -> Result<Self> {
        let at = Path::new(url);
        let (parsed, scheme, prefix) = parsed(url).map_err(|what| fault(at, what))?;
        let advice = advice(&scheme);
        let failed =
            |error: &dyn Display| fault(at, format_args!("cannot be used: {}; {advice}", line(error)));
        // Those who reach stores over HTTPS ask for one that the process has chosen, if it has not already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (store, prefix): (Box<dyn ObjectStore>, _) = match scheme {
            ObjectStoreScheme::Local => {
                let folder = parsed.to_file_path().map_err(|()| fault(at, "names no folder"))?;
                std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
                let folder = LocalFileSystem::new_with_prefix(folder).map_err(|error| failed(&error))?;
                let folder = folder.with_fsync(true).with_automatic_cleanup(true);
                (Box::new(folder), ObjectPath::default())
            }
            _ => {
                let within = [("timeout".to_owned(), format!("{} ms", deadline.as_millis()))];
                let options = within.into_iter().chain(options);
                let (store, _) = parse_url_opts(&parsed, options).map_err(|error| failed(&error))?;
                (store, prefix)
            }
        };
        let url = format!("{}/{under}", url.trim_end_matches('/'));
        Self::of(store, url, prefix.join(under), (deadline, advice))
    }

    fn of(
        store: Box<dyn ObjectStore>,
        url: String,
        prefix: ObjectPath,
        (deadline, advice): (Duration, &'static str),
    ) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Error::Internal(format!("starting to reach {url}: {error}")))?;
        Ok(Objects {
            store,
            url,
            prefix,
            deadline,
            advice,
            runtime: Some(runtime),
        })
    }

    /// Where the object `name` is, as errors say it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.url))
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref();
        runtime.expect("it is there until it is dropped").block_on(work)
    }

    /// What `request` comes to, within the deadline.
    async fn within<T, E: Display>(&self, request: impl Future<Output = Outcome<T, E>>) -> Outcome<T> {
        match tokio::time::timeout(self.deadline, request).await {
            Ok(result) => result.map_err(|error| line(&error)),
            Err(_) => Err(format!("no answer within {:?}", self.deadline)),
        }
    }

    fn failed(&self, name: &str, what: &str, why: &str) -> Error {
        fault(&self.path(name), format_args!("{what}: {why}; {}", self.advice))
    }

    /// Writes an object whole, in place of one of that name.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        let path = self.prefix.clone().join(name);
        self.block_on(async {
            match bytes.len() <= PART {
                true => self.within(self.store.put(&path, bytes.into())).await.map(drop),
                false => self.write_parts(&path, &bytes).await,
            }
        })
        .map_err(|why| self.failed(name, "cannot be written", &why))
    }

    async fn write_parts(&self, path: &ObjectPath, bytes: &[u8]) -> Outcome<()> {
        let mut upload = self.within(self.store.put_multipart(path)).await?;
        let mut written = Ok(());
        for part in bytes.chunks(PART) {
            written = self.within(upload.put_part(part.to_vec().into())).await;
            if written.is_err() {
                break;
            }
        }
        if written.is_ok() {
            written = self.within(upload.complete()).await.map(drop);
        }
        if written.is_err() {
            // What stays is sealed, and no object.
            let _ = self.within(upload.abort()).await;
        }
        written
    }

    /// An object, of at most `most` bytes.
    pub(crate) fn read(&self, name: &str, most: usize) -> Result<Vec<u8>> {
        let failed = |why: String| self.failed(name, "cannot be read", &why);
        let mut bytes = Vec::new();
        loop {
            let part = self.part(name, bytes.len() as u64, most as u64);
            let (whole, part) = self.block_on(self.within(part)).map_err(failed)?;
            if bytes.is_empty() {
                bytes = room::reserved("an object of a store", whole as usize)?;
            }
            bytes.extend_from_slice(&part);
            if bytes.len() as u64 >= whole {
                return Ok(bytes);
            }
        }
    }

    /// The length of an object, which must be at most `most`, and its next bytes from `start` on.
    async fn part(&self, name: &str, start: u64, most: u64) -> Outcome<(u64, Vec<u8>)> {
        let path = self.prefix.clone().join(name);
        let asked = start..start + PART as u64;
        let options = GetOptions::new().with_range(Some(asked.clone()));
        let found = self.store.get_opts(&path, options).await;
        let found = found.map_err(|error| line(&error))?;
        let whole = found.meta.size;
        if whole > most {
            return Err(format!(
                "it holds {whole} bytes instead of at most {most}: it is damaged"
            ));
        }
        if found.range.is_empty() || found.range != (start..whole.min(asked.end)) {
            return Err("the store gives another part of it than was asked for".into());
        }
        let expected = (found.range.end - found.range.start) as usize;
        let mut part = Vec::with_capacity(expected);
        let mut stream = found.into_stream();
        while let Some(chunk) = stream.try_next().await.map_err(|error| line(&error))? {
            if chunk.len() > expected - part.len() {
                return Err("the store gives more of it than was asked for".into());
            }
            part.extend_from_slice(&chunk);
        }
        match part.len() == expected {
            true => Ok((whole, part)),
            false => Err("the store gives less of it than was asked for".into()),
        }
    }

    /// Removes all objects, as far as that is possible.
    pub(crate) fn remove_all(&self) {
        let removed = self.block_on(async {
            let found = self
                .store
                .list(Some(&self.prefix))
                .map_ok(|object| object.location);
            let mut removed = self.store.delete_stream(found.boxed());
            while self.within(removed.try_next()).await?.is_some() {}
            Ok::<_, String>(())
        });
        if let Err(error) = removed {
            tracing::warn!(url = self.url, error, "what is of no more use stays in the store");
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // A request of a folder that does not answer cannot be stopped.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What an error says, in one line: some stores answer with whole pages.
fn line(error: &dyn Display) -> String {
    const MOST: usize = 400;
    let text = error.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Instant;

    use object_store::memory::InMemory;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);

    fn in_memory() -> Objects {
        let store = Box::new(InMemory::new());
        Objects::of(store, "memory".into(), "some/job".into(), (DEADLINE, "ask")).unwrap()
    }

    #[test]
    fn objects_are_read_as_they_were_written() {
        let objects = in_memory();
        for length in [1, PART - 1, PART, PART + 1, 2 * PART + 5] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            objects.write("name", bytes.clone()).unwrap();
            assert!(objects.read("name", length).unwrap() == bytes, "{length}");
            let error = objects.read("name", length - 1).unwrap_err().to_string();
            let told = format!("holds {length} bytes instead of at most {}", length - 1);
            assert!(error.contains(&told), "{error}");
        }
        objects.write("other", vec![1]).unwrap();
        objects.remove_all();
        for name in ["name", "other", "none"] {
            let error = objects.read(name, PART).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("memory/{name}: cannot be read")),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_removed_is_of_one_job() {
        let store: std::sync::Arc<dyn ObjectStore> = std::sync::Arc::new(InMemory::new());
        let [one, other] = ["some/job", "some/job-2"].map(|prefix| {
            let store = Box::new(std::sync::Arc::clone(&store));
            Objects::of(store, "memory".into(), prefix.into(), (DEADLINE, "ask")).unwrap()
        });
        one.write("name", vec![1]).unwrap();
        other.write("name", vec![2]).unwrap();
        one.remove_all();
        one.read("name", 1).unwrap_err();
        assert_eq!(other.read("name", 1).unwrap(), [2]);
    }

    /// A store that accepts connections, and says nothing.
    #[test]
    fn a_store_that_does_not_answer_is_waited_for_until_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let options = [
            ("AWS_ENDPOINT_URL", &*endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "some"),
            ("AWS_SECRET_ACCESS_KEY", "other"),
            ("AWS_REGION", "us-east-1"),
        ];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let deadline = Duration::from_millis(300);
        let objects = Objects::open("s3://bucket/of/jobs/", "job", options, deadline).unwrap();
        let start = Instant::now();
        for error in [
            objects.write("name", vec![1]).unwrap_err(),
            objects.read("name", 1).unwrap_err(),
        ] {
            let error = error.to_string();
            for told in [
                "s3://bucket/of/jobs/job/name: cannot be ",
                "no answer within 300ms",
                "AWS_ACCESS_KEY_ID",
            ] {
                assert!(error.contains(told), "no {told:?} in {error}");
            }
        }
        objects.remove_all();
        assert!(start.elapsed() < Duration::from_secs(30));
        listener.set_nonblocking(true).unwrap();
        listener.accept().expect("it was asked");
    }

    #[test]
    fn only_urls_of_stores_are_taken() {
        for url in [
            "s3://bucket/prefix",
            "gs://bucket",
            "az://container/a/b/",
            "file:///folder",
        ] {
            assert_eq!(check_objects_url(url), Ok(()), "{url}");
        }
        for (url, told) in [
            ("bucket/prefix", "s3://BUCKET/PREFIX"),
            ("memory:///", "no URL of an object store"),
            ("https://example.com/prefix", "no URL of an object store"),
            ("ftp://example.com/prefix", "no URL of an object store"),
            (
                "s3://key:secret@bucket/prefix",
                "credentials come from the environment",
            ),
            ("s3://bucket/prefix?a=b", "have no place"),
        ] {
            let error = check_objects_url(url).unwrap_err();
            assert!(error.contains(told), "{url}: {error}");
        }
    }
}
