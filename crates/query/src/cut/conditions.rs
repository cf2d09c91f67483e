//! Conditions of a join, put where the rows are that they are of.

use crate::expr::Expr;
use crate::plan::of_inputs;
use crate::relation::{Operation, Relation};

/// A join and the conditions on it, of which those on one input are part of that input, so that its rows meet there; nothing if it is no join.
pub(super) fn lowered(relation: &Relation) -> Option<Relation> {
    let (mut join, mut conditions) = (relation, Vec::new());
    while let Operation::Filter(input, condition) = &join.operation {
        conditions.extend(condition.clone().conjuncts());
        join = input;
    }
    let Operation::Inner(inputs, own) = &join.operation else {
        return None;
    };
    conditions.extend(own.iter().cloned().flat_map(Expr::conjuncts));
    let starts: Vec<usize> = inputs
        .iter()
        .scan(0, |next, input| {
            let first = *next;
            *next += input.columns.len();
            Some(first)
        })
        .collect();
    let input_of = |column: usize| starts.partition_point(|&first| first <= column) - 1;
    let (mut of_one, mut others) = (vec![Vec::new(); inputs.len()], Vec::new());
    for condition in conditions {
        match of_inputs(&condition, &input_of)[..] {
            [input] => {
                let all = inputs[input].all();
                of_one[input].push(condition.over(&|column| all[column - starts[input]].clone()));
            }
            _ => others.push(condition),
        }
    }
    let inputs = inputs.iter().zip(of_one).map(|(input, conditions)| {
        let input = input.clone();
        match Expr::all(conditions) {
            Some(condition) => input.filter(condition),
            None => input,
        }
    });
    Some(relation.with(Operation::Inner(inputs.collect(), others)))
}
