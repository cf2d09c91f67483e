//! Parquet files that others wrote: codecs, encodings, odd footers, and values that a type does not have.

use cenote_tables::{Field, Type, read};
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::parquet::{Data, foreign};
use crate::{Folder, cells, fields, message};

#[test]
fn values_that_a_type_does_not_have() {
    use Data::{Double, Float, Int64};
    let folder = Folder::new();
    for (column, data, kind, what) in [
        (
            "required double x",
            Double(vec![1.5]),
            "i64",
            "is not a value of type i64",
        ),
        (
            "required double x",
            Double(vec![f64::NAN]),
            "i64",
            "is not a value of type i64",
        ),
        (
            "required double x",
            Double(vec![f64::INFINITY]),
            "i64",
            "is not a value of type i64",
        ),
        (
            "required double x",
            Double(vec![1e17]),
            "i64",
            "is out of range for i64",
        ),
        (
            "required float x",
            Float(vec![1e8]),
            "i64",
            "is out of range for i64",
        ),
        (
            "required int64 x (timestamp(micros,true))",
            Int64(vec![1]),
            "date",
            "has a time of day, but is declared date",
        ),
    ] {
        let path = foreign(&folder, column, data, None, WriterProperties::default());
        let said = message(&path, &fields(&[&format!("x {kind}")]), 2);
        assert!(
            said.starts_with(&format!("row 1, column x: {what}")),
            "{column}: {said}"
        );
    }
}

/// Some programs say that a dictionary is at 0 where there is none.
#[test]
fn no_dictionary_at_the_beginning_of_the_file() {
    let folder = Folder::new();
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let data = Data::Int32(vec![1, 2, 3]);
    let path = foreign(&folder, "required int32 x", data, None, properties.build());
    let bytes = std::fs::read(&path).unwrap();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let end = bytes.len() - 8 - footer;
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes[end..bytes.len() - 8]).unwrap();
    let group = metadata.row_group(0).clone();
    let column = group.column(0).clone().into_builder();
    let column = column.set_dictionary_page_offset(Some(0)).build().unwrap();
    let group = group
        .into_builder()
        .set_column_metadata(vec![column])
        .build()
        .unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let mut changed = bytes[..end].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata)
        .finish()
        .unwrap();
    std::fs::write(&path, &changed).unwrap();
    let table = read(&path, &fields(&["x u8"]), 3).unwrap();
    assert_eq!(cells(&table).concat(), ["1", "2", "3"]);
}

/// Types of the compact protocol of Thrift.
const INT: u8 = 5;
const LONG: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct of the compact protocol of Thrift: fields with their numbers, types and values.
fn thrift(fields: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut last) = (Vec::new(), 0);
    for (id, kind, value) in fields {
        bytes.push((id - last) << 4 | kind);
        bytes.extend(value);
        last = *id;
    }
    bytes.push(0);
    bytes
}

