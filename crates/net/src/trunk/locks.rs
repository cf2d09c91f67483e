//! The locks of a trunk, and the order in which they are taken.
//!
//! Whoever holds one of these locks takes only such as come later in this list:
//!
//! 1. of `Slot`: the turn of telling, then its state
//! 2. of `Connection`: the sessions
//! 3. of `Outlet`: the turn of sending; then, of `Socket`: the TLS
//! 4. of `Outlet`: what waits
//! 5. of `Connection`: the streams; why it is over
//! 6. of `Stream`: its state; of `Offer`: its outcome; of `Gathering`: its flag; of `Socket`: the link; of `Shared`: strangers, and the
//!    count of threads. While one of these is held, no other is taken.
//!
//! Tests try the parts of a connection under a checker of interleavings, over locks and a socket of its own.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
