//! Figure 1, Setup, and what needs to be done once only of Generate: OTs, the commitment scheme, `Δ` committed to and
//! compared with the OTs' (steps 2, 4 to 7 and 10 for `Δ`).
//!
//! The paper commits to `Δ` and compares it in every Generate. Here the OTs go on under one `Δ` for the whole session
//! (a fixed code extracts it, see [`cenote_ot`]), so it is committed to once, and everything that is generated later refers
//! to this one commitment.

use crate::checks;
use std::fmt;

use cenote_net::Channel;
use cenote_ot::{DeltaReceiver, DeltaSender};
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::counters::{Counters, Reserved};
use crate::failure::{mismatch, told};
use crate::leak::{last_bit, pack_last_bits, set_bits};
use crate::settings::Config;
use crate::steps::{COMMIT_DELTA, DELTA_ANSWER, DELTA_CHALLENGE, PROVE_STRINGS, SHOW_STRINGS};
use cenote_commit::{BATCH_UNIT, Batch, CODE_BITS, Committer, Opener, Receiver, Share};

/// What the garbler keeps of a session besides material: keys, counters, `Δ`.
pub struct GarblerKeys {
    /// What more material is made from. Not kept on disk, where it could be put back and used twice.
    pub(crate) source: Option<GarblerSource>,
    pub(crate) delta: Zeroizing<Block>,
    pub(crate) delta_share: Zeroizing<Share>,
    pub(crate) counters: Counters,
}

/// What the garbler makes material from.
pub(crate) struct GarblerSource {
    pub(crate) ots: DeltaSender,
    pub(crate) committer: Committer,
}

/// What the evaluator keeps of a session besides material: keys and counters.
pub struct EvaluatorKeys {
    /// What more material is made from, with the receiver's seeds. Not kept on disk.
    pub(crate) source: Option<DeltaReceiver>,
    pub(crate) receiver: Receiver,
    /// The receiver's choice bits: what openings are verified with.
    pub(crate) choices: Zeroizing<Vec<u64>>,
    pub(crate) delta_share: Zeroizing<Share>,
    pub(crate) counters: Counters,
}

/// The batches of the commitments to `Δ` and the spare strings: those to use, and those that blind the check.
fn delta_batches(reserved: &Reserved) -> [Batch; 2] {
    [0, 1].map(|unit| Batch {
        first: reserved.unit + unit,
        columns: BATCH_UNIT,
    })
}

/// The error of a session whose material all comes from a store.
pub(crate) fn spent() -> Error {
    Error::Exhausted(
        "this session uses stored material and makes none: make more in an offline run before it".into(),
    )
}

/// Spare OTs to compare `Δ` with: each finds a difference with probability 1/2.
fn spare(security: u32) -> usize {
    security as usize
}

/// Bytes of the last bits told in set-up.
const TOLD: usize = 2 * BATCH_UNIT / 8;

impl GarblerKeys {
    /// Sets a session up with the evaluator at the other end of `channel`.
    ///
    /// # Errors
    /// If a check fails, of which the peer is told, or the channel does.
    pub fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        let result = Self::set_up(channel, config);
        told(channel, result)
    }

    fn set_up(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        config.check()?;
        let peer = channel.peer();
        let session = config.session.clone();
        let mut ots = DeltaSender::new(channel, &mut config.entropy, session.as_bytes())?;
        let seeds = Zeroizing::new(ots.random(channel, CODE_BITS)?);
        let committer = Committer::new(&seeds);
        let strings = Zeroizing::new(ots.correlated(channel, spare(config.security))?);
        let delta = Zeroizing::new(ots.delta());

        // Steps 4 and 5: Δ and the spare strings, with the last bits of everything.
        let mut counters = Counters::new(&session);
        let reserved = counters.reserve(2, 0);
        let batches = delta_batches(&reserved);
        let mut messages = Zeroizing::new(vec![Block::ZERO; 2 * BATCH_UNIT]);
        let mut shares = Zeroizing::new(vec![Share::default(); 2 * BATCH_UNIT]);
        let mut corrections = vec![0; batches.iter().map(|batch| batch.correction_bytes()).sum()];
        let mut parts = corrections.chunks_exact_mut(batches[0].correction_bytes());
        for (i, batch) in batches.into_iter().enumerate() {
            let columns = i * BATCH_UNIT..(i + 1) * BATCH_UNIT;
            let part = parts.next().unwrap_or_default();
            committer.commit(batch, &mut messages[columns.clone()], &mut shares[columns], part);
        }
        let chosen = std::iter::once(*delta).chain(strings.iter().copied());
        let differences: Vec<Block> = chosen
            .zip(messages.iter())
            .map(|(chosen, &random)| chosen ^ random)
            .collect();
        let mut bits = [0; TOLD];
        pack_last_bits(&messages, &mut bits);
        channel.send_parts(COMMIT_DELTA, &[&corrections, as_bytes(&differences), &bits])?;

        // Step 6.
        let mut alpha = Block::ZERO;
        channel.recv(DELTA_CHALLENGE, as_bytes_mut(std::slice::from_mut(&mut alpha)))?;
        let shares = reserved.committed(shares).bind(&mut counters, alpha);
        counters.identify(&[&corrections, as_bytes(&differences), &bits]);
        channel.send(DELTA_ANSWER, &committer.answer(&batches, alpha))?;

        // Step 10. The evaluator shows that it has the strings before they are opened to it.
        let mut shown = vec![Block::ZERO; strings.len()];
        channel.recv(SHOW_STRINGS, as_bytes_mut(&mut shown))?;
        let mut opened = Zeroizing::new(vec![Share::default(); shown.len()]);
        let mut known = subtle::Choice::from(1);
        for (i, &string) in shown.iter().enumerate() {
            let (mut expected, mut share) = (strings[i], shares[1 + i]);
            if last_bit(string) {
                expected ^= *delta;
                share ^= shares[0];
            }
            known &= expected.0.ct_eq(&string.0);
            opened[i] = share;
        }
        if !bool::from(known) {
            let detail = "it shows strings that were never sent to it";
            return Err(Error::cheated(checks::CHALLENGE, peer, SHOW_STRINGS, detail));
        }
        let mut opener = Opener::new(counters.transcript("setup", 0).bytes());
        opener.open(&shown, &opened);
        channel.send(PROVE_STRINGS, &opener.finish())?;
        channel.flush()?;
        Ok(Self {
            source: Some(GarblerSource { ots, committer }),
            delta,
            delta_share: Zeroizing::new(shares[0]),
            counters,
        })
    }
}

