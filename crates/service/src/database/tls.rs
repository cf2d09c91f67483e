//! TLS to a PostgreSQL server: whom it trusts, and what its failures mean. Nothing here can leave a certificate unchecked.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;
use zeroize::Zeroizing;

use crate::{Error, Result};

/// Bytes of a file of certificates, at most: those of all public CAs take a quarter of this.
const MOST: u64 = 1 << 20;
/// Names of a certificate that an error lists, at most.
const NAMES: usize = 8;

/// How connections are encrypted.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) roots: Roots,
    pub(super) client: Option<ClientFiles>,
}

/// Who signs the server's certificate.
#[derive(Clone)]
pub(super) enum Roots {
    /// A CA that the system trusts.
    System,
    /// A CA whose certificate is in this file.
    File(PathBuf),
}

/// What a client shows to a server that asks who it is.
#[derive(Clone)]
pub(super) struct ClientFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Tls {
    /// For a connection. The files are read each time, so that renewed ones serve the next connection.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| Error::Database(format!("no TLS: {error}")))?
            .with_root_certificates(self.roots.read()?);
        let mut config = match &self.client {
            None => config.with_no_client_auth(),
            Some(files) => config
                .with_client_auth_cert(certificates(&files.certificate)?, private_key(&files.key)?)
                .map_err(|error| {
                    let reason = format!("it does not go with the key in {}: {error}", files.key.display());
                    Error::file(&files.certificate, reason)
                })?,
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(MakeRustlsConnect::new(config))
    }

    /// What a failure to connect means, and what to do, where TLS is its cause.
    pub(super) fn explain(&self, error: &postgres::Error) -> Option<String> {
        let source = std::error::Error::source(error)?;
        if source.to_string() == "server does not support TLS" {
            return Some(
                "it offers no TLS, which sslmode demands; set ssl = on at the server, with a certificate"
                    .into(),
            );
        }
        let source = source.downcast_ref::<std::io::Error>()?.get_ref()?;
        Some(self.meaning(source.downcast_ref()?))
    }

    fn meaning(&self, error: &rustls::Error) -> String {
        match error {
            rustls::Error::InvalidCertificate(error) => format!(
                "{}. It is checked whatever sslmode says, unless that is disable",
                self.distrust(error)
            ),
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
                "it wants a certificate of its client; name one, and its key, as sslcert=/path and sslkey=/path".into()
            }
            rustls::Error::AlertReceived(
                alert @ (AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure),
            ) => {
                format!("it refuses TLS 1.3 ({alert:?}); allow that at the server (ssl_max_protocol_version)")
            }
            rustls::Error::AlertReceived(alert) => match self.client {
                Some(_) => format!(
                    "it ended TLS with the alert {alert:?}; see whether it trusts the CA of the certificate that sslcert names"
                ),
                None => format!("it ended TLS with the alert {alert:?}; its log says why"),
            },
            error => format!("TLS failed: {error}"),
        }
    }

    /// Why the server's certificate is refused.
    fn distrust(&self, error: &CertificateError) -> String {
        match error {
            // The signature is wrong where another CA has the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                let whom = match &self.roots {
                    Roots::System => "no CA that this system trusts".to_owned(),
                    Roots::File(path) => format!("none of the CAs in {}", path.display()),
                };
                format!(
                    "its certificate is signed by {whom}; name the file of its CA's certificate as sslrootcert=/path, and find out whether \
                     something else than the server answers"
                )
            }
            CertificateError::NotValidForNameContext { expected, presented } => {
                let more = match presented.len() {
                    0 => "nothing: it needs a subject alternative name, which its common name does not replace",
                    1..=NAMES => "",
                    _ => ", …",
                };
                let names: Vec<&str> = presented.iter().take(NAMES).map(String::as_str).collect();
                format!(
                    "its certificate is for {}{more}, not for {}; write the name that it has as host, with hostaddr=… where that leads \
                     elsewhere, or give the server a certificate with this name",
                    names.join(", "),
                    expected.to_str()
                )
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired; renew it, or set this machine's clock".into()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet; set this machine's clock".into()
            }
            error if format!("{error:?}").contains("CaUsedAsEndEntity") => {
                "its certificate is a CA's own; have that CA sign one for the server, and name the CA's as sslrootcert=/path".into()
            }
            error => format!("its certificate is refused: {error}; give the server another"),
        }
    }
}

impl Roots {
    fn read(&self) -> Result<RootCertStore> {
        let mut store = RootCertStore::empty();
        match self {
            Roots::File(path) => {
                for certificate in certificates(path)? {
                    store.add(certificate).map_err(|error| {
                        Error::file(path, format!("a certificate in it cannot be a CA's: {error}"))
                    })?;
                }
            }
            Roots::System => {
                // Some of a system's certificates may be of kinds that nobody reads any more.
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if store.is_empty() {
                    return Err(Error::Database(
                        "this system has no certificates of CAs, with which PostgreSQL's could be checked; install them (ca-certificates), or \
                         name the file of the CA's certificate as sslrootcert=/path in the database's address"
                            .into(),
                    ));
                }
            }
        }
        Ok(store)
    }
}

/// The certificates in a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    let text = read(path, file)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| Error::file(path, format!("it does not hold certificates as PEM: {error}")))?;
    match certificates.is_empty() {
        true => Err(Error::file(
            path,
            "there is no certificate in it; it must have one as PEM, -----BEGIN CERTIFICATE-----",
        )),
        false => Ok(certificates),
    }
}

/// The private key in a file that others cannot read. Of root's files, the group may read one, as PostgreSQL's own programs allow.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    let metadata = file.metadata().map_err(|error| Error::file(path, error))?;
    let closed_to = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & closed_to != 0 {
        return Err(Error::file(
            path,
            "others may read or write this private key; chmod 600 makes it its owner's only",
        ));
    }
    // The library's text of what is wrong might quote the key.
    PrivateKeyDer::from_pem_slice(&read(path, file)?).map_err(|_| {
        Error::file(
            path,
            "there is no private key in it; it must have one as PEM, without a password",
        )
    })
}

fn read(path: &Path, file: File) -> Result<Zeroizing<Vec<u8>>> {
    // Room for all of it at once: a buffer that grows leaves copies of a key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST as usize + 1));
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::file(path, error))?;
    match bytes.len() as u64 > MOST {
        true => Err(Error::file(path, "it is too large for certificates or a key")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_a_certificate_says_what_to_do() {
        let system = Tls {
            roots: Roots::System,
            client: None,
        };
        let other = |what: &str| {
            let error = std::io::Error::other(what.to_owned());
            CertificateError::Other(rustls::OtherError(Arc::new(error)))
        };
        for (error, part) in [
            (CertificateError::UnknownIssuer, "no CA that this system trusts"),
            (CertificateError::BadSignature, "no CA that this system trusts"),
            (CertificateError::Expired, "renew it"),
            (CertificateError::NotValidYet, "clock"),
            (other("CaUsedAsEndEntity"), "a CA's own"),
            (CertificateError::BadEncoding, "give the server another"),
        ] {
            let text = system.meaning(&rustls::Error::InvalidCertificate(error));
            assert!(
                text.contains(part) && text.contains("whatever sslmode says"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_systems_cas_are_read() {
        // Where a machine has none, the error says so.
        match Roots::System.read() {
            Ok(store) => assert!(!store.is_empty()),
            Err(error) => assert!(error.to_string().contains("sslrootcert=/path"), "{error}"),
        }
    }
}
