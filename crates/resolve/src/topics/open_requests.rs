//! Requests that wait for their answers, as they were looked at: a row for each look at a process's connections of one kind, and when it
//! sent something.

use dwell_store::raw::wire::{AF_INET6, OpenRequestsRecord};
use dwell_store::tables::{OpenRequestRow, OpenRequests, SampledSendRow, SampledSends};

use crate::objects::socket_address;
use crate::replay::state::Replay;

/// The rows, ordered by time. Those of unknown processes are left out.
pub fn resolve(records: &[OpenRequestsRecord], replay: &Replay) -> (OpenRequests, SampledSends) {
    let (mut looks, mut sends) = (Vec::new(), Vec::new());
    for record in records {
        let time_ns = replay.relative(record.h.time_ns);
        let life = replay.lives.find_at(record.h.tid, time_ns).and_then(|thread| replay.lives.life(thread));
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
        let (requests, answers) = (record.requests, record.answers);
        looks.push(OpenRequestRow { time_ns, process, is_incoming, endpoint, connections, open, requests, answers });
    }
    looks.sort_by_key(|row| row.time_ns);
    sends.sort_by_key(|row| row.time_ns);
    let (mut open_requests, mut sampled_sends) = (OpenRequests::default(), SampledSends::default());
    for row in looks {
        open_requests.push(row);
    }
    for row in sends {
        sampled_sends.push(row);
    }
    (open_requests, sampled_sends)
}
