// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* The maps that all families share, without a program: so that they are there before the first family is loaded. */

/* Nothing calls the functions of the headers: they are no part of the object, and libbpf does not relocate them for nothing. */
#define __noinline static __attribute__((unused))

#include "io_quota.bpf.h"
#include "java.bpf.h"
#include "switch.bpf.h"
#include "targets.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
