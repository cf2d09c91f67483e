//! Rows in an order that no party knows, checked before anything that depends on them is opened.
//!
//! An order is three permutations, one after the other. Permutation `h` is drawn from the key of component `h`, so parties `h - 1` and `h` know it, and
//! each party lacks one of the three. In *hop* `h` these two move the rows: party `h - 1` sends `π(x_{h-1} ⊕ x_h) ⊕ y_{h-1}`, party `h` sends
//! `π(x_{h+1}) ⊕ y_{h+1}`, and the sum of both messages is component `h` of the moved rows. The other two components are fresh keystream. Each message is masked
//! with keystream of the key that its receiver lacks, and the third party hears nothing. Back, the hops come in the other order, inverted.
//!
//! Whatever a party sends, the holders of each component agree on it, so that a cheater can only add errors. Where it adds one it knows it, but not to which
//! place a permutation that it lacks carries it. So neither whether a check passes, nor what it shows if it fails, may depend on the order:
//!
//! - Each row `x` has a *tag* `Σ_c α_c·x_c` over GF(2^64), which moves with it. The weights `α` are keystream that no party knows and that is never opened. A
//!   random row, the *pad*, is tagged too, and stays where it is.
//! - The check takes the rows after the first hop and after the last. With the first alone or the last alone, a cheater could add an error before the
//!   permutation that it lacks and take it away at a guessed place after it: that nothing was noticed would confirm the guess.
//! - It draws a weight `β` for each row of both by a coin and opens `O_c = Σ β·x_c`, masked with the pads. Then `U = Σ β·tag − Σ_c α_c·O_c` is local: no error can be
//!   added after the coin, which would be one more guess.
//! - `U` is zero if there is no error. It is multiplied by a fresh secret factor, so that a product that is not zero shows nothing else.
//!
//! A row that is wrong passes if the weighted errors cancel in every word, if `α` makes zero of them, or if the factor is guessed: with `3·2^-64` at most, in all checks of
//! a session together, as the first check of an error ends it or lets it pass.
//!
//! Rows are moved in memory by the permutations themselves: a program on the same processor that sees by its cache which addresses are used may learn them.

mod check;
mod rows;

use std::ops::Range;

use cenote_net::{Channel, PartyId};
use cenote_params::LogProb;
use cenote_primitives::{
    Block, Block512, Position, SecretBlocks, as_bytes, as_bytes_mut, as_words, as_words_mut, gf64,
    hidden_permutation, kernels,
};
use cenote_session::{Error, Result, WireVector, room};
use zeroize::Zeroizing;

use self::check::{Checker, Moved};
use self::rows::{Rows, permute, secret_blocks};
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::steps;
use crate::triple_check::{Pair, zero_pair};
use crate::view::Views;
use crate::wires::ThreeWires;

/// Most blocks in a message.
const CHUNK: usize = 4096;

/// Bytes of rows that may wait for their check.
pub(crate) const MOST_PENDING: usize = 128 << 20;

/// Draws orders, and moves rows by them.
pub(crate) struct Shuffler {
    me: PartyId,
    orders: Counter,
    /// From which keystream each order was drawn, and how many rows it has.
    drawn: Vec<(Position, usize)>,
    masks: Counter,
    pads: Counter,
    zeros: Counter,
    checker: Checker,
    /// Messages in flight.
    lag: usize,
}

impl Shuffler {
    pub(crate) fn new(me: PartyId, views: Views, lag: usize) -> Self {
        Self {
            me,
            orders: Counter::new(Purpose::Order, 0),
            drawn: Vec::new(),
            masks: Counter::new(Purpose::RowMask, 0),
            pads: Counter::new(Purpose::RowPad, 0),
            zeros: Counter::new(Purpose::RowZero, 0),
            checker: Checker::new(views),
            lag,
        }
    }

    /// The number of a new order of so many rows.
    pub(crate) fn draw(&mut self, rows: usize) -> Result<u32> {
        let number = u32::try_from(self.drawn.len());
        let number = number.map_err(|_| Error::BadInput("a session has at most 2^32 orders".into()))?;
        if u32::try_from(rows).is_err() {
            return Err(Error::BadInput(format!(
                "an order has fewer than 2^32 rows, not {rows}"
            )));
        }
        self.drawn.push((self.orders.take(1), rows));
        Ok(number)
    }

