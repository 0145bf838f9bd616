//! Attaches the hooks of what delays threads: some are tracepoints, some perf events of page faults.

use std::os::fd::IntoRawFd;

use libbpf_rs::{Link, Object, ProgramType};

use dwell_model::{Notice, notice};

use crate::error::{Error, Result};
use crate::kernel::loading;
use crate::kernel::perf::{self, Fault};
use crate::machine;

/// Attaches the programs that are loaded. Returns with the links a notice of what could not be.
pub fn attach(object: &Object) -> Result<(Vec<Link>, Option<Notice>)> {
    let mut links = loading::attach(object)?;
    let mut notice = None;
    for program in loading::loaded(object).filter(|program| program.prog_type() == ProgramType::PerfEvent) {
        let failed = |source| Error::Bpf { what: format!("attaching {}", program.name().to_string_lossy()), source };
        let fault = if program.name() == "on_major_fault" { Fault::Major } else { Fault::Minor };
        for cpu in machine::online() {
            match perf::page_faults(cpu, fault) {
                Ok(fd) => links.push(program.attach_perf_event(fd.into_raw_fd()).map_err(failed)?),
                Err(error) => notice = Some(notice!(FAULTS_UNSEEN, error = error)),
            }
        }
    }
    Ok((links, notice))
}
