//! The threads of a file: whose they are, what they are called, and what Dwell's records have told of them.

use std::collections::HashMap;

/// Bytes of a thread's name, with a zero at the end.
pub const NAME_BYTES: usize = 16;

/// Whether a thread is on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nothing has told.
    #[default]
    Unknown,
    /// On one.
    OnCpu,
    /// On none.
    OffCpu,
}

/// A thread that lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownThread {
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub name: [u8; NAME_BYTES],
    /// Whether Dwell's records have it.
    pub is_described: bool,
    /// Whether it is on a CPU.
    pub place: Place,
    /// When it began to end: it still runs for a while.
    pub ends_ns: Option<u64>,
    /// Its latest sample, where samples alone tell that threads run; 0 before the first.
    pub sampled_ns: u64,
    /// The CPU of that sample.
    pub cpu: u16,
}

/// A wake-up that its thread has not answered yet.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// When.
    pub time_ns: u64,
    /// By which thread; 0 where none did.
    pub tid: u32,
    /// In what context: one of `waker_context`.
    pub context: u8,
    /// Key of the waker's stack.
    pub stack: u64,
}

/// The threads that live.
#[derive(Debug, Default)]
pub struct KnownThreads {
    living: HashMap<u32, KnownThread>,
}

impl KnownThreads {
    /// The thread of this id, which there is from now on.
    pub fn of(&mut self, tid: u32, tgid: u32) -> &mut KnownThread {
        let thread = self.living.entry(tid).or_default();
        if thread.tgid == 0 {
            thread.tgid = if tgid == 0 || tgid == u32::MAX { tid } else { tgid };
        }
        thread
    }

    /// The thread of this id, if it is known.
    pub fn find(&mut self, tid: u32) -> Option<&mut KnownThread> {
        self.living.get_mut(&tid)
    }

    /// The thread is gone.
    pub fn remove(&mut self, tid: u32) -> Option<KnownThread> {
        self.living.remove(&tid)
    }

    /// Every thread, by id.
    pub fn take_all(&mut self) -> Vec<(u32, KnownThread)> {
        let mut all: Vec<_> = std::mem::take(&mut self.living).into_iter().collect();
        all.sort_by_key(|(tid, _)| *tid);
        all
    }
}

/// The name in `text`, cut to what a thread's name has room for.
pub fn name(text: &[u8]) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    let bytes = text.iter().take(NAME_BYTES - 1).take_while(|&&byte| byte != 0);
    name.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    name
}
