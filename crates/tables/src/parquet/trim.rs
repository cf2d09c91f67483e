//! Footers without what is said of columns besides where their pages are: statistics, filters and sizes, which nobody asks for here. Some programs wrote
//! fields of their own in their place, and the parquet crate takes these for what they are not.
//!
//! A footer is in the compact protocol of Thrift: a struct is its fields and then a zero, and no length is said of it, so fields can be cut out.

use std::ops::Range;

/// The fields that lead from the footer to what is said of a column: its row groups, their columns, and that.
const PATH: [u64; 3] = [4, 1, 3];
/// The first field of a column that is not needed.
const FIRST: u64 = 12;
/// How deep structs and lists may stand within one another.
const MAX_DEPTH: u32 = 16;

/// The footer without what is not needed; nothing if it is no footer.
pub(super) fn trimmed(footer: &[u8]) -> Option<Vec<u8>> {
    let mut walk = Walk {
        bytes: footer,
        at: 0,
        cuts: Vec::new(),
    };
    walk.structure(Some(&PATH), MAX_DEPTH)?;
    let mut rest = Vec::with_capacity(footer.len());
    let mut from = 0;
    for cut in &walk.cuts {
        rest.extend(&footer[from..cut.start]);
        from = cut.end;
    }
    rest.extend(&footer[from..]);
    Some(rest)
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    cuts: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(count).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// A number of any length, seven bits a byte.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A struct, from which `path` leads on to columns if it is given.
    fn structure(&mut self, path: Option<&[u64]>, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let (mut id, mut cut) = (0u64, false);
        loop {
            let start = self.at;
            let header = self.byte()?;
            if header == 0 {
                return Some(());
            }
            id = match header >> 4 {
                // A sign and a number.
                0 => self.number()? >> 1,
                more => id + u64::from(more),
            };
            let on = path
                .and_then(|path| path.split_first())
                .filter(|(next, _)| **next == id);
            self.value(header & 15, on.map(|(_, path)| path), depth)?;
            match path {
                Some([]) if id >= FIRST => {
                    self.cuts.push(start..self.at);
                    cut = true;
                }
                // Numbers of fields count on from the field before.
                _ if cut => return None,
                _ => (),
            }
        }
    }

    fn value(&mut self, kind: u8, path: Option<&[u64]>, depth: u32) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(length)
            }
            9 | 10 => {
                let depth = depth.checked_sub(1)?;
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.number()?,
                    count => count.into(),
                };
                for _ in 0..count {
                    match header & 15 {
                        // In a list a truth value takes a byte.
                        1 | 2 => self.skip(1)?,
                        kind => self.value(kind, path, depth)?,
                    }
                }
                Some(())
            }
            12 => self.structure(path, depth),
            _ => None,
        }
    }
}
