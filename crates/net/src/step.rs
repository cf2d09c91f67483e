//! The steps of this crate's own messages. Protocols use codes below [`FIRST`].

use crate::Step;

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
