//! The vDSO: code that the kernel maps into every process. It is the same image everywhere, so this process's own is read.

use std::fs::File;
use std::io::{Error as IoError, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::frames::CallFrames;
use crate::maps::{Mapping, parse_maps};
use crate::table::UnwindTable;

/// It has two pages; this is far more than it may ever have.
const MOST_BYTES: u64 = 1 << 20;

static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();

/// Takes the image of whoever may not read `/proc/self/mem`: that is root's while a program has capabilities of its file.
pub fn provide_vdso(image: Vec<u8>) {
    // The first one stays: they are all the same.
    let _ = IMAGE.set(image);
}

/// The table of this process's vDSO.
pub(crate) fn table() -> Result<UnwindTable> {
    let path = Path::new("[vdso]");
    let image = image().map_err(|error| Error::io(path, error))?;
    UnwindTable::of_bytes(&image)
}

/// The complete call frame information of this process's vDSO.
pub(crate) fn frames() -> Option<CallFrames> {
    CallFrames::of_bytes(&image().ok()?).ok()
}

fn image() -> std::io::Result<Vec<u8>> {
    if let Some(image) = IMAGE.get() {
        return Ok(image.clone());
    }
    let maps = std::fs::read("/proc/self/maps")?;
    let Some(Mapping { start, length, .. }) =
        parse_maps(0, &maps).into_iter().find(|mapping| mapping.path == Path::new("[vdso]"))
    else {
        return Err(IoError::from(ErrorKind::NotFound));
    };
    let mut bytes = vec![0; usize::try_from(length.min(MOST_BYTES)).unwrap_or(0)];
    File::open("/proc/self/mem")?.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}
