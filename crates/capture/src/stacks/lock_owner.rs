//! Who holds the lock that another thread waits for, as the lock's own memory says: what lock.bpf.h reads of the current thread.

use dwell_wire::{
    FUTEX_COMMANDS, FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_TID_MASK, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAITERS,
    MUTEX_CONTENDED, MUTEX_OWNER, RWLOCK_PHASE_WRITER, RWLOCK_WRITER_WRITER, RWLOCK_WRITTEN,
};

use super::waiting::words_of;

/// The owner of the lock at `address` for thread `tid`, which waits in futex(2), in the owner's own pid namespace; 0 = not known.
/// `detail` is that of a switch: operation | expected value << 32.
pub fn lock_owner(tid: u32, address: u64, detail: u64) -> u32 {
    let (operation, expected) = (detail as u32 & FUTEX_COMMANDS, (detail >> 32) as u32);
    let word = |address: u64| {
        let words = words_of(tid, address & !7, 1);
        words.first().map_or(0, |word| (word >> (address % 8 * 8)) as u32) & FUTEX_TID_MASK
    };
    match (operation, expected) {
        (FUTEX_LOCK_PI | FUTEX_LOCK_PI2, _) => word(address),
        (FUTEX_WAIT | FUTEX_WAIT_BITSET, expected) if expected & FUTEX_WAITERS != 0 => expected & FUTEX_TID_MASK,
        (FUTEX_WAIT | FUTEX_WAIT_BITSET, MUTEX_CONTENDED) => word(address.wrapping_add(MUTEX_OWNER)),
        (FUTEX_WAIT | FUTEX_WAIT_BITSET, RWLOCK_WRITTEN) if address.is_multiple_of(8) => {
            word(address.wrapping_add(RWLOCK_PHASE_WRITER))
        }
        (FUTEX_WAIT | FUTEX_WAIT_BITSET, RWLOCK_WRITTEN) => word(address.wrapping_add(RWLOCK_WRITER_WRITER)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As glibc's locks lie in memory, in words of 4 bytes.
    #[repr(C, align(8))]
    struct Words([u32; 6]);

    #[test]
    fn owners_are_where_locks_have_them() {
        let of = |words: &Words, at: usize, operation: u64, expected: u64| {
            let address = std::ptr::from_ref(&words.0[at]) as u64;
            lock_owner(std::process::id(), address, operation | expected << 32)
        };
        let mutex = Words([2, 1, 4711, 0, 0, 0]);
        assert_eq!((of(&mutex, 0, 128, 2), of(&mutex, 0, 137, 2)), (4711, 4711));
        assert_eq!((of(&mutex, 0, 128, 1), of(&mutex, 0, 129, 2)), (0, 0), "no lock's word, or no wait");
        let inherits = Words([4711 | FUTEX_WAITERS, 0, 0, 0, 0, 0]);
        assert_eq!(of(&inherits, 0, 6 | 128, 0), 4711);
        assert_eq!(of(&inherits, 0, 128, u64::from(FUTEX_WAITERS) | 12), 12, "the word itself has it");
        let written = Words([0, 0, 0, 3, 4711, 0]);
        assert_eq!((of(&written, 0, 128, 3), of(&written, 1, 128, 3)), (4711, 4711));
        assert_eq!(lock_owner(std::process::id(), 8, 128 | 2 << 32), 0, "nothing is there");
    }
}
