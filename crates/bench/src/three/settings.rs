//! The settings of a measured service.

use cenote_params::three::{Parameters, Proofs, Variant, Workload, preferred, search};
use cenote_primitives::{BLOCK_BITS, Block512};
use serde::{Deserialize, Serialize};

use cenote::{Error, Method, Result, Three, Verification};

/// Most batches that are kept in stock when one phase alone is measured and memory is not limited.
pub(crate) const MOST_IN_STOCK: u64 = 4;

/// The protocol of a service that never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The protocol and its security.
    pub protocol: Three,
    /// Bytes that the protocol's buffers may take at each party, all workers together.
    pub memory: Option<u64>,
    /// The number of blocks in a batch, whatever the error it gives: for tests of the measurement itself.
    pub n: Option<u64>,
}

impl Settings {
    /// How gates are verified: as jobs have it that name no variant, if nothing else is said. A limit on memory is one for triples.
    #[must_use]
    pub fn variant(&self) -> Verification {
        let usual = match self.memory {
            None if self.protocol.proves() => Verification::Proofs,
            _ => Variant::OnDemand.into(),
        };
        self.protocol.variant.unwrap_or(usual)
    }

    /// How gates are verified, with the cheapest parameters that hold for ever, within the memory allowed.
    ///
    /// # Errors
    /// [`Error::Refused`] if none do; [`Error::Usage`] if there are none with `n` blocks.
    pub fn method(&self) -> Result<Method> {
        match self.variant() {
            Verification::Triples(variant) => self.triples(variant).map(Method::Triples),
            Verification::Proofs if self.memory.is_some() => Err(Error::Usage(
                "the memory of proofs has no choice: leave --memory out, or choose a variant with triples, such as --variant on-demand".into(),
            )),
            Verification::Proofs => {
                let proofs = Proofs::new(self.protocol.security)?;
                Ok(match self.n {
                    Some(n) => proofs.with_batch(n)?.into(),
                    None => proofs.into(),
                })
            }
        }
    }

    fn triples(&self, variant: Variant) -> Result<Parameters> {
        let Three {
            security, workers, ..
        } = self.protocol;
        if let Some(n) = self.n {
            let b = match variant {
                Variant::Baseline | Variant::CacheEfficient => 3,
                Variant::Reshuffle | Variant::OnDemand => 2,
            };
            return preferred(variant, n, b)
                .filter(|parameters| parameters.n() == n)
                .ok_or_else(|| Error::Usage(format!("{variant} has no batches of {n} blocks with B = {b}")));
        }
        let workload = Workload {
            security,
            blocks: None,
            block_bits: BLOCK_BITS as u32,
            memory_limit: self.memory.map(|bytes| bytes / u64::from(workers.max(1))),
            ..Workload::default()
        };
        Ok(search(variant, &workload)?)
    }

    /// Bytes that a batch waiting in stock takes at one party, with all workers' batches.
    fn batch_bytes(&self, parameters: &Parameters) -> u64 {
        parameters.n() * 2 * size_of::<Block512>() as u64 * u64::from(self.protocol.workers)
    }

    /// Most batches per worker that may wait in stock: one is part of the parameters' memory already.
    pub(crate) fn most_in_stock(&self, method: &Method) -> u64 {
        let (Some(memory), Method::Triples(parameters)) = (self.memory, method) else {
            return MOST_IN_STOCK;
        };
        let held = parameters.memory_bytes(BLOCK_BITS as u32) * u64::from(self.protocol.workers);
        1 + memory.saturating_sub(held) / self.batch_bytes(parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variant: Variant) -> Settings {
        Settings {
            protocol: Three {
                variant: Some(variant.into()),
                ..Three::default()
            },
            memory: None,
            n: None,
        }
    }

    #[test]
    fn services_get_the_papers_parameters() {
        for (variant, b, bits) in [
            (Variant::Baseline, 3, 10.1),
            (Variant::CacheEfficient, 3, 10.1),
            (Variant::OnDemand, 2, 7.1),
        ] {
            let parameters = settings(variant).triples(variant).unwrap();
            assert_eq!((parameters.n(), parameters.b()), (1 << 20, b), "{variant}");
            assert!(parameters.bits_per_and() <= bits && parameters.error().meets(40));
        }
    }

    #[test]
    fn memory_decides_parameters_and_stock() {
        let mut settings = settings(Variant::OnDemand);
        let parameters = settings.triples(Variant::OnDemand).unwrap();
        assert_eq!(settings.most_in_stock(&parameters.clone().into()), MOST_IN_STOCK);
        let held = parameters.memory_bytes(512);
        settings.memory = Some(held + 2 * settings.batch_bytes(&parameters));
        assert_eq!(settings.triples(Variant::OnDemand).unwrap().b(), 2);
        assert_eq!(settings.most_in_stock(&parameters.clone().into()), 3);
        settings.memory = Some(held / 8);
        let small = settings.triples(Variant::OnDemand).unwrap();
        assert!(small.b() > 2 && small.memory_bytes(512) <= held / 8 && small.error().meets(40));
        settings.memory = Some(1000);
        assert!(matches!(
            settings.triples(Variant::OnDemand),
            Err(Error::Refused(_))
        ));
    }

    #[test]
    fn a_number_of_blocks_may_be_given() {
        for variant in Verification::ALL {
            let mut settings = settings(Variant::OnDemand);
            settings.protocol.variant = Some(variant);
            settings.n = Some(256);
            assert_eq!(settings.method().unwrap().n(), 256, "{variant}");
        }
    }
}
