//! Which functions of JavaScript programs run, without a flag.
//! Takes the memory of processes that have mapped a program with V8 in it (Node.js); gives a log of their functions beside the result's
//! modules, in the form that runtimes write themselves (`jit-PID.dump`), and tells whoever walks stacks how frames tell their functions.
//! It does not understand V8's structures: the crate v8 does.

use std::collections::HashMap;

use dwell_hotspot::MethodLine;
use dwell_model::losses;
use dwell_store::raw::wire::interpreted_method;
use dwell_store::{Folder, KeptFile};
use dwell_v8::{Addresses, FunctionReader, Layout, chosen_exports, export_names};

use super::code_log::CodeLog;
use super::exported_by_mapping::exported_by;
use super::interpreted::InterpretedFunctions;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::kernel::perf::Mapping;
use crate::programs::memory::ProcessMemory;
use crate::programs::proc;
use crate::stacks::unwinding::UnwindTables;

/// Processes that are read at most.
const MOST_ENGINES: usize = 256;
/// So long after its file was mapped the description of the heap may still be missing: the loader fills it.
const BEGINS_NS: u64 = 5_000_000_000;
/// How the names of files with V8 in them begin.
const FILES: &[&str] = &["node", "libnode", "deno", "electron"];

/// The processes with V8 among the recorded ones.
#[derive(Default)]
pub struct JavaScript {
    engines: HashMap<u32, Engine>,
    /// Functions without a name, of processes that are gone, and what was not written.
    lost: u64,
}

/// V8 in one process.
struct Engine {
    memory: ProcessMemory,
    addresses: Addresses,
    /// None until its description of itself is there.
    reader: Option<FunctionReader>,
    functions: InterpretedFunctions,
    log: Option<CodeLog>,
    mapped_ns: u64,
}

impl JavaScript {
    /// A file was mapped executable into a recorded process.
    pub fn mapped(&mut self, mapping: &Mapping) {
        let pid = mapping.header.h.tid;
        if !may_have_v8(&mapping.path) || self.engines.contains_key(&pid) {
            return;
        }
        if self.engines.len() >= MOST_ENGINES {
            self.lost += 1;
            return;
        }
        // A program with such a name may have no V8, or one that does not describe itself.
        let found = exported_by(mapping, &export_names()).ok().and_then(|found| chosen_exports(&found).ok());
        if let Some((addresses, memory)) = found.zip(ProcessMemory::of(pid)) {
            let functions = InterpretedFunctions::default();
            let mapped_ns = mapping.header.h.time_ns;
            self.engines.insert(pid, Engine { memory, addresses, reader: None, functions, log: None, mapped_ns });
        }
    }

    /// Process `pid` runs a program since `time_ns`. Its own file was mapped before the kernel told that.
    pub fn runs(&mut self, pid: u32, time_ns: u64) {
        if may_have_v8(&proc::executable(pid)) {
            let mappings = proc::mappings(pid, time_ns);
            mappings.iter().for_each(|mapping| self.mapped(mapping));
        }
    }

    /// Process `tgid` runs another program, or none.
    pub fn forget(&mut self, tgid: u32) {
        self.lost += self.engines.remove(&tgid).map_or(0, |engine| engine.functions.unnamed());
    }

    /// Whether the functions in stacks of process `tgid` should be known.
    pub fn has(&self, tgid: u32) -> bool {
        self.engines.contains_key(&tgid)
    }

    /// A stack of process `tgid`, seen at `time_ns`: the functions in it will be named.
    pub fn saw(&mut self, tgid: u32, frames: &[u64], time_ns: u64) {
        if let Some(engine) = self.engines.get_mut(&tgid) {
            engine.functions.saw(frames, time_ns);
        }
    }

    /// Names the functions that stacks showed, writes them into the result's folder of modules, and makes processes known to
    /// whoever walks stacks.
    pub fn read(&mut self, modules: &Folder, unwinding: &mut UnwindTables) -> Result<()> {
        let mut given_up = Vec::new();
        for (&pid, engine) in &mut self.engines {
            let offset = engine.begin();
            if let Some(offset) = offset {
                unwinding.set_javascript(pid, offset)?;
            }
            let is_late = engine.reader.is_none() && monotonic_ns() > engine.mapped_ns.saturating_add(BEGINS_NS);
            if is_late || engine.name_functions(pid, modules).is_err() {
                given_up.push(pid);
            }
        }
        for pid in given_up {
            self.lost += 1;
            self.forget(pid);
        }
        Ok(())
    }

    /// What was not told: name and count, zeros left out.
    pub fn losses(&self) -> impl Iterator<Item = (String, u64)> {
        let unnamed = self.engines.values().map(|engine| engine.functions.unnamed()).sum::<u64>() + self.lost;
        (unnamed > 0).then(|| (losses::JAVASCRIPT_FUNCTIONS_UNNAMED.to_owned(), unnamed)).into_iter()
    }
}

impl Engine {
    /// Reads how the heap is laid out, once that is there. Returns where a function's description lies, when it is known first.
    fn begin(&mut self) -> Option<u32> {
        if self.reader.is_some() {
            return None;
        }
        let layout = Layout::read(&mut self.memory, &self.addresses)?;
        self.reader = Some(FunctionReader::new(layout));
        Some(layout.shared)
    }

    fn name_functions(&mut self, pid: u32, modules: &Folder) -> std::io::Result<()> {
        let Some(reader) = self.reader.as_mut().filter(|_| self.functions.are_waiting()) else { return Ok(()) };
        let memory = &mut self.memory;
        let line = |frame: &u64| {
            let name = reader.name(memory, interpreted_method(*frame).0)?;
            Some(MethodLine { name, ..MethodLine::default() }) // its file and line are parts of it
        };
        let named = self.functions.name(|frames| frames.iter().map(line).collect());
        if named.is_empty() {
            return Ok(());
        }
        let log = match self.log.take() {
            Some(log) => log,
            None => {
                let name = KeptFile::JitDump { tgid: pid, time_ns: self.mapped_ns }.file_name();
                CodeLog::begin(modules.create_file(&name)?, pid)?
            }
        };
        self.log.insert(log).add_functions(&named)
    }
}

fn may_have_v8(path: &[u8]) -> bool {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    FILES.iter().any(|file| name.starts_with(file.as_bytes()))
}
