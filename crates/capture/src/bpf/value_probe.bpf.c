// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Hits of probes with values (--probe) in programs. */
#include "value_probe.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("uprobe")
int on_value_probe(struct pt_regs *ctx)
{
	return take_hit(ctx, bpf_get_attach_cookie(ctx), false);
}
