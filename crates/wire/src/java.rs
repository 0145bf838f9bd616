//! Where a JVM keeps what its threads wait for. User space writes both into maps.

use crate::declare::records;

records! {
    /// What is known of a process that runs HotSpot. All numbers from `stack_base` on are offsets in bytes.
    JavaProcess = java_process, 80 {
        /// Added to a reference.
        oop_base: u64,
        /// Added to an object's class.
        class_base: u64,
        /// Address of the class `AbstractOwnableSynchronizer`; 0 = locks of `java.util.concurrent` are not told.
        owned_class: u64,
        /// Bits by which a reference is shifted.
        oop_shift: u32,
        /// Bits by which an object's class is shifted.
        class_shift: u32,
        /// Of a reference in an object: 4 or 8.
        oop_bytes: u32,
        /// Of the end of a thread's stack in a JavaThread.
        stack_base: u32,
        /// Of the size of that stack.
        stack_size: u32,
        /// Of the monitor that the thread is about to enter.
        pending_monitor: u32,
        /// Of the handle of its `Thread` object.
        thread_object: u32,
        /// Of the owner in an ObjectMonitor.
        monitor_owner: u32,
        /// Of the handle of its object.
        monitor_object: u32,
        /// Of the class in an object.
        object_class: u32,
        /// Of the class below `Object` in a class's line of ancestors.
        class_ancestor: u32,
        /// Of `parkBlocker` in a `Thread` object.
        park_blocker: u32,
        /// Of `exclusiveOwnerThread` in an `AbstractOwnableSynchronizer`.
        exclusive_owner: u32,
        /// Of `eetop` in a `Thread` object: the address of its JavaThread.
        native_thread: u32,
    }
    /// A thread of such a process.
    JavaThread = java_thread, 16 {
        /// Of its JavaThread.
        address: u64,
        /// Its process.
        tgid: u32,
        /// 0.
        reserved: u32,
    }
}
