//! Why a service does not come up.

/// Why a service does not come up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What it is told cannot be.
    #[error("{0}")]
    Settings(String),
    /// Its record cannot be opened.
    #[error(transparent)]
    Record(#[from] cenote_service::Error),
    /// Its policy cannot be read.
    #[error(transparent)]
    Policy(#[from] cenote_service::policy::Fault),
    /// Its connections, keys or stock.
    #[error(transparent)]
    Cenote(#[from] cenote::Error),
    /// This machine refuses.
    #[error("{0}")]
    Machine(String),
}
