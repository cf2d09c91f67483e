//! The operator's own token: who can read the service's folder may do everything with the service, so a token for that lies there.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

use zeroize::Zeroizing;

/// The file in the service's folder, for its owner only, with a token that may do everything.
pub const OPERATOR_TOKEN: &str = "operator.token";

/// Longer files are not read.
const LONGEST: u64 = 256;

/// Reads the operator's token in a service's `folder`.
///
/// # Errors
/// What the system says.
pub fn read_operator_token(folder: &Path) -> std::io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize));
    let file = OpenOptions::new().read(true).open(folder.join(OPERATOR_TOKEN))?;
    file.take(LONGEST).read_to_string(&mut text)?;
    let length = text.trim_end().len();
    text.truncate(length);
    Ok(text)
}
