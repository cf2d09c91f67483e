//! The policy that decides on proposals, until another follows it.

use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use cenote_service::audit::Event;
use cenote_service::job::Digest;
use cenote_service::{Database, Pending, Policy, Timestamp};

use crate::error::Error;
use crate::settings::Settings;

/// Reads the policy of a service; without one, persons decide.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(settings: &Settings) -> Result<Policy, Error> {
    match &settings.policy {
        None => Ok(Policy::ask()),
        Some(path) => Ok(Policy::read(Path::new(path), &settings.names)?),
    }
}

/// The policy in force. While its lock is held the record is asked for what it decides, and no other lock is taken.
pub(crate) struct PolicyInForce {
    policy: RwLock<Policy>,
    database: Database,
}

impl PolicyInForce {
    pub(crate) fn new(policy: Policy, database: Database) -> Self {
        PolicyInForce {
            policy: RwLock::new(policy),
            database,
        }
    }

    /// The policy, which no other follows while this is held: what it is to decide is asked for meanwhile, and waited for afterwards.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// This policy decides from here on. Gives the one before, and the line on this one in the audit log, which was asked for after all that the one
    /// before has decided and before all that this one does.
    pub(crate) fn follow(&self, policy: Policy) -> cenote_service::Result<(Policy, Pending<()>)> {
        let digest = policy.digest();
        let mut place = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let asked = self
            .database
            .begin_audit(Timestamp::now(), Event::Policy { digest })?;
        Ok((std::mem::replace(&mut *place, policy), asked))
    }

    /// A policy that was not recorded decides no more, unless another has followed already. Its line may be recorded yet: then that on the one before comes
    /// after it.
    pub(crate) fn go_back(&self, before: Policy, unrecorded: Digest) {
        let mut place = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        if place.digest() != unrecorded {
            return;
        }
        let digest = before.digest();
        *place = before;
        if let Err(error) = self
            .database
            .begin_audit(Timestamp::now(), Event::Policy { digest })
        {
            tracing::error!(%error, "which policy decides cannot be noted in the audit log");
        }
    }

    /// The digest of the one in force, unless another is about to follow it.
    #[cfg(test)]
    pub(crate) fn try_digest(&self) -> Option<Digest> {
        self.policy.try_read().ok().map(|policy| policy.digest())
    }
}
