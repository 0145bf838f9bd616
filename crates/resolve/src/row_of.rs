//! From the replay's numbers to the rows of the result's tables.

use std::marker::PhantomData;

use dwell_model::Id;

/// The row of each number.
pub struct RowOf<Number, Row> {
    rows: Vec<Row>,
    number: PhantomData<fn(Number)>,
}

impl<Number, Row> Default for RowOf<Number, Row> {
    fn default() -> Self {
        Self { rows: Vec::new(), number: PhantomData }
    }
}

impl<Number, Row> FromIterator<Row> for RowOf<Number, Row> {
    /// The rows in the order of their numbers.
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect(), number: PhantomData }
    }
}

impl<Number: Id, Row: Id> RowOf<Number, Row> {
    /// The number's row; `NONE` for a number without one.
    pub fn get(&self, number: Number) -> Row {
        number.get().and_then(|number| self.rows.get(number)).copied().unwrap_or(Row::NONE)
    }

    /// A column of rows from one of numbers, in the same memory.
    pub fn column(&self, numbers: Vec<Number>) -> Vec<Row> {
        numbers.into_iter().map(|number| self.get(number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::{StackId, ids};

    use super::*;

    ids! {
        /// A number of a test.
        Number;
    }

    #[test]
    fn a_column_stays_where_it_is() {
        let rows: RowOf<Number, StackId> = [7, 5].map(StackId::new).into_iter().collect();
        let numbers = [Number::new(1), Number::NONE, Number::new(0), Number::new(2)].repeat(1000);
        let place = numbers.as_ptr().addr();
        let column = rows.column(numbers);
        assert_eq!(column.as_ptr().addr(), place);
        assert_eq!(column[..4], [StackId::new(5), StackId::NONE, StackId::new(7), StackId::NONE]);
    }
}
