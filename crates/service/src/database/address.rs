//! Where the database is: read from an address, and refused where a connection would be less safe than its reader thinks.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use percent_encoding::percent_decode_str;
use postgres::config::{Host, SslMode};

use super::tls::{ClientFiles, Roots, Tls};
use crate::{Error, Result};

/// Which database.
#[derive(Clone)]
pub enum Address {
    /// SQLite, in the service's folder.
    Embedded,
    /// A PostgreSQL server.
    Postgres(Box<Server>),
}

/// A PostgreSQL server, and how connections to it are protected.
#[derive(Clone)]
pub struct Server {
    pub(super) config: postgres::Config,
    /// Without it, nothing is encrypted.
    pub(super) tls: Option<Tls>,
    /// Its hosts, for errors. No part of the address around them is in it.
    pub(super) place: String,
    /// Connections that are being made.
    pub(super) coming: Arc<AtomicUsize>,
}

/// Says which kind it is; an address may hold a password.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Address::Embedded => "Embedded",
            Address::Postgres(_) => "Postgres",
        })
    }
}

impl Address {
    /// A server's address, `postgres://user@localhost/name`, `postgres:///name?host=/run/postgresql`, or
    /// `postgres://user:password@db.example.com/name?sslmode=verify-full&sslrootcert=/path/to/ca.pem`. A server on another machine is
    /// reached over TLS, unless `sslmode=disable` is written out; with TLS, its certificate and its name are always checked.
    ///
    /// # Errors
    /// [`Error::Address`], without the address, which may hold a password.
    pub fn parse(url: &str) -> Result<Self> {
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|kind| url.starts_with(kind))
        {
            return Err(fault(
                "it must begin with postgres://; without an address, SQLite is used",
            ));
        }
        let (url, keys) = Keys::take(url)?;
        let mut config: postgres::Config = url
            .parse()
            .map_err(|_| fault("it is not of the form postgres://user:password@host:port/name"))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(fault(
                "it names no server; write postgres://user@localhost/name, or postgres:///name?host=/run/postgresql for a socket",
            ));
        }
        let mode = keys.mode(&config)?;
        config.ssl_mode(mode);
        let tls = match mode {
            SslMode::Disable => None,
            _ => Some(keys.tls()?),
        };
        let place = place(&config);
        Ok(Address::Postgres(Box::new(Server {
            config,
            tls,
            place,
            coming: Arc::default(),
        })))
    }
}

fn fault(what: &str) -> Error {
    Error::Address(what.to_owned())
}

/// What an address says of encryption. The PostgreSQL library knows too little of this, so it is taken out of the address first.
#[derive(Default)]
struct Keys {
    mode: Option<String>,
    roots: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl Keys {
    /// Takes them out of an address, whose parts are found as the library finds them.
    fn take(url: &str) -> Result<(String, Self)> {
        let start = url.find("://").map_or(0, |at| at + 3);
        let host = url
            .get(start..)
            .and_then(|rest| rest.find('@'))
            .map_or(start, |at| start + at + 1);
        let (before, parameters) = match url.get(host..).and_then(|rest| rest.find('?')) {
            Some(at) => (
                url.get(..host + at).unwrap_or_default(),
                url.get(host + at + 1..).unwrap_or_default(),
            ),
            None => (url, ""),
        };
        // A part of the password would be taken for the host, and appear in errors.
        if before.get(host..).is_some_and(|rest| rest.contains('@')) {
            return Err(fault(
                "it has an @ too many; write one that belongs to the user, the password or the database's name as %40",
            ));
        }
        let mut keys = Keys::default();
        let mut others = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let name = decoded(name)?;
            let place = match name.as_str() {
                "sslmode" => &mut keys.mode,
                "sslrootcert" => &mut keys.roots,
                "sslcert" => &mut keys.certificate,
                "sslkey" => &mut keys.key,
                "sslpassword" => {
                    return Err(fault(
                        "sslpassword is not offered; write the key that sslkey names to a file without a password, which only its owner can read",
                    ));
                }
                "sslcrl" | "sslcrldir" => {
                    return Err(fault(
                        "sslcrl and sslcrldir are not offered; where a server's certificate is revoked, use another CA for the new one",
                    ));
                }
                _ => {
                    others.push(parameter);
                    continue;
                }
            };
            if place.replace(decoded(value)?).is_some() {
                return Err(Error::Address(format!("it says {name} twice; leave one out")));
            }
        }
        let url = match others.is_empty() {
            true => before.to_owned(),
            false => format!("{before}?{}", others.join("&")),
        };
        Ok((url, keys))
    }

