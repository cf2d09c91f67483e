//! The checks of the protocol. Each is tripped by a cheating party in a test.
//!
//! Figures and steps are those of Nielsen et al. 2017.

pub use cenote_ot::checks::OT_CONSISTENCY;

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL: OT_CONSISTENCY;
    /// Corrections of commitments do not make them codewords (Frederiksen et al. 2016, commit phase).
    COMMITMENT_CONSISTENCY = 4, "commitment consistency";
    /// Values opened from commitments are not those committed to (Frederiksen et al. 2016, batch opening).
    DECOMMITMENT = 5, "decommitment";
    /// The last bits told of committed strings are not theirs: "VerLeak" (Figure 1, step 7).
    LEAKED_BITS = 6, "leaked bits";
    /// The committed difference of labels is not that of the OTs (Figure 1, step 10).
    DIFFERENCE = 7, "difference of labels";
    /// A garbled gate that was opened in cut-and-choose is no AND gate (Figure 1, step 9).
    GATE_OPENING = 8, "opened gate";
    /// An authenticator that was opened in cut-and-choose refuses its wire's label (Figure 1, step 9).
    AUTHENTICATOR_OPENING = 9, "opened authenticator";
    /// A challenge that no honest evaluator sends: it leaves too few gadgets, or shows strings that were never sent to it
    /// (Figure 1, steps 8 and 10).
    CHALLENGE = 10, "challenge";
    /// A label of the evaluator's own input does not carry its bit (Figure 2, step 4).
    OWN_INPUT_LABEL = 11, "own input label";
    /// The authenticators of an input wire refuse its label (Figure 2, step 4).
    INPUT_AUTHENTICATOR = 12, "input authenticator";
    /// An output label that the evaluator returned is none of its wire's.
    OUTPUT_LABEL = 13, "output label";
}
