//! What an order takes, before anything is made: parameters, traffic and memory.

use cenote_engine::Result;
use cenote_params::lego::Parameters;

use super::shape::{Shape, epochs};
use super::{GATES_IN_BATCH, WIRES_IN_BATCH};
use crate::commit::{BATCH_UNIT, Batch, Share};
use crate::garble::{Authenticator, GateTable};
use crate::lego::config::Config;
use crate::lego::order::Order;
use cenote_primitives::Block;

/// One epoch of an order.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// What comes out: what was ordered, and what came with it for little.
    pub order: Order,
    /// The cut-and-choose, unless there are only masks and ports.
    pub parameters: Option<Parameters>,
    /// Bytes that the garbler holds until the epoch is finished, besides what comes out.
    pub garbler_buffer: u64,
    /// Bytes that the evaluator holds until the epoch is finished, besides what comes out.
    pub evaluator_buffer: u64,
    /// Bytes of what comes out at the garbler.
    pub garbler_material: u64,
    /// Bytes of what comes out at the evaluator.
    pub evaluator_material: u64,
}

const BLOCK: u64 = size_of::<Block>() as u64;
const SHARE: u64 = size_of::<Share>() as u64;
const TABLE: u64 = size_of::<GateTable>() as u64;
const AUTHENTICATOR: u64 = size_of::<Authenticator>() as u64;
const NUMBER: u64 = size_of::<u32>() as u64;

/// What `generate` takes and makes for `order`, epoch by epoch.
///
/// # Errors
/// [`cenote_engine::Error::BadInput`] if no buckets are as secure as asked, or the configuration makes no sense.
pub fn estimate(order: &Order, config: &Config) -> Result<Vec<Estimate>> {
    config.check()?;
    let (orders, security) = epochs(order, config);
    orders
        .iter()
        .map(|order| Ok(Estimate::of(Shape::new(order, security)?)))
        .collect()
}

impl Estimate {
    fn of(shape: Shape) -> Self {
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
            masks,
            ports,
        } = shape.order;
        let [beta, alpha, beta_input, alpha_input] =
            [shape.beta, shape.alpha, shape.beta_input, shape.alpha_input].map(|size| size as u64);
        let authentic = |size: u64| size * (NUMBER + AUTHENTICATOR + BLOCK);
        let anchor = beta_input * (NUMBER + TABLE + 2 * BLOCK);
        let bucket = beta * NUMBER + TABLE + (beta - 1) * (TABLE + 3 * BLOCK);
        Self {
            garbler_buffer: gates * 3 * (BLOCK + SHARE)
                + authenticators * (BLOCK + SHARE)
                + numbers
                + streams,
            evaluator_buffer: gates * (TABLE + 3 * SHARE)
                + authenticators * (AUTHENTICATOR + SHARE)
                + numbers
                + streams,
            garbler_material: (3 * ands + garbler_inputs + 2 * evaluator_inputs + anchors + masks + ports)
                * (BLOCK + SHARE),
            evaluator_material: ands * (3 * SHARE + bucket + authentic(alpha))
                + garbler_inputs * (SHARE + anchor + authentic(alpha_input))
                + evaluator_inputs * (2 * SHARE + BLOCK + authentic(alpha_input))
                + anchors * (SHARE + anchor)
                + masks * (SHARE + 1)
                + ports * SHARE,
            parameters: shape.parameters,
            order: shape.order,
        }
    }
}

impl Config {
    /// The most bytes that a party holds in `generate` besides finished material, whatever the order. It is what an epoch
    /// as large as allowed takes.
    ///
    /// # Errors
    /// [`cenote_engine::Error::BadInput`] if no buckets are as secure as asked, or the configuration makes no sense.
    pub fn generate_buffer_bytes(&self) -> Result<u64> {
        let largest = Order {
            ands: self.epoch,
            garbler_inputs: self.epoch / 4,
            masks: self.epoch,
            ports: self.epoch,
            ..Order::NOTHING
        };
        let estimates = estimate(&largest, self)?;
        let largest = |estimate: &Estimate| estimate.garbler_buffer.max(estimate.evaluator_buffer);
        Ok(estimates.iter().map(largest).max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_by_the_epoch() {
        let mut config = Config::new("test");
        config.epoch = 1 << 14;
        let bound = config.generate_buffer_bytes().unwrap();
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
