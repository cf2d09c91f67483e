//! What circuits of the library are made for.

/// What a circuit should have little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// ANDs, whatever the depth: for protocols in which an AND costs traffic or gates.
    FewestAnds,
    /// AND depth, and then few ANDs: for protocols in which each level costs a round.
    LeastDepth,
}
