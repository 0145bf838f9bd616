//! A log of run-time code in the form of `jit-PID.dump` (linux/tools/perf/Documentation/jitdump-specification.txt), without the
//! code itself. A function that an interpreter runs counts as code at the address that stacks have for it.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use dwell_hotspot::{CodeBlob, MethodLine};
use dwell_store::raw::wire::CODE_CALLS;

use super::interpreted::NamedFunction;

const MAGIC: u32 = 0x4a69_5444; // "JiTD"
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
const CODE_LOAD: u32 = 0;
const CODE_DEBUG_INFO: u32 = 2;
/// As ELF files say it.
const X86_64: u32 = 62;
/// Of a record: what it is, its bytes, the time.
const PREFIX_BYTES: usize = 16;
/// A log is not written beyond this: resolve reads no more of one.
const MOST_BYTES: u64 = 256 << 20;

/// What compiled code does between two addresses.
pub struct InlinedCalls {
    /// Its first byte …
    pub start: u64,
    /// … and the one behind its last.
    pub end: u64,
    /// Where it is, outermost first.
    pub lines: Vec<MethodLine>,
}

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
        for NamedFunction { frame, line: MethodLine { name, file, line }, since_ns } in functions {
            let (start, end) = (frame.saturating_sub(1), frame.saturating_add(1));
            if *line > 0 {
                let mut body = words(&[start, 1, start, u64::from(*line)]); // no discriminator
                add_text(&mut body, file);
                self.add_record(CODE_DEBUG_INFO, *since_ns, &body)?;
            }
            self.add_one((start, end), name, *since_ns)?;
        }
        self.file.flush()
    }

    /// Adds what compiled code does between two addresses: the functions and lines, outermost first.
    pub fn add_calls(&mut self, calls: &[InlinedCalls], time_ns: u64) -> io::Result<()> {
        for InlinedCalls { start, end, lines } in calls {
            let mut body = words(&[*start, *end]);
            body.extend((lines.len() as u32).to_le_bytes());
            for MethodLine { name, file, line } in lines {
                body.extend(line.to_le_bytes());
                add_text(&mut body, name);
                add_text(&mut body, file);
            }
            self.add_record(CODE_CALLS, time_ns, &body)?;
        }
        self.file.flush()
    }

    fn add_one(&mut self, (start, end): (u64, u64), name: &str, since_ns: u64) -> io::Result<()> {
        let process = u64::from(self.pid) << 32 | u64::from(self.pid);
        let mut body = words(&[process, start, start, end - start, self.next]);
        add_text(&mut body, name);
        self.next += 1;
        self.add_record(CODE_LOAD, since_ns, &body)
    }

    fn add_record(&mut self, kind: u32, time_ns: u64, body: &[u8]) -> io::Result<()> {
        let bytes = PREFIX_BYTES + body.len();
        self.bytes += bytes as u64;
        if self.bytes > MOST_BYTES {
            return Err(io::Error::other("there is more of them than a log of code holds"));
        }
        self.file.write_all(&kind.to_le_bytes())?;
        self.file.write_all(&(bytes as u32).to_le_bytes())?;
        self.file.write_all(&time_ns.to_le_bytes())?;
        self.file.write_all(body)
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn add_text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.bytes().filter(|byte| *byte != 0));
    body.push(0);
}
