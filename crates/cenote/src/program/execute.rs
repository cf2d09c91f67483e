//! Computing a program over any engine.

use std::ops::Range;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Error as EngineError, Phases, WireVector, room};

use super::Program;
use crate::Result;

/// What one party has of a program that was executed.
#[derive(Debug)]
pub struct Executed {
    /// One entry for each output value: its bits, wires × lanes, where this party is a receiver.
    pub outputs: Vec<Option<BitMatrix>>,
    /// Why the session did not end in agreement, if it did not although this party has outputs: they were verified before
    /// they were opened, so they stand. Whether the peers have theirs is not known then.
    pub unfinished: Option<EngineError>,
}

/// What was computed and is not open yet.
pub(crate) struct Evaluated<W> {
    lanes: usize,
    /// The first lane of each segment, and its outputs.
    segments: Vec<(usize, W)>,
}

impl Program {
    /// Runs the program at one party. `inputs` has one entry for each input value: its bits (wires × lanes) where this party
    /// is the owner. `progress` is told the AND gates done.
    ///
    /// Nothing is revealed before everything has been computed: no party can make its inputs in some lanes depend on the
    /// outputs of others.
    ///
    /// # Errors
    /// The engine's. A failure after this party has learnt its outputs is no error: [`Executed::unfinished`].
    pub fn execute<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        mut progress: impl FnMut(u64),
    ) -> Result<Executed> {
        self.execute_within(&Phases::unlimited(), engine, inputs, |done, _| progress(done))
    }

    /// The same, in `phases`. `progress` is told the AND gates of the program done, of how many, and before that how much of what the engine
    /// makes ahead is made.
    pub(crate) fn execute_within<E: Engine + ?Sized>(
        &self,
        phases: &Phases,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Executed> {
        phases.begin("the preparation");
        let most = engine.most_lanes(&self.plan);
        // An engine that makes no more ahead learns at once what all of it takes.
        let announced = if self.lanes > most {
            self.lanes
        } else {
            self.segment_lanes()
        };
        self.demand_by(announced)
            .announce_telling(engine, &mut progress)?;
        phases.begin("the evaluation");
        let evaluated = self.evaluate(engine, inputs, self.lanes, &mut progress)?;
        let outputs = self.reveal(engine, evaluated)?;
        phases.begin("the farewell");
        let unfinished = match engine.finish() {
            // A peer that withholds its farewell must not take away what is verified.
            Err(error) if outputs[..self.opened].iter().any(Option::is_some) => Some(error),
            finished => {
                finished?;
                None
            }
        };
        Ok(Executed { outputs, unfinished })
    }

    /// Computes the program on so many lanes of `inputs`. Nothing is opened to anybody.
    pub(crate) fn evaluate<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        lanes: usize,
        progress: &mut impl FnMut(u64, u64),
    ) -> Result<Evaluated<E::Wires>> {
        let size = self.segment_lanes().min(engine.most_lanes(&self.plan));
        let ands = self.plan.and_count() as u64;
        let several = lanes > size;
        let mut evaluated = Evaluated {
            lanes,
            segments: Vec::new(),
        };
        for of_segment in segments(lanes, size) {
            let wires = self.put_in(engine, inputs, of_segment.clone())?;
            let outputs = engine.run(&self.plan, &wires)?;
            let outputs = if several { engine.settle(outputs)? } else { outputs };
            progress(ands * of_segment.end as u64, ands * lanes as u64);
            evaluated.segments.push((of_segment.start, outputs));
        }
        Ok(evaluated)
    }

    /// Opens what was computed: one entry for each output value, its bits where this party is a receiver, or its share where it is kept.
    pub(crate) fn reveal<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        evaluated: Evaluated<E::Wires>,
    ) -> Result<Vec<Option<BitMatrix>>> {
        let mut outputs: Vec<Option<BitMatrix>> = vec![None; self.circuit.outputs().len()];
        for (first, wires) in evaluated.segments {
            self.keep(engine, &wires, (first, evaluated.lanes), &mut outputs)?;
            self.open(engine, &wires, (first, evaluated.lanes), &mut outputs)?;
        }
        Ok(outputs)
    }

    /// Opens the outputs of a segment, whose lanes are those from `first` on of `all`, to their receivers, those with the same receivers together.
    fn open<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        wires: &E::Wires,
        (first, all): (usize, usize),
        outputs: &mut [Option<BitMatrix>],
    ) -> Result<()> {
        for (receivers, values) in grouped(&self.receivers) {
            let parts: Vec<E::Wires> = values
                .iter()
                .map(|&value| wires.select(self.circuit.output_range(value)))
                .collect();
            let together = E::Wires::concat(&parts.iter().collect::<Vec<_>>());
            let Some(bits) = engine.reveal(&together, receivers)? else {
                continue;
            };
            let mut before = 0;
            for value in values {
                let width = self.circuit.outputs()[value].width as usize;
                let output = match &mut outputs[value] {
                    Some(output) => output,
                    output => output.insert(room::bits("outputs", width, all)?),
                };
                for row in 0..width {
                    output.row_mut(row)[first / 64..][..bits.stride()]
                        .copy_from_slice(bits.row(before + row));
                }
                before += width;
            }
        }
        Ok(())
    }

    /// This party's shares of the outputs of a segment that are kept: of each output, the rows of its share.
    fn keep<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        wires: &E::Wires,
        (first, all_lanes): (usize, usize),
        outputs: &mut [Option<BitMatrix>],
    ) -> Result<()> {
        let kept = self.receivers.len()..self.circuit.outputs().len();
        if kept.is_empty() {
            return Ok(());
        }
        let ranges: Vec<Range<usize>> = kept
            .clone()
            .map(|value| self.circuit.output_range(value))
            .collect();
        let parts: Vec<E::Wires> = ranges.iter().map(|range| wires.select(range.clone())).collect();
        let together = E::Wires::concat(&parts.iter().collect::<Vec<_>>());
        let share = engine.keep(&together)?;
        let (all, mut before) = (together.wires(), 0);
        let each = share.rows().checked_div(all).unwrap_or(0);
        for (value, range) in kept.zip(ranges) {
            let width = range.len();
            let output = match &mut outputs[value] {
                Some(output) => output,
                output => output.insert(room::bits("outputs", each * width, all_lanes)?),
            };
            for row in 0..each * width {
                let from = row / width * all + before + row % width;
                output.row_mut(row)[first / 64..][..share.stride()].copy_from_slice(share.row(from));
            }
            before += width;
        }
        Ok(())
    }

    /// The input wires of `lanes`: all values of an owner are put in together.
    fn put_in<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        inputs: &[Option<BitMatrix>],
        lanes: Range<usize>,
    ) -> Result<E::Wires> {
        let values = self.circuit.inputs();
        let mut wires: Vec<Option<E::Wires>> = vec![None; values.len()];
        for (owner, of_owner) in grouped(&self.owners) {
            let width = of_owner.iter().map(|&value| values[value].width as usize).sum();
            let own = self.own_bits(owner, &of_owner, inputs, lanes.clone())?;
            let together = engine.input(owner, width, lanes.len(), own.as_ref())?;
            let mut first = 0;
            for value in of_owner {
                let width = values[value].width as usize;
                wires[value] = Some(together.select(first..first + width));
                first += width;
            }
        }
        for (value, wires) in wires.iter_mut().enumerate().skip(self.owners.len()) {
            let share = inputs.get(value).and_then(Option::as_ref);
            let share = share.filter(|share| share.lanes() >= lanes.end).ok_or_else(|| {
                EngineError::BadInput(
                    "the share of a value that was kept is missing, or has fewer lanes".into(),
                )
            })?;
            let width = values[value].width as usize;
            *wires = Some(engine.take(width, &columns(share, lanes.clone()))?);
        }
        let wires: Vec<&E::Wires> = wires.iter().flatten().collect();
        Ok(match wires.as_slice() {
            [] => engine.constant(&BitMatrix::zeros(0, lanes.len()))?,
            wires => E::Wires::concat(wires),
        })
    }

    /// The bits of all values of an owner in `lanes`, one value after the other; nothing at a party that does not have them.
    fn own_bits(
        &self,
        owner: PartyId,
        of_owner: &[usize],
        inputs: &[Option<BitMatrix>],
        lanes: Range<usize>,
    ) -> Result<Option<BitMatrix>> {
        let own: Option<Vec<&BitMatrix>> = of_owner
            .iter()
            .map(|&value| inputs.get(value)?.as_ref())
            .collect();
        let Some(own) = own else { return Ok(None) };
        let widths = of_owner
            .iter()
            .map(|&value| self.circuit.inputs()[value].width as usize);
        let shaped = |(bits, width): (&&BitMatrix, usize)| bits.rows() == width && bits.lanes() >= lanes.end;
        if !own.iter().zip(widths.clone()).all(shaped) {
            let reason =
                format!("the inputs of {owner} are not of the circuit's widths, or have fewer lanes");
            return Err(EngineError::BadInput(reason).into());
        }
        let mut together = room::bits("inputs", widths.sum(), lanes.len())?;
        let mut words = together.words_mut();
        for bits in own {
            let part = columns(bits, lanes.clone());
            let (here, rest) = words.split_at_mut(part.words().len());
            here.copy_from_slice(part.words());
            words = rest;
        }
        Ok(Some(together))
    }
}

/// The groups of `size` lanes that are evaluated one after the other.
pub(super) fn segments(lanes: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..lanes)
        .step_by(size)
        .map(move |start| start..lanes.min(start.saturating_add(size)))
}

/// The places of each item, items in the order in which they first come.
fn grouped<T: Copy + PartialEq>(items: &[T]) -> Vec<(T, Vec<usize>)> {
    let mut groups: Vec<(T, Vec<usize>)> = Vec::new();
    for (place, &item) in items.iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| *known == item) {
            Some((_, places)) => places.push(place),
            None => groups.push((item, vec![place])),
        }
    }
    groups
}

/// The lanes `range` of `bits`. The range starts at a multiple of 64.
pub fn columns(bits: &BitMatrix, range: Range<usize>) -> BitMatrix {
    if range == (0..bits.lanes()) {
        return bits.clone();
    }
    let mut part = BitMatrix::zeros(bits.rows(), range.len());
    let (start, stride) = (range.start / 64, part.stride());
    for row in 0..bits.rows() {
        part.row_mut(row)
            .copy_from_slice(&bits.row(row)[start..start + stride]);
    }
    part.mask_padding();
    part
}
