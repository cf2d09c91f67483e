//! Cut-and-choose (Figure 1, steps 8 and 11): what the evaluator's one seed decides.
//!
//! The seed is drawn after the evaluator has everything that the garbler could have cheated in. It is the evaluator's
//! protection alone, so it need not be a coin of both: what is checked and what becomes of the rest tells the evaluator
//! nothing of labels whatever it chooses, but for leaving too few, which the garbler refuses.

use cenote_primitives::{Block, Prg, Sampler};
use cenote_session::Result;

use crate::room::{self, CUT};

/// How many gadgets of one kind there are, and how they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Population {
    pub(crate) generated: usize,
    /// At least so many must be left.
    pub(crate) needed: usize,
    /// Each is checked with this probability times 2^16.
    pub(crate) threshold: u16,
}

/// A gadget that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Which one.
    pub(crate) index: u32,
    /// With which bits: of a gate on its left and right wire, of an authenticator the first on its wire.
    pub(crate) bits: [bool; 2],
}

/// What becomes of the gadgets of one kind.
pub(crate) struct Cut {
    /// Opened, in order.
    pub(crate) checked: Vec<Checked>,
    /// As many as are needed of the others, in random order.
    pub(crate) kept: Vec<u32>,
}

/// What is checked, and what is left, before it is put in random order.
pub(crate) struct Drawn {
    cut: Cut,
    sampler: Sampler,
    needed: usize,
}

impl Drawn {
    /// What the coins of `stream` decide, or `None` if too few are left.
    fn new(seed: Block, stream: u64, population: &Population) -> Result<Option<Self>> {
        let mut sampler = Sampler::from_stream(Prg::new(seed), stream);
        let mut kept = room::reserved(CUT, population.generated)?;
        let spare = population.generated.saturating_sub(population.needed);
        let mut checked = room::reserved(CUT, spare)?;
        for index in 0..population.generated as u32 {
            let coins = sampler.next_u32();
            if (coins as u16) < population.threshold {
                let bits = [coins >> 16 & 1 == 1, coins >> 17 & 1 == 1];
                if checked.len() == spare {
                    return Ok(None);
                }
                checked.push(Checked { index, bits });
            } else {
                kept.push(index);
            }
        }
        if kept.len() < population.needed {
            return Ok(None);
        }
        Ok(Some(Self {
            cut: Cut { checked, kept },
            sampler,
            needed: population.needed,
        }))
    }

    /// Puts what is left in random order, and keeps as many as are needed.
    pub(crate) fn shuffled(mut self) -> Cut {
        self.sampler.shuffle(&mut self.cut.kept);
        self.cut.kept.truncate(self.needed);
        self.cut
    }
}

/// What becomes of gates and of authenticators, or `None` if `seed` leaves too few of either.
///
/// # Errors
/// [`Error::OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for the lists.
pub(crate) fn cut(
    seed: Block,
    gates: &Population,
    authenticators: &Population,
) -> Result<Option<[Drawn; 2]>> {
    let gates = Drawn::new(seed, 0, gates)?;
    let authenticators = Drawn::new(seed, 1, authenticators)?;
    Ok(gates.zip(authenticators).map(<[Drawn; 2]>::from))
}

#[cfg(test)]
mod tests {
    use cenote_session::Error;

    use super::*;

    fn population(generated: usize, needed: usize, threshold: u16) -> Population {
        Population {
            generated,
            needed,
            threshold,
        }
    }

    #[test]
    fn every_gadget_is_checked_or_kept() {
        let all = population(10_000, 7000, 1 << 14);
        let shuffled = |drawn: [Drawn; 2]| drawn.map(Drawn::shuffled);
        let [gates, authenticators] =
            shuffled(cut(Block([1, 2]), &all, &population(10, 5, 0)).unwrap().unwrap());
        assert_eq!(gates.kept.len(), 7000);
        assert!(
            (2200..2800).contains(&gates.checked.len()),
            "{}",
            gates.checked.len()
        );
        let mut seen = vec![false; 10_000];
        for index in gates
            .kept
            .iter()
            .copied()
            .chain(gates.checked.iter().map(|c| c.index))
        {
            assert!(!std::mem::replace(&mut seen[index as usize], true));
        }
        assert!(gates.checked.windows(2).all(|pair| pair[0].index < pair[1].index));
        assert!(!gates.kept.is_sorted());
        for bits in [[false, false], [false, true], [true, false], [true, true]] {
            let count = gates
                .checked
                .iter()
                .filter(|checked| checked.bits == bits)
                .count();
            assert!((500..750).contains(&count), "{bits:?} {count}");
        }
        assert!(authenticators.checked.is_empty() && authenticators.kept.len() == 5);
        // Another seed, another choice; the same, the same.
        let again = |seed| {
            shuffled(cut(Block([seed, 2]), &all, &all).unwrap().unwrap())[0]
                .kept
                .clone()
        };
        assert!(again(1) == gates.kept && again(2) != gates.kept);
        // Gates and authenticators have coins of their own.
        let [a, b] = shuffled(cut(Block([1, 2]), &all, &all).unwrap().unwrap());
        assert_ne!(a.checked, b.checked);
    }

    #[test]
    fn too_few_left_is_noticed() {
        let few = population(100, 99, 1 << 15);
        let fine = population(100, 0, 1 << 15);
        let cut =
            |gates: &_, authenticators: &_| -> Option<_> { cut(Block::ZERO, gates, authenticators).unwrap() };
        assert!(cut(&few, &fine).is_none() && cut(&fine, &few).is_none());
        assert!(cut(&fine, &fine).is_some());
        // More are needed than there are.
        assert!(cut(&fine, &population(9, 10, 0)).is_none());
        // Exactly as many as are left.
        let left = cut(&fine, &fine).unwrap()[0].cut.kept.len();
        assert!(cut(&population(100, left, 1 << 15), &fine).is_some());
        assert!(cut(&population(100, left + 1, 1 << 15), &fine).is_none());
    }

    #[test]
    fn lists_that_there_is_no_room_for_are_refused() {
        let (fine, huge) = (population(100, 0, 1 << 15), population(1 << 60, 1, 1 << 15));
        for [gates, authenticators] in [[&huge, &fine], [&fine, &huge]] {
            match cut(Block::ZERO, gates, authenticators) {
                Err(Error::OutOfMemory(what)) => {
                    assert!(what.contains("the choice of what is checked"), "{what}");
                }
                other => panic!("{:?}", other.map(|_| ())),
            }
        }
    }
}
