//! What /proc tells of a thread that waits: the call that it is in, what that waits for, and the rest of its stack.

use std::fs;

use dwell_model::{CallKind, Syscall, SyscallClass};
use dwell_store::raw::wire::{MAX_MEMBERS, RecordHeader, RegistersRecord, kind, object_kind};

use super::objects::{DescriptorUser, Objects};
use super::record::Call;
use super::stacks::Stacks;
use super::threads::{ProcWait, Thread, WaitedFor, class, is_same};
use crate::clock::monotonic_ns;
use crate::drain::drained::{EventSink, take_record};
use crate::stacks::lock_owner::lock_owner;
use crate::stacks::unwinding::UnwindTables;
use crate::stacks::waiting;

/// Descriptors of a select that are looked at.
const SELECT_BITS: u64 = 64;

/// What a thread that is in `call` waits for.
pub fn target(objects: &mut Objects, user: DescriptorUser, call: &Call, out: &mut dyn FnMut(&[u8])) -> WaitedFor {
    let [first, second, third, fourth, ..] = call.arguments;
    let none = WaitedFor::default();
    match class(call.number) {
        SyscallClass::Fd => {
            let object = objects.of(user, first as i32, out);
            let locks = i16::try_from(call.number).map(Syscall::kind_of) == Ok(CallKind::FileLock);
            let is_file = object.kind == object_kind::FILE && !locks;
            WaitedFor { object: object.key, is_file, wakes: object.can_wake(), ..none }
        }
        SyscallClass::Futex => {
            let detail = second & 0xffff_ffff | third << 32;
            WaitedFor { object: first, detail, owner_inner_tid: lock_owner(user.tid, first, detail), ..none }
        }
        SyscallClass::FutexVector => {
            let words = waiting::words_of(user.tid, first, 2);
            let (value, address) = (words.first().copied().unwrap_or(0), words.get(1).copied().unwrap_or(0));
            WaitedFor { object: address, detail: value << 32 | (second & 0xffff) << 16, ..none }
        }
        SyscallClass::Poll => {
            let count = second.min(MAX_MEMBERS as u64) as usize;
            let words = waiting::words_of(user.tid, first, count);
            let fds: Vec<i32> = words.iter().map(|&word| word as i32).collect();
            WaitedFor { object: set(objects, user, &fds, second, out), ..none }
        }
        SyscallClass::Select => {
            let fds = selected(user.tid, first, [second, third, fourth]);
            let count = fds.len() as u64;
            WaitedFor { object: set(objects, user, &fds, count, out), ..none }
        }
        SyscallClass::Child => WaitedFor { detail: first, ..none },
        _ => none,
    }
}

fn set(objects: &mut Objects, user: DescriptorUser, fds: &[i32], count: u64, out: &mut dyn FnMut(&[u8])) -> u64 {
    if fds.is_empty() { 0 } else { objects.set(user, fds, u32::try_from(count).unwrap_or(u32::MAX), out) }
}

/// The descriptors below 64 in any of the three sets of a select.
fn selected(tid: u32, limit: u64, sets: [u64; 3]) -> Vec<i32> {
    let word = |&address: &u64| waiting::words_of(tid, address, 1).first().copied().unwrap_or(0);
    let bits = sets.iter().filter(|&&address| address != 0).map(word).fold(0, |all, bits| all | bits);
    let below = limit.min(SELECT_BITS);
    (0..below as i32).filter(|fd| bits >> fd & 1 != 0).take(MAX_MEMBERS).collect()
}

/// Looks at thread `tid`, which waits. Whether there was something to be seen: it shows later whether the thread stood still.
pub fn at(
    tid: u32,
    thread: &mut Thread,
    (objects, stacks): (&mut Objects, &mut Stacks),
    unwinding: &mut UnwindTables,
    drained: &mut EventSink,
) -> bool {
    let text = fs::read_to_string(format!("/proc/{}/task/{tid}/syscall", thread.tgid)).unwrap_or_default();
    let Some(place) = SyscallState::parse(&text) else { return false };
    let Some(wait) = &mut thread.wait else { return false };
    let user = DescriptorUser { tgid: thread.tgid, tid, time_ns: wait.record.0.h.time_ns };
    let known = matches!((&place.call, &wait.call), (Some(a), Some(b)) if is_same(a, b));
    let target = match &place.call {
        Some(call) if !known => target(objects, user, call, &mut |bytes| take_record(drained, bytes)),
        _ => WaitedFor::default(),
    };
    let mut stack = 0;
    if !known || wait.cut.is_some() {
        let header = RecordHeader { kind: kind::STACK, size: 0, tid, time_ns: wait.record.0.h.time_ns };
        let registers = wait.cut.as_ref().filter(|_| known).map(|registers| **registers);
        let registers =
            RegistersRecord { h: header, tgid: thread.tgid, ..registers.unwrap_or_else(|| place.registers()) };
        let walked = waiting::walk_thread(&registers, unwinding);
        let epoch = stacks.epoch(thread.tgid);
        stack = stacks.write((header, thread.tgid), epoch, &walked, drained.recorder.meta()).key;
        stacks.tell_methods(&mut drained.java_code);
    }
    wait.seen = Some((monotonic_ns(), ProcWait { call: place.call, target, stack }));
    true
}

/// Where a thread stands.
pub struct SyscallState {
    /// The call that it is in.
    pub call: Option<Call>,
    sp: u64,
    /// Instruction pointer.
    pub ip: u64,
}

impl SyscallState {
    /// `number arguments sp ip`; `-1 sp ip` outside of a call; `running`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_whitespace();
        let number: i32 = fields.next()?.parse().ok()?;
        let words = fields.map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok());
        let words: Vec<u64> = words.collect::<Option<_>>()?;
        match (number, words.as_slice()) {
            (-1, &[sp, ip]) => Some(Self { call: None, sp, ip }),
            (0.., &[a, b, c, d, e, f, sp, ip]) => {
                Some(Self { call: Some(Call { number, arguments: [a, b, c, d, e, f] }), sp, ip })
            }
            _ => None,
        }
    }

    /// As much as is known of them.
    pub fn registers(&self) -> RegistersRecord {
        let mut record: RegistersRecord = bytemuck::Zeroable::zeroed();
        record.ip = self.ip;
        record.registers[7] = self.sp;
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_of_a_waiting_thread_is_read() {
        let place = SyscallState::parse("202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1234\n").expect("a call");
        assert_eq!(place.call, Some(Call { number: 202, arguments: [1, 0x80, 2, 0, 0, 0] }));
        assert_eq!((place.sp, place.ip), (0x7ffd10, 0x7f1234));
        assert!(SyscallState::parse("-1 0x7ffd10 0x7f1234\n").is_some_and(|place| place.call.is_none()));
        assert!(
            SyscallState::parse("running\n").is_none()
                && SyscallState::parse("7 0x1").is_none()
                && SyscallState::parse("").is_none()
        );
    }
}
