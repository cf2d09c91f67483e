//! How a circuit and its lanes are gone through.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use cenote_circuit::Plan;
use cenote_session::{Flips, Result};

/// Bytes of slots that stay in a core's own cache.
pub(crate) const WORKING_SET: usize = 640 << 10;

/// A plan, and where negations and constants end up: cells of negated wires are sums like all others, plus what negation adds.
/// Where that is is known ahead, and so slots hold cells without it.
pub(crate) struct Circuit {
    pub(crate) plan: Plan,
    /// The AND gates of each level.
    pub(crate) levels: Vec<Ands>,
    /// Whether outputs are negated.
    pub(crate) output_flips: Vec<bool>,
}

/// A slot, and whether what it holds is to be negated.
pub(crate) type Operand = (u32, bool);

/// The AND gates of a level.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ands {
    /// Gates by themselves: operands and output.
    pub(crate) single: Vec<([Operand; 2], u32)>,
    /// Gates that have an operand in common: the others, with outputs, as many for each as a gadget has, and the common one.
    pub(crate) shared: Vec<(Vec<(Operand, u32)>, Operand)>,
}

impl Ands {
    /// Sorts gates: in each of `shared`, `width` have an operand in common. None do if `width` is below 2.
    fn new(gates: Vec<([Operand; 2], u32)>, width: usize) -> Self {
        let mut ands = Self::default();
        if width < 2 {
            ands.single = gates;
            return ands;
        }
        // Of each gate the operand that more gates have is the one that it might share.
        let mut uses: HashMap<Operand, usize> = HashMap::new();
        for ([a, b], _) in &gates {
            *uses.entry(*a).or_default() += 1;
            if a != b {
                *uses.entry(*b).or_default() += 1;
            }
        }
        let mut by_operand: BTreeMap<Operand, Vec<(Operand, u32)>> = BTreeMap::new();
        for ([a, b], dst) in gates {
            let (common, other) = if uses[&a] > uses[&b] { (a, b) } else { (b, a) };
            by_operand.entry(common).or_default().push((other, dst));
        }
        for (common, gates) in by_operand {
            let whole = gates.len() / width * width;
            let (shared, single) = gates.split_at(whole);
            let shared = shared.chunks_exact(width);
            ands.shared.extend(shared.map(|gates| (gates.to_vec(), common)));
            ands.single
                .extend(single.iter().map(|&(other, dst)| ([other, common], dst)));
        }
        ands
    }
}

/// Gadgets of `width` gates that have an operand in common, of which a lane of `plan` takes so many; none if there is no memory to
/// find them.
pub(crate) fn shared_gadgets(plan: &Plan, width: usize) -> u64 {
    let shared = |circuit: Circuit| circuit.levels.iter().map(|ands| ands.shared.len() as u64).sum();
    Circuit::new(plan, width).map_or(0, shared)
}

impl Circuit {
    /// Bytes of circuits that are kept besides the one used last.
    pub(crate) const KEPT: u64 = 1 << 20;

    /// `plan`, with gadgets of `width` gates for those that have an operand in common.
    pub(crate) fn new(plan: &Plan, width: usize) -> Result<Self> {
        let Flips { operands, outputs } = Flips::of(plan, "circuits")?;
        let levels = plan.levels().iter().map(|level| {
            let gates = level.ands.clone().map(|gate| {
                let (op, [a, b]) = (plan.and_ops()[gate], operands[gate]);
                ([(op.a, a), (op.b, b)], op.dst)
            });
            Ands::new(gates.collect(), width)
        });
        Ok(Self {
            levels: levels.collect(),
            plan: plan.clone(),
            output_flips: outputs,
        })
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let of_level = |ands: &Ands| {
            let shared = ands.shared.iter().map(|(others, _)| size_of_val(&others[..]));
            size_of_val(&ands.single[..]) + size_of_val(&ands.shared[..]) + shared.sum::<usize>()
        };
        let levels: usize = self.levels.iter().map(of_level).sum();
        self.plan.bytes() + (levels + size_of_val(&self.levels[..]) + self.output_flips.len()) as u64
    }

