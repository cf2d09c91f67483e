//! What the messages are called.

cenote_net::steps! {
    /// Every step.
    ALL;
    /// Which job a coordinator has begun before.
    JOB = 0x501, "the job that was begun";
    /// Which attempts it has handed out before.
    STATE = 0x502, "attempts so far";
    /// A commitment to a share of the coin, and one to the keys.
    COMMIT = 0x503, "commit to a share of the coin";
    /// The share.
    OPEN = 0x504, "open a share of the coin";
    /// What a party has heard from all, in short.
    ECHO = 0x505, "compare what all have heard";
    /// How long the next word is.
    LENGTH = 0x506, "length of a word";
    /// A word.
    WORD = 0x507, "word of a coordinator";
}
