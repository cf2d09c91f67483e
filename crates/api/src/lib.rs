//! What a standing service and its callers say to each other: names, times, and the JSON of the HTTP interface.
//!
//! The service, the program that calls it and the page's server share these types, so a caller needs neither database nor web server.
//! Nothing here computes, decides or connects.
#![forbid(unsafe_code)]

mod names;
mod operator;
mod problem;
mod scope;
mod state;
mod time;
mod unique;
pub mod view;
pub mod words;

pub use names::{Digest, JobId, NotHex, check_kept_name};
pub use operator::{OPERATOR_TOKEN, read_operator_token};
pub use problem::Problem;
pub use scope::Scope;
pub use state::StateName;
pub use time::Timestamp;
