//! Snapshots from `/proc`: of what this user may look at, and of each thread at its own time.

use std::fs;
use std::os::unix::fs::MetadataExt;

use bytemuck::Zeroable;
use dwell_store::raw::wire::{COMM_BYTES, TaskSnapshot, task_flag};

use crate::clock::{monotonic_ns, suspended_ns, ticks_per_second};
use crate::programs::proc;

/// Reads `/proc`.
pub struct ByProc {
    user: u32,
}

impl ByProc {
    pub fn new() -> Self {
        Self { user: rustix::process::geteuid().as_raw() }
    }

    /// Adds the threads of this user's processes to `tasks`; root's are all.
    pub fn take(&self, tasks: &mut Vec<TaskSnapshot>) {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for entry in entries {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let is_ours = self.user == 0 || entry.metadata().is_ok_and(|it| it.uid() == self.user);
            if is_ours {
                tasks.extend(proc::threads(pid).into_iter().filter_map(|tid| snapshot(pid, tid)));
            }
        }
    }
}

fn snapshot(pid: u32, tid: u32) -> Option<TaskSnapshot> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}"));
    let mut task = TaskSnapshot { pid, tid, syscall: -1, ..TaskSnapshot::zeroed() };
    read_stat(&read("stat").ok()?, &mut task)?;
    // Without CONFIG_SCHED_INFO there is none: then the run queue is not seen.
    read_schedstat(&read("schedstat").unwrap_or_default(), &mut task);
    read_call(&read("syscall").unwrap_or_default(), &mut task);
    task.switches = crate::stacks::waiting::switches(&read("status").unwrap_or_default()).unwrap_or(0);
    task.time_ns = monotonic_ns();
    Some(task)
}

/// proc_pid_stat(5): the name in parentheses, the state behind it, flags (9th), starttime (22nd).
fn read_stat(text: &str, task: &mut TaskSnapshot) -> Option<()> {
    let (begin, rest) = text.rsplit_once(") ")?;
    let name = begin.split_once('(')?.1.as_bytes();
    let kept = name.len().min(COMM_BYTES - 1);
    task.comm[..kept].copy_from_slice(&name[..kept]);
    let fields: Vec<&str> = rest.split(' ').collect();
    // As the kernel numbers them (include/linux/sched.h).
    (task.state, task.flags) = match *fields.first()? {
        "R" => (0, 0),
        "D" => (2, 0),
        "T" => (4, 0),
        "t" => (8, 0),
        "I" => (0x402, 0),
        "Z" | "X" => return None,
        _ => (1, 0),
    };
    task.parent = fields.get(1)?.parse().ok()?;
    const PF_KTHREAD: u64 = 0x0020_0000;
    if fields.get(6)?.parse::<u64>().ok()? & PF_KTHREAD != 0 {
        task.flags |= task_flag::KERNEL_THREAD;
    }
    let boot_ns = fields.get(19)?.parse::<u64>().ok()?.saturating_mul(1_000_000_000 / ticks_per_second());
    task.started_ns = boot_ns.saturating_sub(suspended_ns());
    Some(())
}

/// `RUNNING_NS RUNNABLE_NS SLICES`.
fn read_schedstat(text: &str, task: &mut TaskSnapshot) {
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
    (task.running_ns, task.runnable_ns) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
}

/// `running`, `-1 SP IP`, or the number of a call and its arguments.
fn read_call(text: &str, task: &mut TaskSnapshot) {
    let mut fields = text.split_whitespace();
    match fields.next() {
        Some("running") if task.state == 0 => task.flags |= task_flag::ON_CPU,
        Some(number) => {
            let Ok(number) = number.parse() else { return };
            task.syscall = number;
            let arguments = fields.filter_map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok());
            task.arguments.iter_mut().zip(arguments).for_each(|(to, from)| *to = from);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_as_proc_says() {
        let pid = std::process::id();
        let tasks = {
            let mut tasks = Vec::new();
            ByProc::new().take(&mut tasks);
            tasks
        };
        let own: Vec<_> = tasks.iter().filter(|task| task.pid == pid).collect();
        assert!(own.iter().any(|task| task.tid == pid), "{} threads", own.len());
        let now = monotonic_ns();
        assert!(own.iter().all(|task| task.started_ns < now && task.time_ns <= now));
    }

    #[test]
    fn fields_are_read() {
        let mut task = TaskSnapshot::zeroed();
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 500 0 0";
        assert_eq!(read_stat(stat, &mut task), Some(()));
        assert_eq!((&task.comm[..5], task.state, task.flags, task.parent), (&b"a) b\0"[..], 1, 0, 1));
        assert!(task.started_ns <= 5_000_000_000);
        read_schedstat("123 45 6\n", &mut task);
        read_call("202 0x10 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f12\n", &mut task);
        assert_eq!((task.running_ns, task.runnable_ns, task.syscall, task.arguments), (123, 45, 202, [16, 128, 2]));
        assert_eq!(read_stat("7 (gone) Z 1", &mut task), None);
    }
}
