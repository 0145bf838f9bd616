/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The records of the raw trace, as the BPF programs write them into the ring and as the spool keeps them.
 * `wire.rs` beside this file is the same in Rust: both assert every size, and a test there compares the place of every field.
 * It reads this file line by line: a line declares one field. All times are CLOCK_MONOTONIC nanoseconds, all thread and process
 * ids those of the initial pid namespace. Included after vmlinux.h (u8 .. u64, s32).
 */
#ifndef DWELL_WIRE_H
#define DWELL_WIRE_H

#define DWELL_MAX_FRAMES 127
#define DWELL_COMM_BYTES 16
#define DWELL_TEXT_BYTES 256

enum record_kind {
	RECORD_SWITCH = 1, /* a context switch that ends or begins a running interval of a profiled thread */
	RECORD_SAMPLE = 2, /* a running thread, by the clock */
	RECORD_STACK = 3,  /* the frames behind a stack key; written again when the kernel's memory of it was lost */
	RECORD_OBJECT = 4, /* what an object key stands for */
	RECORD_THREAD_NEW = 5,
	RECORD_THREAD_NAME = 6,
	RECORD_THREAD_EXIT = 7,
	RECORD_EXEC = 8,
	/* For the collector, which writes a RECORD_STACK in their place: */
	RECORD_REGISTERS = 9,
	RECORD_STACK_COPY = 10,
	RECORD_PYTHON_STACK = 11, /* the Python frames of the RECORD_STACK of the same key */
	RECORD_PYTHON_CODE = 12,  /* the Python function behind a key of these frames */
	RECORD_TASK_PROBE = 13,   /* a thread passed a probe that begins or ends a task */
	RECORD_STITCH = 14,       /* a thread made the point from which other threads' work descends */
	RECORD_SOCKET = 15,       /* what is known and counted of a socket; written again as that grows */
	RECORD_SOCKET_WAIT = 16,  /* a wait that a socket ended, or that was on one */
	RECORD_TCP_HOLD = 17,     /* TCP held data of a program back */
	RECORD_TCP_EVENT = 18,    /* a delayed ACK, a retransmission */
	RECORD_SOCKET_PEER = 19,  /* which process has the other end of a socket */
	RECORD_DELAY = 20,        /* what kept a thread from its work, from when to when */
	RECORD_REQUEST = 21,      /* a thread received on a socket and sent on it */
	RECORD_DELAYS = 22,       /* short delays of one thread on one CPU */
	RECORD_THREAD_LEFT = 23,  /* for the collector, which writes a RECORD_THREAD_EXIT in its place */
	RECORD_CREATION = 24,     /* a thread initialised a lock */
	RECORD_WOKEN_FUTEX = 25,  /* a thread in futex_waitv was woken: by which of its futexes */
	/* Written by the collector's user side only: */
	RECORD_MAP = 32,     /* a file mapped into a process */
	RECORD_COMMAND = 33, /* a process's command line */
	RECORD_MEMBERS = 34, /* the members of an epoll set, a line each */
	RECORD_ROUND = 35,   /* every record earlier than this time has been drained */
	RECORD_PAUSE = 36,
	RECORD_RESUME = 37,
	RECORD_ITT_NAMES = 38,  /* what a program named through ITT, as it wrote it: see the crate itt-wire */
	RECORD_ITT_EVENTS = 39, /* what a thread announced through ITT, as it wrote it */
	RECORD_MACHINE = 40,    /* the whole machine's counters */
	RECORD_INTERFACE = 41,  /* a network interface's counters */
};

struct record_header {
	u16 kind;
	u16 size; /* of the whole record, header included; a multiple of 8 */
	u32 tid;  /* the thread that the record is about */
	u64 time_ns;
};

enum switch_flag {
	SWITCH_PREEMPTED = 1,      /* the scheduler's preempt argument */
	SWITCH_IOWAIT = 2,         /* task_struct.in_iowait of the thread switched out */
	SWITCH_SIGNAL_PENDING = 4, /* of the thread switched in */
	SWITCH_SEEDED = 8,         /* not a switch: the thread's state when recording began or was resumed */
	SWITCH_GIL = 16,           /* the thread switched out waits for CPython's global interpreter lock */
	SWITCH_SAME_CALL = 32,     /* it blocks in futex with the same stack and registers as the last time */
	SWITCH_MEMORY_LIMIT =
		64, /* the thread switched out waits because its control group is at its limit of memory */
};

