//! Half gates and wire authenticators (Zahur, Rosulek, Evans 2015; Nielsen et al. 2017).
//!
//! **Labels.** Every wire has a 0-label K; its 1-label is K ⊕ Δ (free XOR: XOR gates cost nothing). Bit 0 of Δ is 1, so
//! that bit 0 of a label, its *colour*, tells the two apart without telling which is which, and the evaluator chooses
//! table rows by it (point and permute).
//!
//! **Gates.** "Two Halves Make a Whole" (Zahur, Rosulek, Evans, EUROCRYPT 2015, Figure 2): two blocks of table for an
//! AND gate, four hashes to garble it, two to evaluate it. With 0-labels A, B and tweaks j, j':
//!
//! - garbler's half: T_G = H(A, j) ⊕ H(A ⊕ Δ, j) ⊕ lsb(B)·Δ and W_G = H(A, j) ⊕ lsb(A)·T_G;
//! - evaluator's half: T_E = H(B, j') ⊕ H(B ⊕ Δ, j') ⊕ A and W_E = H(B, j') ⊕ lsb(B)·(T_E ⊕ A);
//! - the output's 0-label is W_G ⊕ W_E. With labels A, B of any colour, the evaluator gets its label as
//!   H(A, j) ⊕ lsb(A)·T_G ⊕ H(B, j') ⊕ lsb(B)·(T_E ⊕ A).
//!
//! **Hash.** TMMO (see [`cenote_primitives::hash`]), tweakable circular correlation robust in the random-permutation
//! model (Guo, Katz, Wang, Yu, IEEE S&P 2020; ePrint 2019/074, Section 7.4), which is what half gates need under free XOR:
//! what is encrypted contains Δ itself. The robustness is for distinct (label, tweak) pairs, where labels that differ by
//! Δ count once, so no tweak may serve twice under one Δ:
//!
//! - gate `g` has tweaks 2g and 2g + 1, one for each half. With one tweak for both, a gate whose inputs are one wire, or
//!   opposite ones, would have H(A, j) ⊕ H(A ⊕ Δ, j) in both halves of its table. Their sum would be A ⊕ lsb(A)·Δ, the
//!   label of colour 0, which gives Δ away to an evaluator who holds the label of colour 1.
//! - authenticator `n` has tweak 2^63 + n, out of the gates' reach: it *publishes* H(K) and H(K ⊕ Δ), which would decrypt
//!   the table of any gate on K with the same tweak.
//!
//! Numbers are used once per Δ, that is per session: who numbers gates is responsible.
//!
//! **Authenticators** (Nielsen et al. 2017, Section IV): `{H(K), H(K ⊕ Δ)}` in sorted order. It accepts both labels of
//! the wire and, but for chance 2^-127, nothing else; the order tells nothing of which label is which.
//!
//! Nothing here branches on a label or takes an address from one. [`Buckets::evaluate`] tells its caller whether all
//! gates agreed: honest gates always do.

mod authenticator;
mod buckets;
mod gate;
mod kernel;

pub use authenticator::{Authenticator, accepts, accepts_each, authenticate};
pub use buckets::{Buckets, BucketsMut};
pub use gate::{GateTable, evaluate, garble};

/// Gate numbers are below this.
pub const MAX_GATES: u64 = 1 << 62;
/// Authenticator numbers are below this.
pub const MAX_AUTHENTICATORS: u64 = 1 << 63;

/// The tweak of authenticator number 0.
const AUTHENTICATORS: u64 = 1 << 63;

#[cfg(test)]
mod tests;
