//! Sessions of two parties with authenticated garbling.

mod conformance;
mod golden;
