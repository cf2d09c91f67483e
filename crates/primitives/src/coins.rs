//! Blocks that nobody knows before they are drawn.

use std::fmt;

use zeroize::Zeroizing;

use crate::{Block, Block512, Position, Prg};

/// Uniform blocks, one after the other: challenges, and what secrets are made from. `Debug` prints the type only.
pub struct Coins {
    prg: Prg,
    drawn: u64,
}

impl Coins {
    /// Those of a generator that is used for nothing else.
    pub fn new(prg: Prg) -> Self {
        Self { prg, drawn: 0 }
    }

    /// The next one.
    pub fn toss(&mut self) -> Block {
        let mut coin = Zeroizing::new([Block512::ZERO]);
        let at = Position {
            stream: 0,
            index: self.drawn,
        };
        self.prg.fill(at, &mut *coin);
        self.drawn += 1;
        Block([coin[0].0[0], coin[0].0[1]])
    }
}

impl fmt::Debug for Coins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Coins")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_coin_is_tossed_twice() {
        let mut coins = Coins::new(Prg::new(Block([1, 2])));
        let mut tossed: Vec<[u64; 2]> = (0..1000).map(|_| coins.toss().0).collect();
        tossed.sort_unstable();
        tossed.dedup();
        assert_eq!(tossed.len(), 1000);
        let again = Coins::new(Prg::new(Block([1, 2]))).toss();
        assert!(tossed.contains(&again.0));
    }
}
