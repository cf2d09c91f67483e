//! LIKE: `%` stands for any text, and `_` for any character.

use super::text::lower_char as lower;

/// What a pattern asks for at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Exactly(char),
    Any,
    Anything,
}

impl Wanted {
    pub(crate) fn character(self) -> Option<char> {
        match self {
            Wanted::Exactly(char) => Some(char),
            Wanted::Any | Wanted::Anything => None,
        }
    }
}

/// What a pattern asks for, one after the other. What follows `escape` stands for itself.
pub(super) fn wanted(pattern: &str, escape: Option<char>) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        wanted.push(match char {
            // An escape at the end stands for itself.
            char if Some(char) == escape => Wanted::Exactly(chars.next().unwrap_or(char)),
            '%' => Wanted::Anything,
            '_' => Wanted::Any,
            char => Wanted::Exactly(char),
        });
    }
    wanted
}

/// Whether a text is like a pattern, in which what follows `escape` stands for itself.
pub(super) fn is_like(text: &str, pattern: &str, escape: Option<char>, any_case: bool) -> bool {
    let wanted = wanted(pattern, escape);
    let text: Vec<char> = text.chars().collect();
    let same = |one: char, other: char| one == other || (any_case && lower(one) == lower(other));
    let (mut at, mut next) = (0, 0);
    // Where the last % stands, and how much of the text it may take at least.
    let mut last: Option<(usize, usize)> = None;
    while at < text.len() {
        match wanted.get(next) {
            Some(Wanted::Anything) => {
                last = Some((next, at));
                next += 1;
                continue;
            }
            Some(Wanted::Any) => (),
            Some(Wanted::Exactly(char)) if same(*char, text[at]) => (),
            _ => {
                // The last % takes one more.
                let Some((percent, taken)) = last else {
                    return false;
                };
                last = Some((percent, taken + 1));
                (at, next) = (taken + 1, percent + 1);
                continue;
            }
        }
        at += 1;
        next += 1;
    }
    wanted[next..].iter().all(|wanted| *wanted == Wanted::Anything)
}
