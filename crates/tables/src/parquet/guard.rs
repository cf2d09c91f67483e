//! What the parquet crate takes on trust, checked before it does. It allocates as much as a page says that it holds, and panics where a page
//! contradicts itself; a damaged file must come to an error instead.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::basic::{Encoding, Type as Physical};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::schema::types::ColumnDescriptor;
use bytes::Bytes;

use super::sizes::{delta, size_once_decompressed};
use crate::error::Problem;

/// Bytes that a page may have however few rows it has, and those for each row.
const PAGE_BYTES: usize = 64 << 20;
const ROW_BYTES: usize = 512;

/// Calls the parquet crate, which panics on some damaged files, and says which part of the file is damaged if it does.
pub(super) fn guarded<T>(
    part: &'static str,
    call: impl FnOnce() -> std::result::Result<T, Problem>,
) -> std::result::Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Problem::Damaged(part)))
}

/// What an error of the parquet crate comes to. Its text is dropped: it may quote what a damaged file has in place of sizes.
pub(super) fn problem(error: ParquetError, part: &'static str) -> Problem {
    match error {
        ParquetError::External(error) => match error.downcast::<Problem>() {
            Ok(problem) => *problem,
            Err(_) => Problem::Damaged(part),
        },
        _ => Problem::Damaged(part),
    }
}

fn damaged() -> ParquetError {
    ParquetError::External(Box::new(Problem::Damaged("a page")))
}

/// A file of which pages are read, none larger than the rows of their group can need.
pub(super) struct PageFile {
    file: Arc<File>,
    len: u64,
    most: usize,
}

impl PageFile {
    /// For groups of so many rows.
    pub(super) fn new(file: &Arc<File>, rows: usize) -> std::io::Result<Self> {
        Ok(PageFile {
            file: Arc::clone(file),
            len: file.metadata()?.len(),
            most: PAGE_BYTES.saturating_add(rows.saturating_mul(ROW_BYTES)),
        })
    }

    fn check(&self, bytes: u64) -> Result<()> {
        match bytes <= self.most as u64 {
            true => Ok(()),
            false => Err(ParquetError::External(Box::new(Problem::LargePage(self.most)))),
        }
    }
}

impl Length for PageFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for PageFile {
    type T = BufReader<File>;

    /// For the header of a page.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut read = self.file.get_read(start)?;
        self.check(size_once_decompressed(read.fill_buf()?).ok_or_else(damaged)?)?;
        Ok(read)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.check(length as u64)?;
        self.file.get_bytes(start, length)
    }
}

/// Pages of one column in one group of rows, with counts that fit what the pages hold.
pub(super) struct Pages<P> {
    pages: P,
    /// Values, nulls among them, of the pages to come.
    left: usize,
    /// Least bytes of a value in a dictionary.
    width: usize,
    /// Whether pages begin with a list of which values are null.
    optional: bool,
    /// Whether the dictionary was read.
    dictionary: bool,
}

impl<P: PageReader> Pages<P> {
    pub(super) fn new(pages: P, column: &ColumnDescriptor, rows: usize) -> Self {
        let width = match column.physical_type() {
            Physical::BOOLEAN => 1,
            Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            Physical::INT96 => 12,
            Physical::FIXED_LEN_BYTE_ARRAY => column.type_length().max(1) as usize,
        };
        Pages {
            pages,
            left: rows,
            width,
            optional: column.max_def_level() > 0,
            dictionary: false,
        }
    }

    fn check(&mut self, page: &Page) -> Option<()> {
        let values = page.num_values() as usize;
        let buffer: &[u8] = page.buffer();
        let levels = match page {
            Page::DictionaryPage { .. } => {
                self.dictionary = true;
                return (values <= buffer.len() / self.width).then_some(());
            }
            Page::DataPage {
                def_level_encoding: Encoding::RLE,
                ..
            } if self.optional => 4 + u32::from_le_bytes(*buffer.first_chunk()?) as usize,
            // Packed, one bit each.
            Page::DataPage { .. } if self.optional => values.div_ceil(8),
            Page::DataPage { .. } => 0,
            Page::DataPageV2 {
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => (*def_levels_byte_len as usize).checked_add(*rep_levels_byte_len as usize)?,
        };
        self.left = self.left.checked_sub(values)?;
        let bytes = buffer.get(levels..)?;
        match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => delta(bytes, values).map(drop),
            Encoding::DELTA_BYTE_ARRAY => delta(delta(bytes, values)?, values).map(drop),
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => self.dictionary.then_some(()),
            _ => Some(()),
        }
    }
}

impl<P: PageReader> PageReader for Pages<P> {
    /// The next page but for those without values: a reader takes one of them for the end.
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while let Some(page) = self.pages.get_next_page()? {
            self.check(&page).ok_or_else(damaged)?;
            if page.num_values() > 0 || page.is_dictionary_page() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl<P: PageReader> Iterator for Pages<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
