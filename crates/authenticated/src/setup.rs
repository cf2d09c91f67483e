//! What is done once for a pool: base OTs, the differences, and the start of the hashes. And what is done for each session over it: trees of
//! seeds for bits that no other session makes.

use std::fmt;
use std::sync::Arc;

use cenote_net::{Channel, Step};
use cenote_ot::bits::{Opener, Verifier};
use cenote_ot::mutual::{self, Mutual};
use cenote_ot::pcg::{Pcg, Shape, WEIGHT};
use cenote_params::authenticated::Use;
use cenote_params::lpn::{self, Lpn};
use cenote_pool::kept::{KeptPool, Spent};
use cenote_pool::session::Begun;
use cenote_pool::{Role, Tosser};
use cenote_primitives::{Block, Entropy, as_bytes};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use crate::checks;
use crate::settings::{Config, Sizes};
use crate::steps::START;

/// The tweak of leaky AND number 0, out of the gates' reach.
const LEAKY_ANDS: u64 = 1 << 62;

/// What is used up once and for all. The same at both parties.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    gates: u64,
    leaky: u64,
    /// Authenticated bits of each party.
    bits: u64,
    /// Rows of the OTs.
    rows: u64,
    coins: u64,
    digests: u64,
}

impl Counters {
    /// The first of so many tweaks of gates.
    pub(crate) fn gates(&mut self, count: usize) -> u64 {
        let first = self.gates;
        self.gates += count as u64;
        assert!(self.gates <= LEAKY_ANDS, "gates have 62-bit numbers");
        first
    }

    /// The first of so many tweaks of leaky ANDs.
    pub(crate) fn leaky(&mut self, count: usize) -> u64 {
        let first = self.leaky;
        self.leaky += count as u64;
        assert!(self.leaky <= LEAKY_ANDS, "leaky ANDs have 62-bit numbers");
        LEAKY_ANDS + first
    }

    /// So many authenticated bits.
    fn bits(&mut self, count: usize, generator: Option<&Lpn>) {
        let rows = match generator {
            None => mutual::rows(count),
            Some(sizes) if self.bits == 0 && count > 0 => mutual::rows(sizes.seed() as usize),
            Some(_) => 0,
        };
        self.bits += count as u64;
        self.rows += rows as u64;
    }
}

/// What a party keeps of a pool besides leaky ANDs, for as long as the pool lives.
pub(crate) struct Base {
    pub(crate) mutual: mutual::Base,
    /// A coin: the start of the hashes' keys in a session that nothing is kept of, and what the pool is called after if it is kept.
    pub(crate) coin: Block,
}

impl Base {
    /// Sets a pool up with the party at the other end of `channel`.
    pub(crate) fn establish(channel: &mut dyn Channel, config: &mut Config, role: Role) -> Result<Self> {
        let (entropy, session) = (&mut config.entropy, config.session.as_bytes());
        let mutual = mutual::Base::establish(channel, entropy, session, role == Role::Garbler)?;
        // Both differences are fixed, and a party's own are the only keys that it can choose.
        let coin = toss(role, channel, START, entropy, &format!("pool {}", config.session))?;
        Ok(Self { mutual, coin })
    }

    /// As bytes, always so many.
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let bytes = [as_bytes(&[self.coin]), &self.mutual.encode()].concat();
        Zeroizing::new(bytes)
    }

    /// The inverse of [`Base::encode`]; nothing if these are no keys of such a role.
    pub(crate) fn decode(bytes: &[u8], role: Role) -> Option<Self> {
        let (coin, mutual) = bytes.split_first_chunk()?;
        Some(Self {
            coin: Block::from_bytes(*coin),
            mutual: mutual::Base::decode(mutual, role == Role::Garbler)?,
        })
    }
}

