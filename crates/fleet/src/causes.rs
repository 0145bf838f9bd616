//! The table of causes as a Parquet file: why the threads of a service waited in windows of exact recording.

use parquet::errors::Result;

use crate::table::{Cells, parquet_of};

/// Its columns, in this order.
const SCHEMA: &str = "message dwell {
    required binary host (UTF8);
    required int64 t;
    required int64 window_ns;
    required int64 row_t;
    required int64 row_length_ns;
    required binary process (UTF8);
    required binary version (UTF8);
    required binary cause (UTF8);
    required binary kind (UTF8);
    required binary place (UTF8);
    required binary who (UTF8);
    required binary object (UTF8);
    required binary chain (UTF8);
    required int64 wait_ns;
    required int64 wall_ns;
    required binary advice (UTF8);
    required int64 cost_ns;
}";

/// One cause of a process's waits in one window; without a cause: that the process was there in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CauseRow {
    /// Name of the host.
    pub host: String,
    /// When the window began, Unix time in ns.
    pub t: i64,
    /// How long the window is.
    pub window_ns: i64,
    /// When the time began that the window stands for, Unix time in ns.
    pub row_t: i64,
    /// How long that time is.
    pub row_length_ns: i64,
    /// Name of the process that waited.
    pub process: String,
    /// Which version of its program it runs; empty where nobody knows.
    pub version: String,
    /// What its waits are because of: who did what, where. Empty in the row that says that the process was there.
    pub cause: String,
    /// What they did, as `dwell report explain` has it.
    pub kind: String,
    /// Where in the program; empty where nobody knows.
    pub place: String,
    /// The role of threads whose time it was.
    pub who: String,
    /// The object that the process waited for in the largest chain; empty where it has no name.
    pub object: String,
    /// The largest chain: who waited for what, because of whom.
    pub chain: String,
    /// Waits of the process in the window that are because of it.
    pub wait_ns: i64,
    /// Time of the window in which anybody on the host was delayed by it.
    pub wall_ns: i64,
    /// What to do about it.
    pub advice: String,
    /// CPU time that the window took on its host: only in rows without a cause.
    pub cost_ns: i64,
}

/// How the columns of [`SCHEMA`] are filled.
const COLUMNS: [Cells<CauseRow>; 17] = [
    Cells::Texts(|row| &row.host),
    Cells::Numbers(|row| row.t),
    Cells::Numbers(|row| row.window_ns),
    Cells::Numbers(|row| row.row_t),
    Cells::Numbers(|row| row.row_length_ns),
    Cells::Texts(|row| &row.process),
    Cells::Texts(|row| &row.version),
    Cells::Texts(|row| &row.cause),
    Cells::Texts(|row| &row.kind),
    Cells::Texts(|row| &row.place),
    Cells::Texts(|row| &row.who),
    Cells::Texts(|row| &row.object),
    Cells::Texts(|row| &row.chain),
    Cells::Numbers(|row| row.wait_ns),
    Cells::Numbers(|row| row.wall_ns),
    Cells::Texts(|row| &row.advice),
    Cells::Numbers(|row| row.cost_ns),
];

/// The bytes of a file that has these rows.
pub(crate) fn to_parquet(rows: &[CauseRow]) -> Result<Vec<u8>> {
    parquet_of(SCHEMA, &COLUMNS, rows)
}
