//! The stacks of threads that wait, as they stand now: taken when somebody asks, without recording anything.

use std::fs;
use std::path::PathBuf;

use dwell_store::raw::wire::RegistersRecord;
use dwell_unwind::{Mapping, parse_maps};

use super::by_bpf::ByBpf;
use crate::error::Result;
use crate::stacks::unwinding::UnwindTables;
use crate::stacks::waiting;

/// How often a thread is tried that moves while its stack is walked.
const TRIES: usize = 4;

/// The stack of a thread.
#[derive(Clone, Debug, Default)]
pub struct StandingStack {
    /// Its user code, the innermost function first; `None` where the thread ran, or runs on meanwhile.
    pub user: Option<Vec<StandingFrame>>,
    /// Whether the user stack goes to the thread's first function.
    pub is_complete: bool,
    /// The kernel's functions, the innermost first; empty where it has none, or this user may not see them.
    pub kernel: Vec<String>,
}

/// A place in user code.
#[derive(Clone, Debug)]
pub struct StandingFrame {
    /// The file, as the process names it; `None` for code that was made at run time.
    pub file: Option<PathBuf>,
    /// Place in the file, else in memory: of a caller, within its call.
    pub offset: u64,
}

/// The stacks of these threads, each a process and a thread id. Fails where this process may load no BPF programs: only they tell
/// all registers of a thread that is not stopped.
pub fn standing_stacks(threads: &[(u32, u32)]) -> Result<Vec<StandingStack>> {
    let mut unwinding = UnwindTables::in_user_space();
    let mut stacks = vec![StandingStack::default(); threads.len()];
    for _ in 0..TRIES {
        let registers = ByBpf::registers()?;
        for (&(pid, tid), stack) in threads.iter().zip(&mut stacks).filter(|(_, stack)| stack.user.is_none()) {
            stack.kernel = kernel_stack(pid, tid);
            let found = registers.iter().find(|it| it.tgid == pid && it.h.tid == tid);
            let user = found.map(|found| user_stack(found, &mut unwinding)).transpose()?.flatten();
            if let Some((user, is_complete)) = user {
                (stack.user, stack.is_complete) = (Some(user), is_complete);
            }
        }
        if stacks.iter().all(|stack| stack.user.is_some()) {
            break;
        }
    }
    Ok(stacks)
}

fn user_stack(registers: &RegistersRecord, unwinding: &mut UnwindTables) -> Result<Option<(Vec<StandingFrame>, bool)>> {
    let pid = registers.tgid;
    unwinding.read_process(pid, true)?;
    unwinding.catch_up_with(pid)?;
    let Some((header, frames)) = waiting::stack(registers, unwinding) else { return Ok(None) };
    let maps = parse_maps(pid, &fs::read(format!("/proc/{pid}/maps")).unwrap_or_default());
    let placed = frames.iter().enumerate().map(|(depth, &ip)| frame(&maps, ip.saturating_sub(u64::from(depth > 0))));
    Ok(Some((placed.collect(), header.end == dwell_model::StackEnd::Complete as u8)))
}

fn frame(maps: &[Mapping], ip: u64) -> StandingFrame {
    let holds = |it: &&Mapping| ip.checked_sub(it.start).is_some_and(|offset| offset < it.length);
    match maps.iter().find(holds).filter(|it| it.path.is_absolute()) {
        Some(it) => {
            StandingFrame { file: Some(it.path.clone()), offset: (ip - it.start).saturating_add(it.file_offset) }
        }
        None => StandingFrame { file: None, offset: ip },
    }
}

/// `[<0>] futex_wait_queue+0x60/0x90` of `/proc/PID/task/TID/stack`, which only root may read.
fn kernel_stack(pid: u32, tid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stack")).unwrap_or_default();
    let name = |line: &str| Some(line.split_once("] ")?.1.split('+').next()?.to_owned());
    text.lines().filter_map(name).filter(|name| !name.starts_with("0x")).collect()
}
