//! Requests that wait for their answers, as they were looked at: a row for each look at a process's connections of one kind; when it
//! sent something; and where what it has to send waits.

use std::collections::{BTreeSet, HashSet};

use dwell_model::ProcessId;
use dwell_store::raw::wire::{AF_INET6, OpenRequestsRecord};
use dwell_store::tables::{
    OpenRequestRow, OpenRequests, Processes, SampledSendRow, SampledSends, SendQueueRow, SendQueues,
};

use crate::objects::socket_address;
use crate::replay::state::Replay;

/// What the looks at connections found.
#[derive(Default)]
pub struct ConnectionTables {
    /// Requests that wait for their answers.
    pub open_requests: OpenRequests,
    /// When processes sent something.
    pub sampled_sends: SampledSends,
    /// Where what they have to send waits.
    pub send_queues: SendQueues,
}

/// The rows, ordered by time. Those of unknown processes are left out. Connections end with their process, whenever somebody looks next.
pub fn resolve(
    records: &[OpenRequestsRecord],
    replay: &Replay,
    (processes, end_ns): (&Processes, u64),
) -> ConnectionTables {
    let (mut looks, mut sends, mut queues) = (Vec::new(), Vec::new(), Vec::new());
    for record in records {
        let time_ns = replay.relative(record.h.time_ns);
        let life =
            replay.thread_table.find_at(record.h.tid, time_ns).and_then(|thread| replay.thread_table.life(thread));
        let Some(process) = life.map(|life| life.process) else { continue };
        let is_incoming = record.is_incoming != 0;
        let endpoint = match is_incoming {
            true => format!("TCP :{}", record.port),
            false => format!("TCP {}", socket_address(AF_INET6, &record.remote_address, record.port)),
        };
        let (sent_ns, connections, open) = (record.sent_ns, record.connections, record.open.min(record.connections));
        for sent_ns in sent_ns.into_iter().filter(|sent_ns| *sent_ns > 0 && *sent_ns <= record.h.time_ns) {
            let time_ns = replay.relative(sent_ns);
            sends.push(SampledSendRow { time_ns, process, is_incoming, endpoint: endpoint.clone() });
        }
        let (unread, held) = (record.unread.into(), record.held.into());
        queues.push(SendQueueRow { time_ns, process, is_incoming, endpoint: endpoint.clone(), unread, held });
        let (requests, answers) = (record.requests, record.answers);
        looks.push(OpenRequestRow { time_ns, process, is_incoming, endpoint, connections, open, requests, answers });
    }
    add_ends((processes, end_ns), &mut looks, &mut queues);
    looks.sort_by_key(|row| row.time_ns);
    sends.sort_by_key(|row| row.time_ns);
    queues.sort_by_key(|row| row.time_ns);
    let mut tables = ConnectionTables::default();
    for row in looks {
        tables.open_requests.push(row);
    }
    for row in sends {
        tables.sampled_sends.push(row);
    }
    let mut waiting: HashSet<(ProcessId, bool, String)> = HashSet::new();
    for row in queues {
        let of = (row.process, row.is_incoming, row.endpoint.clone());
        // That none waits any more is told once.
        if row.unread > 0 || row.held > 0 {
            waiting.insert(of);
            tables.send_queues.push(row);
        } else if waiting.remove(&of) {
            tables.send_queues.push(row);
        }
    }
    tables
}

/// At the end of a process that ended before the recording did no connection has anything any more.
fn add_ends((processes, end_ns): (&Processes, u64), looks: &mut Vec<OpenRequestRow>, queues: &mut Vec<SendQueueRow>) {
    let of = |row: &OpenRequestRow| (row.process, row.is_incoming, row.endpoint.clone());
    let seen: BTreeSet<(ProcessId, bool, String)> = looks.iter().map(of).collect();
    for (process, is_incoming, endpoint) in seen {
        let ended = process.get().and_then(|row| processes.end_ns.get(row)).copied();
        let Some(time_ns) = ended.filter(|time_ns| *time_ns < end_ns) else { continue };
        queues.push(SendQueueRow { time_ns, process, is_incoming, endpoint: endpoint.clone(), unread: 0, held: 0 });
        let (connections, open, requests, answers) = (0, 0, 0, 0);
        looks.push(OpenRequestRow { time_ns, process, is_incoming, endpoint, connections, open, requests, answers });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_end_with_their_process() {
        let processes = Processes { end_ns: vec![70], ..Processes::default() };
        let look = OpenRequestRow {
            time_ns: 50,
            process: ProcessId::new(0),
            is_incoming: true,
            endpoint: "TCP :1".into(),
            connections: 2,
            open: 1,
            requests: 3,
            answers: 2,
        };
        let (mut looks, mut queues) = (vec![look.clone(), OpenRequestRow { time_ns: 60, ..look }], Vec::new());
        add_ends((&processes, 70), &mut looks, &mut queues);
        assert_eq!((looks.len(), queues.len()), (2, 0), "it goes on");
        add_ends((&processes, 71), &mut looks, &mut queues);
        assert_eq!((looks.len(), queues.len()), (3, 1));
        assert_eq!((looks[2].time_ns, looks[2].connections, looks[2].open, looks[2].requests), (70, 0, 0, 0));
        assert_eq!((queues[0].time_ns, queues[0].unread, queues[0].held), (70, 0, 0));
    }
}
