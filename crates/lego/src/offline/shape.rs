//! What one epoch generates for its order: Figure 1, step 1.

use cenote_params::lego::{Parameters, Request, search};
use cenote_session::{Error, Result};

use crate::offline::challenge::Population;
use crate::order::Order;
use crate::settings::Config;
use cenote_commit::BATCH_UNIT;

/// Fewer AND buckets than this are not made: each of them would cost several times as much.
const LEAST_ANDS: u64 = 256;
/// Commitments are made in multiples of this, so gates and authenticators are too.
const UNIT: u64 = BATCH_UNIT as u64;

/// Sizes of an epoch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// What comes out.
    pub(crate) order: Order,
    /// Gates in an AND bucket: β.
    pub(crate) beta: usize,
    /// Authenticators in an AND bucket: α.
    pub(crate) alpha: usize,
    /// Gates in an anchor: β~.
    pub(crate) beta_input: usize,
    /// Authenticators of an input: α~.
    pub(crate) alpha_input: usize,
    /// Garbled gates.
    pub(crate) gates: Population,
    pub(crate) authenticators: Population,
    /// Where these numbers come from, if there are any gates.
    pub(crate) parameters: Option<Parameters>,
}

/// Most epochs of one order.
const MOST_EPOCHS: u64 = 1 << 20;

/// Splits an order into epochs, and says how secure each must be for all of them to be as secure as `config` asks.
///
/// # Errors
/// [`Error::BadInput`] for more epochs than anybody makes in one call.
pub(crate) fn epochs(order: &Order, config: &Config) -> Result<(Vec<Order>, u32)> {
    let count = order.extent().div_ceil(config.epoch);
    if count > MOST_EPOCHS {
        return Err(Error::BadInput(format!(
            "{order} are made in {count} epochs, and at most {MOST_EPOCHS} are made at a time: use fewer lanes or a smaller \
             circuit, or order them in parts"
        )));
    }
    let split = |total: u64, epoch: u64| {
        let upto = |epoch: u64| (u128::from(total) * u128::from(epoch) / u128::from(count)) as u64;
        upto(epoch + 1) - upto(epoch)
    };
    let orders = (0..count)
        .map(|epoch| Order::from_counts(order.counts().map(|total| split(total, epoch))))
        .collect();
    let sharing = config.calls.saturating_mul(count.max(1));
    let more = sharing
        .checked_next_power_of_two()
        .map_or(64, u64::trailing_zeros);
    Ok((orders, config.security + more))
}

impl Shape {
    /// The cheapest buckets for `order`, rounded up where that costs little.
    ///
    /// # Errors
    /// If no buckets are as secure as asked.
    pub(crate) fn new(order: &Order, security: u32) -> Result<Self> {
        let mut order = *order;
        // What fills the last commitments of a batch costs nothing.
        let leaked = order.evaluator_inputs + order.masks;
        order.masks += leaked.next_multiple_of(UNIT) - leaked;
        order.ports = order.ports.next_multiple_of(UNIT);
        let inputs = order.garbler_inputs + order.evaluator_inputs;
        if order.ands + inputs + order.anchors == 0 {
            let none = Population {
                generated: 0,
                needed: 0,
                threshold: 0,
            };
            return Ok(Self {
                order,
                beta: 1,
                alpha: 0,
                beta_input: 1,
                alpha_input: 1,
                gates: none,
                authenticators: none,
                parameters: None,
            });
        }
        order.ands = order.ands.max(LEAST_ANDS);
        let anchors = order.garbler_inputs + order.anchors;
        let request = Request::new(security, order.ands, inputs.max(1)).with_input_buckets(anchors);
        let parameters =
            search(&request).map_err(|refusal| Error::BadInput(format!("generating {order}: {refusal}")))?;
        let buckets = parameters.buckets();
        let [beta, alpha, beta_input, alpha_input] = [
            buckets.beta,
            buckets.alpha,
            buckets.beta_input,
            buckets.alpha_input,
        ]
        .map(|size| size as usize);
        let population = |generated: u64, needed: u64, threshold: u16| Population {
            generated: generated.next_multiple_of(UNIT) as usize,
            needed: needed as usize,
            threshold,
        };
        Ok(Self {
            beta,
            alpha,
            beta_input,
            alpha_input,
            gates: population(
                parameters.garbled_gates(),
                order.ands * beta as u64 + anchors * beta_input as u64,
                parameters.gate_threshold(),
            ),
            authenticators: population(
                parameters.authenticators(),
                order.ands * alpha as u64 + inputs * alpha_input as u64,
                parameters.auth_threshold(),
            ),
            order,
            parameters: Some(parameters),
        })
    }

    /// The number of items of each kind, as indices.
    pub(crate) fn counts(&self) -> [usize; 6] {
        self.order.counts().map(|count| count as usize)
    }

    /// Commitments whose last bits are told: OT strings, then masks.
    pub(crate) fn leaked(&self) -> usize {
        (self.order.evaluator_inputs + self.order.masks) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_add_up_and_share_the_error() {
        let mut config = Config::new("test");
        config.epoch = 1000;
        let order = Order::from_counts([3500, 100, 101, 7, 20, 5001]);
        let (orders, security) = epochs(&order, &config).unwrap();
        assert_eq!(orders.len(), 6);
        assert_eq!(orders.iter().copied().sum::<Order>(), order);
        assert_eq!(security, 43);
        assert!(
            orders
                .iter()
                .all(|order| order.ands <= 1000 && order.ports <= 1000)
        );
        assert_eq!(epochs(&Order::NOTHING, &config).unwrap(), (vec![], 40));
        let one = Order {
            masks: 1,
            ..Order::NOTHING
        };
        assert_eq!(epochs(&one, &config).unwrap(), (vec![one], 40));
        for ports in [1 << 31, u64::MAX] {
            let huge = Order { ports, ..one };
            match epochs(&huge, &config) {
                Err(Error::BadInput(why)) => assert!(why.contains("at most 1048576"), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn shapes_are_generous() {
        let order = Order::from_counts([1000, 10, 20, 5, 700, 513]);
        let shape = Shape::new(&order, 40).unwrap();
        assert!(shape.order.covers(&order).is_ok());
        assert_eq!(
            (
                shape.leaked() % 512,
                shape.order.ports,
                shape.gates.generated % 512
            ),
            (0, 1024, 0)
        );
        let needed = 1000 * shape.beta + 15 * shape.beta_input;
        assert_eq!(shape.gates.needed, needed);
        assert_eq!(
            shape.authenticators.needed,
            1000 * shape.alpha + 30 * shape.alpha_input
        );
        // Of small orders the cost is that of a few hundred buckets.
        let one = Shape::new(
            &Order {
                anchors: 1,
                ..Order::NOTHING
            },
            40,
        )
        .unwrap();
        assert_eq!(one.order.ands, 256);
        assert!(one.gates.generated < 6000, "{}", one.gates.generated);
        let masks = Shape::new(
            &Order {
                masks: 1,
                ..Order::NOTHING
            },
            40,
        )
        .unwrap();
        assert_eq!((masks.order.masks, masks.gates.generated), (512, 0));
    }
}
