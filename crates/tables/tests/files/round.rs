//! What is written is read again.

use std::path::Path;

use cenote_tables::{Column, Field, Problem, Table, Type, Values, read, show, write};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::pieces::read_in_pieces;
use crate::{Folder, cells, field, fields};

fn kinds() -> Vec<Type> {
    let mut kinds: Vec<Type> = ["bool", "date", "timestamp", "char(1)", "char(12)", "char(255)"]
        .iter()
        .map(|kind| kind.parse().unwrap())
        .collect();
    for bits in [8, 16, 32, 64] {
        kinds.extend([true, false].map(|signed| Type::Int { signed, bits }));
    }
    for precision in [1, 2, 9, 10, 18, 19, 28, 29, 38] {
        kinds.extend([0, precision / 2, precision].map(|scale| Type::Decimal { precision, scale }));
    }
    kinds
}

/// Numbers near the ends of what a type holds, near zero, and in between.
fn number((least, most): (i128, i128)) -> BoxedStrategy<i128> {
    prop_oneof![
        Just(least),
        Just(most),
        (0..3i128).prop_map(move |number| number.clamp(least, most)),
        (-99..99i128).prop_map(move |number| number.clamp(least, most)),
        least..=most,
    ]
    .boxed()
}

fn column(kind: Type, rows: usize, nullable: bool) -> BoxedStrategy<Column> {
    let values = match kind {
        Type::Char(width) => {
            let pieces = ["a", "é", ",", "\"", "\n", "\r", " ", "null", "\u{1b}", "1"];
            let text = vec(prop::sample::select(pieces.to_vec()), 0..8).prop_map(move |pieces| {
                let mut text = Vec::new();
                for piece in pieces {
                    if text.len() + piece.len() <= width.into() {
                        text.extend(piece.bytes());
                    }
                }
                text.resize(width.into(), 0);
                text
            });
            vec(text, rows)
                .prop_map(move |texts| Values::Text(width.into(), texts.concat()))
                .boxed()
        }
        _ => vec(number(kind.range().unwrap()), rows)
            .prop_map(|numbers| Values::Numbers(numbers.into()))
            .boxed(),
    };
    (values, vec(any::<bool>(), rows))
        .prop_map(move |(mut values, nulls)| {
            let nulls = (nullable && nulls.contains(&true)).then_some(nulls);
            for row in (0..rows).filter(|&row| nulls.as_ref().is_some_and(|nulls| nulls[row])) {
                match &mut values {
                    Values::Numbers(numbers) => numbers.set(row, 0),
                    Values::Text(width, bytes) => bytes[row * *width..][..*width].fill(0),
                }
            }
            Column { values, nulls }
        })
        .boxed()
}

