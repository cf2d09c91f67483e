//! The checks of the protocols. Protocols built on this crate give their own checks codes from 4 on.

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL;
    /// The receiver of an OT extension used different choices in different columns (Roy 2022, Figure 10).
    OT_CONSISTENCY = 1, "OT consistency";
    /// An opened bit, or sum of bits, is not what was authenticated.
    BIT_OPENING = 2, "opened bits";
}
