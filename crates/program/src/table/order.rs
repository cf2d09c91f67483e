//! Orders of records: a shuffle that nobody knows, and public places after it, or before it is undone.

use std::ops::Range;
use std::rc::Rc;

use cenote_circuit::library::{Key, permutation_network, route_permutation};
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, Block, Entropy, Sampler};
use zeroize::Zeroizing;

use crate::error::Result;
use crate::op::Op;
use crate::secret::Secret;
use crate::session::Session;
use crate::table::compact::exchange_if;
use crate::table::network::{Gate, Network};
use crate::table::quicksort::{Quicksort, Runs, spare};
use crate::value::Value;

/// Keys that are compared at once.
const AT_ONCE: usize = 1 << 18;

/// An order of the records of a row. It moves any rows of as many records alike, and back.
pub(crate) struct Order {
    records: usize,
    shuffle: Shuffle,
    places: Places,
}

/// Where records come, besides the shuffle.
enum Places {
    None,
    /// Which of the shuffled records comes in each place.
    After(Vec<usize>),
    /// Which of the records comes in each place of the shuffled ones, before the shuffle is undone.
    Before(Vec<usize>),
}

enum Shuffle {
    /// The protocol's, by its number.
    Protocol(u32),
    /// Networks of exchanges, each with what one party decides.
    Networks(Rc<Network>, Vec<usize>, Vec<Value>),
    /// None: there is one record, or the session has failed.
    Nothing,
}

impl Order {
    /// An order that is uniformly random to every party: the protocol's, where it has such, and else two parties one after the other arrange the
    /// records as only they know, by a permutation network whose exchanges are their secret inputs. Of two or three parties one cheats at most.
    pub(crate) fn random(like: &Value) -> Self {
        let (session, count) = (like.session(), like.lanes());
        let shuffle = if session.shuffles() && count > 1 {
            session.draw(count).map_or(Shuffle::Nothing, Shuffle::Protocol)
        } else {
            Self::by_networks(like)
        };
        Self {
            records: count,
            shuffle,
            places: Places::None,
        }
    }

    /// An order; one that leaves all where they are if the session has failed.
    pub(crate) fn or_none(order: Result<Self>, like: &Value) -> Self {
        order.unwrap_or_else(|error| {
            like.session().fail_with(error);
            Self {
                records: like.lanes(),
                shuffle: Shuffle::Nothing,
                places: Places::None,
            }
        })
    }

