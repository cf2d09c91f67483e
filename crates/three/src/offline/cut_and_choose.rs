//! Cut and choose: shuffling an array, opening some of its triples, and spending the others to check the first array
//! (S&P 2017, Protocol 3.1, steps 3 and 4; Lemma 5.7 for buckets of two sizes).

use std::collections::VecDeque;
use std::ops::Range;

use cenote_net::PartyId;
use cenote_primitives::{Block512, Position, Sampler, kernels};
use cenote_session::{Error, Result};

use crate::checks;
use crate::material::shape::{Array, Shape};
use crate::offline::generator::Factors;
use crate::ring::Ring;
use crate::setup::keys::factor_b;
use crate::steps;
use crate::triple_check::{CheckScratch, CheckWindow, Operands, Pair, WINDOW, part, part_mut, zero_pair};
use crate::view::Views;

/// Where in the first array the triples of a partner array go.
enum Places {
    /// Subarray `i` goes to the buckets of subarray number `.0[i]`.
    Subarrays(Vec<u32>),
    /// Triple `i` goes to bucket `.0[i]`.
    Buckets(Vec<u32>),
}

/// Buffers for checking buckets.
pub(crate) struct Buckets {
    me: PartyId,
    shape: Shape,
    /// How many full windows are in flight at most.
    lag: usize,
    spare: Vec<CheckWindow>,
    scratch: CheckScratch,
    names: Vec<Position>,
}

/// A stretch of one subarray whose opening is under way.
struct Flight {
    /// The triples that cut and choose opens, sent before the first window of their subarray.
    opened: Option<Opened>,
    window: CheckWindow,
    /// Where the products under test lie in the first array, unless the window holds a copy of them.
    tested: Option<Range<usize>>,
}

impl Flight {
    fn blocks(&self) -> usize {
        self.window.names.len()
    }
}

impl Buckets {
    /// `lag` full windows are in flight at most.
    pub(crate) fn new(me: PartyId, shape: Shape, lag: usize) -> Self {
        Self {
            me,
            shape,
            lag,
            spare: Vec::new(),
            scratch: CheckScratch::new(),
            names: Vec::new(),
        }
    }

    /// Chooses the buckets that an array's triples go to: all of them, in order; or, for the array that fills the larger
    /// buckets, random ones. The batch's coin must choose them: the first array is not shuffled, so a corrupted party
    /// that knew the larger buckets would cheat in the smaller ones.
    fn places(&self, array: Array, sampler: &mut Sampler) -> Places {
        let Shape { n, l, .. } = self.shape;
        let all = |count: usize| (0..count as u32).collect::<Vec<_>>();
        if array.subarrays == l && array.each == self.shape.x {
            return Places::Subarrays(all(l));
        }
        let mut chosen = all(if l == 1 { n } else { l });
        sampler.shuffle(&mut chosen);
        if l == 1 {
            chosen.truncate(array.each - self.shape.c);
            Places::Buckets(chosen)
        } else {
            chosen.truncate(array.subarrays);
            Places::Subarrays(chosen)
        }
    }

    /// Shuffles each partner array in two levels, opens `C` triples of each subarray, and checks the triples of the first
    /// array with those that fell into their buckets.
    pub(crate) fn check<'a>(
        &mut self,
        (source, products): (&Factors, &Pair),
        partners: impl Iterator<Item = (Array, &'a Pair)>,
        sampler: &mut Sampler,
        ring: &mut Ring,
        views: &mut Views,
    ) -> Result<()> {
        let c = self.shape.c;
        let (mut flights, mut in_flight) = (VecDeque::<Flight>::new(), 0);
        for (array, partner) in partners {
            let places = self.places(array, sampler);
            let mut order = vec![0u32; array.subarrays];
            sampler.permutation(&mut order);
            let mut within = vec![0u32; array.each];
            let bucketed = array.each - c;
            for (subarray, &from) in order.iter().enumerate() {
                // Subarray number `from` of the partner array moves to place `subarray`.
                let from = from as usize * array.each;
                sampler.permutation(&mut within);
                for start in (0..bucketed).step_by(WINDOW) {
                    let blocks = WINDOW.min(bucketed - start);
                    while in_flight + blocks > self.lag * WINDOW
                        && let Some(flight) = flights.pop_front()
                    {
                        in_flight -= flight.blocks();
                        self.land(flight, (source, products), ring, views)?;
                    }
                    let opened = (start == 0)
                        .then(|| Opened::send(source, (array, partner), from, &within[..c], ring))
                        .transpose()?;
                    let spent = &within[c + start..c + start + blocks];
                    let mut window = self.spare.pop().unwrap_or_default();
                    window.resize(blocks);
                    for (name, &index) in window.names.iter_mut().zip(spent) {
                        *name = source.name(array.first + from as u64 + u64::from(index));
                    }
                    copy(
                        partner,
                        spent.iter().map(|&index| from + index as usize),
                        &mut window.c,
                    );
                    let (operands, tested) = match &places {
                        Places::Subarrays(places) => {
                            let first = places[subarray] as usize * bucketed + start;
                            let operands = Operands::Consecutive(source.name(first as u64));
                            (operands, Some(first..first + blocks))
                        }
                        Places::Buckets(places) => {
                            let places = &places[start..start + blocks];
                            window.z.iter_mut().for_each(|z| z.resize(blocks));
                            copy(
                                products,
                                places.iter().map(|&place| place as usize),
                                &mut window.z,
                            );
                            self.names.clear();
                            self.names
                                .extend(places.iter().map(|&place| source.name(place.into())));
                            (Operands::Scattered(&self.names), None)
                        }
                    };
                    window.open_factors(
                        operands,
                        &source.keys,
                        &mut self.scratch,
                        ring,
                        steps::CHECK_TRIPLE,
                    )?;
                    in_flight += blocks;
                    flights.push_back(Flight {
                        opened,
                        window,
                        tested,
                    });
                }
            }
        }
        for flight in flights {
            self.land(flight, (source, products), ring, views)?;
        }
        Ok(())
    }

