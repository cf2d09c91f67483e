use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;

use super::*;

/// One operation applied to three values and four numbers.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Xor,
    Or,
    XorIf,
    Sort,
    Splat,
    Numbers,
    Sums,
    Pairs,
    Unpair,
    Sigma,
    Gather,
    Scatter,
    InnerProduct,
    EncryptOne,
    EncryptTwo,
    EncryptFour,
}

struct Apply {
    operation: Operation,
    values: [[Block; 4]; 3],
    numbers: [u64; 4],
}

impl Kernel for Apply {
    type Output = [[Block; 4]; 2];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) -> [[Block; 4]; 2] {
        let [a, b, c] = self.values.map(|value| lanes.load(&value));
        let zero = lanes.splat(Block::ZERO);
        let out = match self.operation {
            Operation::Xor => [lanes.xor(a, b), zero],
            Operation::Or => [lanes.or(a, b), zero],
            Operation::XorIf => [lanes.xor_if(a, b, c), zero],
            Operation::Sort => lanes.sort(a, b),
            Operation::Splat => [lanes.splat(self.values[0][1]), zero],
            Operation::Numbers => [lanes.numbers(self.numbers), zero],
            Operation::Sums => {
                let numbers = self.numbers.map(|number| number as u32);
                [lanes.sums(self.numbers[0], &numbers), zero]
            }
            Operation::Pairs => lanes.load_pairs(&bytemuck::cast([self.values[0], self.values[1]])),
            Operation::Unpair => {
                let mut pairs = [[Block::ZERO; 2]; 4];
                lanes.store_pairs([a, b], &mut pairs);
                lanes.prefetch(&pairs);
                return bytemuck::cast(pairs);
            }
            Operation::Sigma => [lanes.sigma(a), zero],
            Operation::Gather => {
                let [a, b, _] = &self.values;
                [lanes.gather([&b[3], &a[1], &b[1], &a[1]]), zero]
            }
            Operation::Scatter => {
                let mut out = [[Block::ZERO; 4]; 2];
                let [[p, _, q, r], [_, _, _, s]] = &mut out;
                lanes.scatter(a, [s, q, r, p]);
                return out;
            }
            Operation::InnerProduct => [
                lanes.inner_product([a], [b]),
                lanes.inner_product([a, c, b], [b, a, b]),
            ],
            Operation::EncryptOne => {
                let [[one], [other], _] = lanes.encrypt([c, b, a], [[a], [b], [c]]);
                [one, other]
            }
            Operation::EncryptFour => {
                let [[_, one, _, other]] = lanes.encrypt([c], [[c, a, a, b]]);
                [one, other]
            }
            Operation::EncryptTwo => lanes.encrypt([a, c], [[c, c], [a, b]])[1],
        };
        let mut blocks = [[Block::ZERO; 4]; 2];
        lanes.store(out[0], &mut blocks[0]);
        lanes.store(out[1], &mut blocks[1]);
        blocks
    }
}

/// What the documentation of the operation says, on numbers.
fn expected(operation: Operation, [a, b, c]: [[u128; 4]; 3], n: [u64; 4]) -> [[u128; 4]; 2] {
    let each = |f: &dyn Fn(usize) -> u128| std::array::from_fn(f);
    let encrypt = |key: u128, x: u128| {
        let mut block = x.to_le_bytes().into();
        aes::Aes128::new(&key.to_le_bytes().into()).encrypt_block(&mut block);
        u128::from_le_bytes(block.into())
    };
    let flat = [a, b].concat();
    match operation {
        Operation::Xor => [each(&|i| a[i] ^ b[i]), [0; 4]],
        Operation::Or => [each(&|i| a[i] | b[i]), [0; 4]],
        Operation::XorIf => [each(&|i| if b[i] % 2 == 1 { a[i] ^ c[i] } else { a[i] }), [0; 4]],
        Operation::Sort => [each(&|i| a[i].min(b[i])), each(&|i| a[i].max(b[i]))],
        Operation::Splat => [[a[1]; 4], [0; 4]],
        Operation::Numbers => [n.map(u128::from), [0; 4]],
        Operation::Sums => {
            let sum = |n0: u64| n[0].wrapping_add(n0 & 0xffff_ffff);
            [n.map(|n| sum(n).into()), [0; 4]]
        }
        Operation::Pairs => [each(&|i| flat[2 * i]), each(&|i| flat[2 * i + 1])],
        Operation::Unpair => {
            let pairs: Vec<u128> = (0..4).flat_map(|i| [a[i], b[i]]).collect();
            [each(&|i| pairs[i]), each(&|i| pairs[4 + i])]
        }
        Operation::Sigma => [a.map(|x| (x ^ x >> 64) << 64 | x >> 64), [0; 4]],
        Operation::Gather => [[b[3], a[1], b[1], a[1]], [0; 4]],
        Operation::Scatter => [[a[3], 0, a[1], a[2]], [0, 0, 0, a[0]]],
        Operation::InnerProduct => {
            let times = |x: u128, y: u128| {
                let [x, y] = [x, y].map(|x| Block::from_bytes(x.to_le_bytes()));
                u128::from_le_bytes(crate::gf128::mul(x, y).to_bytes())
            };
            [
                each(&|i| times(a[i], b[i])),
                each(&|i| times(a[i], b[i]) ^ times(c[i], a[i]) ^ times(b[i], b[i])),
            ]
        }
        Operation::EncryptOne => [each(&|i| encrypt(c[i], a[i])), each(&|i| encrypt(b[i], b[i]))],
        Operation::EncryptTwo | Operation::EncryptFour => {
            [each(&|i| encrypt(c[i], a[i])), each(&|i| encrypt(c[i], b[i]))]
        }
    }
}

const ALL: [Operation; 16] = [
    Operation::Xor,
    Operation::Or,
    Operation::XorIf,
    Operation::Sort,
    Operation::Splat,
    Operation::Numbers,
    Operation::Sums,
    Operation::Pairs,
    Operation::Unpair,
    Operation::Sigma,
    Operation::Gather,
    Operation::Scatter,
    Operation::InnerProduct,
    Operation::EncryptOne,
    Operation::EncryptTwo,
    Operation::EncryptFour,
];

fn check(values: [[u128; 4]; 3], numbers: [u64; 4]) {
    for operation in ALL {
        let expected = expected(operation, values, numbers);
        for &simd in Simd::supported() {
            let values = values.map(|value| value.map(|x| Block::from_bytes(x.to_le_bytes())));
            let out = run_on(
                simd,
                Apply {
                    operation,
                    values,
                    numbers,
                },
            );
            let out = out.map(|value| value.map(|block| u128::from_le_bytes(block.to_bytes())));
            assert_eq!(out, expected, "{operation:?} on {simd}");
        }
    }
}

#[test]
fn numbers_that_differ_in_one_half_or_not_at_all_are_sorted() {
    let high = 1 << 127;
    let low = u128::from(u64::MAX);
    check(
        [[5, high, low, high | 7], [5, low, high, high | 9], [1; 4]],
        [u64::MAX, 1 << 63, u64::from(u32::MAX), 0],
    );
    check(
        [
            [3 << 64, 1, (1 << 64) | 1, 1 << 63],
            [2 << 64, 2, 1 << 64, 0],
            [7; 4],
        ],
        [1 << 62, 1, 2, 3],
    );
}

proptest! {
    #[test]
    fn every_operation_is_what_its_documentation_says(
        values in any::<[[u128; 4]; 3]>(),
        numbers in any::<[u64; 4]>(),
    ) {
        check(values, numbers);
    }
}
