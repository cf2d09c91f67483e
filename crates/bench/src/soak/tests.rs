//! Streams over every protocol in one process, and one that goes wrong.

use std::time::Duration;

use cenote::{Error, Protocol, Result};
use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{
    ClearEngine, ClearWires, Connections, Costs, Engine, Parties, Piece, Result as SessionResult, Topology,
};

use super::stream::drive;
use super::{Note, Soak};

fn soak(protocol: Protocol, seconds: f64, seed: u64) -> Soak {
    Soak {
        protocol,
        length: Duration::from_secs_f64(seconds),
        seed,
        largest: 3000,
        stock: None,
    }
}

/// What each party's `work` gives, all of them in this process.
fn at_all<T: Send>(
    topology: &Topology,
    work: impl Fn(PartyId, Connections) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let all = Connections::in_memory(topology, Duration::from_secs(60));
    std::thread::scope(|scope| {
        let party = |(me, connections)| {
            let work = &work;
            scope.spawn(move || work(PartyId(me), connections))
        };
        let threads: Vec<_> = (0..).zip(all).map(party).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn the_most_memory_is_never_less_than_what_was_seen() {
    let mut note = Note::default();
    for (now, most, told) in [
        (None, None, None),
        (Some(9), Some(8), Some(9)),
        (Some(3), Some(8), Some(9)),
        (Some(3), Some(10), Some(10)),
    ] {
        note.physical(now, most);
        assert_eq!((note.memory_bytes, note.peak_memory_bytes), (now, told));
    }
}

#[test]
fn streams_over_every_protocol_are_right() {
    for protocol in Protocol::all() {
        let soak = soak(protocol, 0.2, 7);
        let notes = at_all(&soak.protocol.topology(), |me, connections| {
            let mut told = Vec::new();
            let last = soak.take_part(me, connections, &mut |note| told.push(note.clone()))?;
            Ok((told, last))
        });
        let notes: Vec<_> = notes.into_iter().map(Result::unwrap).collect();
        assert!(
            notes.iter().map(|(_, last)| last.bits).sum::<u64>() > 100,
            "{notes:?}"
        );
        for (party, (told, last)) in notes.iter().enumerate() {
            assert_eq!((usize::from(last.party), last.wrong), (party, 0), "{last:?}");
            assert!(last.computations > 6 && last.sizes[1] > 1000, "{last:?}");
            let largest = 4 + notes.len() as u64;
            assert!(told[0].warm && told[0].computations == largest, "{told:?}");
            let of_all = &notes[0].1;
            assert_eq!((&last.inputs, &last.outputs), (&of_all.inputs, &of_all.outputs));
            assert!(
                last.outputs[party] == last.bits && last.inputs[party] > 0,
                "{last:?}"
            );
            let moments = |told: &[Note]| told.iter().map(|note| note.and_gates).collect::<Vec<_>>();
            assert_eq!(moments(told), moments(&notes[0].0));
        }
    }
}

/// An engine that gives a wrong bit now and then, or to those who are not entitled to it.
struct Liar {
    engine: ClearEngine,
    reveals: usize,
    leaks: bool,
}

impl Engine for Liar {
    type Wires = ClearWires;

    fn me(&self) -> PartyId {
        self.engine.me()
    }

    fn parties(&self) -> usize {
        self.engine.parties()
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> SessionResult<()> {
        self.engine.prepare(plan, lanes)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> SessionResult<ClearWires> {
        self.engine.input(owner, wires, lanes, bits)
    }

    fn constant(&mut self, bits: &BitMatrix) -> SessionResult<ClearWires> {
        self.engine.constant(bits)
    }

    fn run(&mut self, plan: &Plan, inputs: &ClearWires) -> SessionResult<ClearWires> {
        self.engine.run(plan, inputs)
    }

    fn arrange(&mut self, parts: &[Piece<'_, ClearWires>], runs: &[LaneRun]) -> SessionResult<ClearWires> {
        self.engine.arrange(parts, runs)
    }

    fn reveal(&mut self, wires: &ClearWires, to: Parties) -> SessionResult<Option<BitMatrix>> {
        if self.leaks {
            return self.engine.reveal(wires, Parties::all(2));
        }
        let mut opened = self.engine.reveal(wires, to)?;
        self.reveals += usize::from(opened.is_some());
        if let Some(bits) = opened.as_mut().filter(|_| self.reveals == 3) {
            let bit = bits.get(0, 0);
            bits.set(0, 0, !bit);
        }
        Ok(opened)
    }

    fn compare(&mut self, digest: &[u8; 32]) -> SessionResult<()> {
        self.engine.compare(digest)
    }

    fn finish(&mut self) -> SessionResult<()> {
        self.engine.finish()
    }

    fn costs(&self) -> Costs {
        self.engine.costs()
    }
}

#[test]
fn wrong_outputs_are_counted() {
    let topology = Topology {
        name: "liar".into(),
        parties: 2,
        workers: 1,
        purposes: &["values"],
        shared: &[],
    };
    for (leaks, told) in [(false, "plain evaluation"), (true, "not entitled")] {
        let soak = soak(Protocol::default(), 0.05, 3);
        let notes = at_all(&topology, |me, connections| {
            let engine = ClearEngine::new(me, connections.channels());
            let mut liar = Liar {
                engine,
                reveals: 0,
                leaks,
            };
            Ok(drive(
                &mut liar,
                soak.seed,
                soak.length,
                soak.largest,
                &mut |_| (),
            )?)
        });
        let notes: Vec<Note> = notes.into_iter().map(Result::unwrap).collect();
        let first = notes.iter().find_map(|note| note.first_wrong.as_deref());
        assert!(first.is_some_and(|first| first.contains(told)), "{notes:?}");
        assert!(notes.iter().map(|note| note.wrong).sum::<u64>() > 0);
    }
}

#[test]
fn parties_with_different_streams_part_at_once() {
    let topology = Protocol::default().topology();
    let ended = at_all(&topology, |me, connections| {
        let seed = if me.0 == 2 { 1 } else { 2 };
        soak(Protocol::default(), 0.1, seed).take_part(me, connections, &mut |_| ())
    });
    for outcome in ended {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("seed"), "{error}");
    }
    let mut small = soak(Protocol::default(), 0.1, 1);
    small.largest = 9;
    let refused = at_all(&topology, |me, connections| {
        small.take_part(me, connections, &mut |_| ())
    });
    assert!(
        refused
            .iter()
            .all(|outcome| matches!(outcome, Err(Error::Usage(_))))
    );
}
