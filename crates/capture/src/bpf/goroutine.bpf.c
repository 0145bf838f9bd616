// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * Changes of state of Go's goroutines: passes of the instructions in a program's runtime at which one begins to wait, is made
 * ready, runs or ends. The cookie of a probe's link says which program's layout holds, and what changes (bits 5 and up, bits 2 to 4).
 * Go's compiler keeps frame pointers: stacks are walked by them.
 */
#include "stack.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MOST_LAYOUTS 64

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_LAYOUTS);
	__type(key, u32);
	__type(value, struct goroutine_layout);
} goroutine_layouts SEC(".maps");

/* A probe may be interrupted by another thread that passes one: whoever is second finds the buffer of stacks taken. */
struct buffer_claim {
	u64 taken;
};

PER_CPU(struct buffer_claim, claim)

/* The word at `address` of the program's memory; 0 where it cannot be read. */
static __always_inline u64 user_word(u64 address)
{
	u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

#define MOST_GO_FRAMES 64

struct frame_pointer_walk {
	u64 caller_bp;
	u64 pc;
};

/* The stack of `leaf` and `caller` (0 = none) and of the frames from `bp` on. Returns its key, 0 for none. */
static __noinline u64 walk_frame_pointers(u64 leaf, u64 caller, u64 bp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct unwind_scratch *scratch = this_stack();
	struct frame_pointer_walk frame;
	u64 count = 1;

	if (!scratch)
		return 0;
	scratch->stack.frames[0] = leaf;
	scratch->hash = mix(0, leaf);
	if (caller) {
		scratch->stack.frames[1] = caller;
		scratch->hash = mix(scratch->hash, caller);
		count = 2;
	}
	scratch->stack.end = UNWIND_COMPLETE;
	for (u32 i = 0; i < MOST_GO_FRAMES; i++) {
		if (!bp || bpf_probe_read_user(&frame, sizeof(frame), (void *)bp) || !frame.pc)
			break;
		if (!IS_INDEX(scratch->stack.frames, count))
			break;
		ITEM(scratch->stack.frames, count) = frame.pc;
		scratch->hash = mix(scratch->hash, frame.pc);
		count++;
		if (frame.caller_bp <= bp)
			break;
		bp = frame.caller_bp;
		if (i == MOST_GO_FRAMES - 1)
			scratch->stack.end = UNWIND_TOO_DEEP;
	}
	scratch->stack.count = count;
	scratch->stack.flags = 0;
	return publish_stack(tid_of(task), tgid_of(task), task->mm->start_stack, 0);
}

static __noinline u64 go_stack(u64 leaf, u64 caller, u64 bp)
{
	struct buffer_claim *claim = this_claim();
	u64 key;

	if (!claim || __sync_val_compare_and_swap(&claim->taken, 0, 1)) {
		count_loss(FIBER_STACKS_LOST);
		return 0;
	}
	key = walk_frame_pointers(leaf, caller, bp);
	claim->taken = 0;
	return key;
}

/* Where a goroutine stands that is on no thread, or whose thread does the runtime's work: within the call. */
static __always_inline u64 standing_stack(u64 g, const struct goroutine_layout *layout)
{
	u64 return_address = user_word(user_word(g + layout->sched_sp));

	return return_address ? go_stack(return_address - 1, 0, user_word(g + layout->sched_bp)) : 0;
}

/* runtime.semtable: slots of a cache line, of a lock and the root of a tree of one sudog for each semaphore. */
#define SEMAPHORE_SLOTS 251
#define SEMAPHORE_SLOT  64
#define SEMAPHORE_ROOT  8

/* The semaphore of `sudog`, where goroutine `g` is the first that waits for it or the last; else 0. */
static __always_inline u64 semaphore_of(u64 sudog, u64 g, const struct goroutine_layout *layout)
{
	u64 last;

	if (!sudog)
		return 0;
	if (user_word(sudog + layout->sudog_goroutine) != g) {
		last = user_word(sudog + layout->sudog_waitlink + sizeof(u64));
		if (!last || user_word(last + layout->sudog_goroutine) != g)
			return 0;
	}
	return user_word(sudog + layout->sudog_element);
}

/* The semaphore for which goroutine `g` queued last in this slot: it is looked for in the first two rows of the slot's tree. */
static __always_inline u64 queued_for(u64 slot, u64 g, const struct goroutine_layout *layout)
{
	u64 root = user_word(slot + SEMAPHORE_ROOT), found = semaphore_of(root, g, layout);

	if (!found && root)
		found = semaphore_of(user_word(root + layout->sudog_next), g, layout);
	if (!found && root)
		found = semaphore_of(user_word(root + layout->sudog_previous), g, layout);
	return found;
}

/* What goroutine `g` is about to wait for: its channel, where it waits for one alone, or its semaphore. `lock` will be released. */
static __noinline u64 awaited(u64 g, u64 lock, u64 semaphores, const struct goroutine_layout *layout)
{
	u64 sudog;

	if (!layout)
		return 0;
	if (layout->semaphores && lock - semaphores < SEMAPHORE_SLOTS * SEMAPHORE_SLOT)
		return queued_for(lock, g, layout);
	sudog = user_word(g + layout->waiting);
	if (!sudog || user_word(sudog + layout->sudog_waitlink))
		return 0;
	return user_word(sudog + layout->sudog_channel);
}

/* The goroutine for which this thread works; 0 = none. `r14` is that one, or the thread's own, on whose stack it works. */
static __always_inline u64 current_goroutine(u64 r14, const struct goroutine_layout *layout)
{
	u64 m = user_word(r14 + layout->thread);

	return m ? user_word(m + layout->current) : 0;
}

static __always_inline void set_waker(struct record_fiber_state *record, u64 r14, const struct goroutine_layout *layout)
{
	u64 waker = current_goroutine(r14, layout);

	if (!waker)
		return;
	record->waker = user_word(waker + layout->number);
	record->waker_stack = standing_stack(waker, layout);
}

static __always_inline void write_new(u64 g, u64 parent, const struct goroutine_layout *layout, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record_fiber_new record = {};
	u64 created_at = user_word(g + layout->created_at);

	set_header(&record.h, RECORD_FIBER_NEW, sizeof(record), 0, now);
	record.fiber = user_word(g + layout->number);
	record.parent = parent;
	record.entry_stack = go_stack(user_word(g + layout->entry), 0, 0);
	record.creator_stack = created_at ? go_stack(created_at - 1, 0, 0) : 0;
	record.tgid = tgid_of(task);
	record.kind = FIBER_KIND_GOROUTINE;
	write_record(&record, sizeof(record), FIBER_STATES_LOST);
}

SEC("uprobe")
int on_goroutine(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct control *control = controls();
	struct record_fiber_state record = {};
	struct goroutine_layout *layout;
	u64 now = bpf_ktime_get_ns(), ax = ctx->ax, bx = ctx->bx, r14 = ctx->r14, cookie, g;
	u32 change, number;

	/* Or clang selects which register to read by arithmetic on the context, which the verifier forbids. */
	asm volatile("" : "+r"(ax), "+r"(bx), "+r"(r14));
	if (!control || control->paused || !recorded(task))
		return 0;
	cookie = bpf_get_attach_cookie(ctx) >> 2;
	change = cookie & 7;
	number = cookie >> 3;
	layout = bpf_map_lookup_elem(&goroutine_layouts, &number);
	if (!layout)
		return 0;
	g = change == GOROUTINE_PARKS ? r14 : change == GOROUTINE_IS_MADE ? bx : ax;
	record.fiber = user_word(g + layout->number);
	if (!record.fiber)
		return 0;
	switch (change) {
	case GOROUTINE_PARKS:
		record.state = FIBER_WAITING;
		record.user_stack = go_stack(ctx->ip, user_word(ctx->sp), ctx->bp);
		record.object = awaited(g, bx, ctx->ip + layout->semaphores, layout);
		break;
	case GOROUTINE_IS_MADE:
	case GOROUTINE_IS_READY:
		record.state = FIBER_READY;
		set_waker(&record, r14, layout);
		break;
	case GOROUTINE_RUNS:
		record.state = FIBER_ON_THREAD;
		break;
	case GOROUTINE_ENDS:
		record.state = FIBER_ENDED;
		break;
	default:
		record.state = FIBER_READY;
		record.user_stack = standing_stack(g, layout);
	}
	if (change == GOROUTINE_IS_MADE)
		write_new(g, record.waker, layout, now);
	set_header(&record.h, RECORD_FIBER_STATE, sizeof(record), change == GOROUTINE_RUNS ? tid_of(task) : 0, now);
	record.tgid = tgid_of(task);
	write_record(&record, sizeof(record), FIBER_STATES_LOST);
	return 0;
}
