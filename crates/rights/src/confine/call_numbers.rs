//! Instructions before a filter's rules: what is decided by the number of a call alone.

use libc as c;
use seccompiler::{SeccompAction, sock_filter};

/// Where the number of the call is.
const NUMBER: u32 = std::mem::offset_of!(c::seccomp_data, nr) as u32;

fn instruction(code: u32, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf, k }
}

/// Refuses each call of the x32 ABI: the same calls by other numbers, on kernels that have it (`__X32_SYSCALL_BIT` in
/// arch/x86/include/uapi/asm/unistd.h).
pub fn refuse_x32(error: &SeccompAction) -> [sock_filter; 3] {
    const X32_SYSCALL_BIT: u32 = 0x4000_0000;
    [
        instruction(c::BPF_LD | c::BPF_W | c::BPF_ABS, 0, NUMBER),
        instruction(c::BPF_JMP | c::BPF_JGE | c::BPF_K, 1, X32_SYSCALL_BIT),
        instruction(c::BPF_RET | c::BPF_K, 0, error.clone().into()),
    ]
}

/// clone3(2) has its flags in memory, where no filter can look: the C library then uses clone(2), as on kernels before 5.3.
pub fn hide_clone3() -> [sock_filter; 3] {
    let unknown = SeccompAction::Errno(c::ENOSYS as u32);
    [
        instruction(c::BPF_LD | c::BPF_W | c::BPF_ABS, 0, NUMBER),
        instruction(c::BPF_JMP | c::BPF_JEQ | c::BPF_K, 1, c::SYS_clone3 as u32),
        instruction(c::BPF_RET | c::BPF_K, 0, unknown.into()),
    ]
}