    /// How much encryption connections to this server have.
    fn mode(&self, config: &postgres::Config) -> Result<SslMode> {
        let sockets = config
            .get_hosts()
            .iter()
            .filter(|host| matches!(host, Host::Unix(_)))
            .count();
        let names_files = self.roots.is_some() || self.certificate.is_some() || self.key.is_some();
        let mode = match self.mode.as_deref() {
            None | Some("disable") if names_files => {
                return Err(fault(
                    "sslrootcert, sslcert and sslkey go with TLS; add sslmode=verify-full, or leave them out",
                ));
            }
            None if !is_near(config) => {
                return Err(fault(
                    "the server is on another machine, and nothing says how the connection is protected; add sslmode=verify-full for TLS, and \
                     sslrootcert=/path/to/ca.pem where this system does not know the CA of its certificate (sslmode=disable, written out, \
                     sends everything as it is)",
                ));
            }
            None | Some("disable") => SslMode::Disable,
            Some("prefer") if !is_near(config) => {
                return Err(fault(
                    "the server is on another machine, and with sslmode=prefer anybody on the way there could switch encryption off; \
                     write sslmode=verify-full",
                ));
            }
            Some("prefer") if sockets == config.get_hosts().len() && sockets > 0 => SslMode::Disable,
            Some("prefer") => SslMode::Prefer,
            // Encryption without a check of the certificate is not offered: it protects from nobody who can change what is sent.
            Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some(_) => {
                return Err(fault(
                    "sslmode is disable, prefer, require, verify-ca or verify-full; the last three mean the same here: TLS, with the \
                     server's certificate and name checked",
                ));
            }
        };
        if mode == SslMode::Require && sockets > 0 {
            return Err(fault(
                "a socket of this machine is never encrypted; leave sslmode out, or name the server's host",
            ));
        }
        if mode != SslMode::Disable && config.get_hosts().is_empty() {
            return Err(fault(
                "with TLS, the server's certificate must have its name; give that as host, beside hostaddr",
            ));
        }
        Ok(mode)
    }

    fn tls(self) -> Result<Tls> {
        let path = |name: &str, text: String| {
            let path = PathBuf::from(text);
            match path.is_absolute() {
                true => Ok(path),
                false => Err(Error::Address(format!(
                    "{name} is not a file's whole path; write {name}=/path/to/file"
                ))),
            }
        };
        let roots = match self.roots {
            None => Roots::System,
            Some(text) if text == "system" => Roots::System,
            Some(text) => Roots::File(path("sslrootcert", text)?),
        };
        let client = match (self.certificate, self.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(ClientFiles {
                certificate: path("sslcert", certificate)?,
                key: path("sslkey", key)?,
            }),
            _ => {
                return Err(fault(
                    "sslcert and sslkey go together: the client's certificate, and its key",
                ));
            }
        };
        Ok(Tls { roots, client })
    }
}

fn decoded(text: &str) -> Result<String> {
    percent_decode_str(text)
        .decode_utf8()
        .map(|text| text.into_owned())
        .map_err(|_| fault("what follows a % in it is not UTF-8"))
}

/// Whether what is sent to the server never leaves this machine.
fn is_near(config: &postgres::Config) -> bool {
    let near = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(near) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The server's hosts and ports.
fn place(config: &postgres::Config) -> String {
    let ports = config.get_ports();
    let port = |number: usize| ports.get(number).or(ports.first()).copied().unwrap_or(5432);
    let mut hosts: Vec<String> = Vec::new();
    for (number, host) in config.get_hosts().iter().enumerate() {
        hosts.push(match (host, config.get_hostaddrs().get(number)) {
            (Host::Tcp(name), Some(ip)) if *name != ip.to_string() => {
                format!("{name}:{} ({ip})", port(number))
            }
            (Host::Tcp(name), _) if name.contains(':') => format!("[{name}]:{}", port(number)),
            (Host::Tcp(name), _) => format!("{name}:{}", port(number)),
            (Host::Unix(path), _) => path.display().to_string(),
        });
    }
    if hosts.is_empty() {
        let addresses = config.get_hostaddrs().iter().enumerate();
        hosts.extend(addresses.map(|(number, ip)| std::net::SocketAddr::new(*ip, port(number)).to_string()));
    }
    hosts.join(", ")
}
