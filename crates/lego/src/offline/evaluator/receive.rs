//! What the evaluator receives before it draws its seed (Figure 1, steps 3 to 7): one worker's part.

use cenote_net::Channel;
use cenote_primitives::{Block, Prg, as_bytes_mut};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::leak::{last_bit, set_bits};
use crate::offline::stream::Receiving;
use crate::offline::{GATES_IN_BATCH, WIRES_IN_BATCH};
use crate::steps::{AUTHENTICATORS, GATES, LEAK, PORTS};
use cenote_commit::{BATCH_UNIT, Receiver, Share};
use cenote_garble::{Authenticator, GateTable};

/// A worker's part; all slices are written.
pub(super) struct Part<'a> {
    /// The first unit of commitments.
    pub(super) unit: u64,
    /// Where challenges are drawn from.
    pub(super) coins: Prg,
    pub(super) tables: &'a mut [GateTable],
    pub(super) gate_shares: &'a mut [[Share; 3]],
    pub(super) authenticators: &'a mut [Authenticator],
    pub(super) authenticator_shares: &'a mut [Share],
    /// How many of what is leaked are OT strings: the first.
    pub(super) strings: usize,
    pub(super) leaked: &'a mut [Share],
    pub(super) last_bits: &'a mut [u8],
    pub(super) ports: &'a mut [Share],
}

impl Part<'_> {
    pub(super) fn receive(self, receiver: &Receiver, channel: &mut dyn Channel) -> Result<()> {
        let mut receiving = Receiving::new(receiver, channel, self.coins, self.unit);
        receive_gates(&mut receiving, receiver, self.tables, self.gate_shares)?;
        let batches = self.authenticators.chunks_mut(WIRES_IN_BATCH);
        for (authenticators, shares) in batches.zip(self.authenticator_shares.chunks_mut(WIRES_IN_BATCH)) {
            receiving.receive(AUTHENTICATORS, shares, vec![as_bytes_mut(authenticators)])?;
            receiving.settle(None)?;
        }
        receive_leaked(
            &mut receiving,
            receiver,
            self.strings,
            self.leaked,
            self.last_bits,
        )?;
        for shares in self.ports.chunks_mut(WIRES_IN_BATCH) {
            receiving.receive(PORTS, shares, vec![])?;
            receiving.settle(None)?;
        }
        receiving.finish()
    }
}

/// Steps 3 and 4 for gates.
fn receive_gates(
    receiving: &mut Receiving<'_>,
    receiver: &Receiver,
    tables: &mut [GateTable],
    shares: &mut [[Share; 3]],
) -> Result<()> {
    let mut differences = vec![Block::ZERO; GATES_IN_BATCH];
    let mut outputs = Zeroizing::new(vec![Share::default(); GATES_IN_BATCH]);
    let batches = tables.chunks_mut(GATES_IN_BATCH);
    for (tables, shares) in batches.zip(shares.chunks_mut(GATES_IN_BATCH)) {
        let differences = &mut differences[..tables.len()];
        let parts = vec![as_bytes_mut(tables), as_bytes_mut(differences)];
        receiving.receive(GATES, bytemuck::cast_slice_mut(shares), parts)?;
        let outputs = &mut outputs[..shares.len()];
        for (output, share) in outputs.iter_mut().zip(&*shares) {
            *output = share[2];
        }
        receiver.adjust(outputs, differences);
        for (share, output) in shares.iter_mut().zip(&*outputs) {
            share[2] = *output;
        }
        receiving.settle(None)?;
    }
    Ok(())
}

/// Steps 4 to 6 for OT strings and masks. The strings' last bits are 0 by construction, so those of the random strings
/// committed to first are those of the differences.
fn receive_leaked(
    receiving: &mut Receiving<'_>,
    receiver: &Receiver,
    mut strings: usize,
    shares: &mut [Share],
    last_bits: &mut [u8],
) -> Result<()> {
    let batches = shares.chunks_mut(WIRES_IN_BATCH);
    for (shares, last_bits) in batches.zip(last_bits.chunks_mut(WIRES_IN_BATCH)) {
        let mut differences = vec![Block::ZERO; strings.min(shares.len())];
        strings -= differences.len();
        let mut bits = vec![0; (shares.len() + BATCH_UNIT) / 8];
        receiving.receive(LEAK, shares, vec![as_bytes_mut(&mut differences), &mut bits])?;
        for (i, bit) in last_bits.iter_mut().enumerate() {
            *bit = bits[i / 8] >> (i % 8) & 1;
        }
        set_bits(
            &mut bits,
            differences.iter().map(|&difference| last_bit(difference)),
        );
        receiver.adjust(&mut shares[..differences.len()], &differences);
        receiving.settle(Some(bits))?;
    }
    Ok(())
}
