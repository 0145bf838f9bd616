//! What the work on an item may take, and how a process is held to it.

use std::fs::{self, File};
use std::io;
use std::time::Duration;

use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};

/// What the work on items may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory of each process, beyond what the one that asked has.
    pub memory_bytes: u64,
    /// Stack of the work on an item.
    pub stack_bytes: usize,
    /// Largest answer, as bytes on a pipe.
    pub answer_bytes: usize,
    /// For an item.
    pub time_per_item: Duration,
    /// For all items.
    pub time_in_all: Duration,
    /// How many are at work at the same time.
    pub processes: usize,
}

/// Files may be mapped beside the memory, so many times as much: those of debug information may be larger than what is made of
/// them.
const MAPPED_TIMES: u64 = 8;
const PAGE: u64 = 4096;

/// Makes this process end with the one that forked it, `parent`; leave no file of its memory, which has what its reader found,
/// and its parent's; and get an error for memory beyond `memory_bytes`.
pub fn hold(memory_bytes: u64, parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(parent) {
        return Err(io::ErrorKind::NotFound.into()); // it ended before that
    }
    // The limit alone would not keep the memory from a program that the kernel hands it to.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    limit(Resource::Core, 0)?;
    let (all, data) = sizes()?;
    limit(Resource::Data, data.saturating_add(memory_bytes))?;
    limit(Resource::As, all.saturating_add(memory_bytes.saturating_mul(MAPPED_TIMES)))?;
    // What the run-time library says of a crash is no message of the program's.
    let null = File::open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let before = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    Ok(setrlimit(resource, Rlimit { current: lower(before.current), maximum: lower(before.maximum) })?)
}

/// Bytes of all that is mapped, and of what is this process's own to write.
fn sizes() -> io::Result<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages = |place: usize| text.split_whitespace().nth(place).and_then(|word| word.parse::<u64>().ok());
    pages(0).zip(pages(5)).map(|(all, data)| (all * PAGE, data * PAGE)).ok_or(io::ErrorKind::InvalidData.into())
}
