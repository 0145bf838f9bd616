//! Call trees: the stacks' self weights, projected. Bottom-up has a function's callers below it, top-down its callees.

use std::collections::HashMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::functions::functions;
use dwell_query::measure::metrics::{column, magnitude, value};
use dwell_query::measure::weights::Weights;
use dwell_query::question::error::QueryError;
use dwell_query::stacks::call_stacks::{FunctionId, NO_FUNCTION};
use dwell_view::{Column, Row, Value, View, glob};

use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, metrics_or};
use crate::tables::notes::notes;

columns! {
    /// What a row of callers is.
    BOTTOM_UP;

    plain "function", "Function", "The function, and below it its callers.",
        "関数", "関数。その下に呼び出し元。";
}

columns! {
    /// What a row of callees is.
    TOP_DOWN;

    plain "function", "Function", "The function, below its caller.",
        "関数", "関数。呼び出し元の下に示します。";
}

columns! {
    /// Times of the function itself.
    SELF;

    plain "cpu_self_ns", "CPU Time: Self", "CPU time in the function itself, not in what it calls.",
        "CPU 時間: セルフ", "関数自身で消費した CPU 時間。呼び出し先は含みません。";
    plain "wait_self_ns", "Wait Time: Self", "Wait time in the function itself, not in what it calls.",
        "待機時間: セルフ", "関数自身でブロックした待機時間。呼び出し先は含みません。";
}

columns! {
    /// What a function is to the one asked for.
    ROLE;

    plain "role", "Role", "caller, the function, or callee.",
        "役割", "呼び出し元、関数、呼び出し先のいずれか。";
}

columns! {
    /// A function and its times.
    FUNCTIONS;

    plain "function", "Function", "The function.",
        "関数", "関数。";
    plain "cpu_ns", "CPU Time", "CPU time through it, callees included.",
        "CPU 時間", "呼び出し先を含む CPU 時間。";
    plain "wait_ns", "Wait Time", "Wait time through it, callees included.",
        "待機時間", "呼び出し先を含む待機時間。";
}

/// A node of a tree of functions.
struct Node {
    function: FunctionId,
    total: Weights,
    own: Weights,
    children: Vec<usize>,
}

/// A tree of functions. Node 0 is the root, above all functions.
struct Tree {
    nodes: Vec<Node>,
    ids: HashMap<(usize, FunctionId), usize>,
}

impl Tree {
    fn new() -> Self {
        let root =
            Node { function: NO_FUNCTION, total: Weights::default(), own: Weights::default(), children: Vec::new() };
        Self { nodes: vec![root], ids: HashMap::new() }
    }

    fn child(&mut self, parent: usize, function: FunctionId) -> usize {
        let nodes = &mut self.nodes;
        *self.ids.entry((parent, function)).or_insert_with(|| {
            let (total, own) = (Weights::default(), Weights::default());
            nodes.push(Node { function, total, own, children: Vec::new() });
            let child = nodes.len() - 1;
            nodes[parent].children.push(child);
            child
        })
    }

    /// Adds a stack's weights along `path`, from the root's child on.
    fn add(&mut self, path: impl Iterator<Item = FunctionId>, weights: &Weights) {
        let mut node = 0;
        for function in path {
            node = self.child(node, function);
            self.nodes[node].total.add(weights);
        }
        self.nodes[node].own.add(weights);
    }

    /// Orders every node's children, the largest first, and cuts them off at the query's limit.
    fn sort(&mut self, fold: &Fold<'_>) -> usize {
        let ranks: Vec<f64> = self.nodes.iter().map(|node| rank(fold, &node.total)).collect();
        let names: Vec<&str> = self.nodes.iter().map(|node| fold.sums.stacks.function_name(node.function)).collect();
        let mut cut = 0;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            node.children.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]).then_with(|| names[a].cmp(names[b])));
            let left_out = fold.query.limit_rows(&mut node.children);
            if index == 0 {
                cut = left_out;
            }
        }
        cut
    }

    /// Nodes and their depths, each before its children.
    fn in_order(&self) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        let mut ahead: Vec<(usize, usize)> = self.nodes[0].children.iter().rev().map(|child| (*child, 0)).collect();
        while let Some((node, depth)) = ahead.pop() {
            order.push((node, depth));
            ahead.extend(self.nodes[node].children.iter().rev().map(|child| (*child, depth + 1)));
        }
        order
    }
}

