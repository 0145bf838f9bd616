/* Call chains that are hard to unwind, each in a thread that waits and computes at its end; the names of the functions say
 * what is expected of the stack. Built in several ways: call_chains_*.c. */

#include "sample.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>

#define KEEP __asm__ volatile("" ::: "memory")

static pthread_mutex_t chain_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where every chain ends: a wait and some running time. `volatile` keeps the callers from being tail calls. */
NOINLINE static int leaf(int pause_ms)
{
	struct timespec pause = {0, pause_ms * 1000000L};

	nanosleep(&pause, NULL);
	burn_ns(6000000);
	KEEP;
	return pause_ms;
}

/* Deep recursion: more frames than are recorded. */
NOINLINE static int deep(int depth)
{
	int below = depth ? deep(depth - 1) : leaf(5);

	KEEP;
	return below + 1;
}

NOINLINE static int deep_outermost(void)
{
	int result = deep(300);

	KEEP;
	return result;
}

/* Tail calls: the middle function is gone from the stack. */
NOINLINE static int after_tail_call(int pause_ms)
{
	int result = leaf(pause_ms);

	KEEP;
	return result;
}

__attribute__((noinline, noclone, optimize("optimize-sibling-calls"))) static int tail_calls(int pause_ms)
{
	return after_tail_call(pause_ms + 1);
}

NOINLINE static int tail_caller(void)
{
	int result = tail_calls(4);

	KEEP;
	return result;
}

/* Inlined callers. */
__attribute__((always_inline)) static inline int inlined_inner(int pause_ms)
{
	int result = leaf(pause_ms);

	KEEP;
	return result;
}

__attribute__((always_inline)) static inline int inlined_outer(int pause_ms)
{
	return inlined_inner(pause_ms + 1) + 1;
}

NOINLINE static int inline_caller(void)
{
	int result = inlined_outer(4);

	KEEP;
	return result;
}

/* Frames whose size is known at run time only. */
NOINLINE static int with_alloca(int bytes)
{
	volatile char *memory = alloca((size_t)bytes);
	int result;

	memory[bytes - 1] = 1;
	result = leaf(5);
	return result + memory[bytes - 1];
}

NOINLINE static int with_array(int bytes)
{
	volatile char memory[bytes];
	int result;

	memory[0] = 2;
	result = with_alloca(bytes * 2);
	return result + memory[0];
}

/* A call that does not return is the last instruction of its function. */
static jmp_buf way_out;

NOINLINE __attribute__((noreturn)) static void never_returns(void)
{
	leaf(5);
	longjmp(way_out, 1);
}

NOINLINE __attribute__((noreturn)) static void calls_never_returns(void)
{
	never_returns();
}

NOINLINE static int noreturn_caller(void)
{
	if (setjmp(way_out) == 0)
		calls_never_returns();
	KEEP;
	return 0;
}

/* After longjmp the stack is the one of setjmp. */
static jmp_buf resume;

NOINLINE static void jumps(int depth)
{
	if (depth > 0)
		jumps(depth - 1);
	else
		longjmp(resume, 1);
	KEEP;
}

NOINLINE static int after_longjmp(void)
{
	int result;

	if (setjmp(resume) == 0)
		jumps(10);
	result = leaf(5);
	KEEP;
	return result;
}

/* Assembly with call frame information: the CFA in rbp's stead in r12 (kept by calls), r10, and by an expression. */
int cfa_in_r12(int (*function)(int), int argument);
int cfa_by_expression(int (*function)(int), int argument);
void spin_with_cfa_in_r10(unsigned long rounds);
__asm__(".text\n"
	".globl cfa_in_r12\n"
	".type cfa_in_r12, @function\n"
	"cfa_in_r12:\n"
	"	.cfi_startproc\n"
	"	push %r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %r12, -16\n"
	"	mov %rsp, %r12\n"
	"	.cfi_def_cfa_register %r12\n"
	"	sub $200, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %esi, %edi\n"
	"	call *%rax\n"
	"	mov %r12, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop %r12\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %r12\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size cfa_in_r12, .-cfa_in_r12\n"
	/* DW_CFA_def_cfa_expression: breg7 (rsp) 8, deref, plus_uconst 8: the stack pointer is kept on the stack */
	".globl cfa_by_expression\n"
	".type cfa_by_expression, @function\n"
	"cfa_by_expression:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa %rax, 8\n"
	"	sub $120, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rax, 8(%rsp)\n"
	"	.cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08\n"
	"	mov %rdi, %rax\n"
	"	mov %esi, %edi\n"
	"	call *%rax\n"
	"	mov 8(%rsp), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size cfa_by_expression, .-cfa_by_expression\n"
	".globl spin_with_cfa_in_r10\n"
	".type spin_with_cfa_in_r10, @function\n"
	"spin_with_cfa_in_r10:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, %r10\n"
	"	.cfi_def_cfa_register %r10\n"
	"	sub $4096, %rsp\n"
	"	and $-256, %rsp\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	mov %r10, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size spin_with_cfa_in_r10, .-spin_with_cfa_in_r10\n");

