/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The few kernel types that Dwell's BPF programs read, and of these only the members that they read: CO-RE finds the
 * members by name in the running kernel's BTF, so order and offsets here mean nothing. Names are those of Linux 5.15 and later.
 */
#ifndef DWELL_VMLINUX_H
#define DWELL_VMLINUX_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true  1
#define false 0
#define NULL  ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum bpf_func_id {
	BPF_FUNC_loop = 181,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_F_INNER_MAP = 4096,
	BPF_F_USER_STACK = 256,
	BPF_RB_NO_WAKEUP = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

typedef struct {
	u32 val;
} kuid_t;

typedef struct {
	u32 val;
} kgid_t;

/* Of 64 bits; in two halves before 6.3. */
typedef struct {
	u64 val;
} kernel_cap_t;

struct ns_common {
	unsigned int inum;
};

struct user_namespace {
	struct ns_common ns;
};

struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct signal_struct {
	struct pid *pids[4];
	struct sigpending shared_pending;
	int group_exit_code;
};

struct rq {
	u64 prev_steal_time_rq;
};

struct load_weight {
	unsigned long weight;
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count;
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct qstr {
	const unsigned char *name;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	u32 i_rdev;
	struct super_block *i_sb;
};

struct dentry {
	struct inode *d_inode;
	struct qstr d_name;
	struct dentry *d_parent;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file_lock_core {
	struct file_lock_core *flc_blocker;
	void *flc_owner;
	unsigned char flc_type;
	int flc_pid;
};

/* Of two parts since Linux 6.9. */
struct file_lock {
	struct file_lock_core c;
	s64 fl_start;
};

struct fs_struct {
	struct path pwd;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct {
	int counter;
} atomic_t;

struct in6_addr {
	u8 in6_u[16];
};

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
	refcount_t skc_refcnt;
};

struct sk_buff_head {
	u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	u16 sk_type;
	int sk_wmem_queued;
	int sk_sndbuf;
	int sk_rcvbuf;
	u32 sk_ack_backlog;
	u32 sk_max_ack_backlog;
	atomic_t sk_drops;
	struct sk_buff_head sk_receive_queue;
};

struct timer_list {
	void (*function)(struct timer_list *);
};

struct inet_bind_bucket {
	signed char fastreuse;
};

struct request_sock;

struct request_sock_queue {
	struct request_sock *rskq_accept_head;
};

struct tcp_request_sock {
	u64 snt_synack;
};

struct inet_connection_sock {
	struct request_sock_queue icsk_accept_queue;
	struct inet_bind_bucket *icsk_bind_hash;
	struct timer_list icsk_delack_timer;
	u8 icsk_ca_state : 5;
	u8 icsk_backoff;
	struct {
		u8 pending;
		u32 lrcvtime;
	} icsk_ack;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_wnd;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 copied_seq;
	struct minmax rtt_min;
	u32 write_seq;
	u8 nonagle : 4;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 srtt_us;
	u32 packets_out;
	u32 rcv_wup;
	u32 total_retrans;
	u64 bytes_received;
	u64 bytes_sent;
	u32 data_segs_in;
	u32 data_segs_out;
	u32 lsndtime;
	u64 delivered_mstamp;
	u64 first_tx_mstamp;
	u64 tcp_wstamp_ns;
};

struct sk_buff {
	char cb[48];
};

struct tcp_skb_cb {
	u32 ack_seq;
};

struct socket {
	struct sock *sk;
};

struct msghdr;

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long start_stack;
};

typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;

enum task_dumpable {
	TASK_DUMPABLE_OWNER = 1,
};

struct task_exec_state {
	enum task_dumpable dumpable;
};

struct bio {
	struct bio *bi_next;
};

struct gendisk {
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	struct bio *bio;
};

struct thread_struct {
	unsigned long fsbase;
};

/* Empty without CONFIG_SCHED_INFO. */
struct sched_info {
	u64 run_delay;
};

/* Where the kernel has CONFIG_TASK_XACCT. */
struct task_io_accounting {
	u64 rchar;
	u64 wchar;
	u64 syscr;
	u64 syscw;
};

struct task_struct {
	unsigned int __state;
	unsigned int on_cpu; /* of another size since Linux 7.2: libbpf adapts a load of what is unsigned */
	int static_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int nr_cpus_allowed;
	struct sched_entity se;
	unsigned in_iowait : 1;
	unsigned in_memstall : 1;
	int exit_state;
	int exit_code;
	int pid;
	int tgid;
	unsigned int flags;
	struct sched_info sched_info;
	struct task_io_accounting ioac;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	const struct cred *real_cred;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	sigset_t blocked;
	struct sigpending pending;
	char comm[16];
	struct thread_struct thread;
	bool throttled;
	struct css_set *cgroups;
	void *worker_private; /* since Linux 5.17 */
	int *set_child_tid;
};

struct kthread {
	void *data;
};

struct worker {
	char desc[32];
};

struct irqaction {
	const char *name;
};

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct sigaction {
	void (*sa_handler)(int);
};

struct k_sigaction {
	struct sigaction sa;
};

struct kernel_siginfo;

struct linux_binprm {
	const char *filename;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* Since Linux 5.18; before, it has no last argument. */
typedef void (*btf_trace_sched_switch)(void *, bool, struct task_struct *, struct task_struct *, unsigned int);

/* User ABI: fixed layouts. */
struct bpf_user_pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct bpf_perf_event_data {
	struct bpf_user_pt_regs regs;
	u64 sample_period;
	u64 addr;
};

struct pollfd {
	int fd;
	short events;
	short revents;
};

struct futex_waitv {
	u64 val;
	u64 uaddr;
	u32 flags;
	u32 reserved;
};

#endif