    /// The most gates of a level by themselves, and the most of one that have an operand in common with others.
    pub(crate) fn widest(&self) -> [usize; 2] {
        let of = |gates: fn(&Ands) -> usize| self.levels.iter().map(gates).max().unwrap_or(0);
        let shared = |ands: &Ands| ands.shared.iter().map(|(others, _)| others.len()).sum();
        [of(|ands| ands.single.len()), of(shared)]
    }

    /// Lanes at once: as many as the working set allows for cells of `bytes`.
    pub(crate) fn width(&self, bytes: usize) -> usize {
        (WORKING_SET / bytes / self.plan.slots().max(1)).max(1)
    }

    /// Ranges of lanes of equal width, nearly.
    pub(crate) fn tiles(&self, lanes: usize, bytes: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = lanes.div_ceil(self.width(bytes)).max(1);
        (0..count).map(move |tile| tile * lanes / count..(tile + 1) * lanes / count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cenote_circuit::library;
    use cenote_session::Recent;

    use super::*;

    #[test]
    fn gates_with_an_operand_in_common_are_put_together() {
        let slot = |slot: u32| (slot, false);
        // Eleven gates with 0, in either place, one of them with 0 twice, and two others.
        let mut gates: Vec<([Operand; 2], u32)> = (1..=10)
            .map(|x| {
                let operands = if x % 2 == 0 {
                    [slot(0), slot(x)]
                } else {
                    [slot(x), slot(0)]
                };
                (operands, 20 + x)
            })
            .collect();
        gates.push(([slot(0), slot(0)], 31));
        gates.push(([slot(3), slot(5)], 32));
        gates.push(([(0, true), slot(5)], 33));
        let ands = Ands::new(gates.clone(), 4);
        assert_eq!((ands.shared.len(), ands.single.len()), (2, 5));
        let mut found: Vec<([Operand; 2], u32)> = ands.single.clone();
        for (others, common) in &ands.shared {
            assert_eq!((others.len(), *common), (4, slot(0)));
            found.extend(others.iter().map(|&(other, dst)| ([other, *common], dst)));
        }
        let sorted = |mut gates: Vec<([Operand; 2], u32)>| {
            gates.iter_mut().for_each(|(operands, _)| operands.sort());
            gates.sort_by_key(|(_, dst)| *dst);
            gates
        };
        assert_eq!(sorted(found), sorted(gates.clone()));
        assert_eq!(Ands::new(gates.clone(), 0).single, gates);
    }

    /// A service that runs ever other circuits does not keep them.
    #[test]
    fn circuits_that_were_run_are_kept_if_they_are_small() {
        let mut circuits = Recent::new(Circuit::KEPT, Circuit::bytes);
        let get = |circuits: &mut Recent<Circuit>, plan: &Plan| {
            circuits.get(plan, || Circuit::new(plan, 0)).unwrap()
        };
        let plan = |name| Plan::new(&library::by_name(name).unwrap());
        let small: Vec<Plan> = ["add32", "add64", "mult16"].map(plan).into();
        let first = get(&mut circuits, &small[0]);
        for plan in &small {
            get(&mut circuits, plan);
        }
        assert!(Arc::ptr_eq(&get(&mut circuits, &small[0]), &first));
        let mut largest = 0;
        for name in ["sha512", "div512", "mult512", "sort64x32", "mult256"] {
            let Ok(circuit) = library::by_name(name) else {
                continue;
            };
            let circuit = get(&mut circuits, &Plan::new(&circuit));
            largest = circuit.bytes().max(largest);
            assert_eq!(Arc::strong_count(&circuit), 2, "it is kept");
            assert!(circuits.bytes() <= Circuit::KEPT + circuit.bytes(), "{name}");
        }
        assert!(largest > Circuit::KEPT / 2, "{largest}");
        assert_eq!(Arc::strong_count(&first), 1, "it is forgotten");
    }
}
