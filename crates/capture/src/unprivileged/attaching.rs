//! Takes in processes that run already: their threads, and what these do.

use std::collections::HashSet;
use std::io::ErrorKind;

use bytemuck::{Zeroable, bytes_of};
use dwell_store::raw::wire::{RecordHeader, RegistersRecord, THREAD_SEEDED, ThreadNewRecord, kind};

use super::objects::DescriptorUser;
use super::opening::check_yours;
use super::proc_syscall::{self, SyscallState};
use super::record::Stamp;
use super::recording::Unprivileged;
use super::stacks;
use super::threads::Thread;
use crate::clock::monotonic_ns;
use crate::drain::drained::take_record;
use crate::error::Result;
use crate::programs::proc;
use crate::stacks::waiting;

/// Looks at a process's threads at most so often: one that creates them without end is recorded by those seen so far.
const MOST_LISTINGS: usize = 16;

impl Unprivileged {
    /// Takes in a process that runs already: its threads, and all that they create. Until a look finds no thread that was not
    /// there before: one without events passes none on.
    pub(super) fn attach(&mut self, pid: u32) -> Result<()> {
        let mut seen = HashSet::from([self.first]);
        self.processes.attach(pid);
        let mut threads = proc::threads(pid);
        for _ in 0..MOST_LISTINGS {
            let new: Vec<u32> = threads.into_iter().filter(|&tid| seen.insert(tid)).collect();
            if new.is_empty() {
                break;
            }
            new.into_iter().for_each(|tid| self.events.add(tid));
            threads = proc::threads(pid);
        }
        check_yours(pid, self.own_only)?;
        for tid in proc::threads(pid) {
            self.seed_thread(pid, tid);
        }
        Ok(())
    }

    /// Tells of a thread that is there, and what it does. Its stack is walked at once by whoever called, if it stands still.
    fn seed_thread(&mut self, tgid: u32, tid: u32) {
        let folder = format!("/proc/{tgid}/task/{tid}");
        let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
        let mut name = [0; 16];
        let comm = read("comm");
        name.iter_mut().zip(comm.trim_end().bytes().take(15)).for_each(|(to, from)| *to = from);
        let switches = waiting::switches(&read("status")).unwrap_or(0);
        let looked = std::fs::read_to_string(format!("{folder}/syscall"));
        if looked.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            self.states_hidden += 1;
        }
        let place = SyscallState::parse(&looked.unwrap_or_default());
        let stamp = Stamp { tgid, tid, time_ns: monotonic_ns(), cpu: u16::MAX };
        let h = RecordHeader {
            kind: kind::THREAD_NEW,
            size: size_of::<ThreadNewRecord>() as u16,
            tid,
            time_ns: stamp.time_ns,
        };
        let born = ThreadNewRecord { h, tgid, flags: THREAD_SEEDED, comm: name, ..ThreadNewRecord::zeroed() };
        let mut thread = Thread::new(tgid, name);
        self.with_drained(|source, drained| {
            take_record(drained, bytes_of(&born));
            let user = DescriptorUser { tgid, tid, time_ns: stamp.time_ns };
            let call = place.as_ref().and_then(|place| place.call);
            let target = call.map(|call| {
                proc_syscall::target(&mut source.objects, user, &call, &mut |bytes| take_record(drained, bytes))
            });
            let stack = place.as_ref().map_or(0, |place| {
                let key = stacks::mix(stacks::mix(stamp.time_ns, tid.into()), place.ip) | 1 << 63;
                let h = RecordHeader { kind: kind::REGISTERS, size: 0, tid, time_ns: stamp.time_ns };
                drained.waiting.push(RegistersRecord { h, key, switches, tgid, ..place.registers() });
                key
            });
            thread.stands(stamp, place.map(|place| place.call), target.unwrap_or_default(), stack);
            source.threads.insert(tid, thread);
            source.threads.seed_one(tid, stamp.time_ns, &mut |bytes| take_record(drained, bytes));
        });
    }
}
