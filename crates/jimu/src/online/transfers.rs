//! Labels that are transferred by OT for the evaluator's inputs, in lots, and their sums.

use cenote_params::pool::spare_transfers;
use cenote_primitives::{Block, Block512, Position, Prg, Sampler};
use cenote_session::{Result, room};
use zeroize::{Zeroize, Zeroizing};

use super::group::INPUTS;
use crate::setup::add_if;

/// Inputs of a lot, which are sums of the same labels.
pub(super) const UNIT: usize = 128;

/// Lots that are transferred together, at most.
pub(super) const LOTS: usize = 64;

/// Wires for the evaluator's inputs that have no bits yet, at the garbler: labels of colour 0.
#[derive(Default)]
pub(super) struct GarblerStock(pub(super) Zeroizing<Vec<Block>>);

/// The same at the evaluator: i-hashes and labels, and the choice in a block's lowest bit.
#[derive(Default)]
pub(super) struct EvaluatorStock(pub(super) Zeroizing<Vec<Block>>);

/// `count` items of `size` blocks: what is in stock, and new ones, which `make` appends, of so many lots at a time. What is left over is
/// the new stock, less than a lot.
pub(super) fn take(
    stock: &mut Zeroizing<Vec<Block>>,
    count: usize,
    size: usize,
    mut make: impl FnMut(usize, &mut Vec<Block>) -> Result<()>,
) -> Result<Zeroizing<Vec<Block>>> {
    let missing = count.saturating_sub(stock.len() / size).div_ceil(UNIT);
    let mut items = room::empty(INPUTS, stock.len() + missing * UNIT * size)?;
    items.extend_from_slice(stock);
    for first in (0..missing).step_by(LOTS) {
        make(LOTS.min(missing - first), &mut items)?;
    }
    *stock = room::copy(INPUTS, &items[count * size..])?;
    items[count * size..].zeroize();
    items.truncate(count * size);
    Ok(items)
}

/// Appends random sums of labels, or anything linear, of `size` blocks: [`UNIT`] of all, as `seed` says for lot number `lot` of those that it
/// is for.
pub(super) fn combine(seed: Block, lot: usize, items: &[Block], size: usize, sums: &mut Vec<Block>) {
    let mut sampler = Sampler::from_stream(Prg::new(seed), lot as u64);
    let first = sums.len();
    sums.resize(first + UNIT * size, Block::ZERO);
    for sum in sums[first..].chunks_exact_mut(size) {
        for items in items.chunks(64 * size) {
            let bits = sampler.next_u64();
            for (at, item) in items.chunks_exact(size).enumerate() {
                add_if(sum, item, (bits >> at & 1).wrapping_neg());
            }
        }
    }
}

/// What hides a label of `blocks` blocks in OT number `number` of the session with this string. No two OTs have a block of any stream in
/// common, so that a guess at a string is one for a single OT.
pub(super) fn pad(string: Block, number: u64, blocks: usize) -> Zeroizing<[Block; 8]> {
    let mut stream = Zeroizing::new([Block512::ZERO; 2]);
    let at = Position {
        stream: number,
        index: 0,
    };
    Prg::new(string).fill(at, &mut stream[..blocks.div_ceil(4)]);
    Zeroizing::new(bytemuck::cast(*stream))
}

/// What was transferred in a session. The same at both sides.
pub(super) struct Transfers {
    security: u32,
    /// The number of the session over the pool. A lot is known by it and by its number in the session, so that no two lots of a pool have the
    /// same part of the error.
    session: u64,
    /// Lots so far.
    lots: u64,
    /// OTs so far.
    count: u64,
}

impl Transfers {
    pub(super) fn new(security: u32, session: u64) -> Self {
        Self {
            security,
            session,
            lots: 0,
            count: 0,
        }
    }

    /// OTs so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The next lots, so many.
    pub(super) fn next(&mut self, count: usize) -> Lots {
        let numbers = self.lots..self.lots + count as u64;
        let spare = numbers.map(|lot| spare_transfers(self.security, self.session, lot) as usize);
        let lots = Lots {
            first: self.count,
            sizes: spare.map(|spare| UNIT + spare).collect(),
        };
        self.lots += count as u64;
        self.count += lots.transfers() as u64;
        lots
    }
}

