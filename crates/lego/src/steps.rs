//! The steps of the protocol: what every message is called, on the wire and in errors.

use cenote_net::{Step, steps};

steps! {
    /// Every step of `setup`, but for those of the OTs.
    SETUP;
    /// Commitments to `Δ` and to spare OT strings, with their last bits, to the evaluator.
    COMMIT_DELTA = 0x210, "commit to the difference";
    /// The challenge on these, to the garbler.
    DELTA_CHALLENGE = 0x211, "challenge the commitments to the difference";
    /// The answer, to the evaluator.
    DELTA_ANSWER = 0x212, "check the commitments to the difference";
    /// The spare OT strings as received, to the garbler (Figure 1, step 10).
    SHOW_STRINGS = 0x213, "show spare OT strings";
    /// The proof that they are what was committed to, to the evaluator.
    PROVE_STRINGS = 0x214, "compare the difference with the OTs";
}

steps! {
    /// Every step of `generate`, but for those of the OTs.
    GENERATE;
    /// The order, to the garbler.
    ORDER = 0x220, "compare orders";
    /// Garbled gates and commitments to their wires, to the evaluator (steps 3 and 4).
    GATES = 0x221, "send gates";
    /// Authenticators and commitments to their wires, to the evaluator (steps 3 and 4).
    AUTHENTICATORS = 0x222, "send authenticators";
    /// Commitments to OT strings and masks, and their last bits, to the evaluator (steps 4 and 5).
    LEAK = 0x223, "commit to strings and masks";
    /// Commitments to port labels, to the evaluator.
    PORTS = 0x224, "commit to ports";
    /// The challenge on one batch of commitments, to the garbler (step 6).
    COMMIT_CHALLENGE = 0x225, "challenge commitments";
    /// The answer, to the evaluator (step 6).
    COMMIT_ANSWER = 0x226, "check commitments";
    /// The seed of cut-and-choose and bucketing, to the garbler (steps 8 and 11).
    CHALLENGE = 0x227, "choose what is checked";
    /// Labels of checked gates, to the evaluator (step 8).
    OPEN_GATES = 0x228, "open gates";
    /// Labels of checked authenticators, to the evaluator (step 8).
    OPEN_AUTHENTICATORS = 0x229, "open authenticators";
    /// Solderings, to the evaluator (step 12).
    SOLDER = 0x22a, "solder buckets";
    /// The proof of everything opened, to the evaluator.
    PROVE_GENERATE = 0x22b, "prove openings";
}

steps! {
    /// Every step of `build` and `eval`.
    EVAL;
    /// Solderings of a circuit's AND buckets, to the evaluator (Figure 2, Build).
    BUILD = 0x230, "solder circuit";
    /// The proof that they are what was committed to, to the evaluator.
    PROVE_BUILD = 0x231, "prove soldering";
    /// Solderings of wires to the ports of a circuit that was built ahead, to the evaluator.
    ATTACH = 0x232, "attach inputs";
    /// The evaluator's inputs under its choice bits, to the garbler (Eval, step 1).
    CHOICES = 0x233, "mask own inputs";
    /// Labels of the garbler's inputs, to the evaluator (step 2).
    GARBLER_LABELS = 0x234, "send input labels";
    /// Openings that turn OT strings into labels of the evaluator's inputs, to the evaluator (step 2).
    EVALUATOR_LABELS = 0x235, "open own input labels";
    /// Openings that tell which label of an output means what, to the evaluator (step 3).
    DECODE = 0x236, "open output masks";
    /// Solderings of the garbler's outputs to anchors, to the evaluator.
    ANCHOR = 0x237, "anchor outputs";
    /// The proof of everything opened since the last one, to the evaluator.
    PROVE_EVAL = 0x238, "prove input and output openings";
    /// Output labels, as their last bits and a hash, to the garbler.
    OUTPUT_LABELS = 0x239, "return output labels";
    /// The session's agreed end, both ways.
    FINISH = 0x23a, "finish";
}

/// The digest of what a program has done so far whose circuits are found out as it runs, both ways.
pub const COMPARE: Step = Step {
    code: 0x23b,
    name: "compare programs",
};

/// The word that all stored material is on disk, both ways.
pub const STORED: Step = Step {
    code: 0x240,
    name: "store material",
};
