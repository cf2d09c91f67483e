//! What a session is started with.

use std::ops::RangeInclusive;

use cenote_net::PartyId;
use cenote_params::pool::{self, Extraction, Guard};
use cenote_params::{ihash, pool::Parameters};
use cenote_primitives::{Block, Entropy};
use cenote_session::{Error, Result, Terms};

use crate::gadget::Shape;

/// The highest statistical security: labels of eight blocks.
pub const MAX_SECURITY: u32 = 128;

/// The fewest gates of a pool: smaller ones need buckets of dozens of gates.
pub const MIN_POOL: u32 = 1000;

/// The most gates of a pool: about 25 GB at each party.
pub const MAX_POOL: u32 = 100_000_000;

/// AND gates of a gadget for gates that have an operand in common.
pub const MUX_WIDTH: usize = 8;

/// What both parties agree on, and this party's source of randomness.
pub struct Config {
    /// Statistical security in bits: each bound on a wrong output is at most 2 to the minus this, over the pool's whole life.
    pub security: u32,
    /// The session's name, bound into every hash.
    pub session: String,
    /// AND gates in the pool.
    pub pool: u32,
    /// Gates made at once to replace drawn ones: there is one round trip for so many.
    pub buffer: u32,
    /// Buffers that are made before they are needed, at most: all of a service's, none beyond what a program takes that is known.
    pub ahead: u64,
    /// The party that garbles: 0 or 1. The other evaluates.
    pub garbler: PartyId,
    /// Where this party's randomness comes from: [`Entropy::os`] but in tests.
    pub entropy: Entropy,
    /// Whether the parties have compared [`Config::terms`] and the session's name already.
    pub compared: bool,
}

impl Config {
    /// 40 bits, a pool of 2^20 gates, buffers of 2^17 made ahead, party 0 garbling, randomness from the operating system.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            security: 40,
            session: session.into(),
            pool: 1 << 20,
            buffer: 1 << 17,
            ahead: u64::MAX,
            garbler: PartyId(0),
            entropy: Entropy::os(),
            compared: false,
        }
    }

    /// What must be the same at both parties, besides the session's name.
    pub fn terms(&self) -> Terms {
        vec![
            ("jimu".into(), "version 1".into()),
            ("security".into(), self.security.to_string()),
            ("pool".into(), self.pool.to_string()),
            ("buffer".into(), self.buffer.to_string()),
            ("buffers ahead".into(), self.ahead.to_string()),
            ("garbler".into(), self.garbler.0.to_string()),
        ]
    }

    /// Whether the numbers make sense.
    ///
    /// # Errors
    /// [`Error::BadInput`], which says what is wrong.
    pub fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::BadInput(reason));
        if !(1..=MAX_SECURITY).contains(&self.security) {
            let found = self.security;
            return refuse(format!(
                "a statistical security of {found} bits: with a pool of gates 1 to {MAX_SECURITY}"
            ));
        }
        if !(MIN_POOL..=MAX_POOL).contains(&self.pool) {
            let found = self.pool;
            return refuse(format!("a pool of {found} gates: {MIN_POOL} to {MAX_POOL}"));
        }
        if !(64..=1 << 22).contains(&self.buffer) || !self.buffer.is_multiple_of(64) {
            let found = self.buffer;
            return refuse(format!("buffers of {found} gates: a multiple of 64 up to 2^22"));
        }
        if self.garbler.0 > 1 {
            return refuse(format!("{} is to garble: 0 or 1", self.garbler));
        }
        Ok(())
    }
}

/// The parameters of a session: the one search.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Sizes {
    /// The statistical security asked for.
    pub security: u32,
    /// The code of labels, and how much of it is watched.
    pub labels: ihash::InteractiveHash,
    /// The pool of AND gates: bucket size and check rate.
    pub pool: Parameters,
    /// Gates that a wire is anchored to.
    pub anchor: Extraction,
    /// The pool of gadgets of [`MUX_WIDTH`] gates that have an operand in common, if there is one.
    pub mux: Option<Parameters>,
}

