//! The handshake above a connection: before they start, peers compare what they are about to do.

use crate::sized::{recv_sized, send_sized};
use crate::step::AGREE;
use crate::{Channel, Error, PartyId, Result};

/// The most fields.
const MAX_FIELDS: usize = 64;
/// The longest name of a field, in bytes.
const MAX_NAME: usize = 64;
/// The longest value of a field, in bytes.
const MAX_VALUE: usize = 4 << 10;
/// The longest encoding: per field two lengths, the name and the value.
const MAX_BYTES: usize = MAX_FIELDS * (4 + MAX_NAME + MAX_VALUE);
/// How many characters of a value an error shows.
const SHOWN: usize = 80;

/// Compares named values with the peer, which does the same: protocol version, session, parameters, digest of the
/// program, and whatever else must be equal.
///
/// At most 64 fields with distinct names of at most 64 bytes and values of at most 4 KiB. The order does not matter.
///
/// # Errors
///
/// [`Error::Mismatch`] at both ends if a value differs or only one of them has the field. [`Error::Local`] if the
/// fields exceed the bounds.
pub fn agree(channel: &mut dyn Channel, fields: &[(String, String)]) -> Result<()> {
    let peer = channel.peer();
    let ours = encode(fields)?;
    send_sized(channel, [AGREE; 2], &ours)?;
    let bytes = recv_sized(channel, [AGREE; 2], MAX_BYTES)?;
    let theirs = decode(&bytes).ok_or_else(|| Error::Violation {
        peer,
        step: AGREE,
        what: "malformed fields".into(),
    })?;
    compare(peer, fields, &theirs)
}

fn encode(fields: &[(String, String)]) -> Result<Vec<u8>> {
    let bad = |reason: String| {
        Err(Error::Local {
            what: "comparing with the peer".into(),
            reason,
        })
    };
    if fields.len() > MAX_FIELDS {
        return bad(format!("{} fields, more than {MAX_FIELDS}", fields.len()));
    }
    let mut bytes = Vec::new();
    for (position, (name, value)) in fields.iter().enumerate() {
        if name.len() > MAX_NAME || value.len() > MAX_VALUE {
            return bad(format!("field \"{}\" is too long", excerpt(name, "")));
        }
        if fields[..position].iter().any(|(other, _)| other == name) {
            return bad(format!("field \"{name}\" is there twice"));
        }
        for text in [name, value] {
            bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    Ok(bytes)
}

/// The inverse of [`encode`]: `None` for bytes that `encode` cannot have written.
fn decode(bytes: &[u8]) -> Option<Vec<(&str, &str)>> {
    fn text<'a>(bytes: &mut &'a [u8], limit: usize) -> Option<&'a str> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (text, rest) = rest.split_at_checked(length)?;
        *bytes = rest;
        (length <= limit).then(|| std::str::from_utf8(text).ok())?
    }
    let mut bytes = bytes;
    let mut fields: Vec<(&str, &str)> = Vec::new();
    while !bytes.is_empty() {
        let name = text(&mut bytes, MAX_NAME)?;
        let value = text(&mut bytes, MAX_VALUE)?;
        if fields.len() == MAX_FIELDS || fields.iter().any(|(other, _)| *other == name) {
            return None;
        }
        fields.push((name, value));
    }
    Some(fields)
}

fn compare(peer: PartyId, ours: &[(String, String)], theirs: &[(&str, &str)]) -> Result<()> {
    let missing = || "(missing)".to_owned();
    for (name, value) in ours {
        let other = theirs
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| *value);
        if other != Some(value.as_str()) {
            return Err(Error::Mismatch {
                peer,
                field: name.clone(),
                ours: excerpt(value, other.unwrap_or_default()),
                theirs: other.map_or_else(missing, |other| excerpt(other, value)),
            });
        }
    }
    match theirs
        .iter()
        .find(|(name, _)| ours.iter().all(|(other, _)| other != name))
    {
        None => Ok(()),
        Some((name, value)) => Err(Error::Mismatch {
            peer,
            field: excerpt(name, ""),
            ours: missing(),
            theirs: excerpt(value, ""),
        }),
    }
}

/// A printable excerpt of `text`, which a peer may have written: of a long text the part around its first difference
/// from `other`.
fn excerpt(text: &str, other: &str) -> String {
    let length = text.chars().count();
    let same = text
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let from = if length > SHOWN {
        same.saturating_sub(SHOWN / 4)
    } else {
        0
    };
    let mut out = String::new();
    out.push_str(if from > 0 { "…" } else { "" });
    for character in text.chars().skip(from).take(SHOWN) {
        match character {
            ' '..='~' => out.push(character),
            _ => out.extend(character.escape_unicode()),
        }
    }
    out.push_str(if from + SHOWN < length { "…" } else { "" });
    if length > SHOWN {
        out.push_str(&format!(" ({} bytes)", text.len()));
    }
    if out.is_empty() { "(empty)".into() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_printable_and_show_the_difference() {
        assert_eq!(excerpt("two\nlines\u{1b}[0m", ""), "two\\u{a}lines\\u{1b}[0m");
        let (a, b) = (
            "x".repeat(3000) + "a" + &"y".repeat(900),
            "x".repeat(3000) + "b" + &"y".repeat(900),
        );
        let shown = excerpt(&a, &b);
        assert!(
            shown.starts_with("…xxx") && shown.contains("xay") && shown.ends_with("… (3901 bytes)"),
            "{shown}"
        );
        assert!(shown.len() < 130);
    }

    #[test]
    fn only_what_encode_writes_is_read() {
        let fields = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())];
        let bytes = encode(&fields).unwrap();
        assert_eq!(decode(&bytes), Some(vec![("a", "1"), ("b", "")]));
        for cut in [1, 2, 3, bytes.len() - 1] {
            assert_eq!(decode(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(decode(&[bytes.as_slice(), &bytes].concat()), None, "names twice");
        assert_eq!(decode(&[1, 0, 0xFF, 0, 0]), None, "not UTF-8");
        assert_eq!(
            decode(
                &[65, 0]
                    .into_iter()
                    .chain([b'a'; 65])
                    .chain([0, 0])
                    .collect::<Vec<_>>()
            ),
            None,
            "long name"
        );
        let many: Vec<_> = (0..65).map(|i| (format!("{i}"), String::new())).collect();
        assert!(matches!(encode(&many), Err(Error::Local { .. })));
        assert!(matches!(
            encode(&[("a".to_owned(), "x".repeat(MAX_VALUE + 1))]),
            Err(Error::Local { .. })
        ));
    }
}
