//! The steps of the protocols: what every message is called, on the wire and in errors.

use cenote_net::Step;

/// The element of the group that all base OTs of a set-up share, to the Δ-sender.
pub const BASE_KEY: Step = Step {
    code: 0x201,
    name: "base OT key",
};
/// Pairs of elements of the group, to the Δ-receiver.
pub const BASE_CHOICES: Step = Step {
    code: 0x202,
    name: "base OT choices",
};
/// Masked choices, one column for each base OT, to the Δ-sender.
pub const COLUMNS: Step = Step {
    code: 0x203,
    name: "OT extension",
};
/// The challenge of the consistency check, to the Δ-receiver.
pub const CHALLENGE: Step = Step {
    code: 0x204,
    name: "challenge the OT extension",
};
/// The folded choices and columns, to the Δ-sender.
pub const ANSWER: Step = Step {
    code: 0x205,
    name: "check the OT extension",
};

/// Every step.
pub const ALL: &[Step] = &[BASE_KEY, BASE_CHOICES, COLUMNS, CHALLENGE, ANSWER];
