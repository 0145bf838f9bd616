//! Numbers of Linux that records hold, as its own headers define them.

use crate::declare::constants;

constants! {
    /// The part of a futex operation that says what it does (include/uapi/linux/futex.h).
    FUTEX_COMMANDS: u32 = 0x7f, FUTEX_COMMANDS;
    /// Bit of a futex operation: the futex is of this process alone.
    FUTEX_PRIVATE: u32 = 0x80, FUTEX_PRIVATE;
    /// Sleeps while the futex has the expected value.
    FUTEX_WAIT: u32 = 0, FUTEX_WAIT;
    /// Wakes sleepers.
    FUTEX_WAKE: u32 = 1, FUTEX_WAKE;
    /// Wakes some sleepers and lets others sleep on a second futex.
    FUTEX_REQUEUE: u32 = 3, FUTEX_REQUEUE;
    /// The same while the futex has the expected value.
    FUTEX_CMP_REQUEUE: u32 = 4, FUTEX_CMP_REQUEUE;
    /// Wakes sleepers of two futexes.
    FUTEX_WAKE_OP: u32 = 5, FUTEX_WAKE_OP;
    /// Locks, and lends its priority to the owner.
    FUTEX_LOCK_PI: u32 = 6, FUTEX_LOCK_PI;
    /// Unlocks such a lock.
    FUTEX_UNLOCK_PI: u32 = 7, FUTEX_UNLOCK_PI;
    /// Sleeps until a wake-up with one of its bits, or a point in time.
    FUTEX_WAIT_BITSET: u32 = 9, FUTEX_WAIT_BITSET;
    /// Wakes sleepers with one of its bits.
    FUTEX_WAKE_BITSET: u32 = 10, FUTEX_WAKE_BITSET;
    /// Sleeps until it is moved to a lock that inherits priorities, and has that.
    FUTEX_WAIT_REQUEUE_PI: u32 = 11, FUTEX_WAIT_REQUEUE_PI;
    /// Moves such sleepers.
    FUTEX_CMP_REQUEUE_PI: u32 = 12, FUTEX_CMP_REQUEUE_PI;
    /// As `FUTEX_LOCK_PI`, with a time limit of another clock.
    FUTEX_LOCK_PI2: u32 = 13, FUTEX_LOCK_PI2;
    /// Bit of a lock's word that holds the owner's id: others wait.
    FUTEX_WAITERS: u32 = 0x80000000, FUTEX_WAITERS;
    /// The owner's id in such a word.
    FUTEX_TID_MASK: u32 = 0x3fffffff, FUTEX_TID_MASK;
    /// What a waiter expects in the word of a mutex (glibc since 2.25, sysdeps/x86/nptl/bits/).
    MUTEX_CONTENDED: u32 = 2, MUTEX_CONTENDED;
    /// Where the owner is, behind pthread_mutex_t.__lock.
    MUTEX_OWNER: u64 = 8, MUTEX_OWNER;
    /// What a waiter expects in the words of a read/write lock that is written: 1 | PTHREAD_RWLOCK_FUTEX_USED.
    RWLOCK_WRITTEN: u32 = 3, RWLOCK_WRITTEN;
    /// Where __cur_writer is, behind __wrphase_futex, which is a multiple of 8.
    RWLOCK_PHASE_WRITER: u64 = 16, RWLOCK_PHASE_WRITER;
    /// Where it is behind __writers_futex.
    RWLOCK_WRITER_WRITER: u64 = 12, RWLOCK_WRITER_WRITER;

    /// Bit of a switch's state, TASK_UNINTERRUPTIBLE: no signal ends the wait.
    STATE_UNINTERRUPTIBLE: u32 = 2, STATE_UNINTERRUPTIBLE;
    /// Bit of a switch's state, __TASK_STOPPED: by job control.
    STATE_STOPPED: u32 = 4, STATE_STOPPED;
    /// Bit of a switch's state, __TASK_TRACED: by a debugger.
    STATE_TRACED: u32 = 8, STATE_TRACED;
    /// Bit of a switch's state, TASK_DEAD: the thread will not run again.
    STATE_DEAD: u32 = 0x80, STATE_DEAD;

    /// Family of Unix sockets.
    AF_UNIX: u16 = 1, AF_UNIX;
    /// Family of IPv4.
    AF_INET: u16 = 2, AF_INET;
    /// Family of IPv6.
    AF_INET6: u16 = 10, AF_INET6;
    /// Protocol of a socket.
    IPPROTO_TCP: u16 = 6, IPPROTO_TCP;
    /// Protocol of a socket.
    IPPROTO_UDP: u16 = 17, IPPROTO_UDP;
    /// State of a TCP socket that waits for connections.
    TCP_LISTEN: u8 = 10, TCP_LISTEN;
    /// TCP_CA_Recovery, and TCP_CA_Loss after it: segments are being sent again.
    TCP_CA_RECOVERY: u8 = 3, TCP_CA_RECOVERY;
}
