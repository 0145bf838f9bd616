//! All rows of two results in one: times on the first one's clock, ids renumbered, hosts in the processes' names.

use std::collections::BTreeMap;

use dwell_model::{SocketWaitId, TaskId};
use dwell_store::tables::LossRow;
use dwell_store::{CodeTables, Manifest, Relocation, Table, Trace};

use crate::connection::{Connection, Joined};

/// Applies a step to each table of a trace and the one of the same name of another.
macro_rules! tables {
    ($step:ident!($($own:ident),*)) => {
        $step!($($own,)*
            processes, threads, off_cpu, samples, stacks, frames, modules, objects, pauses, notices,
            annotations.task_types, annotations.tasks, annotations.task_metadata, annotations.markers,
            annotations.marker_values, annotations.counters, annotations.counter_values, annotations.sync_waits,
            sockets.sockets, sockets.sizes, sockets.waits, sockets.causes, sockets.holds, sockets.events,
            delays.delays, delays.sources, event_counts, open_requests, accept_queues, sampled_sends, send_queues, vain_tries, connects, fibers.fibers, fibers.off_cpu, fibers.samples)
    };
}

macro_rules! append {
    ($first:ident, $second:ident, $($($table:ident).+),*) => {$(
        $first.$($table).+.append(std::mem::take(&mut $second.$($table).+));
    )*};
}

macro_rules! relocate {
    ($trace:ident, $to:ident, $($($table:ident).+),*) => {$( $trace.$($table).+.relocate($to); )*};
}

/// Two results in one.
pub struct Both {
    /// All rows of both.
    pub trace: Trace,
    /// The code of both.
    pub code: CodeTables,
    /// The connections between them.
    pub connections: Vec<Joined>,
}

/// Joins two results that have these `connections` in common. `offset_ns` is added to the second one's times to get the first
/// one's, both counted from the start of their collections.
pub fn join(
    mut first: (Trace, CodeTables),
    mut second: (Trace, CodeTables),
    offset_ns: i64,
    connections: &[Connection],
) -> Both {
    for (trace, _) in [&mut first, &mut second] {
        name_host(trace);
    }
    let (earlier, later) = (offset_ns.min(0).unsigned_abs(), offset_ns.max(0).unsigned_abs());
    let manifest = manifest(&first.0.manifest, &second.0.manifest, earlier, later);
    move_all(&mut first.0, &Relocation { time_ns: earlier, ..Relocation::default() });
    let to = behind(&first, later);
    move_all(&mut second.0, &to);
    let (mut trace, mut code) = first;
    let (mut other, other_code) = second;
    tables!(append!(trace, other));
    append_code(&mut code, other_code, &to);
    trace.losses = losses(&trace, &other);
    trace.manifest = manifest;
    sort(&mut trace);
    trace.tables_changed();
    Both { trace, code, connections: connections.iter().map(|connection| connection.joined(to.sockets)).collect() }
}

fn move_all(trace: &mut Trace, to: &Relocation) {
    tables!(relocate!(trace, to));
}

/// Where the second one's rows come to lie.
fn behind((trace, code): &(Trace, CodeTables), time_ns: u64) -> Relocation {
    Relocation {
        time_ns,
        first_cpu: u16::try_from(trace.manifest.cpus.online).unwrap_or(0),
        processes: trace.processes.len(),
        threads: trace.threads.len(),
        modules: trace.modules.len(),
        frames: trace.frames.len(),
        stacks: trace.stacks.len(),
        objects: trace.objects.len(),
        code: code.code.len(),
        inlines: code.inlines.len(),
        sources: code.sources.len(),
        task_types: trace.annotations.task_types.len(),
        tasks: trace.annotations.tasks.len(),
        counters: trace.annotations.counters.len(),
        sockets: trace.sockets.sockets.len(),
        socket_waits: trace.sockets.waits.len(),
        delay_sources: trace.delays.sources.len(),
        fibers: trace.fibers.fibers.len(),
    }
}

fn append_code(code: &mut CodeTables, mut other: CodeTables, to: &Relocation) {
    other.code.relocate(to);
    other.inlines.relocate(to);
    other.lines.relocate(to);
    other.sources.relocate(to);
    code.code.append(other.code);
    code.inlines.append(other.inlines);
    code.lines.append(other.lines);
    code.sources.append(other.sources);
}

