//! Every security number of Cenote.
#![forbid(unsafe_code)]
