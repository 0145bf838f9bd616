/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * A hit of a probe with values (--probe): reads them, compares them with the probe's condition, and writes the record. The cookie of a
 * probe's link is the number of its place.
 */
#ifndef DWELL_VALUE_PROBE_BPF_H
#define DWELL_VALUE_PROBE_BPF_H

#include "thread.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_PROBE_SITES);
	__type(key, u32);
	__type(value, struct probe_site);
} probe_sites SEC(".maps");

/* By the probe's number: hits that did not meet its condition. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_PROBE_SITES);
	__type(key, u32);
	__type(value, u64);
} probe_rejections SEC(".maps");

/* Another thread of this CPU can run the hook before this one is done: nothing lies in a buffer that they share. The last bytes
 * take the zero behind a text as long as its place. */
struct hit {
	struct record_probe_hit record;
	char texts[MOST_PROBE_TEXTS * PROBE_TEXT_BYTES];
	char end[8];
};

static __always_inline u64 saved_register(void *ctx, u8 number)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), ctx + 8 * (u64)(number & 31));
	return value;
}

/* Reads what lies at the place of value `at`, the first `bytes` of it; false when its memory cannot be read. */
static __always_inline bool read_place(void *ctx, const struct probe_site *site, u32 at, u64 bytes, u64 *got)
{
	u8 source = site->source[at];
	u64 place = site->displacement[at];
	void *in_event = ctx + (place & 0xffff);
	u32 offset = 0;

	if (bytes > sizeof(*got))
		return false;
	if (source == PROBE_IN_CONSTANT) {
		*got = place;
	} else if (source == PROBE_IN_REGISTER) {
		*got = saved_register(ctx, site->base[at]);
	} else if (source == PROBE_IN_EVENT) {
		return !bpf_probe_read_kernel(got, bytes, in_event);
	} else if (source == PROBE_IN_EVENT_ADDRESS) {
		*got = (u64)in_event;
	} else if (source == PROBE_IN_EVENT_OFFSET) {
		if (bpf_probe_read_kernel(&offset, sizeof(offset), in_event))
			return false;
		*got = (u64)ctx + (offset & 0xffff);
	} else {
		place += saved_register(ctx, site->base[at]);
		if (site->scale[at])
			place += saved_register(ctx, site->index[at]) * site->scale[at];
		return !bpf_probe_read_user(got, bytes, (void *)place);
	}
	return true;
}

/* Reads value `at` as it lies there, behind the addresses that lead to it; false when memory on the way cannot be read. */
static __noinline bool read_value(void *ctx, const struct probe_site *site, u32 at, u64 *value)
{
	u64 size = site->size[at], got = 0;
	u32 steps = site->steps[at];

	if (!read_place(ctx, site, at, steps ? sizeof(got) : size, &got))
		return false;
	for (u32 step = 0; step < MOST_PROBE_STEPS && step < steps; step++) {
		u64 from = got + site->step_offsets[at * MOST_PROBE_STEPS + step];
		u64 bytes = step + 1 == steps ? size : sizeof(got);

		got = 0;
		if (bytes > sizeof(got) || bpf_probe_read_user(&got, bytes, (void *)from))
			return false;
	}
	got = (got + site->ends[at]) << (site->left[at] & 63);
	*value = site->is_signed[at] ? (u64)((s64)got >> (site->right[at] & 63)) : got >> (site->right[at] & 63);
	return true;
}

/* Reads the text at `address`, that of an array of `array` bytes; returns its bytes that are kept, or -1. */
static __always_inline long read_text(struct hit *hit, u32 text, u64 address, u64 array, bool in_kernel, bool *cut)
{
	char *to = hit->texts + text * PROBE_TEXT_BYTES, next = 0;
	u64 most = array < PROBE_TEXT_BYTES ? array : PROBE_TEXT_BYTES;
	long bytes;

	in_kernel = in_kernel && (s64)address < 0; /* an event of a system call has addresses of the program */
	if (in_kernel)
		bytes = bpf_probe_read_kernel_str(to, most + 1, (void *)address);
	else
		bytes = bpf_probe_read_user_str(to, most + 1, (void *)address);
	if (bytes <= 0 || bytes <= most)
		return bytes > 0 ? bytes - 1 : -1;
	if (array <= PROBE_TEXT_BYTES)
		return most;
	if (in_kernel)
		bpf_probe_read_kernel(&next, 1, (void *)(address + PROBE_TEXT_BYTES));
	else
		bpf_probe_read_user(&next, 1, (void *)(address + PROBE_TEXT_BYTES));
	*cut = next != 0;
	return PROBE_TEXT_BYTES;
}

