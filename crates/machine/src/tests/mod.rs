//! The model against what is known of simple programs, written as streams.

mod closed_forms;
mod contents;
mod files;
mod program;
mod properties;
