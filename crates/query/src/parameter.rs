//! Parameters: what a query calls `:name`, of a declared type, with a public value for each run.

use cenote_tables::{Type, format_value, parse_value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::schema::MAX_NAME;

/// Most parameters of a query.
pub(crate) const MAX_PARAMETERS: usize = 64;

/// Days since 1970-01-01 of 0001-01-01, of a day in between, and of 9999-12-31.
const DAYS: [i128; 3] = [-719_162, 10_957, 2_932_896];
const MICROSECONDS: i128 = 86_400_000_000;

/// A parameter of a query, and its value in one run. A value stands in the query as if it were written there: as a constant of its own, never as text that is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    kind: Type,
    /// As its type is written: one text for each value.
    value: String,
}

impl Parameter {
    /// The parameter `name`, with the value that `text` is, as a file in CSV has it.
    ///
    /// # Errors
    /// What is wrong with the name or the value.
    pub fn new(name: &str, kind: Type, text: &str) -> Result<Self, String> {
        check_name(name)?;
        let wrong = || format!("the value of parameter {name} must be of type {kind}");
        let value = match kind {
            Type::Char(most) if text.len() > most.into() => {
                return Err(format!(
                    "the value of parameter {name} may be at most {most} bytes long"
                ));
            }
            Type::Char(_) if text.contains('\0') => return Err(wrong()),
            Type::Char(_) => text.to_owned(),
            _ => parse_value(kind, text)
                .map(|number| format_value(kind, number))
                .ok_or_else(wrong)?,
        };
        Ok(Parameter {
            name: name.into(),
            kind,
            value,
        })
    }

    /// The parameter with sample values, by which a query is planned before there are values: the least, one in between, and the greatest.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn samples(name: &str, kind: Type) -> Result<[Self; 3], String> {
        let numbers = match kind {
            Type::Char(most) => {
                let of = |bytes: usize| Parameter::new(name, kind, &"m".repeat(bytes));
                return Ok([of(1)?, of(usize::from(most).div_ceil(2))?, of(most.into())?]);
            }
            Type::Date => DAYS,
            Type::Timestamp => DAYS.map(|days| days * MICROSECONDS),
            _ => {
                let (least, most) = kind.range().unwrap_or((0, 1));
                // Every other bit.
                [least, most & (i128::MAX / 3), most]
            }
        };
        let [least, middle, most] =
            numbers.map(|number| Parameter::new(name, kind, &format_value(kind, number)));
        Ok([least?, middle?, most?])
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// Its value, as its type is written.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The words that stand for it.
    fn tokens(&self) -> Vec<Token> {
        let text = || Token::SingleQuotedString(self.value.clone());
        match self.kind {
            Type::Char(_) => vec![text()],
            Type::Date => vec![Token::make_keyword("DATE"), text()],
            Type::Timestamp => vec![Token::make_keyword("TIMESTAMP"), text()],
            Type::Bool => vec![Token::make_keyword(&self.value.to_ascii_uppercase())],
            Type::Int { .. } | Type::Decimal { .. } => match self.value.strip_prefix('-') {
                None => vec![Token::Number(self.value.clone(), false)],
                Some(digits) => vec![
                    Token::LParen,
                    Token::Minus,
                    Token::Number(digits.into(), false),
                    Token::RParen,
                ],
            },
        }
    }
}

/// A name has letters, digits and underscores, and does not begin with a digit.
fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let fits = name.starts_with(is_letter)
        && name
            .chars()
            .all(|letter| is_letter(letter) || letter.is_ascii_digit())
        && name.len() <= MAX_NAME;
    match fits {
        true => Ok(()),
        false => Err(format!(
            "the name of a parameter has 1 to {MAX_NAME} letters, digits and underscores, and begins with no digit"
        )),
    }
}

/// The words of a query with those of `parameters` in the places of their names. Gives the name of one that the query does not have, if there is one.
pub(crate) fn filled(
    tokens: Vec<TokenWithSpan>,
    parameters: &[Parameter],
) -> Result<Vec<TokenWithSpan>, &str> {
    let mut is_used = vec![false; parameters.len()];
    let mut all = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let named = match (&token.token, tokens.peek().map(|next| &next.token)) {
            (Token::Colon, Some(Token::Word(word))) if word.quote_style.is_none() => parameters
                .iter()
                .position(|parameter| parameter.name == word.value),
            _ => None,
        };
        let Some(named) = named else {
            all.push(token);
            continue;
        };
        tokens.next();
        is_used[named] = true;
        let stand_in = parameters[named].tokens().into_iter();
        all.extend(stand_in.map(|word| TokenWithSpan::new(word, token.span)));
    }
    match is_used.iter().position(|used| !used) {
        None => Ok(all),
        Some(unused) => Err(&parameters[unused].name),
    }
}
