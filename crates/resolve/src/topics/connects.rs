//! Connections that processes opened, a row for each record.

use dwell_model::StackId;
use dwell_store::raw::wire::{AF_INET6, ConnectsRecord};
use dwell_store::tables::{Connects, ConnectsRow};

use crate::objects::socket_address;
use crate::replay::numbers::StackNumber;
use crate::replay::state::Replay;

/// The stack of each record, before stacks get their rows.
pub fn stacks(records: &[ConnectsRecord], replay: &mut Replay) -> Vec<StackNumber> {
    records.iter().map(|record| replay.user_stack(record.user_stack)).collect()
}

/// The rows, ordered by time, with the stacks of the records. Those of unknown threads are left out.
pub fn resolve(records: &[ConnectsRecord], stacks: &[StackId], replay: &Replay) -> Connects {
    let row = |(record, &stack): (&ConnectsRecord, &StackId)| {
        let time_ns = replay.relative(record.h.time_ns);
        let address = socket_address(AF_INET6, &record.remote_address, record.remote_port);
        Some(ConnectsRow {
            time_ns,
            thread: replay.thread_table.find_at(record.h.tid, time_ns)?,
            endpoint: format!("TCP {address}"),
            connects: record.connects,
            brief: record.brief,
            connect_ns: record.connect_ns,
            life_ns: record.life_ns,
            stack,
        })
    };
    let mut rows: Vec<ConnectsRow> = records.iter().zip(stacks).filter_map(row).collect();
    rows.sort_by_key(|row| row.time_ns);
    let mut table = Connects::default();
    for row in rows {
        table.push(row);
    }
    table
}
