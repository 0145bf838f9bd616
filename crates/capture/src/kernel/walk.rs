//! BPF programs that user space runs: each walks over something of the kernel's, and writes what it finds itself.

use std::io::{ErrorKind, Read};

use libbpf_rs::{Iter, Object, ProgramInput};

use crate::error::{Error, Result};

/// Runs program `name` of loaded hooks over the threads or open files of all processes.
pub fn walk(object: &Object, name: &str) -> Result<()> {
    let failed = |source| Error::Bpf { what: format!("the walk {name}"), source };
    let _raised = dwell_rights::raise(&[dwell_rights::BPF]);
    let Some(program) = object.progs_mut().find(|program| program.name() == name) else { return Ok(()) };
    let link = program.attach().map_err(failed)?;
    let mut walk = Iter::new(&link).map_err(failed)?;
    let mut nothing = [0; 64];
    loop {
        match walk.read(&mut nothing) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // The kernel comes back now and then from a long walk that writes nothing.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(source) => return Err(Error::System { what: "walking what the kernel has", source }),
        }
    }
}

/// Runs program `name` of loaded hooks once, with the bytes of the structure that it takes.
pub fn run(object: &Object, name: &str, context: &mut [u8]) -> Result<()> {
    let _raised = dwell_rights::raise(&[dwell_rights::BPF]);
    let Some(program) = object.progs_mut().find(|program| program.name() == name) else { return Ok(()) };
    let input = ProgramInput { context_in: Some(context), ..ProgramInput::default() };
    let ran = program.test_run(input).map_err(|source| Error::Bpf { what: format!("the run of {name}"), source })?;
    debug_assert_eq!(ran.return_value, 0);
    Ok(())
}
