//! A view as JSON: the contract of docs/reports.md, for `dwell report --format json` and the web UI alike.
//!
//! A single view is an object of its columns; every other is `{"rows": […], "notes": […]}`. Numbers are exact:
//! nanoseconds and counts are integers.

use serde_json::{Map, Number, Value as Json, json};

use crate::answer;
use crate::page::PageType;
use crate::prose::Prose;
use crate::view::{CLASSES, Column, Row, Value, View};

answer! {
    /// What the values of a column are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// Text, or sentences.
        Text = "text",
        /// Plain numbers.
        Count = "count",
        /// Nanoseconds.
        Ns = "ns",
        /// Fractions of 1.
        Fraction = "fraction",
        /// Numbers with a fraction.
        Real = "real",
        /// Nanoseconds by utilization class.
        ByClass = "by_class",
        /// Nanoseconds by count.
        Histogram = "histogram",
        /// Nanoseconds by name.
        Parts = "parts",
        /// Stacks, leaf first.
        Stack = "stack",
        /// Other views.
        Rows = "rows",
    }
}

/// The view as pretty-printed JSON that ends with a newline.
pub fn render(view: &View) -> String {
    format!("{:#}\n", document(view))
}

/// The sentences of one text, each with its id and its values, as `web/src/base/prose.ts` reads them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Sentences(Json);

impl PageType for Sentences {
    fn typescript() -> String {
        "Sentence[]".to_owned()
    }
}

/// The view as a JSON value.
pub fn document(view: &View) -> Json {
    let mut object = match view.rows.first() {
        Some(row) if view.single => record(&view.columns, row, false),
        _ => Map::from_iter([("rows".to_owned(), rows(view))]),
    };
    object.insert("notes".into(), json!(texts(&view.notes)));
    object.insert("notes_parts".into(), json!(parts(&view.notes)));
    Json::Object(object)
}

/// Rows are flat, trees too: `depth` tells the level, since nested objects as deep as a call stack exceed what many
/// parsers take.
fn rows(view: &View) -> Json {
    let tree = view.rows.iter().any(|row| row.depth > 0);
    view.rows.iter().map(|row| Json::Object(record(&view.columns, row, tree))).collect()
}

/// A row as an object of the columns, sentences with their parts beside them, and views with their notes; with its depth where the view is a
/// tree.
pub fn record(columns: &[Column], row: &Row, tree: bool) -> Map<String, Json> {
    let depth = tree.then(|| ("depth".to_owned(), json!(row.depth)));
    let cells = || columns.iter().zip(&row.values);
    let fields = cells().map(|(column, value)| (column.id.to_owned(), self::value(value)));
    let parts = cells().filter_map(|(column, value)| match value {
        Value::Prose(prose) => Some((format!("{}_parts", column.id), prose.parts())),
        _ => None,
    });
    let noted = cells().filter_map(|(column, value)| match value {
        Value::Rows(view) if !view.notes.is_empty() => Some((column.id, &view.notes)),
        _ => None,
    });
    let notes = noted.flat_map(|(id, notes)| {
        [(format!("{id}_notes"), json!(texts(notes))), (format!("{id}_notes_parts"), json!(self::parts(notes)))]
    });
    depth.into_iter().chain(fields).chain(parts).chain(notes).collect()
}

