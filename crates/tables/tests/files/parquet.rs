//! Parquet files that others wrote: which types are read as which, and what is said of those that are not.

use std::path::PathBuf;
use std::sync::Arc;

use cenote_tables::read;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{Folder, cells, fields, message};

/// Values of a column, none of them null.
#[derive(Clone)]
pub(crate) enum Data {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<[u32; 3]>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
}

/// Writes a file with one column, of which `levels` says what is null if it is optional.
pub(crate) fn foreign(
    folder: &Folder,
    column: &str,
    data: Data,
    levels: Option<&[i16]>,
    properties: WriterProperties,
) -> PathBuf {
    let path = folder.path("a.parquet");
    let end = if column.ends_with('}') { "" } else { ";" };
    let schema = Arc::new(parse_message_type(&format!("message m {{ {column}{end} }}")).unwrap());
    let target = std::fs::File::create(&path).unwrap();
    let mut file = SerializedFileWriter::new(target, schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    {
        let mut writer = group.next_column().unwrap().unwrap();
        macro_rules! put {
            ($kind:ty, $values:expr) => {
                writer
                    .typed::<$kind>()
                    .write_batch($values, levels, None)
                    .unwrap()
            };
        }
        match data {
            Data::Bool(values) => put!(BoolType, &values),
            Data::Int32(values) => put!(Int32Type, &values),
            Data::Int64(values) => put!(Int64Type, &values),
            Data::Float(values) => put!(FloatType, &values),
            Data::Double(values) => put!(DoubleType, &values),
            Data::Int96(values) => {
                let values: Vec<Int96> = values
                    .into_iter()
                    .map(|value| Int96::from(value.to_vec()))
                    .collect();
                put!(Int96Type, &values)
            }
            Data::Bytes(values) => {
                let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
                put!(ByteArrayType, &values)
            }
            Data::Fixed(values) => {
                type Fixed = <FixedLenByteArrayType as DataType>::T;
                let values: Vec<Fixed> = values.into_iter().map(Fixed::from).collect();
                put!(FixedLenByteArrayType, &values)
            }
        };
        writer.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    path
}

fn plain(folder: &Folder, column: &str, data: Data) -> PathBuf {
    foreign(folder, column, data, None, WriterProperties::default())
}

fn bytes(values: &[&[u8]]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.to_vec()).collect()
}

#[test]
#[allow(clippy::too_many_lines, reason = "one list of cases")]
fn types_of_others_are_read() {
    use Data::{Bool, Bytes, Double, Fixed, Float, Int32, Int64, Int96};
    let wide = |last: u8| [vec![0xff; 19], vec![last]].concat();
    for (column, data, kind, expected) in [
        (
            "boolean x",
            Bool(vec![true, false]),
            "bool",
            &["true", "false"][..],
        ),
        ("int32 x", Int32(vec![-5, 200]), "i16", &["-5", "200"]),
        ("int32 x (integer(8,true))", Int32(vec![-5]), "i64", &["-5"]),
        (
            "int32 x (integer(32,false))",
            Int32(vec![-1]),
            "u32",
            &["4294967295"],
        ),
        ("int32 x (uint_32)", Int32(vec![-1]), "u64", &["4294967295"]),
        (
            "double x",
            Double(vec![-5.0, 9_007_199_254_740_992.0]),
            "i64",
            &["-5", "9007199254740992"],
        ),
        ("float x", Float(vec![7.0]), "u8", &["7"]),
        (
            "int32 x (date)",
            Int32(vec![-1]),
            "timestamp",
            &["1969-12-31 00:00:00"],
        ),
        (
            "int64 x (timestamp(nanos,true))",
            Int64(vec![-86_400_000_000_000]),
            "date",
            &["1969-12-31"],
        ),
        (
            "int64 x (timestamp(micros,false))",
            Int64(vec![86_400_000_000]),
            "date",
            &["1970-01-02"],
        ),
        (
            "int64 x (timestamp(millis,false))",
            Int64(vec![0]),
            "date",
            &["1970-01-01"],
        ),
        (
            "fixed_len_byte_array(16) x (uuid)",
            Fixed(vec![(0..16).map(|byte| 17 * byte).collect()]),
            "char(36)",
            &["00112233-4455-6677-8899-aabbccddeeff"],
        ),
        (
            "int64 x (integer(64,false))",
            Int64(vec![-1]),
            "u64",
            &["18446744073709551615"],
        ),
        ("int64 x", Int64(vec![255]), "u8", &["255"]),
        ("int64 x", Int64(vec![-7]), "decimal(4,0)", &["-7"]),
        ("int32 x (decimal(9,0))", Int32(vec![-7]), "i8", &["-7"]),
        (
            "int32 x (decimal(9,1))",
            Int32(vec![-7]),
            "decimal(4,2)",
            &["-0.70"],
        ),
        (
            "int64 x (decimal(18,4))",
            Int64(vec![1_234_500]),
            "decimal(5,2)",
            &["123.45"],
        ),
        (
            "binary x (decimal(40,3))",
            Bytes(bytes(&[&[0x80], &[0, 0x80], &wide(0xfe)])),
            "decimal(12,3)",
            &["-0.128", "0.128", "-0.002"],
        ),
        (
            "fixed_len_byte_array(3) x (decimal(5,2))",
            Fixed(bytes(&[&[0xff, 0xff, 0xff], &[0, 1, 0]])),
            "decimal(5,2)",
            &["-0.01", "2.56"],
        ),
        (
            "int32 x (date)",
            Int32(vec![-1, 19_782]),
            "date",
            &["1969-12-31", "2024-02-29"],
        ),
        (
            "int64 x (timestamp(millis,true))",
            Int64(vec![-1]),
            "timestamp",
            &["1969-12-31 23:59:59.999000"],
        ),
        (
            "int64 x (timestamp(micros,false))",
            Int64(vec![1]),
            "timestamp",
            &["1970-01-01 00:00:00.000001"],
        ),
        (
            "int64 x (timestamp(nanos,true))",
            Int64(vec![-2000]),
            "timestamp",
            &["1969-12-31 23:59:59.999998"],
        ),
        (
            "int64 x (timestamp_millis)",
            Int64(vec![1]),
            "timestamp",
            &["1970-01-01 00:00:00.001000"],
        ),
        (
            "int96 x",
            Int96(vec![[1000, 0, 2_440_588], [0, 0, 2_440_587]]),
            "timestamp",
            &["1970-01-01 00:00:00.000001", "1969-12-31 00:00:00"],
        ),
        (
            "binary x (utf8)",
            Bytes(bytes(&[b"", "é,".as_bytes()])),
            "char(3)",
            &["", "é,"],
        ),
        ("binary x (string)", Bytes(bytes(&[b"abc"])), "char(3)", &["abc"]),
        ("binary x", Bytes(bytes(&[b"abc"])), "char(3)", &["abc"]),
    ] {
        let folder = Folder::new();
        let path = plain(&folder, &format!("required {column}"), data);
        let table = read(&path, &fields(&[&format!("X {kind}")]), 3)
            .unwrap_or_else(|error| panic!("{column}: {error}"));
        let cells: Vec<String> = cells(&table).concat();
        assert_eq!(cells, expected, "{column} as {kind}");
        assert!(table.columns[0].nulls.is_none());
    }
}

#[test]
fn values_that_do_not_fit_are_named_and_not_quoted() {
    use Data::{Bytes, Fixed, Int32, Int64};
    for (column, data, kind, what) in [
        (
            "int64 x",
            Int64(vec![1, 4711]),
            "u8",
            "is out of range for u8, which holds 0 to 255",
        ),
        ("int64 x", Int64(vec![1, -4711]), "u64", "is out of range for u64"),
        (
            "int64 x (integer(64,false))",
            Int64(vec![1, -4711]),
            "i64",
            "is out of range for i64",
        ),
        (
            "int32 x (decimal(9,4))",
            Int32(vec![100, 4711]),
            "decimal(9,2)",
            "has more than 2 decimal places, the most that decimal(9,2) holds; round it",
        ),
        (
            "int64 x (decimal(18,0))",
            Int64(vec![1, 4711]),
            "decimal(4,2)",
            "is out of range for decimal(4,2), which holds -99.99 to 99.99",
        ),
        (
            "fixed_len_byte_array(20) x (decimal(40,0))",
            Fixed(vec![vec![0; 20], vec![0x47; 20]]),
            "decimal(38,0)",
            "is out of range for decimal(38,0)",
        ),
        (
            "binary x (decimal(40,0))",
            Bytes(bytes(&[&[1], &[]])),
            "decimal(38,0)",
            "is out of range for decimal(38,0)",
        ),
        (
            "int64 x (timestamp(nanos,true))",
            Int64(vec![1000, 4711]),
            "timestamp",
            "has more than 6 decimal places",
        ),
        (
            "int64 x (timestamp(millis,true))",
            Int64(vec![1, i64::MAX]),
            "timestamp",
            "is out of range for timestamp",
        ),
        (
            "binary x (utf8)",
            Bytes(bytes(&[b"a", b"4711"])),
            "char(3)",
            "is longer than 3 bytes, the most that char(3) holds",
        ),
        (
            "binary x",
            Bytes(bytes(&[b"a", b"4711\xff"])),
            "char(9)",
            "is not UTF-8 text",
        ),
        (
            "binary x (utf8)",
            Bytes(bytes(&[b"a", b"4711\0"])),
            "char(9)",
            "contains a zero byte",
        ),
    ] {
        let folder = Folder::new();
        let path = plain(&folder, &format!("required {column}"), data);
        let said = message(&path, &fields(&[&format!("x {kind}")]), 2);
        assert!(
            said.starts_with(&format!("row 2, column x: {what}")),
            "{column}: {said}"
        );
        assert!(!said.contains("4711"), "{said}");
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one list of cases")]
fn types_that_do_not_fit_are_both_named() {
    use Data::{Bool, Bytes, Double, Fixed, Float, Int32, Int64};
    let cast = |kind: &str| format!("cast it to {kind} before you write the file");
    let inexact = "binary fractions are not exact, so cast it to decimal(12,2) before you write the file";
    for (column, data, there, kind, hint) in [
        (
            "required double x",
            Double(vec![1.0]),
            "double",
            "decimal(12,2)",
            inexact.to_owned(),
        ),
        (
            "required float x",
            Float(vec![1.0]),
            "float",
            "decimal(12,2)",
            inexact.to_owned(),
        ),
        (
            "required int64 x",
            Int64(vec![1]),
            "int64",
            "decimal(12,2)",
            cast("decimal(12,2)"),
        ),
        (
            "required int32 x (integer(16,false))",
            Int32(vec![1]),
            "uint16",
            "bool",
            cast("bool"),
        ),
        (
            "required int64 x (decimal(18,2))",
            Int64(vec![1]),
            "decimal(18,2)",
            "i64",
            cast("i64"),
        ),
        ("required boolean x", Bool(vec![true]), "bool", "u8", cast("u8")),
        (
            "required fixed_len_byte_array(16) x (uuid)",
            Fixed(vec![vec![0; 16]]),
            "uuid",
            "char(35)",
            cast("char(35)"),
        ),
        (
            "required int64 x (time(micros,true))",
            Int64(vec![1]),
            "time",
            "timestamp",
            cast("timestamp"),
        ),
        (
            "required binary x (utf8)",
            Bytes(bytes(&[b"1"])),
            "string",
            "u8",
            cast("u8"),
        ),
        (
            "required fixed_len_byte_array(4) x",
            Fixed(bytes(&[b"abcd"])),
            "bytes(4)",
            "char(4)",
            cast("char(4)"),
        ),
        (
            "required group x { required int32 y; }",
            Int32(vec![1]),
            "a list or a group",
            "i32",
            cast("i32"),
        ),
    ] {
        let folder = Folder::new();
        let path = plain(&folder, column, data);
        let said = message(&path, &fields(&[&format!("x {kind}")]), 2);
        let expected = format!("column x: is {there} in the file, but declared {kind}; {hint}");
        assert!(said.starts_with(&expected), "{column}: {said}");
    }
}

#[test]
fn nulls_are_read_where_they_may_be() {
    let folder = Folder::new();
    let levels = &[1, 0, 1, 0][..];
    for (column, data, kind) in [
        ("optional int32 x", Data::Int32(vec![1, 2]), "i32"),
        (
            "optional binary x (utf8)",
            Data::Bytes(bytes(&[b"1", b"2"])),
            "char(2)",
        ),
        (
            "optional fixed_len_byte_array(9) x (decimal(20,0))",
            Data::Fixed(bytes(&[
                &[0, 0, 0, 0, 0, 0, 0, 0, 1],
                &[0, 0, 0, 0, 0, 0, 0, 0, 2],
            ])),
            "decimal(20,0)",
        ),
    ] {
        let path = foreign(&folder, column, data, Some(levels), WriterProperties::default());
        let table = read(&path, &fields(&[&format!("x {kind}?")]), 4).unwrap();
        assert_eq!(cells(&table).concat(), ["1", "", "2", ""]);
        assert_eq!(table.columns[0].nulls, Some(vec![false, true, false, true]));
        let said = message(&path, &fields(&[&format!("x {kind}")]), 4);
        assert!(
            said.starts_with("row 2, column x: is empty, but the column is declared `not null`"),
            "{said}"
        );
    }
    let path = foreign(
        &folder,
        "optional int32 x",
        Data::Int32(vec![]),
        Some(&[0, 0]),
        WriterProperties::default(),
    );
    let table = read(&path, &fields(&["x u8?"]), 4).unwrap();
    assert_eq!(table.columns[0].nulls, Some(vec![true, true]));
    let path = foreign(
        &folder,
        "optional int32 x (unknown)",
        Data::Int32(vec![]),
        Some(&[0, 0]),
        WriterProperties::default(),
    );
    let table = read(&path, &fields(&["x date?"]), 4).unwrap();
    assert_eq!(
        table.columns[0].nulls,
        Some(vec![true, true]),
        "a column of nulls has every type"
    );
}
