//! A checked set of parameters, its error and its cost.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::Variant;
use super::games::Game;
use crate::{LogProb, Refusal};

/// Bits of a block, unless a workload says otherwise.
pub const BLOCK_BITS: u32 = 512;

/// Blocks of gates that wait for their check together, at most; a single layer of more gates waits as a whole.
pub const LOG_BLOCKS: u64 = 1 << 13;

/// Bytes of a triple's name: which batch, array and position it comes from.
pub const NAME_BYTES: u64 = 16;

/// What a stated error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The exact probability with which the best adversary wins the game.
    Exact,
    /// An upper bound on it.
    Bound,
}

/// A set of parameters whose theorem's conditions hold; made by [`super::check`] and [`super::search`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pub(super) variant: Variant,
    pub(super) game: Game,
    /// Subarrays (baseline: blocks) in buckets of size `B`; the others are in buckets of `B + 1`.
    pub(super) small: u64,
}

/// What a job costs with given parameters. Bits are payload bits sent per party.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JobCost {
    /// Runs of the triple generation.
    pub batches: u64,
    /// Blocks of triples multiplied in all of them.
    pub blocks_generated: u64,
    /// Blocks of gates evaluated and verified, padding included.
    pub gate_blocks: u64,
    /// Payload sent per party, in blocks: bits when multiplied by the block's size.
    pub blocks_sent: u64,
    /// Payload bits sent per party and wanted AND.
    pub bits_per_and: f64,
}

