//! Words that somebody else wrote, as they are shown to people.

/// Whether a character would steer a screen, or the lines or the direction of what is written beside it.
pub fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

/// At most so many characters of a text, without those that [steer](steers).
pub fn plain(text: &str, most: usize) -> String {
    text.chars()
        .filter(|character| !steers(*character))
        .take(most)
        .collect()
}

/// The text, with a mark in place of each character that [steers].
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|character| match steers(character) {
            true => char::REPLACEMENT_CHARACTER,
            false => character,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_reverse_a_line_or_begin_one_is_left_out() {
        let evil = "a\u{202e}b\u{2066}c\u{61c}d\u{200f}e\u{2028}f\u{1b}[2J\ng";
        assert_eq!(plain(evil, 100), "abcdef[2Jg");
        assert_eq!(plain(evil, 3), "abc");
        assert_eq!(printable("a\u{202e}b\n"), "a\u{fffd}b\u{fffd}");
        for text in ["Zürich – «ok»", "שלום", "日本", "مرحبا"] {
            assert_eq!((plain(text, 100), printable(text)), (text.into(), text.into()));
        }
    }
}
