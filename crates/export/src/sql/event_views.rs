//! Views of what threads did over time: intervals off the CPU, samples, delays, and what the program announced.

use dwell_model::{
    CounterKind, Delay, MarkerScope, MarkerValueKind, ObjectType, Outcome, Reason, TaskKind, VainTry, WakerKind,
};

use super::program_views::{thread_columns, thread_joins};
use super::view_def::{ViewColumn, ViewDef, column, quoted, words};

/// These views.
pub fn all() -> Vec<ViewDef> {
    vec![
        switches(),
        waits(),
        samples(),
        delays(),
        tasks(),
        markers(),
        marker_values(),
        counters(),
        vain_tries(),
        connects(),
    ]
}

/// Which stack an event has, where `stacks` is joined.
fn stack_columns() -> Vec<ViewColumn> {
    vec![
        column(
            "function",
            "stacks.function",
            "The innermost function of the program's own: neither the system's nor a standard library's.",
        ),
        column("place", "stacks.place", "Its place, file:line."),
        column("stack", "stacks.functions", "The functions of the whole stack, the innermost first."),
    ]
}

fn switches() -> ViewDef {
    let mut columns = vec![
        column("start_ns", "off.start_ns", "When the thread left the CPU."),
        column("wait_ns", "off.wait_ns", "Time until it was woken."),
        column("runnable_ns", "off.runnable_ns", "Time in the run queue after that, until it ran."),
        column("reason", words!(Reason, "off.reason"), "Why it left the CPU: waiting, preempted, yielded, starting."),
    ];
    columns.extend(thread_columns());
    columns.extend([
        column("object", waited_on(), "What it waited on."),
        column("object_type", object_type(), "Type of the object."),
        column("outcome", words!(Outcome, "off.outcome"), "How the wait ended."),
        column("waker", "wakers.name", "Thread that woke it; null when no profiled one did."),
        column("waker_tid", "wakers.tid", "Its number."),
        column("waker_process", "waker_processes.name", "Its process."),
        column("waker_kind", words!(WakerKind, "off.waker_kind"), "Who woke it."),
        column("waker_function", "waker_stacks.function", "The own function that the waker was in."),
        column("holder", "holders.name", "Thread that held the lock when the wait began, where that is known."),
        column("holder_tid", "holders.tid", "Its number."),
        column(
            "syscall",
            "case when off.syscall >= 0 then coalesce(calls.name, 'system call ' || off.syscall) end",
            "System call that it was in.",
        ),
    ]);
    columns.extend(stack_columns());
    columns.extend([
        column("cpu", "nullif(off.cpu, 65535)", "CPU that it then ran on; null when it did not run again."),
        column(
            "same_call",
            "off.same_call",
            "Whether it began as the thread's wait for a lock before it did, with the same lock, call, registers and words on the stack: it \
             goes on in the same call, if the thread ran hardly and woke nobody in between.",
        ),
        column("thread_id", "off.thread", "Row of the thread."),
        column("object_id", "off.object", "Row of the object."),
        column("stack_id", "off.stack", "Row of the stack."),
        column("waker_thread_id", "off.waker", "Row of the waker."),
        column("holder_thread_id", "off.holder", "Row of the holder."),
    ]);
    let joins = thread_joins("off.thread");
    let from = format!(
        "raw.off_cpu as off
  {joins}
  left join raw.objects as objects on objects.row_id = off.object
  left join raw.threads as wakers on wakers.row_id = off.waker
  left join raw.processes as waker_processes on waker_processes.row_id = wakers.process
  left join raw.threads as holders on holders.row_id = off.holder
  left join raw.system_calls as calls on calls.number = off.syscall
  left join stacks on stacks.stack_id = off.stack
  left join stacks as waker_stacks on waker_stacks.stack_id = off.waker_stack"
    );
    ViewDef::new("switches", "One row per interval off the CPU: waits, preemption, yielding, starting.", from, columns)
}

/// The name of an interval's object, as the reports have it; none for an interval that is no wait.
fn waited_on() -> String {
    format!("case when off.reason = {} then coalesce(objects.name, '[no object]') end", Reason::Waiting.code())
}

