//! What a program takes of a machine's memory, and the refusal of one that does not fit, before anything that grows with it
//! is allocated.

use cenote_net::{Budget, PartyId};
use cenote_session::{Demand, Topology, memory};

use crate::registry::Prepared;
use crate::{Error, Program, Result};

/// Bytes of a process besides what its session allocates: its code, the interpreter that it may run in, the stacks of its threads, and what the allocator keeps for
/// each of them, in huge pages where the system gives them.
pub(crate) const PROCESS: u64 = (51 << 20) + UNOPTIMISED;

/// Bytes of code that a build for tests has in memory besides: it is larger, and what is used of it lies further apart.
const UNOPTIMISED: u64 = if cfg!(debug_assertions) { 10 << 20 } else { 0 };

/// Bytes for messages to and from each peer, however small a session is.
const QUEUES: u64 = 1 << 20;

/// Bytes of a value in a report besides its digits: a string with what the allocator adds.
const TEXT: u64 = 48;

impl Prepared {
    /// Sees that the memory of this machine suffices for `parties` of it, each of which runs `program`.
    ///
    /// # Errors
    /// [`Error::Usage`] with what it takes.
    pub fn admit(&self, program: &Program, parties: impl IntoIterator<Item = PartyId>) -> Result<()> {
        let needed = parties.into_iter().map(|party| self.memory_bytes(program, party));
        memory::admit(needed.fold(0, u64::saturating_add)).map_err(|error| Error::Usage(error.to_string()))
    }

    /// The most bytes that `party` takes to run `program`, as a process of its own whose messages on their way stay within its budget.
    pub fn memory_bytes(&self, program: &Program, party: PartyId) -> u64 {
        let demand = program.demand();
        let topology = self.topology();
        let peers = usize::from(topology.parties.saturating_sub(1));
        let queues = self.budget(&demand).bound(peers, 0);
        process_bytes(&topology, self.session_bytes(&demand, party))
            .saturating_add(queues)
            .saturating_add(around(program, party))
    }

    /// Memory for messages on their way in a session that does what `demand` says. Half of what each peer has is enough for all that the
    /// session sends, or as much as any session has.
    pub(crate) fn budget(&self, demand: &Demand<'_>) -> Budget {
        let enough = self
            .traffic_bytes(demand)
            .saturating_mul(2)
            .saturating_add(QUEUES);
        Budget::new(usize::try_from(enough).map_or(Budget::DEFAULT, |enough| enough.min(Budget::DEFAULT)))
    }

    /// The most bytes that `party` takes to run `program`, besides what its process takes that runs others too.
    pub fn job_bytes(&self, program: &Program, party: PartyId) -> u64 {
        let demand = program.demand();
        let queues = queue_bytes(&self.topology(), self.traffic_bytes(&demand), &Budget::default());
        self.session_bytes(&demand, party)
            .saturating_add(queues)
            .saturating_add(around(program, party))
    }
}

/// Bytes that `party` takes besides the protocol's session and its process: the program, its inputs and outputs.
fn around(program: &Program, party: PartyId) -> u64 {
    let lanes = program.lanes() as u64;
    let circuit = program.circuit();
    let bits = |wires: u64| lanes.saturating_mul(wires).div_ceil(8);
    let inputs = circuit.inputs().iter().zip(program.owners());
    let inputs = inputs
        .filter(|(_, owner)| **owner == party)
        .map(|(value, _)| bits(value.width.into()));
    let outputs = circuit.outputs().iter().zip(program.receivers());
    let outputs = outputs.filter(|(_, to)| to.contains(party)).map(|(value, _)| {
        // The bits, and the same as text.
        let text = lanes.saturating_mul(TEXT + u64::from(value.width).div_ceil(4));
        bits(value.width.into()).saturating_add(text)
    });
    // Shares that are kept, as rows, wires, bytes and sealed bytes, and what they are put together from.
    let (taken, kept) = (
        circuit.inputs().iter().skip(program.owners().len()),
        circuit.outputs().iter().skip(program.receivers().len()),
    );
    let shares = taken.map(|value| (value, 8)).chain(kept.map(|value| (value, 16)));
    let shares = shares.map(|(value, copies)| bits(value.width.into()).saturating_mul(copies));
    let gates = circuit.gates().len() as u64 * 40;
    // Inputs are read as text, or copied once.
    std::iter::once(gates)
        .chain(inputs.map(|bytes| bytes.saturating_mul(2)))
        .chain(outputs)
        .chain(shares)
        .fold(0, u64::saturating_add)
}

