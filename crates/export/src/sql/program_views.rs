//! Views of what the program is made of: processes, threads, stacks, objects, and what is missing of them.

use dwell_model::ObjectType;

use super::own_frames;
use super::view_def::{ViewColumn, ViewDef, column, words};

/// These views.
pub fn all() -> Vec<ViewDef> {
    vec![own_frames::stacks(), processes(), threads(), objects(), losses(), notices()]
}

/// Which thread a row is of, where the thread's row is joined as `threads` and its process as `processes`.
pub fn thread_columns() -> Vec<ViewColumn> {
    vec![
        column("thread", "threads.name", "Name of the thread."),
        column("tid", "threads.tid", "Its number; numbers are used again, see thread_id."),
        column("process", "processes.name", "Name of its process."),
        column("pid", "processes.pid", "Number of the process."),
    ]
}

/// The joins that [`thread_columns`] need; `thread` is a thread's row.
pub fn thread_joins(thread: &str) -> String {
    format!(
        "left join raw.threads as threads on threads.row_id = {thread}
  left join raw.processes as processes on processes.row_id = threads.process"
    )
}

fn processes() -> ViewDef {
    let columns = vec![
        column("process_id", "processes.row_id", "Its row."),
        column("pid", "processes.pid", "Its number."),
        column("process", "processes.name", "Base name of the program that it ran last."),
        column("executable", "processes.executable", "Path of that program."),
        column("command_line", "processes.command_line", "Its arguments, separated by blanks."),
        column("parent", "parents.name", "Name of the process that forked it."),
        column("parent_pid", "parents.pid", "Its number."),
        column("start_ns", "processes.start_ns", "First seen."),
        column("end_ns", "processes.end_ns", "Last seen."),
        column(
            "exit_code",
            "processes.exit_code",
            "As wait(2) reports it; -1 while it still ran, or where it is not known.",
        ),
        column("cgroup", "nullif(processes.cgroup, '')", "Its control group."),
        column("unit", "nullif(processes.unit, '')", "The unit of systemd that has the group."),
        column("container", "nullif(processes.container, '')", "The container that it is in."),
        column("pod", "nullif(processes.pod, '')", "The Kubernetes pod of the container."),
    ];
    let from = "raw.processes as processes left join raw.processes as parents on parents.row_id = processes.parent";
    ViewDef::new("processes", "One row per process.", from, columns)
}

fn threads() -> ViewDef {
    let mut columns = vec![column("thread_id", "threads.row_id", "Its row.")];
    columns.extend(thread_columns());
    columns.extend([
        column("parent", "parents.name", "Name of the thread that created it."),
        column("parent_tid", "parents.tid", "Its number."),
        column("start_ns", "threads.start_ns", "Its creation, or the start of the collection."),
        column("end_ns", "threads.end_ns", "When it left the CPU for the last time, or the end of the collection."),
        column("running_ns", "coalesce(run.ns, 0)", "Time on a CPU."),
        column("runnable_ns", "coalesce(off.runnable_ns, 0)", "Time in the run queue."),
        column("waiting_ns", "coalesce(off.wait_ns, 0)", "Time blocked."),
        column("intervals", "coalesce(off.intervals, 0)", "Intervals off the CPU."),
        column("exited", "threads.exited", "Whether it ended during the collection."),
        column(
            "ignored",
            "threads.ignored",
            "Whether the program asked that it be left out of analyses; it is in sums.",
        ),
        column("cgroup", "nullif(processes.cgroup, '')", "Control group of its process."),
        column("unit", "nullif(processes.unit, '')", "Unit of systemd of its process."),
        column("container", "nullif(processes.container, '')", "Container of its process."),
        column("pod", "nullif(processes.pod, '')", "Kubernetes pod of its process."),
    ]);
    let from = "raw.threads as threads
  left join raw.processes as processes on processes.row_id = threads.process
  left join raw.threads as parents on parents.row_id = threads.parent
  left join (select thread, sum(weight_ns)::bigint as ns from raw.samples group by thread) as run on run.thread = threads.row_id
  left join (select thread, sum(wait_ns)::bigint as wait_ns, sum(runnable_ns)::bigint as runnable_ns, count(*) as intervals
    from raw.off_cpu group by thread) as off on off.thread = threads.row_id";
    ViewDef::new("threads", "One row per life of a thread.", from, columns)
}

fn objects() -> ViewDef {
    let columns = vec![
        column("object_id", "objects.row_id", "Its row."),
        column("object", "objects.name", "Its name, the same from run to run."),
        column("object_type", words!(ObjectType, "objects.kind"), "Its type."),
        column("detail", "nullif(objects.detail, '')", "What else is known of it."),
        column("process", "processes.name", "Process whose memory it lies in; null for the kernel's."),
        column("pid", "processes.pid", "Its number."),
        column("address", "objects.address", "Its address, 0 when it has none."),
        column("first_function", "first.function", "The program's own function where it was first waited on."),
        column("first_place", "first.place", "Its place, file:line."),
        column(
            "created_function",
            "created.function",
            "The program's own function where it was initialised last before that.",
        ),
        column("created_place", "created.place", "Its place, file:line."),
    ];
    let from = "raw.objects as objects
  left join raw.processes as processes on processes.row_id = objects.process
  left join stacks as first on first.stack_id = objects.first_stack
  left join stacks as created on created.stack_id = objects.created_stack";
    ViewDef::new("objects", "One row per object that threads waited on.", from, columns)
}

fn losses() -> ViewDef {
    let columns = vec![
        column("loss", "losses.name", "Name of the counter."),
        column("count", "losses.count", "How many."),
        column("meaning", "losses.doc", "What is missing because of it."),
        column("start_ns", "losses.start_ns", "When the first was lost, at the earliest."),
        column("end_ns", "losses.end_ns", "When the last was lost, at the latest; 0 where that is not known."),
    ];
    ViewDef::new("losses", "One row per kind of what could not be seen.", "raw.losses as losses", columns)
}

fn notices() -> ViewDef {
    let columns = vec![
        column("notice", "nullif(notices.id, '')", "Which remark it is."),
        column("text", "notices.text", "The remark in English."),
    ];
    ViewDef::new("notices", "One row per remark that a reader should know.", "raw.notices as notices", columns)
}