/// The word of an interval's object, none for an interval that is no wait.
fn object_type() -> String {
    let kind = words!(ObjectType, "coalesce(objects.kind, 0)");
    format!("case when off.reason = {} then {kind} end", Reason::Waiting.code())
}

/// The columns of `switches`, but for the reason, which is one.
fn waits() -> ViewDef {
    let all = switches().columns.into_iter().filter(|of| of.name != "reason");
    let columns = all.map(|of| column(of.name, of.name, of.doc)).collect();
    ViewDef::new(
        "waits",
        "One row per wait.",
        format!("switches where reason = {}", quoted(Reason::Waiting.id())),
        columns,
    )
}

fn samples() -> ViewDef {
    let mut columns = vec![
        column("time_ns", "samples.time_ns", "When."),
        column(
            "cpu_ns",
            "samples.weight_ns",
            "Running time that it stands for; the sum of a thread is its running time.",
        ),
    ];
    columns.extend(thread_columns());
    columns.extend(stack_columns());
    columns.extend([
        column("leaf", "stacks.functions[1]", "The innermost function of all."),
        column("cpu", "samples.cpu", "CPU that it ran on."),
        column(
            "estimated",
            "samples.estimated",
            "Whether it is no clock sample: it stands for running time where the thread last left the CPU.",
        ),
        column("thread_id", "samples.thread", "Row of the thread."),
        column("stack_id", "samples.stack", "Row of the stack."),
    ]);
    let joins = thread_joins("samples.thread");
    let from = format!(
        "raw.samples as samples
  {joins}
  left join stacks on stacks.stack_id = samples.stack"
    );
    ViewDef::new("samples", "One row per sample of a running thread.", from, columns)
}

fn delays() -> ViewDef {
    let mut columns = vec![
        column("start_ns", "delays.start_ns", "When it began."),
        column("end_ns", "delays.end_ns", "When it ended."),
        column("delay_ns", "delays.delay_ns", "How long it took."),
        column("delay", words!(Delay, "delays.kind"), "What delayed the thread."),
        column("source", "sources.name", "Who or what did it."),
    ];
    columns.extend(thread_columns());
    columns.push(column("cpu", "delays.cpu", "CPU that it ended on."));
    let joins = thread_joins("delays.thread");
    let from = format!(
        "raw.delays as delays
  {joins}
  left join raw.delay_sources as sources on sources.row_id = delays.source"
    );
    ViewDef::new(
        "delays",
        "One row per delay of a thread that ran or could run (dwell collect latency).",
        from,
        columns,
    )
}

fn tasks() -> ViewDef {
    let mut columns = vec![
        column("task_id", "tasks.row_id", "Its row."),
        column("task", "types.name", "Its name."),
        column("domain", "nullif(types.domain, '')", "Domain that it is in."),
        column(
            "kind",
            words!(TaskKind, "types.kind"),
            "Whether it is a task, a frame, a region, an event or a request.",
        ),
        column("start_ns", "tasks.start_ns", "When it began; 0 for one that was open when the collection began."),
        column("end_ns", "tasks.end_ns", "When it ended, or the end of its thread or of the collection."),
        column("duration_ns", "tasks.end_ns - tasks.start_ns", "How long it took."),
        column("finished", "tasks.finished", "Whether its end was seen."),
        column("parent_task_id", "tasks.parent", "Row of the task that it is nested in."),
    ];
    columns.extend(thread_columns());
    columns.push(column("thread_id", "tasks.thread", "Row of the thread."));
    let joins = thread_joins("tasks.thread");
    let from = format!(
        "raw.tasks as tasks
  left join raw.task_types as types on types.row_id = tasks.task_type
  {joins}"
    );
    ViewDef::new("tasks", "One row per task, region, frame, event or request.", from, columns)
}

fn markers() -> ViewDef {
    let mut columns = vec![
        column("time_ns", "markers.time_ns", "When."),
        column("marker", "types.name", "Its name."),
        column("domain", "nullif(types.domain, '')", "Domain that it is in."),
        column("scope", words!(MarkerScope, "markers.scope"), "Whom it concerns."),
    ];
    columns.extend(thread_columns());
    let joins = thread_joins("markers.thread");
    let from = format!(
        "raw.markers as markers
  left join raw.task_types as types on types.row_id = markers.task_type
  {joins}"
    );
    ViewDef::new("markers", "One row per instant that the program marked.", from, columns)
}

