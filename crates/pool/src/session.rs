//! How a session over a pool begins, whatever its gadgets are: the parties agree, and set a pool up or put back one that they keep.

use std::fmt;
use std::sync::Arc;

use cenote_net::{Channel, PartyId};
use cenote_session::{Error, Result, Terms};
use cenote_store::Store;

use crate::kept::{self, Copies, Keep, KeptPool, Which};

/// Whether each channel leads from party `me` to the other of two.
///
/// # Errors
/// [`Error::BadInput`] if one does not.
pub fn check_channels(me: PartyId, channels: &[&dyn Channel]) -> Result<()> {
    match channels
        .iter()
        .find(|channel| me.0 > 1 || channel.peer() != PartyId(1 - me.0))
    {
        Some(channel) => Err(Error::BadInput(format!(
            "a channel of {me} leads to {}",
            channel.peer()
        ))),
        None => Ok(()),
    }
}

/// Compares terms and the session's name with the peer.
///
/// # Errors
/// What differs; those of the channel.
pub fn agree(channel: &mut dyn Channel, terms: [Terms; 2], session: &str) -> Result<()> {
    let mut terms = terms.concat();
    terms.push(("session".into(), session.into()));
    Ok(cenote_net::agree(channel, &terms)?)
}

/// What a session over a pool begins with.
pub struct Begun<Sizes, Base> {
    /// The pool's parameters.
    pub sizes: Sizes,
    /// What is kept besides gadgets.
    pub base: Base,
    /// Which session over the pool it is.
    pub which: Which,
    /// What is on disk, if the pool is kept.
    pub kept: Option<Arc<KeptPool>>,
    /// The gadgets of a pool that was put back.
    pub copies: Copies,
}

/// Sets a pool with `sizes` up. With a store it is the pool that both parties keep there and can put back, or a new one, and the session
/// gets a name that no other session over any pool has.
///
/// # Errors
/// Those of [`Keep::establish`] and of [`kept::open`].
pub fn begin<K: Keep>(
    me: PartyId,
    channel: &mut dyn Channel,
    keep: &mut K,
    sizes: K::Sizes,
    store: Option<&Store>,
) -> Result<Begun<K::Sizes, K::Base>> {
    let Some(store) = store else {
        return Ok(Begun {
            base: keep.establish(channel, &sizes)?,
            sizes,
            which: Which::default(),
            kept: None,
            copies: [None, None],
        });
    };
    let opened = kept::open(me, channel, keep, &sizes, store.hold()?)?;
    let session = keep.session();
    *session = opened.which.session(session, opened.kept.id());
    Ok(Begun {
        sizes: opened.sizes,
        base: opened.base,
        which: opened.which,
        kept: Some(Arc::new(opened.kept)),
        copies: opened.copies,
    })
}

impl<Sizes, Base> Begun<Sizes, Base> {
    /// What came of the next step of the set-up. If a check failed, a pool that is kept ends, before the peer hears of it.
    ///
    /// # Errors
    /// That of the step.
    pub fn checked<T>(&self, step: Result<T>) -> Result<T> {
        step.inspect_err(|error| {
            if let Some(kept) = &self.kept {
                kept.retire_after(error);
            }
        })
    }
}

/// Prints nothing but what it is.
impl<Sizes, Base> fmt::Debug for Begun<Sizes, Base> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Begun({:?})", self.kept)
    }
}
