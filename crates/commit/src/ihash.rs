//! Interactive hashes of wire labels: XOR-homomorphic commitments that the label itself opens (Zhu, Huang, ASIACRYPT 2017;
//! Section 4 of Zhu, Huang, Cassel, CCS 2017).
//!
//! **Scheme.** A label is `k` symbols of GF(2^8), encoded by a systematic Reed–Solomon code of length `n` and distance
//! `n - k + 1`. The committer holds a seed for each of the `n` positions; the watcher holds those of `w` positions, its *watch
//! list*, which the committer does not know. Symbol `j` of the label of number `i` is masked by byte `i` of the stream of seed `j`.
//! A random label's first `k` symbols are those bytes, and only its `n - k` parity symbols are sent, masked; of a chosen label all `n`
//! symbols are sent, masked. The watcher removes the masks where it watches: the *hash* of a label is the `w` watched symbols of
//! its codeword. To verify a label, the watcher encodes it and compares ([`Watcher::verify`]), so an opening is the label and
//! nothing else. All of this is linear: the XOR of hashes is the hash of the XOR.
//!
//! **Hiding.** Any `k` symbols of a codeword determine it and may have any values. So the watched symbols leave the `k - w` symbols
//! in any other `k - w` positions uniform; 16 of them, 128 bits, are hidden. What is sent of positions that are not watched is masked
//! by streams of which the watcher has no seed. No byte of a stream masks two symbols: batches of one set-up must not overlap.
//!
//! **Binding.** What the committer sends fixes a word `y` of `n` symbols for each label, which need not be a codeword. A label `x` is
//! accepted for `y` exactly if no position is watched in which the codeword of `x` differs from `y`. Call these positions *guesses*:
//! by opening `x`, the committer guesses that none of them is watched. The same holds for a XOR of words. All answers of the watcher
//! up to the first failure are "accepted", so until then the committer learns only that no guess was watched, and what it does is
//! what it would have decided beforehand; adapting does not help. Let `U` be the union of all guesses of the whole life of a set-up.
//! - While `U` has at most `n - k` positions, codewords that agree outside `U` are equal. So no word, and no XOR of words, has been
//!   opened to two labels, and the label that opens a XOR is the XOR of those that open its terms.
//! - The watch list is uniform and independent of what the committer does, so `U` with `n - k + 1` or more positions contains no watched
//!   one with probability at most `C(k-1,w)/C(n,w)`. If it could guess at the list in the set-up, at the risk of being caught, then being
//!   right there and here has at most this probability too.
//!
//! So all attempts of a life together succeed with probability at most `C(k-1,w)/C(n,w)`, which is at most 2^-s by the choice of the
//! code (`cenote_params::ihash`), however many labels are hashed and whatever is tried before the first failure. This needs a watcher
//! that accepts nothing more from a committer that failed once: another try with the same watch list would be a guess more.
//!
//! **Selective failure.** Whether a given label is accepted for a given word depends on the watch list alone, never on what the watcher
//! computes with. [`Watcher::which`] compares a label with the hashes of `L` and of `L ⊕ Δ`: a watcher that holds `L ⊕ Δ` where another
//! value would give `L` adds the codeword of `Δ` on one side and the hash of `Δ` on the other. If that hash is right, it fails for both
//! or for neither. If the hash is wrong in a watched position, it fails for `L ⊕ Δ` only, which tells the committer the value: the
//! set-up of the protocol must check the hash of `Δ`, which nothing here does. Nor can anything here help if the label itself is wrong for
//! one value only, as a bad gate makes it: how to go on then is for the protocol to say.

mod batch;
mod code;
mod committer;
#[cfg(test)]
mod tests;
mod watcher;

pub use batch::{Batch, UNIT};
pub use code::Code;
pub use committer::Committer;
pub use watcher::{Mismatch, Watcher};