/// A number with its sign last.
fn zigzag(number: i64) -> Vec<u8> {
    let (mut number, mut bytes) = (2 * number.unsigned_abs(), Vec::new());
    while number > 0x7f {
        bytes.push(number as u8 & 0x7f | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Some programs wrote fields of their own where the format has others by now.
#[test]
fn fields_of_a_footer_that_are_not_what_they_should_be() {
    let list = |kind: u8, items: &[Vec<u8>]| [vec![(items.len() as u8) << 4 | kind], items.concat()].concat();
    let text = |text: &str| [vec![text.len() as u8], text.as_bytes().to_vec()].concat();
    let folder = Folder::new();
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let path = foreign(
        &folder,
        "required int32 x",
        Data::Int32(vec![1, 2, 3]),
        None,
        properties.build(),
    );
    let bytes = std::fs::read(&path).unwrap();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let end = bytes.len() - 8 - footer;
    let known = ParquetMetaDataReader::decode_metadata(&bytes[end..bytes.len() - 8]).unwrap();
    let known = known.row_group(0).column(0);
    let size = zigzag(known.compressed_size());
    let column = |own: &[(u8, u8, Vec<u8>)]| {
        let needed = [
            (1, INT, zigzag(1)),
            (2, LIST, list(INT, &[zigzag(0)])),
            (3, LIST, list(BINARY, &[text("x")])),
            (4, INT, zigzag(0)),
            (5, LONG, zigzag(3)),
            (6, LONG, size.clone()),
            (7, LONG, size.clone()),
            (9, LONG, zigzag(known.data_page_offset())),
            (11, LONG, zigzag(0)),
        ];
        let column = thrift(&[&needed[..], own].concat());
        let chunk = thrift(&[(2, LONG, zigzag(4)), (3, STRUCT, column)]);
        let group = [
            (1, LIST, list(STRUCT, &[chunk])),
            (2, LONG, size.clone()),
            (3, LONG, zigzag(3)),
        ];
        let root = thrift(&[(4, BINARY, text("m")), (5, INT, zigzag(1))]);
        let leaf = thrift(&[(1, INT, zigzag(1)), (3, INT, zigzag(0)), (4, BINARY, text("x"))]);
        let footer = thrift(&[
            (1, INT, zigzag(1)),
            (2, LIST, list(STRUCT, &[root, leaf])),
            (3, LONG, zigzag(3)),
            (4, LIST, list(STRUCT, &[thrift(&group)])),
        ]);
        let length = (footer.len() as u32).to_le_bytes().to_vec();
        [bytes[..end].to_vec(), footer, length, b"PAR1".to_vec()].concat()
    };
    let odd = thrift(&[
        (1, INT, zigzag(7)),
        (2, 1, Vec::new()),
        (3, 7, vec![0; 8]),
        (4, 3, vec![1]),
    ]);
    for own in [
        vec![],
        vec![(15, LIST, list(STRUCT, &[odd.clone(), odd.clone()]))],
        vec![
            (12, LONG, zigzag(5)),
            (15, STRUCT, odd),
            (16, LIST, list(1, &[vec![1], vec![2]])),
        ],
    ] {
        let path = folder.file("b.parquet", column(&own));
        let table = read(&path, &fields(&["x u8"]), 3).unwrap();
        assert_eq!(cells(&table).concat(), ["1", "2", "3"], "{own:?}");
    }
    // Lists and texts that go on beyond the footer, and lists within one another without end.
    for own in [
        vec![(15, LIST, vec![0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f])],
        vec![(15, LIST, vec![0x19; 200])],
        vec![(
            15,
            BINARY,
            vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        )],
    ] {
        let path = folder.file("b.parquet", column(&own));
        // What the crate makes of them as fields of its own may be nothing that matters.
        if let Ok(table) = read(&path, &fields(&["x u8"]), 3) {
            assert_eq!(cells(&table).concat(), ["1", "2", "3"], "{own:?}");
        }
    }
}

#[test]
fn codecs_and_encodings() {
    let folder = Folder::new();
    let text: Vec<Vec<u8>> = (0..5000)
        .map(|row| format!("text {}", row % 71).into_bytes())
        .collect();
    let field: [Field; 1] = [Field {
        name: "x".into(),
        kind: Type::Char(8),
        nullable: false,
    }];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
    ];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for codec in codecs {
            for encoding in [
                None,
                Some(Encoding::PLAIN),
                Some(Encoding::DELTA_BYTE_ARRAY),
                Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            ] {
                let mut properties = WriterProperties::builder()
                    .set_compression(codec)
                    .set_writer_version(version)
                    .set_dictionary_enabled(encoding.is_none())
                    .set_data_page_row_count_limit(700);
                if let Some(encoding) = encoding {
                    properties = properties.set_encoding(encoding);
                }
                let path = foreign(
                    &folder,
                    "required binary x (utf8)",
                    Data::Bytes(text.clone()),
                    None,
                    properties.build(),
                );
                let cells = cells(&read(&path, &field, 5000).unwrap()).concat();
                let expected = text.iter().map(|text| String::from_utf8_lossy(text));
                assert!(expected.eq(cells), "{version:?} {codec} {encoding:?}");
            }
        }
    }
}
