//! Columns that are no metrics: each report declares its own, one row per column, in English and Japanese.

use dwell_view::Column;

/// A column as a report declares it.
pub struct ColumnDef {
    /// Its id and English words.
    pub column: Column,
    /// Its title in Japanese.
    pub japanese_title: &'static str,
    /// Its help in Japanese.
    pub japanese_help: &'static str,
}

/// Declares a table of columns. A row is `plain`, or `detail` where text output leaves the column out; its id, title and help;
/// title and help in Japanese. `COLUMNS` of `reports` names each table.
macro_rules! columns {
    ($(#[$doc:meta])* $table:ident; $($kind:ident $id:literal, $title:literal, $help:literal,
        $japanese_title:literal, $japanese_help:literal;)*) => {
        $(#[$doc])*
        pub static $table: &[$crate::tables::columns::ColumnDef] = &[$($crate::tables::columns::ColumnDef {
            column: $crate::tables::columns::$kind($id, $title, $help),
            japanese_title: $japanese_title,
            japanese_help: $japanese_help,
        },)*];
    };
}
pub(crate) use columns;

/// A column that text output shows.
pub const fn plain(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: false }
}

/// A column that text output leaves out.
pub const fn detail(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: true }
}

/// The columns of a table, as a view has them.
pub fn columns_of(table: &[ColumnDef]) -> Vec<Column> {
    table.iter().map(|def| def.column.clone()).collect()
}
