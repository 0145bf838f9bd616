//! The form of what is printed.

use clap::ValueEnum;

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// RFC 4180, exact numbers.
    Csv,
    /// One document, exact numbers; docs/reports.md describes it.
    Json,
}
