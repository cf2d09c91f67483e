//! Secret wires: replicated sharings of bits, a row of lanes per wire.

pub(crate) mod spare;

use std::fmt;
use std::ops::Range;

use cenote_primitives::{LaneRun, Rows, arrange_rows};
use cenote_session::{Piece, Result, WireVector, room};

/// What room is asked for.
pub(crate) const WIRES: &str = "shares of wires";

/// Replicated sharings of `wires` × `lanes` bits, as one party holds them: component `i` and component `i + 1` of each.
///
/// Both components are rows of 64-bit words like those of a [`cenote_primitives::BitMatrix`], but their padding bits
/// mean nothing. Both holders of a component have the same there too, since gates are checked with them. `Debug` prints the shape only.
#[derive(Clone)]
pub struct ThreeWires {
    wires: usize,
    lanes: usize,
    pub(crate) components: [Vec<u64>; 2],
}

impl ThreeWires {
    /// # Errors
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for them.
    pub(crate) fn zeros(wires: usize, lanes: usize) -> Result<Self> {
        let words = wires.saturating_mul(lanes.div_ceil(64));
        Ok(Self {
            wires,
            lanes,
            components: [zeros(words)?, zeros(words)?],
        })
    }

    /// The lanes of `runs`, one run after the other.
    pub(crate) fn arrange(parts: &[Piece<'_, Self>], runs: &[LaneRun]) -> Result<Self> {
        let wires = parts.first().map_or(0, |(_, range)| range.len());
        let mut arranged = Self::zeros(wires, runs.iter().map(LaneRun::lanes).sum())?;
        for (index, component) in arranged.components.iter_mut().enumerate() {
            let parts: Vec<Rows<'_>> = parts
                .iter()
                .map(|(part, range)| {
                    let stride = part.stride();
                    Rows {
                        words: &part.components[index][range.start * stride..range.end * stride],
                        lanes: part.lanes,
                    }
                })
                .collect();
            arrange_rows(component, wires, runs, &parts);
        }
        Ok(arranged)
    }

    /// 64-bit words in a row.
    pub(crate) fn stride(&self) -> usize {
        self.lanes.div_ceil(64)
    }
}

fn zeros(words: usize) -> Result<Vec<u64>> {
    spare::take(words).map_or_else(|| room::zeroed(WIRES, words), Ok)
}

impl Drop for ThreeWires {
    fn drop(&mut self) {
        self.components
            .iter_mut()
            .for_each(|component| spare::give_up(std::mem::take(component)));
    }
}

impl WireVector for ThreeWires {
    fn wires(&self) -> usize {
        self.wires
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn select(&self, range: Range<usize>) -> Self {
        assert!(range.end <= self.wires, "wires {range:?} of {}", self.wires);
        let words = range.start * self.stride()..range.end * self.stride();
        Self {
            wires: range.len(),
            lanes: self.lanes,
            components: self
                .components
                .each_ref()
                .map(|component| component[words.clone()].to_vec()),
        }
    }

    fn concat(parts: &[&Self]) -> Self {
        let lanes = parts.first().expect("at least one part").lanes;
        assert!(
            parts.iter().all(|part| part.lanes == lanes),
            "all parts have the same lanes"
        );
        Self {
            wires: parts.iter().map(|part| part.wires).sum(),
            lanes,
            components: [0, 1].map(|index| {
                let components: Vec<&[u64]> = parts.iter().map(|part| &*part.components[index]).collect();
                components.concat()
            }),
        }
    }
}

impl fmt::Debug for ThreeWires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreeWires({} × {})", self.wires, self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use cenote_session::Error;

    use super::*;

    #[test]
    fn wires_that_there_is_no_room_for_are_refused() {
        for (wires, lanes) in [(1 << 40, 1 << 20), (usize::MAX, usize::MAX)] {
            match ThreeWires::zeros(wires, lanes) {
                Err(Error::OutOfMemory(what)) => assert!(what.contains(WIRES), "{what}"),
                other => panic!("{:?}", other.map(|_| ())),
            }
        }
    }
}
