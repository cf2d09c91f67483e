//! Every security number of Cenote.
//!
//! One question, asked by every protocol: how many gadgets do we generate, how many do we open, how large are the buckets,
//! and with what probability does a cheat go unnoticed? The answers live here and nowhere else, so that a protocol
//! crate holds no security formula and a researcher finds each of them with its source, its exact value and
//! a search beside it.
//!
//! Probabilities are [`LogProb`]: base-2 logarithms. Requests that no parameters meet are a [`Refusal`], which names each
//! condition that fails and the nearest parameters that satisfy them.
//!
//! ```
//! use cenote_params::three::{Variant, Workload, check, search};
//!
//! let p = search(Variant::OnDemand, &Workload::default())?;
//! assert_eq!((p.n(), p.b(), p.c(), p.l()), (1 << 20, 2, 3, 512));
//! assert!(p.error().meets(40) && p.bits_per_and() < 7.01);
//!
//! let refusal = check(Variant::OnDemand, 1 << 20, 2, 2, 512).unwrap_err();
//! assert!(refusal.to_string().contains("C >= 3 (Theorem 3.11) does not hold (C = 2)"));
//! # Ok::<(), cenote_params::Refusal>(())
//! ```
#![forbid(unsafe_code)]

pub mod authenticated;
pub mod combinatorics;
pub mod computational;
pub mod cot;
pub mod ihash;
pub mod keeping;
pub mod lego;
mod log_prob;
pub mod lpn;
pub mod memory;
pub mod pool;
mod refusal;
mod remembered;
pub mod shards;
pub mod short;
pub mod three;

pub use log_prob::LogProb;
pub use refusal::{Refusal, Setting, Violation};
pub use remembered::Remembered;

// The example of the README is tested with the rest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
