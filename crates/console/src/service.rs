//! Calls to a standing service: where it is, by which key it is known, and with which token it is called.

mod pinned;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use cenote::remote::load_identity;
use cenote::{Error, Fingerprint, Kind, PartyConfig, Result, is_near};
use cenote_api::Problem;
pub use cenote_api::words::printable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::Agent;
use ureq::http::{Method, Request, StatusCode};
use zeroize::Zeroizing;

/// How long a service may be silent: longer than it takes to say that a call took too long. Answers that go on arriving may take any time.
const PATIENCE: Duration = Duration::from_secs(90);
/// Bytes of an answer, at most.
const ANSWER: u64 = 256 << 20;

/// Which service, and who calls it.
#[allow(
    rustdoc::bare_urls,
    reason = "what is said of options is help on the command line"
)]
#[derive(Debug, Clone, clap::Args)]
pub struct Reach {
    /// The service's party file, if the service runs on this machine
    #[arg(long, value_name = "FILE", env = "CENOTE_CONFIG")]
    pub config: Option<PathBuf>,
    /// The service's address, if it runs on another machine, for example https://party.example:7180
    #[arg(long, value_name = "URL", env = "CENOTE_SERVICE", conflicts_with = "config")]
    pub service: Option<String>,
    /// The fingerprint of the service's key; an address that begins with https needs it
    #[arg(long, value_name = "HEX", env = "CENOTE_FINGERPRINT", requires = "service")]
    pub fingerprint: Option<Fingerprint>,
    /// The file with your token; without it, the token in the variable CENOTE_TOKEN, or the operator's token on this machine
    #[arg(long, value_name = "FILE", env = "CENOTE_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

/// A service that can be called.
pub struct Service {
    url: String,
    agent: Agent,
    token: Option<Zeroizing<String>>,
}

/// A failure of a call to a service, or of what it answers.
pub fn fault(kind: Kind, what: impl Into<String>) -> Error {
    Error::Service {
        kind,
        what: what.into(),
    }
}

impl Reach {
    /// The service, with a token.
    ///
    /// # Errors
    /// That neither a party file nor an address is given, or that there is no token.
    pub fn open(&self) -> Result<Service> {
        let service = self.open_without_token()?;
        if service.token.is_none() {
            return Err(Error::Usage(
                "there is no token to call the service with; name a file with --token-file, or set CENOTE_TOKEN".into(),
            ));
        }
        Ok(service)
    }

    /// The service, with a token if there is one.
    ///
    /// # Errors
    /// As [`Reach::open`].
    pub fn open_without_token(&self) -> Result<Service> {
        let (url, pin, folder) = match (&self.config, &self.service) {
            (Some(path), _) => {
                let config = PartyConfig::load(path)?;
                let Some(service) = &config.service else {
                    return Err(Error::Usage(format!(
                        "{} has no [service]; it is of a party that runs none",
                        path.display()
                    )));
                };
                let near = is_near(&service.http);
                let pin = (!near).then(|| load_identity(&config.identity)).transpose()?;
                (
                    local_url(&service.http, near),
                    pin.map(|identity| identity.fingerprint()),
                    Some(service.folder.clone()),
                )
            }
            (None, Some(url)) => (url.trim_end_matches('/').to_owned(), self.fingerprint, None),
            (None, None) => {
                return Err(Error::Usage(
                    "which service? Give its party file with --config, or its address with --service".into(),
                ));
            }
        };
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(Error::Usage(format!(
                "{url} is no address of a service; it begins with https:// or http://"
            )));
        }
        if url.starts_with("https://") && pin.is_none() {
            return Err(Error::Usage(
                "an address that begins with https needs --fingerprint: what `cenote identity show` prints at the service".into(),
            ));
        }
        if url
            .strip_prefix("http://")
            .is_some_and(|address| !is_near(address))
        {
            return Err(Error::Usage(
                "the token would be sent in the clear; use https:// for a service on another machine".into(),
            ));
        }
        let token = match &self.token_file {
            Some(path) => Some(read_token(path)?),
            None => match std::env::var("CENOTE_TOKEN") {
                Ok(token) => Some(Zeroizing::new(token)),
                Err(_) => folder.and_then(|folder| cenote_api::read_operator_token(&folder).ok()),
            },
        };
        Ok(Service {
            agent: pinned::agent(pin, PATIENCE)?,
            url,
            token,
        })
    }
}

fn read_token(path: &std::path::Path) -> Result<Zeroizing<String>> {
    let text = std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|source| Error::Local {
            what: format!("reading the token in {}", path.display()),
            source,
        })?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// How this machine calls a service that listens at `address`.
