/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What user space tells of the processes to be recorded.
 */
#ifndef DWELL_TARGETS_BPF_H
#define DWELL_TARGETS_BPF_H

#include "record.bpf.h"

/* --strategy: the enum thread_mode of a process that runs a program of this name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, char[DWELL_COMM_BYTES]);
	__type(value, u8);
} rules SEC(".maps");

/* Processes to be seeded: tgid -> enum thread_mode. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

#endif
