/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Who holds the lock behind a futex, as the lock's own memory says. Whether the futex is such a lock, the functions on the
 * stack tell later.
 */
#ifndef DWELL_LOCK_BPF_H
#define DWELL_LOCK_BPF_H

#include "record.bpf.h"

/*
 * The owner of the lock at `address` for a thread that blocks in futex(2), in the owner's own pid namespace; 0 = not known.
 * `detail` is that of a record_switch. Robust locks and those of musl have the owner's id in the word itself, as the kernel
 * wants it of those that inherit priorities. stacks/lock_owner.rs is the same in user space. A global function, so that the verifier looks at it once.
 */
__noinline u32 lock_owner(u64 address, u64 detail)
{
	u32 operation = detail & FUTEX_COMMANDS, expected = detail >> 32, owner = 0;

	if (operation != FUTEX_LOCK_PI && operation != FUTEX_LOCK_PI2) {
		if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
			return 0;
		if (expected & FUTEX_WAITERS)
			return expected & FUTEX_TID_MASK;
		if (expected == MUTEX_CONTENDED)
			address += MUTEX_OWNER;
		else if (expected == RWLOCK_WRITTEN)
			address += address % 8 ? RWLOCK_WRITER_WRITER : RWLOCK_PHASE_WRITER;
		else
			return 0;
	}
	bpf_probe_read_user(&owner, sizeof(owner), (void *)address);
	return owner & FUTEX_TID_MASK;
}

#endif
