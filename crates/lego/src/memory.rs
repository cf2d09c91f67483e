//! Memory: what a program will take, said before anything is made, and the most that a session has held.

use cenote_circuit::{Builder, Plan};
use cenote_params::lego::{Account, Soundness};
use cenote_session::{Demand, Result, Run};

use crate::offline::{Estimate, estimate};
use crate::online::tiles::slot_bytes;
use crate::order::Order;
use crate::settings::Config;

/// Bytes of a wire in a lane: label and share.
const WIRE: u64 = 56;

/// Bytes that an item of each kind takes while it is used, besides those of the stock: at the garbler copies, and sums that
/// are opened.
pub(crate) const GARBLER_USE: [u64; 6] = [0, 57, 168, 112, 112, 112];

/// The same at the evaluator: solderings, labels, and shares of what is opened.
pub(crate) const EVALUATOR_USE: [u64; 6] = [32, 56, 113, 96, 97, 112];

/// Bytes of keys, and of what is on its way, at each party and for each of its workers.
const SESSION: u64 = 2 << 20;

/// What a program takes of a session, as far as it is known before anything is made.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// What is made at a time, epoch by epoch.
    pub epochs: Vec<Estimate>,
    /// How many times that is made, about.
    pub times: u64,
    /// What is made besides when outputs are revealed, if they wait until all is computed: that of the outputs of a group of lanes.
    pub opening: Vec<Estimate>,
    /// How many groups there are.
    pub groups: u64,
    /// The most bytes that the garbler's session holds, without those of the program's inputs and outputs as bits.
    pub garbler_bytes: u64,
    /// The same of the evaluator's.
    pub evaluator_bytes: u64,
    account: Account,
}

impl Forecast {
    /// The forecast for a session of so many workers (channels over which material is made, and threads that evaluate) that
    /// does what `demand` says, which runs one circuit, or one above all.
    ///
    /// # Errors
    /// [`cenote_session::Error::BadInput`] if no buckets are as secure as asked, or the configuration makes no sense.
    pub fn new(demand: &Demand<'_>, workers: usize, config: &Config) -> Result<Self> {
        config.check()?;
        let workers = workers.max(1) as u64;
        let whole = Order::of(demand, config.garbler);
        let gates = |run: &&Run<'_>| (run.plan.and_count() as u64).saturating_mul(run.lanes as u64);
        let nothing = Plan::new(&Builder::new().finish());
        let plan = demand
            .runs()
            .iter()
            .max_by_key(gates)
            .map_or(&nothing, |run| run.plan);
        let lanes = demand
            .runs()
            .iter()
            .map(|run| run.lanes.saturating_mul(run.times));
        let lanes = lanes.fold(0, usize::saturating_add);
        let portions = match demand.unknown_ands() {
            0 => Portions::new(plan, lanes, config.ahead),
            _ => Portions::unknown(whole.ands, config.ahead),
        };
        let streamed = portions.many();
        let (made, opened) = if streamed {
            let made = portions.group(whole);
            let ands = made.ands.min(portions.ands);
            (Order { ands, ..made }, portions.opened(whole))
        } else {
            (whole.rounded(), Order::NOTHING)
        };
        let making = |orders: &[Order]| {
            let sharing = portions.sharing(whole.anchors > 0);
            Making::new(orders, sharing, config)
        };
        let used = portions.share(whole).beyond(&opened);
        let outputs = |lanes: usize| (plan.output_wires() as u64).saturating_mul(lanes as u64);
        let held = Portion {
            running: making(&portions.calls(made))?,
            used: Order {
                ands: made.ands,
                ..used
            },
            opening: making(&[opened])?,
            outputs: outputs(portions.lanes),
            settled: if streamed { outputs(lanes) } else { 0 },
            portions: &portions,
        };
        let session = SESSION.saturating_mul(workers);
        let of_garbler = |epoch: &Estimate| (epoch.garbler_buffer, epoch.garbler_items);
        let of_evaluator = |epoch: &Estimate| (epoch.evaluator_buffer, epoch.evaluator_items);
        let garbler = held.bytes(of_garbler, &GARBLER_USE, 1);
        let evaluator = held.bytes(of_evaluator, &EVALUATOR_USE, workers);
        let Portion { running, opening, .. } = held;
        let mut account = Account::new(config.security);
        let (times, groups) = (portions.count(), portions.groups());
        for (made, times) in [(&running, times), (&opening, groups)] {
            for epoch in &made.epochs {
                account.make(&epoch.made(), times as f64);
            }
        }
        Ok(Self {
            account,
            garbler_bytes: garbler.saturating_add(session),
            evaluator_bytes: evaluator.saturating_add(session),
            epochs: running.epochs,
            times,
            opening: opening.epochs,
            groups,
        })
    }

