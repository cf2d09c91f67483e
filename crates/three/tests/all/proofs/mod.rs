//! Sessions that prove their products.
//!
//! The table in `attacks` has each message of such a session, changed in each way. Here are what a party can aim at that knows the proofs, what nobody
//! gets to see, and sessions of all sizes.

mod liar;
mod lies;
mod order;
mod programs;
mod rates;
mod sizes;
mod statements;
mod uniform;
mod workers;

use std::sync::Arc;

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::{PartyId, Step};
use cenote_primitives::BitMatrix;
use cenote_session::{Check, Engine, Error, Parties, Result, WireVector};
use cenote_three::{ThreeEngine, ViewCheck};

use crate::common::intercept::{Message, Spy};
use crate::common::proofs;
use crate::common::session::{Outputs, Session, random_bits};

/// Gates of a block.
const BLOCK: usize = 512;

/// Steps that halve twice the elements of one tile, which are 1024.
const STEPS: usize = 5;

/// Points of the grid of the smallest tile, of three variables, of which a coordinate is ∞.
const POINTS: usize = 27 - 8;

/// Bytes of an element of the field, and of a hash.
const ELEMENT: usize = 16;
const HASH: usize = 32;

/// `depth` layers of one AND.
fn layers(depth: usize) -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let last = (0..depth).fold(x[0], |last, _| {
        let both = b.and(last, x[1]);
        b.xor(both, x[0])
    });
    b.output("last", &[last], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Shares the two rows, which party 0 and party 1 have.
fn share(engine: &mut ThreeEngine, rows: &[BitMatrix; 2]) -> Result<cenote_three::ThreeWires> {
    let mut parts = Vec::new();
    for (owner, row) in (0..).map(PartyId).zip(rows) {
        let own = (engine.me() == owner).then_some(row);
        parts.push(engine.input(owner, 1, row.lanes(), own)?);
    }
    Ok(WireVector::concat(&[&parts[0], &parts[1]]))
}

/// A session that runs [`layers`] and opens what they give.
#[derive(Clone)]
struct Trial {
    session: Session,
    depth: usize,
    lanes: usize,
}

/// How it ended.
struct Ended {
    results: [Result<()>; 3],
    outputs: [Option<BitMatrix>; 3],
    answer: BitMatrix,
    /// What each honest party sent.
    sent: Vec<Message>,
}

impl Trial {
    /// With batches of so many blocks, for 40 bits of security.
    fn new(batch: u64, depth: usize, lanes: usize) -> Self {
        Self::secure(40, batch, depth, lanes)
    }

    fn secure(security: u32, batch: u64, depth: usize, lanes: usize) -> Self {
        Self {
            session: Session::new(proofs(security, batch), ViewCheck::Mac, 31),
            depth,
            lanes,
        }
    }

    /// One batch of one gate in each of 70 lanes: two words in one tile.
    fn small() -> Self {
        Self::new(1 << 10, 1, 70)
    }

    /// Three batches of a layer each.
    fn of_batches() -> Self {
        Self::new(1, 3, BLOCK + 70)
    }

    fn rows(&self) -> [BitMatrix; 2] {
        [70, 71].map(|seed| random_bits(seed, 1, self.lanes))
    }

    fn answer(&self) -> BitMatrix {
        let rows = self.rows();
        let both = BitMatrix::from_fn(2, self.lanes, |row, lane| rows[row].get(0, lane));
        layers(self.depth).evaluate(&both).unwrap()
    }

    /// The session with `spy` at party `corrupted` and listeners at the others.
    fn run(&self, corrupted: u8, spy: &Arc<Spy>) -> Ended {
        self.run_beside(corrupted, spy, &[(); 2].map(|()| Spy::listening()))
    }

    /// With these listeners at the next and the previous party.
    fn run_beside(&self, corrupted: u8, spy: &Arc<Spy>, listeners: &[Arc<Spy>; 2]) -> Ended {
        let mut session = self.session.clone().with_spy(corrupted, spy);
        for (more, listener) in (1..).zip(listeners) {
            session = session.with_spy((corrupted + more) % 3, listener);
        }
        let (outputs, rows, plan) = (Outputs::default(), self.rows(), layers(self.depth));
        let opened = outputs.clone();
        let results = session.run(move |engine| {
            let wires = share(engine, &rows)?;
            let results = engine.run(&plan, &wires)?;
            let revealed = engine.reveal(&results, Parties::all(3))?;
            opened.set(engine.me(), revealed);
            engine.finish()
        });
        Ended {
            results,
            outputs: outputs.get(),
            answer: self.answer(),
            sent: listeners.iter().flat_map(|listener| listener.sent()).collect(),
        }
    }
}

impl Ended {
    /// Both honest parties stop because of this check, without an output.
    #[track_caller]
    fn caught(&self, what: &str, corrupted: u8, check: Check) {
        let both = [check; 2];
        self.caught_by(what, corrupted, both);
    }

    /// The next party stops because of the first check, the previous one because of the second.
    #[track_caller]
    fn caught_by(&self, what: &str, corrupted: u8, checks: [Check; 2]) {
        for (more, check) in (1..).zip(checks) {
            let party = (corrupted + more) % 3;
            let index = usize::from(party);
            assert!(
                self.outputs[index].is_none(),
                "{what}: party {party} has an output"
            );
            let met = self.results[index].as_ref().err().and_then(Error::check);
            assert_eq!(
                met,
                Some(check),
                "{what}: party {party}: {:?}",
                self.results[index]
            );
        }
    }

    /// Nobody notices anything, and all have the right output.
    #[track_caller]
    fn succeeded(&self, what: &str) {
        for (result, output) in self.results.iter().zip(&self.outputs) {
            assert!(result.is_ok(), "{what}: {result:?}");
            assert!(
                output.as_ref() == Some(&self.answer),
                "{what}: the output is right"
            );
        }
    }

    /// How many messages of this step an honest party sent to another.
    fn seen(&self, step: Step, from: u8, to: u8) -> usize {
        let ways = self
            .sent
            .iter()
            .map(|message| (message.step, message.wire.from, message.wire.to));
        ways.filter(|way| *way == (step, from, to)).count()
    }

    /// How many messages of this step honest parties sent, to anybody.
    fn sent(&self, step: Step) -> usize {
        self.sent.iter().filter(|message| message.step == step).count()
    }
}

/// A party that changes bodies of its messages, of which it leaves the others alone.
fn editing(mut edit: impl FnMut(&Message) -> Option<Vec<u8>> + Send + 'static) -> Arc<Spy> {
    Spy::corrupting(move |message| Some(vec![(message.step, edit(message)?)]))
}

/// A party that flips a bit of its first message of this step to party `to`.
fn flipping(step: Step, to: u8, bit: usize) -> Arc<Spy> {
    editing(move |message| {
        let hit = (message.step, message.occurrence, message.wire.to) == (step, 0, to);
        hit.then(|| flipped(&message.body, bit))
    })
}

fn flipped(body: &[u8], bit: usize) -> Vec<u8> {
    let mut body = body.to_vec();
    body[bit / 8] ^= 1 << (bit % 8);
    body
}

/// The bit that is `bit` of element `index`.
fn bit_of_element(index: usize, bit: usize) -> usize {
    8 * ELEMENT * index + bit
}

fn next(party: u8) -> u8 {
    (party + 1) % 3
}

fn previous(party: u8) -> u8 {
    (party + 2) % 3
}
