//! Machine code and sources of the functions that threads were in, for `dwell source`.
//! It takes the names of code; it gives tables of instructions with their lines, and the text of source files.
//! It does not copy a file that the reader of the result may not read.

pub mod code_tables;
pub mod source_files;
