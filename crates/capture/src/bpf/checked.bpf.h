/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What the verifier has to be shown. It follows each register by itself, kernels differ in what it remembers of one, and
 * clang does not know of it. Every program that Linux 5.15 or later is to load uses these words, and none of its own.
 *
 * The stack of a chain of calls is 512 bytes up to Linux 6.12, each function's share rounded up to 32. So nothing larger
 * than a hundred bytes lies on it: records and sets lie in per-CPU arrays whose names end with `_buffer`. Programs can
 * interrupt one another on a CPU, and a program never interrupts itself: each object file has buffers of its own, and two
 * programs of a file that write in one use different entries of it. Include after vmlinux.h and the headers of libbpf.
 */
#ifndef DWELL_CHECKED_BPF_H
#define DWELL_CHECKED_BPF_H

/*
 * Whether `value`, a variable of 64 bits, is at most `most`. Clang knows nothing of a value behind an asm: so it tests the
 * value itself, not `value - 1` or a copy of 32 bits, and the verifier knows the answer where the value is used. Without
 * this it tries both answers at each AT_MOST, which multiply in loops.
 */
#define IS_AT_MOST(value, most)                            \
	({                                                 \
		asm volatile("" : "+r"(value));            \
		_Static_assert(sizeof(value) == 8, "u64"); \
		(value) <= (most);                         \
	})

/* The same of an index: whether the array has such an item. */
#define IS_INDEX(array, index) IS_AT_MOST(index, sizeof(array) / sizeof((array)[0]) - 1)

/*
 * `value`, which is at most `most`, a constant: as an index, an offset or a length of memory. The caller has tested it; but
 * clang may use another copy than it tested, or leave a test out whose answer it knows, and then the verifier refuses the
 * access ("unbounded memory access", "math between mem pointer and register with unbounded min value"). Here an instruction
 * tests the very register that is used.
 */
#define AT_MOST(value, most)                                                                       \
	({                                                                                         \
		u64 at_most = (value);                                                             \
		asm volatile("if %0 <= %1 goto +1\n\t%0 = %1" : "+r"(at_most) : "i"((u64)(most))); \
		at_most;                                                                           \
	})

/* An item of an array, by an index that was tested. */
#define ITEM(array, index) ((array)[AT_MOST(index, sizeof(array) / sizeof((array)[0]) - 1)])

/* Before the second of two pointers is tested for NULL after the first: clang would join the two in one register and test
 * that, and the verifier allows no arithmetic of pointers that may be NULL. */
#define TEST_ALONE(pointer) asm volatile("" : "+r"(pointer))

/* A member behind a pointer that the verifier knows nothing of: a plain load where the kernel has means for it (6.2), which
 * spares a call of the helper. */
#define FIELD(pointer, field)                                                                 \
	(bpf_ksym_exists(bpf_rdonly_cast) ? bpf_core_cast(pointer, typeof(*(pointer)))->field \
					  : BPF_CORE_READ(pointer, field))

/* The same for a member that is some bits of a word. */
#define FIELD_BITS(pointer, field)                                                                                    \
	(bpf_ksym_exists(bpf_rdonly_cast) ? BPF_CORE_READ_BITFIELD(bpf_core_cast(pointer, typeof(*(pointer))), field) \
					  : BPF_CORE_READ_BITFIELD_PROBED(pointer, field))

/* A number of the kernel's at an address that has no type: a plain load as in FIELD, by way of a structure that every kernel has and
 * that begins with such a number. */
static __always_inline u64 long_at(const void *address)
{
	u64 value = 0;

	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_core_cast(address, struct load_weight)->weight;
	bpf_probe_read_kernel(&value, sizeof(value), address);
	return value;
}

static __always_inline int int_at(const void *address)
{
	int value = 0;

	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_core_cast(address, struct refcount_struct)->refs.counter;
	bpf_probe_read_kernel(&value, sizeof(value), address);
	return value;
}

/*
 * Calls `step(number, context)` up to `most` times, until it returns 1. The verifier looks at a step once, whatever `most`
 * is. Before Linux 5.17 it looks at each round, and there are no more of them than `few`. Up to Linux 6.6 it knows of the
 * context what the first round finds there, and removes code that this never reaches: so nothing that a round changes and
 * tests may begin as a constant.
 */
#define REPEAT(most, few, step, context)                                           \
	do {                                                                       \
		if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) { \
			bpf_loop(most, step, context, 0);                          \
		} else {                                                           \
			for (u32 round = 0; round < (few); round++)                \
				if (step(round, context))                          \
					break;                                     \
		}                                                                  \
	} while (0)

#endif