    /// How many records it has.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    fn by_networks(like: &Value) -> Shuffle {
        let (session, count) = (like.session(), like.lanes());
        let (exchanges, lines) = permutation_network(count);
        if exchanges.is_empty() {
            return Shuffle::Nothing;
        }
        let arrangers = session.parties().min(2) as u8;
        let controls = (0..arrangers).map(PartyId).map(|arranger| {
            let controls = (session.me() == arranger).then(|| {
                // Nobody but this party can time it.
                let mut drawn = Zeroizing::new(vec![0u32; count]);
                Sampler::new(Entropy::os().block()).permutation(&mut drawn);
                let arrangement =
                    Zeroizing::new(drawn.iter().map(|&place| place as usize).collect::<Vec<_>>());
                Zeroizing::new(route_permutation(&arrangement).expect("a permutation was drawn"))
            });
            let controls: Secret<bool> = session.input(
                arranger,
                exchanges.len(),
                controls.as_ref().map(|controls| controls.as_slice()),
            );
            controls.value().clone()
        });
        let controls = controls.collect();
        Shuffle::Networks(Rc::new(Network::new(&exchanges)), lines, controls)
    }

    /// The order by a key, the low bits of `records`, from the smallest to the greatest; those with equal keys come as they were. What is revealed are
    /// comparisons of records in random order, no two of which are equal, since their places count too; so they tell nothing of the records.
    ///
    /// # Errors
    /// What happened to the session.
    pub(crate) fn by(records: &Value, key: Key) -> Result<Self> {
        Self::of_least(records, key, records.lanes())
    }

    /// As [`Order::by`], but only the first `wanted` records come in their order, and the others in some order.
    ///
    /// # Errors
    /// As [`Order::by`].
    pub(crate) fn of_least(records: &Value, key: Key, wanted: usize) -> Result<Self> {
        let (session, count) = (records.session(), records.lanes());
        let keys = records.part(0, key.width as u32);
        let numbered = Value::join(&[&numbers(session, 0..count, bits_of_places(count)), &keys]);
        let mut order = Self::random(&numbered);
        let mut keys = order.applied(&numbered);
        let mut foreseen = session.foresees().then(|| {
            session.spare(spare(count) * u64::from(keys.width()));
            random_ranks(count)
        });
        let mut sort = Quicksort::new(count, wanted);
        loop {
            let less = compared(&keys, sort.runs(AT_ONCE), key.signed);
            if less.is_empty() {
                break;
            }
            let less = Value::concat(&less.iter().collect::<Vec<_>>());
            let opened = session.open_untelling(&less)?;
            sort.hear(&match &foreseen {
                None => opened.bits().collect::<Vec<_>>(),
                Some(ranks) => sort.pairs().map(|(x, y)| ranks[x] < ranks[y]).collect(),
            });
            // Where a protocol has no shuffles of its own, what is copied is whole blocks, and may keep what it was copied from.
            if session.shuffles()
                && let Some(nearer) = sort.nearer()
            {
                keys = Value::arrange(&[&keys], &nearer.runs);
                foreseen = foreseen.map(|ranks| nearer.keys().map(|key| ranks[key]).collect());
            }
        }
        order.places = Places::After(sort.into_order());
        Ok(order)
    }

    /// The order in which each record is in the place that `places` has for it. No two have the same.
    ///
    /// # Errors
    /// What happened to the session.
    pub(crate) fn to(places: &Value) -> Result<Self> {
        Self::opened(places, |places| Places::After(inverse(&places)))
    }

    /// The order in which each place has the record whose number is there. No two have the same.
    ///
    /// # Errors
    /// What happened to the session.
    pub(crate) fn of(records: &Value) -> Result<Self> {
        Self::opened(records, Places::Before)
    }

    /// The order that has the places that these numbers are once they are shuffled, and opened.
    fn opened(numbers: &Value, places: impl FnOnce(Vec<usize>) -> Places) -> Result<Self> {
        let session = numbers.session();
        let mut order = Self::random(numbers);
        let opened = session.open_untelling(&order.applied(numbers))?;
        if !session.foresees() {
            order.places = places(permutation(&opened)?);
        }
        Ok(order)
    }

    /// The records in this order.
    pub(crate) fn applied(&self, records: &Value) -> Value {
        match &self.places {
            Places::None => self.shuffled(records),
            Places::After(places) => self.shuffled(records).gather(places),
            Places::Before(places) => self.unshuffled(&records.gather(places)),
        }
    }

    /// The records whose order this is, as they were before.
    pub(crate) fn undone(&self, records: &Value) -> Value {
        match &self.places {
            Places::None => self.unshuffled(records),
            Places::After(places) => self.unshuffled(&records.gather(&inverse(places))),
            Places::Before(places) => self.shuffled(records).gather(&inverse(places)),
        }
    }

    fn shuffled(&self, records: &Value) -> Value {
        match &self.shuffle {
            Shuffle::Nothing => records.clone(),
            Shuffle::Protocol(number) => records.shuffled(*number, false),
            Shuffle::Networks(network, lines, controls) => {
                controls.iter().fold(records.clone(), |records, controls| {
                    network.pass(&records, lines, exchanges(controls))
                })
            }
        }
    }

    fn unshuffled(&self, records: &Value) -> Value {
        match &self.shuffle {
            Shuffle::Nothing => records.clone(),
            Shuffle::Protocol(number) => records.shuffled(*number, true),
            Shuffle::Networks(network, lines, controls) => {
                controls.iter().rev().fold(records.clone(), |records, controls| {
                    network.pass_back(&records, lines, exchanges(controls))
                })
            }
        }
    }
}

/// Whether the first key of each pair is less than the second. What is compared at once is computed before more is copied.
fn compared(keys: &Value, pairs: Vec<[Runs; 2]>, signed: bool) -> Vec<Value> {
    let less = |pairs: [Runs; 2]| {
        let operands = pairs.map(|Runs { runs, .. }| Value::arrange(&[keys], &runs));
        Value::apply(Op::Less { signed }, &operands.each_ref(), 1).computed()
    };
    pairs.into_iter().map(less).collect()
}