enum waker_context {
	WAKER_NONE = 0,
	WAKER_TASK = 1,
	WAKER_SOFTIRQ = 2,
	WAKER_HARDIRQ = 3,
	WAKER_IDLE = 4,     /* an interrupt that hit the idle task, kind not known */
	WAKER_IO_QUOTA = 5, /* a device, done with a request that an I/O quota held back for most of the wait */
};

struct record_switch {
	struct record_header h; /* tid: the thread switched out, 0 when it is not profiled */
	u32 next_tid;           /* the thread switched in, 0 when it is not profiled */
	u16 cpu;
	u8 flags;         /* enum switch_flag */
	u8 waker_context; /* enum waker_context */
	/* the thread switched out */
	u32 state;   /* prev_state of sched_switch: 0 = still runnable */
	s32 syscall; /* number of the system call it is in, -1 = none */
	u64 object;  /* futex: address; file descriptor: key of a RECORD_OBJECT; 0 = none */
	/* futex: operation | expected value << 32; futex_waitv: futexes << 16 | the first one's expected value << 32; wait4: pid;
	 * sleeps: requested ns */
	u64 detail;
	u64 user_stack; /* key of a RECORD_STACK, 0 = none */
	u64 kernel_stack;
	/* the thread switched in */
	u64 wake_time_ns; /* 0 = no wake-up seen */
	u64 waker_stack;
	u32 waker_tid;
	s32 waker_syscall;
	u32 holder_tid; /* of the thread switched out: who holds the lock that it waits for, 0 = not known */
	u32 owner;      /* the same as a C library's lock says it: an id in that thread's pid namespace */
};

struct record_sample {
	struct record_header h;
	u16 cpu;
	u16 in_kernel;
	u32 period_ns;
	u64 user_stack;
	u64 kernel_stack;
};

enum stack_flag {
	STACK_KERNEL = 1,
};

struct record_stack {
	struct record_header h;
	u64 key;
	u32 tgid;
	u16 count;                    /* frames, leaf first: instruction pointer, then return addresses */
	u8 flags;                     /* enum stack_flag */
	u8 end;                       /* StackEnd of the model crate */
	u64 frames[DWELL_MAX_FRAMES]; /* `count` of them are present */
};

enum python_flag {
	PYTHON_CUT = 1, /* there are more frames, or they could not be read */
};

/* native: not known here. The segments follow the evaluations of the native stack that come after those that are known. */
#define PYTHON_BY_COUNT 0xfffe

struct python_frame {
	u64 code;        /* key of a RECORD_PYTHON_CODE */
	s32 instruction; /* bytes from the first instruction; negative before it */
	u16 native;      /* number of the native frame that ran it, leaf first */
	u16 segment;     /* frames that one evaluation ran have the same number, counted from the leaf */
};

struct record_python_stack {
	struct record_header h;
	u64 key; /* of the RECORD_STACK */
	u16 count;
	u16 flags; /* enum python_flag */
	u32 reserved;
	struct python_frame frames[DWELL_MAX_FRAMES]; /* leaf first; `count` of them are present */
};

#define DWELL_PYTHON_TEXT_BYTES  256
#define DWELL_PYTHON_TABLE_BYTES 16384

struct record_python_code {
	struct record_header h;
	u64 key;
	u32 first_line;
	u32 table_bytes; /* of the whole line table, may exceed what is present */
	u16 file_bytes;  /* present; of a longer one the end */
	u16 name_bytes;  /* present; of a longer one the beginning */
	u8 file_kind;    /* bytes of a character: 1 (Latin-1), 2, 4 */
	u8 name_kind;
	u8 version; /* of CPython, 3.x */
	u8 reserved;
	char file[DWELL_PYTHON_TEXT_BYTES];
	char name[DWELL_PYTHON_TEXT_BYTES];
	char table[DWELL_PYTHON_TABLE_BYTES]; /* of the version's format; as much as the record's size leaves */
};

enum object_kind {
	OBJECT_FILE = 1,
	OBJECT_PIPE = 2,
	OBJECT_SOCKET = 3,
	OBJECT_CHARACTER_DEVICE = 4,
	OBJECT_ANONYMOUS = 5, /* text is the kernel's name: [eventfd], [eventpoll], [timerfd], [io_uring] … */
	OBJECT_POLL_SET = 6,  /* members[0 .. member_count] are the keys of its members' records */
	OBJECT_PATH = 7, /* text: a path as the program gave it, then the directory's components if it is relative */
	OBJECT_STOP = 8, /* fd: the signal that stopped a process; tgid, text: who sent it, none for the kernel */
};

