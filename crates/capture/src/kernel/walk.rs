//! BPF programs that user space runs: each walks over something of the kernel's, and writes what it finds itself.

use std::io::{ErrorKind, Read};

use libbpf_rs::{Iter, Link, Object, ProgramInput};

use crate::error::{Error, Result};

/// What the kernel hands out at once (bpf_seq_read, kernel/bpf/bpf_iter.c).
const READ_BYTES: usize = 64 << 10;

/// Runs program `name` of loaded hooks over the threads or open files of all processes.
pub fn walk(object: &Object, name: &str) -> Result<()> {
    written(object, name).map(drop)
}

/// The same; gives what it writes.
pub fn written(object: &Object, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let failed = |source| Error::Bpf { what: format!("the walk {name}"), source };
    let _raised = dwell_rights::raise(&[dwell_rights::BPF]);
    let Some(program) = object.progs_mut().find(|program| program.name() == name) else { return Ok(bytes) };
    let link = program.attach().map_err(failed)?;
    read(&link, &mut bytes)?;
    Ok(bytes)
}

/// Runs an attached program over the threads or open files of all processes, and adds what it writes to `bytes`.
pub fn read(link: &Link, bytes: &mut Vec<u8>) -> Result<()> {
    let _raised = dwell_rights::raise(&[dwell_rights::BPF]);
    let mut walk = Iter::new(link).map_err(|source| Error::Bpf { what: "a walk".into(), source })?;
    loop {
        let end = bytes.len();
        bytes.resize(end + READ_BYTES, 0);
        let read = walk.read(&mut bytes[end..]);
        bytes.truncate(end + read.as_ref().copied().unwrap_or(0));
        match read {
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
