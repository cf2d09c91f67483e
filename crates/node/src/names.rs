//! What services say of themselves when they meet, compared. Policies call parties by their names, so a service does nothing with a peer whose party
//! file has other names, or the same in another order.

use cenote_service::words::printable;

use crate::message::VERSION;

/// Why nothing can be done with a peer that speaks this version and calls the parties so, if nothing can.
pub(crate) fn difference(own: &[String], version: u32, theirs: &[String]) -> Option<String> {
    if version != VERSION {
        return Some(format!(
            "its messages are of version {version}, and this service's of {VERSION}"
        ));
    }
    (theirs != own).then(|| {
        format!(
            "its party file calls the parties {}, and this service's calls them {}; `names` must be the same at all parties, in the same order",
            quoted(theirs),
            quoted(own)
        )
    })
}

fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "by no names".into();
    }
    let quoted = names.iter().map(|name| format!("\"{}\"", printable(name)));
    quoted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use cenote_service::words::steers;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_difference_is_told_with_both_lists() {
        let own = names(&["alpha", "beta"]);
        let told = |theirs: &[&str]| difference(&own, VERSION, &names(theirs));
        assert_eq!(told(&["alpha", "beta"]), None);
        for (theirs, list) in [
            (&["beta", "alpha"][..], "parties \"beta\", \"alpha\","),
            (&["alpha"], "parties \"alpha\","),
            (
                &["alpha", "beta", "gamma"],
                "parties \"alpha\", \"beta\", \"gamma\",",
            ),
            (&[], "parties by no names,"),
        ] {
            let told = told(theirs).expect("they differ");
            assert!(
                told.contains(list) && told.contains("them \"alpha\", \"beta\";"),
                "{told}"
            );
        }
        let evil = told(&["a\u{202e}\u{1b}[2J\n", "beta"]).expect("they differ");
        assert!(!evil.chars().any(steers), "{evil}");
        let older = difference(&own, VERSION - 1, &[]).expect("it is older");
        assert!(older.contains("version") && !older.contains("alpha"), "{older}");
    }
}
