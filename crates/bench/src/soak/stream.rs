//! Computations without end.

use std::time::{Duration, Instant};

use cenote::NO_ERROR_LOG2;
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{ClearEngine, Engine, Parties, Result, memory};

use super::circuits::{self, SMALLEST};
use super::computation::{Computation, MOST_STEPS, Shape};
use super::dice::Dice;
use super::note::Note;

/// Bits of the number of computations that come next.
const COUNT_BITS: usize = 16;

/// About how many seconds pass from one such number to the next.
const PACE: f64 = 2.0;

/// Computes what `seed` draws, with `largest` AND gates at most: first the largest computations, then others for as long as `length`. Ends
/// the session in agreement.
///
/// # Errors
/// The engine's.
pub(super) fn drive<E: Engine + ?Sized>(
    engine: &mut E,
    seed: u64,
    length: Duration,
    largest: u64,
    told: &mut dyn FnMut(&Note),
) -> Result<Note> {
    let start = Instant::now();
    let mut stream = Stream {
        dice: Dice::new(seed),
        note: Note {
            party: engine.me().0,
            ..Note::default()
        },
        engine,
    };
    stream.computation().run_library(largest)?;
    for shape in largest_shapes(largest) {
        stream.computation().run(shape)?;
    }
    for party in 0..stream.engine.parties() as u8 {
        stream.computation().run_widest(largest, PartyId(party))?;
    }
    stream.note.warm = true;
    stream.tell(start, told);
    let warm = Instant::now();
    let mut wanted = 1;
    loop {
        let left = length.saturating_sub(warm.elapsed());
        let count = stream.agree(if left.is_zero() { 0 } else { wanted })?;
        if count == 0 {
            break;
        }
        let begun = Instant::now();
        for _ in 0..count {
            let shape = stream.shape(largest);
            stream.computation().run(shape)?;
        }
        stream.tell(start, told);
        let pace = PACE.min(left.as_secs_f64()) / begun.elapsed().as_secs_f64().max(1e-3);
        let next = f64::from(count) * pace.clamp(0.1, 2.0);
        wanted = next.round().clamp(1.0, f64::from(u16::MAX)) as u16;
    }
    stream.engine.finish()?;
    stream.tell(start, &mut |_| ());
    Ok(stream.note)
}

/// Computations that take much memory: large circuits, many lanes, many circuits.
fn largest_shapes(size: u64) -> [Shape; 4] {
    let gates = circuits::MOST_GATES;
    let shape = |steps, gates| Shape { size, steps, gates };
    [
        shape(1, gates),
        shape(1, SMALLEST),
        shape(MOST_STEPS, 1000),
        shape(3, gates),
    ]
}

struct Stream<'a, E: Engine + ?Sized> {
    engine: &'a mut E,
    dice: Dice,
    note: Note,
}

impl<E: Engine + ?Sized> Stream<'_, E> {
    /// A computation of any size.
    fn shape(&mut self, largest: u64) -> Shape {
        let size = self.dice.magnitude(SMALLEST, largest);
        Shape {
            size,
            steps: 1 + self.dice.below(MOST_STEPS),
            gates: self.dice.magnitude(SMALLEST, size),
        }
    }

    fn computation(&mut self) -> Computation<'_, E> {
        Computation {
            engine: self.engine,
            dice: &mut self.dice,
            note: &mut self.note,
            clear: ClearEngine::new(PartyId(0), Vec::new()),
        }
    }

    /// Party 0's number, after all parties have seen that they have drawn the same.
    fn agree(&mut self, own: u16) -> Result<u16> {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&self.dice.state().to_le_bytes());
        self.engine.compare(&digest)?;
        let bits = BitMatrix::from_fn(COUNT_BITS, 1, |row, _| own >> row & 1 == 1);
        let own = (self.engine.me() == PartyId(0)).then_some(&bits);
        let wires = self.engine.input(PartyId(0), COUNT_BITS, 1, own)?;
        let opened = self.engine.reveal(&wires, Parties::all(self.engine.parties()))?;
        let opened = opened.unwrap_or_else(|| BitMatrix::zeros(COUNT_BITS, 1));
        Ok((0..COUNT_BITS).fold(0, |count, row| count | u16::from(opened.get(row, 0)) << row))
    }

    fn tell(&mut self, start: Instant, told: &mut dyn FnMut(&Note)) {
        let traffic = self.engine.costs().traffic;
        self.note.seconds = start.elapsed().as_secs_f64();
        self.note.physical(memory::resident(), memory::peak());
        self.note.in_use_bytes = memory::in_use();
        self.note.error_log2 = self.engine.error_bound().max(NO_ERROR_LOG2);
        self.note.bytes_sent = traffic.bytes_sent;
        self.note.bytes_received = traffic.bytes_received;
        let warnings = self.engine.warnings().into_iter();
        self.note.warnings = warnings.map(|warning| warning.text).collect();
        told(&self.note);
    }
}
