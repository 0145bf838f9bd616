/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Parts of hooks, to see what each costs: `make bench-hooks` compiles switches and wake-ups again with -DWITHOUT=PART_NAME. In what
 * Dwell loads nothing is left out, and HAS() leaves no instruction.
 */
#ifndef DWELL_PART_BPF_H
#define DWELL_PART_BPF_H

enum part {
	PART_NONE,
	PART_EVERYTHING, /* the hook is called, no more */
	PART_RECORD,
	PART_STACK, /* of the user */
	PART_RECALL,
	PART_SCRIPTS,
	PART_OBJECT,
	PART_MEMORY_LIMIT,
	PART_SAME_CALL,
	PART_GIL,
	PART_JAVA,
	PART_OWNER,
	PART_RIVALS,
	PART_WAKER,
};

#ifndef WITHOUT
#define WITHOUT PART_NONE
#endif

#define HAS(part) (WITHOUT != PART_##part)

#endif
