//! What `perf record -e intel_pt//` wrote: the traces, which files' code lay where, and how its clock counts.
//!
//! The layout is that of tools/perf/util/header.c and intel-pt.c of Linux. Whatever does not fit is passed over.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dwell_files::open_regular;

use crate::Error;
use crate::decoder::{Code, Processor};

/// A file of perf's that is larger is not read.
const MOST_BYTES: u64 = 4 << 30;

const MAGIC: &[u8] = b"PERFILE2";
const FEATURE_CPUID: u64 = 9;
/// `PERF_AUXTRACE_INTEL_PT`.
const INTEL_PT: u32 = 1;
const NO_THREAD: u32 = u32::MAX;

/// Types of records.
pub(crate) mod kind {
    pub const MMAP: u32 = 1;
    pub const COMM: u32 = 3;
    pub const FORK: u32 = 7;
    pub const MMAP2: u32 = 10;
    pub const AUXTRACE_INFO: u32 = 70;
    pub const AUXTRACE: u32 = 71;
}

/// One processor's or thread's trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The thread, when it is of one.
    pub tid: Option<u32>,
    /// The CPU, when it is of one.
    pub cpu: Option<u32>,
    /// Packets.
    pub bytes: Vec<u8>,
    /// Bytes that the file ends before.
    pub cut: u64,
}

/// A piece of a file that lay in a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its process.
    pub pid: u32,
    /// Where it began.
    pub address: u64,
    /// Its length.
    pub length: u64,
    /// Where in the file it began.
    pub offset: u64,
    /// The file.
    pub path: PathBuf,
}

/// From the time stamp counter to perf's clock, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    shift: u64,
    mult: u64,
    zero: u64,
}

impl Conversion {
    /// The time of a time stamp; none where perf did not say how to tell.
    pub fn ns(&self, tsc: u64) -> Option<u64> {
        let scaled = (u128::from(tsc) * u128::from(self.mult)).checked_shr(u32::try_from(self.shift).ok()?)?;
        (self.mult != 0).then(|| self.zero.wrapping_add(scaled as u64))
    }
}

/// A file of perf's.
#[derive(Clone, Debug, Default)]
pub struct PerfData {
    /// The traces, by queue.
    pub traces: Vec<Trace>,
    /// In the order of recording.
    pub mappings: Vec<Mapping>,
    /// The clock.
    pub conversion: Conversion,
    /// The processor.
    pub processor: Processor,
    processes: HashMap<u32, u32>,
}

