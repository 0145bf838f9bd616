//! The maps in which the hooks find the unwind tables of the profiled programs.

use std::collections::HashMap;
use std::path::Path;

use libbpf_rs::MapHandle;

use crate::error::{Error, Result};
use crate::stacks::unwinding::{InterpreterMaps, UnwindTables};

/// The writing end of the unwind tables in the `shared` maps, with those of `program`: the kernel waits some 10 ms for each map of
/// their words.
pub fn unwinding(shared: &HashMap<String, MapHandle>, program: Option<&Path>) -> Result<UnwindTables> {
    let map = |name: &str| {
        let map = shared.get(name).ok_or_else(|| Error::unsupported(format!("no map {name}")))?;
        MapHandle::try_from(map).map_err(|source| Error::Bpf { what: format!("opening map {name}"), source })
    };
    let interpreters =
        InterpreterMaps { processes: map("interpreter_processes")?, in_use: map("interpreters_in_use")? };
    let mut unwinding = UnwindTables::new(map("unwind_processes")?, map("unwind_words")?, interpreters);
    program.map_or(Ok(()), |program| unwinding.prepare(program))?;
    Ok(unwinding)
}
