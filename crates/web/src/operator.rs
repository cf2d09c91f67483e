//! Keeps the operator's own token in the service's folder.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use cenote_api::{OPERATOR_TOKEN, read_operator_token};
use cenote_service::audit::Actor;
use cenote_service::token::{Scope, TokenKind};
use cenote_service::{Error, Result, Timestamp, Tokens};
use zeroize::Zeroizing;

const NAME: &str = "operator";

/// Makes the operator's token where there is none that is valid, or others could read it. One token at a time is the operator's.
pub(crate) fn keep(folder: &Path, tokens: &Tokens) -> Result<()> {
    let path = folder.join(OPERATOR_TOKEN);
    let fault = |error: std::io::Error| Error::of_file(&path, &error);
    match read_operator_token(folder) {
        Ok(text) => match tokens.authenticate(TokenKind::Bearer, &text, Timestamp::now()) {
            Ok(_) => match mode_for_others(&path).map_err(fault)? {
                0 => return Ok(()),
                mode => tracing::warn!(
                    target: "cenote_web",
                    path = %path.display(),
                    mode = format!("{mode:03o}"),
                    "others could read the operator's token, or change it: it is revoked, and there is a new one"
                ),
            },
            Err(Error::Token) => {}
            Err(error) => return Err(error),
        },
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {}
        Err(error) => return Err(fault(error)),
    }
    let scopes = Scope::ALL.into_iter().collect();
    let secret = tokens.replace(NAME, &scopes, Actor::Service, Timestamp::now())?;
    // It has its name only when it is whole.
    let part = folder.join("operator.token.part");
    // One that was left over may have other rights.
    let _ = std::fs::remove_file(&part);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)
        .map_err(fault)?;
    file.write_all(secret.reveal().as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&part, &path))
        .map_err(fault)
}

/// What others than its owner may do with a file.
fn mode_for_others(path: &Path) -> std::io::Result<u32> {
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077)
}

/// A login token that was made with the operator's token, and ends with it.
pub(crate) fn login(folder: &Path, tokens: &Tokens) -> Result<Zeroizing<String>> {
    let now = Timestamp::now();
    let text = read_operator_token(folder).map_err(|_| Error::Token)?;
    let operator = tokens.authenticate(TokenKind::Bearer, &text, now)?;
    let secret = tokens.create_login_of(&operator, now)?;
    Ok(Zeroizing::new(secret.reveal().to_owned()))
}

#[cfg(test)]
mod tests {
    use cenote_service::{Address, Database};

    use super::*;

    #[test]
    fn a_token_that_others_could_read_is_revoked() {
        let place = tempfile::tempdir().expect("a folder");
        let database = Database::open(place.path(), &Address::Embedded).expect("opens");
        let tokens = Tokens::new(database);
        let file = place.path().join(OPERATOR_TOKEN);
        let kept = || {
            keep(place.path(), &tokens).expect("kept");
            read_operator_token(place.path()).expect("there").to_string()
        };
        let enters = |text: &str| {
            tokens
                .authenticate(TokenKind::Bearer, text, Timestamp::now())
                .is_ok()
        };
        let first = kept();
        assert!(kept() == first && enters(&first));
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("set");
        let second = kept();
        assert!(second != first && enters(&second) && !enters(&first));
        assert_eq!(mode_for_others(&file).expect("there"), 0);
        // A file that is lost leaves no valid token behind.
        std::fs::remove_file(&file).expect("removed");
        let third = kept();
        assert!(enters(&third) && !enters(&second));
    }
}
