//! A view as CSV (RFC 4180): a header of field names, then one record per row with exact numbers.
//!
//! Fields by utilization class become five columns; a list (stack, histogram) is one field with `;` between its
//! entries; a view within a row is one field of JSON. Notes are not data and go to standard error.

use dwell_view::{Row, Value, View, json};

use crate::text::bars::CLASSES;

/// The view as CSV; lines end with CR LF.
pub fn render(view: &View) -> String {
    let tree = view.rows.iter().any(|row| row.depth > 0);
    let by_class: Vec<bool> = (0..view.columns.len()).map(|column| is_by_class(view, column)).collect();
    let mut text = header(view, tree, &by_class);
    for row in &view.rows {
        text.push_str(&record(row, tree, &by_class));
    }
    text
}

fn is_by_class(view: &View, column: usize) -> bool {
    view.rows.iter().any(|row| matches!(row.values.get(column), Some(Value::ByClass(_))))
}

fn header(view: &View, tree: bool, by_class: &[bool]) -> String {
    let mut names: Vec<String> = Vec::new();
    names.extend(tree.then(|| "depth".to_owned()));
    for (column, by_class) in view.columns.iter().zip(by_class) {
        if *by_class {
            names.extend(CLASSES.iter().map(|(class, ..)| format!("{}_{class}", column.id)));
        } else {
            names.push(column.id.to_owned());
        }
    }
    line(&names)
}

fn record(row: &Row, tree: bool, by_class: &[bool]) -> String {
    let mut fields: Vec<String> = Vec::new();
    fields.extend(tree.then(|| row.depth.to_string()));
    for (value, by_class) in row.values.iter().zip(by_class) {
        match value {
            Value::ByClass(classes) => fields.extend(classes.iter().map(u64::to_string)),
            _ if *by_class => fields.extend(CLASSES.iter().map(|_| String::new())),
            value => fields.push(field(value)),
        }
    }
    line(&fields)
}

fn field(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Text(text) => text.clone(),
        Value::Count(number) | Value::Ns(number) => number.to_string(),
        Value::CountChange(number) | Value::NsChange(number) => number.to_string(),
        Value::Fraction(number) | Value::Real(number) if number.is_finite() => number.to_string(),
        Value::Fraction(_) | Value::Real(_) => String::new(),
        Value::ByClass(numbers) => joined(numbers),
        Value::Histogram(numbers) => joined(numbers),
        Value::Parts(parts) => parts.iter().map(|(name, ns)| format!("{name}={ns}")).collect::<Vec<_>>().join(";"),
        Value::Stack(frames) => frames.join(";"),
        Value::Prose(prose) => prose.to_string(),
        Value::Rows(view) => json::document(view)["rows"].to_string(),
    }
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(";")
}

/// One record.
pub fn line(fields: &[String]) -> String {
    let quoted = |field: &String| {
        let quote = field.contains([',', '"', '\r', '\n']);
        if quote { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.clone() }
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::{summary, tree, waits};

    #[test]
    fn fields_are_quoted_where_needed_and_classes_are_columns() {
        let csv = render(&waits());
        let mut lines = csv.split("\r\n");
        let header = "object,type,wait_ns,wait_count,wait_by_class_idle,wait_by_class_poor,wait_by_class_ok,\
                      wait_by_class_ideal,wait_by_class_over,top_stack";
        assert_eq!(lines.next(), Some(header));
        let first =
            "queue_lock,Mutex,8330000000,4210,3330000000,4000000000,1000000000,0,0,pthread_mutex_lock;push;worker";
        assert_eq!(lines.next(), Some(first));
        assert!(lines.next().unwrap().starts_with("\"/srv/data/\u{1b}[31m\"\"very, long\"\"/path"));
    }

    #[test]
    fn every_record_has_as_many_fields_as_the_header() {
        for view in [waits(), tree()] {
            let csv = render(&view);
            let fields = |line: &str| line.split(',').count();
            let header = csv.split("\r\n").next().unwrap();
            let last = csv.trim_end().rsplit("\r\n").next().unwrap();
            assert!(fields(last) >= fields(header), "{last}");
        }
        assert!(render(&summary()).contains("[{"), "views within a record are JSON");
    }
}
