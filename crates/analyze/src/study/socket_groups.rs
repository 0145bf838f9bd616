//! Sockets that threads wait on by one name: connections of one program to one server.

use std::collections::BTreeMap;

use dwell_model::SocketCause;
use dwell_query::engine::fold::Fold;

use crate::study::sockets::{ByCause, SocketWait, SocketWaits};

/// Sockets of one name with their waits.
pub struct Group {
    /// Name of what was waited on.
    pub name: String,
    /// Rows of `sockets`.
    pub sockets: Vec<usize>,
    /// The waits on them that pass.
    pub waits: Vec<SocketWait>,
    /// Time of the waits by cause.
    pub causes: ByCause,
}

impl Group {
    /// Time of one cause.
    pub fn of(&self, cause: SocketCause) -> u64 {
        self.causes.get(&cause).copied().unwrap_or(0)
    }

    /// Time of all causes.
    pub fn total_ns(&self) -> u64 {
        self.causes.values().fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// The waits with some time of a cause, and the lengths of that time.
    pub fn with(&self, cause: SocketCause, sockets: &SocketWaits<'_>) -> Vec<(SocketWait, u64)> {
        let part = |wait: &SocketWait| Some((*wait, *sockets.causes(wait).get(&cause)?));
        self.waits.iter().filter_map(part).collect()
    }
}

/// The sockets that were waited on, by name.
pub fn groups(fold: &Fold<'_>, sockets: &SocketWaits<'_>) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (socket, waits) in sockets.of_socket.iter().enumerate().filter(|(_, waits)| !waits.is_empty()) {
        let name = name(fold, sockets, socket);
        let group = groups.entry(name.clone()).or_insert_with(|| Group {
            name,
            sockets: Vec::new(),
            waits: Vec::new(),
            causes: ByCause::new(),
        });
        group.sockets.push(socket);
        group.waits.extend(waits);
        for (cause, ns) in sockets.sum(waits) {
            let sum = group.causes.entry(cause).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    groups.into_values().collect()
}

/// The name of the object that it is, else its addresses: of one that asks without its port, which is another each time.
pub fn name(fold: &Fold<'_>, sockets: &SocketWaits<'_>, socket: usize) -> String {
    let table = &sockets.tables.sockets;
    let (object, local, remote) = (table.object[socket], &table.local[socket], &table.remote[socket]);
    match local.rsplit_once(':') {
        _ if object.is_some() => fold.object_name(object).to_owned(),
        Some((host, _)) if table.asks[socket] => format!("{} {host}:* -> {remote}", sockets.protocol(socket).title()),
        _ => sockets.label(socket),
    }
}