impl Sizes {
    /// Finds the cheapest parameters for a pool of `pool` AND gates, and one of `mux` gadgets of [`MUX_WIDTH`] gates if there is to be one.
    /// The pools' buckets and the anchors have an equal part of the error each.
    ///
    /// # Errors
    /// Why there are none.
    pub fn search(security: u32, pool: u32, mux: Option<u32>) -> std::result::Result<Self, String> {
        let told = |refusal: cenote_params::Refusal| refusal.to_string();
        let parts: f64 = if mux.is_some() { 3.0 } else { 2.0 };
        let security_bits = f64::from(security) + parts.log2();
        let search = |size: u32| {
            let request = pool::Request {
                security_bits,
                guard: Guard::Adaptive,
                ..pool::Request::new(security, size.into())
            };
            pool::search(&request).map_err(told)
        };
        let (pool, mux) = (search(pool)?, mux.map(search).transpose()?);
        let anchor = pool::extraction(&pool, security_bits).map_err(told)?;
        Self::with(security, pool, anchor, mux)
    }

    /// The same for the pool of one of these sizes that makes a session with this `work` cheapest, without one for gates that have an operand in
    /// common.
    ///
    /// # Errors
    /// Why there are none.
    pub fn cheapest(
        security: u32,
        work: &pool::Work,
        sizes: RangeInclusive<u32>,
    ) -> std::result::Result<Self, String> {
        let sizes = (*sizes.start()).into()..=(*sizes.end()).into();
        let found = work.cheapest(f64::from(security) + 1.0, sizes);
        let (pool, anchor) = found.map_err(|refusal| refusal.to_string())?;
        Self::with(security, pool, anchor, None)
    }

    /// With the code of labels that these pools take.
    fn with(
        security: u32,
        pool: Parameters,
        anchor: Extraction,
        mux: Option<Parameters>,
    ) -> std::result::Result<Self, String> {
        let of_mux = mux.as_ref().map(|mux| pool::guesses_log2(mux, MUX_WIDTH as u32));
        let guesses = pool::guesses_log2(&pool, 1).max(of_mux.unwrap_or(0));
        Ok(Self {
            security,
            labels: ihash::for_labels(security + guesses).map_err(|refusal| refusal.to_string())?,
            pool,
            anchor,
            mux,
        })
    }

    /// The pools there are, each with the AND gates of a gadget.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (&Parameters, u32)> {
        let mux = self.mux.as_ref().map(|mux| (mux, MUX_WIDTH as u32));
        [(&self.pool, 1)].into_iter().chain(mux)
    }

    /// Bytes that a gadget of `width` AND gates, which share an operand, takes in the pool: at the garbler and at the evaluator.
    pub fn stored_bytes(&self, width: usize) -> [usize; 2] {
        let blocks = self.blocks();
        let shape = Shape { blocks, width };
        [shape.garbler_blocks(), shape.evaluator_blocks()].map(|blocks| blocks * size_of::<Block>())
    }

    /// What must be the same at both parties, besides [`Config::terms`].
    pub fn terms(&self) -> Terms {
        let pool = |name: &str, of: &Parameters| {
            let (size, bucket, threshold) = (of.pool_size(), of.bucket(), of.check_threshold());
            let value = format!("{size} gadgets, {bucket} in a bucket, checked below {threshold}");
            (name.to_owned(), value)
        };
        let labels = &self.labels;
        let (length, message, watched) = (labels.length(), labels.message(), labels.watched());
        let code = format!("[{length}, {message}], {watched} watched");
        let mut terms = vec![
            pool("gates", &self.pool),
            ("anchor".into(), self.anchor.bucket.to_string()),
            ("code".into(), code),
        ];
        terms.extend(
            self.mux
                .as_ref()
                .map(|mux| pool("gates with a common operand", mux)),
        );
        terms
    }

    /// 128-bit blocks of a label.
    pub fn blocks(&self) -> usize {
        self.labels.message() as usize / 16
    }
}
