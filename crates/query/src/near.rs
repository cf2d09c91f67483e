//! Names that may have been meant.

/// Longer names are compared with none.
const LONGEST: usize = 128;

/// Those of `names` that are nearest to `name`, at most three, the nearest first; none that differs in more than a third of its letters.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let letters: Vec<char> = name.to_lowercase().chars().collect();
    let most = letters.len() / 3;
    let mut near: Vec<(usize, &str)> = names
        .filter(|other| other.len() <= LONGEST)
        .map(|other| (distance(&letters, &other.to_lowercase()), other))
        .filter(|(far, _)| *far <= most)
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A question whether one of these was meant; nothing if there is none.
pub fn meant(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        names => format!(" (did you mean {}?)", names.join(" or ")),
    }
}

/// How many letters must be put in, taken out or changed.
fn distance(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (at, letter) in b.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (place, other) in a.iter().enumerate() {
            let changed = before + usize::from(*other != letter);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[a.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_few_other_letters_are_near() {
        let names = ["orders", "order_lines", "Customers", "costumes", "id"];
        let near = |name: &str| nearest(name, names.into_iter());
        assert_eq!(near("ordres"), ["orders"]);
        assert_eq!(near("customer"), ["Customers", "costumes"]);
        assert_eq!(near("ID2"), ["id"]);
        assert!(near("payments").is_empty() && near("").is_empty());
        assert!(near(&"x".repeat(1 << 20)).is_empty());
        assert_eq!(meant(&near("ordres")), " (did you mean orders?)");
    }
}
