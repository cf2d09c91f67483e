//! Shuffling, and sorting by a shuffle and comparisons that everybody sees.

use cenote_circuit::library::{Key, permutation_network, route_permutation};
use cenote_net::PartyId;
use cenote_primitives::{Entropy, Sampler};

use crate::error::Result;
use crate::op::Op;
use crate::secret::Secret;
use crate::table::compact::exchange_if;
use crate::table::network::Network;
use crate::value::Value;
use zeroize::Zeroizing;

/// The records in an order that is uniformly random to every party: two parties one after the other arrange them as only they know, by a
/// permutation network whose exchanges are their secret inputs. Of two or three parties one cheats at most.
pub(crate) fn shuffled(records: &Value) -> Value {
    let session = records.session();
    let count = records.lanes();
    let (exchanges, order) = permutation_network(count);
    if exchanges.is_empty() {
        return records.clone();
    }
    let network = Network::new(&exchanges);
    let arrangers = session.parties().min(2) as u8;
    (0..arrangers)
        .map(PartyId)
        .fold(records.clone(), |records, arranger| {
            let controls = (session.me() == arranger).then(|| {
                // Nobody but this party can time it.
                let mut drawn = Zeroizing::new(vec![0u32; count]);
                Sampler::new(Entropy::os().block()).permutation(&mut drawn);
                let arrangement =
                    Zeroizing::new(drawn.iter().map(|&place| place as usize).collect::<Vec<_>>());
                Zeroizing::new(route_permutation(&arrangement).expect("a permutation was drawn"))
            });
            let controls = session.input(
                arranger,
                exchanges.len(),
                controls.as_ref().map(|controls| controls.as_slice()),
            );
            network.pass(&records, &order, |gates, x, y| {
                let places: Vec<usize> = gates.iter().map(|gate| gate.number).collect();
                exchange_if(&controls.value().gather(&places), x, y)
            })
        })
}

/// The records from the smallest key to the greatest, and among equal keys in the order in which they come: a stable sort. What is revealed are
/// comparisons of records in random order, no two of which are equal, since their places count too; so they tell nothing.
pub(crate) fn sorted(records: &Value, key: Key) -> Result<Value> {
    let session = records.session();
    let count = records.lanes();
    let places = count.next_power_of_two().ilog2().max(1);
    let numbers: Vec<u128> = (0..count as u128).collect();
    let numbered = Value::join(&[&session.constant_row(places, &numbers), records]);
    let shuffled = shuffled(&numbered);
    let keys = shuffled.part(0, places + key.width as u32);
    // Quicksort of all parts at once, each by its first record, which is as good as any.
    let mut parts: Vec<Vec<usize>> = vec![(0..count).collect()];
    while parts.iter().any(|part| part.len() > 1) {
        let pairs: Vec<(usize, usize)> = parts
            .iter()
            .flat_map(|part| part[1..].iter().map(|&other| (other, part[0])))
            .collect();
        let (others, pivots): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
        let less = Value::apply(
            Op::Less { signed: key.signed },
            &[&keys.gather(&others), &keys.gather(&pivots)],
            1,
        );
        let less = session.open(&Secret::<bool>::of(less))?;
        let mut less = less.into_iter();
        let mut next = Vec::with_capacity(2 * parts.len());
        for part in parts {
            let (low, high): (Vec<usize>, Vec<usize>) = part[1..]
                .iter()
                .partition(|_| less.next().expect("one for each pair"));
            next.extend(
                [low, vec![part[0]], high]
                    .into_iter()
                    .filter(|part| !part.is_empty()),
            );
        }
        parts = next;
    }
    let order: Vec<usize> = parts.concat();
    Ok(shuffled.gather(&order).part(places, records.width()))
}