/// Lots that are transferred together.
pub(super) struct Lots {
    /// The number of the first OT.
    pub(super) first: u64,
    /// OTs of each lot.
    pub(super) sizes: Vec<usize>,
}

impl Lots {
    pub(super) fn transfers(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// The items of each lot, of `size` blocks each.
    pub(super) fn split<'a>(&self, items: &'a [Block], size: usize) -> impl Iterator<Item = &'a [Block]> {
        let mut rest = items;
        self.sizes.iter().map(move |count| {
            let (lot, others) = rest.split_at(count * size);
            rest = others;
            lot
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are independent, of rows of bits in words.
    fn rank(mut rows: Vec<[u64; 4]>) -> usize {
        let mut rank = 0;
        for bit in 0..256 {
            let has = |row: &[u64; 4]| row[bit / 64] >> (bit % 64) & 1 == 1;
            let Some(pivot) = (rank..rows.len()).find(|&row| has(&rows[row])) else {
                continue;
            };
            rows.swap(rank, pivot);
            let row = rows[rank];
            for other in &mut rows[rank + 1..] {
                if has(other) {
                    other.iter_mut().zip(row).for_each(|(word, bits)| *word ^= bits);
                }
            }
            rank += 1;
        }
        rank
    }

    /// Who knows some of the choices, but by less than the labels that are transferred beyond those needed, knows nothing of the sums': these
    /// are independent in the choices that it does not know. Of as many choices as that it knows something.
    #[test]
    fn sums_hide_their_choices_from_who_knows_some() {
        let (spare, unknown) = (40, UNIT);
        let items: Vec<Block> = (0..UNIT + spare)
            .flat_map(|item| {
                let mut unit = [Block::ZERO; 2];
                unit[item / 128].0[item / 64 % 2] = 1 << (item % 64);
                unit
            })
            .collect();
        let (mut independent, mut dependent) = (0, 0);
        for seed in 0..60 {
            let mut sums = Vec::new();
            combine(Block([seed, 3]), seed as usize % 5, &items, 2, &mut sums);
            // The first choices are known.
            let hidden = |known: usize| {
                let rows = sums.chunks_exact(2).map(|sum| {
                    let mut row = [sum[0].0, sum[1].0].concat();
                    (0..known).for_each(|item| row[item / 64] &= !(1 << (item % 64)));
                    row.try_into().unwrap()
                });
                rank(rows.collect())
            };
            independent += usize::from(hidden(0) == unknown && hidden(8) == unknown && hidden(24) == unknown);
            dependent += usize::from(hidden(spare) < unknown);
            assert!(hidden(spare + 1) < unknown);
        }
        assert_eq!(independent, 60);
        // A square matrix is singular with probability 0.71.
        assert!((28..=57).contains(&dependent), "{dependent}");
    }

    /// Of any number of lots in any number of sessions, also of very long ones, all together have their part of the error and no more.
    #[test]
    fn lots_of_long_sessions_take_nothing_from_those_of_later_ones() {
        let security = 40;
        let mut error = 0.0;
        for session in 0..20 {
            let mut transfers = Transfers::new(security, session);
            let mut first = 0;
            // 4096 lots are 524,288 inputs.
            for _ in 0..(2 * 4096 / LOTS) {
                let lots = transfers.next(LOTS);
                assert_eq!(lots.first, first);
                first += lots.transfers() as u64;
                error += lots
                    .sizes
                    .iter()
                    .map(|size| (-((size - UNIT) as f64)).exp2())
                    .sum::<f64>();
            }
            assert_eq!(transfers.count(), first);
        }
        assert!(error <= (-f64::from(security)).exp2(), "{}", error.log2());
        // A session begins with fewer spare transfers than the one before ends with.
        let sizes = |session, lots| Transfers::new(security, session).next(lots).sizes;
        assert!(sizes(1, 1)[0] < sizes(0, 4097)[4096]);
    }

    /// A block of a stream hides one label only, whatever strings the OTs give.
    #[test]
    fn pads_of_different_transfers_are_different_blocks_of_a_stream() {
        let string = Block([7, 11]);
        let all: std::collections::BTreeSet<[u64; 2]> = (0..3000u64)
            .flat_map(|number| pad(string, number, 8).map(|block| block.0))
            .collect();
        assert_eq!(all.len(), 8 * 3000);
        assert_eq!(pad(string, 5, 3)[..3], pad(string, 5, 8)[..3]);
    }
}
