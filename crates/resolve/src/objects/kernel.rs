//! What a kernel stack says of a wait that the system call does not explain.

use dwell_model::MMAP_LOCK;

/// What a thread waits on inside the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelWait<'a> {
    /// A page being brought in.
    PageFault,
    /// A block device.
    BlockIo,
    /// A lock, by its name or the function that takes it.
    Lock(&'a str),
    /// The child of vfork.
    Child,
}

const FAULT: &[&str] = &[
    "asm_exc_page_fault",
    "exc_page_fault",
    "do_user_addr_fault",
    "handle_mm_fault",
    "__handle_mm_fault",
    "filemap_fault",
    "do_swap_page",
    "do_fault",
    "handle_userfault",
];
const BLOCK: &[&str] = &[
    "io_schedule",
    "blk_",
    "submit_bio_wait",
    "bio_await",
    "wait_on_buffer",
    "__wait_on_buffer",
    "bit_wait_io",
    "folio_wait_writeback",
    "wait_on_page_writeback",
    "folio_wait_bit",
    "__folio_lock",
    "folio_lock",
    "jbd2_",
    "__jbd2_",
    "ext4_sync",
    "xfs_log_force",
    "dio_",
    "iomap_dio",
    "rq_qos_wait",
];
const LOCK: &[&str] = &[
    "rwsem_",
    "down_",
    "__down_",
    "__mutex_lock",
    "mutex_lock",
    "__rt_mutex",
    "rt_mutex",
    "percpu_rwsem_wait",
    "__percpu_down",
    "percpu_down",
    "__ww_mutex",
    "lock_sock_nested",
    "__lock_sock",
    "lock_mm_and_find_vma",
];
/// What takes the lock of a process's address space (mmap_lock in the kernel's include/linux/mmap_lock.h): one lock, whichever of
/// them waits for it.
const ADDRESS_SPACE: &[&str] = &[
    "vm_mmap_pgoff",
    "ksys_mmap_pgoff",
    "__vm_munmap",
    "vm_munmap",
    "__x64_sys_munmap",
    "__do_sys_munmap",
    "__do_sys_mremap",
    "__x64_sys_mremap",
    "__do_sys_brk",
    "__x64_sys_brk",
    "vm_brk_flags",
    "do_mprotect_pkey",
    "do_madvise",
    "madvise_lock",
    "__mm_populate",
    "do_mlock",
    "apply_vma_lock_flags",
    "do_user_addr_fault",
    "lock_mm_and_find_vma",
    "dup_mmap",
    "exit_mmap",
];
/// Frames that every wait has.
const SCHEDULER: &[&str] = &["schedule", "__schedule", "io_schedule", "preempt_schedule", "bpf_"];

fn among(names: &[&str], function: &str) -> bool {
    names.iter().any(|name| function.starts_with(name))
}

/// Where the parent waits until its child of vfork has a program of its own; on some kernels inlined into the second ones.
const VFORK: &[&str] = &["wait_for_vfork_done", "kernel_clone", "_do_fork"];
/// How it waits there.
const COMPLETION: &[&str] = &["__wait_for_common", "wait_for_common", "wait_for_completion"];

/// Whether the stack, leaf first, is that of a wait for the child of vfork.
fn is_vfork<'a>(functions: impl Iterator<Item = &'a str>) -> bool {
    let mut functions =
        functions.filter(|function| !among(SCHEDULER, function) && !among(&["schedule_timeout"], function));
    let mut rest = functions.by_ref().skip_while(|function| among(COMPLETION, function));
    rest.next().is_some_and(|function| among(VFORK, function))
}

/// What the lock is called that a function takes.
fn lock_name(function: &str) -> &str {
    if among(ADDRESS_SPACE, function) { MMAP_LOCK } else { function }
}

