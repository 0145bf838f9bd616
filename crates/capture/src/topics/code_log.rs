//! A log of run-time code in the form of `jit-PID.dump` (linux/tools/perf/Documentation/jitdump-specification.txt), without the
//! code itself. A function that an interpreter runs counts as code at the address that stacks have for it.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use dwell_hotspot::CodeBlob;

use super::interpreted::NamedFunction;

const MAGIC: u32 = 0x4a69_5444; // "JiTD"
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
const CODE_LOAD: u32 = 0;
/// As ELF files say it.
const X86_64: u32 = 62;
/// Of a record of loaded code, without its name.
const RECORD_BYTES: usize = 16 + 40;
/// A log is not written beyond this: resolve reads no more of one.
const MOST_BYTES: u64 = 256 << 20;

/// The log of one process.
pub struct CodeLog {
    file: BufWriter<File>,
    pid: u32,
    /// Number of the next piece of code.
    next: u64,
    bytes: u64,
}

impl CodeLog {
    /// Begins the log of process `pid` in an empty file.
    pub fn begin(file: File, pid: u32) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        for word in [MAGIC, VERSION, HEADER_BYTES, X86_64, 0, pid, 0, 0, 0, 0] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { file, pid, next: 0, bytes: u64::from(HEADER_BYTES) })
    }

    /// Adds code that there is since `since_ns` (CLOCK_MONOTONIC).
    pub fn add(&mut self, blobs: &[CodeBlob], since_ns: u64) -> io::Result<()> {
        for blob in blobs {
            self.add_one((blob.start, blob.end), &blob.name, since_ns)?;
        }
        self.file.flush()
    }

    /// Adds functions of an interpreter. A look-up of a caller asks for the byte before it.
    pub fn add_functions(&mut self, functions: &[NamedFunction]) -> io::Result<()> {
        for NamedFunction { frame, name, since_ns } in functions {
            self.add_one((frame.saturating_sub(1), frame.saturating_add(1)), name, *since_ns)?;
        }
        self.file.flush()
    }

    fn add_one(&mut self, (start, end): (u64, u64), name: &str, since_ns: u64) -> io::Result<()> {
        let name: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
        let bytes = RECORD_BYTES + name.len() + 1;
        self.bytes += bytes as u64;
        if self.bytes > MOST_BYTES {
            return Err(io::Error::other("there is more of them than a log of code holds"));
        }
        self.file.write_all(&CODE_LOAD.to_le_bytes())?;
        self.file.write_all(&(bytes as u32).to_le_bytes())?;
        self.file.write_all(&since_ns.to_le_bytes())?;
        self.file.write_all(&[self.pid.to_le_bytes(), self.pid.to_le_bytes()].concat())?;
        for word in [start, start, end - start, self.next] {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.file.write_all(&name)?;
        self.next += 1;
        self.file.write_all(&[0])
    }
}
