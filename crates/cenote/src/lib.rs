//! Secure computation on demand for two or three parties.
#![forbid(unsafe_code)]
