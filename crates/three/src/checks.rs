//! The checks of the protocol. Each is tripped by a cheating party in a test.

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL;
    /// Two parties saw different opened values (Furukawa et al. 2017, "compare-view").
    VIEW_COMPARISON = 1, "view comparison";
    /// Two parties' words on a checked product differ: it is wrong (Furukawa et al. 2017, Protocol 2.24).
    PRODUCT_COMPARISON = 2, "product comparison";
    /// A triple that was opened in cut-and-choose is not a product.
    TRIPLE_OPENING = 3, "opened triple";
    /// The two holders of a component of a coin sent different values.
    COIN_OPENING = 4, "coin opening";
    /// The two holders of a component of an output sent different values.
    OUTPUT_OPENING = 5, "output opening";
    /// The two holders of a component of a value that was kept between sessions have different ones.
    KEPT_SHARE = 6, "kept value";
    /// Rows that were moved are not those that were there before.
    SHUFFLE = 7, "shuffled rows";
    /// A proof that products are right does not hold (Boyle et al., CCS 2019).
    PROOF = 8, "proof";
    /// Parties heard different messages of a proof.
    PROOF_TRANSCRIPT = 9, "proof transcript";
    /// A prover has other operands of gates than a verifier.
    PROOF_OPERANDS = 10, "proof operands";
}
