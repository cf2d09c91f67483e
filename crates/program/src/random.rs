//! Secrets that nobody chose.

use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, Entropy, as_bytes_mut};

use crate::op::Op;
use crate::secret::Secret;
use crate::session::Session;
use crate::value::Value;
use crate::word::Word;

impl Session {
    /// A row of `len` secrets, each uniformly random and independent of everything else as long as one party is honest: every
    /// party gives random bits of its own, which are added (XOR). Many at once cost as many messages as one.
    pub fn random<T: Word>(&self, len: usize) -> Secret<T> {
        Secret::of(self.random_bits(T::BITS, len, &mut Entropy::os()))
    }

    /// As [`Session::random`], of so many bits, with this party's part from `entropy`.
    pub(crate) fn random_bits(&self, width: u32, lanes: usize, entropy: &mut Entropy) -> Value {
        let parts: Vec<Value> = (0..self.parties() as u8)
            .map(|party| {
                let owner = PartyId(party);
                let bits = (owner == self.me()).then(|| {
                    let mut bits = BitMatrix::zeros(width as usize, lanes);
                    entropy.fill(as_bytes_mut(bits.words_mut()));
                    bits.mask_padding();
                    bits
                });
                self.make(width, lanes, |machine| {
                    machine.input(owner, width as usize, lanes, bits.as_ref())
                })
            })
            .collect();
        let first = parts[0].clone();
        parts[1..]
            .iter()
            .fold(first, |sum, part| Value::apply(Op::Xor, &[&sum, part], width))
    }
}
