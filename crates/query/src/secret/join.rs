//! Joins of secret rows.

use std::collections::VecDeque;

use cenote_program::Bits;

use super::cell::{Cell, Layout, number, ordered};
use super::source::summed;
use super::upload::{Shape, Upload};
use super::{Executor, Rows, next};
use crate::plan::physical::{Column, Join, Part, Physical};

/// Rows that are looked up by their key.
struct Keyed {
    /// Whether a row is absent, above its key.
    key: Bits,
    absent: Bits,
}

impl Keyed {
    fn new(key: Bits) -> Self {
        let absent = key.part(key.width() - 1, 1);
        Self { key, absent }
    }
}

/// What is looked up.
struct Lookup {
    key: Bits,
    /// What is found with a key.
    slots: Vec<Slot>,
    /// All rows, if those that are not found count too: for each slot one for each key.
    rest: Vec<Rows>,
}

/// What was found of the rows of `probe`, which may have been put in another order.
struct Found {
    probe: Rows,
    found: Bits,
    record: Bits,
    /// The rows that were not found, if they count too.
    rest: Vec<Rows>,
}

/// Whether there is a row, if that is not told by its key, and its columns besides the keys.
type Slot = (Option<Bits>, Vec<Cell>);

/// What a table gives of rows that go together, field by field.
type PairedFields<'a> = (&'a Part, VecDeque<Bits>, usize);

impl<'a> Executor<'a> {
    pub(super) fn joined(&mut self, join: &'a Join) -> Rows {
        let probe = self.rows(&join.probe);
        let Lookup { key, slots, rest } = match join.slots {
            1 => {
                let lookup = self.rows(&join.lookup);
                let others = others(join, |column| lookup.columns[column].clone());
                let Keyed { key, .. } = keyed(&lookup, &join.lookup, &join.lookup_keys);
                Lookup {
                    key,
                    slots: vec![(None, others)],
                    rest: if join.rest { vec![lookup] } else { Vec::new() },
                }
            }
            slots => self.wide(join, slots),
        };
        let mut record: Vec<&Bits> = Vec::new();
        for (there, cells) in &slots {
            record.extend(there.iter());
            record.extend(cells.iter().flat_map(Cell::parts));
        }
        let nothing = self.session.public_bits(1, 0);
        let record = match record.as_slice() {
            [] => nothing.filling(key.lanes()),
            parts => Bits::join(parts).filling(key.lanes()),
        };
        let layout_of = |(there, cells): &Slot| (there.is_some(), cells.iter().map(Cell::layout).collect());
        let layouts: Vec<(bool, Vec<Layout>)> = slots.iter().map(layout_of).collect();
        drop(slots);
        let Found {
            probe,
            found,
            record,
            rest,
        } = self.found(join, probe, (key, record), rest);
        let mut from = 0;
        let mut parts = Vec::new();
        for (slot, (told, layouts)) in layouts.iter().enumerate() {
            let matched = match told {
                false => found.clone(),
                true => {
                    from += 1;
                    found.and(&record.part(from - 1, 1))
                }
            };
            let mut columns = probe.columns.clone();
            columns.extend(looked_up(join, &probe, (layouts, &record, &mut from), &matched));
            let live = match (join.outer, slot) {
                (true, 0) => probe.live.clone(),
                _ => probe.live.and(&matched),
            };
            parts.push(Rows {
                columns,
                live,
                count: probe.count,
            });
        }
        let null = |cell: &Cell| Cell {
            value: number(self.session, cell.value.width(), 0),
            null: Some(self.session.public_bits(1, 1)),
        };
        for rows in rest {
            let nulls = probe.columns.iter().map(null);
            parts.push(Rows {
                columns: nulls.chain(rows.columns).collect(),
                ..rows
            });
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => self.together(parts),
        }
    }

