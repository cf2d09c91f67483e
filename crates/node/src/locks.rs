//! The locks of a service, and the order in which they are taken.
//!
//! Each lock belongs to one part, which alone names it. Whoever holds one of these locks takes only such as come later in this list:
//!
//! 1. of `Decisions`: the turn of approving; of `OwnData`: the turn of trying tables; of `Witness`: the turn of telling; of `Room`: what peers were told; of `Catalogues`: the turn of publishing
//! 2. of `PolicyInForce`: the policy
//! 3. of `Stock`: the turn of counting, then its state; of `Programs`: a turn of reading, then that of writing or those that are ready
//! 4. of `Scheduler`: the queue
//! 5. of `OpenJobs`: all of them; of `StandingJobs`: their desks; of `Desk`: its calls; of `Peers`: what is known of one peer; of `RunningJob`: its end, and when its progress is told
//!    again; of `Monitor`: counts, alarms and paces; of `Titles`: those that are known; of `AgainstPeers`: warnings, and what could not be recorded; of `Witness`: its state; of `Room`: when it tried last, and whether there is too little room; of `Catalogues`: its state; of `Scheduler`: its flag and its count. While one of these is held, no other is taken.

use std::sync::PoisonError;
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks, whether or not a thread has panicked that held it: the service goes on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