    /// The lanes of `wires` in order `number`, or `back` from it. The rounds are added to `rounds`.
    pub(crate) fn shuffle(
        &mut self,
        wires: &ThreeWires,
        (number, back): (u32, bool),
        ring: &mut Ring,
        keys: &Keys,
        rounds: &mut u64,
    ) -> Result<ThreeWires> {
        let order = self.drawn.get(number as usize).copied();
        let Some((at, _)) = order.filter(|(_, rows)| *rows == wires.lanes()) else {
            return Err(Error::BadInput(format!(
                "{} lanes are not to be moved by order {number}, which has {}",
                wires.lanes(),
                order.map_or(0, |(_, rows)| rows)
            )));
        };
        let mut rows = Rows::of(wires)?;
        if self.checker.pending_bytes() + Moved::bytes_of(&rows) > MOST_PENDING {
            *rounds += self.check(ring, keys)?;
        }
        let (pad, pad_tag) = self.tag(&mut rows, ring, keys)?;
        let [first, second, last] = if back { [2, 1, 0] } else { [0, 1, 2] };
        let mut hop = |from: &Rows, to: &mut Rows, hop: u8| {
            let which = held(self.me, PartyId(hop));
            let order = match which {
                Some(which) => Some((which, permutation(keys, which, at, from.count)?)),
                None => None,
            };
            let order = order.as_ref().map(|(which, order)| (*which, order.as_slice()));
            let mask = self.masks.take(from.components[0].len());
            move_rows((from, to), order, back, mask, (ring, keys, self.lag))
        };
        let (mut early, mut middle) = (rows.alike()?, rows.alike()?);
        hop(&rows, &mut early, first)?;
        hop(&early, &mut middle, second)?;
        hop(&middle, &mut rows, last)?;
        *rounds += 4;
        let moved = rows.wires(wires.wires())?;
        self.checker.add(Moved {
            states: [early, rows],
            pad,
            pad_tag,
        });
        if self.checker.pending_bytes() > MOST_PENDING {
            *rounds += self.check(ring, keys)?;
        }
        Ok(moved)
    }

    /// Tags each row and a pad: one multiplication over GF(2^64) each, whatever its width. Gives the pad and its tag.
    fn tag(&mut self, rows: &mut Rows, ring: &mut Ring, keys: &Keys) -> Result<(Pair, Zeroizing<[u64; 2]>)> {
        let weights = self.checker.weights(rows.width, keys);
        let count = rows.count;
        let mut pad = zero_pair(rows.width.div_ceil(8));
        let at = self.pads.take(pad[0].len());
        keys.random(at, pad.each_mut().map(|component| &mut component[..]));
        let blocks = (count + 1).div_ceil(8);
        let mut tags = [secret_blocks(count + 1)?, secret_blocks(count + 1)?];
        let [ours, theirs] = &mut tags;
        keys.zero(self.zeros.take(blocks), ours);
        let (of_rows, of_pad) = as_words_mut(ours).split_at_mut(count);
        for (component, weights) in [(0, &weights.both), (1, &weights.first)] {
            let words = &as_words(&rows.components[component])[..rows.words()];
            gf64::add_row_products(words, weights, of_rows);
            let words = &as_words(&pad[component])[..rows.width];
            gf64::add_row_products(words, weights, &mut of_pad[..1]);
        }
        each_chunk(blocks, self.lag, |chunk, sends| match sends {
            true => ring.pass(steps::TAG_ROWS, [&ours[chunk]]),
            false => ring.take(steps::TAG_ROWS, [&mut theirs[chunk]]),
        })?;
        rows.set_tags(&tags);
        let pad_tag = tags.each_ref().map(|tags| as_words(tags)[count]);
        Ok((pad, Zeroizing::new(pad_tag)))
    }

    /// Checks all that was moved. Gives the rounds.
    pub(crate) fn check(&mut self, ring: &mut Ring, keys: &Keys) -> Result<u64> {
        self.checker.check(ring, keys, &mut self.zeros)
    }

