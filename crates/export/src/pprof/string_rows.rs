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

    /// The table.
    pub fn finish(self) -> Vec<String> {
        self.texts
    }
}