/// Reads the functions of a kernel stack, leaf first.
pub fn explain<'a>(functions: impl Iterator<Item = &'a str> + Clone) -> Option<KernelWait<'a>> {
    if is_vfork(functions.clone()) {
        return Some(KernelWait::Child);
    }
    let mut lock = false;
    for function in functions.clone() {
        if lock {
            if !among(LOCK, function) {
                return Some(KernelWait::Lock(lock_name(function)));
            }
            continue;
        }
        if among(LOCK, function) {
            lock = true;
        } else if among(FAULT, function) {
            return Some(KernelWait::PageFault);
        } else if among(BLOCK, function) && !among(SCHEDULER, function) {
            break;
        }
    }
    let mut rest = functions;
    if rest.clone().any(|function| among(FAULT, function)) {
        return Some(KernelWait::PageFault);
    }
    rest.any(|function| among(BLOCK, function)).then_some(KernelWait::BlockIo)
}

/// What has to be done for a page of a program's own memory, by the functions that do it (mm/memory.c, mm/vmscan.c, fs/userfaultfd.c).
const MEMORY: &[(&str, &[&str])] = &[
    ("memory that a handler of userfaultfd serves", &["handle_userfault"]),
    ("memory that has to be freed first", &["mem_cgroup_handle_over_high", "try_to_free", "shrink_", "try_charge"]),
    ("swapped memory", &["do_swap_page", "swapin_", "swap_read"]),
    ("memory that the kernel moves", &["migration_entry_wait", "do_numa_page", "do_huge_pmd_numa_page"]),
];

/// The memory whose page a fault waits for, by its kernel stack.
pub fn awaited_memory<'a>(functions: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    let functions: Vec<&str> = functions.collect();
    let does = |names: &[&str]| functions.iter().any(|function| among(names, function));
    MEMORY.iter().find(|(_, names)| does(names)).map(|(memory, _)| *memory)
}

/// Whether the stack is that of an open that waits for the other end of a FIFO.
pub fn opens_fifo<'a>(mut functions: impl Iterator<Item = &'a str>) -> bool {
    functions.any(|function| among(&["fifo_open", "wait_for_partner"], function))
}

/// The function that called the scheduler.
pub fn place<'a>(mut functions: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    functions.find(|function| !among(SCHEDULER, function) && !function.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(stack: &str) -> Option<KernelWait<'_>> {
        explain(stack.split_whitespace())
    }

    #[test]
    fn kernel_stacks_tell_the_reason() {
        let fault =
            "__schedule schedule io_schedule folio_wait_bit_common filemap_fault __do_fault do_fault exc_page_fault";
        assert_eq!(wait(fault), Some(KernelWait::PageFault));
        let read = "__schedule schedule io_schedule folio_wait_bit_common filemap_get_pages vfs_read";
        assert_eq!(wait(read), Some(KernelWait::BlockIo));
        let map = "__schedule schedule rwsem_down_write_slowpath down_write_killable vm_mmap_pgoff do_syscall_64";
        assert_eq!(wait(map), Some(KernelWait::Lock(MMAP_LOCK)));
        let fault = "schedule rwsem_down_read_slowpath down_read do_user_addr_fault exc_page_fault";
        assert_eq!(wait(fault), Some(KernelWait::Lock(MMAP_LOCK)));
        let rename = "schedule rwsem_down_write_slowpath down_write_nested lock_rename do_renameat2";
        assert_eq!(wait(rename), Some(KernelWait::Lock("lock_rename")));
        assert_eq!(wait("__schedule schedule pipe_read vfs_read"), None);
        let opens = |stack: &str| opens_fifo(stack.split_whitespace());
        assert!(opens("__schedule schedule wait_for_partner fifo_open do_dentry_open") && !opens("schedule pipe_read"));
        assert_eq!(wait(""), None);
    }

    #[test]
    fn faults_tell_which_memory_they_wait_for() {
        let memory = |stack: &str| awaited_memory(stack.split_whitespace());
        assert_eq!(memory("schedule io_schedule folio_wait_bit_common filemap_fault exc_page_fault"), None);
        let served = "schedule handle_userfault do_anonymous_page handle_mm_fault exc_page_fault";
        assert_eq!(memory(served), Some("memory that a handler of userfaultfd serves"));
        let full = "schedule_timeout shrink_node try_to_free_mem_cgroup_pages do_swap_page exc_page_fault";
        assert_eq!(memory(full), Some("memory that has to be freed first"));
        assert_eq!(memory("io_schedule folio_wait_bit_common do_swap_page exc_page_fault"), Some("swapped memory"));
    }
}
