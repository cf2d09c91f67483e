//! The pool of garbled gates, with both parties on this machine, beside the figures of Zhu, Huang and Cassel (CCS 2017).
//!
//! A session fills a pool of some size (Table 3), and then runs circuits over the full pool again and again (Figure 5): a wide one, many
//! instances of AES-128 side by side, whose gates come in large groups; and a narrow one, a single SHA-256, most of whose gates wait for
//! the one before.

mod report;
mod text;

use cenote::{Error, Result};
use cenote_jimu::{Config, JimuEngine, MAX_POOL, MIN_POOL, MUX_WIDTH, Sizes};
use cenote_net::PartyId;
use cenote_session::Connections;
use serde::{Deserialize, Serialize};

use crate::pools::{Load, PoolSession, Pooled};

/// Bits of the multiplexers that are compared with and without gadgets for them.
const MUXES: [usize; 4] = [8, 16, 32, 64];

/// AND gates of those that run side by side.
const MUX_GATES: usize = 1 << 14;

/// A wide circuit and a narrow one.
pub fn usual() -> Vec<Load> {
    vec![Load::new("lib:aes128", 64), Load::new("lib:sha256", 1)]
}

/// Multiplexers, as many side by side as come to some number of AND gates.
fn muxes() -> Vec<Load> {
    MUXES
        .map(|width| Load::new(format!("mux{width}"), MUX_GATES / width))
        .into()
}

/// The settings that are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jimu {
    /// Gates made at once.
    pub buffer: u32,
    /// Whether there is also a pool of as many gadgets for multiplexers, and these are run with and without it.
    pub mux: bool,
    /// Whether this session has that pool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    with_mux: bool,
}

impl Jimu {
    /// Buffers of some size, with or without a comparison of multiplexers.
    pub fn new(buffer: u32, mux: bool) -> Self {
        Self {
            buffer,
            mux,
            with_mux: false,
        }
    }

    fn config(session: &PoolSession<Self>) -> Config {
        let buffer = session.protocol.buffer;
        let mut config = Config::new("cenote bench jimu");
        config.security = session.security;
        config.pool = session.pool;
        config.buffer = buffer;
        config.mux_buffer = (buffer / MUX_WIDTH as u32).next_multiple_of(64);
        config
    }
}

impl Pooled for Jimu {
    const NAME: &'static str = "jimu";
    const PURPOSES: &'static [&'static str] = &["protocol", "pool"];
    type Engine = JimuEngine;
    type Sizes = Sizes;

    fn sizes(session: &PoolSession<Self>) -> Result<Sizes> {
        if !(MIN_POOL..=MAX_POOL).contains(&session.pool) {
            return Err(Error::Usage(format!("a pool has {MIN_POOL} to {MAX_POOL} gates")));
        }
        let checked = Jimu::config(session).check();
        checked.map_err(|error| Error::Usage(error.to_string()))?;
        let mux = session.protocol.with_mux.then_some(session.pool);
        Sizes::search(session.security, session.pool, mux).map_err(Error::Usage)
    }

    fn start(
        session: &PoolSession<Self>,
        sizes: Sizes,
        me: PartyId,
        connections: Connections,
    ) -> Result<JimuEngine> {
        let channels = connections.channels().try_into();
        let channels = channels.map_err(|_| Error::Usage("a session over a pool has two channels".into()))?;
        Ok(JimuEngine::start(me, channels, Jimu::config(session), sizes)?)
    }

    fn pools(&self) -> usize {
        1 + usize::from(self.with_mux)
    }

    /// The pool of gates, then what is missing.
    fn fill(engine: &mut JimuEngine, pool: usize) -> Result<()> {
        Ok(match pool {
            0 => engine.fill_gates()?,
            _ => engine.fill()?,
        })
    }

    fn drawn(engine: &JimuEngine) -> u64 {
        engine.drawn()
    }
}
