//! Sorting and merging: by networks, as rows, with a circuit for an exchange that is run in as many lanes as there are exchanges side by side; or in a
//! secret order, where the protocol has such and that takes less.

use cenote_circuit::library::{self, Key};
use cenote_circuit::{Bit, Builder};

use crate::function::call;
use crate::op::Called;
use crate::table::cost::Work;
use crate::table::network::{Gate, Network, merge_exchange};
use crate::table::order::Order;
use crate::value::Value;

/// Most records that are sorted by the network with the fewest exchanges, all of which are kept while they are.
const KEPT: usize = 1 << 14;

/// The records of a row from the smallest key on: their low bits, as `key` says. Records with equal keys come in some order.
#[track_caller]
pub(crate) fn sorted(records: &Value, key: Key) -> Value {
    let work = Work::new(records.session(), records.lanes(), records.width());
    if work.is_some_and(|work| work.order(key) < work.network(key)) {
        return Order::or_none(Order::by(records, key), records).applied(records);
    }
    let exchange = exchange(records.width(), key);
    if records.lanes() > KEPT {
        return merge_exchange(records, exchange);
    }
    let (exchanges, order) = library::sorting_network(records.lanes());
    Network::new(&exchanges).pass(records, &order, exchange)
}

/// All records of two rows that are sorted by their keys, from the smallest on.
#[track_caller]
pub(crate) fn merged(x: &Value, y: &Value, key: Key) -> Value {
    let (exchanges, order) = library::merging_network(x.lanes(), y.lanes());
    Network::new(&exchanges).pass(&Value::concat(&[x, y]), &order, exchange(x.width(), key))
}

/// The `count` records with the smallest keys, from the smallest on.
#[track_caller]
pub(crate) fn least(records: &Value, count: usize, key: Key) -> Value {
    let count = count.min(records.lanes());
    let work = Work::new(records.session(), records.lanes(), records.width());
    if work.is_some_and(|work| work.least_order(key, count) < work.least_network(key, count)) {
        let order = Order::or_none(Order::of_least(records, key, count), records);
        return order.applied(records).slice(0, count);
    }
    // The least of every block, merged two by two.
    let lines: Vec<usize> = (0..records.lanes()).collect();
    let mut exchanges = Vec::new();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    for block in lines.chunks(count) {
        let (network, order) = library::sorting_network(block.len());
        exchanges.extend(network.iter().map(|&(x, y)| (block[x], block[y])));
        blocks.push(order.iter().map(|&at| block[at]).collect());
    }
    while blocks.len() > 1 {
        blocks = blocks
            .chunks(2)
            .map(|pair| {
                let [x, y] = pair else {
                    return pair[0].clone();
                };
                let lines = [&x[..], &y[..]].concat();
                let (network, mut order) = library::merging_network(x.len(), y.len());
                order.truncate(count);
                let network = needed(&network, &order);
                exchanges.extend(network.iter().map(|&(x, y)| (lines[x], lines[y])));
                order.iter().map(|&at| lines[at]).collect()
            })
            .collect();
    }
    let order = blocks.pop().unwrap_or_default();
    Network::new(&exchanges).pass(records, &order, exchange(records.width(), key))
}

/// The exchanges that what is on `lines` in the end depends on.
fn needed(exchanges: &[(usize, usize)], lines: &[usize]) -> Vec<(usize, usize)> {
    let count = exchanges
        .iter()
        .map(|&(x, y)| x.max(y))
        .chain(lines.iter().copied())
        .max();
    let mut matters = vec![false; count.map_or(0, |last| last + 1)];
    lines.iter().for_each(|&line| matters[line] = true);
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for &(x, y) in exchanges.iter().rev() {
        if matters[x] || matters[y] {
            (matters[x], matters[y]) = (true, true);
            kept.push((x, y));
        }
    }
    kept.reverse();
    kept
}

/// Records of so many bits, the one with the smaller key first.
fn exchange(width: u32, key: Key) -> impl Fn(&[Gate], &Value, &Value) -> (Value, Value) {
    let name = format!("exchange of {width} bits by {key:?}");
    let weight = u64::from(width) + key.width as u64;
    let exchange = Called::new(name, weight, move |b: &mut Builder, operands: &[&[Bit]], goal| {
        let (x, y) = library::min_max(b, operands[0], operands[1], key, goal);
        [x, y].concat()
    });
    move |_, x, y| {
        let mut both = call(&exchange, &[x, y], &[width, width]).into_iter();
        let mut next = || both.next().expect("both are given");
        (next(), next())
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::PartyId;
    use cenote_session::ClearEngine;

    use super::*;
    use crate::secret::Secret;
    use crate::session::Session;

    #[test]
    fn networks_that_are_not_kept_sort_too() {
        for count in [1, 2, 3, 5, 16, 31, 100, 257] {
            let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()));
            let values: Vec<u16> = (0..count as u32).map(|at| (at * 40_503 % 1009) as u16).collect();
            let row = session.input(PartyId(0), count, Some(&values));
            let key = Key::unsigned(16);
            let sorted = merge_exchange(row.value(), exchange(16, key));
            let mut expected = values.clone();
            expected.sort_unstable();
            assert_eq!(
                session.open(&Secret::<u16>::of(sorted)).unwrap(),
                expected,
                "{count}"
            );
        }
    }
}
