//! What a session is started with.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use cenote_net::PartyId;
use cenote_ot::mutual;
use cenote_params::authenticated::{Soundness, Use};
use cenote_params::lpn::Lpn;
use cenote_params::pool::{self, TripleParameters};
use cenote_params::{Remembered, short};
use cenote_pool::kept::Spent;
use cenote_primitives::Entropy;
use cenote_session::{Error, Result, Terms};
use serde::{Deserialize, Serialize};

/// The highest statistical security: what the OTs of a million authenticated bits give.
pub const MAX_SECURITY: u32 = 87;

/// The most leaky ANDs of a pool: about 10 GB at each party.
pub const MAX_POOL: u32 = 100_000_000;

/// The fewest leaky ANDs made at once.
pub(crate) const MIN_LOT: u32 = 64;

/// The most.
pub(crate) const MAX_LOT: u32 = 1 << 22;

/// Leaky ANDs made at once where it is not stated how many: as many as stay in a core's own cache, and up to so many where messages take long.
pub const USUAL_LOTS: [u32; 2] = [1 << 14, 1 << 17];

/// The most leaky ANDs of a triple.
const MAX_BUCKET: u32 = 64;

/// How many symbols Δ may be cut into.
pub(crate) const SYMBOLS: RangeInclusive<u32> = cenote_ot::mutual::SYMBOLS;

/// Where authenticated bits come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cot {
    /// OT extension, of whose bits each takes some bytes ([`cenote_ot::mutual`]).
    #[default]
    SoftSpoken,
    /// A generator, which makes millions from thousands of these ([`cenote_ot::pcg`]).
    Pcg,
}

impl Cot {
    /// Both.
    pub const ALL: [Self; 2] = [Self::SoftSpoken, Self::Pcg];
}

impl fmt::Display for Cot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cot::SoftSpoken => "softspoken",
            Cot::Pcg => "pcg",
        })
    }
}

impl FromStr for Cot {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let found = Self::ALL.into_iter().find(|cot| cot.to_string() == name);
        found.ok_or_else(|| "authenticated bits come from softspoken or pcg".into())
    }
}

/// What both parties agree on, and this party's source of randomness.
pub struct Config {
    /// The session's name, bound into every hash.
    pub session: String,
    /// Leaky ANDs made at once. Whether they are right is tested once for all of them, which takes each party about 0.1 ms.
    pub lot: u32,
    /// The most leaky ANDs made at once, if the garbler may make lots larger where messages take long.
    pub largest_lot: Option<u32>,
    /// Gates garbled at once: there is one message each way for so many.
    pub segment: u32,
    /// Symbols of Δ: fewer bytes and more work for each authenticated bit the fewer they are.
    pub symbols: u32,
    /// The sizes of a generator that makes authenticated bits from few others; without it, all come from OT extension.
    pub generator: Option<Lpn>,
    /// The party that garbles: 0 or 1. The other evaluates.
    pub garbler: PartyId,
    /// AND gates and bits of inputs that the session is likely to take. A pool that is kept is renewed if it has been used so much that
    /// its bounds do not allow for these.
    pub demand: [u64; 2],
    /// Where this party's randomness comes from: [`Entropy::os`] but in tests.
    pub entropy: Entropy,
    /// Whether the parties have compared [`Config::terms`] and the session's name already.
    pub compared: bool,
}

