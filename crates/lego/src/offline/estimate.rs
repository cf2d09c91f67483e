//! What an order takes, before anything is made: parameters, traffic and memory.

use cenote_params::lego::{Made, Parameters};
use cenote_primitives::Block;
use cenote_session::Result;

use super::shape::{Shape, epochs};
use super::{GATES_IN_BATCH, WIRES_IN_BATCH, stream};
use crate::offline::solder::{Gadget, solderings};
use crate::order::Order;
use crate::settings::Config;
use cenote_commit::{ANSWER_BYTES, BATCH_UNIT, Batch, Share, proof_bytes};
use cenote_garble::{Authenticator, GateTable};

/// One epoch of an order.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// What comes out: what was ordered, and what came with it for little.
    pub order: Order,
    /// The cut-and-choose, unless there are only masks and ports.
    pub parameters: Option<Parameters>,
    /// Bytes from the garbler to the evaluator, about: how much is checked is chance.
    pub traffic: u64,
    /// Bytes that the garbler holds until the epoch is finished, besides what comes out, with one worker. Each further one
    /// takes a few megabytes.
    pub garbler_buffer: u64,
    /// Bytes that the evaluator holds until the epoch is finished, besides what comes out, with one worker.
    pub evaluator_buffer: u64,
    /// Bytes of an item of each kind at the garbler, in the order of [`Order::counts`].
    pub garbler_items: [u64; 6],
    /// Bytes of an item of each kind at the evaluator.
    pub evaluator_items: [u64; 6],
}

const BLOCK: u64 = size_of::<Block>() as u64;
const SHARE: u64 = size_of::<Share>() as u64;
const TABLE: u64 = size_of::<GateTable>() as u64;
const AUTHENTICATOR: u64 = size_of::<Authenticator>() as u64;
const NUMBER: u64 = size_of::<u32>() as u64;

/// What `generate` takes and makes for `order`, epoch by epoch.
///
/// # Errors
/// [`cenote_session::Error::BadInput`] if no buckets are as secure as asked, or the configuration makes no sense.
pub fn estimate(order: &Order, config: &Config) -> Result<Vec<Estimate>> {
    config.check()?;
    let (orders, security) = epochs(order, config)?;
    orders
        .iter()
        .map(|order| Ok(Estimate::of(Shape::new(order, security)?)))
        .collect()
}

/// Units of commitments for `count` items.
fn units(in_batch: usize, count: usize, width: usize) -> u64 {
    stream::units(count, in_batch, width)
}

impl Estimate {
    /// Bytes of what comes out at the garbler.
    pub fn garbler_material(&self) -> u64 {
        self.order.weighed(&self.garbler_items)
    }

    /// Bytes of what comes out at the evaluator.
    pub fn evaluator_material(&self) -> u64 {
        self.order.weighed(&self.evaluator_items)
    }

