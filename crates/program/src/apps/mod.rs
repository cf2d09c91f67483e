//! Programs that are useful in themselves, and show how programs are written.

mod card_fraud;
mod ciphers;
mod edit_distance;
mod hospitals;
mod intersection;

pub use card_fraud::{Spent, joint_spending};
pub use ciphers::{aes128, sha256};
pub use edit_distance::edit_distance;
pub use hospitals::{Stay, Stays, joint_stays};
pub use intersection::intersection;

use std::fmt::Display;

use crate::error::{Error, Result};
use crate::secret::Secret;

/// In how many places two rows of bits differ (Hamming distance): about one AND for each place.
#[track_caller]
pub fn hamming_distance(x: &Secret<bool>, y: &Secret<bool>) -> Secret<u32> {
    (x ^ y).count()
}

/// How a party's records are called where they are refused.
struct Words {
    records: &'static str,
    one: &'static str,
    twice: &'static str,
}

/// A party's records by number, and then as many of `nobody` as there is room for.
fn padded<T: Ord + Clone, N: PartialEq + Display>(
    records: &[T],
    most: usize,
    nobody: T,
    number: impl Fn(&T) -> N,
    words: &Words,
) -> Result<Vec<T>> {
    let mut records = records.to_vec();
    records.sort_unstable();
    let none = number(&nobody);
    let wrong = |what: String| Err(Error::BadInput(what));
    if records.len() > most {
        let count = records.len();
        return wrong(format!(
            "{count} {}, where {most} were agreed at most",
            words.records
        ));
    }
    if records
        .windows(2)
        .any(|pair| number(&pair[0]) == number(&pair[1]))
    {
        return wrong(words.twice.into());
    }
    if records.last().is_some_and(|last| number(last) == none) {
        return wrong(format!("no {} can have the number {none}", words.one));
    }
    records.resize(most, nobody);
    Ok(records)
}
