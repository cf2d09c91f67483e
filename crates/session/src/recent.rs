//! Circuits in use, as a protocol runs them.

use std::sync::Arc;

use cenote_circuit::Plan;

use crate::Result;

/// What a protocol has made of circuits, so that one that is run many times is prepared once. The one used last is forgotten last.
pub struct Recent<C> {
    /// With the digests of the circuits: a plan is a function of its circuit.
    kept: Vec<([u8; 32], Arc<C>)>,
    /// Bytes that those before the last may have.
    most: u64,
    size: fn(&C) -> u64,
}

impl<C> Recent<C> {
    /// Most circuits that are kept.
    const KEPT: usize = 16;

    /// Nothing yet. Of what was made, each of so many bytes as `size` says, `most` are kept besides the one used last.
    pub fn new(most: u64, size: fn(&C) -> u64) -> Self {
        Self {
            kept: Vec::new(),
            most,
            size,
        }
    }

    /// What was made of `plan`, by `make` if it is not there.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get(&mut self, plan: &Plan, make: impl FnOnce() -> Result<C>) -> Result<Arc<C>> {
        let digest = plan.digest();
        let known = self.kept.iter().position(|(known, _)| *known == digest);
        let known = known.map(|known| self.kept.remove(known).1);
        while self.kept.len() >= Self::KEPT || self.bytes() > self.most {
            self.kept.remove(0);
        }
        let circuit = known.map_or_else(|| make().map(Arc::new), Ok)?;
        self.kept.push((digest, circuit.clone()));
        Ok(circuit)
    }

    /// Drops what was made of one that will not be used again soon.
    pub fn forget(&mut self, plan: &Plan) {
        let digest = plan.digest();
        self.kept.retain(|(known, _)| *known != digest);
    }

    /// Bytes of all that is kept.
    pub fn bytes(&self) -> u64 {
        self.kept.iter().map(|(_, kept)| (self.size)(kept)).sum()
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::library;

    use super::*;

    #[test]
    fn the_circuits_used_last_are_kept() {
        let plans: Vec<Plan> = (1..=Recent::<u64>::KEPT + 1)
            .map(|width| Plan::new(&library::by_name(&format!("add{width}")).unwrap()))
            .collect();
        let mut recent = Recent::new(100, |size| *size);
        let made = |recent: &mut Recent<u64>, at: usize, size: u64| {
            let mut made = false;
            let make = || {
                made = true;
                Ok(size)
            };
            recent.get(&plans[at], make).unwrap();
            made
        };
        for at in (0..plans.len() - 1).chain([0]) {
            assert_eq!(made(&mut recent, at, 1), at > 0 || recent.bytes() == 1, "{at}");
        }
        // One too many: the one that was used again is still there.
        assert!(made(&mut recent, plans.len() - 1, 90) && !made(&mut recent, 0, 1));
        assert!(made(&mut recent, 1, 1), "the oldest is gone");
        assert_eq!(recent.bytes(), 101);
        assert!(
            made(&mut recent, 2, 1000),
            "a large one is kept while it is the last"
        );
        recent.forget(&plans[2]);
        assert!(made(&mut recent, 2, 7));
    }
}
