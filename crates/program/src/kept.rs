//! Rows that a session keeps for a later one of the same parties.
//!
//! **Where shares of the protocol outlive a session** ([`Abilities::keeps`](crate::Abilities)), each party keeps its own.
//!
//! **With other protocols, of two parties,** party 0 chooses a random mask `s₀` of the kept bits `y`, and party 1 learns `s₁ = y ⊕ s₀`. Each of them, `i`, chooses besides, for every row:
//! - a key `kᵢ` and a pad `pᵢ`, with which it recognises the other's share: the other learns the tag `MAC(kᵢ, pᵢ; s₁₋ᵢ)`;
//! - a key `oᵢ` and a pad `qᵢ`, with which it recognises the other's key: the other learns the tag `MAC(oᵢ, qᵢ; k₁₋ᵢ)`.
//!
//! `MAC(k, p; m) = p ⊕ Σ mⱼ·k^(j+1)` over GF(2^64), for a message of blocks `mⱼ` (a polynomial hash with a one-time pad: Wegman and Carter 1981). A session that takes what was kept has all of
//! that as inputs again, and opens one bit to both, whether all tags of all rows are right ([`KEPT_VALUE`]), before it does anything else with them. Why keys have tags, and
//! why one bit tells of all: who could put in another key than it has could guess the other's share, and see from the tag of that share whether the guess was right. With a tag on
//! the key the bit is 0 whatever the share is, but with the probability that [`cenote_params::keeping::error`] gives, in which all ways to deviate are counted.

use cenote_circuit::library::{GF64_PRODUCT, polynomial_mac};
use cenote_net::{PartyId, Step};
use cenote_primitives::{BitMatrix, Entropy, as_bytes_mut};
use cenote_session::{Check, Error as EngineError, Parties, room};
use zeroize::Zeroize;

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::op::{Called, Op};
use crate::session::Session;
use crate::value::Value;

/// A party puts in something else than what it held of a kept value.
pub const KEPT_VALUE: Check = Check {
    code: 1,
    name: "kept value",
};

/// Where kept values are checked.
pub const KEPT_VALUES: Step = Step {
    code: 0,
    name: "kept values",
};

/// Bits of a key, a pad and a tag.
const BLOCK: u32 = 64;

/// What a party chooses for a row: its key, its pad, its key of keys and its pad of keys.
const SECRETS: usize = 4;

/// What it learns for a row: the tags of its share and of its key.
const TAGS: usize = 2;

/// Rows of a party's share of `width` bits that a protocol of two parties keeps whose own shares end with their session.
pub fn rows_in_parts(width: u32) -> usize {
    width as usize + (SECRETS + TAGS) * BLOCK as usize
}

/// What a party has of a kept value of `width` bits, of what it has `chosen` (party 0 its mask, and both their secrets) and what it has `learnt` (party 1 its share, and
/// both their tags): the share, the secrets and the tags. Nothing if these have other shapes.
///
/// # Errors
/// A refusal of memory.
pub fn put_together(width: usize, chosen: &BitMatrix, learnt: &BitMatrix) -> Result<Option<BitMatrix>> {
    let (secrets, tags) = (SECRETS * BLOCK as usize, TAGS * BLOCK as usize);
    let own = |bits: &BitMatrix, others: usize| bits.rows().checked_sub(others);
    let (Some(mask), Some(share)) = (own(chosen, secrets), own(learnt, tags)) else {
        return Ok(None);
    };
    if mask + share != width || mask.min(share) > 0 || chosen.lanes() != learnt.lanes() {
        return Ok(None);
    }
    let mut whole = room::bits("kept values", width + secrets + tags, learnt.lanes())?;
    let parts = [
        (chosen, 0..mask),
        (learnt, 0..share),
        (chosen, mask..mask + secrets),
        (learnt, share..share + tags),
    ];
    let rows = parts
        .into_iter()
        .flat_map(|(bits, rows)| rows.map(|row| bits.row(row)));
    for (to, row) in rows.enumerate() {
        whole.row_mut(to).copy_from_slice(row);
    }
    Ok(Some(whole))
}

/// Fresh random bits for a value that is kept.
///
/// # Errors
/// A refusal of memory.
pub fn fresh(rows: usize, lanes: usize) -> Result<BitMatrix> {
    let mut bits = room::bits("kept values", rows, lanes)?;
    Entropy::os().fill(as_bytes_mut(bits.words_mut()));
    bits.mask_padding();
    Ok(bits)
}

/// The tag of a message.
fn mac(key: &Bits, pad: &Bits, message: &Bits) -> Bits {
    let width = message.width();
    let products = u64::from(width.div_ceil(BLOCK));
    let name = format!("polynomial MAC of {width} bits");
    let called = Called::new(name, products * GF64_PRODUCT, |b, operands, _| {
        polynomial_mac(b, operands[0], operands[1], operands[2])
    });
    let operands = [key.value(), pad.value(), message.value()];
    Bits::of(Value::apply(Op::Call(called), &operands, BLOCK))
}

/// What one party has of rows: its share, its secrets, and its tags, all as secrets of the session.
struct Held {
    share: Bits,
    secrets: [Bits; SECRETS],
    tags: [Bits; TAGS],
}

