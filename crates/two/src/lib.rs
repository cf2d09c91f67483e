//! Two parties, one of which may be malicious.
#![forbid(unsafe_code)]

pub mod commit;
pub mod garble;
pub mod lego;
