//! What of a result a sender may want to keep private. Each part names the texts that it empties, in the manifest and in tables;
//! no row is removed, so that all numbers stay.
//!
//! Names stay, since every report is made of them: of threads, processes, programs, functions, files, objects, sockets' addresses,
//! tasks and other programs.

use std::collections::BTreeSet;

use dwell_model::{Notice, notice, notices};

use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::table::{self, Table, TableReader};
use crate::tables::{NoticeRow, Notices, Processes, Sources};

/// State of a source's text: the file was not found.
const NOT_THERE: u8 = 1;

/// A private part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrivatePart {
    /// The arguments of the programs, and of the collection; the log.
    CommandLines,
    /// Where it ran: host, boot, control groups, units, containers and pods; the log.
    Environment,
    /// The text of source files.
    Sources,
}

impl PrivatePart {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CommandLines => "command-lines",
            Self::Environment => "environment",
            Self::Sources => "sources",
        }
    }
}

/// Whether the log is private with these parts: it has command lines, and paths of the machine.
pub(super) fn hold_log(left_out: &BTreeSet<PrivatePart>) -> bool {
    left_out.contains(&PrivatePart::CommandLines) || left_out.contains(&PrivatePart::Environment)
}

/// Empties what the manifest has of them.
pub(super) fn empty_manifest(manifest: &mut Manifest, left_out: &BTreeSet<PrivatePart>) {
    if left_out.contains(&PrivatePart::CommandLines) {
        manifest.command.clear();
        manifest.options.clear();
    }
    if left_out.contains(&PrivatePart::Environment) {
        manifest.host.clear();
        manifest.boot_id.clear();
        manifest.taken.quotas.iter_mut().for_each(|quota| quota.group.clear());
        manifest.notices.iter_mut().for_each(without_hosts);
    }
}

/// The file of table `name` without them; `None` where the table has none of them.
pub(super) fn emptied_table(
    reader: &TableReader,
    name: &str,
    left_out: &BTreeSet<PrivatePart>,
) -> Result<Option<Vec<u8>>> {
    let is = |table: &str, parts: &[PrivatePart]| table == name && parts.iter().any(|part| left_out.contains(part));
    let emptied = if is(Processes::DEF.name, &[PrivatePart::CommandLines, PrivatePart::Environment]) {
        table::to_bytes(&without_private_texts(reader.read()?, left_out))
    } else if is(Sources::DEF.name, &[PrivatePart::Sources]) {
        table::to_bytes(&without_text(reader.read()?))
    } else if name == Notices::DEF.name && !left_out.is_empty() {
        table::to_bytes(&with_remark(&reader.read()?, left_out))
    } else {
        return Ok(None);
    };
    let path = reader.folder().path().join(table::file_name(name));
    emptied.map(Some).map_err(|reason| Error::table(&path, reason))
}

fn without_private_texts(mut processes: Processes, left_out: &BTreeSet<PrivatePart>) -> Processes {
    if left_out.contains(&PrivatePart::CommandLines) {
        processes.command_line.iter_mut().for_each(String::clear);
    }
    if left_out.contains(&PrivatePart::Environment) {
        let Processes { cgroup, unit, container, pod, .. } = &mut processes;
        [cgroup, unit, container, pod].into_iter().flatten().for_each(String::clear);
    }
    processes
}

fn without_text(mut sources: Sources) -> Sources {
    sources.text.iter_mut().for_each(String::clear);
    sources.state.iter_mut().filter(|state| **state == 0).for_each(|state| *state = NOT_THERE);
    sources
}

/// The remarks, and one that says what is left out: what is empty must not look as if it had never been there.
fn with_remark(rows: &Notices, left_out: &BTreeSet<PrivatePart>) -> Notices {
    let mut remarks = Notices::default();
    for row in 0..rows.len() {
        let known = rows.notice(row).filter(|_| left_out.contains(&PrivatePart::Environment)).map(|mut remark| {
            without_hosts(&mut remark);
            NoticeRow::from(&remark)
        });
        if let Some(remark) = known.or_else(|| rows.row(row)) {
            remarks.push(remark);
        }
    }
    let parts = left_out.iter().map(|part| part.name()).collect::<Vec<_>>().join(", ");
    remarks.push(NoticeRow::from(&notice!(PACKED_WITHOUT, parts = parts)));
    remarks
}

fn without_hosts(remark: &mut Notice) {
    if remark.id == notices::OF_TWO_HOSTS.id {
        remark.values.entry("hosts".into()).or_default().clear();
    }
}
