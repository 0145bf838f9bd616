//! What a perf.data says of itself: its events, and the machine that it was recorded on (tools/perf/util/header.c).

use std::collections::HashMap;

use crate::attribute::Attribute;
use crate::cursor::{Cursor, until_zero};
use crate::formats::Formats;

/// Numbers of the sections that are read (`enum` of tools/perf/util/header.h).
pub mod feature {
    pub const TRACING_DATA: u64 = 1;
    pub const BUILD_ID: u64 = 2;
    pub const HOSTNAME: u64 = 3;
    pub const OSRELEASE: u64 = 4;
    pub const ARCH: u64 = 6;
    pub const NRCPUS: u64 = 7;
    pub const CPUDESC: u64 = 8;
    pub const CMDLINE: u64 = 11;
    pub const EVENT_DESC: u64 = 12;
    pub const ALL: [u64; 9] = [TRACING_DATA, BUILD_ID, HOSTNAME, OSRELEASE, ARCH, NRCPUS, CPUDESC, CMDLINE, EVENT_DESC];
}

/// More events, or words of a command, are not taken.
const MOST_ENTRIES: u32 = 65_536;
const BUILD_ID_BYTES: usize = 20;
/// Where the length of a build id stands behind it, since Linux 5.12.
const MISC_BUILD_ID_SIZE: u16 = 1 << 15;

/// What a file says of itself.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Its events.
    pub events: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
    names: HashMap<u64, String>,
    /// Its tracepoints.
    pub formats: Formats,
    /// The build ids of files, by path.
    pub build_ids: HashMap<Vec<u8>, Vec<u8>>,
    /// Name of the machine.
    pub host: String,
    /// Release of its kernel.
    pub kernel: String,
    /// `x86_64`.
    pub architecture: String,
    /// CPUs online.
    pub cpus_online: u32,
    /// The processor's name.
    pub cpu_model: String,
    /// perf's command line.
    pub command: Vec<String>,
}

impl Description {
    /// Adds an event, to which records with these ids belong.
    pub fn add_event(&mut self, event: Attribute, ids: &[u8]) {
        let number = self.events.len();
        self.events.push(event);
        let mut cursor = Cursor(ids);
        while let Some(id) = cursor.u64() {
            self.by_id.insert(id, number);
        }
    }

    /// Adds the event of a HEADER_ATTR record: itself and its ids.
    pub fn add_event_record(&mut self, body: &[u8]) {
        let size = Cursor(body.get(4..).unwrap_or_default()).u32().unwrap_or(0) as usize;
        if let Some((event, ids)) = body.split_at_checked(size)
            && let Some(event) = Attribute::parse(event)
        {
            self.add_event(event, ids);
        }
    }

    /// The number of the event to which records with this id belong: of an unknown one, the first.
    pub fn event_of(&self, id: Option<u64>) -> usize {
        id.and_then(|id| self.by_id.get(&id)).copied().unwrap_or(0)
    }

    /// What perf calls the event of this number: `cpu-clock`.
    pub fn event_name(&self, number: usize) -> String {
        let ids = self.by_id.iter().filter(|(_, event)| **event == number);
        let name = ids.filter_map(|(id, _)| self.names.get(id)).min().cloned();
        let format = self.events.get(number).filter(|event| event.is_tracepoint());
        let format = format.and_then(|event| self.formats.of(event.config)).map(|format| format.name.clone());
        name.or(format).unwrap_or_else(|| format!("event {}", number + 1))
    }

    /// Takes a section.
    pub fn add_feature(&mut self, number: u64, section: &[u8]) {
        match number {
            feature::TRACING_DATA => self.formats = Formats::parse(section),
            feature::BUILD_ID => self.add_build_ids(section),
            feature::HOSTNAME => self.host = string(&mut Cursor(section)).unwrap_or_default(),
            feature::OSRELEASE => self.kernel = string(&mut Cursor(section)).unwrap_or_default(),
            feature::ARCH => self.architecture = string(&mut Cursor(section)).unwrap_or_default(),
            feature::NRCPUS => self.cpus_online = Cursor(section).u64().map_or(0, |both| (both >> 32) as u32),
            feature::CPUDESC => self.cpu_model = string(&mut Cursor(section)).unwrap_or_default(),
            feature::CMDLINE => self.add_command(&mut Cursor(section)),
            feature::EVENT_DESC => {
                let _ = self.add_names(&mut Cursor(section)); // as many as are whole
            }
            _ => {}
        }
    }

    fn add_command(&mut self, cursor: &mut Cursor<'_>) {
        let count = cursor.u32().unwrap_or(0).min(MOST_ENTRIES);
        self.command = (0..count).map_while(|_| string(cursor)).collect();
    }

    /// Events' names: count and size of attributes; then of each the attribute, the count of its ids, its name, its ids.
    fn add_names(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (count, size) = (cursor.u32()?.min(MOST_ENTRIES), cursor.u32()? as usize);
        for _ in 0..count {
            cursor.bytes(size)?;
            let ids = cursor.u32()?;
            let name = string(cursor)?;
            for _ in 0..ids {
                self.names.insert(cursor.u64()?, name.clone());
            }
        }
        Some(())
    }

    /// Records without a type: `struct perf_record_header_build_id`.
    fn add_build_ids(&mut self, section: &[u8]) {
        let mut rest = Cursor(section);
        while let Some(head) = rest.bytes(8) {
            let mut head = Cursor(head.get(4..).unwrap_or_default());
            let (Some(misc), Some(size)) = (head.u16(), head.u16()) else { return };
            let Some(body) = usize::from(size).checked_sub(8).and_then(|length| rest.bytes(length)) else { return };
            self.add_build_id(misc, body);
        }
    }

    /// Adds a file's build id: process, 24 bytes of build id, path.
    pub fn add_build_id(&mut self, misc: u16, body: &[u8]) {
        let (Some(id), Some(path)) = (body.get(4..4 + BUILD_ID_BYTES), body.get(28..)) else { return };
        let told = body.get(4 + BUILD_ID_BYTES).filter(|_| misc & MISC_BUILD_ID_SIZE != 0);
        let length = told.map_or(BUILD_ID_BYTES, |&length| usize::from(length).min(BUILD_ID_BYTES));
        self.build_ids.insert(until_zero(path).to_vec(), id[..length].to_vec());
    }
}

/// A length and as many bytes, of which the text ends at the first zero.
fn string(cursor: &mut Cursor<'_>) -> Option<String> {
    let length = cursor.u32()? as usize;
    let text = cursor.bytes(length)?;
    Some(String::from_utf8_lossy(until_zero(text)).into_owned())
}
