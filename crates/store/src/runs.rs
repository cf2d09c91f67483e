//! Numbers of material, in runs.

use std::fmt;

/// Numbers of one class that follow each other: `first..end`, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// What the numbers are of: a kind of material, or the worker that made it.
    pub class: u8,
    /// The first.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
}

/// Bytes of a run's encoding.
pub const RUN_BYTES: usize = 17;

impl Run {
    /// The run of these numbers.
    pub fn new(class: u8, numbers: std::ops::Range<u64>) -> Self {
        Self {
            class,
            first: numbers.start,
            end: numbers.end,
        }
    }

    /// How many there are.
    pub fn count(self) -> u64 {
        self.end - self.first
    }

    fn overlap(self, other: Run) -> Option<Run> {
        let (first, end) = (self.first.max(other.first), self.end.min(other.end));
        (self.class == other.class && first < end).then_some(Run { first, end, ..self })
    }

    /// The name of the part with these numbers.
    pub(crate) fn part_name(self) -> String {
        format!("part-{:03}-{:020}-{:010}", self.class, self.first, self.count())
    }

    /// The inverse of [`Run::part_name`].
    pub(crate) fn of_part(name: &str) -> Option<Self> {
        let mut fields = name.strip_prefix("part-")?.split('-');
        let (class, first) = (fields.next()?.parse().ok()?, fields.next()?.parse::<u64>().ok()?);
        let end = first.checked_add(fields.next()?.parse().ok()?)?;
        let run = Self { class, first, end };
        (first < end && run.part_name() == name).then_some(run)
    }
}

/// A set of numbers, as few runs as can be, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers there are, of all classes.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|run| run.count()).sum()
    }

    /// How many there are of a class.
    pub fn count(&self, class: u8) -> u64 {
        self.of(class).map(Run::count).sum()
    }

    /// The runs, by class, in order.
    pub fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        self.0.iter().copied()
    }

    /// The runs of a class, in order.
    pub fn of(&self, class: u8) -> impl Iterator<Item = Run> + '_ {
        self.iter().filter(move |run| run.class == class)
    }

    /// The numbers one by one: class and number.
    pub fn numbers(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        self.iter()
            .flat_map(|run| (run.first..run.end).map(move |number| (run.class, number)))
    }

    /// Whether all numbers of `run` are in the set.
    pub fn contains(&self, run: Run) -> bool {
        let after = self
            .0
            .partition_point(|own| (own.class, own.first) <= (run.class, run.first));
        after > 0 && self.0[after - 1].overlap(run) == Some(run)
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Runs) -> Runs {
        self.iter().chain(other.iter()).collect()
    }

    /// What is in both sets.
    #[must_use]
    pub fn common(&self, other: &Runs) -> Runs {
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        let mut common = Vec::new();
        while let (Some(&a), Some(&b)) = (ours.peek(), theirs.peek()) {
            common.extend(a.overlap(b));
            if (a.class, a.end) < (b.class, b.end) {
                ours.next();
            } else {
                theirs.next();
            }
        }
        Runs(common)
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn without(&self, other: &Runs) -> Runs {
        let mut rest = Vec::new();
        let mut taken = self.common(other).0.into_iter().peekable();
        for mut run in self.iter() {
            while let Some(gone) = taken.next_if(|gone| gone.overlap(run).is_some()) {
                if run.first < gone.first {
                    rest.push(Run {
                        end: gone.first,
                        ..run
                    });
                }
                run.first = gone.end;
            }
            if run.first < run.end {
                rest.push(run);
            }
        }
        Runs(rest)
    }

    /// The first `count` of a class, or all if there are fewer.
    #[must_use]
    pub fn first_of(&self, class: u8, count: u64) -> Runs {
        first(self.of(class), count)
    }

    /// The first `count` of all classes in order, or all if there are fewer.
    #[must_use]
    pub fn first(&self, count: u64) -> Runs {
        first(self.iter(), count)
    }

    /// At most `most` runs from the front on.
    #[must_use]
    pub fn truncated(mut self, most: usize) -> Runs {
        self.0.truncate(most);
        self
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Number of gaps before and between runs, of all classes.
    pub(crate) fn gaps(&self) -> usize {
        self.0.iter().filter(|run| run.first > 0).count()
    }

    /// The runs in 17 bytes each.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * RUN_BYTES);
        for run in &self.0 {
            bytes.push(run.class);
            bytes.extend_from_slice(&run.first.to_le_bytes());
            bytes.extend_from_slice(&run.end.to_le_bytes());
        }
        bytes
    }

    /// The inverse of [`Runs::encode`], or `None` for anything that it does not write.
    pub fn decode(bytes: &[u8]) -> Option<Runs> {
        let (chunks, rest) = bytes.as_chunks::<RUN_BYTES>();
        let mut runs: Vec<Run> = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (&[class], numbers) = chunk.split_first_chunk()?;
            let (first, end) = numbers.split_first_chunk()?;
            let run = Run::new(
                class,
                u64::from_le_bytes(*first)..u64::from_le_bytes(end.try_into().ok()?),
            );
            let apart = |last: &Run| (last.class, last.end) < (class, run.first);
            if run.first >= run.end || !runs.last().is_none_or(apart) {
                return None;
            }
            runs.push(run);
        }
        rest.is_empty().then_some(Runs(runs))
    }
}

