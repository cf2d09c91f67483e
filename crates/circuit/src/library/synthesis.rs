//! Circuits with few ANDs for functions of four bits, found by exhaustive search.
//!
//! A function is its truth table, 16 bits. Up to linear parts the product of two linear forms depends only on the
//! plane (two-dimensional space) they span, so each AND is a choice of a plane over the inputs and earlier ANDs.
//! Each AND lowers by at most one the number of independent outputs outside the span of what exists, which cuts the
//! search to a few thousand nodes.

/// Truth tables of the four inputs.
const INPUTS: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

/// A circuit for four functions. Masks name signals: bits 0 to 3 the inputs, bit `4 + i` the AND number `i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The two operands of each AND, as XORs of earlier signals.
    pub(super) ands: Vec<(u32, u32)>,
    /// The outputs, as XORs of signals.
    pub(super) outputs: [u32; 4],
}

/// The first circuit for `targets` with `ands` ANDs at depth at most `depth`, if there is one. The targets must be 0 when
/// all inputs are.
pub(super) fn search(targets: [u16; 4], ands: usize, depth: u32) -> Option<Program> {
    let mut search = Search {
        targets,
        ands,
        depth,
        signals: INPUTS.iter().map(|&table| (table, 0)).collect(),
        chosen: Vec::new(),
    };
    search.extend()
}

struct Search {
    targets: [u16; 4],
    ands: usize,
    depth: u32,
    /// Truth table and AND depth.
    signals: Vec<(u16, u32)>,
    chosen: Vec<(u32, u32)>,
}

impl Search {
    /// Adds the remaining ANDs in every way until one will do.
    fn extend(&mut self) -> Option<Program> {
        let missing = self.missing();
        if missing > self.ands - self.chosen.len() {
            return None;
        }
        if missing == 0 {
            let outputs = self.targets.map(|t| self.express(t).expect("nothing is missing"));
            let ands = self.chosen.clone();
            return Some(Program { ands, outputs });
        }
        let eligible: Vec<usize> = (0..self.signals.len())
            .filter(|&i| self.signals[i].1 < self.depth)
            .collect();
        let forms: Vec<(u32, u16, u32)> = (0..1u32 << eligible.len())
            .map(|choice| {
                let picked = eligible.iter().enumerate().filter(|(j, _)| choice >> j & 1 == 1);
                picked.fold((0, 0, 0), |(mask, table, depth), (_, &i)| {
                    let (t, d) = self.signals[i];
                    (mask | 1 << i, table ^ t, depth.max(d))
                })
            })
            .collect();
        let newest = match self.chosen.len() {
            0 => 0,
            n => 1 << (3 + n),
        };
        for p in 1..forms.len() {
            for q in p + 1..forms.len() {
                // One pair of forms for each plane.
                if q > p ^ q {
                    continue;
                }
                let (x, y) = (forms[p], forms[q]);
                // Independent ANDs come in one order only.
                let uses_newest = (x.0 | y.0) & newest != 0;
                if !uses_newest && self.chosen.last().is_some_and(|&last| (x.0, y.0) <= last) {
                    continue;
                }
                self.signals.push((x.1 & y.1, x.2.max(y.2) + 1));
                self.chosen.push((x.0, y.0));
                let found = self.extend();
                self.signals.pop();
                self.chosen.pop();
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// How many independent outputs lie outside the span of the signals.
    fn missing(&self) -> usize {
        let mut basis = [0; 16];
        for &(table, _) in &self.signals {
            insert(&mut basis, table);
        }
        self.targets.iter().filter(|&&t| insert(&mut basis, t)).count()
    }

    /// `target` as an XOR of signals.
    fn express(&self, target: u16) -> Option<u32> {
        (0..1u32 << self.signals.len()).find(|mask| {
            let picked = self
                .signals
                .iter()
                .enumerate()
                .filter(|(i, _)| mask >> i & 1 == 1);
            picked.fold(0, |sum, (_, signal)| sum ^ signal.0) == target
        })
    }
}

/// Adds `table` to a basis kept by leading bit; says whether it was new.
fn insert(basis: &mut [u16; 16], mut table: u16) -> bool {
    while let Some(lead) = table.checked_ilog2() {
        let pivot = &mut basis[lead as usize];
        if *pivot == 0 {
            *pivot = table;
            return true;
        }
        table ^= *pivot;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Truth tables of a permutation of nibbles.
    fn tables(f: impl Fn(u16) -> u16) -> [u16; 4] {
        std::array::from_fn(|i| (0..16).fold(0, |table, x| table | (f(x) >> i & 1) << x))
    }

    /// `x^14` in GF(2)\[X\] / (X^4 + X + 1).
    fn inverse(x: u16) -> u16 {
        let times = |x: u16, y: u16| {
            let product = (0..4).filter(|i| y >> i & 1 == 1).fold(0, |p, i| p ^ x << i);
            (4..7).rev().fold(product, |p, i| {
                if p >> i & 1 == 1 {
                    p ^ 0b10011 << (i - 4)
                } else {
                    p
                }
            })
        };
        (0..14).fold(1, |power, _| times(power, x))
    }

    fn evaluate(program: &Program, x: u16) -> u16 {
        let parity = |signals: u32, mask: u32| (signals & mask).count_ones() & 1;
        let mut signals = u32::from(x);
        for (i, &(left, right)) in program.ands.iter().enumerate() {
            signals |= (parity(signals, left) & parity(signals, right)) << (4 + i);
        }
        let outputs = program.outputs.iter().enumerate();
        outputs.fold(0, |y, (i, &mask)| y | (parity(signals, mask) as u16) << i)
    }

    #[test]
    fn inversion_takes_five_ands_at_depth_three_or_six_at_depth_two() {
        let targets = tables(inverse);
        assert_eq!(search(targets, 4, 4), None);
        assert_eq!(search(targets, 5, 2), None);
        for (ands, depth) in [(5, 3), (6, 2)] {
            let program = search(targets, ands, depth).unwrap();
            assert_eq!(program.ands.len(), ands);
            for x in 0..16 {
                assert_eq!(evaluate(&program, x), inverse(x));
            }
        }
    }

    #[test]
    fn linear_functions_take_none() {
        let program = search(tables(|x| x ^ x >> 1), 0, 0).unwrap();
        assert!(program.ands.is_empty());
        assert!((0..16).all(|x| evaluate(&program, x) == x ^ x >> 1));
    }
}
