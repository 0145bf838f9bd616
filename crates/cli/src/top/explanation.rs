//! What a row waits for, who has it, and what that one does: one line, as the summary of a collection has it.

use std::collections::HashMap;

use dwell_capture::{WaitTarget, on_descriptor, on_futex};
use dwell_live::{Interval, Row, Standing, ThreadActivity, Top, WaitKind, WaitedFor};
use dwell_model::{CallKind, ObjectType, Syscall};

/// Holders of holders that are followed.
const DEEPEST: usize = 4;

/// The threads of an interval, by their ids.
pub struct Threads<'i> {
    by_id: HashMap<u32, &'i ThreadActivity>,
}

/// What a row waits for most.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    /// What it is called.
    pub object: String,
    /// Its type.
    pub object_type: Option<ObjectType>,
    /// Who has it: name and thread id.
    pub holder: String,
    /// A sentence.
    pub text: String,
}

impl<'i> Threads<'i> {
    /// Those of `interval`.
    pub fn of(interval: &'i Interval) -> Self {
        Self { by_id: interval.threads.iter().map(|thread| (thread.last.tid, thread)).collect() }
    }

    /// The name of a thread's process: that of its first thread.
    pub fn process_name(&self, thread: &ThreadActivity) -> String {
        let first = self.by_id.get(&thread.last.pid).filter(|first| first.last.pid == thread.last.pid);
        first.copied().unwrap_or(thread).name()
    }

    /// What a row waits for, as it stands now.
    pub fn explain(&self, row: &Row<'_>) -> Explained {
        let Some(Top { waited_for, thread, .. }) = row.top else { return Explained::default() };
        // What it waited for before cannot be looked up any more.
        let target = self.target(thread, waited_for, thread.standing() == Standing::Waiting(waited_for));
        let text = match waited_for.kind {
            _ if row.sums.runnable_ns > row.blocked_ns() && row.sums.runnable_ns > row.sums.running_ns / 4 => {
                "ready, but other threads have the CPUs".to_owned()
            }
            WaitKind::Condition if target.object_type == ObjectType::Futex => String::new(),
            WaitKind::Sleep | WaitKind::Poll | WaitKind::Child | WaitKind::Signal => String::new(),
            _ => self.sentence(thread, &target, 0),
        };
        let holder = self.by_id.get(&target.holder).map(|holder| label(holder)).unwrap_or_default();
        Explained { object: target.name, object_type: Some(target.object_type), holder, text }
    }

    /// What a thread waited for, the longest first, with how long.
    pub fn targets(&self, thread: &ThreadActivity) -> Vec<(WaitedFor, u64, WaitTarget)> {
        let now = thread.standing();
        let target = |&(waited_for, ns): &(WaitedFor, u64)| {
            (waited_for, ns, self.target(thread, waited_for, now == Standing::Waiting(waited_for)))
        };
        thread.waited_for.iter().map(target).collect()
    }

    /// The thread of this id, those that have what it waits for now, and so on.
    pub fn with_holders(&self, tid: u32) -> Vec<&'i ThreadActivity> {
        let mut chain: Vec<&'i ThreadActivity> = Vec::new();
        let mut next = self.by_id.get(&tid).copied();
        while let Some(thread) =
            next.filter(|next| chain.len() <= DEEPEST && chain.iter().all(|it| it.last.tid != next.last.tid))
        {
            chain.push(thread);
            let Standing::Waiting(waited_for) = thread.standing() else { break };
            next = self.by_id.get(&self.target(thread, waited_for, true).holder).copied();
        }
        chain
    }

    /// The name of a thread, with its id; nothing for one that is not there.
    pub fn label(&self, tid: u32) -> Option<String> {
        self.by_id.get(&tid).map(|thread| label(thread))
    }

    /// `worker (12) waits for mutex 0x…, which boss (11) has: it sleeps`.
    fn sentence(&self, thread: &ThreadActivity, target: &WaitTarget, depth: usize) -> String {
        let waits = format!("{} waits for {}", label(thread), target.name);
        let Some(holder) = self.by_id.get(&target.holder).filter(|_| depth < DEEPEST) else { return waits };
        let has = match target.object_type {
            ObjectType::ThreadJoin => format!("{waits}, {}", label(holder)),
            _ => format!("{waits}, which {} has", label(holder)),
        };
        match holder.standing() {
            Standing::Running => format!("{has}: it runs"),
            Standing::Runnable => format!("{has}: it is in the run queue"),
            Standing::Waiting(waited_for) if waited_for.kind == WaitKind::Sleep => format!("{has}: it sleeps"),
            Standing::Waiting(waited_for) => {
                let next = self.target(holder, waited_for, true);
                format!("{has}; {}", self.sentence(holder, &next, depth + 1))
            }
        }
    }

    fn target(&self, thread: &ThreadActivity, waited_for: WaitedFor, is_now: bool) -> WaitTarget {
        let pid = thread.last.pid;
        let is_thread = |tid: u32| self.by_id.get(&tid).is_some_and(|it| it.last.pid == pid);
        match waited_for.kind {
            WaitKind::Lock | WaitKind::Condition
                if is_now && Syscall::kind_of(waited_for.syscall) == CallKind::Futex =>
            {
                on_futex(&thread.last, is_thread)
            }
            _ => target_of(pid, waited_for),
        }
    }
}

/// What a thread of process `pid` waited for, as far as its call and its descriptors tell.
pub fn target_of(pid: u32, waited_for: WaitedFor) -> WaitTarget {
    let named = |object_type, name: String| WaitTarget { object_type, name, holder: 0 };
    let call = || Syscall::name_of(waited_for.syscall);
    match waited_for.kind {
        WaitKind::Lock | WaitKind::Condition => named(ObjectType::Futex, format!("futex {:#x}", waited_for.object)),
        WaitKind::Network | WaitKind::Stream => on_descriptor(pid, waited_for.object as i32),
        WaitKind::Disk if waited_for.object != 0 => on_descriptor(pid, waited_for.object as i32),
        WaitKind::Disk => named(ObjectType::BlockIo, format!("a disk in {}", call())),
        WaitKind::PageFault => named(ObjectType::PageFault, "a page of its memory".into()),
        WaitKind::Poll => named(ObjectType::Event, call()),
        WaitKind::Sleep => named(ObjectType::Sleep, call()),
        WaitKind::Child => named(ObjectType::ChildProcess, "a child process".into()),
        WaitKind::Signal => named(ObjectType::Signal, "a signal".into()),
        WaitKind::Other if waited_for.syscall >= 0 => named(ObjectType::Unknown, call()),
        WaitKind::Other => named(ObjectType::Unknown, "(not seen)".into()),
    }
}

/// `worker (12)`.
pub fn label(thread: &ThreadActivity) -> String {
    format!("{} ({})", thread.name(), thread.last.tid)
}
