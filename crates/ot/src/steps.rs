//! The steps of the protocols: what every message is called, on the wire and in errors.

use cenote_net::steps;

steps! {
    /// Every step of set-ups and extensions.
    ALL;
    /// The element of the group that all base OTs of a set-up share, to the Δ-sender.
    BASE_KEY = 0x201, "base OT key";
    /// Pairs of elements of the group, to the Δ-receiver.
    BASE_CHOICES = 0x202, "base OT choices";
    /// Masked choices, one column for each base OT, to the Δ-sender.
    COLUMNS = 0x203, "OT extension";
    /// The challenge of the consistency check, to the Δ-receiver.
    CHALLENGE = 0x204, "challenge the OT extension";
    /// The folded choices and columns, to the Δ-sender.
    ANSWER = 0x205, "check the OT extension";
}

steps! {
    /// Every step of [`crate::watch`], but for those of the base OTs.
    WATCH;
    /// Masked shares, to the receiver of a watch list.
    WATCH_SHARES = 0x206, "share the secret of a watch list";
    /// The receiver's commitment to the secret.
    WATCH_COMMITMENT = 0x207, "commit to the secret of a watch list";
    /// The polynomial, to the receiver.
    WATCH_POLYNOMIAL = 0x208, "open the shares of a watch list";
    /// The opened commitment, to the sender.
    WATCH_OPENING = 0x209, "open the secret of a watch list";
}

steps! {
    /// Every step of [`crate::mutual`] that others do not have.
    MUTUAL;
    /// The sums of the levels of trees, hidden, both ways.
    TREES = 0x20a, "share the trees of the OT extension";
}

steps! {
    /// Every step of [`crate::pcg`] that [`crate::mutual`] does not have.
    PCG;
    /// The sums of the levels of trees, hidden by authenticated bits, both ways.
    POINT_TREES = 0x20b, "share the trees of the noise";
    /// The challenge of the consistency check, with the hidden sum of the noise, both ways.
    POINT_CHALLENGE = 0x20c, "challenge the trees of the noise";
    /// The hash that says that the trees are right, both ways.
    POINT_ANSWER = 0x20d, "check the trees of the noise";
}