NOINLINE static int assembly_caller(void)
{
	int result = cfa_in_r12(leaf, 5) + cfa_by_expression(leaf, 5);

	spin_with_cfa_in_r10(20000000);
	KEEP;
	return result;
}

/* Signal handlers, on the thread's stack and on one of their own. */
NOINLINE static void on_signal(int number)
{
	(void)number;
	leaf(5);
	KEEP;
}

NOINLINE static void on_alternate_stack(int number)
{
	(void)number;
	leaf(5);
	KEEP;
}

NOINLINE static int interrupted(void)
{
	raise(SIGUSR1);
	KEEP;
	return 0;
}

NOINLINE static int interrupted_to_alternate_stack(void)
{
	stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};

	sigaltstack(&stack, NULL);
	raise(SIGUSR2);
	KEEP;
	return 0;
}

/* A context with a stack of its own. */
static ucontext_t scheduler, coroutine;

static void coroutine_body(void)
{
	leaf(5);
	KEEP;
	swapcontext(&coroutine, &scheduler);
}

NOINLINE static int resumes_coroutine(void)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = malloc(1 << 16);
	coroutine.uc_stack.ss_size = 1 << 16;
	coroutine.uc_link = &scheduler;
	makecontext(&coroutine, coroutine_body, 0);
	swapcontext(&scheduler, &coroutine);
	KEEP;
	return 0;
}

/* One lock, two callers. */
NOINLINE static int first_lock_caller(void)
{
	pthread_mutex_lock(&chain_lock);
	pthread_mutex_unlock(&chain_lock);
	KEEP;
	return 0;
}

NOINLINE static int second_lock_caller(void)
{
	pthread_mutex_lock(&chain_lock);
	pthread_mutex_unlock(&chain_lock);
	KEEP;
	return 0;
}

/* A child that shares the memory of its parent until its exec. */
NOINLINE static int vfork_caller(void)
{
	pid_t child = vfork();

	if (child == 0) {
		struct timespec pause = {0, 5000000};

		nanosleep(&pause, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	KEEP;
	return 0;
}

NOINLINE static int spawn_caller(void)
{
	char *arguments[] = {"true", NULL};
	pid_t child;

	if (posix_spawnp(&child, "true", NULL, NULL, arguments, NULL) == 0)
		waitpid(child, NULL, 0);
	KEEP;
	return 0;
}

struct chain {
	const char *name;
	int (*run)(void);
};

static const struct chain chains[] = {
	{"deep", deep_outermost},         {"tail", tail_caller},
	{"inline", inline_caller},        {"noreturn", noreturn_caller},
	{"longjmp", after_longjmp},       {"assembly", assembly_caller},
	{"signal", interrupted},          {"altstack", interrupted_to_alternate_stack},
	{"coroutine", resumes_coroutine}, {"vfork", vfork_caller},
	{"spawn", spawn_caller},
};

static int array_chain(void)
{
	int result = with_array(1000);

	KEEP;
	return result;
}

static void *chain_thread(void *argument)
{
	const struct chain *chain = argument;

	pthread_setname_np(pthread_self(), chain->name);
	chain->run();
	KEEP;
	return NULL;
}

static void run(const struct chain *chain)
{
	pthread_t thread;

	pthread_create(&thread, NULL, chain_thread, (void *)chain);
	pthread_join(thread, NULL);
}

int main(void)
{
	static const struct chain array = {"alloca", array_chain};
	static const struct chain lockers[] = {{"first", first_lock_caller}, {"second", second_lock_caller}};
	pthread_t threads[2];

	signal(SIGUSR1, on_signal);
	sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_alternate_stack, .sa_flags = SA_ONSTACK}, NULL);
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
		run(&chains[i]);
	run(&array);
	pthread_mutex_lock(&chain_lock);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, chain_thread, (void *)&lockers[i]);
	sleep_ns(20 * MS);
	pthread_mutex_unlock(&chain_lock);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