/// Numbers that were opened, one in each lane, all of which are there once.
///
/// # Errors
/// That they are not.
fn permutation(opened: &BitMatrix) -> Result<Vec<usize>> {
    let numbers: Vec<usize> = (0..opened.lanes())
        .map(|lane| {
            (0..opened.rows())
                .filter(|&bit| opened.get(bit, lane))
                .fold(0, |all, bit| all | 1usize << bit)
        })
        .collect();
    let mut there = vec![false; numbers.len()];
    for &number in &numbers {
        match there.get_mut(number) {
            Some(there) if !*there => *there = true,
            _ => return Err(cenote_session::Error::Internal("an order is no permutation".into()).into()),
        }
    }
    Ok(numbers)
}

fn inverse(places: &[usize]) -> Vec<usize> {
    let mut back = vec![0; places.len()];
    places
        .iter()
        .enumerate()
        .for_each(|(at, &place)| back[place] = at);
    back
}

/// Public numbers of records.
pub(crate) fn numbers(session: &Session, records: Range<usize>, width: u32) -> Value {
    let numbers: Vec<u128> = records.map(|number| number as u128).collect();
    session.constant_row(width, &numbers)
}

/// Bits that say which of so many records it is.
pub(crate) fn bits_of_places(records: usize) -> u32 {
    records.next_power_of_two().ilog2().max(1)
}

/// The ranks of records whose keys are random, for what foresees a sort.
fn random_ranks(records: usize) -> Vec<u32> {
    let mut ranks = vec![0; records];
    Sampler::new(Block([0, 0])).permutation(&mut ranks);
    ranks
}

/// What the gates of a layer do whose exchanges are decided so.
fn exchanges(controls: &Value) -> impl Fn(&[Gate], &Value, &Value) -> (Value, Value) {
    |gates, x, y| {
        let places: Vec<usize> = gates.iter().map(|gate| gate.number).collect();
        exchange_if(&controls.gather(&places), x, y)
    }
}

/// The records in an order that is uniformly random to every party.
pub(crate) fn shuffled(records: &Value) -> Value {
    Order::random(records).applied(records)
}

/// The records from the smallest key to the greatest (see [`Order::by`]).
///
/// # Errors
/// What happened to the session.
pub(crate) fn shuffled_and_sorted(records: &Value, key: Key) -> Result<Value> {
    Ok(Order::by(records, key)?.applied(records))
}

#[cfg(test)]
mod tests {
    use cenote_session::ClearEngine;

    use super::*;

    #[test]
    fn pairs_are_compared_some_after_others() {
        let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()));
        let ranks: Vec<u128> = (0..40).map(|number| number * 23 % 40).collect();
        let keys = session.constant_row(6, &ranks);
        for at_once in [1, 2, 7, 30, 100] {
            let mut sort = Quicksort::new(40, 40);
            // Of a sample, and then with a pivot.
            for step in 0..2 {
                let pairs: Vec<_> = sort.pairs().collect();
                let less = compared(&keys, sort.runs(at_once), false);
                assert_eq!(less.len(), pairs.len().div_ceil(at_once));
                let less = session
                    .open_untelling(&Value::concat(&less.iter().collect::<Vec<_>>()))
                    .unwrap();
                let less: Vec<bool> = less.bits().collect();
                let right: Vec<bool> = pairs.iter().map(|&(x, y)| ranks[x] < ranks[y]).collect();
                assert_eq!(less, right, "{at_once}, step {step}");
                sort.hear(&less);
            }
        }
    }

    #[test]
    fn places_that_are_no_permutation_are_an_error() {
        let order = |places: &[u128]| {
            let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()).shuffling(3));
            let places = session.constant_row(2, places);
            [Order::to(&places).err(), Order::of(&places).err()]
        };
        assert!(order(&[2, 0, 3, 1]).iter().all(Option::is_none));
        for places in [[0, 1, 1, 2], [3, 3, 3, 3]] {
            for error in order(&places) {
                let error = error.expect("two records go to one place").to_string();
                assert!(error.contains("no permutation"), "{error}");
            }
        }
        // Beyond the last.
        assert!(order(&[0, 1, 3]).iter().all(Option::is_some));
    }
}
