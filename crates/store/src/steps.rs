//! The steps of sessions that use a store: what every message is called, on the wire and in errors.

use cenote_net::steps;

steps! {
    /// Every step.
    ALL;
    /// The names of the items that a party has, to all others.
    STOCK_ITEMS = 0x500, "compare items of stock";
    /// What a party has left of common items, to all others.
    STOCK_OFFER = 0x501, "compare stock";
    /// Hashes of what all parties said, to all others.
    STOCK_ECHO = 0x502, "confirm stock";
    /// The word that material is recorded as used, to all others.
    STOCK_CLAIM = 0x503, "claim stock";
    /// What of it a party cannot read, to all others.
    STOCK_DAMAGE = 0x504, "name damaged stock";
}