/// Functions that keep a CPU or a thread busy: running and waiting alike, idle workers left out unless asked for.
fn rank(fold: &Fold<'_>, weights: &Weights) -> f64 {
    match (fold.query.sort, fold.query.include_idle) {
        (Some(metric), _) => magnitude(&value(metric, weights)),
        (None, true) => weights.cpu_ns() as f64 + weights.wait_ns() as f64,
        (None, false) => weights.cpu_ns() as f64 + weights.blocking_ns() as f64,
    }
}

/// The selected weights of every stack, as the query shows it.
fn weights_of_stacks(fold: &Fold<'_>) -> Vec<(StackId, Weights)> {
    let mut weights: HashMap<StackId, Weights> = HashMap::new();
    for (_, site) in fold.selected_sites() {
        weights.entry(fold.sums.stacks.shown(site.key.stack)).or_default().add_site(site, fold.sums.class_mask);
    }
    let mut weights: Vec<_> = weights.into_iter().collect();
    weights.sort_unstable_by_key(|(stack, _)| *stack);
    weights
}

const TREE_METRICS: &[&str] = &["cpu_ns", "wait_ns", "wait_count", "spin_ns", "overhead_ns", "preemption_ns"];

/// Functions with their callers below them; a caller's row has the part that it caused.
pub fn bottom_up(fold: &Fold<'_>) -> View {
    let mut tree = Tree::new();
    for (stack, weights) in weights_of_stacks(fold) {
        tree.add(functions(fold, stack).into_iter(), &weights);
    }
    let cut = tree.sort(fold);
    let metrics = metrics_or(fold, TREE_METRICS);
    let mut columns = columns_of(BOTTOM_UP);
    columns.extend(metrics.iter().map(|metric| column(metric)));
    let rows = tree.in_order().into_iter().map(|(index, depth)| {
        let node = &tree.nodes[index];
        let name = Value::Text(fold.sums.stacks.function_name(node.function).to_owned());
        let cells = metrics.iter().map(|metric| value(metric, &node.total));
        Row { depth, values: std::iter::once(name).chain(cells).collect() }
    });
    finish(fold, columns, rows.collect(), cut)
}

/// The call tree from the threads' entries.
pub fn top_down(fold: &Fold<'_>) -> View {
    let mut tree = Tree::new();
    for (stack, weights) in weights_of_stacks(fold) {
        tree.add(functions(fold, stack).into_iter().rev(), &weights);
    }
    let cut = tree.sort(fold);
    let metrics = metrics_or(fold, &["cpu_ns", "wait_ns"]);
    let mut columns = columns_of(TOP_DOWN);
    columns.extend(metrics.iter().map(|metric| column(metric)));
    columns.extend(columns_of(SELF));
    let rows = tree.in_order().into_iter().map(|(index, depth)| {
        let node = &tree.nodes[index];
        let name = Value::Text(fold.sums.stacks.function_name(node.function).to_owned());
        let cells = metrics.iter().map(|metric| value(metric, &node.total));
        Row { depth, values: std::iter::once(name).chain(cells).chain(self_cells(&node.own)).collect() }
    });
    finish(fold, columns, rows.collect(), cut)
}

fn self_cells(own: &Weights) -> [Value; 2] {
    [Value::Ns(own.cpu_ns()), Value::Ns(own.wait_ns())]
}

/// Self and total of a function, through whom, and into whom.
#[derive(Default)]
struct Totals {
    own: Weights,
    total: Weights,
}

