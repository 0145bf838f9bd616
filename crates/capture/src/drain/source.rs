//! What a collection asks of its source of records: BPF programs, or perf events that need no rights.
//!
//! Both write the same records. What only BPF can tell has a default here that tells nothing.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dwell_goroutines::ChangePoints;
use dwell_model::Notice;
use dwell_rights::Raised;
use dwell_store::raw::RecordBuffer;
use dwell_store::{DelayFacts, Rival};

use super::drained::EventSink;
use crate::error::{Error, Result};
use crate::kernel::perf::Mapping;
use crate::programs::keeper::FileKeeper;
use crate::stacks::unwinding::UnwindTables;
use crate::topics::java_code::JavaMaps;
use crate::topics::task_probes;
use crate::topics::value_probes::FoundValueProbe;

/// The processes that a collection begins with.
pub struct Targets<'t> {
    /// Their ids.
    pub pids: &'t [u32],
    /// The file of the program that the only one of them, a child, is still to run.
    pub program: Option<&'t Path>,
    /// Task probes to be set.
    pub probes: &'t task_probes::ProbePlaces,
    /// Probes with values to be set.
    pub value_probes: &'t [FoundValueProbe],
    /// The C libraries in which it is seen where locks are created.
    pub libraries: &'t [PathBuf],
}

impl Targets<'_> {
    /// Whether it is a child that is still to run its program.
    pub fn launching(&self) -> bool {
        self.program.is_some()
    }
}

/// What a collection asks of its source of records.
pub trait Source {
    /// What the manifest calls it.
    fn name(&self) -> &'static str;

    /// The writing end of the unwind tables, with those of the program that is still to run. To be asked for once.
    fn unwinding(&mut self) -> Result<UnwindTables>;

    /// From now on looks at each wait whether a thread of a JVM waits for a Java lock.
    fn read_java_locks(&mut self) -> Result<()> {
        Ok(())
    }

    /// The writing end of what is known of JVMs; `None` where nothing reads it.
    fn java_maps(&self) -> Result<Option<JavaMaps>> {
        Ok(None)
    }

    /// Hands records to `drained` from now on.
    fn connect(&mut self, drained: &Rc<RefCell<EventSink>>) -> Result<()>;

    /// What becomes readable when a round should not wait.
    fn wakers(&self) -> Vec<BorrowedFd<'_>>;

    /// Hands out what came until `now_ns`, CLOCK_MONOTONIC, or everything `at_end`. Returns the time up to which nothing more
    /// will come.
    fn drain(&mut self, mappings: &mut Vec<Mapping>, now_ns: u64, at_end: bool) -> Result<u64>;

    /// Second half of a round: what rests on the unwind tables, which by now know all that was mapped. Returns the time up to
    /// which all records have been handed out.
    fn settle(&mut self, _: &mut UnwindTables, _: &mut FileKeeper, drained_ns: u64) -> Result<u64> {
        Ok(drained_ns)
    }

    /// Tells the state of every thread of the targets, with new ones taken in.
    fn seed(&mut self) -> Result<()>;

    /// Takes processes in that join the targets and run already. Whether it can.
    fn take_in(&mut self, _: &[u32]) -> Result<bool> {
        Ok(false)
    }

    /// Lets go of the rights that were raised to start, as far as the source can be read without them.
    fn lower(&self, raised: Raised) {
        drop(raised);
    }

    /// Describes stacks, objects and functions anew to which events refer from now on. Returns the time before which what was
    /// told is needed only by events until now: 0 where everything is told once.
    fn describe_again(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// Pauses or resumes recording.
    fn set_paused(&mut self, paused: bool) -> Result<()>;

    /// The loss counters that are not zero.
    fn losses(&self) -> Vec<(String, u64)>;

    /// What the reader of the result should know.
    fn take_notices(&mut self) -> Vec<Notice>;

    /// What the kernel said of hooks that it refused.
    fn log(&self) -> &str {
        ""
    }

    /// Whether it hands out what processes map.
    fn sees_mappings(&self) -> bool {
        true
    }

    /// Writes what is new of sockets, when it is time.
    fn read_sockets(&mut self, _: &mut RecordBuffer, _: u64, _: bool) {}

    /// Writes how many connections were opened, when it is time.
    fn read_connects(&mut self, _: &mut RecordBuffer, _: u64, _: bool) {}

    /// Writes how many requests wait for their answers, when it is time.
    fn read_open_requests(&mut self, _: &mut RecordBuffer, _: u64) {}

    /// Writes what threads counted of events (`--events`) that still live, at the end.
    fn write_event_counts(&mut self, _: &mut RecordBuffer, _: u64) {}

    /// Records what threads that still live have read and written, at the end.
    fn read_accounts(&mut self) {}

    /// Hits of each of the first `count` probes with values that did not meet its condition.
    fn rejections(&self, _: usize) -> Vec<u64> {
        Vec::new()
    }

    /// The programs that ran while profiled threads were ready, the longest first, where they are seen.
    fn rivals(&self) -> Vec<Rival> {
        Vec::new()
    }

    /// The highest real-time priority of a profiled thread so far, 1 to 99; 0 when there was none, or where it is not seen.
    fn urgency(&self) -> u32 {
        0
    }

    /// System calls of the whole machine so far, where they are counted.
    fn system_calls(&self) -> Option<u64> {
        None
    }

    /// Notes where programs ask for work through the library at this path.
    fn set_stitching(&mut self, _: &Path) {}

    /// Records each change of state of the goroutines of the program in file `path` from now on.
    fn watch_goroutines(&mut self, _path: &Path, _: &ChangePoints) -> Result<()> {
        Err(Error::NeedsBpf { what: "--fibers exact".into(), reason: "perf events are recorded".into() })
    }

    /// Whether what delays threads while they run is seen; `None` if this source cannot see it.
    fn sees_running(&self) -> Option<bool> {
        None
    }

    /// Sees it from now on, or no more.
    fn see_running(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    /// What of this machine explains delays.
    fn take_delays(&mut self) -> DelayFacts {
        DelayFacts::default()
    }
}