impl Parameters {
    /// The protocol these are for.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// `N`: blocks of checked triples per batch.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.game.n()
    }

    /// `B`: the (smaller) bucket size; `D_1 .. D_B` are generated.
    #[must_use]
    pub fn b(&self) -> u32 {
        self.game.b
    }

    /// `C`: blocks opened per subarray of each of `D_2 .. D_B`.
    #[must_use]
    pub fn c(&self) -> u32 {
        self.game.c as u32
    }

    /// `L`: subarrays per array.
    #[must_use]
    pub fn l(&self) -> u64 {
        self.game.l
    }

    /// `X = N/L + C`: blocks per subarray before opening.
    #[must_use]
    pub fn x(&self) -> u64 {
        self.game.x
    }

    /// `k`: buckets of size `B`; the other `N - k` have size `B + 1`. `N` when all are equal.
    ///
    /// With `k < N` there is one more array `D_(B+1)`: of `N - k + C` blocks for the baseline, of `(N-k)/(X-C)` subarrays of
    /// `X` otherwise, permuted and opened like the others. *After* all arrays are received a coin chooses which `N - k`
    /// blocks (whole subarrays, in the cache-efficient variant) of `D_1` are checked with it as well; were the choice
    /// known earlier, the adversary would simply cheat in the small buckets.
    #[must_use]
    pub fn k(&self) -> u64 {
        match self.variant {
            Variant::Baseline => self.small,
            _ => self.small * (self.game.x - self.game.c),
        }
    }

    /// The game these parameters define.
    #[must_use]
    pub fn game(&self) -> Game {
        self.game
    }

    /// The probability that the best adversary makes a wrong output pass, over the whole life of the session. See
    /// [`Self::error_kind`].
    #[must_use]
    pub fn error(&self) -> LogProb {
        match self.variant {
            Variant::Baseline | Variant::CacheEfficient => self.game.game1_value() * self.mixed_factor(),
            Variant::Reshuffle => self.game.game2_value(),
            Variant::OnDemand => self.game.game3_value(),
        }
    }

    /// [`ErrorKind::Exact`] but for mixed bucket sizes, where the error is a bound, tight unless nearly all buckets are
    /// large.
    #[must_use]
    pub fn error_kind(&self) -> ErrorKind {
        if self.k() == self.n() {
            ErrorKind::Exact
        } else {
            ErrorKind::Bound
        }
    }

    /// What the variant's theorem promises: `N^-(B-1)` or `N^-B`, times `k/N` or a little more for mixed sizes.
    #[must_use]
    pub fn theorem_bound(&self) -> LogProb {
        let exponent = f64::from(self.variant.exponent(self.b()));
        LogProb::from_log2(-exponent * (self.n() as f64).log2()) * self.mixed_factor()
    }

    /// Lemma 5.7's factor `k/N` for this structure of arrays.
    ///
    /// One bad bucket in each array survives in a small bucket with probability `k/N`; in a large one it must also match in
    /// `D_(B+1)`. More bad balls cost a factor of at least `2/(X-1)` (`1/X` for `L > 1`), and all `N` bad (possible for
    /// `C = 1` and `L = 1`) must leave the ball to be opened in its one place of `N - k + 1`.
    fn mixed_factor(&self) -> LogProb {
        let (units, small) = (self.units() as f64, self.small as f64);
        if self.small == self.units() {
            return LogProb::ONE;
        }
        let x = self.game.x as f64;
        let mut factor = (small / units).max(1.0 / units);
        if self.game.l == 1 && self.variant == Variant::Baseline {
            factor = factor.max(2.0 / (x - 1.0));
            if self.game.c == 1 {
                factor = factor.max(1.0 / (units - small + 1.0));
            }
        } else {
            factor = factor.max(1.0 / x);
        }
        LogProb::from_probability(factor.min(1.0))
    }

    /// What bucket sizes are mixed by: blocks for the baseline, subarrays otherwise.
    fn units(&self) -> u64 {
        if self.variant == Variant::Baseline {
            self.n()
        } else {
            self.game.l
        }
    }

    /// Blocks opened per batch: `(B-1) L C`, and `C` for every subarray of `D_(B+1)`.
    #[must_use]
    pub fn blocks_opened(&self) -> u64 {
        let extra = match (self.units() - self.small, self.variant) {
            (0, _) => 0,
            (_, Variant::Baseline) => 1,
            (large, _) => large,
        };
        (u64::from(self.b() - 1) * self.l() + extra) * u64::from(self.c())
    }

    /// Blocks multiplied per batch: the `N` that leave, those spent checking them, and those opened.
    #[must_use]
    pub fn blocks_per_batch(&self) -> u64 {
        self.n() + self.checks_per_batch() + self.blocks_opened()
    }

    /// Checks without opening per batch: `(B-1) N`, and one for every large bucket.
    #[must_use]
    pub fn checks_per_batch(&self) -> u64 {
        u64::from(self.b() - 1) * self.n() + (self.n() - self.k())
    }

    /// Payload a party sends per batch, in blocks: 1 per multiplication, 2 per check without opening, 3 per triple opened.
    #[must_use]
    pub fn blocks_sent_per_batch(&self) -> u64 {
        self.blocks_per_batch() + 2 * self.checks_per_batch() + 3 * self.blocks_opened()
    }

    /// Payload bits sent per AND and party in a long run, openings included: the batch's share, 1 for the gate's own
    /// multiplication and 2 for its check. Coins, tags, inputs and outputs are not counted: they do not grow with the gates.
    #[must_use]
    pub fn bits_per_and(&self) -> f64 {
        self.blocks_sent_per_batch() as f64 / self.n() as f64 + 3.0
    }

    /// The cost of `blocks` blocks of AND gates as one job, the unused end of the last batch included.
    #[must_use]
    pub fn job_cost(&self, blocks: u64) -> JobCost {
        let rounds = blocks.div_ceil(self.n()).max(1);
        // On demand, d_1 is generated besides the d_2 that replace what is used. Reshuffled batches are filled up.
        let (batches, gate_blocks) = match self.variant {
            Variant::Baseline | Variant::CacheEfficient => (rounds, blocks),
            Variant::Reshuffle => (rounds, rounds.saturating_mul(self.n())),
            Variant::OnDemand => (rounds + 1, blocks),
        };
        let for_triples = batches.saturating_mul(self.blocks_sent_per_batch());
        let blocks_sent = for_triples.saturating_add(gate_blocks.saturating_mul(3));
        JobCost {
            batches,
            blocks_generated: batches.saturating_mul(self.blocks_per_batch()),
            gate_blocks,
            blocks_sent,
            bits_per_and: blocks_sent as f64 / blocks.max(1) as f64,
        }
    }

    /// Blocks of triples multiplied before the first gate can be verified: one batch, or `d_1` and the first `d_2`.
    #[must_use]
    pub fn blocks_before_first_gate(&self) -> u64 {
        let batches = if self.variant == Variant::OnDemand { 2 } else { 1 };
        batches * self.blocks_per_batch()
    }

    /// Blocks of products that one worker holds at once: a batch being made, one waiting, those in hand for the gates that
    /// wait for their check (all of them, since they must be fixed before a coin assigns them) with what is left of the
    /// last one, and `d_1` on demand.
    #[must_use]
    pub fn blocks_held(&self) -> u64 {
        let d_1 = if self.variant == Variant::OnDemand {
            self.n()
        } else {
            0
        };
        let in_hand = 1 + self.gates_logged().div_ceil(self.n());
        self.blocks_per_batch() + (1 + in_hand) * self.n() + d_1
    }

    /// Gates that wait for their check, in blocks: at most [`LOG_BLOCKS`], or the whole batch where it is reshuffled first.
    #[must_use]
    pub fn gates_logged(&self) -> u64 {
        if self.variant == Variant::Reshuffle {
            self.n()
        } else {
            LOG_BLOCKS
        }
    }

    /// The most bytes that one worker stores for triples of `block_bits` bits and the gates they check:
    ///
    /// - [`Self::blocks_held`] products `c` of two shares each; `a` and `b` are derived again from their triple's name, its
    ///   position in the batch;
    /// - [`NAME_BYTES`] for each triple of `d_1` on demand, whose names are in no order (in a batch the permutation gives them);
    /// - [`Self::gates_logged`] gates of two inputs and an output, two shares each;
    /// - 4-byte indices: two permutations of `X` places and `L` subarrays, drawn and combined, and the order of the `N` that
    ///   leave; where a batch is reshuffled, that permutation too.
    #[must_use]
    pub fn memory_bytes(&self, block_bits: u32) -> u64 {
        let n = self.n();
        let (names, reshuffled) = match self.variant {
            Variant::OnDemand => (n, 0),
            Variant::Reshuffle => (0, n),
            Variant::Baseline | Variant::CacheEfficient => (0, 0),
        };
        let shared = 2 * u64::from(block_bits) / 8;
        (self.blocks_held() + 3 * self.gates_logged())
            .saturating_mul(shared)
            .saturating_add(names * NAME_BYTES)
            .saturating_add((2 * (self.x() + self.l()) + n + reshuffled) * 4)
    }

    /// Passes the parameters on if their error is at most `2^-security`.
    ///
    /// # Errors
    /// The security level, with the nearest `N` for the same `B` that reaches it.
    pub fn require(self, security: u32) -> Result<Self, Refusal> {
        if self.error().meets(security) {
            return Ok(self);
        }
        let refusal = Refusal::new(self.variant.name()).because(
            format!("error <= 2^-{security}"),
            format!("error = {:.3}", self.error()),
        );
        Err(
            match super::shape::smallest(self.variant, self.b(), security, true) {
                Some(p) => refusal.nearest(super::shape::settings(&p)),
                None => refusal,
            },
        )
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Parameters", 13)?;
        s.serialize_field("variant", &self.variant)?;
        s.serialize_field("N", &self.n())?;
        s.serialize_field("B", &self.b())?;
        s.serialize_field("C", &self.c())?;
        s.serialize_field("L", &self.l())?;
        s.serialize_field("X", &self.x())?;
        s.serialize_field("k", &self.k())?;
        s.serialize_field("bits_per_and", &self.bits_per_and())?;
        s.serialize_field("error_log2", &self.error())?;
        s.serialize_field("error_kind", &self.error_kind())?;
        s.serialize_field("theorem", self.variant.theorem())?;
        s.serialize_field("theorem_log2", &self.theorem_bound())?;
        s.serialize_field("memory_bytes", &self.memory_bytes(BLOCK_BITS))?;
        s.end()
    }
}
