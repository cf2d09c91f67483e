//! Making triples, which knows nothing of what they are for.

mod cut_and_choose;
pub(crate) mod generator;