#define DWELL_MAX_MEMBERS 8

struct record_object {
	struct record_header h;
	u64 key;
	u64 inode;
	u32 tgid;
	s32 fd;
	u8 kind;         /* enum object_kind */
	u8 socket_state; /* TCP_LISTEN = 10 */
	u16 family;
	u16 protocol;
	u16 local_port; /* host order */
	u16 remote_port;
	u16 text_bytes;
	u8 local_address[16];
	u8 remote_address[16];
	u32 member_count; /* of the whole set, may exceed DWELL_MAX_MEMBERS */
	u32 device;
	u32 reserved;
	u64 members[DWELL_MAX_MEMBERS];
	char text[DWELL_TEXT_BYTES]; /* path components leaf first, each ended by a zero byte; socket: its path */
};

enum thread_flag {
	THREAD_SEEDED = 1, /* it was there before the collection, or when it was resumed */
};

struct record_thread_new {
	struct record_header h; /* tid: the new thread */
	u32 tgid;
	u32 parent_tid;
	u32 parent_tgid;
	u32 flags;         /* enum thread_flag */
	u64 creator_stack; /* key of the RECORD_STACK of where it was created, 0 = not known */
	char comm[DWELL_COMM_BYTES];
	u32 inner_tid;     /* what it takes for its own id when its pid namespace lies within Dwell's, else 0 */
	u32 pid_namespace; /* inode of that namespace */
};

struct record_thread_name {
	struct record_header h;
	char comm[DWELL_COMM_BYTES];
};

struct record_thread_exit {
	struct record_header h; /* time: when it left the CPU for the last time */
	u32 tgid;
	s32 exit_code; /* as wait(2) reports it */
	u64 cpu_ns;    /* the kernel's own account (sum_exec_runtime) of its running time since RECORD_THREAD_NEW */
};

/* A thread is recorded no more: its process runs a program that the user of Dwell may not look at. */
struct record_thread_left {
	struct record_thread_exit exit;
	u64 since_ns; /* when that program began: before its first file was mapped */
};

struct record_exec {
	struct record_header h; /* tid: after exec, equal to tgid */
	u32 tgid;
	u32 old_tid;
	char comm[DWELL_COMM_BYTES];
	char path[DWELL_TEXT_BYTES];
};

/* Where a thread stands whose stack is walked by user space: one that waited before recording began, or one whose stack
 * the kernel side cannot walk; of the latter a copy of the stack follows, from its stack pointer on. */
struct record_registers {
	struct record_header h; /* tid: the thread */
	u64 key;                /* of the RECORD_STACK to be */
	u64 ip;
	u64 registers[16]; /* as DWARF numbers them; 7 is the stack pointer */
	u64 switches;      /* nvcsw + nivcsw of the task: unchanged as long as it has not moved */
	u32 tgid;
	u32 bytes; /* of the copy */
};

enum task_edge {
	TASK_BEGIN = 0,
	TASK_END = 1,
	TASK_NEXT = 2, /* the one that is open ends, the next one begins */
};

/* A pass of `--task-probe` or `--interval`. */
struct record_task_probe {
	struct record_header h;
	u32 tgid;
	u16 probe; /* number in the manifest's list of task probes */
	u8 end;    /* enum task_edge */
	u8 reserved;
};

/* __itt_stack_caller_create: work that threads do between callee_enter and callee_leave of `id` was asked for here. */
struct record_stitch {
	struct record_header h;
	u64 id;
	u64 user_stack; /* key of a RECORD_STACK */
	u32 tgid;
	u32 reserved;
};

/* A call of pthread_mutex_init or its like. */
struct record_creation {
	struct record_header h;
	u64 address;    /* of the object */
	u64 user_stack; /* key of a RECORD_STACK */
	u32 tgid;
	u32 reserved;
};

struct record_woken_futex {
	struct record_header h; /* tid: the woken thread; time: when it was woken */
	u64 address;            /* in the memory of its process */
};

/* Bytes that the in-process collector wrote; `bytes` of them follow, padded to 8. They are the profiled program's: nothing
 * in them can be trusted. Times in them are ticks of the time stamp counter:
 * ns = base_ns + (ticks - base_ticks) * ns_per_tick / 2^32. */
struct record_itt {
	struct record_header h; /* tid: the thread that wrote them, 0 for names; time: when they were drained */
	u32 tgid;
	u32 source; /* number of the process's shared file in this collection: names are the file's */
	u64 base_ticks;
	u64 base_ns;
	u64 ns_per_tick;
	u32 lost; /* events of this thread that found its ring full, before these */
	u32 bytes;
};

