/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Delays of the current thread, written one to a record, or several where they are short and happen often. A batch belongs to a CPU
 * and to one sort of context; what interrupts an addition to it writes a record of its own. */
#ifndef DWELL_BATCH_BPF_H
#define DWELL_BATCH_BPF_H

#include "delay.bpf.h"

/* Short delays of one thread that wait to be written together; one for each sort of context that adds to it. */
struct batch {
	u32 is_busy; /* something that adds to it was interrupted */
	u32 reserved;
	struct record_delays record;
};

/* The current thread was delayed since `begin_ns`, 0 = it was not. */
static __always_inline void write_current(u8 kind, u64 begin_ns, u64 detail)
{
	struct record_delay delay = {};

	if (!begin_ns)
		return;
	begin_delay(&delay, kind, bpf_get_current_task_btf(), begin_ns, bpf_ktime_get_ns());
	delay.detail = detail;
	write_delay(&delay);
}

static __always_inline void flush(struct batch *batch)
{
	struct record_delays *record = &batch->record;
	u64 count = record->count, bytes;
	void *ring = this_ring();

	if (!count || count > DWELL_DELAYS)
		return;
	bytes = __builtin_offsetof(struct record_delays, delays) + count * sizeof(record->delays[0]);
	record->h.size = bytes;
	if (!ring || bpf_ringbuf_output(ring, record, bytes, BPF_RB_NO_WAKEUP))
		count_losses(DELAYS_LOST, count);
	record->count = 0;
}

/* At most what fits in 32 and 16 bits: others are a record each. */
static __always_inline void append(struct batch *batch, u8 kind, u64 begin_ns, u64 end_ns, u16 detail)
{
	struct record_delays *record = &batch->record;
	u32 tid = tid_of(bpf_get_current_task_btf());
	struct short_delay *delay;

	if (record->count && (record->h.tid != tid || begin_ns - record->base_ns > 0xffffffff))
		flush(batch);
	if (!record->count) {
		set_header(&record->h, RECORD_DELAYS, 0, tid, 0);
		record->base_ns = begin_ns;
		record->cpu = bpf_get_smp_processor_id();
	}
	record->h.time_ns = end_ns;
	delay = &record->delays[record->count & (DWELL_DELAYS - 1)];
	delay->begin_ns = begin_ns - record->base_ns;
	delay->length_ns = end_ns - begin_ns;
	delay->detail = detail;
	delay->kind = kind;
	record->count += 1;
	if (record->count >= DWELL_DELAYS)
		flush(batch);
}

/* write_current() of what happens often: several to a record. */
static __always_inline void write_short(struct batch *batch, u8 kind, u64 begin_ns, u64 detail)
{
	u64 end_ns;

	if (!is_told(begin_ns))
		return;
	end_ns = bpf_ktime_get_ns();
	if (batch->is_busy || end_ns - begin_ns > 0xffffffff || detail > 0xffff) {
		write_current(kind, begin_ns, detail);
		return;
	}
	batch->is_busy = 1;
	barrier();
	append(batch, kind, begin_ns, end_ns, detail);
	barrier();
	batch->is_busy = 0;
}

/* Not while something that was interrupted adds to it. */
static __always_inline void flush_idle(struct batch *batch)
{
	if (!batch->is_busy)
		flush(batch);
}

#endif
