/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The path that a program gave to open, stat and their like: such a call waits before there is a file. The path is the
 * program's own memory, read where the thread blocks in such a call, and nowhere else.
 */
#ifndef DWELL_PATH_BPF_H
#define DWELL_PATH_BPF_H

#include "file.bpf.h"

#define AT_FDCWD (-100)

/* Where a path of `task` starts that is relative: the address of a `struct path`, 0 = not known. */
static __always_inline u64 start_of(struct task_struct *task, s32 directory)
{
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	struct file *file;

	if (directory == AT_FDCWD)
		return fs ? (u64)&fs->pwd : 0;
	file = file_of(task, directory);
	return file ? (u64)&file->f_path : 0;
}

/* By its text, as programs use their buffers again; what lies behind its end is zero. */
static __always_inline u64 text_key(const struct record_object *record)
{
	u64 key = OBJECT_PATH, word;

	for (u32 i = 0; i < DWELL_TEXT_BYTES; i += sizeof(word)) {
		__builtin_memcpy(&word, &record->text[i], sizeof(word));
		key = mix(key, word);
	}
	return key;
}

static __always_inline u64 directory_key(struct path *directory)
{
	struct inode *inode = BPF_CORE_READ(directory, dentry, d_inode);

	return mix(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev));
}

/*
 * The key of the path at `address`, which starts at `start` if it is relative; describes it when it is new. An empty one is
 * `start` itself (AT_EMPTY_PATH). 0 = it cannot be read. A global function, so that the verifier looks at it once.
 */
__noinline u64 path_object(u64 address, u64 start, u32 tid, u32 tgid)
{
	u32 zero = 0;
	struct record_object *record = bpf_map_lookup_elem(&object_buffer, &zero);
	struct path *directory = (struct path *)start;
	u16 bytes;
	long read;
	u64 key;

	if (!record)
		return 0;
	__builtin_memset(record, 0, sizeof(*record));
	read = bpf_probe_read_user_str(record->text, sizeof(record->text), (void *)address);
	if (read <= 0)
		return 0;
	bytes = read > 1 ? read : 0;
	key = text_key(record);
	if (record->text[0] == '/')
		directory = NULL;
	if (directory)
		key = mix(key, directory_key(directory));
	if (is_seen(key))
		return key;
	record->text_bytes = bytes;
	if (directory && !read_path(record, directory))
		record->text_bytes = bytes;
	set_header(&record->h, RECORD_OBJECT, sizeof(*record), tid, bpf_ktime_get_ns());
	record->key = key;
	record->tgid = tgid;
	record->fd = -1;
	record->kind = OBJECT_PATH;
	if (write_record(record, sizeof(*record), OBJECTS_LOST))
		set_seen(key);
	return key;
}

/* The same for `task`, whose memory can be read. An execve whose new program is being loaded has lost its arguments. */
static __always_inline u64 path_target(struct task_struct *task, s32 directory, u64 address)
{
	if (!BPF_CORE_READ(task, mm, start_code))
		return 0;
	return path_object(address, start_of(task, directory), tid_of(task), tgid_of(task));
}

#endif
