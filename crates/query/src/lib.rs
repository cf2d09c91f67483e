//! SQL over tables that several parties hold.
#![forbid(unsafe_code)]

mod answer;
mod call;
mod cut;
mod error;
mod explain;
mod expr;
mod flow;
mod formula;
mod groups;
mod kind;
mod listed;
mod local;
mod memory;
mod near;
mod parameter;
mod plan;
mod propose;
mod query;
mod relation;
mod resolve;
mod run;
mod schema;
mod secret;
mod segment;
mod window;
mod wording;
mod work;

pub use cut::{Cut, HashKey, MAX_SHARDS, Placed, Placer, Placing};
pub use error::{Error, Place, Result};
pub use explain::{Explained, PlanStep, share};
pub use flow::{Flow, FlowKind};
pub use local::{Promise, Repeats};
pub use memory::Bytes;
pub use near::{meant, nearest};
pub use parameter::Parameter;
pub use propose::{Declaration, Proposal};
pub use query::{OwnInput, Query};
pub use resolve::{TableName, tables_named};
pub use schema::{Answer, Count, Declared, MAX_ROWS, Schema};
pub use wording::{Word, words};
