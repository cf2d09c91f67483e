//! Whether all banks list the same ids in the same order, and if not, from which line on.
//!
//! The banks compare digests of ranges of ids. Where one differs they compare digests of its parts, down to a single id. The
//! ranges do not depend on how many ids a bank has, so two banks that differ look into the same range.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::runner::Terms;

/// Ids in a range, level by level; a range of one level has at most 32 parts on the next.
const LEVELS: [usize; 5] = [1 << 17, 1 << 12, 1 << 7, 1 << 2, 1];
/// Parts of all ids on the first level.
const FIRST_PARTS: usize = 32;
/// Most ids that the first level covers.
pub(super) const MAX_IDS: usize = FIRST_PARTS * LEVELS[0];

const NAME: &str = "customer ids";

/// The fields that compare all of `ids`.
pub(super) fn fields(ids: &[String]) -> Terms {
    parts(ids, 0..MAX_IDS, LEVELS[0])
}

/// The fields that compare the parts of the range that the field `differing` stands for; `None` if it is a single id, or no
/// such field.
pub(super) fn finer(ids: &[String], differing: &str) -> Option<Terms> {
    let range = range(differing)?;
    let level = LEVELS.iter().position(|&level| level == range.len())?;
    Some(parts(ids, range, *LEVELS.get(level + 1)?))
}

/// The positions that a field of this module stands for.
pub(super) fn range(field: &str) -> Option<Range<usize>> {
    let (start, length) = field.strip_prefix(NAME)?.trim().split_once('+')?;
    let (start, length): (usize, usize) = (start.parse().ok()?, length.parse().ok()?);
    Some(start..start.checked_add(length)?)
}

/// One field for each part of `range` that holds any of `ids`.
fn parts(ids: &[String], range: Range<usize>, length: usize) -> Terms {
    let starts = range.step_by(length).take_while(|&start| start < ids.len());
    starts
        .map(|start| {
            (
                format!("{NAME} {start}+{length}"),
                digest(&ids[start..ids.len().min(start + length)]),
            )
        })
        .collect()
}

fn digest(ids: &[String]) -> String {
    let mut hash = Sha256::new_with_prefix(b"cenote demo ids, version 1\0");
    for id in ids {
        hash.update((id.len() as u64).to_le_bytes());
        hash.update(id);
    }
    hex::encode(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first position at which two banks find that they differ, and how often they compare.
    fn difference(ours: &[String], theirs: &[String]) -> Option<(usize, usize)> {
        let first = |ours: &Terms, theirs: &Terms| {
            let missing = |field: &&(String, String)| ours.iter().all(|other| other.0 != field.0);
            let differing = ours.iter().find(|field| !theirs.contains(field));
            differing
                .or_else(|| theirs.iter().find(missing))
                .map(|field| field.0.clone())
        };
        let mut field = first(&fields(ours), &fields(theirs))?;
        for compared in 1.. {
            match (finer(ours, &field), finer(theirs, &field)) {
                (Some(ours), Some(theirs)) => field = first(&ours, &theirs).expect("a part differs"),
                (None, None) => return Some((range(&field)?.start, compared)),
                _ => panic!("one looks closer and the other does not"),
            }
        }
        None
    }

    #[test]
    fn the_first_difference_is_found_from_both_sides() {
        let ids: Vec<String> = (0..9000).map(|id| format!("id{id}")).collect();
        assert_eq!(difference(&ids, &ids), None);
        for position in [0, 1, 3, 4, 127, 128, 4095, 4096, 8999] {
            let mut other = ids.clone();
            other[position] = "x".into();
            let mut missing = ids.clone();
            missing.remove(position);
            for theirs in [other, missing, ids[..position].to_vec()] {
                for (a, b) in [(&ids, &theirs), (&theirs, &ids)] {
                    assert_eq!(difference(a, b), Some((position, LEVELS.len())));
                }
            }
        }
    }

    #[test]
    fn fields_are_few_and_foreign_names_are_no_ranges() {
        let ids: Vec<String> = (0..4200).map(|id| id.to_string()).collect();
        assert!(fields(&ids).len() <= 32);
        assert_eq!(finer(&ids, "customer ids 0+4096").unwrap().len(), 32);
        assert_eq!(finer(&ids, "customer ids 4096+4096").unwrap().len(), 1);
        assert_eq!(finer(&ids, "customer ids 8192+4096").unwrap().len(), 0);
        for name in [
            "lanes",
            "customer ids",
            "customer ids 5+1",
            "customer ids 0+3",
            "customer ids 18446744073709551615+1",
        ] {
            assert!(finer(&ids, name).is_none(), "{name}");
        }
        assert!(
            LEVELS
                .windows(2)
                .all(|pair| pair[0] == 32 * pair[1] || pair[1] == 1 && pair[0] <= 32)
        );
    }
}
