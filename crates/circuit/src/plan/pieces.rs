//! Plans cut between levels, and levels that are too wide within, so that long ones can be executed piece by piece.

use std::borrow::Cow;
use std::iter::Enumerate;
use std::ops::Range;
use std::vec::IntoIter;

use sha2::{Digest, Sha256};

use super::{Level, LocalOp, Plan};

/// The pieces of a plan: see [`Plan::pieces`].
pub struct Pieces<'a> {
    plan: Cow<'a, Plan>,
    ranges: Enumerate<IntoIter<Range<usize>>>,
    between: Vec<Vec<u32>>,
}

impl Pieces<'_> {
    /// Bytes that it holds besides the plan of which these are the pieces.
    pub fn bytes(&self) -> u64 {
        let cut = match &self.plan {
            Cow::Borrowed(_) => 0,
            Cow::Owned(plan) => size_of_val(plan.local_ops()) + size_of_val(plan.and_ops()),
        };
        let between = self.between.iter().map(|slots| size_of_val(&slots[..]));
        (cut + between.sum::<usize>()) as u64
    }
}

impl Iterator for Pieces<'_> {
    type Item = Plan;

    fn next(&mut self) -> Option<Plan> {
        let (at, levels) = self.ranges.next()?;
        let inputs = match at {
            0 => self.plan.input_slots.clone(),
            _ => self.between[at - 1].clone(),
        };
        let outputs = match self.between.get(at) {
            None => self.plan.output_slots.clone(),
            Some(between) => between.clone(),
        };
        Some(self.plan.piece(levels, inputs, outputs))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranges.size_hint()
    }
}

impl ExactSizeIterator for Pieces<'_> {}

impl Plan {
    /// The plan in pieces of at most `ands` AND gates, at least one each. Executed in order, the first on the
    /// inputs and each other one on what the one before put out, they compute what the plan does: the last one puts out the
    /// outputs, each other one the wires that later ones need. They are made one at a time.
    pub fn pieces(&self, ands: usize) -> Pieces<'_> {
        let plan = self.narrowed(ands.max(1));
        let ranges = plan.ranges(ands);
        let between = plan.alive(&ranges);
        Pieces {
            plan,
            ranges: ranges.into_iter().enumerate(),
            between,
        }
    }

    /// The plan with levels of at most `most` AND gates, which is at least one: a wider level is cut in several. A result whose
    /// slot is read later in its level waits in a slot of its own until the level's end.
    fn narrowed(&self, most: usize) -> Cow<'_, Plan> {
        if self.max_level_ands <= most {
            return Cow::Borrowed(self);
        }
        let mut narrow = Plan {
            levels: Vec::new(),
            local_ops: Vec::with_capacity(self.local_ops.len()),
            max_level_ands: most,
            ..self.clone()
        };
        // The last AND gate of the level that reads each slot.
        let mut last_reader = vec![0; self.slots];
        let mut waiting = Vec::new();
        for level in &self.levels {
            let local = narrow.local_ops.len();
            narrow.local_ops.append(&mut waiting);
            narrow
                .local_ops
                .extend_from_slice(&self.local_ops[level.local.clone()]);
            let mut local = local..narrow.local_ops.len();
            for gate in level.ands.clone() {
                let op = self.and_ops[gate];
                last_reader[op.a as usize] = gate;
                last_reader[op.b as usize] = gate;
            }
            let mut start = level.ands.start;
            loop {
                let end = level.ands.end.min(start + most);
                for op in &mut narrow.and_ops[start..end] {
                    if last_reader[op.dst as usize] >= end {
                        let a = (self.slots + waiting.len()) as u32;
                        waiting.push(LocalOp::Copy { dst: op.dst, a });
                        op.dst = a;
                    }
                }
                narrow.levels.push(Level {
                    local: local.clone(),
                    ands: start..end,
                });
                local = local.end..local.end;
                start = end;
                if start == level.ands.end {
                    break;
                }
            }
            narrow.slots = narrow.slots.max(self.slots + waiting.len());
        }
        if !waiting.is_empty() {
            let local = narrow.local_ops.len();
            narrow.local_ops.append(&mut waiting);
            narrow.levels.push(Level {
                local: local..narrow.local_ops.len(),
                ands: narrow.and_ops.len()..narrow.and_ops.len(),
            });
        }
        let mut hash = Sha256::new();
        hash.update(b"plan with narrow levels");
        hash.update(self.digest);
        hash.update((most as u64).to_le_bytes());
        narrow.digest = hash.finalize().into();
        Cow::Owned(narrow)
    }

    /// The levels of each piece; at least one piece.
    fn ranges(&self, ands: usize) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let (mut start, mut held) = (0, 0);
        for (at, level) in self.levels.iter().enumerate() {
            if at > start && held + level.ands.len() > ands {
                ranges.push(start..at);
                (start, held) = (at, 0);
            }
            held += level.ands.len();
        }
        ranges.push(start..self.levels.len());
        ranges
    }

    /// The slots that are read after each piece but the last before they are written, in order.
    fn alive(&self, ranges: &[Range<usize>]) -> Vec<Vec<u32>> {
        let mut alive = vec![false; self.slots];
        mark(&mut alive, &self.output_slots, true);
        let mut between = Vec::with_capacity(ranges.len());
        for levels in ranges[1..].iter().rev() {
            for level in self.levels[levels.clone()].iter().rev() {
                let ands = &self.and_ops[level.ands.clone()];
                ands.iter().for_each(|op| mark(&mut alive, &[op.dst], false));
                ands.iter().for_each(|op| mark(&mut alive, &[op.a, op.b], true));
                for op in self.local_ops[level.local.clone()].iter().rev() {
                    match *op {
                        LocalOp::Xor { dst, a, b } => {
                            mark(&mut alive, &[dst], false);
                            mark(&mut alive, &[a, b], true);
                        }
                        LocalOp::Not { dst, a } | LocalOp::Copy { dst, a } => {
                            mark(&mut alive, &[dst], false);
                            mark(&mut alive, &[a], true);
                        }
                        LocalOp::Const { dst, .. } => mark(&mut alive, &[dst], false),
                    }
                }
            }
            between.push(
                (0..)
                    .zip(&alive)
                    .filter(|(_, alive)| **alive)
                    .map(|(slot, _)| slot)
                    .collect(),
            );
        }
        between.reverse();
        between
    }

    fn piece(&self, levels: Range<usize>, input_slots: Vec<u32>, output_slots: Vec<u32>) -> Plan {
        let mut hash = Sha256::new();
        hash.update(b"piece of a plan");
        hash.update(self.digest);
        hash.update((levels.start as u64).to_le_bytes());
        hash.update((levels.end as u64).to_le_bytes());
        let levels = &self.levels[levels];
        let local = levels.first().map_or(0..0, |first| {
            first.local.start..levels[levels.len() - 1].local.end
        });
        let ands = levels
            .first()
            .map_or(0..0, |first| first.ands.start..levels[levels.len() - 1].ands.end);
        let moved = |range: &Range<usize>, by: usize| range.start - by..range.end - by;
        Plan {
            slots: self.slots,
            input_slots,
            output_slots,
            max_level_ands: levels.iter().map(|level| level.ands.len()).max().unwrap_or(0),
            levels: levels
                .iter()
                .map(|level| Level {
                    local: moved(&level.local, local.start),
                    ands: moved(&level.ands, ands.start),
                })
                .collect(),
            local_ops: self.local_ops[local].to_vec(),
            and_ops: self.and_ops[ands].to_vec(),
            digest: hash.finalize().into(),
        }
    }
}

