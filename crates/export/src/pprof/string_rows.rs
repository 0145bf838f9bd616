//! The string table: each text once.

use std::collections::HashMap;

/// Texts and their rows.
#[derive(Debug)]
pub struct StringRows {
    rows: HashMap<String, i64>,
    texts: Vec<String>,
}

impl Default for StringRows {
    /// With the empty text, which is the first row of every table.
    fn default() -> Self {
        Self { rows: HashMap::from([(String::new(), 0)]), texts: vec![String::new()] }
    }
}

impl StringRows {
    /// The row of `text`.
    pub fn row(&mut self, text: &str) -> i64 {
        if let Some(row) = self.rows.get(text) {
            return *row;
        }
        let row = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.rows.insert(text.to_owned(), row);
        row
    }

    /// The text of a row that [`StringRows::row`] told; empty for any other.
    pub fn text(&self, row: i64) -> &str {
        usize::try_from(row).ok().and_then(|row| self.texts.get(row)).map_or("", String::as_str)
    }

    /// The table.
    pub fn finish(self) -> Vec<String> {
        self.texts
    }
}