    /// Receives what the peers opened, and adds it to the views.
    fn land(
        &mut self,
        flight: Flight,
        (source, products): (&Factors, &Pair),
        ring: &mut Ring,
        views: &mut Views,
    ) -> Result<()> {
        let Flight {
            opened,
            mut window,
            tested,
        } = flight;
        if let Some(opened) = opened {
            opened.check(ring, views)?;
        }
        window.check_products(
            self.me,
            tested.map(|range| part(products, range)),
            &source.keys,
            &mut self.scratch,
            ring,
            steps::CHECK_TRIPLE,
            views,
        )?;
        self.spare.push(window);
        Ok(())
    }
}

/// Copies the sharings at `indices`.
fn copy(from: &Pair, indices: impl Iterator<Item = usize> + Clone, to: &mut Pair) {
    for (to, from) in to.iter_mut().zip(from) {
        for (to, index) in to.iter_mut().zip(indices.clone()) {
            *to = from[index];
        }
    }
}

/// Triples being opened by cut and choose.
struct Opened {
    /// First factors, second factors, products.
    values: [Pair; 3],
}

impl Opened {
    /// Opens the triples at the places `chosen` of the subarray that starts at `from`.
    fn send(
        source: &Factors,
        (array, partner): (Array, &Pair),
        from: usize,
        chosen: &[u32],
        ring: &mut Ring,
    ) -> Result<Self> {
        let mut values: [Pair; 3] = std::array::from_fn(|_| zero_pair(chosen.len()));
        let name = |&index: &u32| source.name(array.first + from as u64 + u64::from(index));
        let names: Vec<_> = chosen.iter().map(name).collect();
        let names_b: Vec<_> = names.iter().copied().map(factor_b).collect();
        let [a, b, products] = &mut values;
        source.keys.random_at(&names, part_mut(a, 0..chosen.len()));
        source.keys.random_at(&names_b, part_mut(b, 0..chosen.len()));
        copy(
            partner,
            chosen.iter().map(|&index| from + index as usize),
            products,
        );
        let sent = values.each_ref().map(|value| &value[1][..]);
        ring.pass(steps::OPEN_TRIPLE, sent)?;
        Ok(Self { values })
    }

    /// Receives the missing components, checks that what is opened are triples, and adds it to the views.
    fn check(self, ring: &mut Ring, views: &mut Views) -> Result<()> {
        let blocks = self.values[0][0].len();
        let mut open: [Vec<Block512>; 3] = std::array::from_fn(|_| vec![Block512::ZERO; blocks]);
        ring.take(steps::OPEN_TRIPLE, open.each_mut().map(Vec::as_mut_slice))?;
        for (open, held) in open.iter_mut().zip(&self.values) {
            kernels::xor_into(open, &held[0]);
            kernels::xor_into(open, &held[1]);
            views.add_opened(open);
        }
        let [a, b, c] = &open;
        if a.iter().zip(b).zip(c).any(|((&a, &b), &c)| a & b != c) {
            let detail = "an opened triple is not a product";
            return Err(Error::cheated(
                checks::TRIPLE_OPENING,
                None,
                steps::OPEN_TRIPLE,
                detail,
            ));
        }
        Ok(())
    }
}