fn mark(alive: &mut [bool], slots: &[u32], value: bool) {
    slots.iter().for_each(|&slot| alive[slot as usize] = value);
}

#[cfg(test)]
mod tests {
    use cenote_primitives::BitMatrix;

    use super::*;
    use crate::library;

    #[test]
    fn pieces_compute_what_the_plan_does() {
        for name in ["aes128", "mult16", "add32", "lt4"] {
            let plan = Plan::new(&library::by_name(name).unwrap());
            let inputs = BitMatrix::from_fn(plan.input_wires(), 70, |row, lane| {
                (row * 31 + lane * 17 + row * lane) % 7 < 3
            });
            let right = plan.evaluate(&inputs).unwrap();
            let widest = plan.max_level_ands();
            for ands in [1, 7, widest - 1, widest, 3 * widest, plan.and_count()] {
                let pieces = plan.pieces(ands);
                let count = pieces.len();
                let (mut values, mut all, mut digests) = (inputs.clone(), 0, Vec::new());
                for piece in pieces {
                    assert!(piece.and_count() <= ands.max(1) && piece.max_level_ands() <= ands.max(1));
                    all += piece.and_count();
                    values = piece.evaluate(&values).unwrap();
                    digests.push(piece.digest());
                }
                assert_eq!(
                    (values, all),
                    (right.clone(), plan.and_count()),
                    "{name} by {ands}"
                );
                assert_eq!(count == 1, ands >= plan.and_count(), "{name} by {ands}");
                digests.sort_unstable();
                digests.dedup();
                assert_eq!(digests.len(), count, "pieces are told apart");
            }
        }
    }

    #[test]
    fn what_has_no_levels_is_one_piece() {
        let plan = Plan::new(&crate::Builder::new().finish());
        assert_eq!(plan.pieces(1).count(), 1);
    }
}
