//! What a quicksort opens tells nothing of what it sorts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_program::{Session, table};
use cenote_protocol::{MaterialSource, Protocol};
use cenote_session::{Connections, Costs, Demand, Engine, Parties, Piece, Result};
use cenote_three::{Three, ThreeEngine, ThreeWires};

/// Records that are sorted by comparing all pairs in one step.
const RECORDS: usize = 6;
const PAIRS: usize = RECORDS * (RECORDS - 1) / 2;
const SORTS: usize = 750;

/// An engine that keeps what is opened.
struct Listening {
    engine: ThreeEngine,
    opened: Arc<Mutex<Vec<BitMatrix>>>,
}

impl Engine for Listening {
    type Wires = ThreeWires;

    fn me(&self) -> PartyId {
        self.engine.me()
    }

    fn parties(&self) -> usize {
        self.engine.parties()
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.engine.prepare(plan, lanes)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<ThreeWires> {
        self.engine.input(owner, wires, lanes, bits)
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<ThreeWires> {
        self.engine.constant(bits)
    }

    fn run(&mut self, plan: &Plan, inputs: &ThreeWires) -> Result<ThreeWires> {
        self.engine.run(plan, inputs)
    }

    fn arrange(&mut self, parts: &[Piece<'_, ThreeWires>], runs: &[LaneRun]) -> Result<ThreeWires> {
        self.engine.arrange(parts, runs)
    }

    fn shuffles(&self) -> bool {
        self.engine.shuffles()
    }

    fn draw(&mut self, lanes: usize) -> Result<u32> {
        self.engine.draw(lanes)
    }

    fn shuffle(&mut self, wires: &ThreeWires, order: u32, back: bool) -> Result<ThreeWires> {
        self.engine.shuffle(wires, order, back)
    }

    fn levels_take_rounds(&self) -> bool {
        self.engine.levels_take_rounds()
    }

    fn reveal(&mut self, wires: &ThreeWires, to: Parties) -> Result<Option<BitMatrix>> {
        let opened = self.engine.reveal(wires, to)?;
        self.opened.lock().unwrap().extend(opened.clone());
        Ok(opened)
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.engine.compare(digest)
    }

    fn finish(&mut self) -> Result<()> {
        self.engine.finish()
    }

    fn costs(&self) -> Costs {
        self.engine.costs()
    }
}

/// What the first party sees opened while these keys are sorted, time and again.
fn opened(keys: [u8; RECORDS]) -> Vec<BitMatrix> {
    let protocol = Three::default();
    let demand = Demand::new();
    let opened = Arc::default();
    let connections = Connections::in_memory(&protocol.topology(), Duration::from_secs(60));
    std::thread::scope(|scope| {
        for (me, connections) in (0..).map(PartyId).zip(connections) {
            let (protocol, demand) = (&protocol, &demand);
            let opened = match me {
                PartyId(0) => Arc::clone(&opened),
                _ => Arc::default(),
            };
            scope.spawn(move || {
                let prepared = protocol.prepare(demand).unwrap();
                let engine = protocol.start(prepared, me, connections, "in memory", MaterialSource::Live);
                let engine = engine.unwrap();
                let session = Session::new(Listening { engine, opened });
                let key = session.input(PartyId(1), RECORDS, (me == PartyId(1)).then_some(&keys[..]));
                for _ in 0..SORTS {
                    table::Order::by(&key).unwrap();
                }
                assert!(!session.has_learnt());
                session.finish().unwrap();
            });
        }
    });
    Arc::into_inner(opened).unwrap().into_inner().unwrap()
}

/// The ranks of the first two of the shuffled records, by the comparisons of all pairs.
fn ranks(less: &BitMatrix) -> (usize, usize) {
    assert_eq!((less.rows(), less.lanes()), (1, PAIRS));
    let mut ranks = [0; RECORDS];
    let pairs = (0..RECORDS).flat_map(|first| (first + 1..RECORDS).map(move |second| (first, second)));
    for (at, (first, second)) in pairs.enumerate() {
        ranks[if less.get(0, at) { second } else { first }] += 1;
    }
    let mut all = ranks;
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..RECORDS), "no two are equal: {ranks:?}");
    (ranks[0], ranks[1])
}

/// χ² over the 30 pairs of ranks, with 29 degrees of freedom: whether keys are equal, sorted or in any order, all pairs come as often.
#[test]
fn comparisons_are_alike_whatever_is_sorted() {
    for keys in [[7; RECORDS], [1, 2, 3, 4, 5, 6], [200, 3, 3, 90, 0, 41]] {
        let opened = opened(keys);
        assert_eq!(opened.len(), SORTS);
        let mut times = [[0.0; RECORDS]; RECORDS];
        for less in &opened {
            let (first, second) = ranks(less);
            times[first][second] += 1.0;
        }
        let expected = SORTS as f64 / (RECORDS * (RECORDS - 1)) as f64;
        let pairs = (0..RECORDS).flat_map(|first| (0..RECORDS).map(move |second| (first, second)));
        let squares: f64 = pairs
            .filter(|(first, second)| first != second)
            .map(|(first, second)| (times[first][second] - expected).powi(2) / expected)
            .sum();
        // Above 100 by chance once in 10^9.
        assert!(squares < 100.0, "{keys:?}: {squares}, {times:?}");
    }
}
