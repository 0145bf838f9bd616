//! Views made by hand, for the tests of the renderers.

use dwell_view::{Column, Prose, Row, Value, View};

fn column(id: &'static str, title: &'static str) -> Column {
    Column { id, title, help: "", detail: false }
}

fn row(depth: usize, values: Vec<Value>) -> Row {
    Row { depth, values }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// Waits by object, one name of them hostile.
pub fn waits() -> View {
    let stack = Value::Stack(vec!["pthread_mutex_lock".into(), "push".into(), "worker".into()]);
    View {
        title: "Waits by object".into(),
        columns: vec![
            column("object", "Sync Object"),
            column("type", "Object Type"),
            column("wait_ns", "Wait Time"),
            column("wait_count", "Wait Count"),
            column("wait_by_class", "Wait Time by Utilization"),
            Column { detail: true, ..column("top_stack", "Top Stack") },
        ],
        rows: vec![
            row(
                0,
                vec![
                    text("queue_lock"),
                    text("Mutex"),
                    Value::Ns(8_330_000_000),
                    Value::Count(4210),
                    Value::ByClass([3_330_000_000, 4_000_000_000, 1_000_000_000, 0, 0]),
                    stack,
                ],
            ),
            row(
                0,
                vec![
                    text("/srv/data/\u{1b}[31m\"very, long\"/path/to/a/file/of/the/program.log"),
                    text("Stream"),
                    Value::Ns(1_900_000),
                    Value::Count(7),
                    Value::ByClass([0, 0, 1_900_000, 0, 0]),
                    Value::None,
                ],
            ),
        ],
        notes: vec![Prose::plain("12 events were lost: the ring buffer was full.")],
        ..View::default()
    }
}

/// A tree of functions, three deep.
pub fn tree() -> View {
    let node = |depth, name: &str, ns| row(depth, vec![text(name), Value::Ns(ns), Value::Fraction(ns as f64 / 4e9)]);
    View {
        title: "Top-down".into(),
        columns: vec![column("function", "Function"), column("wait_ns", "Wait Time"), column("share", "Share")],
        rows: vec![
            node(0, "start_thread", 4_000_000_000),
            node(1, "worker", 3_900_000_000),
            node(2, "std::queue<std::shared_ptr<Job>, std::deque<std::shared_ptr<Job>>>::pop", 3_000_000_000),
            node(0, "main", 20),
        ],
        ..View::default()
    }
}

/// One record with a sub-table, a map and a histogram.
pub fn summary() -> View {
    let losses = View {
        columns: vec![column("name", "Name"), column("count", "Count")],
        rows: vec![row(0, vec![text("ring_full"), Value::Count(12)])],
        ..View::default()
    };
    let values = [
        ("elapsed_ns", "Elapsed Time", Value::Ns(5_020_000_000)),
        ("cpus", "Logical CPUs", Value::Count(2)),
        ("avg_running", "Average Running Threads", Value::Real(1.613)),
        ("utilization", "Effective CPU Utilization", Value::Fraction(0.8065)),
        ("command", "Command", text("./convoy --threads 4")),
        ("wait_by_class", "Wait Time by Utilization", Value::ByClass([1_000_000, 2_000_000, 0, 0, 0])),
        ("histogram_cpu", "CPU Utilization", Value::Histogram(vec![20_000_000, 1_500_000_000, 3_500_000_000])),
        ("losses", "Losses", Value::Rows(Box::new(losses))),
        ("top_objects", "Top Sync Objects", Value::Rows(Box::new(waits()))),
        ("nothing", "Nothing", Value::None),
    ];
    let (columns, values) = values.into_iter().map(|(id, title, value)| (column(id, title), value)).unzip();
    View { title: "Summary".into(), columns, rows: vec![row(0, values)], single: true, notes: Vec::new() }
}

/// Two findings.
pub fn findings() -> View {
    let finding = |title: &str, subject: &str, cost| {
        let evidence = "4 threads waited 8.33 s in 4,210 waits, 98 % of it while another one held the lock and ran.";
        let place = "push (queue.c:42)";
        let advice = "Hold the lock for less: move the work that needs no shared data out of it, or split the data.";
        row(0, vec![text(title), text(subject), text(evidence), text(place), text(advice), Value::Ns(cost)])
    };
    let ids = ["title", "subject", "evidence", "location", "advice", "cost_ns"];
    View {
        columns: ids.iter().map(|id| column(id, id)).collect(),
        rows: vec![finding("Spinning", "queue_lock", 8_330_000_000), finding("Thread churn", "worker", 1_000_000)],
        ..View::default()
    }
}

/// One finding with its handle, its help and a claim.
pub fn finding() -> View {
    let claims = View {
        columns: vec![column("question", "Question"), column("column", "Column"), column("number", "Number")],
        rows: vec![row(
            0,
            vec![
                Value::Stack(vec!["waits".into(), "--filter=object=a b".into()]),
                text("wait_ns"),
                Value::Count(8_330_000_000),
            ],
        )],
        ..View::default()
    };
    let detail = |id, title| Column { detail: true, ..column(id, title) };
    View {
        title: "Findings".into(),
        columns: vec![
            column("title", "Finding"),
            detail("handle", "#"),
            column("cost_ns", "Cost"),
            column("advice", "Advice"),
            detail("help", "Help"),
            detail("stack", "Stack"),
            detail("claims", "Claims"),
        ],
        rows: vec![row(
            0,
            vec![
                text("Fine-grained waits"),
                text("f1"),
                Value::Ns(8_330_000_000),
                text("Hand over several items at once."),
                text("Threads wait often, and for a short time."),
                Value::Stack(vec!["pthread_mutex_lock".into(), "push".into()]),
                Value::Rows(Box::new(claims)),
            ],
        )],
        ..View::default()
    }
}
