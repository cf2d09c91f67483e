//! What room is asked for, by name.

pub(crate) use cenote_session::room::{bits, collected, copy, empty, reserved, secret, zeroed};

/// What is checked of an epoch, and what is left.
pub(crate) const CUT: &str = "the choice of what is checked";
/// Garbled gates, where room for them is asked for.
pub(crate) const GATES: &str = "garbled gates";
pub(crate) const AUTHENTICATORS: &str = "authenticators of wires";
/// AND gates that are ready to be used.
pub(crate) const BUCKETS: &str = "buckets of AND gates";
/// What inputs and outputs take.
pub(crate) const INPUTS: &str = "inputs and outputs";
/// Pieces of stored material.
pub(crate) const MATERIAL: &str = "stored material";
/// Circuits that are built or evaluated.
pub(crate) const CIRCUITS: &str = "the wires of a circuit";
