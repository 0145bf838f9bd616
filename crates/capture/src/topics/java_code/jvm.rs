//! One JVM: when its code is read, and where what was read goes.

use std::io;

use dwell_hotspot::{
    Bytecode, BytecodePlace, CodeCache, CodeRegion, EXPORTS, Error as CodeError, MethodLine, RemoteMemory, Scan,
};
use dwell_store::raw::wire::{BYTECODE_BITS, SwitchRecord, interpreted_method};
use dwell_store::{Folder, KeptFile};
use dwell_unwind::Row;

use super::compiled::CompiledPlaces;
use super::frames::rows;
use super::locks::{JavaWait, JvmLocks};
use super::maps::JavaMaps;
use crate::clock::monotonic_ns;
use crate::kernel::perf::Mapping;
use crate::programs::memory::ProcessMemory;
use crate::topics::code_log::CodeLog;
use crate::topics::exported_by_mapping::exported_by;
use crate::topics::interpreted::InterpretedFunctions;

/// Its code is read not sooner than this after the time before …
const SOONEST_NS: u64 = 50_000_000;
/// … and so rarely that reading takes at most one part in so many of one CPU's time.
const PART_OF_TIME: u64 = 100;

/// So long after its library was mapped, its description of itself may still be incomplete: the linker relocates it, then the
/// library's constructors fill it.
const BEGINS_NS: u64 = 5_000_000_000;

/// A region of code, and its rows.
pub type RegionRows = (CodeRegion, Vec<Row>);

/// See the module.
pub struct Jvm {
    memory: ProcessMemory,
    pid: u32,
    exports: [u64; EXPORTS.len()],
    /// None until the JVM has begun, and where it cannot be read.
    cache: Option<CodeCache>,
    log: Option<CodeLog>,
    /// Its locks, and the threads that wait for them.
    pub locks: JvmLocks,
    /// Methods that its interpreter runs.
    pub methods: InterpretedFunctions,
    /// Places in its compiled code.
    pub compiled: CompiledPlaces,
    /// When libjvm.so was mapped, then when its code was read last.
    read_ns: u64,
    due_ns: u64,
    mapped_ns: u64,
}

impl Jvm {
    /// The JVM whose library was mapped. Fails, with the reason, when the library does not export what is needed.
    pub fn of(mapping: &Mapping) -> Result<Self, String> {
        let header = &mapping.header;
        let exports = exports_of(mapping)?;
        Ok(Self {
            memory: ProcessMemory::of(header.h.tid).ok_or("it has no process id")?,
            pid: header.h.tid,
            exports,
            cache: None,
            log: None,
            locks: JvmLocks::default(),
            methods: InterpretedFunctions::default(),
            compiled: CompiledPlaces::default(),
            read_ns: header.h.time_ns,
            due_ns: 0,
            mapped_ns: header.h.time_ns,
        })
    }

    /// Whether its code should be read at `now_ns`.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Does not read it again.
    pub fn give_up(&mut self) {
        self.due_ns = u64::MAX;
        self.log = None;
    }

    /// Reads what code came and writes it into the log in `modules`. Returns the rows of each region where something changed. Fails,
    /// with the reason, when this can never be done.
    pub fn read(&mut self, modules: &Folder) -> Result<Vec<RegionRows>, String> {
        if self.due_ns == u64::MAX {
            return Ok(Vec::new());
        }
        let begun_ns = monotonic_ns();
        let was_open = self.cache.is_some();
        let scan = self.scan()?;
        let has_begun = scan.is_some();
        // New code ran at the earliest after the scan before, and dead code had not run for long.
        let since_ns = std::mem::replace(&mut self.read_ns, begun_ns);
        if let Some(scan) = &scan {
            self.compiled.scanned(&scan.regions, &scan.appeared);
        }
        let changed = scan.filter(|scan| !scan.appeared.is_empty() || scan.gone > 0);
        let mut all = Vec::new();
        if let Some(scan) = changed {
            self.write(&scan, since_ns, modules).map_err(|error| error.to_string())?;
            let blobs = || self.cache.iter().flat_map(CodeCache::blobs);
            all.extend(scan.regions.iter().map(|&region| (region, rows(region, blobs()))));
        }
        // The first reading finds the structures, which is dear, and one of a JVM that begins is cheap: its stacks need what comes next.
        let cost_ns = if was_open { monotonic_ns().saturating_sub(begun_ns) } else { 0 };
        let pause_ns = if has_begun { SOONEST_NS.max(cost_ns.saturating_mul(PART_OF_TIME)) } else { 0 };
        self.due_ns = begun_ns.saturating_add(pause_ns);
        Ok(all)
    }

