//! The checks of the protocols.

use std::fmt;

/// A check of a protocol, which a cheating party trips: a constant of the crate that makes it. Codes differ within a protocol
/// and those that it builds on; they travel to the peers in five bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    /// What peers are told, below [`Check::CODES`].
    pub code: u8,
    /// What people are told.
    pub name: &'static str,
}

/// A message of another step or length than the protocol has at this point, or one that no honest peer sends.
pub const MESSAGE_FORM: Check = Check {
    code: 0,
    name: "message form",
};

impl Check {
    /// Codes are below this.
    pub const CODES: u8 = 32;

    /// The check among `known` with this code, or one without a name of its own.
    pub(crate) fn among(code: u8, known: &[Check]) -> Check {
        let known = known.iter().chain([&MESSAGE_FORM]);
        let unknown = Check {
            code,
            name: "one that this version does not know",
        };
        known.copied().find(|check| check.code == code).unwrap_or(unknown)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Constants for the checks of a protocol, `NAME = code, "name";`, after the name of a slice of all of them, which those
/// of a protocol that it builds on may begin: `ALL: OTHER, ANOTHER;`. Codes are compared when the crate is compiled: they
/// are above that of [`MESSAGE_FORM`], below [`Check::CODES`], and ascend.
///
/// ```
/// cenote_session::checks! {
///     /// Every check.
///     ALL;
///     /// The two holders of a coin sent different values.
///     COIN = 4, "coin opening";
///     /// An output is not what its holders say.
///     OUTPUT = 5, "output opening";
/// }
/// assert_eq!(ALL, [COIN, OUTPUT]);
/// ```
#[macro_export]
macro_rules! checks {
    ($(#[$all_doc:meta])* $all:ident $(: $($below:path),+)?; $($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        $($(#[$doc])* pub const $name: $crate::Check = $crate::Check { code: $code, name: $text };)*
        $(#[$all_doc])*
        pub const $all: &[$crate::Check] = &[$($($below,)+)? $($name),*];
        const _: () = {
            let mut last = $crate::MESSAGE_FORM.code;
            let mut at = 0;
            while at < $all.len() {
                assert!($all[at].code > last && $all[at].code < $crate::Check::CODES);
                last = $all[at].code;
                at += 1;
            }
        };
    };
}
