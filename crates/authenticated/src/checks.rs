//! The checks of the protocol. Each is tripped by a cheating party in a test.
//!
//! Numbers are those of the specification's steps.

pub use cenote_ot::checks::{BIT_OPENING, OT_CONSISTENCY, POINTS};

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL: OT_CONSISTENCY, BIT_OPENING, POINTS;
    /// Leaky ANDs are not what both parties computed of them (2).
    LEAKY_AND = 8, "leaky ANDs";
    // 9 is reserved.
    /// Another coin is opened than the one that was committed to (3).
    COIN = 10, "coin";
    /// Masked values of gates that the evaluator has no labels for (5).
    MASKED_VALUES = 11, "masked values";
    /// A gate was garbled so that it gives something else than an AND (5).
    GATES = 12, "garbled gates";
    /// The label of the evaluator's input is not one for its masked value (6).
    OWN_INPUT = 13, "own input";
    /// Masked values of outputs that the evaluator has no labels for (6).
    OUTPUT_LABELS = 14, "output labels";
    /// The label of an input of a circuit that was garbled ahead is not one for its masked value (6).
    TIED_INPUT = 15, "tied input";
}