    /// For each row of `probe` whether its key is among those of the lookup, and the record there. That no key of those comes twice is verified.
    fn found(
        &mut self,
        join: &'a Join,
        probe: Rows,
        (key, record): (Bits, Bits),
        mut rest: Vec<Rows>,
    ) -> Found {
        let sorted = |of: &Physical, keys: &[usize], count| of.is_sorted(keys) || count == 1;
        let lookup_sorted = join.slots > 1 || sorted(&join.lookup, &join.lookup_keys, key.lanes());
        let probe_sorted = sorted(&join.probe, &join.probe_keys, probe.count);
        let probe_keyed = keyed(&probe, &join.probe, &join.probe_keys);
        let others = join.probe.width() as u32;
        let sorted = [lookup_sorted, probe_sorted];
        if let Some((looked, wrong)) = (probe_keyed.key).matched(others, (&key, &record), sorted, join.rest) {
            self.failures.push(wrong);
            leave_out(&mut rest, looked.used, key);
            return Found {
                probe,
                found: looked.found,
                record: looked.payload,
                rest,
            };
        }
        let (probe, keyed) = self.in_order(probe, probe_keyed, probe_sorted);
        let (key, record) = match lookup_sorted {
            true => (key, record),
            false => {
                let (width, payload) = (key.width(), record.width());
                let packed: Vec<Bits> = rest.iter().map(Rows::packed).collect();
                let whole: Vec<&Bits> = [&key, &record].into_iter().chain(&packed).collect();
                let sorted = Bits::join(&whole).sorted(width);
                for rows in &mut rest {
                    let from = width + payload;
                    let packed = sorted.part(from, sorted.width() - from);
                    *rows = Rows::of_packed(&packed, &rows.layouts());
                }
                (sorted.part(0, width), sorted.part(width, payload))
            }
        };
        self.each_once(&Keyed::new(key.clone()), key.lanes());
        let looked = keyed.key.looked_up(&key, &record, join.rest);
        leave_out(&mut rest, looked.used, key);
        Found {
            probe,
            found: looked.found.and(&keyed.absent.not()),
            record: looked.payload,
            rest,
        }
    }

    /// Rows sorted by their keys, as their owner may have done: those that have none, or do not count, come last.
    fn in_order(&mut self, rows: Rows, keyed: Keyed, sorted: bool) -> (Rows, Keyed) {
        if sorted {
            self.ascending(&keyed.key, rows.count);
            return (rows, keyed);
        }
        let (width, layouts) = (keyed.key.width(), rows.layouts());
        let record = Bits::join(&[&keyed.key, &rows.packed()]);
        drop((rows, keyed));
        let record = record.sorted(width);
        let sorted = Rows::of_packed(&record.part(width, record.width() - width), &layouts);
        let key = record.part(0, width);
        (sorted, Keyed::new(key))
    }

    /// Notes a failure if keys do not ascend.
    pub(super) fn ascending(&mut self, key: &Bits, count: usize) {
        if count > 1 {
            let (these, next) = (key.slice(0, count - 1), key.slice(1, count - 1));
            self.failures.push(next.less(&these, false).not().all().not());
        }
    }

    /// Notes a failure if a key comes twice, but where rows are absent.
    fn each_once(&mut self, keyed: &Keyed, count: usize) {
        if count > 1 {
            let (these, next) = (keyed.key.slice(0, count - 1), keyed.key.slice(1, count - 1));
            let fine = keyed.absent.slice(1, count - 1).or(&these.less(&next, false));
            self.failures.push(fine.all().not());
        }
    }

