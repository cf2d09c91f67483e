//! How many parts a job has, how often they may be tried, and what that takes of security.

use std::num::NonZero;
use std::ops::Range;

use cenote_params::LogProb;
use cenote_params::shards::of_attempt;
use cenote_protocol::Setting;
use toml::Spanned;

use crate::settings_file::SettingsFile;
use crate::text::amount;
use crate::{Error, Protocol, Result};

/// Most attempts at the parts of a job.
const MOST_ATTEMPTS: u32 = cenote_shards::MOST_ATTEMPTS;

/// Numbers of shards that are proposed.
const PROPOSED: [u32; 6] = [4, 16, 64, 256, 1024, 4096];

/// Proposes the fewest shards with which a job fits that does not fit as it is, in words: the first number for which `most_bytes` says what a party takes, and `fits` that it has it.
pub(crate) fn proposed(
    most_bytes: impl Fn(u32) -> Option<u64>,
    fits: impl Fn(u64) -> bool,
) -> Option<String> {
    PROPOSED.into_iter().find_map(|shards| {
        let most = most_bytes(shards).filter(|&most| fits(most))?;
        Some(format!(
            "With `shards = {shards}` in the job file it takes {} of memory a party.",
            amount(most)
        ))
    })
}

/// How many shards there are, how often they may be tried, and how safe each session is, in words.
pub(crate) fn told(shards: u32, attempts: u32, security: u32) -> String {
    format!("{shards}, at most {attempts} attempts with the merge, each safe to 2^-{security}")
}

/// How many shards a job has, and how often they and the merge may be tried, all together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) shards: u32,
    pub(crate) attempts: u32,
}

impl Counts {
    /// What a file says, and where it says how often shards may be tried, if it cuts the job.
    ///
    /// # Errors
    /// [`Error::Config`] for numbers that make no sense.
    pub(crate) fn read(
        shards: Option<&Spanned<u32>>,
        attempts: Option<&Spanned<u32>>,
        source: &SettingsFile,
    ) -> Result<Option<(Self, Range<usize>)>> {
        let Some(shards) = shards else {
            return match attempts {
                None => Ok(None),
                Some(attempts) => Err(source.fault(
                    attempts.span(),
                    "`attempts` is for jobs that are cut; give `shards` too, or leave it out",
                )),
            };
        };
        let count = NonZero::new(*shards.get_ref()).ok_or_else(|| {
            source.fault(
                shards.span(),
                "`shards` is 1 or more; leave it out for one session",
            )
        })?;
        let count = count.get();
        if count > cenote_query::MAX_SHARDS {
            let what = format!(
                "`shards` is {count}, and {} is the most",
                cenote_query::MAX_SHARDS
            );
            return Err(source.fault(shards.span(), what));
        }
        let least = count + 1;
        let (tries, span) = match attempts {
            None => (2 * count, shards.span()),
            Some(attempts) => (*attempts.get_ref(), attempts.span()),
        };
        if !(least..=MOST_ATTEMPTS).contains(&tries) {
            let what = format!(
                "`attempts` is {least} to {MOST_ATTEMPTS} for {count} shards and their merge; what is tried again counts each time"
            );
            return Err(source.fault(span, what));
        }
        let counts = Counts {
            shards: count,
            attempts: tries,
        };
        Ok(Some((counts, span)))
    }

    /// Sees that there is a shard of this number.
    ///
    /// # Errors
    /// [`Error::Local`] if there is none.
    pub(crate) fn check_shard(self, shard: u32) -> Result<()> {
        if shard < self.shards {
            return Ok(());
        }
        let what = format!("there are {} shards, and none is {shard}", self.shards);
        Err(Error::local("starting a shard", std::io::Error::other(what)))
    }

    /// Sees that what each shard keeps, several times so many bits of each of so many rows or lanes, is as safe as the job is to be.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn check_keeping(
        self,
        protocol: &Protocol,
        kept: &[(u32, usize)],
    ) -> std::result::Result<(), String> {
        if protocol.kept_rows().is_some() {
            return Ok(());
        }
        if protocol.parties() != 2 {
            return Err(format!(
                "shares of protocol \"{}\" end with their session, so its jobs cannot be cut; leave `shards` out",
                protocol.name()
            ));
        }
        let error = self.keeping_error(kept);
        match error.meets(protocol.security() + 1) {
            true => Ok(()),
            false => Err(format!(
                "what the shards keep is safe up to 2^{:.1}, and the job asks for a security of {} bits; ask for less, or for fewer shards",
                error.log2() + 1.0,
                protocol.security()
            )),
        }
    }

    /// The chance that a party of two changes what it kept, in any attempt.
    fn keeping_error(self, kept: &[(u32, usize)]) -> LogProb {
        let times = u64::from(self.shards) * u64::from(self.attempts);
        let errors = kept.iter().map(|&(width, rows)| {
            let error = cenote_params::keeping::error(width.into(), times * rows as u64);
            error.probability()
        });
        LogProb::from_probability(errors.sum())
    }

    /// The chance that a wrong answer passes, of sessions in each of which it is at most this, whatever attempts there were.
    pub(crate) fn error_log2(self, protocol: &Protocol, kept: &[(u32, usize)], session: f64) -> f64 {
        let sessions = session + f64::from(self.attempts).log2();
        match protocol.kept_rows() {
            Some(_) => sessions,
            None => (sessions.exp2() + self.keeping_error(kept).log2().exp2()).log2(),
        }
    }

    /// Bits of security of each session. What two parties keep has a share of its own.
    pub(crate) fn security(self, of: &Protocol) -> u32 {
        let keeping = u32::from(of.kept_rows().is_none());
        of_attempt(of.security() + keeping, self.attempts.into())
    }

    /// The protocol of each session: each attempt is one more chance for a cheater, and all of them together must be as safe as the job is to be.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be as safe as that must be.
    pub(crate) fn protocol(self, of: &Protocol) -> Result<Protocol> {
        let mut protocol = of.clone();
        let security = self.security(of);
        let set = protocol.set("security", Setting::Number(security.into()));
        set.map_err(|what| {
            Error::Usage(format!(
                "with {} attempts each session needs a security of {security} bits, for {} in all: {what}",
                self.attempts,
                of.security()
            ))
        })?;
        Ok(protocol)
    }
}
