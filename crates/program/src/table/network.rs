//! Networks of gates that take two records each, over the places of a row.

use std::borrow::Borrow;

use cenote_primitives::LaneRun;

use crate::value::{Value, runs};

/// A gate that takes the records of two lines and puts others there.
#[derive(Clone, Copy)]
pub(crate) struct Gate {
    first: usize,
    second: usize,
    /// Its number in the order of the network.
    pub(crate) number: usize,
}

/// Gates of two lines in the order in which they are passed, as many as possible side by side.
pub(crate) struct Network {
    layers: Vec<Vec<Gate>>,
}

impl Network {
    /// The network of the gates on these pairs of lines.
    pub(crate) fn new(gates: &[(usize, usize)]) -> Self {
        let count = gates.iter().map(|&(x, y)| x.max(y) + 1).max().unwrap_or(0);
        let mut depth = vec![0; count];
        let mut layers: Vec<Vec<Gate>> = Vec::new();
        for (number, &(x, y)) in gates.iter().enumerate() {
            let layer = depth[x].max(depth[y]);
            (depth[x], depth[y]) = (layer + 1, layer + 1);
            if layers.len() == layer {
                layers.push(Vec::new());
            }
            layers[layer].push(Gate {
                first: x,
                second: y,
                number,
            });
        }
        // Lanes side by side are moved together.
        let mut at_line = vec![None; count];
        for layer in &mut layers {
            layer.iter().for_each(|gate| at_line[gate.first] = Some(*gate));
            layer.clear();
            layer.extend(at_line.iter_mut().filter_map(Option::take));
        }
        Self { layers }
    }

    /// Sends `records`, one on each line, through the network, and gives what is on the lines of `order` in the end. `gates` does
    /// what the gates of a layer do with their first and second records.
    pub(crate) fn pass(
        &self,
        records: &Value,
        order: &[usize],
        gates: impl FnMut(&[Gate], &Value, &Value) -> (Value, Value),
    ) -> Value {
        let lines: Vec<usize> = (0..records.lanes()).collect();
        through(self.layers.iter(), records, &lines, order, gates)
    }

    /// The other way: sends `records`, which are on the lines of `order`, from the end to the beginning, and gives what is on each line
    /// there. `gates` is called for the last layer first.
    pub(crate) fn pass_back(
        &self,
        records: &Value,
        order: &[usize],
        gates: impl FnMut(&[Gate], &Value, &Value) -> (Value, Value),
    ) -> Value {
        let lines: Vec<usize> = (0..records.lanes()).collect();
        through(self.layers.iter().rev(), records, order, &lines, gates)
    }
}

/// Sorts the records on as many lines by gates that leave the smaller record on their first line: Batcher's merge exchange (Knuth, The Art of Computer
/// Programming, volume 3, algorithm 5.2.2M), whose layers are made one by one, so that nothing is kept of a network of many lines.
pub(crate) fn merge_exchange(
    records: &Value,
    gates: impl FnMut(&[Gate], &Value, &Value) -> (Value, Value),
) -> Value {
    let lines: Vec<usize> = (0..records.lanes()).collect();
    through(
        merge_exchange_layers(records.lanes()),
        records,
        &lines,
        &lines,
        gates,
    )
}

fn merge_exchange_layers(count: usize) -> impl Iterator<Item = Vec<Gate>> {
    let top = count.next_power_of_two() / 2;
    let steps = (0..=top.checked_ilog2().unwrap_or(0))
        .rev()
        .map(|at| 1usize << at)
        .flat_map(move |p| {
            // The distance, and which lines are the first of a gate.
            let later = std::iter::successors(Some(top), |q| Some(q / 2)).take_while(move |&q| q > p);
            std::iter::once((p, p, 0)).chain(later.map(move |q| (p, q - p, p)))
        });
    steps.map(move |(p, distance, rest)| {
        (0..count.saturating_sub(distance))
            .filter(|line| line & p == rest)
            .map(|line| Gate {
                first: line,
                second: line + distance,
                number: 0,
            })
            .collect()
    })
}

/// Sends records on the lines `from` through `layers`, and gives what is on the lines `to`.
fn through(
    layers: impl Iterator<Item = impl Borrow<Vec<Gate>>>,
    records: &Value,
    from: &[usize],
    to: &[usize],
    mut gates: impl FnMut(&[Gate], &Value, &Value) -> (Value, Value),
) -> Value {
    let mut parts = vec![records.clone()];
    // Where the record of each line is: in which part, and in which lane of it.
    let mut places = vec![(0, 0); from.len()];
    from.iter()
        .enumerate()
        .for_each(|(lane, &line)| places[line] = (0, lane));
    for layer in layers {
        let layer = layer.borrow();
        if layer.is_empty() {
            continue;
        }
        let first = arranged(&parts, &runs(layer.iter().map(|gate| places[gate.first])));
        let second = arranged(&parts, &runs(layer.iter().map(|gate| places[gate.second])));
        let (first, second) = gates(layer, &first, &second);
        let new = parts.len();
        for (lane, gate) in layer.iter().enumerate() {
            (places[gate.first], places[gate.second]) = ((new, lane), (new + 1, lane));
        }
        parts.extend([first, second]);
        drop_unused(&mut parts, &mut places);
    }
    arranged(&parts, &runs(to.iter().map(|&line| places[line])))
}

fn arranged(parts: &[Value], runs: &[LaneRun]) -> Value {
    // Parts without a lane of these need not be computed yet.
    let mut used: Vec<u32> = runs.iter().map(|run| run.part).collect();
    used.sort_unstable();
    used.dedup();
    let chosen: Vec<&Value> = used.iter().map(|&part| &parts[part as usize]).collect();
    let renumbered = |run: &LaneRun| LaneRun {
        part: used.binary_search(&run.part).expect("it is used") as u32,
        ..*run
    };
    Value::arrange(&chosen, &runs.iter().map(renumbered).collect::<Vec<_>>())
}

/// Drops parts whose records all have been replaced.
fn drop_unused(parts: &mut Vec<Value>, places: &mut [(usize, usize)]) {
    let mut used = vec![false; parts.len()];
    places.iter().for_each(|&(part, _)| used[part] = true);
    let mut number = vec![0; parts.len()];
    let mut next = 0;
    for (part, used) in used.iter().enumerate() {
        number[part] = next;
        next += usize::from(*used);
    }
    places.iter_mut().for_each(|(part, _)| *part = number[*part]);
    let mut kept = used.iter();
    parts.retain(|_| *kept.next().expect("one for each part"));
}
