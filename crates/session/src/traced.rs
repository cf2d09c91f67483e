//! Wires that remember what they were computed from, at a party that may have to find their bits in the clear later.

use std::sync::{Arc, OnceLock};

use cenote_primitives::BitMatrix;

use crate::{Bundle, Bundles, WireVector};

/// A bundle that keeps, for as long as it lives, the wires that its own were computed from. So a chain of circuits, each fed by the one before,
/// keeps all its links.
pub trait Traced: Bundle + Sized {
    /// The wires that these were computed from; none of inputs.
    fn sources(&self) -> impl Iterator<Item = &Bundles<Self>>;

    /// The bits, once they are known.
    fn clear(&self) -> &OnceLock<BitMatrix>;

    /// Wipes what a bundle that is about to be dropped knows of its bits, and moves its sources to `links`.
    fn unlink(&mut self, links: &mut Vec<Bundles<Self>>);
}

impl<B: Traced> Bundles<B> {
    /// The bits of these wires, a row for each; zeros where they cannot be known. `find` tells the bits of a bundle whose sources were told before,
    /// or nothing if they cannot be known. What the wires depend on is found out once.
    pub fn replay(&self, find: impl Fn(&B) -> Option<BitMatrix>) -> BitMatrix {
        // Sources first, without recursion, for chains may be long.
        let mut stack: Vec<(Arc<B>, bool)> = bundles(self).collect();
        while let Some((bundle, ready)) = stack.pop() {
            if bundle.clear().get().is_some() {
                continue;
            }
            if !ready && bundle.sources().next().is_some() {
                stack.push((bundle.clone(), true));
                stack.extend(bundle.sources().flat_map(bundles));
                continue;
            }
            if let Some(bits) = find(&bundle) {
                // Set before only if the bundle was on the stack twice.
                let _ = bundle.clear().set(bits);
            }
        }
        self.known_bits()
    }

    /// The bits of these wires as far as they are known, a row for each; zeros for others.
    pub fn known_bits(&self) -> BitMatrix {
        let mut bits = BitMatrix::zeros(self.wires(), self.lanes());
        for (row, (bundle, wire)) in self.rows().enumerate() {
            if let Some(clear) = bundle.clear().get() {
                bits.row_mut(row).copy_from_slice(clear.row(wire));
            }
        }
        bits
    }
}

fn bundles<B: Bundle>(wires: &Bundles<B>) -> impl Iterator<Item = (Arc<B>, bool)> {
    let parts = wires.parts().iter();
    parts.map(|part| (part.bundle.clone(), false))
}

/// Drops what `bundle`, which is about to be dropped, was computed from: link after link, as a long chain must not be dropped link within link.
pub fn drop_sources<B: Traced>(bundle: &mut B) {
    let mut links = Vec::new();
    bundle.unlink(&mut links);
    while let Some(sources) = links.pop() {
        for part in sources.into_parts() {
            if let Some(mut bundle) = Arc::into_inner(part.bundle) {
                bundle.unlink(&mut links);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wire that is the opposite of its source; without one it is 0.
    #[derive(Default)]
    struct Not {
        source: Option<Bundles<Not>>,
        clear: OnceLock<BitMatrix>,
    }

    impl Bundle for Not {
        fn wires(&self) -> usize {
            1
        }

        fn lanes(&self) -> usize {
            1
        }
    }

    impl Traced for Not {
        fn sources(&self) -> impl Iterator<Item = &Bundles<Self>> {
            self.source.iter()
        }

        fn clear(&self) -> &OnceLock<BitMatrix> {
            &self.clear
        }

        fn unlink(&mut self, links: &mut Vec<Bundles<Self>>) {
            links.extend(self.source.take());
        }
    }

    impl Drop for Not {
        fn drop(&mut self) {
            drop_sources(self);
        }
    }

    #[test]
    fn a_long_chain_is_replayed_and_dropped() {
        let mut wires = Bundles::of(Arc::new(Not::default()));
        for _ in 0..200_001 {
            let not = Not {
                source: Some(wires),
                clear: OnceLock::new(),
            };
            wires = Bundles::of(Arc::new(not));
        }
        let bits = wires.replay(|not| {
            let source = not.source.as_ref().map(Bundles::known_bits);
            Some(BitMatrix::from_fn(1, 1, |_, _| {
                source.as_ref().is_some_and(|bits| !bits.get(0, 0))
            }))
        });
        assert!(bits.get(0, 0));
        assert!(wires.known_bits().get(0, 0));
    }

    #[test]
    fn what_cannot_be_known_is_zero() {
        let wires = Bundles::of(Arc::new(Not::default()));
        assert!(!wires.replay(|_| None).get(0, 0));
        assert!(wires.parts()[0].bundle.clear.get().is_none());
    }
}
