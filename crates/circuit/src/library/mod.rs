//! The standard library: integers, tables, lists, AES, SHA-2, Keccak and ready-made circuits, each with few
//! ANDs or with little AND depth.
//!
//! Functions on [`Bit`](crate::Bit)s add to a [`Builder`](crate::Builder); [`by_name`] gives whole circuits. Integers
//! are slices of bits, least significant first, and so is anything that is written in hexadecimal: the last digit comes
//! first.
//!
//! What it costs, by the names of [`by_name`]. A name that ends in `-depth` has [`Goal::LeastDepth`], others
//! [`Goal::FewestAnds`]. Equality, zero, the count of ones, Keccak, compaction and permutations are the same circuits for
//! both. Counts depend on nothing but this crate: a test compares them with this table.
//!
//! | circuit | ANDs | XORs | AND depth |
//! |---|---|---|---|
//! | `add32` | 31 | 153 | 31 |
//! | `add32-depth` | 140 | 198 | 5 |
//! | `add64` | 63 | 313 | 63 |
//! | `add64-depth` | 344 | 432 | 6 |
//! | `sub32` | 31 | 153 | 31 |
//! | `sub32-depth` | 140 | 198 | 5 |
//! | `neg64` | 62 | 63 | 62 |
//! | `neg64-depth` | 167 | 63 | 6 |
//! | `lt32` | 32 | 93 | 32 |
//! | `lt32-depth` | 73 | 109 | 6 |
//! | `lt64` | 64 | 189 | 64 |
//! | `lt64-depth` | 160 | 222 | 7 |
//! | `slt32` | 32 | 93 | 32 |
//! | `slt32-depth` | 73 | 109 | 6 |
//! | `abs64` | 63 | 125 | 63 |
//! | `abs64-depth` | 168 | 125 | 6 |
//! | `eq32` | 31 | 32 | 5 |
//! | `zero64` | 63 | 0 | 6 |
//! | `popcount32` | 31 | 135 | 5 |
//! | `popcount64` | 63 | 291 | 6 |
//! | `mult32` | 974 | 2272 | 31 |
//! | `mult32-depth` | 1058 | 2306 | 10 |
//! | `mult64` | 3601 | 9000 | 63 |
//! | `mult64-depth` | 4206 | 9740 | 13 |
//! | `multfull32` | 1608 | 4223 | 63 |
//! | `multfull32-depth` | 2212 | 4928 | 12 |
//! | `multfull64` | 5229 | 14272 | 127 |
//! | `multfull64-depth` | 8892 | 19976 | 14 |
//! | `div32` | 652 | 3378 | 620 |
//! | `div32-depth` | 4168 | 6695 | 97 |
//! | `div64` | 2332 | 12914 | 2268 |
//! | `div64-depth` | 17923 | 27113 | 212 |
//! | `sdiv32` | 778 | 3627 | 651 |
//! | `sdiv32-depth` | 4480 | 6944 | 107 |
//! | `sdiv64` | 2586 | 13419 | 2331 |
//! | `sdiv64-depth` | 18627 | 27618 | 224 |
//! | `clz32` | 31 | 57 | 31 |
//! | `clz32-depth` | 74 | 57 | 5 |
//! | `ctz64` | 63 | 120 | 63 |
//! | `ctz64-depth` | 168 | 120 | 6 |
//! | `shl32` | 166 | 290 | 7 |
//! | `shl32-depth` | 192 | 321 | 6 |
//! | `shr64` | 391 | 706 | 8 |
//! | `sar32` | 161 | 312 | 7 |
//! | `sar32-depth` | 186 | 372 | 6 |
//! | `rotl32` | 129 | 387 | 5 |
//! | `rotr64` | 321 | 963 | 6 |
//! | `rotr24` | 99 | 297 | 5 |
//! | `aes128` | 6400 | 24176 | 50 |
//! | `aes128-balanced` | 6600 | 26976 | 40 |
//! | `aes128-depth` | 9800 | 33976 | 30 |
//! | `aes192` | 7168 | 27600 | 60 |
//! | `aes256` | 8832 | 33488 | 70 |
//! | `aes128-decrypt` | 6400 | 26744 | 100 |
//! | `aes128-decrypt-balanced` | 6600 | 29544 | 80 |
//! | `aes128-decrypt-depth` | 9800 | 36544 | 60 |
//! | `aes192-decrypt` | 7168 | 30728 | 100 |
//! | `aes256-decrypt` | 8832 | 37176 | 135 |
//! | `sha256` | 22271 | 107583 | 1607 |
//! | `sha256-depth` | 42090 | 133320 | 492 |
//! | `sha256-single` | 21890 | 104266 | 1604 |
//! | `sha256-single-depth` | 41353 | 129587 | 486 |
//! | `sha512` | 57572 | 279044 | 3303 |
//! | `sha512-depth` | 119938 | 352246 | 727 |
//! | `keccak-f` | 38400 | 115200 | 24 |
//! | `sha3-256-single` | 37056 | 111552 | 24 |
//! | `exposure3x32-1000000` | 95 | 320 | 34 |
//! | `exposure3x32-1000000-depth` | 138 | 299 | 8 |
//! | `sort16x8` | 960 | 2280 | 90 |
//! | `sort16x8-depth` | 1320 | 2460 | 50 |
//! | `sort64x32` | 33984 | 83898 | 693 |
//! | `sort64x32-depth` | 55755 | 92925 | 147 |
//! | `sort100x32` | 68160 | 168270 | 924 |
//! | `ssort100x32` | 68160 | 168270 | 924 |
//! | `sort1024x32` | 1527744 | 3771618 | 1815 |
//! | `sort1024x32-depth` | 2506455 | 4177425 | 385 |
//! | `compact1024x32` | 170896 | 516720 | 10 |
//! | `compact1000x32` | 165358 | 499777 | 10 |
//! | `permute1024x32` | 294944 | 884832 | 19 |
//! | `permute1000x32` | 287264 | 861792 | 19 |

