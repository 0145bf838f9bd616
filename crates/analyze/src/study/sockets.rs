//! The waits on sockets that a query lets through, and why each lasted.
//!
//! A row of `socket_waits` is a row of `off_cpu`: it passes when that one began in the windows and the filters take it.

use std::collections::BTreeMap;

use dwell_model::{SocketCause, SocketId, SocketProtocol, SocketWaitId, StackId, ThreadId};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::histogram::{Histogram, histogram_of};
use dwell_query::question::error::QueryError;
use dwell_store::{SocketTables, Table};

/// Time by cause, ns: the parts of waits.
pub type ByCause = BTreeMap<SocketCause, u64>;

/// A wait that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketWait {
    /// Row of `socket_waits`.
    pub row: usize,
    /// Where the thread waited.
    pub stack: StackId,
}

/// The waits that pass, by socket.
pub struct SocketWaits<'t> {
    /// What they are rows of.
    pub tables: &'t SocketTables,
    /// Of each socket, in order of start.
    pub of_socket: Vec<Vec<SocketWait>>,
}

impl<'t> SocketWaits<'t> {
    /// Those of `fold`: time in proportion to the rows of `off_cpu` in its windows.
    pub fn new(fold: &Fold<'t>) -> Self {
        let tables = &fold.trace.sockets;
        let mut of_socket = vec![Vec::new(); tables.sockets.len()];
        let waits = &tables.waits;
        if waits.is_empty() {
            return Self { tables, of_socket };
        }
        let mut known: Vec<(ThreadId, u64, usize)> =
            (0..waits.len()).map(|row| (waits.thread[row], waits.start_ns[row], row)).collect();
        known.sort_unstable();
        let mut stacks: Vec<Option<StackId>> = vec![None; waits.len()];
        let off_cpu = &fold.trace.events().off_cpu;
        fold.for_each_counted(|row, site| {
            let place = (site.key.thread, off_cpu.start_ns(row));
            let at = known.partition_point(|(thread, start_ns, _)| (*thread, *start_ns) < place);
            let is_it = |known: &&(ThreadId, u64, usize)| (known.0, known.1) == place && site.is_wait();
            if let Some((.., row)) = known.get(at).filter(is_it) {
                stacks[*row] = Some(site.key.stack);
            }
        });
        for (row, stack) in stacks.into_iter().enumerate() {
            let of = waits.socket[row].get().and_then(|socket| of_socket.get_mut(socket));
            if let (Some(of), Some(stack)) = (of, stack) {
                of.push(SocketWait { row, stack });
            }
        }
        Self { tables, of_socket }
    }

    /// The socket whose row `id` is; `None` for none. Fails when there is no such row.
    pub fn named(&self, id: Option<&str>) -> Result<Option<usize>, QueryError> {
        let row = |id: &str| id.parse().ok().filter(|row| *row < self.of_socket.len());
        id.map(|id| row(id).ok_or_else(|| QueryError::unknown("socket", id, []))).transpose()
    }

    /// The parts of a wait.
    pub fn causes(&self, wait: &SocketWait) -> ByCause {
        self.sum(std::slice::from_ref(wait))
    }

    /// The parts of several waits together.
    pub fn sum(&self, waits: &[SocketWait]) -> ByCause {
        let mut sums = ByCause::new();
        let parts = waits.iter().flat_map(|wait| self.tables.causes_of(SocketWaitId::new(wait.row)));
        for part in parts {
            let cause = SocketCause::from_code(self.tables.causes.cause[part]);
            let sum = sums.entry(cause).or_default();
            *sum = sum.saturating_add(self.tables.causes.cause_ns[part]);
        }
        sums
    }

    /// Length of a wait, ns.
    pub fn wait_ns(&self, wait: &SocketWait) -> u64 {
        self.tables.waits.wait_ns[wait.row]
    }

    /// Length of several waits together, ns.
    pub fn total_ns<'w>(&self, waits: impl IntoIterator<Item = &'w SocketWait>) -> u64 {
        waits.into_iter().fold(0, |sum, wait| sum.saturating_add(self.wait_ns(wait)))
    }

    /// Protocol of a socket.
    pub fn protocol(&self, socket: usize) -> SocketProtocol {
        SocketProtocol::from_code(self.tables.sockets.protocol[socket])
    }

    /// `TCP 127.0.0.1:40000 -> 127.0.0.1:80`; what is not known is left out.
    pub fn label(&self, socket: usize) -> String {
        let sockets = &self.tables.sockets;
        let (protocol, local, remote) =
            (self.protocol(socket).title(), &sockets.local[socket], &sockets.remote[socket]);
        match (local.as_str(), remote.as_str()) {
            ("", "") => protocol.to_owned(),
            (local, "") => format!("{protocol} {local}"),
            ("", remote) => format!("{protocol} -> {remote}"),
            (local, remote) => format!("{protocol} {local} -> {remote}"),
        }
    }

    /// The row of a socket's other end, when that is profiled too.
    pub fn peer(&self, socket: usize) -> Option<usize> {
        self.tables.sockets.peer.get(socket).copied().and_then(SocketId::get)
    }
}

/// How long the waits on the socket whose row is `id` lasted, or those on all sockets. Fails when there is no such row.
pub fn socket_lengths(fold: &Fold<'_>, id: Option<&str>) -> Result<Histogram, QueryError> {
    let waits = SocketWaits::new(fold);
    let of_socket = match waits.named(id)? {
        Some(socket) => std::slice::from_ref(&waits.of_socket[socket]),
        None => &waits.of_socket,
    };
    Ok(histogram_of(of_socket.iter().flatten().map(|wait| waits.wait_ns(wait))))
}

/// The cause with the largest part.
pub fn main_cause(parts: &ByCause) -> SocketCause {
    // Of equal ones the first, as everywhere.
    parts.iter().rev().max_by_key(|(_, ns)| **ns).map_or(SocketCause::Unexplained, |(cause, _)| *cause)
}

#[cfg(test)]
mod tests;