fn local_url(address: &str, near: bool) -> String {
    let scheme = if near { "http" } else { "https" };
    let listens: Option<SocketAddr> = address.to_socket_addrs().ok().and_then(|mut all| all.next());
    match listens {
        Some(listens) if listens.ip().is_unspecified() => {
            let host = if listens.is_ipv4() { "127.0.0.1" } else { "[::1]" };
            format!("{scheme}://{host}:{}", listens.port())
        }
        _ => format!("{scheme}://{address}"),
    }
}

impl Service {
    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether there is a token to call it with.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// What a call that reads answers.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let text = self.text(self.request(Method::GET, path), None)?;
        parse(&text)
    }

    /// The same as text.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub fn get_text(&self, path: &str) -> Result<String> {
        self.text(self.request(Method::GET, path), None)
            .map(|text| text.to_string())
    }

    /// What a call that changes something answers.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        parse(&self.post_text(path, body, None)?)
    }

    /// The same as text, under an idempotency key if there is one.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub fn post_text(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<Zeroizing<String>> {
        let mut request = self
            .request(Method::POST, path)
            .header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = serde_json::to_string(body).map_err(|error| fault(Kind::Internal, error.to_string()))?;
        self.text(request, Some(Zeroizing::new(body)))
    }

    /// Takes something away.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub fn delete(&self, path: &str) -> Result<()> {
        self.text(self.request(Method::DELETE, path), None).map(drop)
    }

    /// Events, one JSON text each, until the service ends them or `hear` says that it has heard enough.
    ///
    /// # Errors
    /// [`Error::Service`], and those of `hear`.
    pub fn listen(&self, path: &str, hear: &mut dyn FnMut(&str) -> Result<bool>) -> Result<()> {
        let request = self
            .request(Method::GET, path)
            .body(())
            .map_err(|error| self.lost(&error))?;
        let response = self.agent.run(request).map_err(|error| self.lost(&error))?;
        let (parts, mut body) = response.into_parts();
        if !parts.status.is_success() {
            let text = body.read_to_string().unwrap_or_default();
            return Err(self.refused(parts.status, &text));
        }
        for line in BufReader::new(body.into_reader()).lines() {
            let line = line.map_err(|error| self.lost(&error))?;
            if let Some(event) = line.strip_prefix("data: ")
                && hear(event)?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn request(&self, method: Method, path: &str) -> ureq::http::request::Builder {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        match &self.token {
            None => request,
            Some(token) => request.header(
                "authorization",
                Zeroizing::new(format!("Bearer {}", **token)).as_str(),
            ),
        }
    }

    fn text(
        &self,
        request: ureq::http::request::Builder,
        body: Option<Zeroizing<String>>,
    ) -> Result<Zeroizing<String>> {
        let malformed =
            |error: ureq::http::Error| fault(Kind::Misuse, format!("the call cannot be made: {error}"));
        let response = match &body {
            None => self.agent.run(request.body(()).map_err(malformed)?),
            Some(text) => self.agent.run(request.body(text.as_str()).map_err(malformed)?),
        };
        let (parts, mut body) = response.map_err(|error| self.lost(&error))?.into_parts();
        let text = body
            .with_config()
            .limit(ANSWER)
            .read_to_string()
            .map(Zeroizing::new)
            .map_err(|error| self.lost(&error))?;
        if parts.status.is_success() {
            Ok(text)
        } else {
            Err(self.refused(parts.status, &text))
        }
    }

    fn lost(&self, error: &dyn std::fmt::Display) -> Error {
        fault(
            Kind::Network,
            format!(
                "the service at {}: {error}\n  what to do: see that it runs (`cenote serve`) and that this is its address; `cenote doctor` looks closer",
                self.url
            ),
        )
    }

    fn refused(&self, status: StatusCode, text: &str) -> Error {
        let kind = match status {
            StatusCode::REQUEST_TIMEOUT => Kind::Network,
            status if status.is_server_error() => Kind::Internal,
            _ => Kind::Misuse,
        };
        let what = match serde_json::from_str::<Problem>(text) {
            Ok(problem) => format!(
                "{}{}\n  what to do: {}",
                problem.place.map_or_else(String::new, |place| {
                    format!("the query, line {}, column {}: ", place.line, place.column)
                }),
                printable(&problem.message),
                printable(&problem.advice)
            ),
            Err(_) => format!("{} answers {status}, and not as a service does", self.url),
        };
        fault(kind, what)
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| {
        fault(
            Kind::Misuse,
            "the service's answer is not of the form that this version knows; use the version that it runs",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_on_all_addresses_is_called_at_the_loopback() {
        assert_eq!(local_url("0.0.0.0:7180", false), "https://127.0.0.1:7180");
        assert_eq!(local_url("127.0.0.1:7180", true), "http://127.0.0.1:7180");
    }
}
