//! Queries over tables of several parties.

mod cases;
mod common;
mod differential;
mod documented;
mod engines;
mod errors;
mod groups;
mod memory;
mod own_rows;
mod paired;
mod parameters;
mod public;
mod secret_only;
mod several_relations;
mod shards;
mod texts;
