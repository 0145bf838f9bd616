//! Records of mappings: PERF_RECORD_MMAP has process, thread, address, length, offset and path; PERF_RECORD_MMAP2 has the file's
//! build id or inode, protection and flags before the path.

use bytemuck::Zeroable;
use dwell_store::raw::wire::{MapHeader, RecordHeader, kind};

use crate::cursor::{Cursor, until_zero};
use crate::order::Pending;

const MISC_DATA: u16 = 1 << 13;
const MISC_BUILD_ID: u16 = 1 << 14;
const FILE_BYTES: usize = 24;
const PROT_READ: u32 = 1;
const PROT_READ_EXEC: u32 = 5;

/// The mapping as Dwell's records have it, and its path; `is_second`: of an MMAP2 record.
pub fn parse<'b>(record: &Pending, mut cursor: Cursor<'b>, is_second: bool) -> Option<(MapHeader, &'b [u8])> {
    let tgid = cursor.u32()?;
    cursor.u32()?;
    let mut header = MapHeader {
        h: RecordHeader { kind: kind::MAP, size: 0, tid: tgid, time_ns: record.time_ns },
        start: cursor.u64()?,
        length: cursor.u64()?,
        file_offset: cursor.u64()?,
        protection: if record.misc & MISC_DATA != 0 { PROT_READ } else { PROT_READ_EXEC },
        ..MapHeader::zeroed()
    };
    if is_second {
        let file = cursor.bytes(FILE_BYTES)?;
        if record.misc & MISC_BUILD_ID != 0 {
            put_build_id(&mut header, file.get(4..4 + usize::from(file[0]).min(20))?);
        } else {
            let mut file = Cursor(file);
            header.device = file.u32()? << 20 | file.u32()?;
            header.inode = file.u64()?;
        }
        header.protection = cursor.u32()?;
        cursor.u32()?;
    }
    Some((header, until_zero(cursor.0)))
}

/// Notes a file's build id, cut to what there is room for.
pub fn put_build_id(header: &mut MapHeader, id: &[u8]) {
    let bytes = id.len().min(header.build_id.len());
    header.build_id[..bytes].copy_from_slice(&id[..bytes]);
    header.build_id_bytes = bytes as u32;
}
