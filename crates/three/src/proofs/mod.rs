//! Proofs that products are right, with one bit an AND (spec `three-party-proofs`).
//!
//! A party `P_i` that multiplies sends one bit of each gate to the previous party, `z_i = x_i·y_i ⊕ x_i·y_{i+1} ⊕ x_{i+1}·y_i ⊕ r_i ⊕ r_{i+1}`. Of this
//! the *left verifier* `P_{i-1}` knows `x_i`, `y_i` and `e⁻ = x_i·y_i ⊕ z_i ⊕ r_i`, the *right verifier* `P_{i+1}` knows `x_{i+1}`, `y_{i+1}` and
//! `e⁺ = r_{i+1}`, and it is right if `x_i·y_{i+1} ⊕ y_i·x_{i+1} = e⁻ ⊕ e⁺`. So each party proves a statement of the form `a·c ⊕ b·d = e⁻ ⊕ e⁺` to two
//! verifiers who share it (Boneh et al., CRYPTO 2019; Boyle et al., CCS 2019), of all gates of a batch at once: the gates' sum with random weights in
//! GF(2^128), by a sumcheck ([`cenote_primitives::sumcheck`]). What the prover tells is split in two: one verifier derives its share from a key, the other
//! is sent the rest, and the first hears the digest of that, of which the challenges are made.
//!
//! The messages of a batch, each party being prover, left verifier of the next party and right verifier of the previous one:
//!
//! 1. to both: the barrier, "I have all that I will receive of batch b";
//! 2. to both: the coin, from which the weights follow;
//! 3. to the left: the first message's values, masked; to the right: its digest;
//! 4. to both: the word on the common challenge, a hash of all three digests; to the left: the values of all later steps, masked, and to the right their
//!    digests; and to each verifier the value at the end of that half of the statement which the verifier knows as well;
//! 5. to the other verifier of each proof: that value, this verifier's share of the product of both, and the transcript's digest.
//!
//! **The order matters.** The coin is tossed only when all three parties have received everything of the batch: who owes a message and knows the weights can
//! make any error fit. Message 5 is sent only when both others have the same word on the challenge, and both provers the same operands as this verifier
//! ([`checks::PROOF_OPERANDS`](crate::checks::PROOF_OPERANDS)): with another challenge, or other operands than an honest prover's, what is opened would tell
//! secrets. Operands differ between honest parties if their programs do, so this check says what the word on programs would.
//!
//! **Error.** Something wrong passes with `2^-64` for weights of 64 bits and `2^-121` for 128, whatever the number of gates, batches and workers: the
//! first batch with something wrong passes or ends the session, and nothing is opened before all batches of all workers have passed. Challenges are
//! hashes: each try of an attacker who grinds them wins with `14 / 2^128` at most.

mod algebra;
mod background;
mod buffers;
mod prover;
mod streams;
mod transcript;
mod verifier;
mod weights;

pub(crate) use background::Proving;
pub(crate) use prover::Prover;
