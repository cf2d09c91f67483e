//! All parties of a program as threads of this process: for tests, examples and trying out.

use std::time::Duration;

use cenote_net::PartyId;
use cenote_protocol::{MaterialSource, Protocol};
use cenote_session::{ClearEngine, Connections, Demand, Topology};

use crate::error::{Error, Result};
use crate::session::Session;

/// How long a party waits for another.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs `program` as all parties of `protocol`, joined by memory, and gives what each returns, in order. Parameters are those
/// for `demand`; more is computed if there is more, at a higher price for each gate. Sessions are ended for the program.
///
/// # Errors
/// The first failure, in the order of the parties.
pub fn in_memory<P: Protocol, T: Send>(
    protocol: &P,
    demand: &Demand<'_>,
    program: impl Fn(&Session) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let refused = |reason| Error::Session(cenote_session::Error::BadInput(reason));
    let prepared = (0..protocol.topology().parties).map(|_| protocol.prepare(demand).map_err(refused));
    let prepared: Vec<P::Prepared> = prepared.collect::<Result<_>>()?;
    let connections = Connections::in_memory(&protocol.topology(), TIMEOUT);
    let parties = prepared.into_iter().zip(connections);
    as_threads(parties, |me, (prepared, connections)| {
        let mut engine = protocol.start(prepared, me, connections, "in memory", MaterialSource::Live)?;
        demand.announce(&mut engine)?;
        run(&Session::new(engine), &program)
    })
}

/// As [`in_memory`], for so many parties, without a protocol and without secrecy.
///
/// # Errors
/// As [`in_memory`].
pub fn in_the_clear<T: Send>(parties: u8, program: impl Fn(&Session) -> Result<T> + Sync) -> Result<Vec<T>> {
    clear(parties, false, program)
}

/// As [`in_the_clear`], by engines that move lanes in secret orders as three parties do, but not in secret. They do so wherever they can, also where it takes more than
/// networks.
///
/// # Errors
/// As [`in_memory`].
pub fn in_the_clear_shuffling<T: Send>(
    parties: u8,
    program: impl Fn(&Session) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    clear(parties, true, program)
}

fn clear<T: Send>(
    parties: u8,
    shuffles: bool,
    program: impl Fn(&Session) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let topology = Topology {
        name: "clear".into(),
        parties,
        workers: 1,
        purposes: &["values"],
        shared: &[],
    };
    let connections = Connections::in_memory(&topology, TIMEOUT);
    as_threads(connections, |me, connections| {
        let engine = ClearEngine::new(me, connections.channels());
        if !shuffles {
            return run(&Session::new(engine), &program);
        }
        let session = Session::new(engine.shuffling(0));
        session.use_no_networks();
        run(&session, &program)
    })
}

fn run<T>(session: &Session, program: impl Fn(&Session) -> Result<T>) -> Result<T> {
    let result = program(session)?;
    session.finish()?;
    Ok(result)
}

fn as_threads<I: Send, T: Send>(
    parties: impl IntoIterator<Item = I>,
    party: impl Fn(PartyId, I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let party = &party;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .map(PartyId)
            .zip(parties)
            .map(|(me, input)| scope.spawn(move || party(me, input)))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T>>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // All of them end before the first failure is told.
        let results: Vec<_> = threads.into_iter().map(join).collect();
        results.into_iter().collect()
    })
}
