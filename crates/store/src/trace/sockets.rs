//! Sockets, the waits on them and why, and what TCP did meanwhile.

use dwell_files::Folder;
use dwell_model::{SocketId, SocketWaitId};

use crate::error::Result;
use crate::table::{self, Table, TableReader};
use crate::tables::{SocketSizes, SocketWaitCauses, SocketWaits, Sockets, TcpEvents, TcpHolds};

/// The tables of sockets. Empty in results of collections without them.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the tables are documented where they are declared")]
pub struct SocketTables {
    pub sockets: Sockets,
    pub sizes: SocketSizes,
    pub waits: SocketWaits,
    pub causes: SocketWaitCauses,
    pub holds: TcpHolds,
    pub events: TcpEvents,
}

/// How many rows the tables have that these refer to.
pub(crate) struct ReferredRows {
    pub processes: usize,
    pub threads: usize,
    pub objects: usize,
    pub stacks: usize,
}

impl SocketTables {
    pub(crate) fn read(tables: &TableReader) -> Result<Self> {
        Ok(Self {
            sockets: tables.read()?,
            sizes: tables.read()?,
            waits: tables.read()?,
            causes: tables.read()?,
            holds: tables.read()?,
            events: tables.read()?,
        })
    }

    pub(crate) fn write(&self, folder: &Folder) -> Result<()> {
        table::write(folder, &self.sockets)?;
        table::write(folder, &self.sizes)?;
        table::write(folder, &self.waits)?;
        table::write(folder, &self.causes)?;
        table::write(folder, &self.holds)?;
        table::write(folder, &self.events)
    }

    /// The rows of `causes` of wait `wait`.
    pub fn causes_of(&self, wait: SocketWaitId) -> std::ops::Range<usize> {
        let waits = &self.causes.wait;
        waits.partition_point(|&other| other < wait)..waits.partition_point(|&other| other <= wait)
    }

    /// Whether every id names a row that is there, every order that readers rely on holds, and the parts of each wait add
    /// up to it.
    pub(crate) fn check(&self, rows: &ReferredRows) -> std::result::Result<(), String> {
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let is_socket = |id: &SocketId| id.get().is_some_and(|row| row < self.sockets.len());
        let may_be_socket = |id: &SocketId| id.get().is_none_or(|row| row < self.sockets.len());
        let below = |rows: usize| move |row: usize| row < rows;
        let (process, thread) = (below(rows.processes), below(rows.threads));
        let (object, stack) = (below(rows.objects), below(rows.stacks));
        all("sockets.object", self.sockets.object.iter().all(|id| id.get().is_none_or(object)))?;
        all("sockets.process", self.sockets.process.iter().all(|id| id.get().is_none_or(process)))?;
        all("sockets.peer", self.sockets.peer.iter().all(may_be_socket))?;
        all("socket_sizes.socket", self.sizes.socket.iter().all(is_socket))?;
        all("socket_waits.socket", self.waits.socket.iter().all(is_socket))?;
        all("socket_waits.thread", self.waits.thread.iter().all(|id| id.get().is_some_and(thread)))?;
        all("socket_waits.start_ns", self.waits.start_ns.is_sorted())?;
        let is_wait = |id: &SocketWaitId| id.get().is_some_and(|row| row < self.waits.len());
        all("socket_wait_causes.wait", self.causes.wait.iter().all(is_wait) && self.causes.wait.is_sorted())?;
        all("socket_wait_causes.cause_ns", self.parts_add_up())?;
        all("socket_wait_causes.thread", self.causes.thread.iter().all(|id| id.get().is_none_or(thread)))?;
        all("socket_wait_causes.object", self.causes.object.iter().all(|id| id.get().is_none_or(object)))?;
        all("tcp_holds.socket", self.holds.socket.iter().all(is_socket))?;
        all("tcp_holds.thread", self.holds.thread.iter().all(|id| id.get().is_none_or(thread)))?;
        all("tcp_holds.stack", self.holds.stack.iter().all(|id| id.get().is_none_or(stack)))?;
        all("tcp_holds.start_ns", self.holds.start_ns.is_sorted())?;
        all("tcp_events.socket", self.events.socket.iter().all(may_be_socket))?;
        all("tcp_events.peer", self.events.peer.iter().all(may_be_socket))?;
        all("tcp_events.time_ns", self.events.time_ns.is_sorted())
    }

    fn parts_add_up(&self) -> bool {
        let mut sums = vec![0u64; self.waits.len()];
        for (wait, &cause_ns) in self.causes.wait.iter().zip(&self.causes.cause_ns) {
            let Some(sum) = wait.get().and_then(|row| sums.get_mut(row)) else { return false };
            *sum = sum.saturating_add(cause_ns);
        }
        sums == self.waits.wait_ns
    }
}