/// The tags that a party with these secrets has made of the other's share and key.
fn tags([key, pad, outer_key, outer_pad]: &[Bits; SECRETS], share: &Bits, other: &Bits) -> [Bits; TAGS] {
    [mac(key, pad, share), mac(outer_key, outer_pad, other)]
}

/// The next so many, which there are.
fn next<const N: usize>(bits: &mut impl Iterator<Item = Bits>) -> [Bits; N] {
    std::array::from_fn(|_| bits.next().expect("there is one for each width"))
}

impl Session {
    /// Verifies everything that `bits` depend on, and gives this party's share of them: with it, [`Session::take_bits`] makes them in a later session of the
    /// same parties. Nobody learns anything of them.
    ///
    /// # Errors
    /// As [`Session::reveal`]; of a protocol of three parties whose shares end with their session.
    #[track_caller]
    pub fn keep_bits(&self, bits: &Bits) -> Result<BitMatrix> {
        match self.keeps() {
            true => self.keep_node(bits.value().node()),
            false => self.keep_in_parts(bits),
        }
    }

    /// Rows of `width` bits in `lanes` places that earlier sessions have kept, one for each of `shares`, which is this party's of it.
    ///
    /// # Errors
    /// [`KEPT_VALUE`] if a party has put in something else than it held; as [`Session::reveal`].
    #[track_caller]
    pub fn take_bits(&self, width: u32, lanes: usize, shares: &[BitMatrix]) -> Result<Vec<Bits>> {
        if self.keeps() {
            let take = |share: &BitMatrix| {
                let taken = self.make(width, lanes, |machine| machine.take(width as usize, lanes, share));
                Bits::of(taken)
            };
            return Ok(shares.iter().map(take).collect());
        }
        self.pair()?;
        let mut right = self.public_bits(1, 1);
        let mut taken = Vec::new();
        for share in shares {
            let [first, second] = [0, 1].map(|party| self.held(PartyId(party), width, lanes, share));
            for (one, other) in [(&first, &second), (&second, &first)] {
                let made = tags(&other.secrets, &one.share, &one.secrets[0]);
                for (tag, made) in one.tags.iter().zip(&made) {
                    right = right.and(&tag.equal(made).all());
                }
            }
            taken.push(first.share.xor(&second.share));
        }
        let opened = self.reveal_bits(&[right], Parties::all(2))?;
        match self.foresees() || opened.is_some_and(|right| right.get(0, 0)) {
            true => Ok(taken),
            false => {
                let other = PartyId(1 - self.me().0);
                let detail = "what it put in of a kept value is not what it held".to_owned();
                self.fail_with(EngineError::cheated(KEPT_VALUE, other, KEPT_VALUES, detail).into());
                Err(self.failure())
            }
        }
    }

    fn pair(&self) -> Result<()> {
        match self.parties() {
            2 => Ok(()),
            _ => Err(Error::Session(EngineError::BadInput(
                "shares of this protocol end with their session".into(),
            ))),
        }
    }

    fn keep_in_parts(&self, bits: &Bits) -> Result<BitMatrix> {
        self.pair()?;
        let (width, lanes, me) = (bits.width(), bits.lanes(), self.me());
        let widths = |party: u8| {
            let mask = (party == 0).then_some(width);
            mask.into_iter().chain([BLOCK; SECRETS]).collect::<Vec<u32>>()
        };
        let chosen = match self.foresees() {
            true => None,
            false => Some(fresh(widths(me.0).iter().sum::<u32>() as usize, lanes)?),
        };
        let [mut first, mut second] = [0, 1].map(|party| {
            let own = chosen.as_ref().filter(|_| me.0 == party);
            self.input_bits(PartyId(party), &widths(party), lanes, own)
                .into_iter()
        });
        let [mask] = next(&mut first);
        let (first, second) = (next::<SECRETS>(&mut first), next::<SECRETS>(&mut second));
        let share = bits.xor(&mask);
        let to_first = tags(&second, &mask, &first[0]);
        let to_second = tags(&first, &share, &second[0]);
        let second_learns = [std::slice::from_ref(&share), &to_second].concat();
        let learnt = [
            self.reveal_bits(&to_first, Parties::one(PartyId(0)))?,
            self.reveal_bits(&second_learns, Parties::one(PartyId(1)))?,
        ];
        let (Some(mut chosen), Some(mut learnt)) = (chosen, learnt.into_iter().flatten().next()) else {
            return Ok(BitMatrix::zeros(0, 0));
        };
        let whole = put_together(width as usize, &chosen, &learnt)?;
        chosen.words_mut().zeroize();
        learnt.words_mut().zeroize();
        Ok(whole.expect("they have the shapes that were asked for"))
    }

    /// What `party` has of rows, of which `share` is this party's.
    fn held(&self, party: PartyId, width: u32, lanes: usize, share: &BitMatrix) -> Held {
        let widths: Vec<u32> = std::iter::once(width).chain([BLOCK; SECRETS + TAGS]).collect();
        let own = (party == self.me() && !self.foresees()).then_some(share);
        let mut bits = self.input_bits(party, &widths, lanes, own).into_iter();
        let [share] = next(&mut bits);
        Held {
            share,
            secrets: next(&mut bits),
            tags: next(&mut bits),
        }
    }
}
