//! Seeded worlds and wire interceptors for tests of the protocols.
#![forbid(unsafe_code)]
