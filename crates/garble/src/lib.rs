//! Half gates and wire authenticators (Zahur, Rosulek, Evans 2015; Nielsen et al. 2017).
//!
//! **Labels.** Every wire has a 0-label K; its 1-label is K ⊕ Δ (free XOR: XOR gates cost nothing). Bit 0 of Δ is 1, so
//! that bit 0 of a label, its *colour*, tells the two apart without telling which is which, and the evaluator chooses
//! table rows by it (point and permute).
//!
//! **Gates.** "Two Halves Make a Whole" (Zahur, Rosulek, Evans, EUROCRYPT 2015, Figure 2): two blocks of table for an
//! AND gate, four hashes to garble it, two to evaluate it. With 0-labels A and B, and hashes H and H' of this gate:
//!
//! - garbler's half: T_G = H(A) ⊕ H(A ⊕ Δ) ⊕ lsb(B)·Δ and W_G = H(A) ⊕ lsb(A)·T_G;
//! - evaluator's half: T_E = H'(B) ⊕ H'(B ⊕ Δ) ⊕ A and W_E = H'(B) ⊕ lsb(B)·(T_E ⊕ A);
//! - the output's 0-label is W_G ⊕ W_E. With labels A, B of any colour, the evaluator gets its label as
//!   H(A) ⊕ lsb(A)·T_G ⊕ H'(B) ⊕ lsb(B)·(T_E ⊕ A).
//!
//! **Hash.** AES with a key for each gate (see [`cenote_primitives::hash`]): H(x) = AES_k(σ(x)) ⊕ σ(x), and H'(x) = H(x ⊕ c)
//! with a constant c. It is tweakable circular correlation robust in the ideal-cipher model, which is what half gates need
//! under free XOR: what is encrypted contains Δ itself (Guo, Katz, Wang, Weng, Yu, CRYPTO 2020). Their definition lets several
//! labels be hashed under one key, for a bit of security each time their number doubles, as long as no label
//! is hashed both with and without Δ added. The paper takes a key for each half; here both halves share one, for one
//! bit and half of the key schedules.
//!
//! - A key is the session's *start*, which both parties draw together when Δ is fixed, plus a tweak: g for gate `g`.
//! - Under it A and B ⊕ c are hashed, which must differ. Gates whose inputs are one wire, or opposite ones, have A = B
//!   on the evaluator's side, so without c both halves would have H(A) ⊕ H(A ⊕ Δ), and their sum A ⊕ lsb(A)·Δ, the label of
//!   colour 0, would give Δ away to an evaluator who holds the label of colour 1. Labels of a gate are random, so that
//!   A ⊕ B is c, or c ⊕ Δ, with probability 2^-127 only.
//! - authenticator `n` has tweak 2^63 + n, out of the gates' reach: it *publishes* H(K) and H(K ⊕ Δ), which would decrypt
//!   the table of any gate on K with the same tweak.
//!
//! Numbers are used once per Δ, that is per session: who numbers gates is responsible.
//!
//! **Authenticators** (Nielsen et al. 2017, Section IV): `{H(K), H(K ⊕ Δ)}` in sorted order. It accepts both labels of
//! the wire and, but for chance 2^-127, nothing else; the order tells nothing of which label is which.
//!
//! **Wide labels**, of several blocks, are the matter of [`wide`].
//!
//! Nothing here branches on a label or takes an address from one. [`Buckets::evaluate`] tells its caller whether all
//! gates agreed: honest gates always do.

mod authenticator;
mod buckets;
mod gate;
mod kernel;
pub mod wide;

use cenote_primitives::Block;

pub use authenticator::{Authenticator, accepts, accepts_each, authenticate};
pub use buckets::{Buckets, BucketsMut};
pub use gate::{GateTable, evaluate, garble};

/// Where a run of numbers of gates or authenticators begins, and where the keys of the session's hashes do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The key of tweak 0: random, and agreed on once Δ is fixed.
    pub start: Block,
    /// The first number, or what numbers are relative to.
    pub number: u64,
}

/// Gate numbers are below this.
pub const MAX_GATES: u64 = 1 << 62;
/// Authenticator numbers are below this.
pub const MAX_AUTHENTICATORS: u64 = 1 << 63;

/// The tweak of authenticator number 0.
const AUTHENTICATORS: u64 = 1 << 63;

#[cfg(test)]
mod tests;