/// Bytes of a party's process whose session has at most so many bytes in use, with what each of its channels has of its own, and without messages
/// that wait.
pub fn process_bytes(topology: &Topology, session: u64) -> u64 {
    PROCESS
        .saturating_add(session)
        .saturating_add(queue_bytes(topology, 0, &Budget::default()))
}

/// Bytes of messages on their way, within `budget`, in a session in which a party sends and receives no more than `traffic`.
pub(crate) fn queue_bytes(topology: &Topology, traffic: u64, budget: &Budget) -> u64 {
    let peers = usize::from(topology.parties.saturating_sub(1));
    let all = budget.bound(peers, peers * topology.channels());
    let fixed = Budget::new(0).bound(peers, peers * topology.channels());
    all.min(fixed.saturating_add(traffic))
}

#[cfg(test)]
mod tests {
    use cenote_session::Parties;

    use super::*;
    use crate::circuits::by_name;
    use crate::{Authenticated, Jimu, Lego, Protocol, Three};

    fn program(circuit: &str, parties: u8, lanes: usize) -> Program {
        let circuit = by_name(circuit).unwrap();
        let owners = (0..circuit.inputs().len())
            .map(|index| PartyId(index as u8 % parties))
            .collect();
        let receivers = vec![Parties::all(parties.into()); circuit.outputs().len()];
        Program::new("test", circuit, owners, receivers, lanes).unwrap()
    }

    /// 46,000 lanes of SHA-256 are streamed; 2^34 lanes of anything do not fit anywhere.
    #[test]
    fn what_does_not_fit_is_refused_before_anything_is_allocated() {
        for protocol in Protocol::all().filter(|protocol| protocol.name() != "example") {
            let parties = protocol.parties();
            for (circuit, lanes) in [("add8", 1 << 34), ("sha256", 1 << 28)] {
                let program = program(circuit, parties, lanes);
                match protocol
                    .prepare(&program.demand())
                    .unwrap()
                    .admit(&program, [PartyId(1)])
                {
                    Err(Error::Usage(text)) => {
                        assert!(
                            text.contains("of memory are needed") && text.contains("fewer lanes"),
                            "{text}"
                        );
                    }
                    other => panic!("{} of {circuit}: {other:?}", protocol.name()),
                }
            }
            let small = program("add8", parties, 1000);
            let prepared = protocol.prepare(&small.demand()).unwrap();
            prepared.admit(&small, [PartyId(0), PartyId(1)]).unwrap();
        }
    }

    /// A party that gives no input has peers and queues as the others.
    #[test]
    fn queues_to_all_peers_count_whoever_gives_input() {
        let bytes = |owner: u8| {
            let circuit = by_name("add8").unwrap();
            let owners = vec![PartyId(owner); circuit.inputs().len()];
            let receivers = vec![Parties::one(PartyId(2)); circuit.outputs().len()];
            let program = Program::new("test", circuit, owners, receivers, 64).unwrap();
            let prepared = Protocol::from(Three::default())
                .prepare(&program.demand())
                .unwrap();
            prepared.memory_bytes(&program, PartyId(2))
        };
        assert!(bytes(0) > Budget::new(QUEUES as usize).bound(2, 4));
        assert_eq!(bytes(0), bytes(1));
    }

    #[test]
    fn two_parties_stream_in_four_gigabytes() {
        let protocols = [
            Protocol::from(Lego::default()),
            Jimu::default().into(),
            Authenticated::default().into(),
        ];
        for (protocol, party) in protocols
            .iter()
            .flat_map(|protocol| [(protocol, PartyId(0)), (protocol, PartyId(1))])
        {
            // A thousand million AND gates.
            for (circuit, lanes) in [("aes128", 156_250), ("sha256", 46_000)] {
                let program = program(circuit, 2, lanes);
                assert!(program.and_gates() >= 1_000_000_000);
                let needed = protocol
                    .prepare(&program.demand())
                    .unwrap()
                    .memory_bytes(&program, party);
                assert!(needed < 4 << 30, "{circuit}: {needed}");
            }
            let bytes = |lanes| {
                let program = program("aes128", 2, lanes);
                protocol
                    .prepare(&program.demand())
                    .unwrap()
                    .memory_bytes(&program, party)
            };
            // Outputs wait until all is computed, and become text. A pool is as large as it gets by then.
            let (few, more, waiting) = (bytes(20_000), bytes(38_000), 18_000 * (128 * 97 + 200));
            assert!(more <= few + waiting + few / 20, "{few} {more}");
        }
    }
}
