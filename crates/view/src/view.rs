//! What every report is: columns and rows of typed values. Text, CSV and JSON are made from it by the presenter, and
//! show the same numbers.

use crate::prose::Prose;

/// Nanoseconds by utilization class, in the order of [`CLASSES`].
pub type ByClass = [u64; 5];

/// The ids of the utilization classes.
pub const CLASSES: [&str; 5] = ["idle", "poor", "ok", "ideal", "over"];

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing to show.
    None,
    /// Text.
    Text(String),
    /// A plain number.
    Count(u64),
    /// Nanoseconds.
    Ns(u64),
    /// A difference of counts.
    CountChange(i64),
    /// A difference of nanoseconds.
    NsChange(i64),
    /// A fraction of 1.
    Fraction(f64),
    /// A number with a fraction that is no duration: an average of threads.
    Real(f64),
    /// Nanoseconds by utilization class: idle, poor, ok, ideal, over.
    ByClass(ByClass),
    /// Nanoseconds by count: entry i is the time at i.
    Histogram(Vec<u64>),
    /// Nanoseconds by name: parts of a time, in order.
    Parts(Vec<(&'static str, u64)>),
    /// A stack, leaf first.
    Stack(Vec<String>),
    /// Sentences.
    Prose(Prose),
    /// Parts of another view: evidence, sub-tables.
    Rows(Box<View>),
}

/// A column: the field in JSON and CSV, the heading on the screen, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Field name: a metric's id or a grouping level's.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Whether text output leaves it out, as too wide for a terminal; JSON and CSV always have it.
    pub detail: bool,
}

/// One row; in a tree, `depth` says how far it is indented under the row above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// 0 at the top.
    pub depth: usize,
    /// As many as the view has columns.
    pub values: Vec<Value>,
}

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Title on the screen.
    pub title: String,
    /// Columns, in order; the first one names the row.
    pub columns: Vec<Column>,
    /// Rows, in order.
    pub rows: Vec<Row>,
    /// Whether the rows are one record (summary): JSON shows an object and text a list of fields.
    pub single: bool,
    /// What a reader must know: losses, filters with the share that they show, what is estimated.
    pub notes: Vec<Prose>,
}

impl View {
    /// The value of a row in the column of this id.
    pub fn value<'v>(&self, row: &'v Row, id: &str) -> Option<&'v Value> {
        row.values.get(self.columns.iter().position(|column| column.id == id)?)
    }

    /// A field of the record, which a single view has as its row.
    pub fn field(&self, id: &str) -> Option<&Value> {
        self.value(self.rows.first()?, id)
    }

    /// A field that is a time, ns; 0 where there is none.
    pub fn field_ns(&self, id: &str) -> u64 {
        match self.field(id) {
            Some(Value::Ns(ns)) => *ns,
            _ => 0,
        }
    }

    /// A field that is a view.
    pub fn field_view(&self, id: &str) -> Option<&View> {
        match self.field(id)? {
            Value::Rows(view) => Some(view),
            _ => None,
        }
    }
}