/* Whether the text of the hit is the one that the condition names; both have the same length. */
static __always_inline bool is_same_text(const struct hit *hit, const struct probe_site *site, u32 term)
{
	const char *text = hit->texts + (site->term_slots[term] & (MOST_PROBE_TEXTS - 1)) * PROBE_TEXT_BYTES;
	u32 first = (site->term_texts[term] & (MOST_PROBE_TERM_TEXTS - 1)) * (PROBE_TEXT_BYTES / 8);
	u64 word = 0;

	for (u32 at = 0; at < PROBE_TEXT_BYTES / 8; at++) {
		bpf_probe_read_kernel(&word, sizeof(word), text + 8 * at);
		if (word != site->term_words[(first + at) & (PROBE_TERM_WORDS - 1)])
			return false;
	}
	return true;
}

/* Whether comparison `term` of the condition holds. A value that cannot be read is neither equal to anything nor unequal. */
static __always_inline bool holds(const struct hit *hit, const struct probe_site *site, u32 term)
{
	u32 at = site->term_values[term] & (MOST_PROBE_VALUES - 1);
	u64 wanted = site->term_operands[term], value = 0;
	u8 type = site->types[at], order;

	if (hit->record.faulted >> at & 1)
		return false;
	bpf_probe_read_kernel(&value, sizeof(value), &hit->record.values[at]);
	if (type == PROBE_TEXT) {
		bool is_same = value == wanted && !(hit->record.cut >> at & 1) && is_same_text(hit, site, term);

		order = is_same ? PROBE_ORDER_EQUAL : PROBE_ORDER_LESS | PROBE_ORDER_GREATER;
	} else if (value == wanted) {
		order = PROBE_ORDER_EQUAL;
	} else if (type == PROBE_SIGNED) {
		order = (s64)value < (s64)wanted ? PROBE_ORDER_LESS : PROBE_ORDER_GREATER;
	} else {
		order = value < wanted ? PROBE_ORDER_LESS : PROBE_ORDER_GREATER;
	}
	return site->term_orders[term] & order;
}

/* Whether the hit meets the probe's condition. */
static __noinline bool passes(const struct hit *hit, const struct probe_site *site)
{
	for (u32 term = 0; term < MOST_PROBE_TERMS && term < site->terms; term++) {
		if (!holds(hit, site, term))
			return false;
	}
	return true;
}

static __always_inline void count_rejection(u32 probe)
{
	u64 *count = bpf_map_lookup_elem(&probe_rejections, &probe);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Reads all values; returns how many texts are among them. */
static __always_inline u32 read_values(void *ctx, const struct probe_site *site, struct hit *hit, bool in_kernel)
{
	u32 texts = 0;

#pragma unroll
	for (u32 at = 0; at < MOST_PROBE_VALUES; at++) {
		u8 type = site->types[at];
		u64 value = 0;
		bool cut = false, is_read;

		if (type == PROBE_NONE)
			break;
		hit->record.types[at] = type;
		is_read = read_value(ctx, site, at, &value);
		if (type == PROBE_TEXT && texts < MOST_PROBE_TEXTS) {
			long bytes = is_read ? read_text(hit, texts, value, site->text_bytes[at], in_kernel, &cut) : -1;

			texts++;
			is_read = bytes >= 0;
			value = bytes;
		}
		hit->record.values[at] = is_read ? value : 0;
		if (!is_read)
			hit->record.faulted |= 1 << at;
		if (cut)
			hit->record.cut |= 1 << at;
	}
	return texts < MOST_PROBE_TEXTS ? texts : MOST_PROBE_TEXTS;
}

/* A thread came to the place `key`. `in_kernel`: texts lie in the kernel's memory. */
static __always_inline int take_hit(void *ctx, u32 key, bool in_kernel)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct control *control = controls();
	struct hit hit = {};
	const struct probe_site *site = bpf_map_lookup_elem(&probe_sites, &key);
	u32 size;

	if (!site || !control || control->paused || !recorded(task))
		return 0;
	size = sizeof(hit.record) + read_values(ctx, site, &hit, in_kernel) * PROBE_TEXT_BYTES;
	if (!passes(&hit, site)) {
		count_rejection(site->probe);
		return 0;
	}
	set_header(&hit.record.h, RECORD_PROBE_HIT, size, tid_of(task), bpf_ktime_get_ns());
	hit.record.tgid = tgid_of(task);
	hit.record.probe = site->probe;
	write_record(&hit, size, PROBE_HITS_LOST);
	return 0;
}

#endif
