//! Permutation networks: which items go where is up to control bits, in no way seen from the network.
//!
//! The networks are Waksman's ("A permutation network", 1968), for any number of items as Beauquier and Darrot have them ("On
//! arbitrary size Waksman networks and their vulnerability", 2002): pairs of items are exchanged or not, one of each
//! pair enters a network of half the size and the other one another, and pairs of what comes out are exchanged or not. An
//! exchange takes one AND for each bit of an item. Any control bits give some arrangement, so that those of a party who
//! may cheat need no check.

use crate::{Bit, BitOrder, Builder, Circuit};

use super::sort::exchange_all;

/// The exchanges of a network for `n` items: `Σ_{i=1}^{n} ⌈log2 i⌉`, which is `n·p - n + 1` for `n = 2^p`.
pub fn permutation_controls(n: usize) -> usize {
    match n {
        0 | 1 => 0,
        _ => n / 2 + (n - 1) / 2 + permutation_controls(n / 2) + permutation_controls(n.div_ceil(2)),
    }
}

/// The [`permutation_controls`] control bits with which [`permute`] gives an arrangement whose item `i` is item
/// `order[i]`. Time and memory accesses depend on the order, so that only who may know it computes this. `None` if `order`
/// is not a permutation of `0..order.len()`.
pub fn route_permutation(order: &[usize]) -> Option<Vec<bool>> {
    let mut place = vec![usize::MAX; order.len()];
    for (to, &from) in order.iter().enumerate() {
        let place = place.get_mut(from).filter(|place| **place == usize::MAX)?;
        *place = to;
    }
    let mut controls = Vec::with_capacity(permutation_controls(order.len()));
    route(order, &place, &mut controls);
    Some(controls)
}

/// The exchanges of a network for `n` items, each of two lines, in order; and the line of each result. Exchange `k` takes place if
/// control `k` is 1 (see [`route_permutation`]).
pub fn permutation_network(n: usize) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut exchanges = Vec::with_capacity(permutation_controls(n));
    let order = network(&(0..n).collect::<Vec<_>>(), &mut exchanges);
    (exchanges, order)
}

/// The items in the order that `controls` says (see [`route_permutation`]), with an AND for each control and bit of an
/// item; at most `2⌈log2 n⌉ - 1` are one after another.
///
/// # Panics
/// If there are not [`permutation_controls`] controls, or the items have different widths.
pub fn permute(b: &mut Builder, items: &[Vec<Bit>], controls: &[Bit]) -> Vec<Vec<Bit>> {
    let (exchanges, order) = permutation_network(items.len());
    assert_eq!(controls.len(), exchanges.len(), "one control for each exchange");
    let mut items = items.to_vec();
    exchange_all(b, &mut items, exchanges.into_iter().zip(controls.iter().copied()));
    order
        .into_iter()
        .map(|line| std::mem::take(&mut items[line]))
        .collect()
}

/// Arranges `count` items of `width` bits: inputs `x0`, `x1`, … and `controls`, outputs `y0`, `y1`, …, all
/// [`BitOrder::Lsb`].
pub fn permutation(count: usize, width: u32) -> Circuit {
    let mut b = Builder::new();
    build_permutation(&mut b, count, width);
    b.finish()
}

/// As [`permutation`], in an empty circuit.
pub(super) fn build_permutation(b: &mut Builder, count: usize, width: u32) {
    let items: Vec<Vec<Bit>> = (0..count)
        .map(|i| b.input(&format!("x{i}"), width, BitOrder::Lsb))
        .collect();
    let controls = b.input("controls", permutation_controls(count) as u32, BitOrder::Lsb);
    for (i, item) in permute(b, &items, &controls).iter().enumerate() {
        b.output(&format!("y{i}"), item, BitOrder::Lsb);
    }
}

/// Exchanges pairs `2i`, `2i + 1`; sends the first of each up, the second, and a last item without partner, down;
/// exchanges pairs of results, but for the last pair of an even number, which comes as it is. Gives the lines of the results.
///
/// Exchanges come in this order: pairs before, the upper half, the lower half, pairs after.
fn network(lines: &[usize], exchanges: &mut Vec<(usize, usize)>) -> Vec<usize> {
    let n = lines.len();
    if n < 2 {
        return lines.to_vec();
    }
    let pairs =
        |lines: &[usize]| -> Vec<_> { lines.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect() };
    exchanges.extend(pairs(lines));
    let up: Vec<usize> = pairs(lines).iter().map(|pair| pair.0).collect();
    let down: Vec<usize> = (0..n)
        .filter(|i| i % 2 == 1 || i + 1 == n)
        .map(|i| lines[i])
        .collect();
    let up = network(&up, exchanges);
    let down = network(&down, exchanges);
    let mut results: Vec<usize> = up.iter().zip(&down).flat_map(|(&x, &y)| [x, y]).collect();
    results.extend(&down[up.len()..]);
    exchanges.extend(pairs(&results[..(n - 1) / 2 * 2]));
    results
}

/// Appends the controls of [`network`] for result `i` to be item `order[i]`, and item `i` to be result `place[i]`.
fn route(order: &[usize], place: &[usize], controls: &mut Vec<bool>) {
    let n = order.len();
    if n < 2 {
        return;
    }
    let down = halves(order, place);
    controls.extend((0..n / 2).map(|pair| down[2 * pair]));
    for half in [false, true] {
        let order: Vec<usize> = order
            .iter()
            .filter(|&&item| down[item] == half)
            .map(|item| item / 2)
            .collect();
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| place[from] = to);
        route(&order, &place, controls);
    }
    controls.extend((0..(n - 1) / 2).map(|pair| down[order[2 * pair]]));
}

/// Whether each item goes down.
fn halves(order: &[usize], place: &[usize]) -> Vec<bool> {
    let n = order.len();
    let partner = |i: usize| Some(i ^ 1).filter(|&partner| partner < n);
    let mut down: Vec<Option<bool>> = vec![None; n];
    // The last result comes from below. Then all others, by what does not exchange its pair.
    for first in (0..n).rev() {
        let half = first == n - 1;
        // Two of a pair go through different halves, both before and after, which makes chains of alternate pairs. One from
        // the last result of an odd number ends with the last item, which goes down as it must.
        let mut result = first;
        while down[order[result]].is_none() {
            down[order[result]] = Some(half);
            let Some(other) = partner(order[result]) else {
                break;
            };
            down[other] = Some(!half);
            let Some(next) = partner(place[other]) else { break };
            result = next;
        }
    }
    down.into_iter()
        .map(|half| half.expect("every item is a result"))
        .collect()
}
