//! The check of rows that were moved.

use cenote_primitives::{Block512, Position, Prg, as_words, as_words_mut, gf64, kernels};
use cenote_session::Result;
use zeroize::{Zeroize, Zeroizing};

use super::rows::Rows;
use crate::checks;
use crate::coin::{self, Fixed};
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::steps;
use crate::triple_check::{Pair, zero_pair};
use crate::view::{ViewSteps, Views};

const VIEW_STEPS: ViewSteps = ViewSteps {
    opened: steps::SHUFFLE_VIEW,
    products: steps::SHUFFLE_PRODUCTS,
    product: checks::SHUFFLE,
};

/// What sets the barriers of these checks apart from those of gates, which are on the same channels.
const BARRIERS: u64 = 1 << 63;

/// Rows whose weights are expanded at once.
const TILE: usize = 512;

/// The secret weights of a row's words, as one party holds them. The last one, of the tag, is zero.
pub(super) struct Weights {
    /// The first component.
    pub(super) first: Zeroizing<Vec<u64>>,
    /// The sum of both.
    pub(super) both: Zeroizing<Vec<u64>>,
}

/// Rows that were moved.
pub(super) struct Moved {
    /// After the first hop, and after the last.
    pub(super) states: [Rows; 2],
    /// A random row that was tagged with them.
    pub(super) pad: Pair,
    pub(super) pad_tag: Zeroizing<[u64; 2]>,
}

impl Moved {
    /// Bytes that both states of such rows take until they are checked, with the pad.
    pub(super) fn bytes_of(rows: &Rows) -> usize {
        2 * rows.bytes() + size_of::<Moved>() + 16 * rows.width.next_multiple_of(8)
    }
}

/// Rows that were moved and are not checked, and what checks them.
pub(super) struct Checker {
    /// Blocks of weights.
    weights: Counter,
    /// Those of which the keystream was taken.
    known: [Zeroizing<Vec<Block512>>; 2],
    pending: Vec<Moved>,
    pending_bytes: usize,
    coins: Counter,
    /// Secret factors of sums.
    factors: Counter,
    checks: u64,
    views: Views,
}

/// A party has received all that it receives of the rows that wait.
struct Received;

impl Fixed for Received {}

impl Checker {
    pub(super) fn new(views: Views) -> Self {
        Self {
            weights: Counter::new(Purpose::RowWeight, 0),
            known: Default::default(),
            pending: Vec::new(),
            pending_bytes: 0,
            coins: Counter::new(Purpose::ShuffleCoin, 0),
            factors: Counter::new(Purpose::SumFactor, 0),
            checks: 0,
            views,
        }
    }

    /// The weights of rows of so many words.
    pub(super) fn weights(&mut self, width: usize, keys: &Keys) -> Weights {
        let blocks = (width - 1).div_ceil(8);
        let [first, second] = &mut self.known;
        let missing = blocks.saturating_sub(first.len());
        if missing > 0 {
            let old = first.len();
            // What was there is wiped where it was.
            for known in [&mut *first, &mut *second] {
                let mut grown = Zeroizing::new(vec![Block512::ZERO; blocks]);
                grown[..old].copy_from_slice(known);
                *known = grown;
            }
            let at = self.weights.take(missing);
            keys.random(at, [&mut first[old..], &mut second[old..]]);
        }
        let mut weights = Weights {
            first: Zeroizing::new(vec![0; width]),
            both: Zeroizing::new(vec![0; width]),
        };
        let words = weights.first.iter_mut().zip(weights.both.iter_mut());
        let known = as_words(first).iter().zip(as_words(second));
        for ((first, both), (known, second)) in words.zip(known).take(width - 1) {
            (*first, *both) = (*known, known ^ second);
        }
        weights
    }

    pub(super) fn add(&mut self, moved: Moved) {
        self.pending_bytes += Moved::bytes_of(&moved.states[0]);
        self.pending.push(moved);
    }

    pub(super) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    pub(super) fn checks(&self) -> u64 {
        self.checks
    }