/// Processes, the machine's counters and remarks say which host they are of.
fn name_host(trace: &mut Trace) {
    let host = trace.manifest.host.clone();
    trace.processes.name.iter_mut().for_each(|name| *name = format!("{name} @{host}"));
    let counters = &mut trace.annotations.counters;
    let of_machine = counters.domain.iter_mut().zip(&counters.process).filter(|(_, process)| !process.is_some());
    of_machine.for_each(|(domain, _)| *domain = format!("{domain} @{host}"));
    trace.notices.text.iter_mut().for_each(|text| *text = format!("{host}: {text}"));
    // With the host before it, the text is no remark of the table any more.
    let notices = &mut trace.notices;
    notices.id.iter_mut().chain(&mut notices.values).for_each(String::clear);
}

fn manifest(first: &Manifest, second: &Manifest, earlier: u64, later: u64) -> Manifest {
    let elapsed = |manifest: &Manifest| manifest.end_ns.saturating_sub(manifest.start_ns);
    let mut both = first.clone();
    both.host = format!("{} and {}", first.host, second.host);
    both.boot_id = String::new();
    both.started_at -= earlier as f64 / 1e9;
    (both.start_ns, both.end_ns) = (0, (earlier + elapsed(first)).max(later + elapsed(second)));
    both.cpus.online += second.cpus.online;
    both.cpus.usable += second.cpus.usable;
    both.events += second.events;
    both.collector_cpu_ns += second.collector_cpu_ns;
    both.target_pids.extend(&second.target_pids);
    both.topics.extend(second.topics.iter().filter(|topic| !first.topics.contains(topic)).cloned());
    (both.losses, both.loss_times, both.notices) = (Vec::new(), Vec::new(), Vec::new());
    both
}

/// What either lost.
fn losses(first: &Trace, second: &Trace) -> dwell_store::tables::Losses {
    let mut sums: BTreeMap<String, LossRow> = BTreeMap::new();
    for losses in [&first.losses, &second.losses] {
        for row in (0..losses.len()).filter_map(|row| losses.row(row)) {
            match sums.get_mut(&row.name) {
                Some(sum) => add(sum, &row),
                None => drop(sums.insert(row.name.clone(), row)),
            }
        }
    }
    let mut losses = dwell_store::tables::Losses::default();
    for row in sums.into_values() {
        losses.push(row);
    }
    losses
}

/// Adds what the other host lost. Of a sum only a part of which has a time the time is not known.
fn add(sum: &mut LossRow, row: &LossRow) {
    sum.count += row.count;
    (sum.start_ns, sum.end_ns) = match (sum.end_ns, row.end_ns) {
        (0, _) | (_, 0) => (0, 0),
        (first, second) => (sum.start_ns.min(row.start_ns), first.max(second)),
    };
}

/// Puts the rows into the order that readers rely on.
fn sort(trace: &mut Trace) {
    let by_time = |times: &[u64]| {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&row| times[row]);
        order
    };
    macro_rules! sort {
        ($($($table:ident).+ by $time:ident),*) => {$(
            trace.$($table).+ = std::mem::take(&mut trace.$($table).+).in_order_of(|table| &table.$time);
        )*};
    }
    sort!(off_cpu by start_ns, samples by time_ns, pauses by start_ns, annotations.markers by time_ns,
        annotations.marker_values by time_ns, open_requests by time_ns, accept_queues by time_ns, sampled_sends by time_ns, send_queues by time_ns,
        vain_tries by time_ns, connects by time_ns,
        annotations.task_metadata by time_ns, annotations.counter_values by time_ns, annotations.sync_waits by start_ns,
        sockets.holds by start_ns, sockets.events by time_ns, delays.delays by start_ns,
        fibers.off_cpu by start_ns, fibers.samples by time_ns);
    let order = by_time(&trace.annotations.tasks.start_ns);
    let places = places(&order);
    let annotations = &mut trace.annotations;
    annotations.tasks = annotations.tasks.permuted(&order);
    for task in annotations.tasks.parent.iter_mut().chain(&mut annotations.task_metadata.task) {
        *task = task.get().map_or(TaskId::NONE, |row| TaskId::new(places[row]));
    }
    let order = by_time(&trace.sockets.waits.start_ns);
    let places = self::places(&order);
    let sockets = &mut trace.sockets;
    sockets.waits = sockets.waits.permuted(&order);
    for wait in &mut sockets.causes.wait {
        *wait = wait.get().map_or(SocketWaitId::NONE, |row| SocketWaitId::new(places[row]));
    }
    let mut order: Vec<usize> = (0..sockets.causes.len()).collect();
    order.sort_by_key(|&row| sockets.causes.wait[row]);
    sockets.causes = sockets.causes.permuted(&order);
}

/// Where each row went.
fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    for (place, &row) in order.iter().enumerate() {
        places[row] = place;
    }
    places
}
