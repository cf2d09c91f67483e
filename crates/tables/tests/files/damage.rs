//! Damaged Parquet files come to an error, or to a table if it is values that are damaged, and never to a panic.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use cenote_tables::{Column, Field, Problem, Table, Values, read, write};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::parquet::{Data, foreign};
use crate::{Folder, fields};

const ROWS: usize = 120;

fn column(values: Values, null: usize) -> Column {
    let nulls = (0..ROWS).map(|row| row % null == 0).collect();
    Column {
        values,
        nulls: Some(nulls),
    }
}

/// A table with a column of each kind that Parquet keeps in its own way.
fn table() -> Table {
    let numbers = |factor: i128| {
        (0..ROWS as i128)
            .map(|row| row * factor)
            .collect::<Vec<_>>()
            .into()
    };
    let text = (0..ROWS)
        .flat_map(|row| [b'a' + (row % 20) as u8, b'b', b'c', 0])
        .collect();
    Table {
        fields: fields(&[
            "flag bool?",
            "id u64?",
            "small i8?",
            "owed decimal(30,2)?",
            "text char(4)?",
        ]),
        columns: vec![
            column(
                Values::Numbers((0..ROWS as i128).map(|row| row % 2).collect::<Vec<_>>().into()),
                5,
            ),
            column(Values::Numbers(numbers(1_000_003)), 3),
            column(
                Values::Numbers((0..ROWS as i128).map(|row| row % 100).collect::<Vec<_>>().into()),
                7,
            ),
            column(Values::Numbers(numbers(-1_000_000_007_000_003)), 2),
            column(Values::Text(4, text), 11),
        ],
        rows: ROWS,
    }
}

/// Whole files, and what is read of them.
fn whole(folder: &Folder) -> Vec<(PathBuf, Vec<Field>)> {
    let table = table();
    let path = folder.path("own.parquet");
    write(&path, &table).expect("a table that can be written");
    let mut files = vec![(path, table.fields)];
    let text: Vec<Vec<u8>> = (0..ROWS)
        .map(|row| format!("text {}", row / 3).into_bytes())
        .collect();
    for (place, (codec, version, encoding)) in [
        (
            Compression::ZSTD(Default::default()),
            WriterVersion::PARQUET_2_0,
            Encoding::DELTA_BYTE_ARRAY,
        ),
        (
            Compression::UNCOMPRESSED,
            WriterVersion::PARQUET_1_0,
            Encoding::DELTA_LENGTH_BYTE_ARRAY,
        ),
        (Compression::SNAPPY, WriterVersion::PARQUET_1_0, Encoding::PLAIN),
        (
            Compression::GZIP(Default::default()),
            WriterVersion::PARQUET_1_0,
            Encoding::PLAIN,
        ),
        (
            Compression::BROTLI(Default::default()),
            WriterVersion::PARQUET_2_0,
            Encoding::PLAIN,
        ),
        (Compression::LZ4_RAW, WriterVersion::PARQUET_1_0, Encoding::PLAIN),
        (Compression::LZ4, WriterVersion::PARQUET_1_0, Encoding::PLAIN),
    ]
    .into_iter()
    .enumerate()
    {
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_dictionary_enabled(false)
            .set_encoding(encoding);
        let levels: Vec<i16> = text.iter().map(|_| 1).collect();
        let data = Data::Bytes(text.clone());
        let made = foreign(
            folder,
            "optional binary x (utf8)",
            data,
            Some(&levels),
            properties.build(),
        );
        let path = folder.path(&format!("{place}.parquet"));
        std::fs::rename(made, &path).unwrap();
        files.push((path, fields(&["x char(9)?"])));
    }
    files
}

/// Reads a damaged file; says whether the damage was seen.
fn seen(folder: &Folder, bytes: &[u8], fields: &[Field], what: &str) -> bool {
    let path = folder.path("damaged.parquet");
    // Written over the last one: a file that is emptied first is soon written to the disk.
    let mut options = File::options();
    let mut file = options
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path)
        .unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    match read(&path, fields, ROWS) {
        Ok(table) => {
            assert_eq!(table.rows, ROWS, "{what}");
            false
        }
        Err(error) => {
            let about_the_file = !matches!(*error.problem, Problem::NotFound | Problem::Unwritable(_));
            assert!(about_the_file, "{what}: {error}");
            true
        }
    }
}

#[test]
fn parts_of_files_are_refused() {
    let folder = Folder::new();
    for (path, fields) in whole(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            assert!(
                seen(&folder, &bytes[..length], &fields, "cut"),
                "{}: {length}",
                path.display()
            );
            // The end of a file, so that the footer is whole.
            let tail = &bytes[bytes.len() - length..];
            seen(&folder, tail, &fields, "tail");
        }
    }
    let said = |contents: &[u8]| crate::message(&folder.file("b.parquet", contents), &fields(&["x u8"]), 1);
    let footer = "is not a valid Parquet file (its footer is damaged); write or copy it again";
    assert_eq!(said(b""), footer);
    assert_eq!(said(b"PAR1"), footer);
    assert_eq!(said(b"a,b\n1,2\n3,4\n5,6\n"), footer);
    assert_eq!(said(b"PAR1\xff\xff\xff\xffPAR1"), footer);
    assert_eq!(
        said(b"PARE\x01\0\0\0PARE"),
        "is encrypted, which is not supported; write the file without encryption"
    );
}

#[test]
fn changed_files_come_to_an_error_or_to_a_table() {
    let folder = Folder::new();
    for (path, fields) in whole(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        let mut errors = 0;
        let mut changes = 0;
        for place in 0..bytes.len() {
            for change in [1 << (place % 8), 0xff] {
                let mut changed = bytes.clone();
                changed[place] ^= change;
                let what = format!("{}: {place} {change:#x}", path.display());
                errors += usize::from(seen(&folder, &changed, &fields, &what));
                changes += 1;
            }
        }
        assert!(errors * 10 > changes, "{errors} of {changes}");
    }
}

#[test]
fn a_page_is_not_decompressed_beyond_what_its_rows_need() {
    let folder = Folder::new();
    // A page of more than 2^20 bytes, so that its size has four bytes of seven bits each.
    let text: Vec<Vec<u8>> = (0..5000).map(|row| format!("{row:0255}").into_bytes()).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(1 << 22)
        .set_write_batch_size(5000);
    let path = foreign(
        &folder,
        "required binary x",
        Data::Bytes(text),
        None,
        properties.build(),
    );
    let mut bytes = std::fs::read(&path).unwrap();
    let fields = fields(&["x char(255)"]);
    assert_eq!(read(&path, &fields, 5000).unwrap().rows, 5000);
    // Behind the mark: the kind of page, then its size.
    assert_eq!((bytes[4], bytes[6], bytes[10] < 0x80), (0x15, 0x15, true));
    bytes[7..11].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
    std::fs::write(&path, bytes).unwrap();
    let said = crate::message(&path, &fields, 5000);
    assert_eq!(
        said,
        "column x: has a page of more than 66 MiB; write the file with smaller pages"
    );
}