    /// Rows with the same key, which their owner has put together.
    fn wide(&mut self, join: &'a Join, slots: usize) -> Lookup {
        let keys = &join.lookup_keys;
        let input = &join.lookup;
        let mut giving = self.giving(Upload {
            input,
            shape: Shape::Wide {
                keys,
                slots,
                kept: join.rest,
            },
        });
        let mut parts: Vec<VecDeque<Bits>> = Vec::new();
        while let Some((fields, _)) = self.taken(&mut giving) {
            parts.push(fields);
        }
        let mut fields = match parts.len() {
            1 => parts.remove(0),
            _ => (0..parts[0].len())
                .map(|_| {
                    let all: Vec<Bits> = parts.iter_mut().map(next).collect();
                    Bits::concat(&all.iter().collect::<Vec<_>>())
                })
                .collect(),
        };
        let values = keys.iter().map(|&key| Cell {
            value: next(&mut fields),
            null: (join.rest && input.columns[key].nullable).then(|| next(&mut fields)),
        });
        let values: Vec<Cell> = values.collect();
        let mut all: Vec<Slot> = Vec::new();
        for _ in 0..slots {
            let there = next(&mut fields);
            let cells = others(join, |column| self.cell(input, column, &mut fields, &there));
            all.push((Some(there), cells));
        }
        // The first slot says whether there is anything; the others follow it.
        for pair in all.windows(2) {
            if let [(Some(earlier), _), (Some(later), _)] = pair {
                self.failures.push(later.and(&earlier.not()).not().all().not());
            }
        }
        let first = all[0].0.clone().expect("a slot says whether there is a row");
        let keyed = values.iter().filter_map(Cell::present);
        let keyed = keyed.fold(first.clone(), |keyed, present| keyed.and(&present));
        let mut parts: Vec<Bits> = Vec::new();
        for (&key, value) in keys.iter().zip(&values).rev() {
            let kind = input.columns[key].kind;
            self.bounded(value, kind, kind.range(), &first);
            parts.push(ordered(&value.value, kind).where_chosen(&keyed));
        }
        parts.push(keyed.not());
        let rest = match join.rest {
            true => self.unfound(join, &values, &all),
            false => Vec::new(),
        };
        Lookup {
            key: Bits::join(&parts.iter().collect::<Vec<_>>()),
            slots: all,
            rest,
        }
    }

    /// All rows that an owner has put together by their keys, for each slot one for each key. More of them than it may have are a failure.
    fn unfound(&mut self, join: &Join, keys: &[Cell], slots: &[Slot]) -> Vec<Rows> {
        let rows = |(there, cells): &Slot| {
            let mut others = cells.iter().cloned();
            let column = |column: usize| match join.lookup_keys.iter().position(|&key| key == column) {
                Some(at) => keys[at].clone(),
                None => others.next().expect("one for each that is no key"),
            };
            let live = there.clone().expect("a slot says whether there is a row");
            Rows {
                columns: (0..join.lookup.columns.len()).map(column).collect(),
                count: live.lanes(),
                live,
            }
        };
        let all: Vec<Rows> = slots.iter().map(rows).collect();
        let there: Vec<&Bits> = all.iter().map(|rows| &rows.live).collect();
        self.limited(&summed(&Bits::concat(&there), false), join.lookup.rows);
        all
    }

    /// A segment of rows of several parties that go together one by one.
    ///
    /// That their keys are the same is verified, and by that each key comes once: the tables are of different parties ([`several_owners`]), one of which is
    /// honest at least, and has seen that its own keys do ([`crate::local::check`]).
    pub(super) fn paired(&mut self, parts: Vec<PairedFields<'a>>) -> Rows {
        assert!(several_owners(parts.iter().map(|(part, ..)| *part)));
        let count = parts[0].2;
        let mut columns = Vec::new();
        let mut live: Option<Bits> = None;
        // Of each part the key, and whether the row is absent.
        let mut keys: Vec<[Bits; 2]> = Vec::new();
        for (part, mut fields, _) in parts {
            let (absent, counts) = (next(&mut fields), next(&mut fields));
            let there = absent.not();
            for column in (0..part.input.columns.len()).filter(|column| Some(*column) != part.counts) {
                let mut cell = self.cell(&part.input, column, &mut fields, &there);
                if column == part.key {
                    // Rows without a key are absent.
                    cell.null = None;
                    keys.push([cell.value.clone(), absent.clone()]);
                }
                columns.push(cell);
            }
            let own = counts.and(&there);
            live = Some(match live {
                None => own,
                Some(live) => live.and(&own),
            });
        }
        let (first, others) = keys.split_first().expect("there are several parts");
        for other in others {
            let same = Bits::same_rows(&first.each_ref(), &other.each_ref());
            self.failures.push(same.not());
        }
        Rows {
            columns,
            live: live.expect("there are several parts"),
            count,
        }
    }
}

