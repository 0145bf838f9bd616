//! The exchanges that two hosts saw of the connections between them, as bounds of their clocks' offset.

use std::collections::HashMap;
use std::hash::Hash;

use dwell_model::{Id, SocketDirection, SocketProtocol};
use dwell_store::Trace;

use crate::align::Bounds;
use crate::connection::{Connection, FirstEnd, SecondEnd};

/// A thread sends a moment before it begins to wait for the answer, and only the wait's beginning is recorded.
const BETWEEN_SEND_AND_WAIT_NS: i64 = 50_000;
/// Waits of one end of a connection that are paired, each with each of the other end …
const MOST_WAITS: usize = 400;
/// … and bounds that come of all connections together, at most: with many of them, fewer waits of each are paired.
const MOST_BOUNDS: usize = 1 << 22;

/// The connections between both hosts.
pub fn connections(first: &Trace, second: &Trace) -> Vec<Connection> {
    let far: HashMap<(&str, &str), SecondEnd> =
        ends(second).map(|(row, local, remote)| ((remote, local), SecondEnd::new(row))).collect();
    let connection = |(row, local, remote)| {
        let second = *far.get(&(local, remote))?;
        Some(Connection { first: FirstEnd::new(row), second })
    };
    ends(first).filter_map(connection).collect()
}

fn ends(trace: &Trace) -> impl Iterator<Item = (usize, &str, &str)> {
    let sockets = &trace.sockets.sockets;
    // Each host has its own loopback: equal addresses on it are no connection between both.
    let own = |address: &str| address.starts_with("127.") || address.starts_with("[::1]");
    let rows = (0..sockets.protocol.len())
        .filter(move |&row| sockets.protocol[row] == SocketProtocol::Tcp.code() && !own(&sockets.local[row]));
    let named = rows.map(|row| (row, sockets.local[row].as_str(), sockets.remote[row].as_str()));
    named.filter(|(_, local, remote)| !local.is_empty() && !remote.is_empty())
}

/// The bounds of what is added to times of `second` to get those of `first`, from the waits on these connections.
pub fn exchanges(first: &Trace, second: &Trace, connections: &[Connection]) -> Vec<Bounds> {
    let most_waits = (MOST_BOUNDS / 2 / connections.len().max(1)).isqrt().clamp(8, MOST_WAITS);
    let (ours, theirs) = (waits(first, most_waits, FirstEnd::new), waits(second, most_waits, SecondEnd::new));
    let mut found = Vec::new();
    for Connection { first: here, second: there } in connections {
        if found.len() >= MOST_BOUNDS {
            break;
        }
        let (Some(here), Some(there)) = (ours.get(here), theirs.get(there)) else { continue };
        found.extend(pairs(here, there));
        let swapped =
            pairs(there, here).into_iter().map(|Bounds { least, most }| Bounds { least: -most, most: -least });
        found.extend(swapped);
    }
    found
}

/// A wait for data.
#[derive(Clone, Copy)]
struct Wait {
    start: i64,
    end: i64,
    /// Bytes sent between the last receive and the wait.
    before: u64,
    /// Bytes that the first call after it received.
    after: u64,
}

/// Whether a wait in this direction ends when data comes.
pub fn is_for_data(direction: u8) -> bool {
    matches!(SocketDirection::from_code(direction), SocketDirection::Receive | SocketDirection::Poll)
}

/// The waits for data, by socket and in order: the first `most` of each. `end` is the socket of a row.
fn waits<End: Id + Eq + Hash>(trace: &Trace, most: usize, end: impl Fn(usize) -> End) -> HashMap<End, Vec<Wait>> {
    let table = &trace.sockets.waits;
    let mut found: HashMap<End, Vec<Wait>> = HashMap::new();
    for row in (0..table.start_ns.len()).filter(|&row| is_for_data(table.direction[row])) {
        let Some(socket) = table.socket[row].get() else { continue };
        let start = i64::try_from(table.start_ns[row]).unwrap_or(i64::MAX / 2);
        let until = start.saturating_add_unsigned(table.wait_ns[row]);
        let wait = Wait { start, end: until, before: table.bytes_before[row], after: table.bytes_after[row] };
        let waits = found.entry(end(socket)).or_default();
        if waits.len() < most {
            waits.push(wait);
        }
    }
    found
}

/// Each wait of a client with each service of a server that it may have been for: the server waited, received no more than
/// was asked, and had answered no less than was received when it waited again.
fn pairs(client: &[Wait], server: &[Wait]) -> Vec<Bounds> {
    let asked = client.iter().filter(|wait| wait.before > 0 && wait.after > 0);
    let services = || server.iter().zip(server.iter().skip(1)).filter(|(wait, next)| wait.after > 0 && next.before > 0);
    let bounds = asked.flat_map(|ask| {
        let fits = |(wait, next): &(&Wait, &Wait)| wait.after <= ask.before && ask.after <= next.before;
        services().filter(fits).map(|(wait, next)| Bounds {
            least: ask.start - wait.end - BETWEEN_SEND_AND_WAIT_NS,
            most: ask.end - next.start + BETWEEN_SEND_AND_WAIT_NS,
        })
    });
    bounds.filter(|bounds| bounds.least <= bounds.most).collect()
}