    /// What the bounds on errors count of it.
    pub(crate) fn made(&self) -> Made<'_> {
        Made {
            parameters: self.parameters.as_ref(),
            strings: self.order.evaluator_inputs,
            masks: self.order.masks,
            ports: self.order.ports,
        }
    }

    pub(super) fn of(shape: Shape) -> Self {
        let gates = shape.gates.generated as u64;
        let authenticators = shape.authenticators.generated as u64;
        // The cut's lists have every gadget's number once, or twice where it is checked.
        let numbers = (gates + authenticators) * 2 * NUMBER;
        let batch = |columns: usize| Batch { first: 0, columns }.correction_bytes() as u64;
        let blinding = batch(BATCH_UNIT) + BATCH_UNIT as u64 * (BLOCK + SHARE);
        let in_flight = GATES_IN_BATCH as u64 * (TABLE + 5 * BLOCK) + WIRES_IN_BATCH as u64 * AUTHENTICATOR;
        let streams = batch(3 * GATES_IN_BATCH) + blinding + in_flight;
        let Order {
            ands,
            garbler_inputs,
            evaluator_inputs,
            anchors,
            masks: _,
            ports,
        } = shape.order;
        let [beta, alpha, beta_input, alpha_input] =
            [shape.beta, shape.alpha, shape.beta_input, shape.alpha_input].map(|size| size as u64);
        let authentic = |size: u64| size * (NUMBER + AUTHENTICATOR + BLOCK);
        let anchor = beta_input * (NUMBER + TABLE + 2 * BLOCK);
        let bucket = beta * NUMBER + TABLE + (beta - 1) * (TABLE + 3 * BLOCK);
        let units = units(GATES_IN_BATCH, shape.gates.generated, 3)
            + units(WIRES_IN_BATCH, shape.authenticators.generated, 1)
            + units(WIRES_IN_BATCH, shape.leaked(), 1)
            + units(WIRES_IN_BATCH, ports as usize, 1);
        let batches = shape.gates.generated.div_ceil(GATES_IN_BATCH)
            + [shape.authenticators.generated, shape.leaked(), ports as usize]
                .map(|count| count.div_ceil(WIRES_IN_BATCH))
                .iter()
                .sum::<usize>();
        let checked = |count: u64, threshold: u16| (count * u64::from(threshold)) >> 16;
        let soldered = |kind: Gadget, count: u64, gates: u64, authenticators: u64| {
            count * solderings(kind, gates as usize, authenticators as usize) as u64
        };
        let solderings = soldered(Gadget::And, ands, beta, alpha)
            + soldered(Gadget::GarblerInput, garbler_inputs, beta_input, alpha_input)
            + soldered(Gadget::EvaluatorInput, evaluator_inputs, 0, alpha_input)
            + soldered(Gadget::Anchor, anchors, beta_input, 0);
        let opened = 3 * checked(gates, shape.gates.threshold)
            + checked(authenticators, shape.authenticators.threshold)
            + solderings;
        let told = (shape.leaked() + shape.leaked().div_ceil(WIRES_IN_BATCH) * BATCH_UNIT) as u64 / 8;
        Self {
            traffic: units * batch(BATCH_UNIT)
                + gates * (TABLE + BLOCK)
                + authenticators * AUTHENTICATOR
                + evaluator_inputs * BLOCK
                + told
                + (batches * ANSWER_BYTES) as u64
                + opened * BLOCK
                + proof_bytes(opened as usize) as u64,
            garbler_buffer: gates * 3 * (BLOCK + SHARE)
                + authenticators * (BLOCK + SHARE)
                + numbers
                + streams,
            evaluator_buffer: gates * (TABLE + 3 * SHARE)
                + authenticators * (AUTHENTICATOR + SHARE)
                + numbers
                + streams,
            garbler_items: [3, 1, 2, 1, 1, 1].map(|commitments| commitments * (BLOCK + SHARE)),
            evaluator_items: [
                3 * SHARE + bucket + authentic(alpha),
                SHARE + anchor + authentic(alpha_input),
                2 * SHARE + BLOCK + authentic(alpha_input),
                SHARE + anchor,
                SHARE + 1,
                SHARE,
            ],
            parameters: shape.parameters,
            order: shape.order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes that a party with one worker holds besides finished material, whatever the order: what an epoch as large as allowed
    /// takes.
    fn buffer_bytes(config: &Config) -> u64 {
        let largest = Order {
            ands: config.epoch,
            garbler_inputs: config.epoch / 4,
            masks: config.epoch,
            ports: config.epoch,
            ..Order::NOTHING
        };
        let estimates = estimate(&largest, config).unwrap();
        let largest = |estimate: &Estimate| estimate.garbler_buffer.max(estimate.evaluator_buffer);
        estimates.iter().map(largest).max().unwrap()
    }

    #[test]
    fn memory_is_bounded_by_the_epoch() {
        let mut config = Config::new("test");
        config.epoch = 1 << 14;
        let bound = buffer_bytes(&config);
        let order = Order::from_counts([1 << 18, 1 << 12, 1 << 13, 100, 1 << 16, 1 << 17]);
        let estimates = estimate(&order, &config).unwrap();
        assert_eq!(estimates.len(), 16);
        for estimate in &estimates {
            assert!(estimate.garbler_buffer < bound && estimate.evaluator_buffer < bound);
            let parameters = estimate.parameters.as_ref().unwrap();
            // The error is shared out among the epochs.
            assert!(parameters.errors().largest().meets(44));
        }
        let made: Order = estimates.iter().map(|estimate| estimate.order).sum();
        assert!(made.covers(&order).is_ok());
        let ports = Order {
            ports: 10,
            ..Order::NOTHING
        };
        assert!(estimate(&ports, &config).unwrap()[0].parameters.is_none());
    }
}