impl Config {
    /// Lots of 2^14, which stay in a core's own cache, segments of 2^11, 24 symbols, no generator, party 0 garbling, randomness from the operating system.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            lot: USUAL_LOTS[0],
            largest_lot: None,
            segment: 1 << 11,
            symbols: 24,
            generator: None,
            garbler: PartyId(0),
            demand: [0; 2],
            entropy: Entropy::os(),
            compared: false,
        }
    }

    /// Leaky ANDs made at once, at first and at most.
    pub(crate) fn lots(&self) -> [u32; 2] {
        [self.lot, self.largest_lot.unwrap_or(self.lot)]
    }

    /// What must be the same at both parties, besides the session's name.
    pub fn terms(&self) -> Terms {
        let cot = match self.generator {
            None => Cot::SoftSpoken.to_string(),
            Some(Lpn {
                secret,
                block,
                blocks,
            }) => format!("{}: {blocks} blocks of 2^{block}, secret of 2^{secret}", Cot::Pcg),
        };
        let [lot, largest_lot] = self.lots();
        vec![
            ("authenticated".into(), "version 3".into()),
            ("lot".into(), lot.to_string()),
            ("largest lot".into(), largest_lot.to_string()),
            ("segment".into(), self.segment.to_string()),
            ("symbols".into(), self.symbols.to_string()),
            ("cot".into(), cot),
            ("garbler".into(), self.garbler.0.to_string()),
        ]
    }

    /// Whether the numbers make sense.
    ///
    /// # Errors
    /// [`Error::BadInput`], which says what is wrong.
    pub fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::BadInput(reason));
        let [lot, largest_lot] = self.lots();
        if !(MIN_LOT..=MAX_LOT).contains(&lot) {
            return refuse(format!("lots of {lot} leaky ANDs: 64 to 2^22"));
        }
        if !(lot..=MAX_LOT).contains(&largest_lot) {
            return refuse(format!(
                "lots of up to {largest_lot} leaky ANDs: at least the {lot} of the first, and up to 2^22"
            ));
        }
        if !(1..=1 << 20).contains(&self.segment) {
            return refuse(format!("segments of {} gates: 1 to 2^20", self.segment));
        }
        if !SYMBOLS.contains(&self.symbols) {
            let (least, most) = (SYMBOLS.start(), SYMBOLS.end());
            return refuse(format!("{} symbols: {least} to {most}", self.symbols));
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
    /// The pool of leaky ANDs, and how many of them make a triple.
    pub pool: TripleParameters,
    /// Bits of a leaky AND's block and sum ([`short::bits`]).
    pub leaky_bits: u32,
}

impl Sizes {
    /// The smallest buckets for a pool of `pool` leaky ANDs.
    ///
    /// # Errors
    /// Why there are none.
    pub fn search(security: u32, pool: u32) -> std::result::Result<Self, String> {
        static FOUND: Remembered<[u32; 2], std::result::Result<Sizes, String>> = Remembered::new();
        FOUND.get([security, pool], || Self::search_anew(security, pool))
    }

    fn search_anew(security: u32, pool: u32) -> std::result::Result<Self, String> {
        within(security, MAX_SECURITY)?;
        let told = |refusal: cenote_params::Refusal| refusal.to_string();
        let mut found = pool::triples(security, pool.into()).map_err(told)?;
        while !found.adaptive_error.meets(security) {
            found = pool::check_triples(security, pool.into(), found.bucket + 1).map_err(told)?;
        }
        if found.bucket > MAX_BUCKET {
            let bucket = found.bucket;
            return Err(format!(
                "a pool of {pool} leaky ANDs takes {bucket} for a triple, more than {MAX_BUCKET}: it is too small"
            ));
        }
        Ok(Self::with(security, found))
    }

    /// With such a pool.
    fn with(security: u32, pool: TripleParameters) -> Self {
        Self {
            security,
            pool,
            leaky_bits: short::bits(security),
        }
    }

