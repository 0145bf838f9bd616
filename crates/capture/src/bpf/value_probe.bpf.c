// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Hits of probes with values (--probe). The cookie of a probe's link is the number of its place. */
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_PROBE_SITES);
	__type(key, u32);
	__type(value, struct probe_site);
} probe_sites SEC(".maps");

/* Another thread of this CPU can run the hook before this one is done: nothing lies in a buffer that they share. The last bytes
 * take the zero behind a text as long as its place. */
struct hit {
	struct record_probe_hit record;
	char texts[MOST_PROBE_TEXTS * PROBE_TEXT_BYTES];
	char end[8];
};

static __always_inline u64 saved_register(struct pt_regs *ctx, u8 number)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + 8 * (u64)(number & 31));
	return value;
}

/* Reads value `at` as it lies there; false when its memory cannot be read. */
static __always_inline bool read_value(struct pt_regs *ctx, const struct probe_site *site, int at, u64 *value)
{
	u8 source = site->source[at], shift = site->shift[at] & 63;
	u64 size = site->size[at], place = site->displacement[at], got = 0;

	if (source == PROBE_IN_CONSTANT) {
		got = place;
	} else if (source == PROBE_IN_REGISTER) {
		got = saved_register(ctx, site->base[at]);
	} else {
		place += saved_register(ctx, site->base[at]);
		if (site->scale[at])
			place += saved_register(ctx, site->index[at]) * site->scale[at];
		if (size > sizeof(got) || bpf_probe_read_user(&got, size, (void *)place))
			return false;
	}
	got <<= shift;
	*value = site->is_signed[at] ? (u64)((s64)got >> shift) : got >> shift;
	return true;
}

/* Reads the text at `address`; returns its bytes that are kept, or -1. */
static __always_inline long read_text(struct hit *hit, u32 text, u64 address, bool *cut)
{
	char *to = hit->texts + text * PROBE_TEXT_BYTES, next = 0;
	long bytes = bpf_probe_read_user_str(to, PROBE_TEXT_BYTES + 1, (void *)address);

	if (bytes <= PROBE_TEXT_BYTES)
		return bytes > 0 ? bytes - 1 : -1;
	bpf_probe_read_user(&next, 1, (void *)(address + PROBE_TEXT_BYTES));
	*cut = next != 0;
	return PROBE_TEXT_BYTES;
}

SEC("uprobe")
int on_value_probe(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct control *control = controls();
	u32 key = bpf_get_attach_cookie(ctx), texts = 0;
	struct hit hit = {};
	const struct probe_site *site = bpf_map_lookup_elem(&probe_sites, &key);

	if (!site || !control || control->paused || !recorded(task))
		return 0;
#pragma unroll
	for (int at = 0; at < MOST_PROBE_VALUES; at++) {
		u8 type = site->types[at];
		u64 value = 0;
		bool cut = false, is_read;

		if (type == PROBE_NONE)
			break;
		hit.record.types[at] = type;
		is_read = read_value(ctx, site, at, &value);
		if (type == PROBE_TEXT && texts < MOST_PROBE_TEXTS) {
			long bytes = is_read ? read_text(&hit, texts, value, &cut) : -1;

			texts++;
			is_read = bytes >= 0;
			value = bytes;
		}
		hit.record.values[at] = is_read ? value : 0;
		if (!is_read)
			hit.record.faulted |= 1 << at;
		if (cut)
			hit.record.cut |= 1 << at;
	}
	if (texts > MOST_PROBE_TEXTS)
		texts = MOST_PROBE_TEXTS;
	texts = sizeof(hit.record) + texts * PROBE_TEXT_BYTES;
	set_header(&hit.record.h, RECORD_PROBE_HIT, texts, tid_of(task), bpf_ktime_get_ns());
	hit.record.tgid = tgid_of(task);
	hit.record.probe = site->probe;
	write_record(&hit, texts, PROBE_HITS_LOST);
	return 0;
}