    /// Names the methods that stacks showed, and writes them into the log in `modules`. Fails, with the reason, when this can never be
    /// done.
    pub fn name_methods(&mut self, modules: &Folder) -> Result<(), String> {
        let Some(cache) = self.cache.as_ref().filter(|_| self.due_ns != u64::MAX) else { return Ok(()) };
        if !self.methods.are_waiting() {
            return Ok(());
        }
        let named = self.methods.name(|frames| lines(cache, &mut self.memory, frames));
        if named.is_empty() {
            return Ok(());
        }
        self.log(modules).and_then(|log| log.add_functions(&named)).map_err(|error| error.to_string())
    }

    /// Writes the lines of the places in compiled code that stacks showed into the log in `modules`. Fails, with the reason, when this
    /// can never be done.
    pub fn log_compiled_calls(&mut self, modules: &Folder) -> Result<(), String> {
        let Some(cache) = self.cache.as_ref().filter(|_| self.due_ns != u64::MAX) else { return Ok(()) };
        let calls = self.compiled.new_calls(cache, &mut self.memory);
        if calls.is_empty() {
            return Ok(());
        }
        self.log(modules).and_then(|log| log.add_calls(&calls, monotonic_ns())).map_err(|error| error.to_string())
    }

    /// Looks at its threads if it is time, and says in `maps` where it keeps what they wait for. Fails, with the reason, when this
    /// can never be done.
    pub fn read_threads(&mut self, maps: &JavaMaps) -> Result<(), String> {
        let now_ns = monotonic_ns();
        if self.cache.is_none() || !self.locks.is_due(now_ns) {
            return Ok(());
        }
        let is_young = now_ns < self.mapped_ns.saturating_add(BEGINS_NS);
        match self.locks.look(&mut self.memory, &self.exports, self.pid, maps) {
            Err(error) if !is_young && !matches!(error, CodeError::Unreadable { .. }) => {
                self.locks.give_up();
                Err(error.to_string())
            }
            _ => Ok(()),
        }
    }

    /// What the trace says of a wait for one of its locks.
    pub fn wait(&mut self, wait: &SwitchRecord) -> JavaWait {
        self.locks.wait(&mut self.memory, self.pid, wait)
    }

    /// What came since the scan before; none while the JVM starts or ends.
    fn scan(&mut self) -> Result<Option<Scan>, String> {
        if self.cache.is_none() {
            match CodeCache::open(&mut self.memory, &self.exports) {
                Ok(cache) => self.cache = Some(cache),
                Err(CodeError::Unreadable { .. }) => return Ok(None),
                Err(_) if monotonic_ns() < self.mapped_ns.saturating_add(BEGINS_NS) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(self.cache.as_mut().and_then(|cache| cache.scan(&mut self.memory).ok()))
    }

    fn write(&mut self, scan: &Scan, since_ns: u64, modules: &Folder) -> io::Result<()> {
        if scan.appeared.is_empty() {
            return Ok(());
        }
        self.log(modules)?.add(&scan.appeared, since_ns)
    }

    /// Its log in `modules`, begun if there is none.
    fn log(&mut self, modules: &Folder) -> io::Result<&mut CodeLog> {
        let log = match self.log.take() {
            Some(log) => log,
            None => {
                let name = KeptFile::JitDump { tgid: self.pid, time_ns: self.mapped_ns }.file_name();
                CodeLog::begin(modules.create_file(&name)?, self.pid)?
            }
        };
        Ok(self.log.insert(log))
    }
}

/// The lines of frames of the interpreter.
fn lines(cache: &CodeCache, memory: &mut impl RemoteMemory, frames: &[u64]) -> Vec<Option<MethodLine>> {
    let place = |frame: &u64| {
        let (method, bits) = interpreted_method(*frame);
        let at = bits.map_or(Bytecode::Unknown, |bits| Bytecode::AddressBits { bits, mask: BYTECODE_BITS as u32 });
        BytecodePlace { method, at }
    };
    cache.lines(memory, &frames.iter().map(place).collect::<Vec<_>>())
}

/// The addresses of what libjvm.so exports, in its process.
fn exports_of(mapping: &Mapping) -> Result<[u64; EXPORTS.len()], String> {
    let found = exported_by(mapping, &EXPORTS)?;
    let missing = EXPORTS.iter().zip(&found).find(|(_, address)| address.is_none());
    if let Some((name, _)) = missing {
        return Err(format!("its libjvm.so does not export {name}"));
    }
    let addresses: Vec<u64> = found.into_iter().flatten().collect();
    addresses.try_into().map_err(|_| "its libjvm.so does not export what it should".to_owned())
}
