//! The rows of a query as text, CSV and JSON.

use serde_json::{Map, Value, json};

use crate::args::Format;
use crate::csv;
use crate::text::style::printable;

/// One column of an answer.
pub struct AskedColumn {
    /// Its name.
    pub name: String,
    /// Its type, as DuckDB writes it.
    pub kind: String,
}

impl AskedColumn {
    fn is_number(&self) -> bool {
        let kind = self.kind.split('(').next().unwrap_or_default();
        !kind.contains('[') && ["INT", "DOUBLE", "FLOAT", "DECIMAL"].iter().any(|number| kind.contains(number))
    }
}

/// What a query gave: texts, null as none; for JSON, texts of JSON.
pub struct QueryAnswer {
    /// Its columns.
    pub columns: Vec<AskedColumn>,
    /// Its rows.
    pub rows: Vec<Vec<Option<String>>>,
}

impl QueryAnswer {
    /// The answer in this form.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(),
            Format::Csv => self.csv(),
            Format::Json => self.json(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Aligned columns, numbers to the right, null as nothing.
    fn text(&self) -> String {
        let cells = |row: &Vec<Option<String>>| row.iter().map(|cell| shown(cell.as_deref())).collect();
        let lines: Vec<Vec<String>> = std::iter::once(self.names()).chain(self.rows.iter().map(cells)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        lines.iter().map(|line| self.line(line, &widths)).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let padded = cells.iter().zip(widths).zip(&self.columns).map(|((cell, &width), column)| {
            if column.is_number() { format!("{cell:>width$}") } else { format!("{cell:width$}") }
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    }

    fn csv(&self) -> String {
        let cells = |row: &Vec<Option<String>>| row.iter().map(|cell| cell.clone().unwrap_or_default()).collect();
        let lines = std::iter::once(self.names()).chain(self.rows.iter().map(cells));
        lines.map(|line: Vec<String>| csv::line(&line)).collect()
    }

    fn json(&self) -> String {
        let value = |cell: &Option<String>| {
            let text = cell.as_deref().unwrap_or("null");
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
        };
        let row = |row: &Vec<Option<String>>| -> Map<String, Value> {
            self.names().into_iter().zip(row.iter().map(value)).collect()
        };
        let rows: Vec<Map<String, Value>> = self.rows.iter().map(row).collect();
        format!("{:#}\n", json!({ "rows": rows }))
    }
}

fn shown(cell: Option<&str>) -> String {
    cell.map(|text| printable(text).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cells: [&str; 2]) -> QueryAnswer {
        let column = |name: &str, kind: &str| AskedColumn { name: name.into(), kind: kind.into() };
        QueryAnswer {
            columns: vec![column("object", "VARCHAR"), column("wait_ns", "HUGEINT")],
            rows: vec![cells.map(|cell| Some(cell.to_owned())).to_vec(), vec![None, None]],
        }
    }

    #[test]
    fn each_form_has_the_rows() {
        assert_eq!(answer(["a,\u{1b}b", "7"]).render(Format::Csv), "object,wait_ns\r\n\"a,\u{1b}b\",7\r\n,\r\n");
        assert!(!answer(["a\u{1b}\nb", "7"]).render(Format::Text).contains(['\u{1b}']));
        let told: Value = serde_json::from_str(&answer(["\"a\"", "7"]).render(Format::Json)).unwrap();
        assert_eq!(told, json!({ "rows": [{ "object": "a", "wait_ns": 7 }, { "object": null, "wait_ns": null }] }));
    }

    #[test]
    fn numbers_stand_to_the_right() {
        assert_eq!(answer(["lock", "7"]).render(Format::Text), "object  wait_ns\nlock          7\n\n");
    }
}
