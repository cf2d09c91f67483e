//! The steps of the protocol: what every message is called, on the wire and in errors.

use cenote_net::steps;

steps! {
    /// Every step of setting up, but for those of the OTs.
    SETUP;
    /// The i-hashes of the difference and of random labels, with their last bits, to the evaluator.
    HASH_DIFFERENCE = 0x410, "hash the difference";
    /// Which sums are to be opened, to the garbler.
    DIFFERENCE_CHALLENGE = 0x411, "challenge the difference";
    /// The sums, to the evaluator.
    OPEN_DIFFERENCE = 0x412, "open sums with the difference";
    /// The coin of the hashes' start, both ways.
    START = 0x413, "toss the start of the hashes";
    /// The pools that a party keeps, both ways.
    KEPT_POOLS = 0x414, "compare kept pools";
}

steps! {
    /// Every step of filling the pool, but for those of the OTs.
    FILL;
    /// Garbled gadgets and the i-hashes of their wires, to the evaluator.
    GADGETS = 0x420, "send gadgets";
    /// The coin that decides which are checked and what is drawn, both ways.
    COIN = 0x421, "toss the coin of the pool";
    /// Labels of checked gadgets, to the evaluator.
    OPEN_LABELS = 0x422, "open checked gadgets";
    /// Permutation bits of checked gadgets, to the evaluator.
    OPEN_BITS = 0x423, "open permutation bits";
}

steps! {
    /// Every step of computing.
    ONLINE;
    /// I-hashes of wires for inputs, to the evaluator.
    INPUT_WIRES = 0x430, "hash input wires";
    /// Labels of the garbler's inputs, to the evaluator.
    INPUT_LABELS = 0x431, "send input labels";
    /// Both labels of wires for the evaluator's inputs under the pads of OTs, to the evaluator.
    OWN_LABELS = 0x432, "transfer labels";
    /// The seed of how these are combined, to the garbler.
    COMBINE = 0x433, "combine transferred labels";
    /// The evaluator's inputs under its choices, to the garbler.
    CHOICES = 0x434, "mask own inputs";
    /// Solderings, to the evaluator.
    SOLDER = 0x435, "solder buckets";
    /// The proof of all their permutation bits, to the evaluator.
    PROVE = 0x436, "prove solderings";
    /// Permutation bits of outputs, to the evaluator.
    DECODE = 0x437, "open output bits";
    /// Output labels, as their last bits and a hash, to the garbler.
    OUTPUT_LABELS = 0x438, "return output labels";
    /// The digest of what the program has done so far, both ways.
    COMPARE = 0x439, "compare programs";
    /// The session's agreed end, both ways.
    FINISH = 0x43a, "finish";
}
