//! What all engines do around their calls: time them, refuse them once the session is over, and end it when one fails.

use std::time::{Duration, Instant};

use cenote_net::{Channel, Error as NetError, PartyId, Step};

use crate::{Check, Costs, Engine, Error, MESSAGE_FORM, Result, Warning, WarningKind};

/// What a session has cost so far, and why it is over once it is.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Of all calls that have ended. The engine adds the traffic when it is asked for its costs.
    pub costs: Costs,
    over: Option<String>,
    /// How long the parts of the current call took that are phases of their own.
    parts: Duration,
}

impl Ledger {
    /// Adds a part of the current call that is a phase of its own.
    pub fn add_part(&mut self, phase: &'static str, time: Duration) {
        self.costs.add_phase(phase, time);
        self.parts += time;
    }
}

/// An engine whose calls go through [`Guarded::call`].
pub trait Guarded: Engine + Sized {
    /// The checks of its protocol.
    const CHECKS: &'static [Check];

    /// The session's ledger.
    fn ledger(&mut self) -> &mut Ledger;

    /// Fails if something that runs beside the calls has failed.
    ///
    /// # Errors
    /// Its failure.
    fn check_others(&self) -> Result<()> {
        Ok(())
    }

    /// Tells the peers that `error` ends the session. Gives what tells most of the cause.
    fn abort(&mut self, error: Error) -> Error;

    /// Drops keys, material and channels of a session that is over.
    fn clear(&mut self);

    /// Runs one call of the contract, and adds its time to the costs. A session that is over refuses it; any error but bad input
    /// ends the session.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if the session is over; those of `body`.
    fn call<T>(&mut self, phase: &'static str, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let ledger = self.ledger();
        if let Some(reason) = &ledger.over {
            return Err(Error::Poisoned(reason.clone()));
        }
        ledger.parts = Duration::ZERO;
        let start = Instant::now();
        let result = self.check_others().and_then(|()| body(self));
        let ledger = self.ledger();
        let time = start.elapsed().saturating_sub(ledger.parts);
        ledger.costs.add_phase(phase, time);
        let error = match result {
            Err(error) if !matches!(error, Error::BadInput(_)) => error,
            other => return other,
        };
        let error = self.abort(error).with_checks(Self::CHECKS);
        self.end(error.to_string());
        tracing::warn!(me = %self.me(), %error, "the session failed");
        Err(error)
    }

    /// Ends the session in agreement with the peers, which `farewell` reaches with them.
    ///
    /// # Errors
    /// As [`Guarded::call`].
    fn finish_after(
        &mut self,
        phase: &'static str,
        farewell: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.call(phase, farewell)?;
        self.end("the session is finished");
        Ok(())
    }

    /// Notes what the session has cost, and drops what it has: later calls are refused with `reason`.
    fn end(&mut self, reason: impl Into<String>) {
        self.ledger().costs = self.costs();
        self.clear();
        self.ledger().over = Some(reason.into());
    }
}

/// What is said at the end.
const FAREWELL: [u8; 8] = *b"finished";

/// Says at the other ends of `channels`, in `step`, that the session has come to its good end, and waits until all say the same.
///
/// # Errors
/// [`MESSAGE_FORM`] for another word; those of the channels.
pub fn farewell<const N: usize>(channels: [&mut dyn Channel; N], step: Step) -> Result<()> {
    let mut channels = channels;
    for channel in &mut channels {
        channel.send(step, &FAREWELL)?;
        channel.flush()?;
    }
    for channel in channels {
        let mut heard = [0; FAREWELL.len()];
        channel.recv(step, &mut heard)?;
        if heard != FAREWELL {
            let detail = "the farewell is garbled";
            return Err(Error::cheated(MESSAGE_FORM, channel.peer(), step, detail));
        }
    }
    Ok(())
}

/// Sees, in `step`, that the other ends of `channels` have done the same so far: that their `digest` is this one.
///
/// # Errors
/// [`NetError::Mismatch`] in the field "program" if one has another; those of the channels.
pub fn compare_digests(channels: &mut [&mut dyn Channel], step: Step, digest: &[u8; 32]) -> Result<()> {
    for channel in channels.iter_mut() {
        channel.send(step, digest)?;
        channel.flush()?;
    }
    // All are heard first, so that each of them learns what differs.
    let mut heard = vec![[0; 32]; channels.len()];
    for (channel, heard) in channels.iter_mut().zip(&mut heard) {
        channel.recv(step, heard)?;
    }
    let told = |digest: &[u8; 32]| hex::encode(&digest[..8]);
    match channels.iter().zip(&heard).find(|(_, heard)| *heard != digest) {
        None => Ok(()),
        Some((channel, heard)) => Err(Error::Net(NetError::Mismatch {
            peer: channel.peer(),
            field: "program".into(),
            ours: told(digest),
            theirs: told(heard),
        })),
    }
}

/// What party `me` of two should know if the other one cheated and the outputs are right nevertheless.
pub fn cheated_warning(me: PartyId) -> Warning {
    let peer = PartyId(1 - me.0);
    let text = format!(
        "{peer} cheated, and {me} noticed: the outputs are right all the same. Find out why before running again"
    );
    Warning::new(WarningKind::PeerCheated, text)
}

#[cfg(test)]
mod tests {
    use cenote_net::{ChannelOptions, memory_pair};

    use super::*;

    const FINISH: Step = Step {
        code: 1,
        name: "finish",
    };

    #[test]
    fn a_garbled_farewell_is_the_peers() {
        let (mut here, mut there) = memory_pair(PartyId(0), PartyId(1), ChannelOptions::default());
        for (said, fine) in [(b"finished", true), (b"finishes", false)] {
            there.send(FINISH, said).unwrap();
            there.flush().unwrap();
            match farewell([&mut here], FINISH) {
                Ok(()) => assert!(fine),
                Err(Error::Aborted { check, peer, .. }) => {
                    assert_eq!((check, peer, fine), (MESSAGE_FORM, Some(PartyId(1)), false));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
