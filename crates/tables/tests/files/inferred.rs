//! Tables whose columns nobody declares, and columns that are made by hand.

use std::fs::File;

use cenote_tables::{Builder, Table, Values, pass_on, read, read_in_order, read_parquet, write};

use crate::{Folder, cells, field, fields};

/// Numbers and texts with a null.
fn table() -> Table {
    let fields = fields(&["n u8", "m i16?", "s char(200)?", "d decimal(9,2)"]);
    let mut columns: Vec<Builder> = fields.iter().map(|field| Builder::new(field, 3)).collect();
    columns[0].numbers([7, 0, 255].map(Ok).into_iter()).unwrap();
    columns[1].null().unwrap();
    columns[1].numbers([-3, 300].map(Ok).into_iter()).unwrap();
    for text in ["", "é12"] {
        columns[2].text(text.as_bytes()).unwrap();
    }
    columns[2].null().unwrap();
    columns[3].numbers([1, -250, 999].map(Ok).into_iter()).unwrap();
    Table {
        fields,
        columns: columns.into_iter().map(Builder::finish).collect(),
        rows: 3,
    }
}

#[test]
fn columns_of_parquet_files_get_types_that_fit() {
    let folder = Folder::new();
    for (name, passed) in [("kept.parquet", false), ("passed.parquet", true)] {
        let path = folder.path(name);
        match passed {
            true => pass_on(&File::create(&path).unwrap(), &table()).unwrap(),
            false => assert_eq!(write(&path, &table()).unwrap(), 0),
        }
        let inferred = read_parquet(&path, 3).unwrap();
        // Texts of four bytes at most, and no nulls but where there are some.
        let expected = fields(&["n u8", "m i16?", "s char(4)?", "d decimal(9,2)"]);
        assert_eq!(inferred.table.fields, expected);
        assert_eq!(cells(&inferred.table), cells(&table()));
        assert!(inferred.left_out.is_empty());
        assert!(read_parquet(&path, 2).is_err());
    }
}

#[test]
fn columns_are_read_in_their_order_whatever_their_names_are() {
    let folder = Folder::new();
    let mut table = table();
    table
        .fields
        .iter_mut()
        .for_each(|field| field.name = "same".into());
    let path = folder.path("same.parquet");
    write(&path, &table).unwrap();
    assert_eq!(read_in_order(&path, &table.fields, 3).unwrap(), table);
    assert!(read_in_order(&path, &table.fields[1..], 3).is_err());
    assert!(read(&path, &table.fields, 3).is_err());
}

#[test]
fn the_index_of_a_data_frame_is_left_out() {
    let folder = Folder::new();
    let mut table = table();
    table.fields[0].name = "__index_level_0__".into();
    table.fields[1].name = "__index_level_of__".into();
    let path = folder.path("index.parquet");
    write(&path, &table).unwrap();
    let inferred = read_parquet(&path, 3).unwrap();
    assert_eq!(inferred.left_out.len(), 1);
    assert!(inferred.left_out[0].1.contains("reset_index"));
    assert_eq!(inferred.table.fields[0].name, "__index_level_of__");
}

#[test]
fn columns_that_no_type_fits_are_left_out() {
    let folder = Folder::new();
    let long = field("s char(255)");
    let mut column = Builder::new(&long, 1);
    column.text(&[b'a'; 255]).unwrap();
    let mut longer = column.finish();
    if let Values::Text(width, bytes) = &mut longer.values {
        *width = 300;
        bytes.resize(300, b'a');
    }
    let table = Table {
        fields: vec![long],
        columns: vec![longer],
        rows: 1,
    };
    let path = folder.path("long.parquet");
    write(&path, &table).unwrap();
    let inferred = read_parquet(&path, 10).unwrap();
    assert!(inferred.table.fields.is_empty());
    let (name, why) = &inferred.left_out[0];
    assert!(name == "s" && why.contains("longer than 255 bytes"), "{why}");
}

#[test]
fn numbers_beyond_a_type_are_refused_where_they_stand() {
    let small = field("n u8?");
    let mut column = Builder::new(&small, 4);
    column.null().unwrap();
    let refused = column.numbers([5, 256, 6].map(Ok).into_iter()).unwrap_err();
    assert!(refused.to_string().contains("out of range for u8"), "{refused}");
    assert_eq!(column.rows(), 2);
    let column = column.finish();
    assert!(column.is_null(0) && !column.is_null(1));
    assert!(
        Builder::new(&field("s char(3)"), 1)
            .numbers([Ok(1)].into_iter())
            .is_err()
    );
}
