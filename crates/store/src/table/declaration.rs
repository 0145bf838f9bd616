//! Tables as columns: one declaration gives the struct of vectors, its row, its columns in the file, and the docs.

use std::ops::Range;

use parquet::column::reader::ColumnReader;
use parquet::file::writer::SerializedColumnWriter;

use super::cell::{ColumnType, Relocation};
use super::memory_budget::MemoryBudget;

/// One column: what the trace-format document says of it.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDef {
    /// Name, with its unit.
    pub name: &'static str,
    /// Type of the cells.
    pub ty: ColumnType,
    /// What it holds.
    pub doc: &'static str,
}

/// One table: what the trace-format document says of it.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// Name, and the file's without `.parquet`.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnDef],
}

/// A table of the result.
pub trait Table: Default + Send {
    /// Its declaration.
    const DEF: TableDef;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether it has no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Writes the cells of column `column` in `rows`.
    fn write_column(
        &self,
        column: usize,
        rows: Range<usize>,
        to: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), String>;
    /// Appends the `rows` cells of a row group's column `column`; what they need is taken from the room.
    fn read_column(
        &mut self,
        column: usize,
        from: ColumnReader,
        rows: usize,
        budget: &MemoryBudget,
    ) -> Result<(), String>;
    /// Appends copies of rows of `other`.
    fn extend_from(&mut self, other: &Self, rows: Range<usize>);
    /// Moves the rows of `other` behind ours.
    fn append(&mut self, other: Self);
    /// Puts all rows into another result.
    fn relocate(&mut self, to: &Relocation);
    /// The rows in another order: row i becomes what row `order[i]` was.
    #[must_use]
    fn permuted(&self, order: &[usize]) -> Self;
}

/// Declares the tables: `/// doc` `Struct Row "file" { column: type, "doc"; … }`.
macro_rules! tables {
    ($($(#[doc = $doc:literal])* $name:ident $row:ident $file:literal {
        $($column:ident: $ty:ty, $cdoc:literal;)*
    })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $(#[doc = $cdoc] pub $column: Vec<$ty>,)* }

        #[doc = concat!("A row of [`", stringify!($name), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $row { $(#[doc = $cdoc] pub $column: $ty,)* }

        impl $name {
            /// Appends a row; returns its number.
            pub fn push(&mut self, row: $row) -> usize {
                $(self.$column.push(row.$column);)*
                $crate::table::Table::len(self) - 1
            }
            /// A copy of row `index`, `None` past the end.
            pub fn row(&self, index: usize) -> Option<$row> {
                Some($row { $($column: self.$column.get(index)?.clone(),)* })
            }
            /// The rows by the times of the column `times`; those of one time stay in their order.
            #[must_use]
            pub fn in_order_of(self, times: impl Fn(&Self) -> &[u64]) -> Self {
                if times(&self).is_sorted() {
                    return self;
                }
                let mut order: Vec<usize> = (0..times(&self).len()).collect();
                order.sort_by_key(|&row| times(&self)[row]);
                self.permuted(&order)
            }
            /// The rows in the order of `permutation`, a permutation of the row numbers.
            #[must_use]
            pub fn permuted(&self, permutation: &[usize]) -> Self {
                Self { $($column: permutation.iter().map(|&row| self.$column[row].clone()).collect(),)* }
            }
        }

        impl $crate::table::Table for $name {
            const DEF: $crate::table::TableDef = $crate::table::TableDef {
                name: $file,
                doc: concat!($($doc,)*),
                columns: &[$($crate::table::ColumnDef {
                    name: stringify!($column),
                    ty: <$ty as $crate::table::Cell>::TYPE,
                    doc: $cdoc,
                },)*],
            };
            fn len(&self) -> usize {
                [$(self.$column.len(),)*][0]
            }
            fn write_column(
                &self,
                column: usize,
                rows: std::ops::Range<usize>,
                to: &mut parquet::file::writer::SerializedColumnWriter<'_>,
            ) -> std::result::Result<(), String> {
                let mut index = 0;
                $(
                    if index == column {
                        return $crate::table::cell_io::write(&self.$column[rows], to);
                    }
                    index += 1;
                )*
                Err(format!("no column {column} of {index}"))
            }
            fn read_column(
                &mut self,
                column: usize,
                from: parquet::column::reader::ColumnReader,
                rows: usize,
                budget: &$crate::table::MemoryBudget,
            ) -> std::result::Result<(), String> {
                let mut index = 0;
                $(
                    if index == column {
                        return $crate::table::cell_io::read(&mut self.$column, from, rows, budget);
                    }
                    index += 1;
                )*
                Err(format!("no column {column} of {index}"))
            }
            fn extend_from(&mut self, other: &Self, rows: std::ops::Range<usize>) {
                $(self.$column.extend_from_slice(&other.$column[rows.clone()]);)*
            }
            fn append(&mut self, mut other: Self) {
                $(self.$column.append(&mut other.$column);)*
            }
            fn relocate(&mut self, to: &$crate::table::Relocation) {
                $(<$ty as $crate::table::Cell>::relocate(&mut self.$column, stringify!($column), to);)*
            }
            fn permuted(&self, order: &[usize]) -> Self {
                Self { $($column: order.iter().map(|&row| self.$column[row].clone()).collect(),)* }
            }
        }
    )*

        /// Every table, in the order of the trace-format document.
        #[allow(dead_code, reason = "those of tests are not documented")]
        pub const TABLES: &[$crate::table::TableDef] = &[$(<$name as $crate::table::Table>::DEF,)*];
    };
}
pub(crate) use tables;
