//! What a waiting thread waits for, and who has it, as far as memory and `/proc` tell: looked up for what is shown.

use dwell_model::ObjectType;
use dwell_store::raw::wire::TaskSnapshot;

use crate::programs::proc;
use crate::stacks::waiting::words_of;

// include/uapi/linux/futex.h
const COMMAND: u64 = 0x7f;
const LOCK_PI: [u64; 2] = [6, 13];
const TID_MASK: u32 = 0x3fff_ffff;
/// What glibc's mutexes, and Rust's, have in their word while somebody waits.
const CONTENDED: u32 = 2;

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitTarget {
    /// Its type.
    pub object_type: ObjectType,
    /// What it is called.
    pub name: String,
    /// The thread that has it, 0 = not known.
    pub holder: u32,
}

/// What `task`, which waits in futex, waits for. `is_thread` says whether an id is that of a thread in the same process.
pub fn on_futex(task: &TaskSnapshot, is_thread: impl Fn(u32) -> bool) -> WaitTarget {
    let _tracing = dwell_rights::raise(&[dwell_rights::PTRACE]);
    let [address, operation, expected] = task.arguments;
    let words = words_of(task.tid, address & !7, 3);
    let word = |at: u64| {
        let word = words.get(usize::try_from(at / 8).unwrap_or(usize::MAX)).copied().unwrap_or(0);
        (word >> (at % 8 * 8)) as u32
    };
    let begin = address % 8;
    let value = word(begin);
    if LOCK_PI.contains(&(operation & COMMAND)) {
        return target(ObjectType::Mutex, address, Some(value & TID_MASK).filter(|tid| is_thread(*tid)));
    }
    // glibc: a thread that is joined has its id in its word (struct pthread, tid) until it has ended.
    if expected as u32 == value && is_thread(value) && value != CONTENDED {
        return WaitTarget { object_type: ObjectType::ThreadJoin, name: format!("thread {value}"), holder: value };
    }
    // glibc: int __lock, unsigned __count, int __owner (struct __pthread_mutex_s).
    let owner = word(begin + 8);
    if expected as u32 == CONTENDED && is_thread(owner) {
        return target(ObjectType::Mutex, address, Some(owner));
    }
    target(ObjectType::Futex, address, None)
}

fn target(object_type: ObjectType, address: u64, holder: Option<u32>) -> WaitTarget {
    let what = object_type.title().to_lowercase();
    WaitTarget { object_type, name: format!("{what} {address:#x}"), holder: holder.unwrap_or(0) }
}

/// What descriptor `fd` of process `pid` stands for.
pub fn on_descriptor(pid: u32, fd: i32) -> WaitTarget {
    let _looking = dwell_rights::raise(&[dwell_rights::PTRACE, dwell_rights::READ_SEARCH]);
    let name = proc::describe_fd(pid, fd);
    let object_type = match name.as_str() {
        name if name.starts_with("TCP ") || name.starts_with("Unix ") || name.starts_with("socket:") => {
            ObjectType::Socket
        }
        name if name.starts_with("anon_inode:[timerfd]") => ObjectType::Timer,
        name if name.starts_with("anon_inode:[io_uring]") => ObjectType::IoUring,
        name if name.starts_with("anon_inode:") => ObjectType::Event,
        _ => ObjectType::Stream,
    };
    WaitTarget { object_type, name, holder: 0 }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    /// As glibc's mutex: lock word, count, owner.
    #[repr(C, align(8))]
    struct Mutex([u32; 4]);

    fn waiting_at(address: &u32, operation: u64, expected: u32) -> TaskSnapshot {
        let arguments = [std::ptr::from_ref(address) as u64, operation, expected.into()];
        TaskSnapshot { tid: std::process::id(), arguments, ..TaskSnapshot::zeroed() }
    }

    #[test]
    fn owners_are_in_the_memory_of_locks() {
        let mutex = Mutex([2, 0, 4711, 0]);
        let of = |task: &TaskSnapshot| on_futex(task, |tid| tid == 4711);
        let held = of(&waiting_at(&mutex.0[0], 128, 2));
        assert_eq!((held.object_type, held.holder), (ObjectType::Mutex, 4711));
        let foreign = on_futex(&waiting_at(&mutex.0[0], 128, 2), |_| false);
        assert_eq!((foreign.object_type, foreign.holder), (ObjectType::Futex, 0), "no thread has this id");
        let inherited = Mutex([4711 | 0x8000_0000, 0, 0, 0]);
        assert_eq!(of(&waiting_at(&inherited.0[0], 6 | 128, 0)).holder, 4711);
        let joined = Mutex([0, 4711, 0, 0]);
        let join = of(&waiting_at(&joined.0[1], 9 | 256, 4711));
        assert_eq!((join.object_type, join.holder, join.name.as_str()), (ObjectType::ThreadJoin, 4711, "thread 4711"));
        let nowhere = TaskSnapshot { arguments: [8, 128, 2], ..waiting_at(&mutex.0[0], 128, 2) };
        assert_eq!(of(&nowhere).object_type, ObjectType::Futex);
    }
}
