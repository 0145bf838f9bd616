//! Connections that wait to be accepted, as the sockets that listen were looked at.

use dwell_model::ProcessId;
use dwell_store::raw::unix_socket_name;
use dwell_store::raw::wire::AcceptQueueRecord;
use dwell_store::tables::{AcceptQueueRow, AcceptQueues};

use crate::replay::state::Replay;

/// The rows, ordered by time. Those of unknown processes are left out.
pub fn resolve(records: &[AcceptQueueRecord], replay: &Replay) -> AcceptQueues {
    let mut rows: Vec<AcceptQueueRow> = records.iter().filter_map(|record| row(record, replay)).collect();
    rows.sort_by_key(|row| row.time_ns);
    let mut table = AcceptQueues::default();
    for row in rows {
        table.push(row);
    }
    table
}

fn row(record: &AcceptQueueRecord, replay: &Replay) -> Option<AcceptQueueRow> {
    let time_ns = replay.relative(record.h.time_ns);
    let process_of = |tgid: u32| -> Option<ProcessId> {
        let thread = replay.thread_table.find_at(tgid, time_ns)?;
        Some(replay.thread_table.life(thread)?.process)
    };
    let name = record.name.get(..record.name_bytes.into()).unwrap_or(&record.name);
    let endpoint = match record.port {
        0 => format!("Unix {}", unix_socket_name(name)),
        port => format!("TCP :{port}"),
    };
    let is_known = record.waiting > 0 && record.oldest_ns > 0;
    Some(AcceptQueueRow {
        time_ns,
        process: process_of(record.h.tid)?,
        owner: process_of(record.owner)?,
        endpoint,
        waiting: record.waiting,
        limit: record.limit,
        oldest_ns: if is_known { record.h.time_ns.saturating_sub(record.oldest_ns) } else { 0 },
    })
}