/// A coin that neither party can choose, for a context that no other one has.
fn toss(
    role: Role,
    channel: &mut dyn Channel,
    step: Step,
    entropy: &mut Entropy,
    context: &str,
) -> Result<Block> {
    let context = context.as_bytes();
    match role {
        Role::Garbler => Tosser::commit(channel, step, entropy, context)?.toss(channel, step, context),
        Role::Evaluator => cenote_pool::toss(channel, step, entropy, context, checks::COIN),
    }
}

/// Where authenticated bits of both parties come from, under one difference each.
pub(crate) enum Bits {
    Extension(Mutual),
    Generator(Pcg),
}

impl Bits {
    /// See [`Mutual::extend`].
    pub(crate) fn extend(
        &mut self,
        channel: &mut dyn Channel,
        macs: &mut [Block],
        keys: &mut [Block],
    ) -> Result<()> {
        match self {
            Bits::Extension(mutual) => mutual.extend(channel, macs, keys),
            Bits::Generator(pcg) => pcg.extend(channel, macs, keys),
        }
    }
}

/// The shape of a generator of these sizes.
pub(crate) fn shape(sizes: &Lpn) -> Shape {
    const { assert!(WEIGHT == lpn::WEIGHT as usize) };
    Shape {
        secret: sizes.secret,
        block: sizes.block,
        blocks: sizes.blocks,
    }
}

/// What a party keeps of a session besides wires and leaky ANDs.
pub(crate) struct Keys {
    pub(crate) role: Role,
    bits: Bits,
    /// Opens this party's bits.
    pub(crate) opener: Opener<2>,
    /// Verifies the other party's.
    pub(crate) verifier: Verifier<2>,
    pub(crate) delta: Zeroizing<Block>,
    /// The key of the hash with tweak 0.
    pub(crate) start: Block,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
    /// What is on disk, if the pool is kept.
    pub(crate) kept: Option<Arc<KeptPool>>,
    sizes: Sizes,
    symbols: u32,
    generator: Option<Lpn>,
    session: String,
}

impl Keys {
    /// Begins a session over a pool, of a name that no other has.
    pub(crate) fn begin(
        begun: &Begun<Sizes, Base>,
        channel: &mut dyn Channel,
        config: &mut Config,
        role: Role,
    ) -> Result<Self> {
        let Begun { base, kept, .. } = begun;
        let mut entropy = std::mem::replace(&mut config.entropy, Entropy::os());
        let session = config.session.as_bytes();
        let mutual = base
            .mutual
            .begin(channel, &mut entropy, session, config.symbols)?;
        // Keys of a session are no other's, even where a folder was put back to an earlier state.
        let start = match kept {
            Some(_) => toss(
                role,
                channel,
                START,
                &mut entropy,
                &format!("start {}", config.session),
            )?,
            None => base.coin,
        };
        Ok(Self {
            role,
            opener: mutual.opener(0),
            verifier: mutual.verifier(0),
            delta: Zeroizing::new(mutual.delta()),
            bits: match &config.generator {
                None => Bits::Extension(mutual),
                Some(sizes) => Bits::Generator(Pcg::new(mutual, &mut entropy, shape(sizes), start)),
            },
            start,
            counters: Counters::default(),
            entropy,
            kept: kept.clone(),
            sizes: begun.sizes.clone(),
            symbols: config.symbols,
            generator: config.generator,
            session: config.session.clone(),
        })
    }

    /// The MACs of so many new bits of this party, and the keys of as many of the other's: see [`Mutual::extend`]. Counted before they are
    /// begun, since a cheater need not wait for the end to see what has come of it.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if the OTs do not give the security that was asked for with so many; the pool is not used again then.
    pub(crate) fn extend(
        &mut self,
        channel: &mut dyn Channel,
        macs: &mut [Block],
        keys: &mut [Block],
    ) -> Result<()> {
        self.counters.bits(macs.len(), self.generator.as_ref());
        let enough = self.sizes.within(&self.used());
        if let Some(kept) = &self.kept {
            kept.spend(&match enough {
                Ok(()) => self.spent(),
                Err(_) => [u64::MAX; 3],
            })?;
        }
        enough.map_err(Error::Exhausted)?;
        self.bits.extend(channel, macs, keys)
    }

