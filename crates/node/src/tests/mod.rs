//! Services of one process, from submission to result.

mod alarms;
mod attacks;
mod catalogue;
mod catalogue_attacks;
mod cheats;
mod cut_off;
mod faults;
mod going_on;
mod interleavings;
mod kept;
mod life;
mod names;
mod policy;
mod put_back;
mod queries;
mod record;
mod shards;
mod standing;
mod standing_queries;
mod trunks;
pub(crate) mod unsettled;
mod waits;
mod weighing;
pub(crate) mod world;
