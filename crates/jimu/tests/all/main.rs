//! Sessions of two parties over a pool of gates.

mod conformance;
