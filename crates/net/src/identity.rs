//! Who a machine is: a key of its own, known to its peers by the fingerprint of the public part.
//!
//! There is no authority: peers exchange fingerprints over a channel they trust, and accept that key and no other.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{Error, Result};

/// The largest identity file that is read; real ones have about 1 KB.
const MAX_FILE: u64 = 64 << 10;

/// The SHA-256 of a key's DER-encoded SubjectPublicKeyInfo (RFC 5280, section 4.1), written as 64 hexadecimal digits.
///
/// The same as `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | sha256sum` prints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Its bytes.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The fingerprint of the key in a DER-encoded certificate, or `None` if it is no certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let parsed = ParsedCertificate::try_from(certificate).ok()?;
        Some(Self(
            Sha256::digest(parsed.subject_public_key_info().as_ref()).into(),
        ))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text is no [`Fingerprint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 64 hexadecimal digits")]
pub struct BadFingerprint;

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    /// Reads 64 hexadecimal digits of either case; colons between bytes and white space around are allowed.
    fn from_str(text: &str) -> std::result::Result<Self, BadFingerprint> {
        let digits = text.trim().replace(':', "");
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| BadFingerprint)?;
        Ok(Self(bytes))
    }
}

/// A party's private key (ECDSA over P-256) and a self-signed certificate that carries its public part through TLS.
///
/// The certificate says nothing else: its names and dates are not looked at by peers.
pub struct Identity {
    /// Certificate and PKCS #8 key, as in the file.
    pem: Zeroizing<Vec<u8>>,
    certified: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

/// The one cryptography provider of this crate: TLS 1.3 only, AES-128-GCM first, X25519 first.
pub(crate) fn provider() -> CryptoProvider {
    use rustls::crypto::ring::{cipher_suite, default_provider};
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_AES_256_GCM_SHA384,
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ],
        ..default_provider()
    }
}

impl Identity {
    /// A fresh identity.
    ///
    /// # Errors
    ///
    /// [`Error::Local`] if the operating system gives no randomness.
    pub fn generate() -> Result<Self> {
        let failed = |error: rcgen::Error| local("generating an identity", error);
        let pair = rcgen::KeyPair::generate().map_err(failed)?;
        let params = rcgen::CertificateParams::new(vec!["cenote".into()]).map_err(failed)?;
        let certificate = params.self_signed(&pair).map_err(failed)?.pem();
        let key = Zeroizing::new(pair.serialize_pem());
        let mut pem = Zeroizing::new(Vec::with_capacity(certificate.len() + key.len()));
        pem.extend_from_slice(certificate.as_bytes());
        pem.extend_from_slice(key.as_bytes());
        Self::from_pem(pem, "generating an identity")
    }

    fn from_pem(pem: Zeroizing<Vec<u8>>, what: &str) -> Result<Self> {
        let certificate = CertificateDer::from_pem_slice(&pem)
            .map_err(|error| local(what, format!("no certificate in it ({error})")))?;
        let key = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|error| local(what, format!("no private key in it ({error})")))?;
        let fingerprint = Fingerprint::of(&certificate).ok_or_else(|| local(what, "not a certificate"))?;
        let certified = CertifiedKey::from_der(vec![certificate], key, &provider())
            .map_err(|error| local(what, error))?;
        Ok(Self {
            pem,
            certified: Arc::new(certified),
            fingerprint,
        })
    }

    /// What peers know this party by.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// A key that only who has the private key knows: another for each `purpose`.
    pub fn derived(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut hash = Sha256::new_with_prefix("cenote key derived from an identity");
        hash.update((purpose.len() as u64).to_le_bytes());
        hash.update(purpose);
        hash.update(&*self.pem);
        Zeroizing::new(hash.finalize().into())
    }

    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        self.certified.clone()
    }

    /// Writes the identity to a new file at `path`, for its owner only (mode 0600 on Unix).
    ///
    /// # Errors
    ///
    /// [`Error::Local`] if the file exists already, since overwriting a key loses the identity its peers know, or
    /// cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let what = format!("saving the identity to {}", path.display());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(|error| local(&what, error))?;
        file.write_all(&self.pem)
            .and_then(|()| file.sync_all())
            .map_err(|error| local(&what, error))
    }

    /// Reads an identity that [`Identity::save`] wrote.
    ///
    /// # Errors
    ///
    /// [`Error::Local`] if the file cannot be read, is no regular file or no identity, or (on Unix) belongs to another
    /// user than this process or can be read by others.
    pub fn load(path: &Path) -> Result<Self> {
        let what = format!("loading the identity from {}", path.display());
        let failed = |error: std::io::Error| local(&what, error);
        let regular = |metadata: Metadata| {
            if metadata.is_file() {
                Ok(metadata)
            } else {
                Err(local(&what, "it is not a regular file"))
            }
        };
        // Before it is opened: opening a pipe would wait for its other end.
        regular(std::fs::metadata(path).map_err(failed)?)?;
        let file = File::open(path).map_err(failed)?;
        let metadata = regular(file.metadata().map_err(failed)?)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let me = rustix::process::geteuid().as_raw();
            check_owner(metadata.uid(), metadata.mode() & 0o777, me)
                .map_err(|reason| local(&what, reason))?;
        }
        #[cfg(not(unix))]
        drop(metadata);
        let mut pem = Zeroizing::new(Vec::with_capacity(MAX_FILE as usize));
        file.take(MAX_FILE)
            .read_to_end(&mut pem)
            .map_err(|error| local(&what, error))?;
        Self::from_pem(pem, &what)
    }
}

/// Refuses a private key that others than the user `me` may know, or may have put there.
#[cfg(unix)]
fn check_owner(owner: u32, mode: u32, me: u32) -> std::result::Result<(), String> {
    if owner != me {
        return Err(format!(
            "it belongs to another user (number {owner}, not {me}), who knows this private key: make one of your own"
        ));
    }
    if mode & 0o077 != 0 {
        return Err(format!(
            "others may read this private key (mode {mode:03o}): chmod 600 it"
        ));
    }
    Ok(())
}

fn local(what: &str, reason: impl fmt::Display) -> Error {
    Error::Local {
        what: what.into(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saves_for_the_owner_only_and_loads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.pem");
        let identity = Identity::generate().unwrap();
        identity.save(&path).unwrap();
        let loaded = Identity::load(&path).unwrap();
        assert_eq!(loaded.fingerprint(), identity.fingerprint());
        assert_eq!(loaded.pem, identity.pem);
        assert!(
            matches!(identity.save(&path), Err(Error::Local { .. })),
            "a key must not be overwritten"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            let error = Identity::load(&path).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn refuses_a_key_of_another_user() {
        let (alice, bob) = (1000, 1001);
        assert_eq!(check_owner(alice, 0o600, alice), Ok(()));
        for (owner, mode, me) in [(alice, 0o600, bob), (alice, 0o600, 0), (0, 0o600, alice)] {
            let reason = check_owner(owner, mode, me).unwrap_err();
            assert!(reason.contains("belongs to another user"), "{reason}");
        }
        assert!(
            check_owner(alice, 0o604, alice)
                .unwrap_err()
                .contains("chmod 600")
        );

        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can give a file away");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.pem");
        Identity::generate().unwrap().save(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(alice), None).unwrap();
        let error = Identity::load(&path).unwrap_err().to_string();
        assert!(
            error.contains("belongs to another user (number 1000, not 0)"),
            "{error}"
        );
    }

    /// A pipe without a writer must not be waited for.
    #[cfg(unix)]
    #[test]
    fn refuses_what_is_no_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [pipe, folder.path().to_owned()] {
            let (sender, loaded) = std::sync::mpsc::channel();
            let thread = path.clone();
            std::thread::spawn(move || sender.send(Identity::load(&thread)));
            let loaded = loaded.recv_timeout(std::time::Duration::from_secs(5));
            let error = loaded.expect("it waits for a writer").unwrap_err().to_string();
            assert!(error.contains("it is not a regular file"), "{error}");
        }
    }

    #[test]
    fn refuses_what_is_no_identity() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        assert!(matches!(Identity::load(&one), Err(Error::Local { .. })));
        Identity::generate().unwrap().save(&one).unwrap();
        Identity::generate().unwrap().save(&two).unwrap();
        let text = |path| std::fs::read_to_string(path).unwrap();
        let (first, second) = (text(&one), text(&two));
        let split = "-----BEGIN PRIVATE KEY-----";
        let mixed = format!(
            "{}{split}{}",
            first.split(split).next().unwrap(),
            second.split(split).nth(1).unwrap()
        );
        for bad in ["", "garbage", first.split(split).next().unwrap(), &mixed] {
            std::fs::write(&one, bad).unwrap();
            assert!(matches!(Identity::load(&one), Err(Error::Local { .. })), "{bad}");
        }
    }

    #[test]
    fn fingerprints_read_back_and_hash_the_public_key() {
        let pair = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&pair).unwrap();
        let fingerprint = Fingerprint::of(certificate.der()).unwrap();
        let public = rcgen::PublicKeyData::subject_public_key_info(&pair);
        assert_eq!(fingerprint.0, <[u8; 32]>::from(Sha256::digest(public)));

        let text = fingerprint.to_string();
        assert_eq!(text.parse(), Ok(fingerprint));
        let colons: Vec<_> = text
            .to_uppercase()
            .as_bytes()
            .chunks(2)
            .map(|b| String::from_utf8_lossy(b).into_owned())
            .collect();
        assert_eq!(format!(" {}\n", colons.join(":")).parse(), Ok(fingerprint));
        for bad in [
            "",
            &text[1..],
            &format!("{text}00"),
            &text.replace(&text[..1], "x"),
        ] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(BadFingerprint));
        }
    }

    #[test]
    fn debug_shows_no_key() {
        let identity = Identity::generate().unwrap();
        assert_eq!(
            format!("{identity:?}"),
            format!("Identity({})", identity.fingerprint())
        );
    }
}