    /// What the session has used up: authenticated bits, rows of the OTs, and iterations of the generator.
    pub(crate) fn spent(&self) -> Spent {
        let Counters { bits, rows, .. } = self.counters;
        [
            bits,
            rows,
            self.generator.map_or(0, |sizes| sizes.iterations(bits)),
        ]
    }

    /// Notes what the session has used up, for the next one over a pool that is kept.
    pub(crate) fn leave(&self) -> Result<()> {
        match &self.kept {
            Some(kept) => kept.spent(&self.spent()),
            None => Ok(()),
        }
    }

    /// What this session has done, and those before it over the same pool.
    pub(crate) fn used(&self) -> Use {
        let [_, rows, iterations] = self.spent().map(|count| count as f64);
        let session = Use {
            sessions: 1.0,
            gates: self.counters.gates as f64,
            leaky: self.counters.leaky as f64,
            symbols: self.symbols,
            rows,
            iterations,
            generator: self.generator,
        };
        match &self.kept {
            Some(kept) => self.sizes.after(session, &kept.before(), kept.session()),
            None => session,
        }
    }

    /// A coin that neither party can choose, of what both have done before.
    pub(crate) fn coin(&mut self, channel: &mut dyn Channel, step: Step) -> Result<Block> {
        self.counters.coins += 1;
        let context = format!("{} {}", self.counters.coins, self.session);
        toss(self.role, channel, step, &mut self.entropy, &context)
    }

    /// A hash for one purpose, that no other hash of the session is.
    pub(crate) fn digest(&mut self, purpose: &str) -> blake3::Hasher {
        self.counters.digests += 1;
        let mut key = blake3::Hasher::new_derive_key("Cenote 2026 authenticated garbling: digest");
        key.update(&self.counters.digests.to_le_bytes())
            .update(&(purpose.len() as u64).to_le_bytes())
            .update(purpose.as_bytes())
            .update(self.session.as_bytes());
        blake3::Hasher::new_keyed(key.finalize().as_bytes())
    }

    /// Bits of a leaky AND's block and sum.
    pub(crate) fn leaky_bits(&self) -> u32 {
        self.sizes.leaky_bits
    }

    /// What is added to this party's key of a bit of the other's when the bit is negated. To the MAC of a negated bit 1 is added.
    pub(crate) fn negation(&self) -> Block {
        *self.delta ^ ONE
    }
}

/// Blocks that are wiped on drop.
pub(crate) type Blocks = Zeroizing<Vec<Block>>;

/// Bit 0.
pub(crate) const ONE: Block = Block([1u64.to_le(), 0]);

/// Bit 0 of a block, in all bits.
#[inline(always)]
pub(crate) fn low(block: Block) -> Block {
    let mask = (u64::from_le(block.0[0]) & 1).wrapping_neg();
    Block([mask; 2])
}

/// Bits, packed: bit `at` of each block.
pub(crate) fn packed<const AT: u32>(blocks: &[Block]) -> Vec<u64> {
    let words = blocks.chunks(64).map(|blocks| {
        let bits = blocks.iter().enumerate();
        bits.fold(0, |word, (i, block)| {
            word | (u64::from_le(block.0[0]) >> AT & 1) << i
        })
    });
    words.collect()
}

/// Bit `at` of packed bits, in all bits.
#[inline(always)]
pub(crate) fn spread(bits: &[u64], at: usize) -> Block {
    let mask = (bits[at / 64] >> (at % 64) & 1).wrapping_neg();
    Block([mask; 2])
}

/// Whether a message's bits are `count`, packed: those beyond the last are zero.
pub(crate) fn is_packed(words: &[u64], count: usize) -> bool {
    let beyond = match count % 64 {
        0 => 0,
        used => words.last().map_or(0, |last| last >> used),
    };
    words.len() == count.div_ceil(64) && beyond == 0
}

/// Prints nothing but what it is.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}
