//! The clocks that sample running code: one of each thread of the targets, which passes on to what the thread creates.
//!
//! A clock of each CPU would wake idle CPUs, too, and ask virtual ones back from the hypervisor; a thread's own stands
//! still while the thread does not run, and Dwell costs CPUs that run other programs nothing.

use std::collections::HashSet;
use std::os::fd::IntoRawFd;

use libbpf_rs::{Link, Object};

use dwell_model::{Notice, notice};

use crate::kernel::perf;
use crate::programs::proc;

/// Looks at a process's threads at most so often: one that creates them without end is sampled by those seen so far.
const MOST_LOOKS: usize = 16;

/// The sampling program and its clocks. Dropping it ends them all.
pub struct Sampling {
    /// The loaded program.
    pub object: Object,
    interval_ns: u64,
    clocks: Vec<Link>,
}

impl Sampling {
    /// No thread is sampled yet.
    pub fn new(object: Object, interval_ns: u64) -> Self {
        Self { object, interval_ns, clocks: Vec::new() }
    }

    /// Samples the threads of `pids`, and all threads and processes that come of them. Err: what to tell of those that
    /// could not be.
    pub fn begin(&mut self, pids: &[u32]) -> Result<(), Notice> {
        let mut failed = 0;
        let mut reason = String::new();
        for &pid in pids {
            for error in self.begin_process(pid) {
                failed += 1;
                reason = error;
            }
        }
        if failed == 0 { Ok(()) } else { Err(notice!(THREADS_NOT_SAMPLED, threads = failed, error = reason)) }
    }

    /// Until a look finds no thread that was not there before: a thread without a clock passes none on.
    fn begin_process(&mut self, pid: u32) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut errors = Vec::new();
        for _ in 0..MOST_LOOKS {
            let new: Vec<u32> = proc::threads(pid).into_iter().filter(|&tid| seen.insert(tid)).collect();
            if new.is_empty() {
                break;
            }
            errors.extend(new.into_iter().filter_map(|tid| self.begin_thread(tid).err()));
        }
        errors
    }

    fn begin_thread(&mut self, tid: u32) -> Result<(), String> {
        let clock = match perf::sampling_clock(tid, self.interval_ns) {
            Ok(clock) => clock,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()), // it has ended
            Err(error) => return Err(perf::refusal(&error)),
        };
        let Some(program) = self.object.progs_mut().next() else { return Ok(()) };
        let link = program.attach_perf_event(clock.into_raw_fd());
        self.clocks.push(link.map_err(|error| error.to_string())?);
        Ok(())
    }
}
