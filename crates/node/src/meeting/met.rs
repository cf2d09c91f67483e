//! How a meeting ends, at all parties alike.

use super::code::{Nonce, code, commitment, equal};
use super::words::{AllShown, Told, bytes, lost};
use crate::Error;
use crate::founding::{Member, check_name};

/// What became of a meeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// The party file.
    pub file: std::path::PathBuf,
    /// The names of all parties, in order.
    pub names: Vec<String>,
    /// What all parties read aloud to each other.
    pub code: String,
}

/// Checks all nonces against their commitments, and gives the parties and the code.
pub(super) fn conclude(all: &[Told], shown: &AllShown) -> Result<(Vec<Member>, String), Error> {
    if all.len() != shown.nonces.len() {
        return Err(lost("it says what is not understood"));
    }
    let mut parties: Vec<(Member, Nonce)> = Vec::new();
    for (told, text) in all.iter().zip(&shown.nonces) {
        let fingerprint = told
            .fingerprint
            .parse()
            .map_err(|_| lost("it says what is not understood"))?;
        let nonce = bytes(text)?;
        if !equal(&commitment(&fingerprint, &nonce), &bytes::<32>(&told.commitment)?) {
            return Err(Error::Settings(format!(
                "{} shows another number than it has committed itself to: somebody stands between you; begin anew",
                told.name.escape_debug()
            )));
        }
        check_name(&told.name)?;
        let member = Member {
            name: told.name.clone(),
            address: told.address.clone(),
            fingerprint,
        };
        parties.push((member, nonce));
    }
    let code = code(&parties);
    Ok((parties.into_iter().map(|(member, _)| member).collect(), code))
}