impl EvaluatorKeys {
    /// Sets a session up with the garbler at the other end of `channel`.
    ///
    /// # Errors
    /// If a check fails, of which the peer is told, or the channel does.
    pub fn setup(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        let result = Self::set_up(channel, config);
        told(channel, result)
    }

    fn set_up(channel: &mut dyn Channel, config: &mut Config) -> Result<Self> {
        config.check()?;
        let peer = channel.peer();
        let session = config.session.clone();
        let entropy = &mut config.entropy;
        let mut ots = DeltaReceiver::new(channel, entropy, session.as_bytes())?;
        let seeds = ots.random(channel, entropy, CODE_BITS)?;
        let receiver = Receiver::new(&seeds.choices, &seeds.strings);
        let spare = spare(config.security);
        let strings = ots.correlated(channel, entropy, spare)?.strings;

        // Steps 4 and 5.
        let mut counters = Counters::new(&session);
        let reserved = counters.reserve(2, 0);
        let batches = delta_batches(&reserved);
        let mut corrections = vec![0; batches.iter().map(|batch| batch.correction_bytes()).sum()];
        let mut differences = vec![Block::ZERO; 1 + spare];
        let mut bits = [0; TOLD];
        channel.recv_parts(
            COMMIT_DELTA,
            &mut [&mut corrections, as_bytes_mut(&mut differences), &mut bits],
        )?;

        // Steps 6 and 7. The last bits of Δ and the strings are not told but known: 1 and 0.
        let alpha = config.entropy.block();
        let corrections = reserved.committed(corrections).bind(&mut counters, alpha);
        counters.identify(&[&corrections, as_bytes(&differences), &bits]);
        channel.send(DELTA_CHALLENGE, as_bytes(&[alpha]))?;
        let mut shares = Zeroizing::new(vec![Share::default(); 2 * BATCH_UNIT]);
        let mut check = receiver.check(alpha);
        let parts = corrections.chunks_exact(batches[0].correction_bytes());
        for ((batch, part), shares) in batches
            .into_iter()
            .zip(parts)
            .zip(shares.chunks_exact_mut(BATCH_UNIT))
        {
            receiver.receive(batch, part, shares);
            check.absorb(shares);
        }
        set_bits(
            &mut bits,
            differences
                .iter()
                .enumerate()
                .map(|(i, &d)| last_bit(d) ^ (i == 0)),
        );
        let mut answer = vec![0; cenote_commit::ANSWER_BYTES];
        channel.recv(DELTA_ANSWER, &mut answer)?;
        let folded =
            check
                .finish(&answer)
                .map_err(mismatch(checks::COMMITMENT_CONSISTENCY, peer, DELTA_ANSWER))?;
        crate::leak::verify(folded[0], alpha, &bits, peer, DELTA_ANSWER)?;
        receiver.adjust(&mut shares[..1 + spare], &differences);

        // Step 10.
        let transcript = counters.transcript("setup", 0);
        show_strings(channel, &receiver, transcript.bytes(), &strings, &shares)?;
        Ok(Self {
            source: Some(ots),
            delta_share: Zeroizing::new(shares[0]),
            choices: Zeroizing::new(seeds.choices.to_vec()),
            receiver,
            counters,
        })
    }
}

/// Step 10: shows the strings, and sees them opened.
fn show_strings(
    channel: &mut dyn Channel,
    receiver: &Receiver,
    transcript: &[u8],
    strings: &[Block],
    shares: &[Share],
) -> Result<()> {
    channel.send(SHOW_STRINGS, as_bytes(strings))?;
    let sums: Zeroizing<Vec<Share>> = Zeroizing::new(
        strings
            .iter()
            .zip(&shares[1..])
            .map(|(&string, &share)| {
                if last_bit(string) {
                    share ^ shares[0]
                } else {
                    share
                }
            })
            .collect(),
    );
    let mut verifier = receiver.verify(transcript);
    verifier.absorb(strings, &sums);
    let mut proof = vec![0; verifier.proof_bytes()];
    channel.recv(PROVE_STRINGS, &mut proof)?;
    let proved = verifier.finish(&proof);
    proved.map_err(mismatch(checks::DIFFERENCE, channel.peer(), PROVE_STRINGS))
}

/// Prints nothing but what it is.
impl fmt::Debug for GarblerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GarblerKeys")
    }
}

/// Prints nothing but what it is.
impl fmt::Debug for EvaluatorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EvaluatorKeys")
    }
}
