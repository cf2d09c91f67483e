//! Which key a TLS peer must show: a pinned one, proved by its signature over the handshake.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::{Fingerprint, PartyId};

/// Accepts the peers whose keys are pinned, and remembers which key was shown.
#[derive(Debug)]
pub(crate) struct Pins {
    allowed: Vec<(PartyId, Fingerprint)>,
    shown: Mutex<Option<Fingerprint>>,
    provider: Arc<CryptoProvider>,
}

impl Pins {
    pub(crate) fn new(allowed: Vec<(PartyId, Fingerprint)>, provider: Arc<CryptoProvider>) -> Arc<Self> {
        Arc::new(Self {
            allowed,
            shown: Mutex::default(),
            provider,
        })
    }

    /// The key that the peer showed, if it has shown one.
    pub(crate) fn shown(&self) -> Option<Fingerprint> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The party whose key was shown.
    pub(crate) fn party(&self) -> Option<PartyId> {
        let shown = self.shown()?;
        self.allowed
            .iter()
            .find(|(_, pinned)| *pinned == shown)
            .map(|(party, _)| *party)
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = Fingerprint::of(certificate).ok_or(CertificateError::BadEncoding)?;
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
        match self.party() {
            Some(_) => Ok(()),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

/// The methods on signatures that both traits have: those of TLS 1.3 are checked, TLS 1.2 is refused.
macro_rules! signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _certificate: &CertificateDer<'_>,
            _signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("only TLS 1.3 is spoken here".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(
                message,
                certificate,
                signature,
                &self.provider.signature_verification_algorithms,
            )
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.provider
                .signature_verification_algorithms
                .supported_schemes()
        }
    };
}

impl ServerCertVerifier for Pins {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    signatures!();
}

impl ClientCertVerifier for Pins {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    signatures!();
}
