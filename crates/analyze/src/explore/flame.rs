//! The flame graph: the call tree as columns, one entry per node, parents before their children.

use std::collections::HashMap;

use dwell_model::ThreadId;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::functions::functions;
use dwell_query::engine::grouping::thread_label;
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::question::words::words;
use dwell_query::stacks::call_stacks::FunctionId;
use dwell_store::WordMap;
use dwell_view::answer;

words! { "weight";
    /// What the width of a node is.
    FlameWeight {
        Cpu = "cpu", "CPU Time", "Time on a CPU.";
        Wait = "wait", "Wait Time", "Time blocked.";
        Both = "both", "CPU and Wait Time", "Both together.";
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct FlameQuery {
    /// The width.
    pub weight: FlameWeight,
    /// From the leaves to their callers, instead of from the threads' entries.
    pub inverted: bool,
    /// A tree for each thread.
    pub by_thread: bool,
    /// Nodes with a smaller share of the whole are left out.
    pub min_share: f64,
}

answer! {
    /// The graph. Waits of idle workers are left out unless the query includes them: they would be wider than all else.
    #[derive(Clone, Debug, Default)]
    pub struct Flame {
        /// The whole.
        pub total_ns: u64,
        /// Each node's parent, -1 for roots; below the node's own number.
        pub parent: Vec<i64>,
        /// Row of `names`.
        pub name: Vec<u32>,
        /// Time in the node itself.
        pub self_ns: Vec<u64>,
        /// With all above it.
        pub total: Vec<u64>,
        /// Waiting part of `total`.
        pub wait_share: Vec<f64>,
        /// Functions, or threads.
        pub names: Vec<String>,
        /// Files.
        pub modules: Vec<String>,
        /// Row of `modules` of each node; -1 for none.
        pub module: Vec<i64>,
        /// Time whose nodes were too small to be shown.
        pub pruned_ns: u64,
        /// Wait time of idle workers that was left out.
        pub idle_ns: u64,
    }
}

/// What tells the children of one node apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Thread(ThreadId),
    Function(FunctionId),
}

struct Node {
    name: Name,
    own: u64,
    total: u64,
    wait: u64,
    children: Vec<usize>,
}

/// The graph of what the fold's query selects.
pub fn flame(fold: &Fold<'_>, query: &FlameQuery) -> Flame {
    let (nodes, idle_ns) = tree(fold, query);
    let least = (nodes[0].total as f64 * query.min_share.clamp(0.0, 1.0)) as u64;
    let mut graph = Flame { total_ns: nodes[0].total, idle_ns, ..Flame::default() };
    let mut interned = Interned::default();
    // Node and its parent's number in the graph.
    let mut ahead: Vec<(usize, i64)> = Vec::new();
    descend(&nodes, (0, -1, least), &mut ahead, &mut graph.pruned_ns);
    while let Some((index, parent)) = ahead.pop() {
        let node = &nodes[index];
        let number = graph.parent.len() as i64;
        graph.parent.push(parent);
        graph.self_ns.push(node.own);
        graph.total.push(node.total);
        graph.wait_share.push(if node.total == 0 { 0.0 } else { node.wait as f64 / node.total as f64 });
        let (name, module) = interned.rows(fold, node.name, &mut graph);
        graph.name.push(name);
        graph.module.push(module);
        descend(&nodes, (index, number, least), &mut ahead, &mut graph.pruned_ns);
    }
    graph
}

/// Puts the children of a node that are large enough on the stack, the largest on top.
fn descend(
    nodes: &[Node],
    (index, number, least): (usize, i64, u64),
    ahead: &mut Vec<(usize, i64)>,
    pruned_ns: &mut u64,
) {
    let mut children = nodes[index].children.clone();
    children.sort_by_key(|child| (nodes[*child].total, std::cmp::Reverse(*child)));
    for child in children {
        if nodes[child].total < least.max(1) {
            *pruned_ns = pruned_ns.saturating_add(nodes[child].total);
        } else {
            ahead.push((child, number));
        }
    }
}

/// The whole tree, its root at 0, and the idle time left out.
fn tree(fold: &Fold<'_>, query: &FlameQuery) -> (Vec<Node>, u64) {
    let node = |name| Node { name, own: 0, total: 0, wait: 0, children: Vec::new() };
    let mut nodes = vec![node(Name::Thread(ThreadId::NONE))];
    let mut ids: WordMap<(usize, Name), usize> = WordMap::default();
    let mut idle_ns = 0u64;
    for (_, site, weights) in fold.selected() {
        let (cpu, wait, idle) = times(fold, query.weight, &weights);
        idle_ns = idle_ns.saturating_add(idle);
        let ns = cpu.saturating_add(wait);
        if ns == 0 {
            continue;
        }
        let mut at = 0;
        nodes[0].total = nodes[0].total.saturating_add(ns);
        for name in names(fold, query, site) {
            at = *ids.entry((at, name)).or_insert_with(|| {
                nodes.push(node(name));
                let child = nodes.len() - 1;
                nodes[at].children.push(child);
                child
            });
            nodes[at].total = nodes[at].total.saturating_add(ns);
            nodes[at].wait = nodes[at].wait.saturating_add(wait);
        }
        nodes[at].own = nodes[at].own.saturating_add(ns);
    }
    (nodes, idle_ns)
}

fn times(fold: &Fold<'_>, weight: FlameWeight, weights: &Weights) -> (u64, u64, u64) {
    let cpu = if weight == FlameWeight::Wait { 0 } else { weights.cpu_ns() };
    if weight == FlameWeight::Cpu {
        return (cpu, 0, 0);
    }
    match fold.query.include_idle {
        true => (cpu, weights.wait_ns(), 0),
        false => (cpu, weights.blocking_ns(), weights.wait_ns().saturating_sub(weights.blocking_ns())),
    }
}

fn names(fold: &Fold<'_>, query: &FlameQuery, site: &Site) -> Vec<Name> {
    let mut functions = functions(fold, site.key.stack);
    if !query.inverted {
        functions.reverse();
    }
    let thread = query.by_thread.then_some(Name::Thread(site.key.thread));
    thread.into_iter().chain(functions.into_iter().map(Name::Function)).collect()
}

/// Names and modules as rows of the graph's lists.
#[derive(Default)]
struct Interned {
    names: HashMap<Name, (u32, i64)>,
    modules: HashMap<String, i64>,
}

impl Interned {
    fn rows(&mut self, fold: &Fold<'_>, name: Name, graph: &mut Flame) -> (u32, i64) {
        if let Some(rows) = self.names.get(&name) {
            return *rows;
        }
        let (text, module) = match name {
            Name::Thread(thread) => (thread_label(fold, thread), None),
            Name::Function(id) => (fold.sums.stacks.function_name(id).to_owned(), fold.sums.stacks.module_path(id)),
        };
        let module = module.map_or(-1, |path| {
            *self.modules.entry(path.to_owned()).or_insert_with(|| {
                graph.modules.push(path.to_owned());
                graph.modules.len() as i64 - 1
            })
        });
        graph.names.push(text);
        let rows = (graph.names.len() as u32 - 1, module);
        self.names.insert(name, rows);
        rows
    }
}
