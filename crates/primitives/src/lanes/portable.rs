//! Lanes as arrays, AES by the `aes` crate: constant-time bitsliced software, or the AES instructions of a CPU that we
//! have no lanes of our own for.

use aes::cipher::{BlockCipherEncrypt, KeyInit};

use super::Lanes;
use crate::{Block, gf128};

/// Lanes on any CPU.
pub(super) struct Portable;

impl Lanes for Portable {
    type V = [Block; 4];

    #[inline(always)]
    fn load(&self, blocks: &[Block; 4]) -> [Block; 4] {
        *blocks
    }

    #[inline(always)]
    fn store(&self, value: [Block; 4], blocks: &mut [Block; 4]) {
        *blocks = value;
    }

    #[inline(always)]
    fn load_pairs(&self, pairs: &[[Block; 2]; 4]) -> [[Block; 4]; 2] {
        std::array::from_fn(|side| std::array::from_fn(|lane| pairs[lane][side]))
    }

    #[inline(always)]
    fn store_pairs(&self, values: [[Block; 4]; 2], pairs: &mut [[Block; 2]; 4]) {
        for (lane, pair) in pairs.iter_mut().enumerate() {
            *pair = [values[0][lane], values[1][lane]];
        }
    }

    #[inline(always)]
    fn gather(&self, blocks: [&Block; 4]) -> [Block; 4] {
        blocks.map(|block| *block)
    }

    #[inline(always)]
    fn scatter(&self, value: [Block; 4], blocks: [&mut Block; 4]) {
        for (block, value) in blocks.into_iter().zip(value) {
            *block = value;
        }
    }

    #[inline(always)]
    fn splat(&self, block: Block) -> [Block; 4] {
        [block; 4]
    }

    #[inline(always)]
    fn numbers(&self, numbers: [u64; 4]) -> [Block; 4] {
        numbers.map(|number| Block([number.to_le(), 0]))
    }

    #[inline(always)]
    fn sums(&self, base: u64, numbers: &[u32; 4]) -> [Block; 4] {
        self.numbers(numbers.map(|number| base.wrapping_add(number.into())))
    }

    #[inline(always)]
    fn xor(&self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        std::array::from_fn(|i| a[i] ^ b[i])
    }

    #[inline(always)]
    fn or(&self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        std::array::from_fn(|i| Block([a[i].0[0] | b[i].0[0], a[i].0[1] | b[i].0[1]]))
    }

    #[inline(always)]
    fn xor_if(&self, sum: [Block; 4], chooser: [Block; 4], addend: [Block; 4]) -> [Block; 4] {
        std::array::from_fn(|i| sum[i] ^ select(u64::from_le(chooser[i].0[0]) & 1, addend[i]))
    }

    #[inline(always)]
    fn sort(&self, a: [Block; 4], b: [Block; 4]) -> [[Block; 4]; 2] {
        let number = |block: Block| u128::from_le_bytes(block.to_bytes());
        let swap: [Block; 4] = std::array::from_fn(|i| {
            let (_, borrow) = number(b[i]).overflowing_sub(number(a[i]));
            select(std::hint::black_box(borrow.into()), a[i] ^ b[i])
        });
        [self.xor(a, swap), self.xor(b, swap)]
    }

    #[inline(always)]
    fn sigma(&self, value: [Block; 4]) -> [Block; 4] {
        value.map(|Block([low, high])| Block([high, low ^ high]))
    }

    #[inline(always)]
    fn inner_product<const N: usize>(&self, a: [[Block; 4]; N], b: [[Block; 4]; N]) -> [Block; 4] {
        std::array::from_fn(|i| gf128::sum_of_products(&a.map(|a| a[i]), &b.map(|b| b[i])))
    }

    #[inline(always)]
    fn encrypt<const N: usize, const M: usize>(
        &self,
        keys: [[Block; 4]; N],
        mut values: [[[Block; 4]; M]; N],
    ) -> [[[Block; 4]; M]; N] {
        for (keys, values) in keys.iter().zip(&mut values) {
            for (lane, key) in keys.iter().enumerate() {
                let aes = aes::Aes128::new(&key.to_bytes().into());
                let mut state: [aes::Block; M] = values.map(|value| value[lane].to_bytes().into());
                aes.encrypt_blocks(&mut state);
                for (value, state) in values.iter_mut().zip(state) {
                    value[lane] = Block::from_bytes(state.into());
                }
            }
        }
        values
    }

    #[inline(always)]
    fn prefetch<T>(&self, _address: *const T) {}
}

/// `block` if `bit` is 1, zero if it is 0.
#[inline(always)]
fn select(bit: u64, block: Block) -> Block {
    block & Block([bit.wrapping_neg(); 2])
}
