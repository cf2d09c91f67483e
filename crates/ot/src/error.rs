//! What can go wrong.

use std::fmt;

use cenote_net::Step;

/// A check of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The receiver of the extension used different choices in different columns (Roy 2022).
    Consistency,
    /// A message that no honest peer sends, such as bytes that are no point of the group.
    Form,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Consistency => "OT consistency",
            Check::Form => "message form",
        })
    }
}

/// A failed transfer. The set-up that it happened in fails all later calls in the same way.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The peer cheated.
    #[error("the OT check \"{check}\" failed in step \"{step}\": {detail}")]
    Cheated {
        /// The check that failed.
        check: Check,
        /// Where.
        step: Step,
        /// What was seen, without secrets.
        detail: String,
    },
    /// The channel failed.
    #[error(transparent)]
    Net(#[from] cenote_net::Error),
}

/// Result of a transfer.
pub type Result<T> = std::result::Result<T, Error>;

/// The error of a failed check; called where the check is made only.
pub(crate) fn cheated<T>(check: Check, step: Step, detail: impl Into<String>) -> Result<T> {
    Err(Error::Cheated {
        check,
        step,
        detail: detail.into(),
    })
}
