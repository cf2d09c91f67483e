//! The steps of the protocol: what every message is called, on the wire and in errors.

use cenote_net::{Step, steps};

steps! {
    /// Every step of a session that makes its own triples.
    ALL;
    /// Contributions to the keys of a pair of parties, both ways.
    SETUP = 0x301, "key set-up";
    /// The owner's masked input, to the next party.
    INPUT = 0x302, "input";
    /// The barrier before a coin, to both others.
    BARRIER = 0x303, "barrier";
    /// Shares of a coin, to both others.
    COIN = 0x304, "coin";
    /// Products of random sharings, to the previous party.
    MULTIPLY_TRIPLE = 0x305, "multiply triples";
    /// Triples opened in cut and choose, to the previous party.
    OPEN_TRIPLE = 0x306, "open triples";
    /// Masked factors in bucket checks, to the previous party.
    CHECK_TRIPLE = 0x307, "check triples";
    /// Tags of the values opened in a generator batch, to both others.
    TRIPLE_VIEW = 0x308, "compare views of triples";
    /// Tags of the words on a generator batch's products, to both others.
    TRIPLE_PRODUCTS = 0x309, "compare products of triples";
    /// Products of a circuit's AND layer, to the previous party.
    MULTIPLY_GATE = 0x30a, "evaluate AND layer";
    /// Masked factors in the verification of gates, to the previous party.
    CHECK_GATE = 0x30b, "verify gates";
    /// Tags of the values opened to verify gates, to both others.
    GATE_VIEW = 0x30c, "compare views of gates";
    /// Tags of the words on gates' products, to both others.
    GATE_PRODUCTS = 0x30d, "compare products of gates";
    /// An output's component in full, to the previous party.
    OUTPUT = 0x30e, "open output";
    /// The hash of an output's component, to the next party.
    OUTPUT_HASH = 0x30f, "confirm output";
    /// The session's agreed end, to both others.
    FINISH = 0x310, "finish";
}

/// The digests of components of a value that an earlier session kept, to both others.
pub const KEPT_SHARE: Step = Step {
    code: 0x319,
    name: "compare kept shares",
};

/// The digest of what a program has done so far whose circuits are found out as it runs, to both others.
pub const COMPARE: Step = Step {
    code: 0x318,
    name: "compare programs",
};

steps! {
    /// Every step that only programs that move rows in secret orders have.
    SHUFFLED;
    /// Tags of rows, to the previous party.
    TAG_ROWS = 0x31a, "tag rows";
    /// Rows in another order, masked, between the two parties that know it.
    MOVE_ROWS = 0x31b, "move rows";
    /// Masked sums of rows, opened, to the previous party.
    SUM_ROWS = 0x31c, "open sums of rows";
    /// The difference of tags and sums times a secret factor, to the previous party.
    SCALE_SUM = 0x31d, "scale sums of rows";
    /// Tags of the opened sums, to both others.
    SHUFFLE_VIEW = 0x31e, "compare views of rows";
    /// Tags of the words on the scaled difference, to both others.
    SHUFFLE_PRODUCTS = 0x31f, "compare sums of rows";
}

steps! {
    /// Every step that only sessions with proofs have.
    PROVED;
    /// The masked values of a proof's first message, to the previous party.
    PROOF_GRID = 0x320, "prove gates";
    /// Their digest, to the next party.
    PROOF_DIGEST = 0x321, "digest a proof";
    /// The word on the challenge that all proofs have in common, to both others.
    PROOF_CHALLENGE = 0x322, "agree on a challenge";
    /// The masked values of a proof's later steps, and then that of the first half, to the previous party.
    PROOF_TAIL = 0x323, "finish a proof";
    /// Their digests, and then the value of the second half, to the next party.
    PROOF_DIGESTS = 0x324, "digest the end of a proof";
    /// What a verifier found, to the other verifier.
    PROOF_OPENING = 0x325, "verify a proof";
}

steps! {
    /// Every step that only sessions with measured links have.
    MEASURED;
    /// A word whose time on the way is measured, to both others.
    PING = 0x316, "measure the links";
}

steps! {
    /// Every step that only making stored triples has, but for those of [`cenote_store::steps`].
    STORED;
    /// Contributions to the name and the time of an epoch, to both others.
    EPOCH = 0x311, "name an epoch";
    /// The word that all batches so far are settled, to both others.
    CHECKPOINT = 0x317, "confirm triples for stock";
}
