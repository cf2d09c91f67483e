//! Whether two tables are the same.

use cenote_net::PartyId;
use cenote_program::{Abilities, Function, Result, Secret, Session, Word, local, table, tally};
use cenote_session::Demand;
use cenote_three::Three;

use crate::common::everywhere;

fn row<T: Word>(session: &Session, owner: u8, values: &[T]) -> Secret<T> {
    let owner = PartyId(owner);
    session.input(owner, values.len(), (session.me() == owner).then_some(values))
}

/// Numbers and flags of two parties, of which those of the second are changed.
fn tables(
    session: &Session,
    rows: usize,
    change: impl Fn(&mut Vec<u32>, &mut Vec<bool>),
) -> [(Secret<u32>, Secret<bool>); 2] {
    [0, 1].map(|owner| {
        let mut numbers: Vec<u32> = (0..rows as u32)
            .map(|row| row.wrapping_mul(0x9e37_79b9))
            .collect();
        let mut flags: Vec<bool> = numbers.iter().map(|number| number % 3 == 0).collect();
        if owner == 1 {
            change(&mut numbers, &mut flags);
        }
        (row(session, owner, &numbers), row(session, owner, &flags))
    })
}

#[test]
fn tables_are_the_same_or_not() {
    for rows in [1, 2, 65, 300] {
        let last = rows - 1;
        let found = everywhere(|session| {
            let same = |change: &dyn Fn(&mut Vec<u32>, &mut Vec<bool>)| {
                let [these, those] = tables(session, rows, change);
                table::same_rows(&these, &those)
            };
            let all = [
                same(&|_, _| ()),
                same(&|numbers, _| numbers[last] ^= 1 << 31),
                same(&|_, flags| flags[0] ^= true),
                same(&|numbers, flags| {
                    numbers[0] ^= 1;
                    flags[0] ^= true;
                }),
                same(&|numbers, _| {
                    numbers[0] ^= 4;
                    numbers[last] ^= 2;
                }),
            ];
            all.iter()
                .map(|same| session.open(same))
                .collect::<Result<Vec<_>>>()
        });
        assert_eq!(found, [[true], [false], [false], [false], [false]], "{rows}");
    }
}

/// What was calculated can be compared, and a single secret stands for as many rows as there are.
#[test]
fn results_and_single_secrets_are_compared() {
    let found = everywhere(|session| {
        let x = row(session, 0, &[9u32; 100]);
        let one = row(session, 1, &[3u32]);
        let product = &x * &one;
        let same = [
            table::same_rows(&product, &row(session, 1, &[27; 100])),
            table::same_rows(&product, &(&one * &one * &one)),
            table::same_rows(
                &(x.clone(), x.clone()),
                &(session.public(9u32), row(session, 1, &[9; 100])),
            ),
            table::same_rows(
                &(x.clone(), x.clone()),
                &(session.public(9u32), session.public(8u32)),
            ),
        ];
        same.iter()
            .map(|same| session.open(same))
            .collect::<Result<Vec<_>>>()
    });
    assert_eq!(found, [[true], [true], [true], [false]]);
}

#[test]
fn a_function_compares_single_secrets() {
    let found = everywhere(|session| {
        type Pair = (Secret<u32>, Secret<u32>);
        let same = Function::<Pair, Secret<bool>>::record(|(x, y)| {
            table::same_rows(&(x.clone(), y), &(x.clone(), x))
        })?;
        let (x, y) = (row(session, 0, &[1u32, 2, 3]), row(session, 1, &[1u32, 3, 3]));
        session.open(&same.call(&(x, y)))
    });
    assert_eq!(found, [true, false, true]);
}

/// With digests the rows take no ANDs, and what is counted ahead is what is run.
#[test]
fn rows_take_no_ands() {
    let three = Abilities::THREE;
    let program = |rows| {
        move |session: &Session| {
            let [these, those] = tables(session, rows, |_, _| ());
            session.open(&table::same_rows(&these, &those))
        }
    };
    let counted = |abilities, rows| tally(3, abilities, program(rows)).unwrap().and_gates;
    assert_eq!([2, 1000, 30_000].map(|rows| counted(three, rows)), [63; 3]);
    // Fewer bits than a digest has are compared as they are.
    assert_eq!(counted(three, 1), 32);
    let each = |rows| counted(Abilities::default(), rows);
    assert_eq!([1, 1000].map(each), [32, 33 * 1000 - 1]);

    let run = local::in_memory(&Three::default(), &Demand::new(), |session| {
        program(1000)(session)?;
        Ok(session.costs().and_gates)
    });
    assert_eq!(run.unwrap(), [63; 3]);
}