fn marker_values() -> ViewDef {
    let mut columns = vec![
        column("time_ns", "marker_values.time_ns", "When."),
        column("marker", "types.name", "Name of the marker."),
        column("value", "marker_values.key", "What the value is called."),
        column("kind", words!(MarkerValueKind, "marker_values.kind"), "What it is; what is faulted could not be read."),
        column(
            "number",
            "case marker_values.kind when 1 then marker_values.bits::hugeint when 3 then marker_values.bits::hugeint when 2 then \
             case when marker_values.bits >= 9223372036854775808 then marker_values.bits::hugeint - 18446744073709551616 \
             else marker_values.bits::hugeint end end",
            "A number; null for others.",
        ),
        column("text", "case marker_values.kind when 4 then marker_values.text end", "A text; null for others."),
    ];
    columns.extend(thread_columns());
    let joins = thread_joins("marker_values.thread");
    let from = format!(
        "raw.marker_values as marker_values
  left join raw.task_types as types on types.row_id = marker_values.task_type
  {joins}"
    );
    ViewDef::new("marker_values", "One row per value that a probe read at a hit.", from, columns)
}

fn counters() -> ViewDef {
    let mut columns = vec![
        column("time_ns", "given.time_ns", "When."),
        column("counter", "counters.name", "Name of the counter."),
        column("domain", "nullif(counters.domain, '')", "Domain that it is in."),
        column("value", "given.value", "The value from then on."),
        column("unit", "nullif(counters.unit, '')", "Unit of the values."),
        column("kind", words!(CounterKind, "counters.kind"), "Whether the values are set or added up."),
        column("owner", "owners.name", "Process that the counter belongs to; null for the machine's."),
    ];
    columns.extend(thread_columns());
    let joins = thread_joins("given.thread");
    let from = format!(
        "raw.counter_values as given
  left join raw.counters as counters on counters.row_id = given.counter
  left join raw.processes as owners on owners.row_id = counters.process
  {joins}"
    );
    ViewDef::new("counters", "One row per value that a counter took.", from, columns)
}

fn vain_tries() -> ViewDef {
    let mut columns = vec![column("time_ns", "tries.time_ns", "When it failed.")];
    columns.extend(thread_columns());
    columns.extend([
        column("kind", words!(VainTry, "tries.kind"), "What it tried: file-lock, connection."),
        column("object", "tries.object", "The file's path, or the address."),
        column("holder", "tries.holder", "Command line of the process that had the lock then, cut."),
        column("thread_id", "tries.thread", "Row of the thread."),
    ]);
    let from = format!("raw.vain_tries as tries\n  {}", thread_joins("tries.thread"));
    let doc = "One row per try that failed at once: to lock a file that another one has locked, or to connect.";
    ViewDef::new("vain_tries", doc, from, columns)
}

fn connects() -> ViewDef {
    let mut columns = vec![column("time_ns", "opened.time_ns", "When the latest of them was asked for.")];
    columns.extend(thread_columns());
    columns.extend([
        column("endpoint", "opened.endpoint", "The address: TCP 127.0.0.1:5432."),
        column("connects", "opened.connects", "Connections that were asked for."),
        column("brief", "opened.brief", "Connections that ended after 8 segments with data at most: a request or two."),
        column("connect_ns", "opened.connect_ns", "Of these: from asking until they were there, in sum."),
        column("life_ns", "opened.life_ns", "Of these: from asking until an end began to close them, in sum."),
    ]);
    columns.extend(stack_columns());
    columns.extend([
        column("thread_id", "opened.thread", "Row of the thread."),
        column("stack_id", "opened.stack", "Row of the stack that asked for one of the latest."),
    ]);
    let joins = thread_joins("opened.thread");
    let from = format!("raw.connects as opened\n  {joins}\n  left join stacks on stacks.stack_id = opened.stack");
    let doc = "Connections of TCP that a process opened to one address, a row for all of about half a second.";
    ViewDef::new("connects", doc, from, columns)
}
