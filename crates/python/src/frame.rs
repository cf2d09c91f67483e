//! Tables in the clear, as the interpreter holds them.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatchIterator;
use cenote_tables::{Field, Inferred, Table, Type, Values, cell};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::input::AnyRecordBatch;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::arrow::{batch_of, schema_of};
use crate::error::{BadInput, InternalError, UsageError};
use crate::infer::table_of;

/// A table in the clear.
#[pyclass(frozen, module = "cenote._cenote")]
pub(crate) struct Frame {
    table: Arc<Table>,
    /// Columns that were not taken, each with the reason.
    left_out: Vec<(String, String)>,
}

impl From<Table> for Frame {
    fn from(table: Table) -> Self {
        Frame {
            table: Arc::new(table),
            left_out: Vec::new(),
        }
    }
}

impl From<Inferred> for Frame {
    fn from(Inferred { table, left_out }: Inferred) -> Self {
        Frame {
            table: Arc::new(table),
            left_out,
        }
    }
}

#[pymethods]
impl Frame {
    /// The table that an object with `__arrow_c_stream__` or `__arrow_c_array__` gives. Types that `columns` states, as a job file does, are taken from there; if it
    /// is given, only its columns are taken. `name` is what errors call the table.
    #[staticmethod]
    #[pyo3(signature = (data, columns, name))]
    fn from_arrow(
        py: Python<'_>,
        data: AnyRecordBatch,
        columns: Option<Vec<(String, String)>>,
        name: &str,
    ) -> PyResult<Self> {
        let reader = data.into_reader()?;
        let columns = columns.map(declared).transpose()?;
        py.detach(|| {
            let schema = reader.schema();
            let batches = reader
                .collect::<std::result::Result<Vec<_>, _>>()
                .map_err(|error| BadInput::new_err(format!("table {name} cannot be read: {error}")))?;
            let inferred = table_of(&schema, &batches, columns.as_deref());
            inferred
                .map(Frame::from)
                .map_err(|fault| BadInput::new_err(format!("table {name}: {fault}")))
        })
    }

    /// These columns of a CSV or Parquet file, which has at most `max_rows` rows.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        columns: Vec<(String, String)>,
        max_rows: usize,
    ) -> PyResult<Self> {
        let fields = declared(columns)?;
        let table = py.detach(|| cenote_tables::read(&path, &fields, max_rows));
        Ok(Frame::from(
            table.map_err(|error| BadInput::new_err(error.to_string()))?,
        ))
    }

    /// All columns of a Parquet file that there are types for.
    #[staticmethod]
    fn of_parquet(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| cenote_tables::read_parquet(&path, usize::MAX))
            .map(Frame::from)
            .map_err(|error| BadInput::new_err(error.to_string()))
    }

    /// Its columns: name, type, and whether it has nulls.
    #[getter]
    fn columns(&self) -> Vec<(String, String, bool)> {
        let fields = self.table.fields.iter();
        fields
            .map(|field| (field.name.clone(), field.kind.to_string(), field.nullable))
            .collect()
    }

    /// Columns that were not taken, each with the reason.
    #[getter]
    fn left_out(&self) -> Vec<(String, String)> {
        self.left_out.clone()
    }

    fn __len__(&self) -> usize {
        self.table.rows
    }

    /// Writes it to a file that ends in `.csv` or `.parquet`.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| cenote_tables::write(&path, &self.table))
            .map(|_| ())
            .map_err(|error| InternalError::new_err(error.to_string()))
    }

    /// The first rows as text.
    fn show(&self, rows: usize) -> String {
        cenote_tables::show(&self.table, rows)
    }

    /// The cells of the first rows as text, `None` for null.
    fn cells(&self, rows: usize) -> Vec<Vec<Option<String>>> {
        let table = &self.table;
        let row = |row: usize| {
            let columns = table.columns.iter().zip(&table.fields);
            columns
                .map(|(column, field)| (!column.is_null(row)).then(|| cell(column, field, row)))
                .collect()
        };
        (0..rows.min(table.rows)).map(row).collect()
    }

    /// Row number `row` as values of Python.
    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyTuple>> {
        let table = &self.table;
        if row >= table.rows {
            return Err(InternalError::new_err("there is no such row"));
        }
        let values = table.columns.iter().zip(&table.fields).map(|(column, field)| {
            if column.is_null(row) {
                return Ok(py.None().into_bound(py));
            }
            match &column.values {
                Values::Numbers(numbers) => {
                    value(py, field.kind, numbers.get(row), || cell(column, field, row))
                }
                Values::Text(..) => Ok(cell(column, field, row).into_pyobject(py)?.into_any()),
            }
        });
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = Arc::clone(&self.table);
        let batch = py.detach(|| batch_of(&table)).map_err(InternalError::new_err)?;
        let schema = schema_of(&self.table);
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        Bound::new(py, PyRecordBatchReader::new(Box::new(reader)))?
            .call_method1("__arrow_c_stream__", (requested_schema,))
    }
}

