//! By which names a service may be called.
//!
//! A page elsewhere can have its own name lead to this machine, and would then be of one origin with the service. So only names that lead here
//! for everybody are answered to: addresses in digits, `localhost`, and those that the operator gives.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The names of a service, and how browsers write its origin.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    known: Vec<String>,
    scheme: &'static str,
    cookie: String,
}

impl Names {
    pub(crate) fn new(known: &[String], listen: SocketAddr, tls: bool) -> Self {
        let port = listen.port();
        Names {
            known: known.iter().map(|name| name.to_ascii_lowercase()).collect(),
            scheme: if tls { "https" } else { "http" },
            // Cookies are shared by all ports of a machine, on which there may be several services.
            cookie: if tls {
                format!("__Host-cenote-{port}")
            } else {
                format!("cenote-{port}")
            },
        }
    }

    /// Whether `host`, a Host header, names this service.
    pub(crate) fn knows(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let digits = match bracketed {
            Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
            None => name.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4()),
        };
        let name = name.to_ascii_lowercase();
        digits || name == "localhost" || self.known.contains(&name)
    }

    /// Whether `origin` is that of the page that `host` serves.
    pub(crate) fn is_origin(&self, origin: &str, host: &str) -> bool {
        origin
            .strip_prefix(self.scheme)
            .and_then(|rest| rest.strip_prefix("://"))
            .is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    }

    /// What the session's cookie is called.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether calls come over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.scheme == "https"
    }
}

fn without_port(host: &str) -> Option<&str> {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            digits.then_some(name)
        }
        _ => Some(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_nobody_else_can_lead_here_are_known() {
        let names = Names::new(
            &["Party.Example".into()],
            "127.0.0.1:80".parse().expect("address"),
            false,
        );
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "10.0.0.7:443",
            "[::1]",
            "[::1]:80",
            "party.example:8",
        ] {
            assert!(names.knows(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "party.example.",
            "localhost:80@evil",
            "localhost:",
            "localhost:8x",
            "[::1",
            "::1",
            "[evil]",
            "127.1 ",
        ] {
            assert!(!names.knows(host), "{host}");
        }
    }

    #[test]
    fn an_origin_is_that_of_the_host_and_scheme() {
        let address = "127.0.0.1:80".parse().expect("address");
        let (plain, tls) = (Names::new(&[], address, false), Names::new(&[], address, true));
        assert!(plain.is_origin("http://localhost:80", "localhost:80"));
        assert!(tls.is_origin("https://localhost:80", "LocalHost:80"));
        for origin in [
            "null",
            "",
            "https://localhost:80",
            "http://localhost:81",
            "http://localhost",
        ] {
            assert!(!plain.is_origin(origin, "localhost:80"), "{origin}");
        }
        assert!(plain.cookie() != tls.cookie() && tls.cookie().starts_with("__Host-"));
    }
}
