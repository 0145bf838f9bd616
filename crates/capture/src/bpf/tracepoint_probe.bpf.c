// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Hits of probes with values (--probe) at tracepoints of the kernel, in the context of recorded threads. */
#include "value_probe.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tracepoint")
int on_tracepoint_probe(void *ctx)
{
	return take_hit(ctx, bpf_get_attach_cookie(ctx), true);
}
