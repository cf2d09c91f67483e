//! Where fresh randomness comes from: the operating system, and in tests a seed.

use std::fmt;

use zeroize::Zeroizing;

use crate::{Block, Block512, Position, Prg, as_bytes};

/// `N` bytes from the operating system.
///
/// # Panics
/// If the operating system has no randomness to give; nothing secure can be done then.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    os_fill(&mut bytes);
    bytes
}

fn os_fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system's random source failed");
}

/// A source of fresh randomness. Production code uses [`Entropy::os`] only.
///
/// `Debug` prints which kind of source it is, never its state.
pub struct Entropy(Generator);

enum Generator {
    Os,
    Seeded { prg: Box<Prg>, next: u64 },
}

impl Entropy {
    /// The operating system's randomness.
    pub fn os() -> Entropy {
        Entropy(Generator::Os)
    }

    /// **For tests only**: a deterministic source, worthless for security. Equal seeds give equal sequences of calls
    /// equal answers; different seeds give unrelated ones.
    pub fn for_tests(seed: u64) -> Entropy {
        let prg = Prg::new(Block([seed, u64::from_le_bytes(*b"testseed")].map(u64::to_le)));
        Entropy(Generator::Seeded {
            prg: Box::new(prg),
            next: 0,
        })
    }

    /// Fills `bytes` with fresh randomness.
    ///
    /// # Panics
    /// If the operating system has no randomness to give.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        match &mut self.0 {
            Generator::Os => os_fill(bytes),
            Generator::Seeded { prg, next } => {
                // Every call starts on a block of its own, so that the answer depends on the calls before it only.
                for chunk in bytes.chunks_mut(size_of::<Block512>()) {
                    let mut block = [Block512::ZERO];
                    prg.fill(
                        Position {
                            stream: 0,
                            index: *next,
                        },
                        &mut block,
                    );
                    *next += 1;
                    chunk.copy_from_slice(&as_bytes(&block)[..chunk.len()]);
                }
            }
        }
    }

    /// Another source of the same kind, for another thread.
    ///
    /// # Panics
    /// If the operating system has no randomness to give.
    pub fn fork(&mut self) -> Entropy {
        Entropy(match self.0 {
            Generator::Os => Generator::Os,
            Generator::Seeded { .. } => Generator::Seeded {
                prg: Box::new(self.prg()),
                next: 0,
            },
        })
    }

    /// `N` fresh bytes.
    ///
    /// # Panics
    /// If the operating system has no randomness to give.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A fresh block, such as the key of a [`Prg`].
    ///
    /// # Panics
    /// If the operating system has no randomness to give.
    pub fn block(&mut self) -> Block {
        Block::from_bytes(*Zeroizing::new(self.bytes()))
    }

    /// A fresh generator: a [`Prg`] under a key that nobody else sees.
    ///
    /// # Panics
    /// If the operating system has no randomness to give.
    pub fn prg(&mut self) -> Prg {
        Prg::new(self.block())
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Generator::Os => "Entropy(os)",
            Generator::Seeded { .. } => "Entropy(for tests)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operating_system_does_not_repeat_itself() {
        assert_ne!(random_bytes::<32>(), random_bytes::<32>());
        let mut entropy = Entropy::os();
        assert_ne!(entropy.block(), entropy.block());
        assert_ne!(entropy.block(), Entropy::os().block());
    }

    #[test]
    fn seeds_repeat_and_differ() {
        let draw = |seed| {
            let mut entropy = Entropy::for_tests(seed);
            (entropy.bytes::<3>(), entropy.block(), entropy.bytes::<200>())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let (_, block, long) = draw(1);
        assert_ne!(
            block,
            Block::from_bytes(long[..16].try_into().unwrap()),
            "calls must not overlap"
        );
        assert_ne!(long[..64], long[64..128]);
    }

    #[test]
    fn a_source_can_move_to_another_thread_and_prints_nothing() {
        fn send<T: Send>(_: &T) {}
        let entropy = Entropy::for_tests(5);
        send(&entropy);
        assert_eq!(
            format!("{entropy:?} {:?}", Entropy::os()),
            "Entropy(for tests) Entropy(os)"
        );
    }
}
