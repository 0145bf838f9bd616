//! The cells of one column, to and from a row group of a Parquet file.
//!
//! By Parquet's own types: its Arrow half, with the crates of Arrow, takes longer to compile than all of Dwell.

use parquet::column::reader::ColumnReader;
use parquet::data_type::DataType;
use parquet::file::writer::SerializedColumnWriter;

use super::cell::{Cell, ColumnType};
use super::memory_budget::MemoryBudget;

/// Cells that are converted at a time: so much memory is needed besides the table's.
const AT_ONCE: usize = 1 << 16;
/// A text or a function's code has fewer bytes; the largest are source files of 16 MiB.
const MOST_CELL_BYTES: u64 = 32 << 20;
/// What the memory of a text takes beside its bytes.
const TEXT_OVERHEAD: u64 = 16;

/// Appends the cells to the column.
pub(crate) fn write<C: Cell>(cells: &[C], to: &mut SerializedColumnWriter<'_>) -> Result<(), String> {
    let writer = to.typed::<C::Stored>();
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cells in cells.chunks(AT_ONCE) {
        values.clear();
        levels.clear();
        if C::TYPE == ColumnType::Id {
            levels.extend(cells.iter().map(|cell| i16::from(cell.store().is_some())));
        }
        values.extend(cells.iter().filter_map(Cell::store));
        let levels = (C::TYPE == ColumnType::Id).then_some(levels.as_slice());
        writer.write_batch(&values, levels, None).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Appends the `rows` cells of a column; another number of cells is an error, as are cells of another type. Texts are taken
/// from the room.
pub(crate) fn read<C: Cell>(
    cells: &mut Vec<C>,
    from: ColumnReader,
    rows: usize,
    budget: &MemoryBudget,
) -> Result<(), String> {
    let mut reader = C::Stored::get_column_reader(from).ok_or("has another type")?;
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        values.clear();
        levels.clear();
        let wanted = AT_ONCE.min(rows - read);
        let (records, found, _) =
            reader.read_records(wanted, Some(&mut levels), None, &mut values).map_err(|error| error.to_string())?;
        if records == 0 {
            return Err(format!("has {read} cells of {rows}"));
        }
        budget.take(text_bytes::<C>(&values).ok_or("has a text that is too long")?)?;
        append(cells, &values, (found < records).then_some(levels.as_slice()))
            .ok_or("has a cell that is out of range")?;
        read += records;
    }
    Ok(())
}

/// What the texts take in memory; `None` when one of them is longer than any.
fn text_bytes<C: Cell>(values: &[<C::Stored as DataType>::T]) -> Option<u64> {
    if !matches!(C::TYPE, ColumnType::Text | ColumnType::Bytes) {
        return Some(0);
    }
    let bytes = values.iter().map(C::text_bytes).filter(|bytes| *bytes > 0);
    bytes.map(|bytes| (bytes <= MOST_CELL_BYTES).then_some(bytes + TEXT_OVERHEAD)).sum()
}

/// Appends the values; with levels, null for each 0 among them.
fn append<C: Cell>(cells: &mut Vec<C>, values: &[<C::Stored as DataType>::T], levels: Option<&[i16]>) -> Option<()> {
    let Some(levels) = levels else {
        cells.reserve(values.len());
        for value in values {
            cells.push(C::load(value)?);
        }
        return Some(());
    };
    let mut values = values.iter();
    for level in levels {
        cells.push(if *level == 0 { C::null()? } else { C::load(values.next()?)? });
    }
    Some(())
}
