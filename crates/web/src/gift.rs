//! What a party gives to a job, as callers say it.

use cenote_api::view::Gift;
use cenote_service::job::{Binding, Source};
use cenote_service::live;

use crate::problem::{Answer, Refusal};

/// A gift as the service takes it.
pub(crate) fn approval(gift: Gift) -> Answer<live::Approval> {
    let mut binding = Vec::new();
    for (input, name) in gift.data {
        check_name(&name)?;
        if gift.posted.contains_key(&input) {
            return Err(Refusal::unfit(
                "two-sources",
                "an input has both data and posted values",
                "give each input one of them",
            ));
        }
        binding.push(Binding::new(input, Source::Data(name)));
    }
    binding.extend(
        gift.posted
            .keys()
            .map(|input| Binding::new(input.clone(), Source::Posted)),
    );
    Ok(live::Approval {
        binding,
        posted: gift.posted,
        reason: gift.reason,
    })
}

/// Names of data are names of files in one folder, and lead to no other.
fn check_name(name: &str) -> Answer<()> {
    let plain = !name.is_empty()
        && name.len() <= 128
        && !name.starts_with('.')
        && !name.contains(|letter: char| letter == '/' || letter == '\\' || letter.is_control());
    if plain {
        return Ok(());
    }
    Err(Refusal::unfit(
        "bad-name",
        "a name of data has a slash, a dot in front or a control character, or is too long",
        "take one of the names that /api/v1/data lists",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_data_lead_to_no_other_folder() {
        for name in ["a.csv", "loans 2024.parquet", "a..b", "é"] {
            check_name(name).expect(name);
        }
        for name in [
            "",
            "..",
            ".",
            ".hidden",
            "../a",
            "a/b",
            "/etc/passwd",
            "a\\b",
            "a\0b",
            "a\nb",
            &"a".repeat(129),
        ] {
            assert_eq!(check_name(name).expect_err(name).problem.code, "bad-name");
        }
    }
}
