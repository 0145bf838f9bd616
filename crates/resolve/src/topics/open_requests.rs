//! Requests that wait for their answers, as they were looked at: a row for each look at a process's connections of one kind.

use dwell_store::raw::wire::OpenRequestsRecord;
use dwell_store::tables::{OpenRequestRow, OpenRequests};

use crate::objects::socket_address;
use crate::replay::state::Replay;

/// The rows, ordered by time. Those of unknown processes are left out.
pub fn resolve(records: &[OpenRequestsRecord], replay: &Replay) -> OpenRequests {
    let row = |record: &OpenRequestsRecord| {
        let time_ns = replay.relative(record.h.time_ns);
        let process = replay.lives.life(replay.lives.find_at(record.h.tid, time_ns)?)?.process;
        let is_incoming = record.is_incoming != 0;
        let endpoint = match is_incoming {
            true => format!("TCP :{}", record.port),
            false => format!("TCP {}", socket_address(record.family, &record.remote_address, record.port)),
        };
        let (connections, open) = (record.connections, record.open.min(record.connections));
        Some(OpenRequestRow { time_ns, process, is_incoming, endpoint, connections, open, requests: record.requests })
    };
    let mut rows: Vec<OpenRequestRow> = records.iter().filter_map(row).collect();
    rows.sort_by_key(|row| row.time_ns);
    let mut table = OpenRequests::default();
    for row in rows {
        table.push(row);
    }
    table
}