/// Notes as texts.
pub fn texts(notes: &[Prose]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

/// The same notes sentence by sentence, with ids and typed values.
pub fn parts(notes: &[Prose]) -> Vec<Sentences> {
    notes.iter().map(|note| Sentences(note.parts())).collect()
}

/// One value; NaN and infinity are null.
pub fn value(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Text(text) => json!(text),
        Value::Count(number) | Value::Ns(number) => json!(number),
        Value::CountChange(number) | Value::NsChange(number) => json!(number),
        Value::Fraction(number) | Value::Real(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::ByClass(classes) => {
            CLASSES.iter().zip(classes).map(|(name, ns)| ((*name).to_owned(), json!(ns))).collect()
        }
        Value::Histogram(times) => json!(times),
        Value::Parts(parts) => parts.iter().map(|(name, ns)| ((*name).to_owned(), json!(ns))).collect(),
        Value::Stack(frames) => json!(frames),
        Value::Prose(prose) => json!(prose.to_string()),
        Value::Rows(view) => nested(view),
    }
}

/// What a column's values are: those of its first row that has one.
pub fn kind(view: &View, column: usize) -> Kind {
    let kind = view.rows.iter().find_map(|row| match row.values.get(column)? {
        Value::None => None,
        Value::Text(_) | Value::Prose(_) => Some(Kind::Text),
        Value::Count(_) | Value::CountChange(_) => Some(Kind::Count),
        Value::Ns(_) | Value::NsChange(_) => Some(Kind::Ns),
        Value::Fraction(_) => Some(Kind::Fraction),
        Value::Real(_) => Some(Kind::Real),
        Value::ByClass(_) => Some(Kind::ByClass),
        Value::Histogram(_) => Some(Kind::Histogram),
        Value::Parts(_) => Some(Kind::Parts),
        Value::Stack(_) => Some(Kind::Stack),
        Value::Rows(_) => Some(Kind::Rows),
    });
    kind.unwrap_or(Kind::Text)
}

/// A view within a view: a map when it pairs names with counts or says more of causes, a record when it is single, else an
/// array.
fn nested(view: &View) -> Json {
    let ids: Vec<&str> = view.columns.iter().map(|column| column.id).collect();
    match (ids.as_slice(), view.rows.first()) {
        (["name", "count"], _) => view.rows.iter().filter_map(pair).collect(),
        (["cause", ..], _) => view.rows.iter().filter_map(|row| named(&view.columns, row)).collect(),
        (_, Some(row)) if view.single => Json::Object(record(&view.columns, row, false)),
        _ => rows(view),
    }
}

/// The first value as the name of the others.
fn named(columns: &[Column], row: &Row) -> Option<(String, Json)> {
    let Some(Value::Text(name)) = row.values.first() else { return None };
    let rest = Row { depth: 0, values: row.values.get(1..)?.to_vec() };
    Some((name.clone(), Json::Object(record(columns.get(1..)?, &rest, false))))
}

fn pair(row: &Row) -> Option<(String, Json)> {
    match row.values.as_slice() {
        [Value::Text(name), count] => Some((name.clone(), value(count))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(id: &'static str) -> Column {
        Column { id, title: "", help: "", detail: false }
    }

    fn waits() -> View {
        let stack = Value::Stack(vec!["pthread_mutex_lock".into(), "push".into()]);
        let classes = Value::ByClass([3_330_000_000, 4_000_000_000, 1_000_000_000, 0, 0]);
        let values = vec![Value::Text("queue_lock".into()), Value::Ns(8_330_000_000), classes, stack];
        View {
            columns: ["object", "wait_ns", "wait_by_class", "top_stack"].map(column).to_vec(),
            rows: vec![
                Row { depth: 0, values },
                Row { depth: 0, values: vec![Value::Text("x".into()), Value::Ns(1), Value::None, Value::None] },
            ],
            notes: vec![Prose::plain("12 events were lost: the ring buffer was full.")],
            ..View::default()
        }
    }

    fn summary() -> View {
        let losses = View {
            columns: ["name", "count"].map(column).to_vec(),
            rows: vec![Row { depth: 0, values: vec![Value::Text("ring_full".into()), Value::Count(12)] }],
            ..View::default()
        };
        let values = vec![
            Value::Ns(5_020_000_000),
            Value::Histogram(vec![20_000_000, 1_500_000_000]),
            Value::Rows(Box::new(losses)),
            Value::Rows(Box::new(waits())),
        ];
        View {
            columns: ["elapsed_ns", "histogram_cpu", "losses", "top_objects"].map(column).to_vec(),
            rows: vec![Row { depth: 0, values }],
            single: true,
            ..View::default()
        }
    }

    #[test]
    fn rows_have_exact_numbers_and_classes_by_name() {
        let json = document(&waits());
        assert_eq!(json["rows"][0]["wait_ns"], 8_330_000_000u64);
        assert_eq!(json["rows"][0]["wait_by_class"]["poor"], 4_000_000_000u64);
        assert_eq!(json["rows"][0]["top_stack"][1], "push");
        assert_eq!(json["rows"][1]["top_stack"], Json::Null);
        assert_eq!(json["notes"][0], "12 events were lost: the ring buffer was full.");
        assert!(json["rows"][0].get("depth").is_none());
    }

    #[test]
    fn a_single_view_is_an_object() {
        let json = document(&summary());
        assert_eq!(json["elapsed_ns"], 5_020_000_000u64);
        assert_eq!(json["losses"], json!({"ring_full": 12}));
        assert_eq!(json["histogram_cpu"][1], 1_500_000_000u64);
        assert_eq!(json["top_objects"][0]["object"], "queue_lock");
        assert_eq!(json["top_objects_notes"], json!(["12 events were lost: the ring buffer was full."]));
        assert!(json.get("losses_notes").is_none(), "it has none");
    }

    #[test]
    fn a_tree_says_its_depths() {
        let mut tree = waits();
        tree.rows[1].depth = 1;
        assert_eq!(document(&tree)["rows"][1]["depth"], 1);
    }

    #[test]
    fn what_is_no_number_is_null() {
        assert_eq!(value(&Value::Real(f64::NAN)), Json::Null);
    }
}
