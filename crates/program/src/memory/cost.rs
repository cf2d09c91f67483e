//! What an access costs in each structure, and which structure costs least.

use super::index::IndexKind;
use super::plan::Plan;
use super::scan;
use super::settings::{Access, Settings, Structure};
use crate::word::Integer;

impl Structure {
    /// The structures that are compared for so many blocks.
    fn candidates(blocks: usize) -> impl Iterator<Item = Self> {
        let orams = [2, 3].into_iter().flat_map(move |factor_bits| {
            let rows = (0..).map(move |trees| blocks.div_ceil(1 << (trees * factor_bits)));
            rows.skip_while(|&row| row > 4096)
                .take_while(|&row| row >= 64)
                .map(move |cutoff| Structure::CircuitOram { factor_bits, cutoff })
        });
        std::iter::once(Structure::Scan).chain(orams)
    }

    /// The structure with the fewest ANDs in an access whose operation is secret, to so many blocks of `width` bits: the scan, or a Circuit
    /// ORAM with 4 or 8 labels to a block and between 64 and 4096 of them in a row.
    ///
    /// # Panics
    /// If there is no memory with these settings.
    pub fn best(blocks: usize, width: u32, settings: &Settings) -> Self {
        assert_eq!(settings.refuse(), None, "settings of a memory");
        best(blocks, width, settings, false)
    }
}

/// [`Structure::best`], of a memory that begins with the blocks of a row, or with zeros.
pub(super) fn best(blocks: usize, width: u32, settings: &Settings, of_row: bool) -> Structure {
    let ands = |structure: &Structure| {
        let index = IndexKind::of::<u32>();
        counted(blocks, width, *structure, Access::Secret, index, settings, of_row)
    };
    Structure::candidates(blocks)
        .min_by_key(ands)
        .unwrap_or(Structure::Scan)
}

/// ANDs of an access by an index of type `I` to so many blocks of `width` bits, in the circuits that would be run. Memories that begin with
/// the blocks of a row have more (see [`super::Memory::ands`]).
///
/// # Panics
/// If there is no memory with these settings.
pub fn ands<I: Integer>(
    blocks: usize,
    width: u32,
    structure: Structure,
    access: Access,
    settings: &Settings,
) -> u64 {
    let structured = Settings {
        structure: Some(structure),
        ..settings.clone()
    };
    assert_eq!(structured.refuse(), None, "settings of a memory");
    counted(
        blocks,
        width,
        structure,
        access,
        IndexKind::of::<I>(),
        settings,
        false,
    )
}

fn counted(
    blocks: usize,
    width: u32,
    structure: Structure,
    access: Access,
    kind: IndexKind,
    settings: &Settings,
    of_row: bool,
) -> u64 {
    match Plan::new(blocks, width, structure, settings, of_row) {
        Some(plan) => plan.ands(access, kind),
        None => scan::ands(blocks, width, access, kind),
    }
}