/// Who calls the query's function and what it calls; without one, self and total of every function.
pub fn caller_callee(fold: &Fold<'_>) -> Result<View, QueryError> {
    let stacks: Vec<_> = weights_of_stacks(fold).into_iter().map(|(stack, w)| (functions(fold, stack), w)).collect();
    let Some(subject) = &fold.query.subject else { return Ok(all_functions(fold, &stacks)) };
    let is_subject = |function: FunctionId| glob(subject, fold.sums.stacks.function_name(function));
    let mut focus = Totals::default();
    let mut callers: HashMap<FunctionId, Totals> = HashMap::new();
    let mut callees: HashMap<FunctionId, Totals> = HashMap::new();
    for (functions, weights) in &stacks {
        // Recursion counts once: the call nearest to the leaf has the callee, the one nearest to the root the caller.
        let Some(inner) = functions.iter().position(|function| is_subject(*function)) else { continue };
        let outer = functions.iter().rposition(|function| is_subject(*function)).unwrap_or(inner);
        focus.total.add(weights);
        match inner.checked_sub(1) {
            Some(callee) => callees.entry(functions[callee]).or_default().total.add(weights),
            None => focus.own.add(weights),
        }
        let caller = functions.get(outer + 1).copied();
        if let Some(caller) = caller {
            callers.entry(caller).or_default().total.add(weights);
        }
    }
    if focus.total == Weights::default() {
        let known = stacks.iter().flat_map(|(functions, _)| functions).map(|f| fold.sums.stacks.function_name(*f));
        return Err(QueryError::unknown("function", subject, known));
    }
    let (mut rows, callers_cut) = section(fold, "caller", callers);
    rows.push(function_row("function", subject, &focus));
    let (callee_rows, callees_cut) = section(fold, "callee", callees);
    rows.extend(callee_rows);
    let mut columns = columns_of(ROLE);
    columns.extend(function_columns());
    Ok(finish(fold, columns, rows, callers_cut + callees_cut))
}

fn function_columns() -> Vec<Column> {
    let mut columns = columns_of(FUNCTIONS);
    columns.extend(columns_of(SELF));
    columns
}

/// The rows of one role and how many more the limit left out.
fn section(fold: &Fold<'_>, role: &str, totals: HashMap<FunctionId, Totals>) -> (Vec<Row>, usize) {
    let mut totals: Vec<_> =
        totals.into_iter().map(|(id, totals)| (fold.sums.stacks.function_name(id), totals)).collect();
    totals.sort_by(|a, b| rank(fold, &b.1.total).total_cmp(&rank(fold, &a.1.total)).then(a.0.cmp(b.0)));
    let cut = fold.query.limit_rows(&mut totals);
    (totals.iter().map(|(name, totals)| function_row(role, name, totals)).collect(), cut)
}

fn function_row(role: &str, name: &str, totals: &Totals) -> Row {
    let mut values = vec![
        Value::Text(role.into()),
        Value::Text(name.into()),
        Value::Ns(totals.total.cpu_ns()),
        Value::Ns(totals.total.wait_ns()),
    ];
    values.extend(self_cells(&totals.own));
    Row { depth: 0, values }
}

fn all_functions(fold: &Fold<'_>, stacks: &[(Vec<FunctionId>, Weights)]) -> View {
    let mut totals: HashMap<FunctionId, Totals> = HashMap::new();
    for (functions, weights) in stacks {
        let mut once = functions.clone();
        once.sort_unstable();
        once.dedup();
        for function in once {
            totals.entry(function).or_default().total.add(weights);
        }
        if let Some(leaf) = functions.first() {
            totals.entry(*leaf).or_default().own.add(weights);
        }
    }
    let (mut rows, cut) = section(fold, "", totals);
    rows.iter_mut().for_each(|row| {
        row.values.remove(0);
    });
    finish(fold, function_columns(), rows, cut)
}

fn finish(fold: &Fold<'_>, columns: Vec<Column>, rows: Vec<Row>, cut: usize) -> View {
    let mut notes = notes(fold);
    notes.extend(cut_note(cut));
    View { columns, rows, notes, ..View::default() }
}
