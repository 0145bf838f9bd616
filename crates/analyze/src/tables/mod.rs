//! What the tables of reports and findings have in common: columns, cells, grouped rows, notes.
//!
//! Takes a fold and names of columns; gives columns, rows and notes. It knows no single report.

pub mod columns;
pub mod grouped;
pub mod losses;
pub mod notes;
