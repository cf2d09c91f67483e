//! What a coordinator checks of its peers. Each check is tripped by a lying coordinator in a test.

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL;
    /// A party opened another share of the coin than the one that it had committed to, or said different commitments to different parties.
    COIN = 1, "shards' coin";
    /// A coordinator says of attempts what is not so: it hands one out that may not be, or says different things to different parties.
    ATTEMPTS = 2, "attempts of shards";
    /// A check failed in the session of a piece. The coordinators only pass it on.
    SESSION = 3, "session of a shard";
}
