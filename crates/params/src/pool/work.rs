//! The pool that does a given amount of work with the fewest bytes.

use std::ops::RangeInclusive;

use super::{Extraction, Guard, Parameters, Request, extraction, search};
use crate::Refusal;

/// What a session draws from its pool, about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Buckets.
    pub buckets: u64,
    /// Input buckets: bits that are anchored.
    pub anchors: u64,
}

/// What a gadget costs to solder compared with making it: of its three wires all but one in a bucket are soldered, with `k` bytes each,
/// and it takes `3n + k` bytes to make, about twice as many.
const SOLDERING: f64 = 0.4;

impl Work {
    /// Gadgets drawn.
    #[must_use]
    pub fn drawn(&self, pool: &Parameters, anchors: &Extraction) -> u64 {
        let of_buckets = self.buckets.saturating_mul(pool.bucket().into());
        of_buckets.saturating_add(self.anchors.saturating_mul(anchors.bucket.into()))
    }

    /// Gadgets that are made, on average: those that fill the pool and those that replace drawn ones, and the ones that are checked
    /// instead.
    #[must_use]
    pub fn made(&self, pool: &Parameters, anchors: &Extraction) -> f64 {
        (pool.pool_size() as f64 + self.drawn(pool, anchors) as f64) / (1.0 - pool.check_rate())
    }

    /// The pool of AND gates that does this work with the least to make and to solder, and its input buckets, each of them with an
    /// error of at most `2^-security_bits` over the pool's life: the smallest of `sizes`, or one twice as large, or twice that, and so on.
    ///
    /// A larger pool takes longer to fill, and has smaller buckets and fewer checks.
    ///
    /// # Errors
    /// If no pool of these sizes is large enough, why the last that was tried is not.
    pub fn cheapest(
        &self,
        security_bits: f64,
        sizes: RangeInclusive<u64>,
    ) -> Result<(Parameters, Extraction), Refusal> {
        let mut best: Option<(f64, (Parameters, Extraction))> = None;
        let mut refusal = None;
        let doubled = std::iter::successors(Some(*sizes.start()), |size| size.checked_mul(2));
        for size in doubled.take_while(|size| sizes.contains(size)) {
            // To fill it alone takes more.
            if best.as_ref().is_some_and(|(cost, _)| *cost <= size as f64) {
                break;
            }
            let found = search(&Request {
                security_bits,
                pool_size: size,
                detection: 0.5,
                guard: Guard::Adaptive,
            })
            .and_then(|pool| extraction(&pool, security_bits).map(|anchors| (pool, anchors)));
            match found {
                Ok((pool, anchors)) => {
                    let cost = self.made(&pool, &anchors) + SOLDERING * self.drawn(&pool, &anchors) as f64;
                    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, (pool, anchors)));
                    }
                }
                Err(why) => refusal = Some(why),
            }
        }
        best.map(|(_, found)| found).ok_or_else(|| {
            refusal.unwrap_or_else(|| Refusal::new("pool").because("there is a size", format!("{sizes:?}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: RangeInclusive<u64> = 1000..=100_000_000;

    fn cheapest(buckets: u64, anchors: u64) -> (Parameters, Extraction) {
        Work { buckets, anchors }.cheapest(41.0, SIZES).unwrap()
    }

    #[test]
    fn pools_grow_with_the_work() {
        let mut last = 0;
        for (buckets, least, most) in [
            (0, 1000, 1000),
            (1000, 1000, 2000),
            (100_000, 8000, 64_000),
            (10_000_000, 500_000, 4_000_000),
            (1 << 40, 32_000_000, 100_000_000),
        ] {
            let size = cheapest(buckets, 0).0.pool_size();
            assert!(
                (least..=most).contains(&size) && size >= last,
                "{buckets}: {size}"
            );
            last = size;
        }
        // An anchor takes several gadgets.
        assert!(cheapest(0, 100_000).0.pool_size() > cheapest(100_000, 0).0.pool_size());
    }

    /// No pool of a size in between makes a job more than a few percent cheaper.
    #[test]
    fn sizes_in_between_do_not_matter() {
        for work in [
            Work {
                buckets: 20_000,
                anchors: 100,
            },
            Work {
                buckets: 3_000_000,
                anchors: 10_000,
            },
        ] {
            let cost = |(pool, anchors): &(Parameters, Extraction)| {
                work.made(pool, anchors) + SOLDERING * work.drawn(pool, anchors) as f64
            };
            let found = work.cheapest(41.0, SIZES).unwrap();
            for step in 0..60 {
                let size = (1000.0 * 1.3f64.powi(step)) as u64;
                if size > found.0.pool_size() * 20 || size * 20 < found.0.pool_size() {
                    continue;
                }
                let other = work.cheapest(41.0, size..=size).unwrap();
                assert!(cost(&found) < 1.04 * cost(&other), "{work:?}: {size}");
            }
        }
    }

    #[test]
    fn a_job_that_is_small_makes_little_more_than_it_draws() {
        let work = Work {
            buckets: 1000,
            anchors: 0,
        };
        let (pool, anchors) = cheapest(1000, 0);
        assert!(work.made(&pool, &anchors) < 15_000.0);
        assert_eq!(work.drawn(&pool, &anchors), 1000 * u64::from(pool.bucket()));
    }

    #[test]
    fn without_a_pool_large_enough_it_is_told_why() {
        let work = Work::default();
        let refused = |sizes| work.cheapest(41.0, sizes).unwrap_err().to_string();
        assert!(refused(2..=3).contains("reaches 2^-41"), "{}", refused(2..=3));
        #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let none = refused(2..=1);
        assert!(none.contains("there is a size"), "{none}");
    }
}
