//! What the kernel's accounts say of each thread: what it read and wrote, and how it is scheduled.

use dwell_store::raw::wire::ThreadAccountRecord;

/// What the kernel's accounts say of a thread.
#[derive(Debug, Default)]
pub struct ThreadAccounts {
    /// Before it was taken in; none of a thread that came later, or is not known of yet.
    before: Option<IoCounts>,
    /// So far.
    so_far: IoCounts,
    /// How it is scheduled, as it was at last.
    scheduling: Scheduling,
}

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Its policy, as sched(7) numbers them.
    pub policy: u8,
    /// Its nice value.
    pub nice: i32,
    /// On how many CPUs it may run; 0 = on all.
    pub cpus_allowed: u32,
}

/// Calls and bytes: read, written.
#[derive(Clone, Copy, Debug, Default)]
struct IoCounts {
    calls: [u64; 2],
    bytes: [u64; 2],
}

impl ThreadAccounts {
    /// Of a thread that was there before (then what comes first is what it did before), or is new.
    pub fn new(was_there: bool) -> Self {
        Self { before: (!was_there).then(IoCounts::default), ..Self::default() }
    }

    /// The kernel's account now.
    pub fn add(&mut self, record: &ThreadAccountRecord) {
        self.so_far =
            IoCounts { calls: [record.read_calls, record.write_calls], bytes: [record.read_bytes, record.write_bytes] };
        self.before.get_or_insert(self.so_far);
        self.scheduling = Scheduling {
            policy: u8::try_from(record.policy).unwrap_or_default(),
            nice: record.nice,
            cpus_allowed: record.cpus_allowed,
        };
    }

    /// How it was scheduled at last; as most threads are where nothing is known.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// Calls and bytes of one direction: 0 read, 1 written.
    pub fn counted(&self, direction: usize) -> (u64, u64) {
        let before = self.before.unwrap_or_default();
        let since = |so_far: [u64; 2], before: [u64; 2]| so_far[direction].saturating_sub(before[direction]);
        (since(self.so_far.calls, before.calls), since(self.so_far.bytes, before.bytes))
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn account(write_calls: u64, write_bytes: u64) -> ThreadAccountRecord {
        ThreadAccountRecord { write_calls, write_bytes, ..ThreadAccountRecord::zeroed() }
    }

    #[test]
    fn how_a_thread_is_scheduled_is_what_it_was_at_last() {
        let mut thread = ThreadAccounts::new(true);
        assert_eq!(thread.scheduling(), Scheduling::default());
        thread.add(&ThreadAccountRecord { policy: 5, nice: 19, cpus_allowed: 1, ..account(0, 0) });
        assert_eq!(thread.scheduling(), Scheduling { policy: 5, nice: 19, cpus_allowed: 1 });
        thread.add(&account(0, 0));
        assert_eq!(thread.scheduling(), Scheduling::default());
    }

    #[test]
    fn what_a_thread_wrote_before_it_was_taken_in_does_not_count() {
        let mut new = ThreadAccounts::new(false);
        new.add(&account(7, 70));
        assert_eq!((new.counted(0), new.counted(1)), ((0, 0), (7, 70)));
        let mut there = ThreadAccounts::new(true);
        assert_eq!(there.counted(1), (0, 0));
        there.add(&account(7, 70));
        assert_eq!(there.counted(1), (0, 0));
        there.add(&account(10, 150));
        assert_eq!(there.counted(1), (3, 80));
        there.add(&account(1, 1));
        assert_eq!(there.counted(1), (0, 0), "a lie");
    }
}
