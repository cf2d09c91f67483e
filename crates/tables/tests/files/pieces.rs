//! Files that are read some rows at a time.

use std::path::Path;
use std::sync::Arc;

use cenote_tables::{Error, Field, Pieces, Table, read};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{Folder, cells, fields};

/// The rows of a file, read so many at a time.
pub(crate) fn read_in_pieces(
    path: &Path,
    fields: &[Field],
    max_rows: usize,
    most: usize,
) -> Result<Table, Error> {
    let mut pieces = Pieces::open(path, fields, max_rows)?;
    let mut whole = Table::none(fields);
    while let Some(piece) = pieces.next(most)? {
        assert!((1..=most).contains(&piece.rows));
        whole.append(&piece, &(0..piece.rows).collect::<Vec<_>>());
    }
    Ok(whole)
}

/// Groups of rows begin anew in each column, also empty ones.
#[test]
fn groups_of_rows_are_read_in_pieces() {
    let folder = Folder::new();
    let path = folder.path("groups.parquet");
    let schema = parse_message_type("message m { required int32 x; optional int64 y; }").unwrap();
    let target = std::fs::File::create(&path).unwrap();
    let properties = Arc::new(WriterProperties::default());
    let mut file = SerializedFileWriter::new(target, Arc::new(schema), properties).unwrap();
    let mut next = 0;
    for rows in [5, 0, 1, 12, 0] {
        let own: Vec<i32> = (next..next + rows).collect();
        next += rows;
        let levels: Vec<i16> = own.iter().map(|x| i16::from(x % 3 > 0)).collect();
        let others: Vec<i64> = own
            .iter()
            .filter(|&x| x % 3 > 0)
            .map(|&x| i64::from(x) * 7)
            .collect();
        let mut group = file.next_row_group().unwrap();
        let mut writer = group.next_column().unwrap().unwrap();
        writer.typed::<Int32Type>().write_batch(&own, None, None).unwrap();
        writer.close().unwrap();
        let mut writer = group.next_column().unwrap().unwrap();
        writer
            .typed::<Int64Type>()
            .write_batch(&others, Some(&levels), None)
            .unwrap();
        writer.close().unwrap();
        group.close().unwrap();
    }
    file.close().unwrap();
    let fields = fields(&["y i64?", "x i32"]);
    let whole = cells(&read(&path, &fields, 18).unwrap());
    assert_eq!((&*whole[17][0], &*whole[17][1]), ("119", "17"));
    for most in [1, 2, 5, 7, 18, usize::MAX] {
        let pieces = read_in_pieces(&path, &fields, 18, most).unwrap();
        assert_eq!(cells(&pieces), whole, "{most}");
    }
}