    /// The probability that rows which were changed have passed, at most.
    pub(crate) fn error(&self) -> LogProb {
        match self.checker.checks() {
            0 => LogProb::ZERO,
            _ => LogProb::from_probability(3.0 * 2f64.powi(-64)),
        }
    }

    /// Blocks of keystream that were used, about.
    pub(crate) fn blocks(&self) -> u64 {
        self.masks.taken() + self.zeros.taken() + self.pads.taken()
    }

    /// How many orders were drawn.
    pub(crate) fn orders(&self) -> usize {
        self.drawn.len()
    }

    /// Overwrites all shares with zeros.
    pub(crate) fn wipe(&mut self) {
        self.checker.wipe();
    }
}

/// Moves rows by one permutation. A party that knows it gives it, and which of its components' keys it comes from. `mask` is where fresh components begin.
fn move_rows(
    (from, to): (&Rows, &mut Rows),
    order: Option<(usize, &[u32])>,
    back: bool,
    mask: Position,
    (ring, keys, lag): (&mut Ring, &Keys, usize),
) -> Result<()> {
    let [to_first, to_second] = &mut to.components;
    let Some((which, order)) = order else {
        keys.random(mask, [to_first, to_second]);
        return Ok(());
    };
    let [first, second] = &from.components;
    // The key that moves is that of component `which`, where the sum of both messages comes to be; the other component is fresh.
    let (sum, fresh, peer) = match which {
        1 => {
            permute(order, back, from.width, [first, second], to_second);
            (to_second, to_first, &mut ring.next)
        }
        _ => {
            permute(order, back, from.width, [second], to_first);
            (to_first, to_second, &mut ring.previous)
        }
    };
    keys.component(1 - which, mask, fresh);
    kernels::xor_into(sum, fresh);
    exchange(peer.as_mut(), sum, lag)
}

/// Which of its components' keys a party draws the permutation of this hop from, if it has it.
fn held(me: PartyId, hop: PartyId) -> Option<usize> {
    match (hop.0 + 3 - me.0) % 3 {
        0 => Some(0),
        1 => Some(1),
        _ => None,
    }
}

/// The permutation at this place of the keystream of a component.
fn permutation(keys: &Keys, which: usize, at: Position, rows: usize) -> Result<Zeroizing<Vec<u32>>> {
    let mut seed = Zeroizing::new([Block512::ZERO]);
    keys.component(which, at, &mut seed[..]);
    let mut order = room::secret("an order of rows", rows)?;
    let seed = Zeroizing::new([seed[0].0[0], seed[0].0[1]]);
    hidden_permutation(Block(*seed), &mut order);
    Ok(order)
}

/// Sends the peer `words` and adds to them what it sends.
fn exchange(peer: &mut dyn Channel, words: &mut SecretBlocks, lag: usize) -> Result<()> {
    let mut theirs = SecretBlocks::zeroed(CHUNK.min(words.len()));
    each_chunk(words.len(), lag, |chunk, sends| {
        if sends {
            peer.send(steps::MOVE_ROWS, as_bytes(&words[chunk]))?;
            return Ok(());
        }
        let theirs = &mut theirs[..chunk.len()];
        peer.recv(steps::MOVE_ROWS, as_bytes_mut(theirs))?;
        kernels::xor_into(&mut words[chunk], theirs);
        Ok(())
    })
}

/// Calls `with` for each chunk of so many blocks, to send it and, `lag` chunks later, to receive.
fn each_chunk(
    blocks: usize,
    lag: usize,
    mut with: impl FnMut(Range<usize>, bool) -> Result<()>,
) -> Result<()> {
    let chunks = blocks.div_ceil(CHUNK);
    let range = |chunk: usize| chunk * CHUNK..blocks.min((chunk + 1) * CHUNK);
    for step in 0..chunks + lag {
        if step < chunks {
            with(range(step), true)?;
        }
        if let Some(chunk) = step.checked_sub(lag).filter(|chunk| *chunk < chunks) {
            with(range(chunk), false)?;
        }
    }
    Ok(())
}