/// A value that is no text, as Python has it.
fn value<'py>(
    py: Python<'py>,
    kind: Type,
    number: i128,
    text: impl FnOnce() -> String,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match kind {
        Type::Bool => (number != 0).into_pyobject(py)?.to_owned().into_any(),
        Type::Int { .. } | Type::Decimal { scale: 0, .. } => number.into_pyobject(py)?.into_any(),
        Type::Decimal { .. } => py.import("decimal")?.getattr("Decimal")?.call1((text(),))?,
        Type::Date => since_1970(py, "date", "days", number)?,
        Type::Timestamp => since_1970(py, "datetime", "microseconds", number)?,
        Type::Char(_) => text().into_pyobject(py)?.into_any(),
    })
}

/// So many units after the beginning of 1970, as a `datetime.date` or `datetime.datetime`, whose calendar ends with the year 9999.
fn since_1970<'py>(py: Python<'py>, class: &str, unit: &str, number: i128) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("datetime")?;
    let delta = PyDict::new(py);
    delta.set_item(unit, number)?;
    let since = module.getattr("timedelta")?.call((), Some(&delta))?;
    module.getattr(class)?.call1((1970, 1, 1))?.add(since)
}

/// Columns as they are stated.
fn declared(columns: Vec<(String, String)>) -> PyResult<Vec<Field>> {
    let field =
        |(name, kind): (String, String)| cenote::query::field(name, &kind).map_err(UsageError::new_err);
    columns.into_iter().map(field).collect()
}

/// Tables on their way to processes of parties, in files that are only in memory and have no name: whatever becomes of this process, none is left behind.
#[pyclass(frozen, module = "cenote._cenote")]
pub(crate) struct Passed(Vec<File>);

#[pymethods]
impl Passed {
    /// Passes these tables on, side by side.
    #[new]
    fn new(py: Python<'_>, frames: Vec<Bound<'_, Frame>>) -> PyResult<Self> {
        let tables: Vec<Arc<Table>> = frames
            .iter()
            .map(|frame| Arc::clone(&frame.get().table))
            .collect();
        let written = py.detach(|| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = tables
                    .iter()
                    .map(|table| scope.spawn(|| written(table)))
                    .collect();
                let lost = |_| Err(std::io::Error::other("its thread panicked"));
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(lost))
                    .collect::<std::io::Result<Vec<File>>>()
            })
        });
        written
            .map(Passed)
            .map_err(|error| InternalError::new_err(format!("a table cannot be passed on: {error}")))
    }

    /// The paths by which processes of this user find them, as long as this object is there.
    #[getter]
    fn paths(&self) -> Vec<String> {
        let process = std::process::id();
        let path = |file: &File| format!("/proc/{process}/fd/{}", file.as_raw_fd());
        self.0.iter().map(path).collect()
    }
}

/// A file in memory that has the table.
fn written(table: &Table) -> std::io::Result<File> {
    let file = File::from(memfd_create("cenote table", MemfdFlags::CLOEXEC)?);
    cenote_tables::pass_on(&file, table)?;
    Ok(file)
}