fn table() -> impl Strategy<Value = Table> {
    let kinds = vec((prop::sample::select(kinds()), any::<bool>()), 1..6);
    (kinds, 0..40usize).prop_flat_map(|(kinds, rows)| {
        let columns: Vec<_> = kinds
            .iter()
            .map(|&(kind, nullable)| column(kind, rows, nullable))
            .collect();
        let field = |(place, &(kind, nullable)): (usize, &(Type, bool))| {
            let name = ["id", "na,me", "\"q\"", "é", "Owed", "end"][place].to_owned();
            Field { name, kind, nullable }
        };
        let fields: Vec<Field> = kinds.iter().enumerate().map(field).collect();
        columns.prop_map(move |columns| Table {
            fields: fields.clone(),
            columns,
            rows,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_come_back(table in table()) {
        let folder = Folder::new();
        for name in ["a.csv", "A.PARQUET"] {
            let path = folder.path(name);
            write(&path, &table).unwrap();
            prop_assert_eq!(&read(&path, &table.fields, table.rows).unwrap(), &table, "{}", name);
            for most in [1, 3, table.rows.max(1), usize::MAX] {
                let pieces = read_in_pieces(&path, &table.fields, table.rows, most).unwrap();
                prop_assert_eq!(cells(&pieces), cells(&table), "{} {}", name, most);
            }
        }
    }
}

#[test]
fn every_type_comes_back_at_its_ends() {
    let folder = Folder::new();
    for kind in kinds() {
        let Some((least, most)) = kind.range() else {
            continue;
        };
        let table = Table {
            fields: vec![Field {
                name: "x".into(),
                kind,
                nullable: false,
            }],
            columns: vec![Column {
                values: Values::Numbers(vec![least, 0, most].into()),
                nulls: None,
            }],
            rows: 3,
        };
        for name in ["a.csv", "a.parquet"] {
            write(&folder.path(name), &table).unwrap();
            assert_eq!(
                read(&folder.path(name), &table.fields, 3).unwrap(),
                table,
                "{kind} in {name}"
            );
        }
    }
}

fn sample() -> Table {
    Table {
        fields: fields(&[
            "region char(8)?",
            "joint decimal(12,2)?",
            "since date",
            "Since timestamp",
        ]),
        columns: vec![
            Column {
                values: Values::Text(
                    8,
                    b"north\0\0\0south\"\0\0\0\0\0\0\0\0\0\0a\x1b[2J\n\0\0".to_vec(),
                ),
                nulls: Some(vec![false, false, true, false]),
            },
            Column {
                values: Values::Numbers(vec![125_000, 0, -5, 7].into()),
                nulls: Some(vec![false, true, false, false]),
            },
            Column {
                values: Values::Numbers(vec![0, -1, 19_782, 1].into()),
                nulls: None,
            },
            Column {
                values: Values::Numbers(vec![0, -1, 1_500_000, 1_000_000].into()),
                nulls: None,
            },
        ],
        rows: 4,
    }
}

#[test]
fn csv_is_written_as_others_read_it() {
    let folder = Folder::new();
    write(&folder.path("a.csv"), &sample()).unwrap();
    let expected = "region,joint,since,Since\n\
        north,1250.00,1970-01-01,1970-01-01 00:00:00\n\
        \"south\"\"\",,1969-12-31,1969-12-31 23:59:59.999999\n\
        ,-0.05,2024-02-29,1970-01-01 00:00:01.500000\n\
        \"a\u{1b}[2J\n\",0.07,1970-01-02,1970-01-01 00:00:01\n";
    assert_eq!(std::fs::read_to_string(folder.path("a.csv")).unwrap(), expected);
    // A null alone in its line is a blank line.
    let alone = Table {
        fields: fields(&["x char(2)?"]),
        columns: vec![Column {
            values: Values::Text(2, b"\0\0\0\0b\0".to_vec()),
            nulls: Some(vec![true, false, false]),
        }],
        rows: 3,
    };
    write(&folder.path("a.csv"), &alone).unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.path("a.csv")).unwrap(),
        "x\n\n\"\"\nb\n"
    );
    write(&folder.path("a.parquet"), &alone).unwrap();
    for name in ["a.csv", "a.parquet"] {
        assert_eq!(read(&folder.path(name), &alone.fields, 3).unwrap(), alone);
    }
}

#[test]
fn parquet_columns_are_found_by_name() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    write(&path, &sample()).unwrap();
    let said = |path: &Path, text: &str, max_rows| crate::message(path, &[field(text)], max_rows);
    assert_eq!(
        read(&path, &fields(&["SINCE date"]), 4).unwrap_err().place,
        Default::default()
    );
    assert!(
        said(&path, "SINCE date", 4).starts_with(
            "has no column SINCE, but several that differ from it in capitals only: since, Since"
        )
    );
    assert_eq!(
        said(&path, "owed u8", 4),
        "has no column owed; its columns are region, joint, since, Since"
    );
    assert_eq!(
        said(&path, "since date", 3),
        "there are more than 3 rows, which is `max_rows` of the job; leave rows out, or agree on more"
    );
    assert_eq!(
        read(&path, &fields(&["JOINT decimal(14,4)?"]), 4)
            .unwrap()
            .columns[0]
            .values,
        Values::Numbers(vec![12_500_000, 0, -500, 700].into())
    );
    let none = read(&path, &[], 4).unwrap();
    assert_eq!((none.rows, none.columns.len()), (4, 0));
    // What begins and ends as Parquet does is read as such, whatever its name.
    std::fs::copy(&path, folder.path("b.csv")).unwrap();
    assert_eq!(
        read(&folder.path("b.csv"), &sample().fields, 4).unwrap(),
        sample()
    );
    let csv = folder.file("c.csv", "PAR1,x\n1,2\n3,4\n");
    assert_eq!(read(&csv, &fields(&["PAR1 u8"]), 4).unwrap().rows, 2);
}

#[test]
fn groups_of_rows_are_read_one_after_the_other() {
    let rows = (1 << 20) + 7;
    let numbers = (0..rows as i128).collect::<Vec<_>>();
    let table = Table {
        fields: fields(&["x u32?"]),
        columns: vec![Column {
            values: Values::Numbers(numbers.into()),
            nulls: None,
        }],
        rows,
    };
    let folder = Folder::new();
    write(&folder.path("a.parquet"), &table).unwrap();
    assert_eq!(
        read(&folder.path("a.parquet"), &table.fields, rows).unwrap(),
        table
    );
}

#[test]
fn a_table_is_written_whole_or_not_at_all() {
    let folder = Folder::new();
    let said = |name: &str, table: &Table| {
        let error = write(&folder.path(name), table).unwrap_err();
        error
            .to_string()
            .rsplit_once(&format!("{name}: "))
            .unwrap()
            .1
            .to_owned()
    };
    let wrong = |place: usize, column: Column| {
        let mut table = sample();
        table.columns[place] = column;
        table
    };
    let nulls = || Some(vec![false, false, true, false]);
    let numbers = |last| Values::Numbers(vec![0, 0, 0, last].into());
    for name in ["a.csv", "a.parquet"] {
        let null = wrong(
            2,
            Column {
                values: numbers(0),
                nulls: nulls(),
            },
        );
        assert!(
            said(name, &null)
                .starts_with("row 3, column since: is empty, but the column is declared `not null`")
        );
        let far = wrong(
            1,
            Column {
                values: numbers(10i128.pow(12)),
                nulls: None,
            },
        );
        assert!(said(name, &far).starts_with("row 4, column joint: is out of range for decimal(12,2)"));
        assert!(!folder.path(name).exists());
    }
    assert!(said("a.txt", &sample()).starts_with("ends in neither .csv nor .parquet"));
    assert!(
        said("gone/a.csv", &sample()).starts_with("cannot be written: no file can be made in its folder")
    );
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    assert!(said("folder.csv", &sample()).starts_with("is not a regular file"));
    folder.file("old.csv", "old");
    write(&folder.path("old.csv"), &sample()).unwrap();
    assert_eq!(
        read(&folder.path("old.csv"), &sample().fields, 4).unwrap().rows,
        4
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.path("old.csv"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let left = std::fs::read_dir(folder.path("")).unwrap().count();
    assert_eq!(left, 2, "no part of a file is left behind");
    let error = write(Path::new("x.txt"), &sample()).unwrap_err();
    assert!(matches!(*error.problem, Problem::NoFormat));
}

#[test]
fn tables_are_shown() {
    assert_eq!(
        show(&sample(), 3),
        "region    joint  since       Since\n\
         ------  -------  ----------  --------------------------\n\
         north   1250.00  1970-01-01  1970-01-01 00:00:00\n\
         south\"     null  1969-12-31  1969-12-31 23:59:59.999999\n\
         null      -0.05  2024-02-29  1970-01-01 00:00:01.500000\n\
         … 1 more\n"
    );
    let last = show(&sample(), 9);
    assert!(
        last.ends_with("a\u{fffd}[2J\u{fffd}     0.07  1970-01-02  1970-01-01 00:00:01\n"),
        "{last}"
    );
    let empty = Table {
        fields: fields(&["id u8"]),
        columns: vec![Column {
            values: Values::Numbers(vec![].into()),
            nulls: None,
        }],
        rows: 0,
    };
    assert_eq!(show(&empty, 5), "id\n--\n");
}

/// A cheating owner may give bytes that are no text. The answer is written all the same.
#[test]
fn text_that_is_none_is_written_with_replacements() {
    let folder = Folder::new();
    let field = Field {
        name: "name".into(),
        kind: Type::Char(8),
        nullable: true,
    };
    let texts = [
        &b"anna\0\0\0\0"[..],
        &[b'a', 0xff, b'b', 0, 0, 0, 0, 0],
        b"a\0b\0\0\0\0\0",
        &[0xff; 8],
    ];
    let table = Table {
        columns: vec![Column {
            values: Values::Text(8, texts.concat()),
            nulls: Some(vec![false, false, false, true]),
        }],
        fields: vec![field.clone()],
        rows: 4,
    };
    let wider = Field {
        kind: Type::Char(24),
        ..field
    };
    for name in ["a.csv", "a.parquet"] {
        let path = folder.path(name);
        assert_eq!(write(&path, &table).unwrap(), 2, "{name}");
        let back = read(&path, std::slice::from_ref(&wider), 4).unwrap();
        assert_eq!(
            crate::cells(&back).concat(),
            ["anna", "a\u{fffd}b", "a\u{fffd}b", ""],
            "{name}"
        );
    }
    // Nor does it tell values by accident.
    assert!(!format!("{table:?}").contains("anna") && !format!("{table:?}").contains("97"));
}
