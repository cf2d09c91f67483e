//! Blocks of a width that is known when the program runs.

use std::panic::Location;

use cenote_primitives::Entropy;

use super::index::IndexKind;
use super::oram::Oram;
use super::plan::Plan;
use super::scan::{self, Scan};
use super::settings::{Access, Settings, Structure};
use super::{cost, wires};
use crate::error::Result;
use crate::secret::Secret;
use crate::session::Session;
use crate::value::Value;

/// The most blocks of a memory.
const MOST: usize = 1 << 30;

/// What [`Memory`](super::Memory) is, whatever its blocks are.
pub(crate) struct Blocks {
    session: Session,
    pub(super) store: Store,
    structure: Structure,
    count: usize,
    width: u32,
}

pub(super) enum Store {
    Scan(Scan),
    Oram(Box<Oram>),
}

impl Blocks {
    /// The blocks of a row.
    #[track_caller]
    pub(crate) fn of_row(row: &Value) -> Result<Self> {
        Self::filled(row, &Settings::default(), Entropy::os())
    }

    #[track_caller]
    pub(super) fn filled(row: &Value, settings: &Settings, entropy: Entropy) -> Result<Self> {
        let (session, width, count) = (row.session(), row.width(), row.lanes());
        let structure = structure_for(session, width, count, settings, true);
        let store = match Plan::new(count, width, structure, settings, true) {
            Some(plan) => Store::Oram(Box::new(Oram::of_row(row, plan, entropy)?)),
            None => Store::Scan(Scan::new(row.clone())),
        };
        Ok(Self::made(session, width, count, structure, store))
    }

    #[track_caller]
    pub(super) fn zeros(
        session: &Session,
        width: u32,
        count: usize,
        settings: &Settings,
        entropy: Entropy,
    ) -> Self {
        let structure = structure_for(session, width, count, settings, false);
        let store = match Plan::new(count, width, structure, settings, false) {
            Some(plan) => Store::Oram(Box::new(Oram::new(session, plan, entropy))),
            None => Store::Scan(Scan::new(wires::zeros(
                session,
                width,
                if (1..=MOST).contains(&count) { count } else { 1 },
            ))),
        };
        Self::made(session, width, count, structure, store)
    }

    fn made(session: &Session, width: u32, count: usize, structure: Structure, store: Store) -> Self {
        Self {
            session: session.clone(),
            store,
            structure,
            count,
            width,
        }
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn structure(&self) -> Structure {
        self.structure
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Bits of each.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn ands(&self, access: Access, kind: IndexKind) -> u64 {
        match &self.store {
            Store::Scan(_) => scan::ands(self.count, self.width, access, kind),
            Store::Oram(oram) => oram.plan().ands(access, kind),
        }
    }

    /// See [`Memory::read`](super::Memory::read).
    #[track_caller]
    pub(crate) fn read(&mut self, index: &Value, signed: bool) -> Result<Value> {
        self.single(&[index])?;
        let kind = kind_of(index, signed);
        Ok(match &mut self.store {
            Store::Scan(scan) => scan.read(index, kind),
            Store::Oram(oram) => oram.read(index, kind)?,
        })
    }

    /// See [`Memory::write`](super::Memory::write).
    #[track_caller]
    pub(crate) fn write(&mut self, index: &Value, signed: bool, value: &Value) -> Result<()> {
        self.single(&[index, value])?;
        let kind = kind_of(index, signed);
        match &mut self.store {
            Store::Scan(scan) => scan.write(index, kind, value),
            Store::Oram(oram) => oram.write(index, kind, value)?,
        }
        Ok(())
    }

    /// See [`Memory::access`](super::Memory::access); the index, and whether it is signed.
    #[track_caller]
    pub(crate) fn access(
        &mut self,
        write: &Value,
        (index, signed): (&Value, bool),
        value: &Value,
    ) -> Result<Value> {
        self.single(&[write, index, value])?;
        let kind = kind_of(index, signed);
        Ok(match &mut self.store {
            Store::Scan(scan) => scan.access(write, index, kind, value),
            Store::Oram(oram) => oram.access(write, index, kind, value)?,
        })
    }

    pub(super) fn check(&mut self) -> Result<()> {
        match &mut self.store {
            Store::Scan(_) => Ok(()),
            Store::Oram(oram) => oram.check(),
        }
    }

    /// Refuses rows and secrets of another session, and lets what the program has recorded be compiled by itself.
    #[track_caller]
    fn single(&self, values: &[&Value]) -> Result<()> {
        let wrong = values.iter().find_map(|value| match value.lanes() {
            _ if !self.session.is(value.session()) => {
                Some("a memory is accessed with a secret of another session".to_owned())
            }
            1 => None,
            lanes => Some(format!(
                "a memory is accessed with a row of {lanes} secrets: one at a time"
            )),
        });
        if let Some(wrong) = wrong {
            let lost = self.session.misuse(wrong, Location::caller(), 1, 1);
            self.session.open(&Secret::<bool>::of(lost))?;
        }
        self.session.flush();
        Ok(())
    }
}

fn kind_of(index: &Value, signed: bool) -> IndexKind {
    IndexKind {
        bits: index.width(),
        signed,
    }
}

/// The structure that the settings ask for, or the best; that of least harm if there is none.
#[track_caller]
fn structure_for(
    session: &Session,
    width: u32,
    blocks: usize,
    settings: &Settings,
    of_row: bool,
) -> Structure {
    let wrong = if (1..=MOST).contains(&blocks) {
        settings.refuse()
    } else {
        Some(format!("a memory has 1 to 2^30 blocks, not {blocks}"))
    };
    if let Some(wrong) = wrong {
        session.misuse(wrong, Location::caller(), width, 1);
        return Structure::Scan;
    }
    let best = || cost::best(blocks, width, settings, of_row);
    settings.structure.unwrap_or_else(best)
}
