//! Where on the screen what is that can be clicked.

use dwell_live::SortBy;

/// Where the rows are on the screen, and what a click on the line above them sorts by.
#[derive(Clone, Debug, Default)]
pub struct RowArea {
    /// The line of the headings; the first row is below it.
    pub top: u16,
    /// The first column behind each heading, and the order that it stands for.
    pub headings: Vec<(u16, SortBy)>,
}
