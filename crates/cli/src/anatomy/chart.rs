//! The report `buffers` as a chart for the terminal: what a KiB costs, by the size of the buffer that it comes in.

use dwell_view::{Value, View};

use crate::text::bars::bar;

/// Columns of a bar.
const WIDTH: usize = 16;
/// What is drawn, of the report's columns.
const DRAWN: [&str; 4] = ["buffer_instructions", "buffer_accesses", "buffer_l1d_misses", "buffer_cycles"];

/// Lines below the report's table; nothing where it has no rows.
pub fn buffers(view: &View) -> String {
    let drawn: Vec<usize> = DRAWN.iter().filter_map(|id| view.columns.iter().position(|it| it.id == *id)).collect();
    let per_kib = |column: usize| -> Vec<u64> {
        let of_row = |values: &Vec<Value>| match (values.first(), values.get(column)) {
            (Some(&Value::Count(bytes)), Some(&Value::Real(cost))) => (cost * 1024.0 / bytes as f64).round() as u64,
            _ => 0,
        };
        view.rows.iter().map(|row| of_row(&row.values)).collect()
    };
    let costs: Vec<Vec<u64>> = drawn.iter().map(|&column| per_kib(column)).collect();
    let most: Vec<u64> = costs.iter().map(|costs| costs.iter().copied().max().unwrap_or(0)).collect();
    if view.rows.is_empty() {
        return String::new();
    }
    let titles = drawn.iter().map(|&column| format!("  {:WIDTH$}", view.columns[column].title));
    let mut lines = vec!["\nPer KiB; the longest bar is the dearest size".to_owned()];
    lines.push(format!("{:>8}{}", "Bytes", titles.collect::<String>()));
    for (at, row) in view.rows.iter().enumerate() {
        let Some(Value::Count(bytes)) = row.values.first() else { continue };
        let bars = costs.iter().zip(&most).map(|(costs, &most)| format!("  {:WIDTH$}", bar(costs[at], most, WIDTH)));
        lines.push(format!("{bytes:>8}{}", bars.collect::<String>()));
    }
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use dwell_view::{Column, Row};

    use super::*;

    #[test]
    fn a_bar_is_the_cost_of_a_kib() {
        let column = |id, title| Column { id, title, help: "", detail: false };
        let row = |bytes, cost| Row { depth: 0, values: vec![Value::Count(bytes), Value::Real(cost)] };
        let view = View {
            columns: vec![column("buffer_bytes", "Bytes"), column("buffer_cycles", "Cycles")],
            rows: vec![row(1024, 100.0), row(4096, 200.0)],
            ..View::default()
        };
        let lines: Vec<String> = buffers(&view).lines().skip(2).map(str::to_owned).collect();
        assert_eq!(lines, ["   Bytes  Cycles", "    1024  ████████████████", "    4096  ████████"]);
        assert_eq!(buffers(&View::default()), "");
    }
}