mod aes;
mod columns;
mod compact;
mod conjunction;
mod count;
mod divide;
mod exposure;
mod field;
mod gf64;
mod goal;
mod integer;
mod keccak;
mod linear;
mod lookup;
mod multiply;
mod permutation;
mod prefix;
mod registry;
mod sbox;
mod sha2;
mod shift;
mod sort;
mod synthesis;
mod timed;

pub use aes::{aes, aes_decrypt, aes_encrypt, aes_inverse, aes128};
pub use columns::{popcount, sum};
pub use compact::{compact, compaction, compaction_controls, compaction_network, expand};
pub use conjunction::prefix_all;
pub use count::{leading_zeros, trailing_zeros};
pub use divide::{divide, divide_signed};
pub use exposure::exposure_over_limit;
pub use gf64::{GF64_BITS, GF64_PRODUCT, gf64_multiply, gf64_square, polynomial_mac};
pub use goal::Goal;
pub use integer::{
    absolute, add, add_with_carry, all, constant, equal, is_zero, less_than, less_than_signed, mux, negate,
    negate_if, not, subtract, subtract_with_borrow, xor,
};
pub use keccak::{keccak_f, keccak_f1600, sha3_256_single_block};
pub use lookup::{lookup, lookup_secret};
pub use multiply::{multiply, multiply_full};
pub use permutation::{permutation, permutation_controls, permutation_network, permute, route_permutation};
pub use registry::{NAMES, NameError, by_name, by_name_within};
pub use sbox::{AesSbox, aes_inverse_sbox, aes_sbox};
pub use sha2::{
    sha256_block, sha256_compress, sha256_initial_state, sha256_single_block, sha512_block, sha512_compress,
    sha512_initial_state,
};
pub use shift::{rotate_left, rotate_right, shift_left, shift_right, shift_right_signed};
pub use sort::{
    Key, compare_exchange, exchange_if, merge, merging_network, min_max, sort, sort_integers, sorting_network,
};
