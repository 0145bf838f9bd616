//! A result as other tools read it.
//!
//! It takes a fold or a trace that `dwell-analyze` has made of a result and a query, and writes to a [`std::io::Write`], row by
//! row. It opens no files, makes no decisions about what is selected, and measures nothing anew: sums are those of the reports.
//!
//! Each format is a module. `sql` is a script over the tables as they are. `folded`, `speedscope`, `pprof` and
//! `otlp` have sums by place; `firefox` and `perfetto` have what each thread did in order of time.

pub mod firefox;
pub mod folded;
mod losses;
pub mod otlp;
pub mod perfetto;
pub mod pprof;
pub mod speedscope;
pub mod sql;
mod stack_sums;
#[cfg(test)]
mod test_trace;

pub use stack_sums::StackWeight;
