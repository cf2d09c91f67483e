//! The steps of the protocol: what every message is called, on the wire and in errors.

use cenote_net::steps;

steps! {
    /// Every step of setting up, but for those of the OTs.
    SETUP;
    /// The coin of the hashes' start, both ways.
    START = 0x510, "toss the start of the hashes";
    /// What pools the parties keep on their disks, both ways.
    KEPT_POOLS = 0x511, "compare kept pools";
}

steps! {
    /// Every step of filling the pool, but for those of the OTs.
    FILL;
    /// Short blocks of leaky ANDs, both ways.
    LEAKY = 0x520, "send leaky ANDs";
    /// Bits that make the products of leaky ANDs right, both ways.
    PRODUCTS = 0x521, "correct leaky ANDs";
    /// Shares of the PAKE whose password is a digest of all leaky ANDs of a lot, both ways.
    AGREE_EQUALITY = 0x522, "agree on leaky ANDs";
    /// Tags that say that they are the same, both ways.
    CONFIRM_EQUALITY = 0x523, "compare leaky ANDs";
    /// The coin that decides what is drawn, both ways.
    COIN = 0x524, "toss the coin of the pool";
    /// How many leaky ANDs the next lot has, to the evaluator.
    LOT = 0x525, "say how large the next lot is";
}

steps! {
    /// Every step of computing.
    ONLINE;
    /// The other party's shares of the masks of an input, to its owner.
    OPEN_INPUT_MASKS = 0x530, "open masks of inputs";
    /// Masked values of the evaluator's inputs, to the garbler.
    MASKED_INPUTS = 0x531, "mask own inputs";
    /// Labels of inputs, to the evaluator.
    INPUT_LABELS = 0x532, "send input labels";
    /// What combines leaky ANDs and multiplies masks, both ways.
    OPEN_TRIPLES = 0x533, "open differences to triples";
    /// Garbled gates, to the evaluator; the first ones of a segment with the block that tells halves of gates apart.
    TABLES = 0x534, "send garbled gates";
    /// Masked values of gates' operands, with the digest of their labels, to the garbler.
    MASKED_VALUES = 0x535, "tell masked values";
    /// The digest of MACs that says that all gates are right, to the evaluator.
    PROVE_GATES = 0x536, "prove garbled gates";
    /// The garbler's shares of the masks of outputs, to the evaluator.
    OPEN_OUTPUT_MASKS = 0x537, "open masks of outputs";
    /// Masked values of outputs, with the digest of their labels, to the garbler.
    OUTPUT_LABELS = 0x538, "return output labels";
    /// The digest of what the program has done so far, both ways.
    COMPARE = 0x539, "compare programs";
    /// The session's agreed end, both ways.
    FINISH = 0x53a, "finish";
    /// Sums of the masks of wires and of inputs of a circuit that was garbled ahead, both ways.
    TIE_MASKS = 0x53b, "tie masks of inputs";
    /// Sums of their labels, to the evaluator.
    TIE_LABELS = 0x53c, "tie input labels";
}