    /// Checks all rows that wait. Gives the rounds.
    pub(super) fn check(&mut self, ring: &mut Ring, keys: &Keys, zeros: &mut Counter) -> Result<u64> {
        if self.pending.is_empty() {
            return Ok(0);
        }
        // The weights of rows are tossed only now that both honest parties have all rows.
        let received = coin::barrier(ring, BARRIERS | self.checks, Received)?;
        self.checks += 1;
        let coin = coin::toss(ring, keys, &mut self.coins, received)?;
        let widths = self.pending.iter().map(|moved| moved.states[0].width);
        let width = widths.max().unwrap_or(1);
        let (mut sums, mut differences) = self.sums(&Prg::new(coin), width);

        // The masked sums are opened, and what the secret weights make of them is local.
        let [ours, second] = &mut sums;
        ring.pass(steps::SUM_ROWS, [&*second])?;
        kernels::xor_into(ours, second);
        ring.take(steps::SUM_ROWS, [&mut *second])?;
        kernels::xor_into(ours, second);
        let opened = &*ours;
        self.views.add_opened(opened);
        let weights = self.weights(width, keys);
        let opened = &as_words(opened)[..width];
        let [first, second] = &mut *differences;
        gf64::add_row_products(opened, &weights.first, std::slice::from_mut(first));
        gf64::add_row_products(opened, &weights.first, std::slice::from_mut(second));
        gf64::add_row_products(opened, &weights.both, std::slice::from_mut(second));

        // Times a factor that nobody knows.
        let mut factor = Zeroizing::new([Block512::ZERO; 2]);
        let [factor_first, factor_second] = &mut *factor;
        keys.random(
            self.factors.take(1),
            [
                std::slice::from_mut(factor_first),
                std::slice::from_mut(factor_second),
            ],
        );
        let mut product = Zeroizing::new([Block512::ZERO; 2]);
        let [ours, theirs] = &mut *product;
        keys.zero(zeros.take(1), std::slice::from_mut(ours));
        ours.0[0] ^=
            gf64::mul(*first, factor_first.0[0] ^ factor_second.0[0]) ^ gf64::mul(*second, factor_first.0[0]);
        ours.0[1..].fill(0);
        ring.pass(steps::SCALE_SUM, [std::slice::from_ref(&*ours)])?;
        ring.take(steps::SCALE_SUM, [std::slice::from_mut(theirs)])?;
        // Words on it are compared only after what was opened: else a lie about that would show in them what the secret weights are.
        kernels::xor_into(std::slice::from_mut(ours), std::slice::from_ref(theirs));
        self.views
            .add_products(std::slice::from_ref(theirs), std::slice::from_ref(ours));
        self.views.compare(ring, &VIEW_STEPS)?;
        self.forget();
        Ok(6)
    }

    /// Of each component the weighted sums of words and the pads, with zero for the tag, and of tags with those of the pads.
    fn sums(&self, weights: &Prg, width: usize) -> (Pair, Zeroizing<[u64; 2]>) {
        let mut sums = zero_pair(width.div_ceil(8));
        let mut tags = Zeroizing::new([0; 2]);
        let mut at = Position { stream: 0, index: 0 };
        let mut tile = [Block512::ZERO; TILE / 8];
        for moved in &self.pending {
            let width = moved.states[0].width;
            let mut of_rows = [(); 2].map(|()| Zeroizing::new(vec![0; width]));
            for rows in &moved.states {
                for first in (0..rows.count).step_by(TILE) {
                    let count = TILE.min(rows.count - first);
                    weights.fill(at, &mut tile);
                    at = at.advance(tile.len());
                    let words = first * width..(first + count) * width;
                    for (component, sums) in rows.components.iter().zip(&mut of_rows) {
                        let words = &as_words(component)[words.clone()];
                        gf64::add_weighted_rows(words, &as_words(&tile)[..count], sums);
                    }
                }
            }
            for component in 0..2 {
                let (of_tag, of_words) = of_rows[component].split_last().expect("a row has a tag");
                tags[component] ^= of_tag ^ moved.pad_tag[component];
                let pad = as_words(&moved.pad[component]).iter();
                let sums = as_words_mut(&mut sums[component]).iter_mut();
                for (sum, (word, pad)) in sums.zip(of_words.iter().zip(pad)) {
                    *sum ^= word ^ pad;
                }
            }
        }
        (sums, tags)
    }

    fn forget(&mut self) {
        self.pending.clear();
        self.pending_bytes = 0;
    }

    pub(super) fn wipe(&mut self) {
        self.forget();
        self.known.iter_mut().for_each(|known| known.zeroize());
    }
}
