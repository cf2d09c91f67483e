//! Objects of which no key comes twice. Which of two values another reader would take is anybody's guess.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Reads an object, and refuses one that has a key twice, without quoting it.
pub(crate) fn keys<'de, D, T>(from: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Keys<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Keys<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut read = BTreeMap::new();
            while let Some((key, value)) = map.next_entry()? {
                if read.insert(key, value).is_some() {
                    return Err(A::Error::custom("duplicate field: an object names a key twice"));
                }
            }
            Ok(read)
        }
    }

    from.deserialize_map(Keys(PhantomData))
}
