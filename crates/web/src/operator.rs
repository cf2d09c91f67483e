//! Keeps the operator's own token in the service's folder.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cenote_api::{OPERATOR_TOKEN, read_operator_token};
use cenote_service::audit::Actor;
use cenote_service::token::{Scope, TokenKind};
use cenote_service::{Error, Result, Timestamp, Tokens};
use zeroize::Zeroizing;

const NAME: &str = "operator";

/// Makes the operator's token where there is none that is valid.
pub(crate) fn keep(folder: &Path, tokens: &Tokens) -> Result<()> {
    let fault = |error: std::io::Error| Error::File {
        path: folder.join(OPERATOR_TOKEN),
        reason: error.to_string(),
    };
    match read_operator_token(folder) {
        Ok(text) => match tokens.authenticate(TokenKind::Bearer, &text, Timestamp::now()) {
            Ok(_) => return Ok(()),
            Err(Error::Token) => {}
            Err(error) => return Err(error),
        },
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {}
        Err(error) => return Err(fault(error)),
    }
    let scopes = Scope::ALL.into_iter().collect();
    let secret = tokens.create(NAME, &scopes, None, Actor::Service, Timestamp::now())?;
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
        .and_then(|()| std::fs::rename(&part, folder.join(OPERATOR_TOKEN)))
        .map_err(fault)
}

/// A login token that was made with the operator's token, and ends with it.
pub(crate) fn login(folder: &Path, tokens: &Tokens) -> Result<Zeroizing<String>> {
    let now = Timestamp::now();
    let text = read_operator_token(folder).map_err(|_| Error::Token)?;
    let operator = tokens.authenticate(TokenKind::Bearer, &text, now)?;
    let secret = tokens.create_login_of(&operator, now)?;
    Ok(Zeroizing::new(secret.reveal().to_owned()))
}