    /// The pool for which a session with so many AND gates makes the fewest leaky ANDs, of at most `largest`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn cheapest(security: u32, ands: u64, largest: u32) -> std::result::Result<Self, String> {
        static FOUND: Remembered<[u32; 2], Option<TripleParameters>> = Remembered::new();
        within(security, MAX_SECURITY)?;
        let found = (2..=MAX_BUCKET.min(security + 1))
            .filter_map(|bucket| FOUND.get([security, bucket], || smallest(security, bucket)))
            .filter(|found| found.pool_size <= largest.into());
        let found = found.map(|pool| Self::with(security, pool));
        found.min_by_key(|sizes| sizes.made(ands)).ok_or_else(|| {
            format!("no pool of up to {largest} leaky ANDs reaches a security of {security} bits")
        })
    }

    /// About what a session does that begins with an empty pool: with so many AND gates and bits of inputs, and so many leaky ANDs made at once, at
    /// first and at most.
    pub(crate) fn session(
        &self,
        [gates, inputs]: [u64; 2],
        [lot, largest]: [u32; 2],
        generator: Option<Lpn>,
    ) -> Use {
        // The last lot may be the largest, and all but one of it more than is wanted.
        let beyond = if largest > lot { largest } else { 0 };
        let made = self.made(gates).saturating_add(beyond.into());
        let lots = made.div_ceil(lot.into()) as f64;
        let (lot, bucket) = (lot as usize, self.bucket());
        // With each lot come masks of the gates that can be drawn.
        let bits = 3 * lot + lot / bucket + 1;
        let inputs = inputs as f64;
        // The OTs are as good whatever the symbols.
        let all = Use::of(
            lots * (lot / bucket + 1) as f64 + inputs,
            lots * lot as f64,
            128,
            generator,
        );
        Use {
            gates: gates as f64,
            rows: match &generator {
                None => lots * mutual::rows(bits) as f64 + inputs,
                Some(sizes) => mutual::rows(sizes.seed() as usize) as f64,
            },
            ..all
        }
    }

    /// Leaky ANDs that so many gates take, and the pool.
    pub(crate) fn made(&self, gates: u64) -> u64 {
        let drawn = gates.saturating_mul(self.pool.bucket.into());
        self.pool.pool_size.saturating_add(drawn)
    }

    /// What a session does, after so many others over the same pool that have used up so much ([`Keys::spent`](crate::setup::Keys::spent)).
    pub(crate) fn after(&self, session: Use, spent: &Spent, sessions: u64) -> Use {
        session.after(spent.map(|count| count as f64), sessions as f64, self.pool.bucket)
    }

    /// Whether the OTs give the security that was asked for when so much is done.
    ///
    /// # Errors
    /// If not; it says how much they give.
    pub(crate) fn within(&self, all: &Use) -> std::result::Result<(), String> {
        within(self.security, Soundness::largest(all))
    }

    /// What must be the same at both parties, besides [`Config::terms`].
    pub fn terms(&self) -> Terms {
        let TripleParameters {
            pool_size, bucket, ..
        } = &self.pool;
        vec![
            ("security".into(), self.security.to_string()),
            ("pool".into(), pool_size.to_string()),
            ("bucket".into(), bucket.to_string()),
            ("leaky ANDs".into(), format!("{} bits", self.leaky_bits)),
        ]
    }

    /// Leaky ANDs that are combined to a triple.
    pub(crate) fn bucket(&self) -> usize {
        self.pool.bucket as usize
    }
}

/// Refuses what the OTs do not give.
fn within(security: u32, largest: u32) -> std::result::Result<(), String> {
    match (1..=largest).contains(&security) {
        true => Ok(()),
        false => Err(format!(
            "a security of {security} bits: with protocol \"authenticated\" and so many gates it is 1 to {largest}, which its OTs give"
        )),
    }
}

/// The smallest pool, but for half a percent, for buckets of `bucket` leaky ANDs, whatever a cheater does when.
fn smallest(security: u32, bucket: u32) -> Option<TripleParameters> {
    let mut found = pool::smallest_pool(security, bucket).ok()?;
    while !found.adaptive_error.meets(security) {
        let larger = found.pool_size + found.pool_size / 200 + 1;
        found = pool::check_triples(security, larger, bucket).ok()?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_security_is_asked_for_than_the_ots_give() {
        assert_eq!(
            MAX_SECURITY,
            Soundness::largest(&Use::of(1000.0, 3000.0, 32, None))
        );
        for security in [0, MAX_SECURITY + 1, 128] {
            for refused in [
                Sizes::search(security, 1 << 20),
                Sizes::cheapest(security, 1000, 1 << 20),
            ] {
                let refused = refused.unwrap_err();
                assert!(refused.contains("1 to 87"), "{refused}");
            }
        }
        let sizes = Sizes::search(80, 1 << 20).unwrap();
        let suffice = |sizes: &Sizes, gates| sizes.within(&sizes.session([gates, 0], [1 << 14; 2], None));
        assert!(suffice(&sizes, 1000).is_ok());
        let refused = suffice(&sizes, 1 << 40).unwrap_err();
        assert!(
            refused.contains("a security of 80 bits") && refused.contains("1 to 63"),
            "{refused}"
        );
        let refused = sizes.within(&sizes.after(
            sizes.session([1000, 0], [1 << 14; 2], None),
            &[1 << 28, 1 << 28, 0],
            1,
        ));
        assert!(refused.unwrap_err().contains("1 to 79"));
        assert!(suffice(&Sizes::search(40, 1 << 20).unwrap(), 1 << 50).is_ok());
    }
}
