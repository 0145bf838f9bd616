//! Reads the chunks of the spool.
//!
//! Nothing here fails on damaged content: what cannot be read is counted in bytes.

use dwell_model::{Notice, notice};
use dwell_store::ResultFolder;
use dwell_store::raw::{Records, SpoolFault, SpoolReader, Stream};

/// The parts of the spool that could not be read.
#[derive(Default)]
pub struct SpoolDamage {
    /// Bytes passed over.
    pub bytes: u64,
    /// A sentence for each place.
    pub notices: Vec<Notice>,
}

impl SpoolDamage {
    fn add(&mut self, faults: &[SpoolFault]) {
        for fault in faults {
            self.bytes += fault.bytes;
            let name = fault.path.file_name().unwrap_or_default().to_string_lossy();
            self.notices.push(notice!(BYTES_UNREAD, bytes = fault.bytes, name = name, reason = fault.reason));
        }
    }
}

/// Reads every chunk of `stream` of the result in `folder`, in order; the callback gets the records of one chunk at a
/// time, with the latest time in it. A folder that is not there is an empty stream, with a notice.
pub fn read_stream(
    folder: &ResultFolder,
    stream: Stream,
    damage: &mut SpoolDamage,
    chunk: &mut dyn FnMut(&mut Records<'_>, u64),
) {
    let mut reader = match folder.spool().and_then(|spool| SpoolReader::open(&spool, stream)) {
        Ok(reader) => reader,
        Err(error) => return damage.notices.push(notice!(SPOOL_UNREAD, error = error)),
    };
    let mut raw = Vec::new();
    while let Some(info) = reader.next_chunk(&mut raw) {
        let mut records = Records::new(&raw);
        chunk(&mut records, info.last_ns);
        let rest = records.rest() as u64;
        if rest > 0 {
            damage.bytes += rest;
            damage.notices.push(notice!(CHUNK_REST, bytes = rest));
        }
    }
    damage.add(&reader.faults);
}
