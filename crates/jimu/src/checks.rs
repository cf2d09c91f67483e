//! The checks of the protocol. Each is tripped by a cheating party in a test.
//!
//! Sections are those of the specification of the pool.

pub use cenote_ot::checks::{BIT_OPENING, OT_CONSISTENCY, WATCH_SECRET, WATCH_SHARES};

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL: OT_CONSISTENCY, BIT_OPENING, WATCH_SHARES, WATCH_SECRET;
    /// The last bit of the difference of labels is not 1, or its i-hash is none (Section 2).
    DIFFERENCE = 8, "difference of labels";
    /// Another coin is opened than the one that was committed to (Section 4).
    COIN = 9, "coin";
    /// A label opened of a checked gadget is not the one that was hashed (Section 2).
    OPENED_LABEL = 10, "opened label";
    /// A checked gadget is no AND gate (Section 2).
    OPENED_GATE = 11, "opened gate";
    /// A soldering is not the difference of its wires (Section 2).
    SOLDERING = 12, "soldering";
    /// A label of the garbler's input is none of its wire's (Section 3).
    INPUT_LABEL = 13, "input label";
    /// A label of the evaluator's input is not the one that it chose (Section 3).
    OWN_INPUT_LABEL = 14, "own input label";
    /// No gate of a bucket gives a label of its wire (Section 2).
    BUCKET = 15, "bucket";
    /// An output label that the evaluator returned is none of its wire's (Section 3).
    OUTPUT_LABEL = 16, "output label";
}
