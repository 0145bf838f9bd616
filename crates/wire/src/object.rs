//! What threads wait on, where locks were made, and which of several futexes woke a thread.

use crate::declare::{Char, constants, enums, records};
use crate::header::{RecordHeader, TEXT_BYTES};

constants! {
    /// Most members of a poll set that an object record names.
    MAX_MEMBERS: usize = 8, DWELL_MAX_MEMBERS;
    /// A component of a path that is longer is cut, and none is begun with less room.
    NAME_BYTES: usize = 64, NAME_BYTES;
}

enums! {
    /// Numbers of [`ObjectRecord::kind`].
    object_kind: u8 = object_kind, OBJECT_ {
        /// A file.
        FILE = 1,
        /// A pipe.
        PIPE = 2,
        /// A socket.
        SOCKET = 3,
        /// A character device.
        CHARACTER_DEVICE = 4,
        /// `text` is the kernel's name: \[eventfd\], \[eventpoll\], \[timerfd\], \[io_uring\] …
        ANONYMOUS = 5,
        /// `members[0 .. member_count]` are the keys of its members' records.
        POLL_SET = 6,
        /// `text`: a path as the program gave it, then the directory's components if it is relative.
        PATH = 7,
        /// `fd`: the signal that stopped a process; `tgid`, `text`: who sent it, none for the kernel.
        STOP = 8,
        /// A Java monitor: `inode` is its address, `text` the class of its object, empty when it is not known.
        JAVA_MONITOR = 9,
        /// A lock of `java.util.concurrent`: `inode` is its address, `text` its class.
        JAVA_LOCK = 10,
    }
}

records! {
    /// What an object key stands for.
    ObjectRecord = record_object, 416 {
        /// `tid`: the thread that was seen to wait on it first.
        h: RecordHeader,
        /// What other records name it by.
        key: u64,
        /// Of the file.
        inode: u64,
        /// Whose descriptor `fd` is.
        tgid: u32,
        /// The descriptor.
        fd: i32,
        /// One of [`object_kind`].
        kind: u8,
        /// As the kernel numbers them: TCP_LISTEN = 10.
        socket_state: u8,
        /// Of a socket's addresses.
        family: u16,
        /// Of a socket.
        protocol: u16,
        /// Host order.
        local_port: u16,
        /// Host order.
        remote_port: u16,
        /// Of `text` that are present.
        text_bytes: u16,
        /// Of a socket; an IPv4 address is its first four bytes.
        local_address: [u8; 16],
        /// The same of the other end.
        remote_address: [u8; 16],
        /// Of the whole set, may exceed [`MAX_MEMBERS`].
        member_count: u32,
        /// That the file is on.
        device: u32,
        /// 0.
        reserved: u32,
        /// Keys of a poll set's members.
        members: [u64; MAX_MEMBERS],
        /// Path components leaf first, each ended by a zero byte; socket: its path.
        text: [Char; TEXT_BYTES],
    }
    /// A call of pthread_mutex_init or its like: a thread initialised a lock.
    CreationRecord = record_creation, 40 {
        /// `tid`: who called it.
        h: RecordHeader,
        /// Of the object.
        address: u64,
        /// Key of a stack record.
        user_stack: u64,
        /// In whose memory it is.
        tgid: u32,
        /// 0.
        reserved: u32,
    }
    /// By which of its futexes a thread in futex_waitv was woken.
    WokenFutexRecord = record_woken_futex, 24 {
        /// `tid`: the woken thread; `time_ns`: when it was woken.
        h: RecordHeader,
        /// In the memory of its process.
        address: u64,
    }
}