impl PerfData {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// Not to be read; none of perf's; none with an Intel PT trace.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = open_regular(path)?;
        if file.metadata()?.len() > MOST_BYTES {
            return Err(Error::NotPerf("it is larger than 4 GiB; perf record --snapshot keeps less"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Self::parse(&bytes)
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    ///
    /// As [`PerfData::open`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let all = Bytes(bytes);
        if !bytes.starts_with(MAGIC) {
            return Err(Error::NotPerf("it does not begin as one"));
        }
        if all.u64(8).is_none_or(|size| size < 104) {
            return Err(Error::NotPerf("it was written into a pipe; use perf record -o FILE"));
        }
        let section = |at: usize| Some(all.u64(at)? as usize..(all.u64(at)?.checked_add(all.u64(at + 8)?)? as usize));
        let (Some(attributes), Some(data)) = (section(24), section(40)) else {
            return Err(Error::NotPerf("its header is cut"));
        };
        let mut found = Self::default();
        let mut queues: BTreeMap<u32, Trace> = BTreeMap::new();
        let mut is_pt = false;
        let end = data.end.min(bytes.len());
        let mut at = data.start;
        while let Some((kind, size)) =
            all.u32(at).zip(all.u16(at.saturating_add(6))).filter(|(_, size)| *size >= 8 && at < end)
        {
            let record = Bytes(bytes.get(at..(at + usize::from(size)).min(end)).unwrap_or_default());
            at += usize::from(size);
            match kind {
                kind::AUXTRACE_INFO if record.u32(8) == Some(INTEL_PT) => {
                    is_pt = true;
                    let attribute = all.range(attributes.clone());
                    found.info(&record, &attribute);
                }
                kind::AUXTRACE => at = found.trace(&record, bytes, at, &mut queues),
                _ => found.mapping(kind, &record),
            }
        }
        if !is_pt {
            return Err(Error::NotPerf("it has no Intel PT trace; perf record -e intel_pt//u records one"));
        }
        found.cpuid(&all, data.end);
        found.traces = queues.into_values().collect();
        Ok(found)
    }

    /// The collector's settings: `enum` of tools/perf/util/intel-pt.h.
    fn info(&mut self, record: &Bytes<'_>, attributes: &Bytes<'_>) {
        let setting = |number: usize| record.u64(16 + 8 * number).unwrap_or(0);
        self.conversion = Conversion { shift: setting(1), mult: setting(2), zero: setting(3) };
        self.processor.cpuid_0x15 = [setting(13) as u32, setting(12) as u32];
        self.processor.nom_freq = setting(15) as u8;
        let mask = setting(11);
        let of_pmu = |at: &usize| attributes.u32(*at).map(u64::from) == Some(setting(0));
        let config = attributes.attributes().find(of_pmu).and_then(|at| attributes.u64(at + 8)).unwrap_or(0);
        if mask != 0 {
            self.processor.mtc_freq = ((config & mask) >> mask.trailing_zeros()) as u8;
        }
    }

    /// Takes a trace's next piece, which follows its record. Returns where the next record is.
    fn trace(&self, record: &Bytes<'_>, bytes: &[u8], at: usize, queues: &mut BTreeMap<u32, Trace>) -> usize {
        let Some((size, queue)) = record.u64(8).zip(record.u32(32)) else { return bytes.len() };
        let whole = at.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        let end = whole.min(bytes.len());
        let number = |at: usize| record.u32(at).filter(|&number| number != NO_THREAD);
        let trace = queues.entry(queue).or_insert_with(|| Trace {
            tid: number(36),
            cpu: number(40),
            bytes: Vec::new(),
            cut: 0,
        });
        trace.cut += (whole - end) as u64;
        trace.bytes.extend_from_slice(bytes.get(at..end).unwrap_or_default());
        end
    }

    fn mapping(&mut self, kind: u32, record: &Bytes<'_>) {
        let (Some(pid), Some(tid)) = (record.u32(8), record.u32(12)) else { return };
        let name_at = match kind {
            kind::MMAP => 40,
            kind::MMAP2 => 72,
            kind::COMM => {
                self.processes.insert(tid, pid);
                return;
            }
            kind::FORK => {
                if let Some(tid) = record.u32(16) {
                    self.processes.insert(tid, pid);
                }
                return;
            }
            _ => return,
        };
        self.processes.insert(tid, pid);
        let (Some(address), Some(length), Some(offset)) = (record.u64(16), record.u64(24), record.u64(32)) else {
            return;
        };
        let name = record.0.get(name_at..).and_then(|text| text.split(|&byte| byte == 0).next()).unwrap_or_default();
        if pid != NO_THREAD && name.starts_with(b"/") {
            let path = PathBuf::from(String::from_utf8_lossy(name).into_owned());
            self.mappings.push(Mapping { pid, address, length, offset, path });
        }
    }

    /// The feature section that names the processor: `GenuineIntel,6,85,7`.
    fn cpuid(&mut self, all: &Bytes<'_>, features: usize) {
        let Some(bits) = all.u64(72).filter(|bits| bits & 1 << FEATURE_CPUID != 0) else { return };
        let before = (bits & ((1 << FEATURE_CPUID) - 1)).count_ones() as usize;
        let text = all
            .u64(features.saturating_add(16 * before))
            .and_then(|at| all.0.get(usize::try_from(at).ok()?.checked_add(4)?..));
        let text = text.and_then(|text| text.split(|&byte| byte == 0).next()).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(..64.min(text.len())).unwrap_or_default()).into_owned();
        let mut words = text.split(',');
        if words.next() != Some("GenuineIntel") {
            return;
        }
        let mut number = || words.next().and_then(|word| word.parse::<u16>().ok()).unwrap_or(0);
        let (family, model, stepping) = (number(), number(), number());
        self.processor =
            Processor { vendor: 1, family, model: model as u8, stepping: stepping as u8, ..self.processor };
    }

    /// The process that a trace is of: its thread's, or the only one there is. A CPU's trace in which several ran has that of
    /// most mappings.
    pub fn process_of(&self, trace: &Trace) -> Option<u32> {
        if let Some(tid) = trace.tid {
            return Some(self.processes.get(&tid).copied().unwrap_or(tid));
        }
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        self.mappings.iter().for_each(|mapping| *counts.entry(mapping.pid).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(pid, _)| pid)
    }

    /// The code of a process.
    pub fn code_of(&self, pid: u32) -> MappedCode {
        let mappings = self.mappings.iter().filter(|mapping| mapping.pid == pid).cloned().collect();
        MappedCode { mappings, files: RefCell::default() }
    }
}

/// Numbers at places; none beyond the end.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    fn range(&self, range: std::ops::Range<usize>) -> Bytes<'b> {
        Bytes(self.0.get(range.start..range.end.min(self.0.len())).unwrap_or_default())
    }

    /// Where each attribute of events begins: `struct perf_event_attr`, its size in its second word, and a section of ids.
    fn attributes(&self) -> impl Iterator<Item = usize> + '_ {
        let next = |at: &usize| {
            let size = self.u32(at + 4).filter(|&size| size >= 64)? as usize;
            at.checked_add(size + 16).filter(|&next| next < self.0.len())
        };
        std::iter::successors(Some(0), next)
    }
}

/// A process's code, read from its files as they are now.
pub struct MappedCode {
    mappings: Vec<Mapping>,
    files: RefCell<HashMap<PathBuf, Option<File>>>,
}

impl MappedCode {
    /// The file that `address` is in, and where in it: of mappings that overlap, the last one's.
    pub fn place(&self, address: u64) -> Option<(&Path, u64)> {
        let within = |mapping: &Mapping| address.checked_sub(mapping.address).filter(|&bytes| bytes < mapping.length);
        let (mapping, bytes) = self.mappings.iter().rev().find_map(|mapping| Some((mapping, within(mapping)?)))?;
        Some((&mapping.path, bytes.checked_add(mapping.offset)?))
    }
}

impl Code for MappedCode {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let Some((path, offset)) = self.place(address) else { return 0 };
        let mut files = self.files.borrow_mut();
        let file = files.entry(path.to_owned()).or_insert_with(|| open_regular(path).ok());
        file.as_ref().and_then(|file| file.read_at(buffer, offset).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_beyond_all_memory_holds_what_lies_behind_its_begin() {
        let mapping = Mapping { pid: 1, address: u64::MAX - 9, length: 100, offset: 7, path: "/code".into() };
        let code = MappedCode { mappings: vec![mapping], files: RefCell::default() };
        assert_eq!(code.place(u64::MAX), Some((Path::new("/code"), 16)));
        assert_eq!(code.place(0), None, "it does not go on at the begin");
    }
}
