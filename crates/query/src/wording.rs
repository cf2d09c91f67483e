//! The words of a query, to compare queries by.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Location, Token, Tokenizer};

/// A word or sign of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// It as it stands there.
    pub text: String,
    /// Whether it is a number or a text in quotes.
    pub is_constant: bool,
    /// Where it begins, in characters from the beginning of the query.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

impl Word {
    /// Whether another one means the same but for the value of a constant: case counts in quotes only.
    pub fn is_like(&self, other: &Word) -> bool {
        match (self.is_constant, other.is_constant) {
            (true, true) => true,
            (false, false) => {
                self.text == other.text || {
                    let quoted = self.text.starts_with(['"', '`']);
                    !quoted && self.text.eq_ignore_ascii_case(&other.text)
                }
            }
            _ => false,
        }
    }
}

/// The words of `sql`; nothing if it cannot be read as words. Blanks and comments are none.
pub fn words(sql: &str) -> Option<Vec<Word>> {
    let starts = line_starts(sql);
    let place = |at: Location| {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        starts.get(line).map(|start| start + column)
    };
    let characters: Vec<char> = sql.chars().collect();
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize_with_location()
        .ok()?;
    let told = tokens
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF | Token::SemiColon));
    told.map(|token| {
        let (from, to) = (place(token.span.start)?, place(token.span.end)?);
        Some(Word {
            text: characters.get(from..to)?.iter().collect(),
            is_constant: matches!(token.token, Token::Number(..) | Token::SingleQuotedString(_)),
            from,
            to,
        })
    })
    .collect()
}

/// Where each line begins, in characters.
fn line_starts(sql: &str) -> Vec<usize> {
    let after = sql
        .chars()
        .enumerate()
        .filter(|(_, character)| *character == '\n');
    std::iter::once(0).chain(after.map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_where_they_do_and_constants_are_told() {
        let sql = "SELECT \"Ä b\", 'é''s'\n  FROM t -- all\nWHERE x >= 10.5;";
        let found = words(sql).unwrap();
        let texts: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "SELECT", "\"Ä b\"", ",", "'é''s'", "FROM", "t", "WHERE", "x", ">=", "10.5"
            ]
        );
        let characters: Vec<char> = sql.chars().collect();
        for word in &found {
            let there: String = characters[word.from..word.to].iter().collect();
            assert_eq!(there, word.text);
        }
        let constants: Vec<&str> = found
            .iter()
            .filter(|word| word.is_constant)
            .map(|word| word.text.as_str())
            .collect();
        assert_eq!(constants, ["'é''s'", "10.5"]);
        assert_eq!(words("SELECT 'open"), None);
    }

    #[test]
    fn words_are_alike_whatever_their_case_and_constants_whatever_their_value() {
        let first = |sql: &str| words(sql).unwrap().remove(0);
        assert!(first("select").is_like(&first("SELECT")));
        assert!(first("1").is_like(&first("'a'")));
        assert!(!first("1").is_like(&first("a")));
        assert!(!first("\"a\"").is_like(&first("\"A\"")));
        assert!(!first("a").is_like(&first("b")));
    }
}
