//! A link between parties: what it adds to the machine's own delays.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use cenote_net::{Line, Shape, Shaped};
use cenote_session::Connections;
use serde::{Deserialize, Serialize};

/// A link that is slower than this machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Milliseconds that a message and its answer take on the way; 0 adds nothing.
    pub rtt_ms: f64,
    /// Gigabits per second in each direction; `None` adds no limit.
    pub gbit_per_second: Option<f64>,
}

impl Link {
    /// The paper's LAN: 0.16 ms, 9.52 Gbit/s.
    pub const LAN: Link = Link {
        rtt_ms: 0.16,
        gbit_per_second: Some(9.52),
    };
    /// The paper's WAN, between Virginia and Ireland: 81 ms, 3 Gbit/s.
    pub const WAN: Link = Link {
        rtt_ms: 81.0,
        gbit_per_second: Some(3.0),
    };

    /// How long a message takes from one party to another.
    pub fn way(&self) -> Duration {
        Duration::from_secs_f64(self.rtt_ms / 2000.0)
    }

    /// Bytes that it carries in a second, in each direction.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.gbit_per_second.map(|gbit| gbit * 1e9 / 8.0)
    }

    /// The same connections, slowed down: all channels to a peer share a link.
    pub fn shape(&self, connections: Connections) -> Connections {
        if *self == Link::default() {
            return connections;
        }
        let shape = Shape::new(self.way(), self.bytes_per_second().map(|bytes| bytes as u64));
        let mut lines: BTreeMap<u8, Line> = BTreeMap::new();
        connections.map(|channel| {
            let line = lines.entry(channel.peer().0).or_default().clone();
            Box::new(Shaped::on(line, channel, shape))
        })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gbit_per_second {
            None if self.rtt_ms == 0.0 => f.write_str("nothing added"),
            None => write!(f, "round trips of {} ms", self.rtt_ms),
            Some(rate) => write!(f, "round trips of {} ms and {rate} Gbit/s", self.rtt_ms),
        }
    }
}

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let custom = || {
            let (rtt, rate) = text.split_once(',')?;
            let rtt_ms = rtt
                .trim()
                .parse()
                .ok()
                .filter(|ms| (0.0..=10_000.0).contains(ms))?;
            let rate = rate
                .trim()
                .parse()
                .ok()
                .filter(|rate| (1e-6..=1e6).contains(rate))?;
            Some(Link {
                rtt_ms,
                gbit_per_second: Some(rate),
            })
        };
        match text {
            "none" => Ok(Link::default()),
            "lan" => Ok(Link::LAN),
            "wan" => Ok(Link::WAN),
            _ => custom().ok_or_else(|| {
                "the link is none, lan, wan, or milliseconds of a round trip and Gbit/s, such as 20,1".into()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_names_or_numbers() {
        assert_eq!("none".parse(), Ok(Link::default()));
        assert_eq!("wan".parse(), Ok(Link::WAN));
        let custom = Link {
            rtt_ms: 20.0,
            gbit_per_second: Some(0.5),
        };
        assert_eq!("20, 0.5".parse(), Ok(custom));
        assert_eq!(custom.to_string(), "round trips of 20 ms and 0.5 Gbit/s");
        for wrong in ["", "fast", "20", "20,", "-1,1", "20,0", "nan,1", "1,inf", "1,2,3"] {
            assert!(wrong.parse::<Link>().is_err(), "{wrong}");
        }
    }
}
