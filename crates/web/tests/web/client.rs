//! Calls as programs make them, and bytes as attackers send them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use ureq::http::{Method, Request, Response};

use crate::fake::World;

/// A status, headers and a body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The status and the word of a refusal.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let json = self.json();
        for part in ["message", "advice"] {
            assert!(json[part].as_str().is_some_and(|text| text.len() > 5), "{json}");
        }
        (self.status, json["code"].as_str().expect("a code").to_owned())
    }
}

/// Headers and a token for calls to a world.
#[derive(Clone)]
pub(crate) struct Client {
    url: String,
    headers: Vec<(String, String)>,
}

impl Client {
    pub(crate) fn new(world: &World) -> Self {
        Client {
            url: world.url(),
            headers: Vec::new(),
        }
    }

    pub(crate) fn bearer(world: &World, token: &str) -> Self {
        Self::new(world).with("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&str>) -> Reply {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .into();
        let mut request = Request::builder()
            .method(method.parse::<Method>().expect("a method"))
            .uri(format!("{}{path}", self.url));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response: Response<ureq::Body> = match body {
            None => agent.run(request.body(()).expect("a request")),
            Some(text) => {
                if !self.headers.iter().any(|(name, _)| name == "content-type") {
                    request = request.header("content-type", "application/json");
                }
                agent.run(request.body(text).expect("a request"))
            }
        }
        .expect("answered");
        let (parts, mut body) = response.into_parts();
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: body.read_to_string().expect("text"),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path, Some(&body.to_string()))
    }
}

/// Sends bytes as they are, and gives what comes back until the other side closes.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    stream.write_all(bytes).expect("sent");
    let mut answer = Vec::new();
    // A connection that is reset has said what it had to say.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of a raw answer; 0 for none.
pub(crate) fn status(answer: &str) -> u16 {
    let version = answer
        .get(..9)
        .filter(|version| ["HTTP/1.1 ", "HTTP/1.0 "].contains(version));
    version
        .and(answer.get(9..12))
        .and_then(|code| code.parse().ok())
        .unwrap_or(0)
}