fn first(runs: impl Iterator<Item = Run>, mut count: u64) -> Runs {
    let mut taken = Vec::new();
    for mut run in runs {
        run.end = run.end.min(run.first.saturating_add(count));
        if run.first == run.end {
            break;
        }
        count -= run.count();
        taken.push(run);
    }
    Runs(taken)
}

impl FromIterator<Run> for Runs {
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Self {
        let mut runs: Vec<Run> = runs.into_iter().filter(|run| run.first < run.end).collect();
        runs.sort_unstable();
        runs.dedup_by(|next, last| {
            let joined = last.class == next.class && next.first <= last.end;
            if joined {
                last.end = last.end.max(next.end);
            }
            joined
        });
        Runs(runs)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.part_name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cenote_primitives::Entropy;

    use super::*;

    type Numbers = BTreeSet<(u8, u64)>;

    fn some(entropy: &mut Entropy) -> (Runs, Numbers) {
        let mut runs = Vec::new();
        for [class, first, count] in entropy.bytes::<24>().as_chunks::<3>().0 {
            let first = u64::from(first % 40);
            runs.push(Run::new(class % 3, first..first + u64::from(count % 8)));
        }
        let runs: Runs = runs.into_iter().collect();
        let numbers = runs.numbers().collect();
        (runs, numbers)
    }

    /// Against sets of numbers.
    #[test]
    fn runs_are_sets() {
        let mut entropy = Entropy::for_tests(3);
        for _ in 0..300 {
            let ((a, of_a), (b, of_b)) = (some(&mut entropy), some(&mut entropy));
            let same = |runs: Runs, numbers: Numbers| {
                assert_eq!(runs.numbers().collect::<Numbers>(), numbers);
                assert_eq!(runs.total(), numbers.len() as u64);
                assert_eq!(runs.iter().collect::<Runs>(), runs, "as few as can be");
                assert_eq!(Runs::decode(&runs.encode()), Some(runs));
            };
            same(a.union(&b), &of_a | &of_b);
            same(a.common(&b), &of_a & &of_b);
            same(a.without(&b), &of_a - &of_b);
            same(a.first(9), of_a.iter().copied().take(9).collect());
            let of_class = || of_a.iter().copied().filter(|(class, _)| *class == 1);
            same(a.first_of(1, 5), of_class().take(5).collect());
            assert_eq!(a.count(1), of_class().count() as u64);
            for run in b.iter() {
                let all = (run.first..run.end).all(|number| of_a.contains(&(run.class, number)));
                assert_eq!(a.contains(run), all);
            }
        }
        let all: Runs = [Run::new(0, 0..u64::MAX)].into_iter().collect();
        assert_eq!(all.first(u64::MAX), all);
        assert!(all.without(&all).is_empty());
    }

    #[test]
    fn only_what_encode_writes_is_read() {
        let runs: Runs = [Run::new(0, 3..5), Run::new(0, 6..7), Run::new(2, 0..9)]
            .into_iter()
            .collect();
        let bytes = runs.encode();
        for cut in 0..bytes.len() {
            assert_eq!(
                Runs::decode(&bytes[..cut]).is_some(),
                cut % RUN_BYTES == 0,
                "{cut}"
            );
        }
        let with = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            Runs::decode(&bytes)
        };
        assert_eq!(with(1, 5), None, "an empty run");
        assert_eq!(with(9, 6), None, "runs that touch");
        assert_eq!(with(9, 7), None, "runs that overlap");
        assert_eq!(with(0, 1), None, "out of order");
        assert!(with(9, 4).is_some());
    }

    #[test]
    fn names_of_parts_are_read_strictly() {
        let part = Run::new(12, 345..349);
        assert_eq!(part.part_name(), "part-012-00000000000000000345-0000000004");
        assert_eq!(Run::of_part(&part.part_name()), Some(part));
        for name in [
            "part-12-00000000000000000345-0000000004",
            "part-012-345-4",
            "part-+12-00000000000000000345-0000000004",
            "part-300-00000000000000000345-0000000004",
            "part-012-00000000000000000345-0000000000",
            "part-012-18446744073709551615-0000000001",
            "part-012-00000000000000000345-0000000004.new",
            "part-012",
            "item",
            "",
        ] {
            assert_eq!(Run::of_part(name), None, "{name}");
        }
    }
}
