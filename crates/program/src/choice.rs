//! Which circuit is run: the one with the fewest ANDs, or the one with the fewest levels.
//!
//! Where each level takes a message from party to party, a plan takes about `ANDs · lanes · 2 ns + levels · way`, with the way that a message
//! takes; the plan with the least is run. Elsewhere levels cost nothing, and the fewest ANDs are best. All parties choose alike, since everything that counts is
//! public and the same at all of them.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use cenote_circuit::Plan;
use cenote_circuit::library::Goal;

use crate::segment::Recipe;

/// What an AND takes, about, in a protocol whose levels take rounds.
pub(crate) const AND: Duration = Duration::from_nanos(2);

/// The plans of a recipe.
pub(crate) struct Plans {
    few: Rc<Plan>,
    shallow: OnceCell<Rc<Plan>>,
}

impl Plans {
    pub(crate) fn new(recipe: &Recipe) -> Self {
        Self {
            few: Rc::new(Plan::new(&recipe.circuit(Goal::FewestAnds))),
            shallow: OnceCell::new(),
        }
    }

    /// The plan to be run in `lanes` lanes, if each level takes a message and that takes `way`.
    pub(crate) fn best(&self, recipe: &Recipe, lanes: usize, way: Option<Duration>) -> Rc<Plan> {
        let Some(way) = way else {
            return self.few.clone();
        };
        let time = |plan: &Plan| {
            let ands = AND.as_nanos() * plan.and_count() as u128 * lanes as u128;
            ands + way.as_nanos() * plan.and_depth() as u128
        };
        // A plan with fewer levels has more ANDs: it can only be better if levels take most of the time.
        let levels = way.as_nanos() * self.few.and_depth() as u128;
        if 2 * levels < time(&self.few) {
            return self.few.clone();
        }
        let shallow = self
            .shallow
            .get_or_init(|| Rc::new(Plan::new(&recipe.circuit(Goal::LeastDepth))));
        if time(shallow) < time(&self.few) {
            shallow.clone()
        } else {
            self.few.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::segment::{Ref, Step};

    #[test]
    fn few_lanes_on_long_links_take_few_levels() {
        let recipe = Recipe {
            inputs: vec![64, 64],
            steps: vec![Step {
                op: Op::Add,
                operands: vec![Ref::Input(0), Ref::Input(1)],
                width: 64,
            }],
            outputs: vec![Ref::Step(0)],
        };
        let plans = Plans::new(&recipe);
        let depth = |lanes, way| plans.best(&recipe, lanes, way).and_depth();
        let [none, short, long] = [
            None,
            Some(Duration::from_micros(20)),
            Some(Duration::from_millis(10)),
        ];
        assert_eq!([depth(1, none), depth(1 << 20, none)], [63, 63]);
        assert_eq!(
            [depth(1, short), depth(1000, short), depth(1 << 20, short)],
            [6, 6, 63]
        );
        assert_eq!(
            [depth(1, long), depth(1 << 19, long), depth(1 << 30, long)],
            [6, 6, 63]
        );
    }
}