    /// Bytes from the garbler to the evaluator for all that is made, about.
    pub(crate) fn traffic(&self) -> u64 {
        let of = |epochs: &[Estimate], times: u64| {
            let made = epochs.iter().map(|epoch| epoch.traffic);
            made.fold(0, u64::saturating_add).saturating_mul(times)
        };
        of(&self.epochs, self.times).saturating_add(of(&self.opening, self.groups))
    }

    /// Everything that lets a cheater through by chance, set-up and all that is made.
    pub fn soundness(&self) -> Soundness {
        Soundness::of(&self.account)
    }
}

/// Bytes of one side: those held while an epoch is made, and those of an item of each kind that comes out.
type Side = fn(&Estimate) -> (u64, [u64; 6]);

/// What is made for a group of lanes.
struct Making {
    asked: Order,
    epochs: Vec<Estimate>,
}

impl Making {
    /// By a call for each of the `orders`, so many of which share the error.
    fn new(orders: &[Order], sharing: u64, config: &Config) -> Result<Self> {
        let mut epochs = Vec::new();
        for order in orders {
            epochs.extend(estimates(order, sharing, config)?);
        }
        let asked = orders.iter().copied().sum();
        Ok(Self { asked, epochs })
    }

    /// Bytes while it is made, besides what comes out.
    fn buffer(&self, side: Side) -> u64 {
        self.epochs.iter().map(|epoch| side(epoch).0).max().unwrap_or(0)
    }

    /// Bytes of what comes out.
    fn material(&self, side: Side) -> u64 {
        let material = self
            .epochs
            .iter()
            .map(|epoch| epoch.order.weighed(&side(epoch).1));
        material.fold(0, u64::saturating_add)
    }

    /// Bytes of what comes out and was not asked for, but for AND gates unless `gates` says so.
    fn spare(&self, side: Side, gates: bool) -> u64 {
        let made: Order = self.epochs.iter().map(|epoch| epoch.order).sum();
        let spare = made.beyond(&self.asked);
        let spare = Order {
            ands: if gates { spare.ands } else { 0 },
            ..spare
        };
        let bytes = self.epochs.iter().map(|epoch| spare.weighed(&side(epoch).1));
        bytes.max().unwrap_or(0)
    }
}

/// What a session holds while a portion of its program runs, and while the outputs of a group of lanes are opened.
struct Portion<'a> {
    running: Making,
    /// The material that is used together.
    used: Order,
    /// What is made when outputs are opened.
    opening: Making,
    /// Wires of its outputs.
    outputs: u64,
    /// Wires of all outputs that are settled meanwhile.
    settled: u64,
    portions: &'a Portions,
}

impl Portion<'_> {
    /// The bytes of one side, whose threads use items of so many bytes.
    fn bytes(&self, side: Side, using: &[u64; 6], threads: u64) -> u64 {
        let (portions, opening) = (self.portions, &self.opening);
        let in_use = self
            .used
            .weighed(using)
            .saturating_add(self.outputs.saturating_mul(WIRE))
            .saturating_add(portions.slot_bytes.saturating_mul(threads))
            .saturating_add(portions.plan_bytes_in_use);
        let running = self
            .running
            .buffer(side)
            .saturating_add(portions.plan_bytes)
            .max(in_use)
            .saturating_add(self.running.material(side));
        let opening = opening
            .buffer(side)
            .max(opening.asked.weighed(using))
            .saturating_add(opening.material(side));
        // If nobody knows the circuits, what outputs take is made with the first inputs.
        let most = if portions.open {
            running.saturating_add(opening)
        } else {
            running.max(opening)
        };
        // Gates that come with the inputs of a circuit in pieces are used by the first one.
        let left = self
            .running
            .spare(side, portions.pieces == 1)
            .saturating_add(self.opening.spare(side, true))
            .saturating_mul(portions.groups());
        let between = self.settled.saturating_add(portions.between).saturating_mul(WIRE);
        most.saturating_add(between).saturating_add(left)
    }
}

