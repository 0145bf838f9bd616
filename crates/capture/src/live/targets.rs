//! What a waiting thread waits for, and who has it, as far as memory and `/proc` tell: looked up for what is shown.

use dwell_model::ObjectType;
use dwell_store::raw::wire::TaskSnapshot;
use dwell_wire::MUTEX_CONTENDED;

use crate::programs::descriptors::describe_fd;
use crate::stacks::lock_owner::lock_owner;

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
    // glibc: a thread that is joined has its id in its word (struct pthread, tid) until it has ended.
    let joined = expected as u32;
    if is_thread(joined) && joined != MUTEX_CONTENDED {
        return WaitTarget { object_type: ObjectType::ThreadJoin, name: format!("thread {joined}"), holder: joined };
    }
    let owner = lock_owner(task.tid, address, operation & 0xffff_ffff | expected << 32);
    if is_thread(owner) {
        return target(ObjectType::Mutex, address, owner);
    }
    target(ObjectType::Futex, address, 0)
}

fn target(object_type: ObjectType, address: u64, holder: u32) -> WaitTarget {
    let what = object_type.title().to_lowercase();
    WaitTarget { object_type, name: format!("{what} {address:#x}"), holder }
}

/// What descriptor `fd` of process `pid` stands for.
pub fn on_descriptor(pid: u32, fd: i32) -> WaitTarget {
    let _looking = dwell_rights::raise(&[dwell_rights::PTRACE, dwell_rights::READ_SEARCH]);
    let name = describe_fd(pid, fd);
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