/// Leaves out rows that were found by one of these keys. A key that is none was not.
fn leave_out(rest: &mut [Rows], used: Option<Bits>, key: Bits) {
    if let Some(used) = used {
        let left = used.and(&Keyed::new(key).absent.not()).not();
        for rows in rest {
            rows.live = rows.live.and(&left);
        }
    }
}

/// Whether tables that go together row by row are of several parties.
fn several_owners<'a>(parts: impl IntoIterator<Item = &'a Part>) -> bool {
    let mut owners = parts.into_iter().map(|part| part.input.owner);
    let first = owners.next();
    owners.any(|owner| Some(owner) != first)
}

/// Rows with the only row of the other side.
pub(super) fn with_only(probe: Rows, lookup: &Rows, outer: bool) -> Rows {
    let matched = lookup.live.filling(probe.count);
    let others = lookup.columns.iter().map(|cell| {
        let cell = cell.filling(probe.count);
        if outer { or_null(cell, &matched) } else { cell }
    });
    let columns = probe.columns.iter().cloned().chain(others).collect();
    let live = if outer {
        probe.live.clone()
    } else {
        probe.live.and(&matched)
    };
    Rows {
        columns,
        live,
        count: probe.count,
    }
}

/// What is looked up besides the keys.
fn others(join: &Join, of: impl FnMut(usize) -> Cell) -> Vec<Cell> {
    (0..join.lookup.columns.len())
        .filter(|column| !join.lookup_keys.contains(column))
        .map(of)
        .collect()
}

/// The columns of the rows that were looked up, for one slot: those of them that are no keys have these layouts, and stand in `record`.
fn looked_up(
    join: &Join,
    probe: &Rows,
    (layouts, record, from): (&[Layout], &Bits, &mut u32),
    matched: &Bits,
) -> Vec<Cell> {
    let mut layouts = layouts.iter();
    let column = |(column, info): (usize, &Column)| {
        // Keys are equal where anything is found.
        let cell = match join.lookup_keys.iter().position(|&key| key == column) {
            Some(at) => Cell {
                value: probe.columns[join.probe_keys[at]].value.clone(),
                null: info.nullable.then(|| record.session().public_bits(1, 0)),
            },
            None => {
                let layout = layouts.next().expect("one for each that is no key");
                Cell::from_record(record, from, *layout)
            }
        };
        if join.outer { or_null(cell, matched) } else { cell }
    };
    join.lookup.columns.iter().enumerate().map(column).collect()
}

/// A value where it was found, and null elsewhere.
fn or_null(cell: Cell, found: &Bits) -> Cell {
    let missing = found.not();
    Cell {
        null: Some(match &cell.null {
            None => missing,
            Some(null) => null.or(&missing),
        }),
        value: cell.value,
    }
}

/// The keys of rows as unsigned numbers that order as their values do. Those that have none are equal.
fn keyed(rows: &Rows, of: &Physical, keys: &[usize]) -> Keyed {
    let cells: Vec<&Cell> = keys.iter().map(|&key| &rows.columns[key]).collect();
    let mut there = rows.live.filling(rows.count);
    for cell in &cells {
        if let Some(present) = cell.present() {
            there = there.and(&present.filling(rows.count));
        }
    }
    // The first key counts most.
    let values = keys.iter().zip(&cells).rev().map(|(&key, cell)| {
        let value = cell.value.filling(rows.count);
        ordered(&value, of.columns[key].kind).where_chosen(&there)
    });
    let parts: Vec<Bits> = values.chain([there.not()]).collect();
    Keyed::new(Bits::join(&parts.iter().collect::<Vec<_>>()))
}
