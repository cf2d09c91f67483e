//! What went wrong with TLS, in words for people.

use rustls::{AlertDescription, Error, PeerMisbehaved};

use crate::{Fault, Fingerprint};

/// Why a peer that sends too many records without data is refused.
pub(super) const NOTHING: &str = "too many TLS records that carry nothing";

/// Why a step failed.
pub(super) enum TurnFault {
    Link(Fault),
    Tls(rustls::Error),
}

impl From<TurnFault> for Fault {
    fn from(fault: TurnFault) -> Self {
        match fault {
            TurnFault::Link(fault) => fault,
            TurnFault::Tls(error) => of_open(error),
        }
    }
}

/// What to say of [`HandshakeFault::Refused`].
pub(crate) const REFUSED: &str =
    "it refused this party's key: the fingerprint pinned for this party there is another";

/// Why no TLS connection came about.
#[derive(Debug)]
pub(crate) enum HandshakeFault {
    Timeout,
    Fault(Fault),
    /// The peer showed a key that is not pinned.
    Identity(Fingerprint),
    /// The peer refused this party's key.
    Refused,
    /// The peer speaks no TLS, or none that fits: what it did, in words.
    Protocol(String),
}

impl From<Fault> for HandshakeFault {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for HandshakeFault {
    fn from(error: Error) -> Self {
        match error {
            Error::AlertReceived(alert) if is_refusal(alert) => Self::Refused,
            error => Self::Protocol(words(&error)),
        }
    }
}

/// What an error of an open connection means.
fn of_open(error: Error) -> Fault {
    match error {
        Error::PeerMisbehaved(
            PeerMisbehaved::TooManyEmptyFragments
            | PeerMisbehaved::TooManyKeyUpdateRequests
            | PeerMisbehaved::TooManyWarningAlertsReceived,
        ) => Fault::Violation(NOTHING.into()),
        Error::AlertReceived(alert) if is_refusal(alert) => Fault::Lost(REFUSED.into()),
        error => Fault::Lost(format!("TLS: {}", words(&error))),
    }
}

fn is_refusal(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate
    )
}

/// What the peer did, as the end of a sentence.
fn words(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) => "what it sent is not TLS".into(),
        Error::PeerIncompatible(_) => "it does not speak TLS 1.3 as parties do".into(),
        Error::NoApplicationProtocol => "it speaks TLS for another purpose".into(),
        Error::NoCertificatesPresented => "it showed no key".into(),
        Error::InvalidCertificate(_) => "it did not prove that the key it showed is its own".into(),
        Error::DecryptError => "what came does not decrypt: something changed it on the way".into(),
        Error::AlertReceived(alert) => format!("it ended TLS with the alert \"{}\"", spaced(*alert)),
        Error::PeerMisbehaved(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => "it sent what TLS does not allow there".into(),
        other => other.to_string(),
    }
}

/// An alert's name in lower-case words.
fn spaced(alert: AlertDescription) -> String {
    let mut name = String::new();
    for letter in format!("{alert:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push(' ');
        }
        name.extend(letter.to_lowercase());
    }
    name
}
