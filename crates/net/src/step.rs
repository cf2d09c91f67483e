//! The steps of this crate's own messages. Protocols use codes below [`FIRST`].

use crate::Step;

/// Declares the steps of a protocol as constants, `NAME = code, "name";`. The first line names a slice of all of them.
///
/// ```
/// cenote_net::steps! {
///     /// Every step.
///     ALL;
///     /// A question.
///     ASK = 1, "ask";
///     /// Its answer.
///     TELL = 2, "tell";
/// }
/// assert_eq!(ALL, [ASK, TELL]);
/// ```
#[macro_export]
macro_rules! steps {
    ($(#[$all_doc:meta])* $all:ident; $($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        $($(#[$doc])* pub const $name: $crate::Step = $crate::Step { code: $code, name: $text };)*
        $(#[$all_doc])*
        pub const $all: &[$crate::Step] = &[$($name),*];
    };
}

/// The first code that is not a protocol's.
pub const FIRST: u16 = 0xFF00;

/// Making the connection.
pub const CONNECT: Step = Step {
    code: 0xFF00,
    name: "connect",
};
/// Who connects, to whom, for what.
pub const HELLO: Step = Step {
    code: 0xFF01,
    name: "hello",
};
/// Comparing what the parties agreed on: the length, then the fields.
pub const AGREE: Step = Step {
    code: 0xFF02,
    name: "agree",
};
/// Saying goodbye.
pub const CLOSE: Step = Step {
    code: 0xFF03,
    name: "close",
};
/// Calling the roll.
pub const ROLL: Step = Step {
    code: 0xFF04,
    name: "roll call",
};
