//! Items: what was made by one offline run, with whom, under keys of its own.

use std::collections::BTreeMap;
use std::fmt;

use cenote_net::{Fingerprint, PartyId};
use zeroize::Zeroizing;

/// The version of an item's file.
const VERSION: u8 = 2;

/// The name of an item: a hash of what all its parties contributed to it, so that none of them can make one twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub [u8; 32]);

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ItemId({self})")
    }
}

impl ItemId {
    /// The item of the folder called `name`, if it is one's.
    pub(crate) fn of_folder(name: &str) -> Option<Self> {
        let mut id = [0; 32];
        hex::decode_to_slice(name, &mut id).ok()?;
        // One name for each item.
        (Self(id).to_string() == name).then_some(Self(id))
    }
}

/// The keys of peers, as far as they are known: of channels without TLS they are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers(BTreeMap<PartyId, Fingerprint>);

impl Peers {
    /// Whether no party has one key here and another there.
    pub fn may_be(&self, other: &Peers) -> bool {
        let differs =
            |(party, key): (&PartyId, &Fingerprint)| other.0.get(party).is_some_and(|other| other != key);
        !self.0.iter().any(differs)
    }
}

impl FromIterator<(PartyId, Fingerprint)> for Peers {
    fn from_iter<I: IntoIterator<Item = (PartyId, Fingerprint)>>(peers: I) -> Self {
        Self(peers.into_iter().collect())
    }
}

/// What a protocol keeps of an item besides its material: secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys(pub Zeroizing<Vec<u8>>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

/// What an item is, as its file tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub id: ItemId,
    /// The protocol that made it.
    pub protocol: String,
    /// The party whose part of it this is.
    pub party: PartyId,
    /// What that party did, and sessions will have it do; empty if all do the same.
    pub role: String,
    /// The parameters that sessions must have to use it.
    pub settings: String,
    /// When it was made, in milliseconds since 1970.
    pub made: u64,
    /// With whom.
    pub peers: Peers,
    /// What is needed to use the material.
    pub keys: Keys,
}

impl Item {
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let texts = [&self.protocol, &self.role, &self.settings];
        let mut bytes = Zeroizing::new(Vec::with_capacity(
            64 + texts.iter().map(|text| text.len()).sum::<usize>()
                + 80 * self.peers.0.len()
                + self.keys.0.len(),
        ));
        bytes.extend_from_slice(&[VERSION, self.party.0]);
        bytes.extend_from_slice(&self.made.to_le_bytes());
        let mut put = |part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
            bytes.extend_from_slice(part);
        };
        texts.iter().for_each(|text| put(text.as_bytes()));
        put(&self.keys.0);
        for (party, key) in &self.peers.0 {
            put(&[party.0]);
            put(key.to_string().as_bytes());
        }
        bytes
    }

    /// The inverse of [`Item::encode`].
    pub(crate) fn decode(id: ItemId, bytes: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "is too short";
        const GARBLED: &str = "is garbled";
        fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], &'static str> {
            let (part, later) = rest.split_at_checked(length).ok_or(SHORT)?;
            *rest = later;
            Ok(part)
        }
        fn number(rest: &mut &[u8], length: usize) -> Result<u64, &'static str> {
            let bytes = take(rest, length)?.iter().rev();
            Ok(bytes.fold(0, |number, &byte| number << 8 | u64::from(byte)))
        }
        fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], &'static str> {
            let length = number(rest, 4)? as usize;
            take(rest, length)
        }
        fn text(rest: &mut &[u8]) -> Result<String, &'static str> {
            Ok(std::str::from_utf8(part(rest)?).map_err(|_| GARBLED)?.to_owned())
        }
        let mut rest = bytes;
        if number(&mut rest, 1)? != u64::from(VERSION) {
            return Err("is of another version");
        }
        let party = PartyId(number(&mut rest, 1)? as u8);
        let made = number(&mut rest, 8)?;
        let [protocol, role, settings] = [text(&mut rest)?, text(&mut rest)?, text(&mut rest)?];
        let keys = Keys(Zeroizing::new(part(&mut rest)?.to_vec()));
        let mut peers = BTreeMap::new();
        while !rest.is_empty() {
            let &[peer] = part(&mut rest)? else {
                return Err(GARBLED);
            };
            peers.insert(PartyId(peer), text(&mut rest)?.parse().map_err(|_| GARBLED)?);
        }
        Ok(Self {
            id,
            protocol,
            party,
            role,
            settings,
            made,
            peers: Peers(peers),
            keys,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digit: &str) -> Fingerprint {
        digit.repeat(64).parse().unwrap()
    }

    #[test]
    fn descriptions_are_read_strictly() {
        let item = Item {
            id: ItemId([1; 32]),
            protocol: "some".into(),
            party: PartyId(2),
            role: "garbler".into(),
            settings: "these".into(),
            made: 999,
            peers: [(PartyId(0), key("a")), (PartyId(1), key("b"))]
                .into_iter()
                .collect(),
            keys: Keys(Zeroizing::new(vec![7; 40])),
        };
        let bytes = item.encode();
        assert_eq!(Item::decode(item.id, &bytes).unwrap(), item);
        assert!(!format!("{item:?}").contains('7'), "{item:?}");
        let without_peers = bytes.len() - 2 * (4 + 1 + 4 + 64);
        for cut in 0..bytes.len() {
            let whole = cut >= without_peers && (cut - without_peers).is_multiple_of(73);
            assert_eq!(Item::decode(item.id, &bytes[..cut]).is_ok(), whole, "{cut}");
        }
        for (at, value, why) in [
            (0, 1, "is of another version"),
            (10, 0xff, "is too short"),
            (14, 0xff, "is garbled"),
            (without_peers, 2, "is garbled"),
        ] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            assert_eq!(Item::decode(item.id, &bytes), Err(why), "byte {at}");
        }
    }

    #[test]
    fn names_are_read_strictly() {
        let id = ItemId([0xab; 32]);
        assert_eq!(ItemId::of_folder(&id.to_string()), Some(id));
        for name in [
            id.to_string().to_uppercase(),
            id.to_string()[1..].to_owned(),
            "é".repeat(32),
            format!("+{}", &id.to_string()[1..]),
        ] {
            assert_eq!(ItemId::of_folder(&name), None, "{name}");
        }
    }

    #[test]
    fn peers_differ_where_both_keys_are_known() {
        let peers = |list: &[(u8, &str)]| {
            list.iter()
                .map(|(party, digit)| (PartyId(*party), key(digit)))
                .collect::<Peers>()
        };
        let both = peers(&[(0, "a"), (1, "b")]);
        for same in [Peers::default(), peers(&[(1, "b")]), both.clone()] {
            assert!(both.may_be(&same) && same.may_be(&both));
        }
        for other in [peers(&[(1, "a")]), peers(&[(0, "a"), (1, "c")])] {
            assert!(!both.may_be(&other) && !other.may_be(&both));
        }
    }
}