/// How a program is run that may have more AND gates than are made ahead: in groups of lanes, and the circuit in pieces if a
/// group is too large even so.
pub(crate) struct Portions {
    /// Of the program.
    all: usize,
    /// Of a group.
    lanes: usize,
    /// Of a circuit.
    pieces: u64,
    /// Whether nobody knows how many calls of `generate` there will be.
    open: bool,
    /// AND gates of a group, or of the largest piece.
    ands: u64,
    /// Wires that go into a piece and come out of it, at most.
    between: u64,
    /// As [`slot_bytes`], of the plan or of a piece.
    slot_bytes: u64,
    /// Bytes of plans while material is made.
    plan_bytes: u64,
    /// Bytes of plans while they are run.
    plan_bytes_in_use: u64,
}

impl Portions {
    pub(crate) fn new(plan: &Plan, lanes: usize, ahead: u64) -> Self {
        let group = most_lanes(plan, ahead).min(lanes);
        let of_group = |count: usize| (count as u64).saturating_mul(group as u64);
        let mut portions = Self {
            all: lanes,
            lanes: group,
            pieces: 1,
            open: false,
            ands: of_group(plan.and_count()),
            between: 0,
            slot_bytes: slot_bytes(plan),
            plan_bytes: 2 * plan.bytes(),
            plan_bytes_in_use: 2 * plan.bytes(),
        };
        if portions.ands > ahead {
            let pieces = plan.pieces(most_ands(group, ahead));
            let held = pieces.bytes();
            portions = Self {
                pieces: pieces.len() as u64,
                ands: 0,
                slot_bytes: 0,
                plan_bytes: 0,
                ..portions
            };
            for piece in pieces {
                portions.ands = portions.ands.max(of_group(piece.and_count()));
                portions.slot_bytes = portions.slot_bytes.max(slot_bytes(&piece));
                let ends = of_group(piece.input_wires() + piece.output_wires());
                portions.between = portions.between.max(ends);
                portions.plan_bytes = portions.plan_bytes.max(piece.bytes());
            }
            // The whole is in memory again as what the outputs come from.
            portions.plan_bytes_in_use = (held + 2 * portions.plan_bytes).max(plan.bytes());
            portions.plan_bytes += held;
        }
        portions
    }

    /// So many AND gates of circuits that are not known yet.
    pub(crate) fn unknown(ands: u64, ahead: u64) -> Self {
        Self {
            all: 1,
            lanes: 1,
            pieces: ands.div_ceil(ahead.max(1)).max(1),
            open: true,
            ands: ands.min(ahead),
            between: 0,
            slot_bytes: 0,
            plan_bytes: 0,
            plan_bytes_in_use: 0,
        }
    }

    /// How many there are, at most.
    fn count(&self) -> u64 {
        self.groups().saturating_mul(self.pieces).max(1)
    }

    pub(crate) fn many(&self) -> bool {
        self.count() > 1
    }

    /// Groups of lanes.
    fn groups(&self) -> u64 {
        (self.all.div_ceil(self.lanes.max(1)) as u64).max(1)
    }

    /// How many calls of `generate` share the error: one for each, and in each group one for inputs if there are pieces, and one
    /// for outputs if any are `anchored`.
    pub(crate) fn sharing(&self, anchored: bool) -> u64 {
        match self.count() {
            // As call `k` has a share of `1/k(k+1)`: what the last one has.
            calls if self.open => calls.saturating_mul(calls.saturating_add(1)),
            1 => 1,
            count => count
                .saturating_mul(1 + u64::from(self.pieces > 1))
                .saturating_add(if anchored { self.groups() } else { 1 }),
        }
    }

    /// The calls of `generate` that make `order`.
    fn calls(&self, order: Order) -> Vec<Order> {
        if self.pieces == 1 {
            return vec![order];
        }
        let gates = Order {
            ands: order.ands,
            ..Order::NOTHING
        };
        vec![order.beyond(&gates), gates]
    }

    /// Those of `ands` gates that are made together with inputs: pieces are made one by one.
    pub(crate) fn announced(&self, ands: u64) -> u64 {
        if self.pieces > 1 { 0 } else { ands }
    }