struct record_delay {
	struct record_header h; /* time: when it ended */
	u64 begin_ns;
	/* device interrupt: its number; soft interrupt: its vector; IPI: address of the function that it was for, or 0;
	 * fault: the memory's address; system call and signal: number; idle-state exit: the state; migration: the CPU before; kernel
	 * work: address of the work item's function or 0; steal: ns that were stolen between begin and end */
	u64 detail;
	u32 other_tid; /* preemption, kernel work, run queue: who had the CPU */
	u16 cpu;
	u8 kind; /* Delay of the model crate */
	u8 vector;
	char text[DWELL_COMM_BYTES]; /* device interrupt: its name; other_tid's name; fault: the mapped file's name */
};

#define DWELL_DELAYS 32 /* a power of two */

struct short_delay {
	u32 begin_ns; /* after base_ns */
	u32 length_ns;
	u16 detail; /* as in struct record_delay */
	u8 kind;
	u8 reserved;
};

struct record_delays {
	struct record_header h; /* time: when the last of them ended */
	u64 base_ns;
	u16 cpu;
	u16 count;
	u32 reserved;
	struct short_delay delays[DWELL_DELAYS]; /* `count` of them are present */
};

enum delay_vector {
	VECTOR_NONE = 0,
	VECTOR_LOCAL_TIMER = 1,
	VECTOR_RESCHEDULE = 2,
	VECTOR_CALL_FUNCTION = 3,
	VECTOR_IRQ_WORK = 4,
	VECTOR_PLATFORM = 5,
	VECTOR_THERMAL = 6,
};

struct record_request {
	struct record_header h; /* time: when the thread had sent */
	u64 begin_ns;           /* when it had received */
	u32 tgid;
	u16 family;
	u16 local_port; /* host order, 0 = none */
};

/* Counters as they stood at the record's time, behind the fixed part: `count` numbers (u64) of MACHINE_COUNTERS or
 * INTERFACE_COUNTERS of the model crate, in that order. Since boot, times in ns; all ones = not known. */
struct record_machine {
	struct record_header h;
	u32 count;
	u32 cpus; /* online */
};

enum interface_flag {
	INTERFACE_FOREIGN = 1, /* in a network namespace that is not the collector's */
};

struct record_interface {
	struct record_header h; /* tid: a process in the network namespace */
	u32 count;
	u32 flags;   /* enum interface_flag */
	u64 network; /* inode of the network namespace */
	char name[16];
};

_Static_assert(sizeof(struct record_header) == 16, "wire");
_Static_assert(sizeof(struct record_switch) == 96, "wire");
_Static_assert(sizeof(struct record_sample) == 40, "wire");
_Static_assert(sizeof(struct record_stack) == 32 + 8 * DWELL_MAX_FRAMES, "wire");
_Static_assert(sizeof(struct record_object) == 416, "wire");
_Static_assert(sizeof(struct record_thread_new) == 64, "wire");
_Static_assert(sizeof(struct record_thread_name) == 32, "wire");
_Static_assert(sizeof(struct record_thread_exit) == 32, "wire");
_Static_assert(sizeof(struct record_thread_left) == 40, "wire");
_Static_assert(sizeof(struct record_exec) == 296, "wire");
_Static_assert(sizeof(struct record_registers) == 176, "wire");
_Static_assert(sizeof(struct record_task_probe) == 24, "wire");
_Static_assert(sizeof(struct record_stitch) == 40, "wire");
_Static_assert(sizeof(struct record_creation) == 40, "wire");
_Static_assert(sizeof(struct record_woken_futex) == 24, "wire");
_Static_assert(sizeof(struct record_itt) == 56, "wire");
_Static_assert(sizeof(struct record_delay) == 56, "wire");
_Static_assert(sizeof(struct record_delays) == 32 + 12 * DWELL_DELAYS, "wire");
_Static_assert(sizeof(struct record_request) == 32, "wire");
_Static_assert(sizeof(struct record_machine) == 24, "wire");
_Static_assert(sizeof(struct record_interface) == 48, "wire");
_Static_assert(sizeof(struct python_frame) == 16, "wire");
_Static_assert(sizeof(struct record_python_stack) == 32 + 16 * DWELL_MAX_FRAMES, "wire");
_Static_assert(sizeof(struct record_python_code) == 40 + 512 + DWELL_PYTHON_TABLE_BYTES, "wire");

#include "wire_sockets.h"

#endif
