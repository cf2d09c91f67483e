//! What a session is started with.

use std::ops::RangeInclusive;

use cenote_net::PartyId;
use cenote_params::pool::{self, Extraction, Guard};
use cenote_params::{ihash, pool::Parameters};
use cenote_primitives::{Block, Entropy};
use cenote_session::{Error, Result, Terms};

use crate::gadget::Shape;

/// The highest statistical security: a permutation bit is opened as the other one with probability 2^-63
/// ([`cenote_params::pool::Soundness::bits`]).
pub const MAX_SECURITY: u32 = 63;

/// The fewest gates of a pool: smaller ones need buckets of dozens of gates.
pub const MIN_POOL: u32 = 1000;

/// The most gates of a pool: about 25 GB at each party.
pub const MAX_POOL: u32 = 100_000_000;

/// AND gates of a gadget for gates that have an operand in common.
pub const MUX_WIDTH: usize = 8;

/// The most gadgets of a pool for gates that have an operand in common, where none is asked for: 380 MB at the evaluator.
const LARGEST_MUX_POOL: u32 = 1 << 18;

/// The share of the bytes of a session with one pool that it may have with two, if there are to be two: the second takes memory.
const WORTH_A_POOL: f64 = 0.95;

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
    /// The same for gadgets of [`MUX_WIDTH`] gates.
    pub mux_buffer: u32,
    /// Buffers of each kind that are made before they are needed, at most: all of a service's, none beyond what a program takes that is
    /// known.
    pub ahead: [u64; 2],
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
            mux_buffer: (1 << 17) / MUX_WIDTH as u32,
            ahead: [u64::MAX; 2],
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
            (
                "buffer".into(),
                format!("{} and {}", self.buffer, self.mux_buffer),
            ),
            ("buffers ahead".into(), format!("{:?}", self.ahead)),
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
        for found in [self.buffer, self.mux_buffer] {
            if !(64..=1 << 22).contains(&found) || !found.is_multiple_of(64) {
                return refuse(format!("buffers of {found} gadgets: a multiple of 64 up to 2^22"));
            }
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

    /// The same for the pool of one of these sizes that makes a session with this `work` cheapest. Gates for `shared` gadgets of
    /// [`MUX_WIDTH`] are among the work: they get a pool of their own if that saves a twentieth of the bytes at least.
    ///
    /// # Errors
    /// Why there are none.
    pub fn cheapest(
        security: u32,
        work: &pool::Work,
        shared: u64,
        sizes: RangeInclusive<u32>,
    ) -> std::result::Result<Self, String> {
        let sizes = u64::from(*sizes.start())..=u64::from(*sizes.end());
        let found = work.cheapest(f64::from(security) + 1.0, sizes.clone());
        let (pool, anchor) = found.map_err(|refusal| refusal.to_string())?;
        let one = Self::with(security, pool, anchor, None)?;
        if shared == 0 {
            return Ok(one);
        }
        let two = Self::with_two(security, work, shared, sizes);
        let bytes = |sizes: &Self| {
            let [ands, muxes] = sizes.works(work, shared);
            sizes.bytes(&ands, &sizes.pool, 1)
                + sizes
                    .mux
                    .as_ref()
                    .map_or(0.0, |mux| sizes.bytes(&muxes, mux, MUX_WIDTH))
        };
        let two = two.ok().filter(|two| bytes(two) < WORTH_A_POOL * bytes(&one));
        Ok(two.unwrap_or(one))
    }

    /// The cheapest with two pools. The pools' buckets and the anchors have an equal part of the error each.
    fn with_two(
        security: u32,
        work: &pool::Work,
        shared: u64,
        sizes: RangeInclusive<u64>,
    ) -> std::result::Result<Self, String> {
        let told = |refusal: cenote_params::Refusal| refusal.to_string();
        let security_bits = f64::from(security) + 3f64.log2();
        let [ands, muxes] = split(work, shared);
        let (pool, anchor) = ands.cheapest(security_bits, sizes).map_err(told)?;
        let of_muxes = MIN_POOL.into()..=LARGEST_MUX_POOL.into();
        let (mux, _) = muxes.cheapest(security_bits, of_muxes).map_err(told)?;
        Self::with(security, pool, anchor, Some(mux))
    }

    /// What `work` takes of each pool, if gates for `shared` gadgets of [`MUX_WIDTH`] are among it.
    pub(crate) fn works(&self, work: &pool::Work, shared: u64) -> [pool::Work; 2] {
        split(work, if self.mux.is_some() { shared } else { 0 })
    }

    /// Bytes that making a gadget of `width` gates takes with what is checked of them at the rate of `pool`: random labels, chosen ones, two
    /// rows of a table for each gate and authenticated bits; of those checked, the labels of inputs.
    pub(crate) fn made_bytes(&self, pool: &Parameters, width: usize) -> f64 {
        let [n, k] = [self.labels.length(), self.labels.message()].map(f64::from);
        let (inputs, outputs) = (width as f64 + 1.0, width as f64);
        let labels = inputs * (n - k) + outputs * n;
        labels + 2.0 * outputs * k + 8.0 * (inputs + outputs) + pool.check_rate() * inputs * k
    }

    /// Bytes that the gadgets that `work` draws from `pool` take when they are soldered.
    pub(crate) fn soldered_bytes(&self, work: &pool::Work, pool: &Parameters, width: usize) -> f64 {
        let (bucket, width) = (f64::from(pool.bucket()), width as f64);
        let of_buckets = work.buckets as f64 * ((width + 1.0) * bucket + width * (bucket - 1.0));
        let of_anchors = work.anchors as f64 * f64::from(2 * self.anchor.bucket);
        (of_buckets + of_anchors) * f64::from(self.labels.message())
    }

    /// Bytes that `work` takes of `pool`, which has gadgets of `width` gates, from filling it on.
    fn bytes(&self, work: &pool::Work, pool: &Parameters, width: usize) -> f64 {
        let made = work.made(pool, &self.anchor) * self.made_bytes(pool, width);
        made + self.soldered_bytes(work, pool, width)
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

/// Gates for `shared` gadgets of [`MUX_WIDTH`], and the rest of the work.
fn split(work: &pool::Work, shared: u64) -> [pool::Work; 2] {
    let shared = shared.min(work.buckets / MUX_WIDTH as u64);
    let of_shared = pool::Work {
        buckets: shared,
        anchors: 0,
    };
    let rest = pool::Work {
        buckets: work.buckets - shared * MUX_WIDTH as u64,
        ..*work
    };
    [rest, of_shared]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_security_than_the_macs_give_is_refused() {
        for (security, fine) in [(0, false), (1, true), (63, true), (64, false), (128, false)] {
            let mut config = Config::new("test");
            config.security = security;
            let checked = config.check();
            assert_eq!(checked.is_ok(), fine, "{security}");
            if let Err(error) = checked {
                assert!(error.to_string().contains("1 to 63"), "{error}");
            }
        }
        let work = pool::Work {
            buckets: 1000,
            anchors: 0,
        };
        let sizes = Sizes::cheapest(MAX_SECURITY, &work, 0, MIN_POOL..=MAX_POOL).unwrap();
        let pools: Vec<_> = sizes.pools().collect();
        let soundness = pool::Soundness::of(&pools, &sizes.anchor, &sizes.labels, MAX_SECURITY);
        let least = -f64::from(MAX_SECURITY);
        assert!(soundness.bits.log2() <= least && soundness.difference.log2() <= least);
    }
}
