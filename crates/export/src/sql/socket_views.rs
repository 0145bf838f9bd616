//! Views of sockets and of the waits on them.

use dwell_model::{SocketCause, SocketDirection, SocketProtocol};
use dwell_store::tables::{AcceptQueues, OpenRequests, SampledSends, SendQueues, Sockets};
use dwell_store::{ColumnDef, Table};

use super::program_views::thread_columns;
use super::view_def::{ViewColumn, ViewDef, column, words};

/// These views.
pub fn all() -> Vec<ViewDef> {
    vec![sockets(), socket_waits(), open_requests(), accept_queues(), sampled_sends(), send_queues()]
}

/// The columns of the table, with names for ids.
fn sockets() -> ViewDef {
    let mut columns = vec![column("socket_id", "sockets.row_id", "Its row.")];
    columns.extend(Sockets::DEF.columns.iter().map(socket_column));
    let from = "raw.sockets as sockets
  left join raw.objects as objects on objects.row_id = sockets.object
  left join raw.processes as processes on processes.row_id = sockets.process";
    ViewDef::new("sockets", "One row per socket (--analyze sockets).", from, columns)
}

fn socket_column(of: &ColumnDef) -> ViewColumn {
    match of.name {
        "object" => column("object", "objects.name", "Its name as what threads waited on; null when none did."),
        "process" => column("process", "processes.name", "Process that used it first."),
        "peer" => column("peer_socket_id", "sockets.peer", "The other end's row when that is profiled too."),
        "protocol" => column("protocol", words!(SocketProtocol, "sockets.protocol"), "Its protocol."),
        name => column(name, format!("sockets.{name}"), of.doc),
    }
}

fn socket_waits() -> ViewDef {
    let cause = words!(SocketCause, "cause");
    let causes = format!("raw.socket_waits as waits
  left join raw.sockets as sockets on sockets.row_id = waits.socket
  left join raw.objects as objects on objects.row_id = sockets.object
  left join raw.threads as threads on threads.row_id = waits.thread
  left join raw.processes as processes on processes.row_id = threads.process
  left join (select wait, arg_max({cause}, cause_ns) as cause, list({{'cause': {cause}, 'ns': cause_ns}} order by cause_ns desc) as causes
    from raw.socket_wait_causes group by wait) as explained on explained.wait = waits.row_id");
    let mut columns = vec![
        column("start_ns", "waits.start_ns", "When the thread left the CPU."),
        column("wait_ns", "waits.wait_ns", "Time until it was woken."),
    ];
    columns.extend(thread_columns());
    columns.extend([
        column("socket_id", "waits.socket", "Row of the socket."),
        column("object", "objects.name", "Name of the socket as what threads waited on."),
        column("protocol", words!(SocketProtocol, "sockets.protocol"), "Its protocol."),
        column("local", "sockets.local", "Its own address."),
        column("remote", "sockets.remote", "Address of the other end."),
        column("direction", words!(SocketDirection, "waits.direction"), "What the thread waited for."),
        column("cause", "explained.cause", "The cause of most of the wait."),
        column("causes", "explained.causes", "All causes with their time in ns, which add up to wait_ns."),
        column("sends_before", "waits.sends_before", "Sends on the socket since the last receive: what is asked."),
        column("bytes_before", "waits.bytes_before", "Bytes of these."),
        column("bytes_after", "waits.bytes_after", "Bytes of the first call on the socket after the wait."),
        column("thread_id", "waits.thread", "Row of the thread."),
    ]);
    ViewDef::new("socket_waits", "One row per wait on a socket, with its causes (--analyze sockets).", causes, columns)
}

fn open_requests() -> ViewDef {
    let doc = "One row per look at a process's connections of one kind: requests that waited for their answers.";
    of_process("open_requests", doc, OpenRequests::DEF.columns)
}

fn accept_queues() -> ViewDef {
    let doc = "One row per look at a socket that listens at which connections waited to be accepted, and the first look after it.";
    of_process("accept_queues", doc, AcceptQueues::DEF.columns)
}

fn sampled_sends() -> ViewDef {
    let doc = "One row per instant at which a process sent data over TCP, as looks at its connections found it.";
    of_process("sampled_sends", doc, SampledSends::DEF.columns)
}

fn send_queues() -> ViewDef {
    let doc = "One row per look at a process's connections of one kind on which data waited to be sent, and the first look after it.";
    of_process("send_queues", doc, SendQueues::DEF.columns)
}

/// The columns of a table of a process, with its name.
fn of_process(table: &'static str, doc: &'static str, columns: &[ColumnDef]) -> ViewDef {
    let from =
        format!("raw.{table} as looks\n  left join raw.processes as processes on processes.row_id = looks.process");
    let named = |of: &ColumnDef| match of.name {
        "process" => column("process", "processes.name", of.doc),
        name => column(name, format!("looks.{name}"), of.doc),
    };
    ViewDef::new(table, doc, from, columns.iter().map(named).collect())
}
