//! Settings as jobs state them.

/// A setting as a job states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting<'a> {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(&'a str),
    /// Anything else.
    Other,
}

impl Setting<'_> {
    /// The number, if it is one in `range`; `what` if not.
    ///
    /// # Errors
    /// `what`.
    pub fn number<T: TryFrom<i64> + PartialOrd>(
        self,
        range: std::ops::RangeInclusive<T>,
        what: &str,
    ) -> std::result::Result<T, String> {
        match self {
            Setting::Number(number) => T::try_from(number).ok().filter(|number| range.contains(number)),
            _ => None,
        }
        .ok_or_else(|| what.to_owned())
    }

    /// What the text is the name of; `what` if it is no text or names nothing.
    ///
    /// # Errors
    /// `what`.
    pub fn named<T>(
        self,
        find: impl FnOnce(&str) -> Option<T>,
        what: &str,
    ) -> std::result::Result<T, String> {
        match self {
            Setting::Text(text) => find(text),
            _ => None,
        }
        .ok_or_else(|| what.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_within_their_range() {
        let small = |setting: Setting<'_>| setting.number(1u8..=64, "1 to 64");
        assert_eq!(small(Setting::Number(64)), Ok(64));
        for wrong in [
            Setting::Number(0),
            Setting::Number(65),
            Setting::Number(257),
            Setting::Number(-1),
            Setting::Text("1"),
            Setting::Other,
        ] {
            assert_eq!(small(wrong), Err("1 to 64".into()), "{wrong:?}");
        }
        let yes = |setting: Setting<'_>| setting.named(|text| (text == "yes").then_some(()), "yes");
        assert_eq!(yes(Setting::Text("yes")), Ok(()));
        for wrong in [Setting::Text("no"), Setting::Number(1)] {
            assert_eq!(yes(wrong), Err("yes".into()), "{wrong:?}");
        }
    }
}
