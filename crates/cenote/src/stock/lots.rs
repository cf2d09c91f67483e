//! Stock of the two-party protocol: lots of function-independent material.

use std::sync::Arc;

use cenote_lego::{Lego, MadeLot, Order, estimate, make_lot};

use super::{Amount, SESSION, make_key, open, paths};
use crate::remote::{load_identity, meet};
use crate::stop::Session;
use crate::{Error, Job, PartyConfig, Program, Result};

pub use cenote_lego::store::StoredLot;

/// What [`make_material`] made.
#[derive(Clone, Copy, Debug)]
pub struct MadeMaterial {
    /// The lot's name, how long it took, and the traffic.
    pub lot: MadeLot,
    /// What it has, at least.
    pub order: Order,
}

/// Makes material for `job`, of two parties, with the peer of `config`, and the stock folder and its key where there is none
/// yet. `progress` is told the AND gates that what was made so far will serve, of how many.
///
/// # Errors
/// Those of [`super::make`].
pub fn make_material(
    config: &PartyConfig,
    job: &Job,
    amount: Amount,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<MadeMaterial> {
    let identity = Arc::new(load_identity(&config.identity)?);
    let program = job.program(job.stated_lanes()?)?;
    let protocol = job.protocol().settings::<Lego>().ok_or_else(|| {
        let what = "this stock is of jobs with protocol \"lego\"";
        Error::Usage(what.into())
    })?;
    config.check_parties(job.protocol())?;
    let order = order(&protocol.order(&program.demand()), &program, amount)?;
    let settings = protocol.config(SESSION);
    estimate(&order, &settings).map_err(|error| Error::Usage(error.to_string()))?;
    let (path, key) = paths(config)?;
    if !key.exists() {
        make_key(key, path)?;
    }
    let folder = open(config)?;
    let what = "the peer was told; nothing was added to the stock, and what was there stays";
    Session::run(what, |session| {
        let connections = meet(config, identity, &job.protocol().topology())?;
        let channels = session.interrupts(connections).channels();
        let lot = make_lot(config.me, channels, settings, &folder, &order, &mut |done| {
            progress(done.ands.min(order.ands), order.ands)
        })?;
        Ok(MadeMaterial { lot, order })
    })
}

/// What to make.
fn order(run: &Order, program: &Program, amount: Amount) -> Result<Order> {
    let order = match amount {
        Amount::Runs(runs) => run.times(runs),
        Amount::AndGates(gates) => {
            // Inputs and outputs in the job's proportion.
            let runs = gates.checked_div(program.and_gates()).ok_or_else(|| {
                Error::Usage("the job has no AND gates: say how many runs of it to make stock for".into())
            })?;
            Order {
                ands: gates,
                ..run.times(runs + u64::from(!gates.is_multiple_of(program.and_gates())))
            }
        }
        Amount::Batches(_) => {
            let what = "stock of protocol \"lego\" has no batches: use --runs or --and-gates";
            return Err(Error::Usage(what.into()));
        }
    };
    if order.is_empty() {
        return Err(Error::Usage(
            "the job needs no material: it needs no stock".into(),
        ));
    }
    Ok(order)
}
