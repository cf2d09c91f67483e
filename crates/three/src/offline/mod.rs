//! Making triples, without knowing what they will be used for.

mod cut_and_choose;
pub(crate) mod generator;
