//! How many leaky ANDs are made at once.
//!
//! A lot takes some ten messages one after the other. Lots that stay in a core's own cache are quickest to compute, but where messages take long most
//! of the time would be spent waiting. So the garbler measures both, doubles lots while they are quick beside what messages take, and tells the
//! evaluator. What is drawn from the pool does not depend on when it is refilled, so a garbler gains nothing by other sizes.

use std::time::Duration;

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_session::{Error, MESSAGE_FORM, Result};

use crate::settings::{Config, Sizes};
use crate::steps;

/// Round trips in the time that a lot takes at least: about a tenth of it is then spent waiting for messages.
const ROUND_TRIPS: u32 = 64;

/// A round trip below this is that of one machine, where parties wait for each other's work rather than for messages.
const LEAST_ROUND_TRIP: Duration = Duration::from_micros(250);

/// The sizes of lots.
pub(crate) struct Lots {
    next: usize,
    least: usize,
    most: usize,
    /// What the session is likely to make beyond what it has made, if that is known.
    wanted: Option<u64>,
    quickest: Duration,
}

impl Lots {
    pub(crate) fn new(config: &Config, sizes: &Sizes) -> Self {
        let [gates, _] = config.demand;
        let [least, most] = config.lots().map(|lot| lot as usize);
        Self {
            next: least,
            least,
            most,
            wanted: (gates > 0).then(|| sizes.made(gates)),
            quickest: Duration::MAX,
        }
    }

    /// So many leaky ANDs are in the pool already, which was kept.
    pub(crate) fn restored(&mut self, there: usize) {
        let wanted = self.wanted.map(|wanted| wanted.saturating_sub(there as u64));
        self.wanted = wanted.filter(|wanted| *wanted > 0);
    }

    /// Leaky ANDs of the next lot.
    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// After a lot, and how long it and its coin took: agrees on the next size, if there is more than one.
    pub(crate) fn agree(
        &mut self,
        role: Role,
        channel: &mut dyn Channel,
        [took, round_trip]: [Duration; 2],
    ) -> Result<()> {
        if self.least == self.most {
            return Ok(());
        }
        match role {
            Role::Garbler => {
                self.next = self.choose(took, round_trip);
                channel.send(steps::LOT, &(self.next as u32).to_le_bytes())?;
                channel.flush()?;
            }
            Role::Evaluator => {
                let mut told = [0; 4];
                channel.recv(steps::LOT, &mut told)?;
                let told = u32::from_le_bytes(told) as usize;
                if !(self.least..=self.most).contains(&told) {
                    let detail = format!(
                        "a lot of {told} leaky ANDs: {} to {} were agreed on",
                        self.least, self.most
                    );
                    return Err(Error::cheated(MESSAGE_FORM, channel.peer(), steps::LOT, detail));
                }
                self.next = told;
            }
        }
        Ok(())
    }

    fn choose(&mut self, took: Duration, round_trip: Duration) -> usize {
        self.quickest = self.quickest.min(round_trip);
        let quick = took < self.quickest.saturating_mul(ROUND_TRIPS);
        let next = match quick && self.quickest >= LEAST_ROUND_TRIP {
            true => 2 * self.next,
            false => self.next,
        };
        let Some(wanted) = self.wanted else {
            return next.min(self.most);
        };
        let left = wanted.saturating_sub(self.next as u64);
        // Who knows how many more are made than was likely: lots are small again, and may grow.
        self.wanted = (left > 0).then_some(left);
        let left = usize::try_from(left).unwrap_or(self.most);
        next.min(self.most).min(left).max(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lots(demand: u64) -> Lots {
        let mut config = Config::new("");
        (config.largest_lot, config.demand) = (Some(1 << 17), [demand, 0]);
        config.check().unwrap();
        Lots::new(&config, &Sizes::search(40, 524_291).unwrap())
    }

    /// The sizes of so many lots over a link with such a round trip, where a leaky AND takes a microsecond.
    fn chosen(lots: &mut Lots, round_trip: Duration, count: usize) -> Vec<usize> {
        let sizes = (0..count).map(|_| {
            let size = lots.next();
            let took = Duration::from_micros(size as u64) + 5 * round_trip;
            lots.next = lots.choose(took, round_trip);
            size
        });
        sizes.collect()
    }

    #[test]
    fn lots_grow_where_messages_take_long_and_only_there() {
        let [first, most] = [1 << 14, 1 << 17];
        let quick = chosen(&mut lots(0), Duration::from_micros(100), 5);
        assert_eq!(quick, [first; 5]);
        let slow = chosen(&mut lots(0), Duration::from_millis(2), 5);
        assert_eq!(slow, [first, 2 * first, 4 * first, most, most]);
        let between = chosen(&mut lots(0), Duration::from_micros(500), 4);
        assert_eq!(between, [first, 2 * first, 2 * first, 2 * first]);
    }

    /// One lot that was delayed is no reason for larger ones.
    #[test]
    fn the_quickest_round_trip_counts() {
        let mut lots = lots(0);
        lots.next = lots.choose(Duration::from_millis(16), Duration::from_micros(80));
        lots.next = lots.choose(Duration::from_millis(16), Duration::from_millis(90));
        assert_eq!(lots.next(), 1 << 14);
    }

    /// Of a pool that was kept, only what is drawn has to be made.
    #[test]
    fn a_full_pool_needs_no_large_lots() {
        let demand = 10_000;
        let sizes = Sizes::search(40, 524_291).unwrap();
        let (full, drawn) = (sizes.pool.pool_size, sizes.made(demand) - sizes.pool.pool_size);
        let mut lots = lots(demand);
        lots.restored(full as usize);
        let (mut total, mut sizes) = (0, Vec::new());
        while total < drawn {
            sizes.extend(chosen(&mut lots, Duration::from_millis(2), 1));
            total += *sizes.last().unwrap() as u64;
        }
        assert!(total < drawn + (1 << 14), "{total} {drawn} {sizes:?}");
        // One without a demand is as it was.
        let mut unknown = super::tests::lots(0);
        unknown.restored(1 << 14);
        assert_eq!(unknown.wanted, None);
    }

    #[test]
    fn no_more_is_made_than_is_wanted_by_more_than_a_small_lot() {
        let demand = 30_000;
        let made = Sizes::search(40, 524_291).unwrap().made(demand);
        let mut lots = lots(demand);
        let (mut total, mut sizes) = (0, Vec::new());
        while total < made {
            sizes.extend(chosen(&mut lots, Duration::from_millis(2), 1));
            total += *sizes.last().unwrap() as u64;
        }
        assert!(sizes.contains(&(1 << 17)), "{sizes:?}");
        assert!(total < made + (1 << 14), "{total} {made}");
    }
}