    /// What one group takes, but for its outputs, if `order` is what all take.
    pub(crate) fn group(&self, order: Order) -> Order {
        Order {
            anchors: 0,
            masks: 0,
            ports: 0,
            ..self.share(order)
        }
    }

    /// What the outputs of one group take.
    fn opened(&self, order: Order) -> Order {
        let Order { anchors, masks, .. } = self.share(order);
        Order {
            anchors,
            masks,
            ..Order::NOTHING
        }
    }

    /// One group's share of what all take.
    fn share(&self, order: Order) -> Order {
        order.share(self.lanes as u64, self.all as u64)
    }
}

/// The epochs of `order`, one of so many calls.
fn estimates(order: &Order, calls: u64, config: &Config) -> Result<Vec<Estimate>> {
    let mut one = Config::new(String::new());
    (one.security, one.epoch, one.ahead) = (config.security, config.epoch, config.ahead);
    one.calls = calls;
    estimate(order, &one)
}

/// See [`cenote_session::Engine::most_lanes`].
pub(crate) fn most_lanes(plan: &Plan, ahead: u64) -> usize {
    let wires = plan.output_wires().max(4 * plan.input_wires());
    let lanes = ahead / plan.and_count().max(wires).max(1) as u64;
    (usize::try_from(lanes).unwrap_or(usize::MAX) & !63).max(64)
}

/// The most AND gates in a piece of a circuit that is run on so many lanes.
pub(crate) fn most_ands(lanes: usize, ahead: u64) -> usize {
    usize::try_from(ahead / (lanes as u64).max(1)).unwrap_or(usize::MAX)
}

/// What a session holds, by its own count.
#[derive(Default)]
pub(crate) struct Held {
    /// Bytes of an item of each kind: those of the largest epoch so far.
    items: [u64; 6],
    /// Items that were taken since everything was last computed.
    taken: Order,
    /// Outputs of circuits since then.
    outputs: u64,
    /// Outputs that were settled, or are kept as what others come from.
    settled: u64,
    /// Bytes of the pieces of a circuit, and of the wires between them.
    between: u64,
}

impl Held {
    /// Bytes of what is in stock and in use.
    fn bytes(&self, stock: Order) -> u64 {
        let wires = self.outputs.saturating_add(self.settled);
        (stock + self.taken)
            .weighed(&self.items)
            .saturating_add(wires.saturating_mul(WIRE))
            .saturating_add(self.between)
            .saturating_add(SESSION)
    }

    /// Bytes while `epochs` are made, of each of which `of` gives bytes held meanwhile and bytes of each item.
    pub(crate) fn making(
        &mut self,
        stock: Order,
        epochs: &[Estimate],
        of: impl Fn(&Estimate) -> (u64, [u64; 6]),
    ) -> u64 {
        let mut buffer = 0;
        let before = self.bytes(stock);
        let mut made = 0u64;
        for epoch in epochs {
            let (held, items) = of(epoch);
            buffer = held.max(buffer);
            made = made.saturating_add(epoch.order.weighed(&items));
            self.items = std::array::from_fn(|kind| self.items[kind].max(items[kind]));
        }
        before.saturating_add(made).saturating_add(buffer)
    }

    /// Notes that `order` was taken, and gives the bytes while it is used as `using` says.
    pub(crate) fn take(&mut self, stock: Order, order: &Order, outputs: u64, using: &[u64; 6]) -> u64 {
        self.taken += *order;
        self.outputs = self.outputs.saturating_add(outputs);
        self.bytes(stock).saturating_add(self.taken.weighed(using))
    }

    /// Notes that everything was computed, but for circuits with `built` AND gates, which have not been run. In an `open` program
    /// outputs are kept as what later ones come from.
    pub(crate) fn computed(&mut self, built: u64, open: bool) {
        self.taken = Order {
            ands: built.min(self.taken.ands),
            ..Order::NOTHING
        };
        let outputs = std::mem::take(&mut self.outputs);
        if open {
            self.settle(outputs);
        }
    }

    /// Notes that so many wires go into a piece of a circuit, of which pieces take so many bytes.
    pub(crate) fn between(&mut self, wires: u64, pieces: u64) {
        self.between = wires.saturating_mul(WIRE).saturating_add(pieces);
    }

    /// Notes that so many outputs were settled.
    pub(crate) fn settle(&mut self, outputs: u64) {
        self.settled = self.settled.saturating_add(outputs);
    }
}
