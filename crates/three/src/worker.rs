//! Workers: each a generator and an evaluator on threads and channels of their own, side by side (S&P 2017, Figure 5).

use cenote_circuit::Plan;
use cenote_engine::{Check, Error, Result};

use crate::evaluator::{Evaluator, Group, planned_blocks};
use crate::stock::Stock;
use crate::wires::ThreeWires;

/// One worker.
pub(crate) struct Worker {
    pub(crate) evaluator: Evaluator,
    pub(crate) stock: Stock,
    /// Blocks of gates announced and not yet run.
    prepared: u64,
}

impl Worker {
    pub(crate) fn new(evaluator: Evaluator, stock: Stock) -> Self {
        Self {
            evaluator,
            stock,
            prepared: 0,
        }
    }

    /// Announces the evaluation of `plan` on `groups`.
    pub(crate) fn prepare<'a>(&mut self, plan: &Plan, groups: impl Iterator<Item = &'a Group>) {
        self.prepared += planned_blocks(plan, groups);
        self.stock
            .want(self.evaluator.verifier.supply.batches_for(self.prepared));
    }

    /// Evaluates `plan` on `groups`, one after the other.
    fn run(
        &mut self,
        plan: &Plan,
        inputs: &ThreeWires,
        groups: &[Group],
    ) -> Result<Vec<(Group, ThreeWires)>> {
        self.prepared = self.prepared.saturating_sub(planned_blocks(plan, groups.iter()));
        groups
            .iter()
            .map(|&group| Ok((group, self.evaluator.run(plan, inputs, group, &self.stock)?)))
            .collect()
    }

    /// Tells this worker's peers why it stops, and finds the best explanation of `error`.
    fn give_up(&mut self, error: Error) -> Error {
        let error = self.stock.explain(error);
        self.evaluator.ring.abort(error.reason().code());
        error
    }
}

/// Which groups worker `index` of `count` evaluates.
pub(crate) fn groups_of(groups: &[Group], index: usize, count: usize) -> impl Iterator<Item = &Group> {
    groups.iter().skip(index).step_by(count)
}

/// Runs `work` at all workers that have any, each on a thread of its own if there are several. If one fails, the others
/// are stopped, and the error that says most is returned.
fn at_all<T: Send>(
    workers: &mut [Worker],
    busy: impl Fn(usize, &Worker) -> bool,
    work: impl Fn(usize, &mut Worker) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let others: Vec<_> = workers
        .iter()
        .map(|worker| worker.evaluator.ring.interrupters())
        .collect();
    let mut busy: Vec<_> = workers
        .iter_mut()
        .enumerate()
        .filter(|(index, worker)| busy(*index, worker))
        .collect();
    let attempt = |(index, worker): &mut (usize, &mut Worker)| -> Result<T> {
        work(*index, worker).map_err(|error| {
            let error = worker.give_up(error);
            others.iter().flatten().for_each(cenote_net::Closer::close);
            error
        })
    };
    let results: Vec<Result<T>> = match busy.as_mut_slice() {
        [] => Vec::new(),
        [only] => vec![attempt(only)],
        several => std::thread::scope(|scope| {
            let start = |job| scope.spawn(|| attempt(job));
            let threads: Vec<_> = several.iter_mut().map(start).collect();
            let lost = |_| Err(Error::Internal("an evaluator's thread panicked".into()));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(lost))
                .collect()
        }),
    };
    let mut done = Vec::with_capacity(results.len());
    let mut worst: Option<Error> = None;
    for result in results {
        match result {
            Ok(value) => done.push(value),
            Err(error) => {
                if worst
                    .as_ref()
                    .is_none_or(|known| telling(&error) > telling(known))
                {
                    worst = Some(error);
                }
            }
        }
    }
    worst.map_or(Ok(done), Err)
}

/// How much an error says about the cause: more for cheating than for its consequences.
fn telling(error: &Error) -> u8 {
    match error {
        Error::Aborted { check, .. } if *check != Check::MessageForm => 5,
        Error::Aborted { .. } => 4,
        Error::PeerStopped { .. } => 3,
        Error::Net(cenote_net::Error::Closed { .. }) => 0,
        Error::Net(cenote_net::Error::PeerLost { .. }) => 1,
        _ => 2,
    }
}

/// Evaluates `plan` on `groups`, spread over the workers.
pub(crate) fn run_groups(
    workers: &mut [Worker],
    plan: &Plan,
    inputs: &ThreeWires,
    groups: &[Group],
) -> Result<Vec<(Group, ThreeWires)>> {
    let count = workers.len();
    let mine = |index: usize| groups_of(groups, index, count).copied().collect::<Vec<_>>();
    let outputs = at_all(
        workers,
        |index, _| index < groups.len(),
        |index, worker| worker.run(plan, inputs, &mine(index)),
    )?;
    Ok(outputs.into_iter().flatten().collect())
}

/// Verifies all gates that the workers have evaluated.
pub(crate) fn verify(workers: &mut [Worker]) -> Result<()> {
    at_all(
        workers,
        |_, worker| !worker.evaluator.log.is_empty(),
        |_, worker| worker.evaluator.verify(&worker.stock),
    )?;
    Ok(())
}
