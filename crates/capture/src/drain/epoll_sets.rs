//! When to look at the members of epoll sets: a set is seen when somebody first waits on it, and a client's connections come later.
//! It takes the sets that were seen; it says what each has whenever that has changed.

use crate::clock::monotonic_ns;
use crate::programs::descriptors::epoll_members;

/// How long after it was seen a set is looked at again, ns.
const LOOKS_NS: [u64; 6] = [20_000_000, 100_000_000, 500_000_000, 2_000_000_000, 10_000_000_000, 60_000_000_000];
/// Sets that are looked at again; the others are as they were at first.
const MOST_SETS: usize = 256;
/// So long one round looks at them, ns: the kernel's tables of sockets may be large. The others come in the next round.
const ROUND_NS: u64 = 10_000_000;

/// The sets of the profiled processes.
#[derive(Default)]
pub struct EpollSets {
    sets: Vec<EpollSet>,
    /// Before this time there is nothing to look at, ns.
    next_ns: u64,
}

struct EpollSet {
    pid: u32,
    fd: i32,
    key: u64,
    seen_ns: u64,
    looks: usize,
    members: Vec<u8>,
}

impl EpollSet {
    fn next_ns(&self) -> Option<u64> {
        LOOKS_NS.get(self.looks).map(|after| self.seen_ns.saturating_add(*after))
    }
}

impl EpollSets {
    /// A set of process `pid` was seen now: its members.
    pub fn seen(&mut self, (pid, fd, key): (u32, i32, u64), now_ns: u64) -> Vec<u8> {
        let members = epoll_members(pid, fd);
        if self.sets.len() < MOST_SETS {
            self.sets.push(EpollSet { pid, fd, key, seen_ns: now_ns, looks: 0, members: members.clone() });
            self.next_ns = self.next_ns.min(now_ns);
        }
        members
    }

    /// Process `pid` ended or runs another program: its sets are gone, and its id may be another's.
    pub fn forget(&mut self, pid: u32) {
        self.sets.retain(|set| set.pid != pid);
    }

    /// Looks at those whose time it is: process, key and members of each that has others than before.
    pub fn look_again(&mut self, now_ns: u64) -> Vec<(u32, u64, Vec<u8>)> {
        if now_ns < self.next_ns {
            return Vec::new();
        }
        let (mut changed, begun_ns) = (Vec::new(), monotonic_ns());
        for set in self.sets.iter_mut().filter(|set| set.next_ns().is_some_and(|next| next <= now_ns)) {
            set.looks += LOOKS_NS[set.looks..].iter().take_while(|after| set.seen_ns + **after <= now_ns).count();
            let members = epoll_members(set.pid, set.fd);
            if !members.is_empty() && members != set.members {
                changed.push((set.pid, set.key, members.clone()));
                set.members = members;
            }
            if monotonic_ns().saturating_sub(begun_ns) >= ROUND_NS {
                break;
            }
        }
        self.sets.retain(|set| set.next_ns().is_some());
        self.next_ns = self.sets.iter().filter_map(EpollSet::next_ns).min().unwrap_or(u64::MAX);
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::event::epoll;
    use rustix::pipe::pipe;

    use super::*;

    #[test]
    fn members_that_come_later_are_seen() {
        let set = epoll::create(epoll::CreateFlags::empty()).expect("a set");
        let (reader, _writer) = pipe().expect("a pipe");
        let mut sets = EpollSets::default();
        let at_first = sets.seen((std::process::id(), set.as_raw_fd(), 7), 1_000);
        assert!(at_first.is_empty());
        epoll::add(&set, &reader, epoll::EventData::new_u64(0), epoll::EventFlags::IN).expect("added");
        assert!(sets.look_again(2_000).is_empty(), "it is not yet time");
        let changed = sets.look_again(LOOKS_NS[0] + 1_000);
        assert!(matches!(&changed[..], [(_, 7, members)] if members.starts_with(b"pipe:")), "{changed:?}");
        assert!(sets.look_again(LOOKS_NS[1] + 1_000).is_empty(), "nothing has changed");
        let _ = sets.seen((1, 0, 8), 1_000);
        sets.forget(1);
        assert_eq!(sets.sets.iter().map(|set| set.key).collect::<Vec<_>>(), [7], "an id may be another's later");
        assert!(sets.look_again(LOOKS_NS[5] + 1_000).is_empty() && sets.sets.is_empty(), "it was the last look");
    }
}
