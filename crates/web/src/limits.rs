//! What callers may take.

use std::time::Duration;

/// What callers may take of a service's time and memory.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once. Where there are as many, one on which no token was shown makes room for the next.
    pub connections: usize,
    /// Connections at once from one address other than this machine's own, or from one /64 of addresses of version 6.
    pub connections_per_address: usize,
    /// Connections at once from this machine, among them those of a proxy for callers from elsewhere.
    pub connections_of_this_machine: usize,
    /// Connections at once on which one token or its sessions were shown.
    pub connections_per_token: usize,
    /// How long the head of a request may take, or the TLS handshake, or the pause between two requests.
    pub head: Duration,
    /// How long a request may take until its answer begins, its body included.
    pub request: Duration,
    /// How long a write may wait for a caller who does not read.
    pub stall: Duration,
    /// How long a connection may last; streams of events too, which callers open anew.
    pub life: Duration,
    /// Bytes of the body of a submission or an approval.
    pub large_body: usize,
    /// Bodies of that kind that are read or answered at once.
    pub large_bodies: usize,
    /// Of these, bodies of one token and its sessions.
    pub large_bodies_per_token: usize,
    /// Bytes of other bodies.
    pub body: usize,
    /// Requests a second of one token and its sessions.
    pub rate: f64,
    /// Requests of one token that may come at once.
    pub burst: f64,
    /// Attempts to log in, a second, from one address.
    pub logins: f64,
    /// Attempts to log in from one address that may come at once.
    pub logins_burst: f64,
    /// Streams of events at once.
    pub streams: usize,
    /// How often a stream of events looks whether its token is still valid.
    pub look_again: Duration,
    /// Streams of events of one token and its sessions at once.
    pub streams_per_token: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 512,
            connections_per_address: 64,
            connections_of_this_machine: 256,
            connections_per_token: 128,
            head: Duration::from_secs(15),
            request: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            life: Duration::from_secs(900),
            large_body: 8 << 20,
            large_bodies: 16,
            large_bodies_per_token: 4,
            body: 64 << 10,
            rate: 500.0,
            burst: 1000.0,
            logins: 2.0,
            logins_burst: 30.0,
            streams: 128,
            look_again: Duration::from_secs(10),
            streams_per_token: 16,
        }
    }
}
